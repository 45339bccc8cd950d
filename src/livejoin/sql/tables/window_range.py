"""The range of a window as it is written: a column and a span of its values, in Python or in a table's properties.

=========  ===========================  ==================================================
Column     In Python                    In a property: the column, then
=========  ===========================  ==================================================
TIMESTAMP  ``timedelta``                an interval, ``1 HOUR`` or ``INTERVAL 1 DAY 6 HOURS``
DATE       ``timedelta`` in whole days  the same, in whole days
integers   ``int``                      a whole number, ``3600``
=========  ===========================  ==================================================

Units are those of fixed length, from WEEK to MICROSECOND: a MONTH has none.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import TypeAlias

from livejoin.errors import SchemaError
from livejoin.schema import Column, WindowRange

Span: TypeAlias = dt.timedelta | int

_UNITS = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")
_COLUMN = r"(?:`(?P<quoted>[^`]+)`|(?P<plain>\w+))"
_NUMBER = re.compile(rf"\s*{_COLUMN}\s+(?P<number>\d+)\s*", re.ASCII)
_PART = rf"\d+\s+(?:{'|'.join(_UNITS)})s?"
_INTERVAL = re.compile(
    rf"\s*{_COLUMN}\s+(?:interval\s+)?(?P<parts>{_PART}(?:\s+{_PART})*)\s*", re.ASCII | re.IGNORECASE
)
_MICROSECOND = dt.timedelta(microseconds=1)
_DAY = dt.timedelta(days=1)


def parse_range(text: str) -> tuple[str, Span] | None:
    """The column and the span that a property names; None if it has another form.

    >>> parse_range("ts 1 HOUR"), parse_range("seen 3600"), parse_range("ts 1 MONTH")
    (('ts', datetime.timedelta(seconds=3600)), ('seen', 3600), None)
    """
    if found := _NUMBER.fullmatch(text):
        return found["quoted"] or found["plain"], int(found["number"])
    if not (found := _INTERVAL.fullmatch(text)):
        return None
    words = found["parts"].lower().split()
    span = dt.timedelta()
    try:
        for number, unit in zip(words[::2], words[1::2], strict=True):
            span += dt.timedelta(**{unit.rstrip("s") + "s": int(number)})
    except OverflowError:
        return None
    return found["quoted"] or found["plain"], span


def window_range(table: str, columns: Sequence[Column], written: object) -> WindowRange:
    """The window that a column and a span stand for.

    Args:
        table: The table's name, for messages.
        columns: Its columns.
        written: The column's name and the span.

    Raises:
        SchemaError: It is no such pair, there is no such column, or the span is none of its type.

    >>> from livejoin.schema import SqlType
    >>> window_range("T", [Column("ts", SqlType("timestamp"))], ("ts", dt.timedelta(seconds=1)))
    WindowRange(column=0, width=1000000)
    """
    if not isinstance(written, tuple) or len(written) != 2 or not isinstance(written[0], str):
        msg = f"table {table!r}: window_range is {written!r}; allowed is a column and its range, as ('ts', timedelta)"
        raise SchemaError(msg)
    name, span = written
    position = next((i for i, column in enumerate(columns) if column.name.lower() == name.lower()), None)
    if position is None:
        known = ", ".join(column.name for column in columns)
        msg = f"table {table!r}: window_range names the column {name!r}, which is not there; it has {known}"
        raise SchemaError(msg)
    column = columns[position]
    width: int | None = None
    match column.type.kind:
        case "timestamp":
            allowed = "a timedelta (in SQL an interval such as 1 HOUR)"
            if isinstance(span, dt.timedelta):
                width = span // _MICROSECOND
        case "date":
            allowed = "a timedelta of whole days (in SQL an interval such as 7 DAYS)"
            if isinstance(span, dt.timedelta) and not span % _DAY:
                width = span // _DAY
        case "integer":
            allowed = "a whole number"
            if isinstance(span, int) and not isinstance(span, bool):
                width = span
        case _:
            width = 1  # the declaration names the types that are allowed
    if width is None:
        msg = f"table {table!r}: the range of {column} is {span!r}; allowed is {allowed}"
        raise SchemaError(msg)
    return WindowRange(position, width)
