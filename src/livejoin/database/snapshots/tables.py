"""A database's tables without its views: the part that a checkpoint keeps, since views can be loaded from tables.

The image of such a snapshot has neither views nor blocks. The image is a copy, so that it can be written while the
database goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from livejoin.catalog import tables_beside
from livejoin.database.engine import Database
from livejoin.database.snapshots import snapshot
from livejoin.database.snapshots.image import restored
from livejoin.database.transactions.guard import alone
from livejoin.schema import Table
from livejoin.state.codec import Codec
from livejoin.state.table_rows import TableRows, rows_of, with_dense_ids
from livejoin.words import WORD_BYTES

_BESIDE = 2  # words beside the values of a row: its id and how often it is there


def empty(tables: Iterable[Table]) -> snapshot.Image:
    """The image of empty tables, each after the tables that its foreign keys refer to, with those beside them."""
    every = [one for table in tables for one in (table, *tables_beside(table))]
    return snapshot.Image(0, {}, Codec().arrays(), [(table, empty_rows(table)) for table in every], (), ())


def empty_rows(table: Table) -> TableRows:
    """The rows of an empty table."""
    nothing = np.empty(0, np.int64)
    dead = 0 if table.sequence_by is None else len(table.primary_key) + 1
    values, tombstones = (np.empty((lines, 0), np.int64) for lines in (len(table.columns), dead))
    return TableRows(values, nothing, nothing, tombstones=tombstones)


@alone
def image_of_tables(database: Database, extra: Mapping[str, Any]) -> snapshot.Image:
    """A copy of the rows of all tables, with JSON values beside them, for `livejoin.database.snapshots.snapshot.write`.

    Cost: O(rows log rows) time, O(rows) memory.
    """
    contents = database._contents
    return snapshot.Image(
        version=contents.version,
        extra=dict(extra),
        codec={name: array.copy() for name, array in contents.codec.arrays().items()},
        tables=[(base.table, rows_of(base)) for base in contents.tables.values()],
        views=(),
        blocks=(),
    )


@alone
def size_of_tables(database: Database) -> int:
    """About how many bytes `image_of_tables` takes. Cost: O(tables)."""
    contents = database._contents
    bases = contents.tables.values()
    dead = [base.tombstones for base in bases if base.tombstones is not None]
    words = sum(base.rows * (len(base.table.columns) + _BESIDE) for base in (*bases, *dead))
    return WORD_BYTES * words + contents.codec.live_bytes


@dataclass(frozen=True)
class Limits:
    """Options of `Database` that are not saved."""

    memory_limit: int | None = None
    spill: str | Path | None = None
    spill_over: str | int | None = None


NO_LIMITS = Limits()


def load_tables(path: Path, limits: Limits) -> Database:
    """As `database_of`, of the current snapshot in a folder.

    Raises:
        StateError: There is no snapshot, or it is damaged or of another version.
        StorageError: The disk or the system refuses to read it.
        MemoryLimitError: The tables take more than ``memory_limit``.
    """
    return database_of(snapshot.read(path, trusted=False), limits)


def database_of(image: snapshot.Image, limits: Limits) -> Database:
    """The database of a snapshot's tables, without the snapshot's views.

    Raises:
        StateError: The parts of the image contradict each other.
        MemoryLimitError: The tables take more than ``memory_limit``.
    """
    return of_image(replace(image, views=(), blocks=()), limits)


def of_image(image: snapshot.Image, limits: Limits = NO_LIMITS) -> Database:
    """The database of an image.

    Raises:
        StateError: The parts of the image contradict each other.
        MemoryLimitError: The database takes more than ``memory_limit``.
        SchemaError: A limit is no valid option of `Database`.
        StorageError: No file can be made in the folder for deltas.
    """
    database = Database(memory_limit=limits.memory_limit, spill=limits.spill, spill_over=limits.spill_over)
    empty = database._contents
    database._contents = restored(image, empty.workers, empty.memory_limit, empty.scratch)
    database.extra = dict(image.extra)
    return database


@alone
def check_limit(database: Database) -> None:
    """Refuse a database that is larger than its limit.

    Raises:
        MemoryLimitError: The database takes more than ``memory_limit``.
    """
    budget = database._contents.budget
    budget.begin()
    try:
        budget.check("what is loaded")
    finally:
        budget.end()


def with_columns(table: Table, rows: TableRows, new: Table, words: Sequence[int]) -> TableRows:
    """The rows of a table with fewer columns, or with further columns of one value each.

    Args:
        table: The declaration.
        rows: The rows of the table; without a window if columns are removed.
        new: The new declaration: first columns of the old one in their order, then further columns.
        words: The word of each further column, the same in all rows.

    Cost: O(rows), and a sort of them where rows become equal.
    """
    places = {column.name: place for place, column in enumerate(table.columns)}
    kept = [places[column.name] for column in new.columns if column.name in places]
    assert len(kept) + len(words) == len(new.columns)
    values = rows.values[kept]
    if len(kept) < len(table.columns) and not new.primary_key:
        values, where = np.unique(values, axis=1, return_inverse=True)
        weights = np.bincount(where.ravel(), rows.weights, values.shape[1]).astype(np.int64)
        rows = with_dense_ids(replace(rows, weights=weights))
    added = np.repeat(np.array(words, np.int64), values.shape[1]).reshape(len(words), values.shape[1])
    return replace(rows, values=np.ascontiguousarray(np.concatenate([values, added])))
