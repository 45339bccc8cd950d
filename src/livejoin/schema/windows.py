"""Windows by range over a column of times: how users write them, and how they are stored.

=========  ===========================  ============
Column     As users write it            As it is stored
TIMESTAMP  ``timedelta``                microseconds
DATE       ``timedelta`` in whole days  days
integers   ``int``                      the same
=========  ===========================  ============
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.errors import SchemaError
from livejoin.schema.columns import Column
from livejoin.schema.settings import Span

_MICROSECOND = dt.timedelta(microseconds=1)
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class WindowRange:
    """A window over a column of times: rows stay while they are less than a range older than the newest time seen.

    Args:
        column: Position of the column.
        width: The range: microseconds for a TIMESTAMP, days for a DATE, the difference of two values for an integer.
    """

    column: int
    width: int


def window_range(table: str, columns: Sequence[Column], written: object) -> WindowRange:
    """The window of a column and a span.

    Args:
        table: The table's name, for messages.
        columns: The table's columns.
        written: The column's name and the span.

    Raises:
        SchemaError: The value is no such pair, there is no such column, or the span does not fit the column's type.

    >>> from livejoin.schema.types import SqlType
    >>> window_range("T", [Column("ts", SqlType("timestamp"))], ("ts", dt.timedelta(seconds=1)))
    WindowRange(column=0, width=1000000)
    """
    position, span = of_column(table, columns, written, "window_range", "its range")
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


def span_of(column: Column, width: int) -> Span:
    """The span of a window as users write it, from the stored width.

    >>> from livejoin.schema.types import SqlType
    >>> span_of(Column("ts", SqlType("date")), 7)
    datetime.timedelta(days=7)
    """
    match column.type.kind:
        case "timestamp":
            return width * _MICROSECOND
        case "date":
            return width * _DAY
        case _:
            return width


def of_column(table: str, columns: Sequence[Column], written: object, option: str, second: str) -> tuple[int, object]:
    """The position of a column that an option of a table names, and what is written beside it.

    Args:
        table: The table's name, for messages.
        columns: The table's columns.
        written: The column's name, and something else.
        option: The option.
        second: The words for the something else, in a message.

    Raises:
        SchemaError: The value is no such pair, or there is no such column.
    """
    if not isinstance(written, tuple) or len(written) != 2 or not isinstance(written[0], str):
        msg = f"table {table!r}: {option} is {written!r}; allowed is a column and {second}, as ('ts', timedelta)"
        raise SchemaError(msg)
    name, beside = written
    position = next((i for i, column in enumerate(columns) if column.name.lower() == name.lower()), None)
    if position is None:
        known = ", ".join(column.name for column in columns)
        msg = f"table {table!r}: {option} names the column {name!r}, which is not there; it has {known}"
        raise SchemaError(msg)
    return position, beside
