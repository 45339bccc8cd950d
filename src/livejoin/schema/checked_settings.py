"""Checks of the options of a table: each option by itself, then contradictions between options."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from livejoin.errors import SchemaError
from livejoin.schema.columns import Column
from livejoin.schema.settings import NOTHING_SAID, TOMBSTONES, Form, Span, TableSettings, options
from livejoin.schema.watermarks import Watermark, delay_of, watermark
from livejoin.schema.windows import WindowRange, span_of, window_range

_ORDERED = ("timestamp", "date", "integer")
_MOST_KEYS = 1 << 31


def checked_settings(
    table: str, columns: Sequence[Column], primary_key: Sequence[int], given: TableSettings
) -> TableSettings:
    """The settings of a table with column names as the table spells them, so that equal settings are equal values.

    Args:
        table: The table's name, for messages.
        columns: The table's columns.
        primary_key: The positions of the primary key.
        given: The settings as the user wrote them.

    Raises:
        SchemaError: An option has an invalid value, names no column of the table, or contradicts another option.
    """
    if given == NOTHING_SAID:
        return given
    for one in options():
        _check_value(table, one.name, one.metadata["form"], getattr(given, one.name))
    window = None if given.window_range is None else window_range(table, columns, given.window_range)
    _check_static(table, given)
    _check_append_only(table, given)
    if window is not None:
        _check_range(table, columns[window.column], window, given)
    mark = None if given.watermark is None else watermark(table, columns, given.watermark)
    _check_watermark(table, given)
    _check_trusted(table, given)
    if given.keep == "open":
        _check_open(table, mark, primary_key, given)
    elif given.keep_final is not None:
        msg = f"table {table!r} has keep_final and not keep = 'open', without which closed windows stay with its rows"
        raise SchemaError(msg)
    sequence = None if given.sequence_by is None else _position(table, columns, given.sequence_by)
    if sequence is not None:
        _check_sequence(table, columns[sequence], sequence in primary_key, bool(primary_key), given)
    elif given.tombstones is not None:
        msg = f"table {table!r} has tombstones = {given.tombstones!r} and no sequence_by, without which there are none"
        raise SchemaError(msg)
    return replace(
        given,
        window_range=None if window is None else _spelled(columns[window.column], window),
        sequence_by=None if sequence is None else columns[sequence].name,
        tombstones=None if given.tombstones == TOMBSTONES else given.tombstones,
        watermark=None if mark is None else (columns[mark.column].name, delay_of(mark)),
    )


def _check_value(table: str, option: str, form: Form, value: object) -> None:
    """Refuse a value of the wrong kind. Names of columns are checked by the caller."""
    match form:
        case Form.SWITCH:
            sound, allowed = isinstance(value, bool), "allowed are True and False"
        case Form.ROWS:
            sound, allowed = value is None or _is_whole(value, 1), "allowed is a positive whole number of rows"
        case Form.KEYS:
            sound = value is None or _is_whole(value, 0, _MOST_KEYS)
            allowed = "allowed is a whole number of keys from 0 on"
        case Form.COLUMNS_KEPT:
            sound, allowed = value in ("all", "used"), "allowed are 'all' and 'used'"
        case Form.LATE:
            sound, allowed = value in ("skip", "refuse"), "allowed are 'skip' and 'refuse'"
        case Form.ROWS_KEPT:
            sound, allowed = value in ("all", "open"), "allowed are 'all' and 'open'"
        case Form.DELETES:
            sound, allowed = value in ("checked", "trusted"), "allowed are 'checked' and 'trusted'"
        case Form.SPAN:
            sound = value is None or (isinstance(value, dt.timedelta) and value > dt.timedelta())
            allowed = "allowed is a timedelta above 0 (in SQL a text such as '1 DAY')"
        case Form.COLUMN | Form.RANGE:
            return
        case _:
            assert_never(form)
    if not sound:
        msg = f"table {table!r}: {option} is {value!r}; {allowed}"
        raise SchemaError(msg)


def _is_whole(value: object, least: int, end: float = math.inf) -> bool:
    """Whether a value is an integer from ``least`` up to ``end``, without ``end``."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < end


def _position(table: str, columns: Sequence[Column], name: object) -> int:
    """The position of the column that orders the changes of each key."""
    wanted = name.lower() if isinstance(name, str) else None
    place = next((i for i, column in enumerate(columns) if column.name.lower() == wanted), None)
    if place is None:
        known = ", ".join(column.name for column in columns)
        msg = f"table {table!r}: sequence_by is {name!r}; allowed is one of its columns: {known}"
        raise SchemaError(msg)
    return place


def _spelled(column: Column, window: WindowRange) -> tuple[str, Span]:
    return column.name, span_of(column, window.width)


def _check_static(table: str, given: TableSettings) -> None:
    if not given.static:
        return
    if given.has_window:
        found = "window_range" if given.window_rows is None else f"window_rows = {given.window_rows}"
        msg = (
            f"table {table!r} is static and has {found}: a window moves as rows come, and to a static table none come; "
            "leave one of the two out"
        )
        raise SchemaError(msg)
    if given.retain == "used":
        msg = (
            f"table {table!r} is static and has retain = 'used': a static table is filled before views use it, "
            "so that no column would be kept; leave one of the two out"
        )
        raise SchemaError(msg)


def _check_append_only(table: str, given: TableSettings) -> None:
    if not given.append_only:
        return
    reasons = (
        (given.static, "static", "to a static table no rows come, which promises more"),
        (given.has_window, "a window", "a window lets rows leave"),
        (given.sequence_by is not None, "sequence_by", "it orders changes that replace and delete rows"),
    )
    for stands, what, why in reasons:
        if stands:
            msg = f"table {table!r} has append_only and {what}: {why}; leave one of the two out"
            raise SchemaError(msg)


def _check_watermark(table: str, given: TableSettings) -> None:
    if given.watermark is None:
        if given.late != "skip":
            msg = f"table {table!r} has late = {given.late!r} and no watermark, without which no change is late"
            raise SchemaError(msg)
        return
    reasons = (
        (given.static, "is static", "to a static table no changes come"),
        (given.has_window, "has a window", "a window takes out rows that a watermark says stay as they are"),
    )
    for stands, what, why in reasons:
        if stands:
            msg = f"table {table!r} has a watermark and {what}: {why}; leave one of the two out"
            raise SchemaError(msg)


def _check_trusted(table: str, given: TableSettings) -> None:
    """Refuse what would have to know the rows of a table that keeps none."""
    if given.deletes == "checked":
        return
    reasons = (
        (given.static, "static", "a static table is filled first and read by views that come later"),
        (given.has_window, "a window", "a window takes out rows that are there"),
        (given.sequence_by is not None, "sequence_by", "it compares a change with the row that is there"),
        (given.watermark is not None, "a watermark", "rows of closed windows are looked up in the table"),
        (given.retain == "used", "retain = 'used'", "no column is kept, whatever views read"),
    )
    for stands, what, why in reasons:
        if stands:
            msg = f"table {table!r} has deletes = 'trusted' and {what}: {why}; leave one of the two out"
            raise SchemaError(msg)


def _check_open(table: str, mark: Watermark | None, primary_key: Sequence[int], given: TableSettings) -> None:
    """Refuse what would have to know of rows that are gone."""
    named = "" if given.watermark is None else given.watermark[0]
    reasons = (
        (mark is None, "no watermark", "a watermark says which windows are closed; declare one"),
        (given.append_only, "append_only", "rows leave when their windows are closed; leave one of the two out"),
        (
            given.sequence_by is not None,
            "sequence_by",
            "it compares a change with a row that may be gone; leave one out",
        ),
        (
            given.retain == "used",
            "retain = 'used'",
            "views come later that read other columns; leave one of the two out",
        ),
        (
            mark is not None and bool(primary_key) and mark.column not in primary_key,
            f"a PRIMARY KEY without {named}",
            f"a key whose row is gone could not be told from a new one; put {named} into the key, or have none",
        ),
    )
    for stands, what, why in reasons:
        if stands:
            msg = f"table {table!r} has keep = 'open' and {what}: {why}"
            raise SchemaError(msg)


def _check_range(table: str, column: Column, window: WindowRange, given: TableSettings) -> None:
    if given.window_rows is not None:
        msg = f"table {table!r} has window_rows and window_range; a table has one window, leave one out"
        raise SchemaError(msg)
    if column.type.kind not in _ORDERED:
        msg = (
            f"table {table!r}: the column {column.name!r} of window_range is {column.type}; allowed are TIMESTAMP, "
            "DATE and integers"
        )
        raise SchemaError(msg)
    if not 1 <= window.width < 1 << 63:
        msg = f"table {table!r}: the range of window_range is {window.width}; allowed is a positive one"
        raise SchemaError(msg)


def _check_sequence(table: str, column: Column, in_key: bool, has_key: bool, given: TableSettings) -> None:
    where = f"table {table!r}: sequence_by is {column.name!r}"
    if not has_key:
        msg = f"{where}, and the table has no PRIMARY KEY: what is ordered are the changes of each key; declare one"
        raise SchemaError(msg)
    if in_key:
        msg = f"{where}, which is in the primary key, so that no two changes of a key differ in it; name another one"
        raise SchemaError(msg)
    if column.type.kind not in _ORDERED:
        msg = f"{where}, which is {column.type}; allowed are TIMESTAMP, DATE and integers"
        raise SchemaError(msg)
    if given.has_window:
        msg = (
            f"{where}, and the table has a window: a row that a window took out leaves nothing that a later change of "
            "its key could be compared with; leave one of the two out"
        )
        raise SchemaError(msg)
