"""The rows of base tables as Arrow, for changes that name rows by a key."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.database.engine import Database
from livejoin.database.transactions.guard import alone
from livejoin.schema import Column
from livejoin.state.table import BaseTable
from livejoin.words import NULL_CODE, Words


@alone
def all_rows(database: Database, name: str) -> pa.Table:
    """All rows of a table, each as often as it is there. Cost: O(rows log rows)."""
    base = _base(database, name)
    ids, weights = base.live_rows()
    return database._contents.rows_of(base, np.repeat(ids, weights))


@alone
def keys_of(database: Database, name: str, rows: pa.Table) -> Words:
    """The primary keys of some rows as words, of shape (columns of the key, rows). Equal keys have equal words."""
    table = _base(database, name).table
    codec = database._contents.codec
    columns = [table.columns[position] for position in table.primary_key]
    arrays = [rows.column(column.name).cast(column.type.arrow) for column in columns]
    return np.stack([codec.encode_column(array, column) for array, column in zip(arrays, columns, strict=True)])


@alone
def rows_with(database: Database, name: str, keys: Words) -> tuple[pa.Table, npt.NDArray[np.int64]]:
    """The rows with the given keys, and for each key the position of its row; -1 where there is none."""
    base = _base(database, name)
    ids = base.find_key(np.ascontiguousarray(keys))
    is_there = ids >= 0
    places = np.where(is_there, np.cumsum(is_there) - 1, -1)
    return database._contents.rows_of(base, ids[is_there]), places


@alone
def word_of(database: Database, column: Column, text: str | None) -> int:
    """The word of one value of a column. Arrow casts the value from a text; None is NULL."""
    if text is None:
        return NULL_CODE
    value = pa.chunked_array([pa.array([text]).cast(column.type.arrow)])
    return int(database._contents.codec.encode_column(value, column)[0])


def _base(database: Database, name: str) -> BaseTable:
    contents = database._contents
    return contents.tables[name.lower()]
