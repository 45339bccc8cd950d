"""What users hand to the database, checked once: wrong types are errors that say what is allowed."""

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
from livejoin.database.durable.log import Pace, Sync
from livejoin.errors import ChangeFormatError, ReadError, SchemaError, StateError
from livejoin.shown import shown, type_name
from livejoin.state.scratch import Scratch

_SIZE = re.compile(r"(?P<number>[0-9]{1,15}(\.[0-9]{1,9})?)\s*(?P<unit>[kmgt]?)(?P<binary>i?)b", re.IGNORECASE)
_UNITS = ("", "K", "M", "G", "T")
_SPILL_OVER = 256_000_000
_LONGEST = 86400.0  # seconds
_OF_LIMIT = 16  # a delta takes at most this part of the memory limit before it is written


def check_name(name: object, what: str) -> str:
    """The name of a table or a view that is declared or looked up.

    Raises:
        SchemaError: It is no text, or an empty one, or has a character that cannot be shown.
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        msg = f"a {what} needs a name, and {shown(name)} is none; allowed is a text that can be printed"
        raise SchemaError(msg)
    return name


def check_switch(value: object, argument: str) -> None:
    """Refuse what is neither True nor False.

    Raises:
        SchemaError: It is something else.
    """
    if not isinstance(value, bool):
        msg = f"{argument} is {shown(value)}; allowed are True and False"
        raise SchemaError(msg)


def check_changes(named: object, example: str) -> dict[str, object]:
    """The changes of each table, from a mapping by the tables' names.

    Raises:
        ChangeFormatError: It is something else.
    """
    try:
        given = dict(named) if type(named) is dict or isinstance(named, Mapping) else None
    except MemoryError:
        raise
    except Exception as error:  # a mapping of anybody's class may raise anything
        msg = f"the changes, of type {type_name(named)}, cannot be read: {type(error).__name__}: {error}"
        raise ChangeFormatError(msg) from error
    if given is None or not all(isinstance(name, str) for name in given):
        msg = (
            f"the changes are {shown(named)}; allowed is a mapping from names of tables to their changes, as {example}"
        )
        raise ChangeFormatError(msg)
    return given


def check_granularity(value: object) -> None:
    """Refuse what is no granularity of a replay.

    Raises:
        ChangeFormatError: It is none.
    """
    if not isinstance(value, str) or value not in ("change", "commit"):
        msg = f"granularity is {shown(value)}; allowed are 'change' and 'commit'"
        raise ChangeFormatError(msg)


def check_piece(max_rows: object) -> None:
    """Refuse what is no number of changes.

    Raises:
        ChangeFormatError: It is none, or not positive.
    """
    if not isinstance(max_rows, (int, np.integer)) or isinstance(max_rows, bool) or max_rows < 1:
        msg = f"max_rows is {shown(max_rows)}; allowed is a whole number of changes from 1 on, or None for all at once"
        raise ChangeFormatError(msg)


def check_bytes(value: object, argument: str) -> int | None:
    """A number of bytes, or a text as ``4GB`` (decimal) or ``4GiB`` (binary); None if it is not given.

    Raises:
        SchemaError: It is something else, or not positive.

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
    """A number of rows that static tables may be joined to; None for the planner's choice.

    Raises:
        SchemaError: It is something else, or negative.
    """
    if value is None:
        return None
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        msg = f"preprocessing_limit is {shown(value)}; allowed is a number of rows from 0 on, or None"
        raise SchemaError(msg)
    return int(value)


def check_scratch(spill: object, spill_over: object, limit: int | None) -> Scratch | None:
    """The folder for deltas that take more memory than they may, and how much that is.

    Args:
        spill: The folder; None if nothing is written.
        spill_over: The bytes; None for those that follow from the limit.
        limit: The database's memory limit.

    Raises:
        SchemaError: One of them is something else, or there are bytes and no folder.
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


def check_folder(folder: object) -> Path:
    """The folder of a snapshot, or of a database.

    Raises:
        StateError: It is no path, or an empty one.
    """
    path = _path(folder)
    if path is None:
        msg = f"the folder is {shown(folder)}; allowed is the path of one"
        raise StateError(msg)
    return path


def _path(folder: object) -> Path | None:
    """A path; None if it is none, or an empty one."""
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
        StateError: They are no mapping from texts.
    """
    if not isinstance(extra, Mapping) or not all(isinstance(key, str) for key in extra):
        msg = f"extra is {shown(extra)}; allowed is a mapping from texts to JSON values"
        raise StateError(msg)
    return dict(extra)


def check_json(values: object, argument: str) -> dict[str, Any]:
    """A mapping from texts to JSON values, as it comes back from JSON.

    Raises:
        StateError: It is something else.

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
        SchemaError: It is none.
    """
    if not isinstance(value, str) or value not in allowed:
        msg = f"{argument} is {shown(value)}; allowed are {' and '.join(map(repr, allowed))}"
        raise SchemaError(msg)


def check_intake(coerce: object, extra_columns: object, otherwise: Intake) -> Intake:
    """How far data may differ from what tables are declared to be.

    Args:
        coerce: Which values are taken; None as otherwise.
        extra_columns: What becomes of columns that a table does not have; None as otherwise.
        otherwise: What holds where nothing is said.

    Raises:
        SchemaError: One of them is no such word.
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


def check_number(value: object, argument: str, least: int, most: int) -> None:
    """Refuse what is no whole number within bounds.

    Raises:
        ReadError: It is something else.
    """
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not least <= value <= most:
        msg = f"{argument} is {shown(value)}; allowed is a whole number from {least} to {most:,}"
        raise ReadError(msg)
