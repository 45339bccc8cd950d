"""The time of a database, which `now()` stands for in queries: the row of a table whose window keeps the newest one."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.changes import ChangeBatch
from livejoin.database.contents import Contents
from livejoin.errors import ChangeFormatError, ChangeValueError, SchemaError
from livejoin.schema import Table
from livejoin.schema.now import NOW, NOW_COLUMN
from livejoin.shown import shown
from livejoin.state.table import BaseTable

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


def is_time(table: Table) -> bool:
    """Whether a table is the one that `livejoin.Database.advance` declares."""
    columns = [(one.name, one.type.kind) for one in table.columns]
    return table.name == NOW and columns == [(NOW_COLUMN, "timestamp")] and table.window_range is not None


def times_that_move(contents: Contents, batch: ChangeBatch) -> ChangeBatch:
    """The changes of the table of the time that move it on: one of the same time again is left out.

    Raises:
        ChangeFormatError: A row leaves.
        ChangeValueError: A time is before that of now, or before another one of the changes.
    """
    leaving = np.flatnonzero(batch.weights < 0)
    if leaving.size:
        msg = "the time of now() moves on, and no row leaves its table; call db.advance, or insert a later time"
        raise ChangeFormatError(msg, NOW, int(leaving[0]))
    times = pc.cast(batch.rows.column(0), pa.int64()).to_numpy()
    order = np.arange(times.shape[0]) if batch.sequence is None else np.argsort(batch.sequence, kind="stable")
    newest = np.maximum.accumulate(np.append(_newest(contents.tables[NOW]), times[order]))
    back = np.flatnonzero(times[order] < newest[1:])
    if back.size:
        _refuse_earlier(int(newest[back[0]]), int(times[order[back[0]]]), int(order[back[0]]))
    moving = np.sort(order[newest[1:] > newest[:-1]])
    return batch if moving.shape == times.shape else batch.take(moving)


def refuse_altered_time(table: Table) -> None:
    """Refuse to alter the table of the time.

    Raises:
        SchemaError: The table has the time.
    """
    if is_time(table):
        msg = f"the table {NOW!r} has the time of now(), which db.advance moves; it is not altered"
        raise SchemaError(msg)


def _newest(base: BaseTable) -> int:
    """The time of now, in microseconds since 1970; the earliest one where there is none."""
    assert base.table.window_range is not None
    return base.begin + base.table.window_range.width - 1


def _refuse_earlier(newest: int, asked: int, row: int) -> None:
    now, then = (_EPOCH + one * _MICROSECOND for one in (newest, asked))
    msg = f"now() is {now} and does not go back to {then}; allowed is a later time"
    raise ChangeValueError(msg, NOW, row)


def rows_of_time(contents: Contents, time: object) -> pa.Table:
    """The rows that move the time of a database: one, or none where it is that time already.

    Raises:
        ChangeValueError: The time is before that of now, or none.
        SchemaError: The table has another declaration than the one that `livejoin.Database.advance` makes.
    """
    found = check_time(time)
    base = contents.tables[NOW]
    if not is_time(base.table):
        msg = (
            f"the table {NOW!r} is not that of now(), which has one column {NOW_COLUMN} TIMESTAMP and a window_range; "
            "drop it, and the next call of db.advance declares it"
        )
        raise SchemaError(msg)
    newest, asked = _newest(base), (found - _EPOCH) // _MICROSECOND
    if asked < newest:
        _refuse_earlier(newest, asked, -1)
    schema = pa.schema([(NOW_COLUMN, pa.timestamp("us"))])
    return pa.table([[found] if asked > newest else []], schema=schema)
