"""The rows of a table as changes for another database, in the order of the window, with remembered deletions.

Law: `bring` and `mark` apply what `carried` gave, of one table or of several with different keys. The new table then
holds the same rows in the same window, and treats every later change as the old tables did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.database.engine import Database
from livejoin.database.transactions.guard import alone
from livejoin.kernels.relation import range_window
from livejoin.schema import CHANGE_TYPE, Table
from livejoin.state.codec import Codec
from livejoin.state.table_rows import LEAST_TIME, TableRows, rows_of
from livejoin.words import Words

_PIECE = 1 << 18  # rows whose texts are decoded at a time: an array of them holds 2 GiB at most


@dataclass(frozen=True)
class Marks:
    """What a table remembers beside its rows.

    Args:
        begin: With a window by range: the least time that the window holds.
        watermark: With ``sequence_by``: the largest sequence of a forgotten deletion; None if no deletion is forgotten.
    """

    begin: int = LEAST_TIME
    watermark: int | None = None

    def __or__(self, other: Marks) -> Marks:
        """The marks of two parts of a table together: a change that is late for one part is late."""
        known = [one.watermark for one in (self, other) if one.watermark is not None]
        return Marks(max(self.begin, other.begin), max(known, default=None))


@alone
def carried(database: Database, name: str) -> tuple[pa.Table, Marks]:
    """The rows of a table, each as often as it is there, and the marks beside them.

    With a window the oldest rows come first. With ``sequence_by`` the deletions that are remembered come last.

    Args:
        database: The database of the table.
        name: The table.

    Returns:
        The columns of the table and ``_change_type``, and the marks.

    Cost: O(rows log rows).
    """
    contents = database._contents
    base = contents.tables[name.lower()]
    rows = rows_of(base)
    places = rows.arrivals
    if base.table.window_rows is None:
        places = np.repeat(np.arange(rows.weights.shape[0]), rows.weights)
    found = _changes(_decoded(contents.codec, base.table, rows.values[:, places]), base.table, "insert")
    if rows.tombstones.size:
        dead = _deleted(contents.codec, base.table, rows)
        found = pa.concat_tables([found, _changes(dead, base.table, "delete")])
    return found, Marks(rows.begin, rows.watermark)


def bring(database: Database, name: str, changes: pa.Table) -> None:
    """Give the rows, and the remembered deletions, of other tables to an empty table.

    Args:
        database: The database of the table, without a view of it.
        name: The table.
        changes: The changes that `carried` gave, maybe with columns that the old table did not have.

    Raises:
        LivejoinError: As `Database.apply`.
    """
    gone = pc.equal(changes.column(CHANGE_TYPE), "delete")
    rows, dead = changes.filter(pc.invert(gone)), changes.filter(gone)
    if rows.num_rows:
        database.apply(name, rows)
    if dead.num_rows:
        database.apply(name, dead, on_conflict="update")


@alone
def mark(database: Database, name: str, marks: Marks) -> None:
    """Set the marks of a table from those of the tables that its rows came from."""
    base = database._contents.tables[name.lower()]
    if base.table.window_range is not None:
        base._queue[range_window.W_BEGIN] = max(marks.begin, base.begin)
    if base.table.sequence_by is not None:
        known = Marks(watermark=base.watermark) | marks
        base.remember(known.watermark, base.late)


@alone
def rows_with_dead(database: Database, name: str) -> int:
    """How many distinct rows and remembered deletions a table has. Cost: O(1)."""
    base = database._contents.tables[name.lower()]
    return base.rows + (0 if base.tombstones is None else base.tombstones.rows)


@alone
def occurrences(database: Database, name: str) -> int:
    """How many rows a table has, equal ones as often as they are there. Cost: O(1)."""
    return database._contents.tables[name.lower()].total


def _decoded(codec: Codec, table: Table, values: Words) -> pa.Table:
    """Words of all columns as a table."""
    columns = []
    for line, column in zip(values, table.columns, strict=True):
        pieces = [line[begin : begin + _PIECE] for begin in range(0, len(line), _PIECE)]
        columns.append(pa.chunked_array([codec.decode(piece, column.type) for piece in pieces], column.type.arrow))
    return pa.Table.from_arrays(columns, names=[column.name for column in table.columns])


def _deleted(codec: Codec, table: Table, rows: TableRows) -> pa.Table:
    """The remembered deletions: keys, the sequences of the deletions, and NULL in other columns."""
    own = table.of_tombstones.columns
    known = {
        column.name: codec.decode(np.ascontiguousarray(line), column.type)
        for line, column in zip(rows.tombstones, own, strict=True)
    }
    number = rows.tombstones.shape[1]
    columns = [known.get(column.name, pa.nulls(number, column.type.arrow)) for column in table.columns]
    return pa.Table.from_arrays(columns, names=[column.name for column in table.columns])


def _changes(whole: pa.Table, table: Table, kind: str) -> pa.Table:
    """Rows as changes of one kind."""
    types = pa.schema([(column.name, column.type.arrow) for column in table.columns])
    return whole.cast(types).append_column(CHANGE_TYPE, pa.repeat(pa.scalar(kind), whole.num_rows))
