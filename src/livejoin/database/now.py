"""The time of a database, which `now()` stands for in queries: the row of a table whose window keeps the newest one."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from livejoin.database.contents import Contents
from livejoin.errors import ChangeValueError, SchemaError
from livejoin.schema.now import NOW, NOW_COLUMN
from livejoin.shown import shown

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def check_time(time: object) -> dt.datetime:
    """Check a time.

    Raises:
        ChangeValueError: The value is no time without a zone.
    """
    if not isinstance(time, dt.datetime) or time.tzinfo is not None:
        msg = f"the time of now() is {shown(time)}; allowed is a datetime without a time zone, as the data has them"
        raise ChangeValueError(msg, NOW, -1)
    return time


def rows_of_time(contents: Contents, time: object) -> pa.Table:
    """The rows that move the time of a database: one, or none where it is that time already.

    Raises:
        ChangeValueError: The time is before that of now, or none.
        SchemaError: The table has another declaration than the one that `livejoin.Database.advance` makes.
    """
    found = check_time(time)
    base = contents.tables[NOW]
    table = base.table
    if [(one.name, one.type.kind) for one in table.columns] != [
        (NOW_COLUMN, "timestamp")
    ] or table.window_range is None:
        msg = (
            f"the table {NOW!r} is not that of now(), which has one column {NOW_COLUMN} TIMESTAMP and a window_range; "
            "drop it, and the next call of db.advance declares it"
        )
        raise SchemaError(msg)
    newest = base.begin + table.window_range.width - 1
    asked = (found - _EPOCH) // _MICROSECOND
    if asked < newest:
        now = _EPOCH + newest * _MICROSECOND
        msg = f"now() is {now} and does not go back to {found}; allowed is a later time"
        raise ChangeValueError(msg, NOW, -1)
    schema = pa.schema([(NOW_COLUMN, pa.timestamp("us"))])
    return pa.table([[found] if asked > newest else []], schema=schema)
