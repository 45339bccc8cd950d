"""Watermarks: the time up to which a table takes no more changes, and the table that has it.

    W(v) = the newest time of a row that the table had at the end of a commit, up to version v, less a delay

Law: W never goes back. A change is *late* if it is of a time before W, as it was before the commit; of a table with a
key also if the row with its key is of such a time. So a row whose time is before W stays as it is for ever.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from livejoin.errors import SchemaError
from livejoin.schema.columns import Column
from livejoin.schema.settings import TableSettings
from livejoin.schema.windows import of_column

if TYPE_CHECKING:
    from livejoin.schema.tables import Table

WATERMARK_COLUMN: Final = "at"

SEALED_AT: Final = "livejoin_at"
"""The column of a table of closed windows that says up to which time rows were freed when they came."""

_PREFIX: Final = "livejoin_watermark_"
_FREED: Final = "livejoin_freed_"
_SEALED: Final = "livejoin_sealed_"
_MICROSECOND: Final = dt.timedelta(microseconds=1)


@dataclass(frozen=True)
class Watermark:
    """The watermark of a table.

    Args:
        column: The position of the column of times.
        delay: How far the watermark is behind the newest time, in microseconds.
    """

    column: int
    delay: int


def watermark(table: str, columns: Sequence[Column], written: object) -> Watermark:
    """The watermark of a column and a delay.

    Args:
        table: The table's name, for messages.
        columns: The table's columns.
        written: The column's name and the delay.

    Raises:
        SchemaError: The value is no such pair, there is no such column, it is no TIMESTAMP, or the delay is negative.

    >>> from livejoin.schema.types import SqlType
    >>> watermark("T", [Column("ts", SqlType("timestamp"))], ("ts", dt.timedelta(seconds=1)))
    Watermark(column=0, delay=1000000)
    """
    position, delay = of_column(table, columns, written, "watermark", "a delay")
    column = columns[position]
    if column.type.kind != "timestamp":
        msg = f"table {table!r}: the column {column.name!r} of watermark is {column.type}; allowed is TIMESTAMP"
        raise SchemaError(msg)
    if not isinstance(delay, dt.timedelta) or delay < dt.timedelta():
        msg = (
            f"table {table!r}: the delay of watermark is {delay!r}; allowed is a timedelta that is not negative "
            "(in SQL an interval such as 10 MINUTES)"
        )
        raise SchemaError(msg)
    return Watermark(position, delay // _MICROSECOND)


def delay_of(mark: Watermark) -> dt.timedelta:
    """The delay of a watermark as users write it."""
    return mark.delay * _MICROSECOND


def watermark_name(table: str) -> str:
    """The name of the table that has the watermark of a table.

    >>> watermark_name("Events")
    'livejoin_watermark_events'
    """
    return f"{_PREFIX}{table.lower()}"


def watched_name(table: str) -> str | None:
    """The name, in lower case, of the table whose watermark the table of a name would have; None if it would have none.

    >>> watched_name("livejoin_watermark_events"), watched_name("events")
    ('events', None)
    """
    return table[len(_PREFIX) :].lower() if table.lower().startswith(_PREFIX) else None


def freed_name(table: str) -> str:
    """The name of the table that has the time before which the rows of a table are freed.

    >>> freed_name("Events")
    'livejoin_freed_events'
    """
    return f"{_FREED}{table.lower()}"


def freeing_name(table: str) -> str | None:
    """The name, in lower case, of the table whose rows are freed before a time that the table of a name would have.

    >>> freeing_name("livejoin_freed_events"), freeing_name("events")
    ('events', None)
    """
    return table[len(_FREED) :].lower() if table.lower().startswith(_FREED) else None


def sealed_name(sql: str) -> str:
    """The name of the table that has the closed windows of a query whose rows are freed.

    >>> sealed_name("SELECT 1") == sealed_name(" SELECT 1 "), is_sealed(sealed_name("SELECT 1")), is_sealed("events")
    (True, True, False)
    """
    return _SEALED + hashlib.sha256(sql.strip().encode()).hexdigest()[:16]


def is_sealed(table: str) -> bool:
    """Whether a name is one of `sealed_name`."""
    return table.lower().startswith(_SEALED)


def is_beside(table: str) -> bool:
    """Whether a name is one of those that tables beside others have.

    >>> is_beside(watermark_name("events")), is_beside("events")
    (True, False)
    """
    return table.lower().startswith((_PREFIX, _FREED, _SEALED))


def one_time(table: Table) -> tuple[tuple[Column, ...], TableSettings]:
    """The columns and the settings of a table beside one with a watermark: its window keeps the newest time alone."""
    mark = table.watermark
    assert mark is not None
    column = Column(WATERMARK_COLUMN, table.columns[mark.column].type, nullable=False)
    return (column,), TableSettings(window_range=(WATERMARK_COLUMN, _MICROSECOND))
