"""Checks of what users hand to the database: a wrong type is an error that says what is allowed."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np

from livejoin.changes import Coerce, ExtraColumns, Intake
from livejoin.changes.reading import reading
from livejoin.database.durable.log import Pace, Sync
from livejoin.errors import ChangeFormatError, ReadError, SchemaError, StateError
from livejoin.shown import shown
from livejoin.state.objects import SCHEMES, check_url, scheme_of
from livejoin.state.scratch import Scratch

_SIZE = re.compile(r"(?P<number>[0-9]{1,15}(\.[0-9]{1,9})?)\s*(?P<unit>[kmgt]?)(?P<binary>i?)b", re.IGNORECASE)
_SQL = re.compile(r"\s*(CREATE\s+(OR\s+REPLACE\s+)?(TABLE|VIEW)|SELECT|INSERT\s+INTO)\s", re.IGNORECASE)
_UNITS = ("", "K", "M", "G", "T")
_SPILL_OVER = 256_000_000
_LONGEST = 86400.0  # seconds
_OF_LIMIT = 16  # a delta takes at most this part of the memory limit before it is written


def check_name(name: object, what: str) -> str:
    """Check the name of a table or a view, and give it as a plain ``str``.

    Raises:
        SchemaError: The name is no text, is empty, or has a character that cannot be shown.
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        msg = f"a {what} needs a name, and {shown(name)} is none; allowed is a text that can be printed"
        raise SchemaError(msg)
    return name


def check_switch(value: object, argument: str) -> None:
    """Refuse a value that is neither True nor False.

    Raises:
        SchemaError: The value is no ``bool``.
    """
    if not isinstance(value, bool):
        msg = f"{argument} is {shown(value)}; allowed are True and False"
        raise SchemaError(msg)


def check_changes(named: object, example: str) -> dict[str, object]:
    """The changes of each table, from a mapping by the tables' names.

    Raises:
        ChangeFormatError: The argument is no mapping, or one of its keys is no text.
    """
    with reading("changes", named):
        given = dict(named) if type(named) is dict or isinstance(named, Mapping) else None
    if given is None or not all(isinstance(name, str) for name in given):
        msg = (
            f"the changes are {shown(named)}; allowed is a mapping from names of tables to their changes, as {example}"
        )
        raise ChangeFormatError(msg)
    return given


def check_granularity(value: object) -> None:
    """Refuse an unknown granularity of a replay.

    Raises:
        ChangeFormatError: The granularity is neither ``change`` nor ``commit``.
    """
    if not isinstance(value, str) or value not in ("change", "commit"):
        msg = f"granularity is {shown(value)}; allowed are 'change' and 'commit'"
        raise ChangeFormatError(msg)


def check_piece(max_rows: object) -> None:
    """Refuse a ``max_rows`` that is no positive integer.

    Raises:
        ChangeFormatError: The number is no integer, or not positive.
    """
    if not isinstance(max_rows, (int, np.integer)) or isinstance(max_rows, bool) or max_rows < 1:
        msg = f"max_rows is {shown(max_rows)}; allowed is a whole number of changes from 1 on, or None for all at once"
        raise ChangeFormatError(msg)


def check_bytes(value: object, argument: str) -> int | None:
    """A number of bytes, or a text as ``4GB`` (decimal) or ``4GiB`` (binary); None if it is not given.

    Raises:
        SchemaError: The value is neither a number nor such a text, or it is not positive.

    >>> check_bytes("4GB", "memory_limit"), check_bytes("1.5 MiB", "memory_limit"), check_bytes(1000, "memory_limit")
    (4000000000, 1572864, 1000)
    """
    if value is None:
        return None
    size = 0
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        size = int(value)
    elif isinstance(value, str) and (found := _SIZE.fullmatch(value.strip())):
        power = _UNITS.index(found["unit"].upper())
        size = int(Decimal(found["number"]) * (1024 if found["binary"] else 1000) ** power)
    if size < 1:
        msg = f"{argument} is {shown(value)}; allowed are numbers of bytes from 1 on, and texts as '4GB' and '4GiB'"
        raise SchemaError(msg)
    return size


def check_limit(value: object) -> int | None:
    """The most rows that static tables may be joined to; None leaves the choice to the planner.

    Raises:
        SchemaError: The value is no integer, or negative.
    """
    if value is None:
        return None
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        msg = f"preprocessing_limit is {shown(value)}; allowed is a number of rows from 0 on, or None"
        raise SchemaError(msg)
    return int(value)


def check_scratch(spill: object, spill_over: object, limit: int | None) -> Scratch | None:
    """The folder for large deltas, and from how many bytes on a delta is written there.

    Args:
        spill: The folder; None keeps all deltas in memory.
        spill_over: The size in bytes from which on a delta is written; None for a default that follows from ``limit``.
        limit: The database's memory limit.

    Raises:
        SchemaError: An argument has the wrong type, or there is ``spill_over`` without ``spill``.
        StorageError: The folder cannot be used.
    """
    over = check_bytes(spill_over, "spill_over")
    if spill is None:
        if over is not None:
            msg = (
                f"spill_over is {shown(spill_over)}, and spill names no folder to write to; give spill='/a/folder' too"
            )
            raise SchemaError(msg)
        return None
    path = _path(spill)
    if path is None:
        msg = f"spill is {shown(spill)}; allowed is the path of a folder for deltas that take too much memory, or None"
        raise SchemaError(msg)
    return Scratch(path, over or min(_SPILL_OVER, max(1, (limit or _SPILL_OVER * _OF_LIMIT) // _OF_LIMIT)))


_STORES = (*SCHEMES, "gcs", "azure")


def check_folder(folder: object) -> Path:
    """The folder of a snapshot, or of a database.

    Raises:
        StateError: The folder is no path, empty, SQL, or made of a URL.
    """
    path = _path(folder)
    if path is None:
        msg = f"the folder is {shown(folder)}; allowed is the path of one"
        raise StateError(msg)
    if isinstance(folder, str) and _SQL.match(folder):
        msg = (
            f"{shown(folder)} is SQL, and the path of a folder is asked for; write db = livejoin.Database(), and then "
        )
        raise StateError(f"{msg}db.execute(sql). For a folder of this name give pathlib.Path(name)")
    schemes = [part.strip().partition(":") for part in path.parts]
    if any(
        colon and scheme.lower() in _STORES and (not behind or place == 0)
        for place, (scheme, colon, behind) in enumerate(schemes)
    ):
        msg = (
            f"the folder is {shown(folder)}, which is made of a URL; livejoin.open takes the URL of a store as a text, "
            "as livejoin.open('s3://bucket/prefix'), and nothing else does"
        )
        raise StateError(msg)
    return path


def check_place(place: object) -> Path | str:
    """The folder of a database, or its URL in an object store.

    Raises:
        StateError: The place is none.
    """
    if isinstance(place, str) and scheme_of(place) is not None:
        return check_url(place)
    return check_folder(place)


def _path(folder: object) -> Path | None:
    """The argument as a path; None if it is no path, or empty."""
    try:
        path = os.fsencode(folder) if isinstance(folder, (str, os.PathLike)) else b""
    except (TypeError, ValueError):  # no path after all, or characters that no path has
        path = b""
    if not path or b"\0" in path:
        return None
    return Path(os.fsdecode(path))


def check_extra(extra: object) -> dict[str, Any]:
    """The JSON values of a snapshot.

    Raises:
        StateError: The value is no mapping whose keys are texts.
    """
    if not isinstance(extra, Mapping) or not all(isinstance(key, str) for key in extra):
        msg = f"extra is {shown(extra)}; allowed is a mapping from texts to JSON values"
        raise StateError(msg)
    return dict(extra)


def check_json(values: object, argument: str) -> dict[str, Any]:
    """A mapping from texts to JSON values, as it comes back from JSON.

    Raises:
        StateError: The value is something else.

    >>> check_json({"orders": 17, "part": (1, 2)}, "offsets")
    {'orders': 17, 'part': [1, 2]}
    """
    given = check_extra(values) if argument == "extra" else values
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        msg = f"{argument} is {shown(values)}; allowed is a mapping from names to JSON values, as {{'orders': 17}}"
        raise StateError(msg)
    try:
        found: dict[str, Any] = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"{argument} is {shown(values)}, which is not of JSON values: {error}"
        raise StateError(msg) from error
    return found


def check_word(value: object, argument: str, allowed: Sequence[str]) -> None:
    """Refuse what is none of some words.

    Raises:
        SchemaError: The value is none.
    """
    if not isinstance(value, str) or value not in allowed:
        msg = f"{argument} is {shown(value)}; allowed are {' and '.join(map(repr, allowed))}"
        raise SchemaError(msg)


def check_intake(coerce: object, extra_columns: object, otherwise: Intake) -> Intake:
    """How far data may differ from what tables are declared to be.

    Args:
        coerce: Which values are taken; None as otherwise.
        extra_columns: What happens to columns that a table does not have; None as ``otherwise``.
        otherwise: The policy where nothing is said.

    Raises:
        SchemaError: A value is no such word.
    """
    if coerce is None and extra_columns is None:
        return otherwise
    if coerce is not None:
        check_word(coerce, "coerce", ("strict", "json"))
    if extra_columns is not None:
        check_word(extra_columns, "extra_columns", ("refuse", "ignore"))
    return Intake(
        cast("Coerce", coerce or otherwise.coerce), cast("ExtraColumns", extra_columns or otherwise.extra_columns)
    )


def check_pace(sync: object, every: object) -> Pace:
    """How soon what is written is durable.

    Raises:
        SchemaError: There is no such way, or the time is none.
    """
    check_word(sync, "sync", ("commit", "batch", "off"))
    if not isinstance(every, dt.timedelta) or not 0 < every.total_seconds() <= _LONGEST:
        msg = f"sync_every is {shown(every)}; allowed is a timedelta of more than nothing and at most a day"
        raise SchemaError(msg)
    return Pace(cast("Sync", sync), every.total_seconds())


def check_seconds(value: object, argument: str, most: float) -> None:
    """Refuse what is no number of seconds, above 0.

    Raises:
        SchemaError: The value is none.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= most:
        msg = f"{argument} is {shown(value)}; allowed are seconds, more than 0 and at most {most:,.0f}"
        raise SchemaError(msg)


def check_number(value: object, argument: str, least: int, most: int) -> None:
    """Refuse a value that is no integer within bounds.

    Raises:
        ReadError: The value is no integer, or outside of the bounds.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
        msg = f"{argument} is {shown(value)}; allowed is a whole number from {least} to {most:,}"
        raise ReadError(msg)
