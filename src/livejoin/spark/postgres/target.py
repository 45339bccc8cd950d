"""The table that a view is written to, and applying a delta to it.

Law: if the table held the view before, it holds the view after a delta that is net by the key, as the deltas of views
with keys are. A row whose key stays is updated, not deleted and inserted, so rows that refer to it stay valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc
from psycopg import sql

from livejoin.checkpoint.batch_delta import BatchDelta
from livejoin.checkpoint.parquet import ROWS
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.spark.postgres.columns import csv
from livejoin.spark.postgres.connection import Connection

_COMES = "_comes"
_COMING = pa.array(["insert", "update_postimage"])


class Target:
    """The table that a view is written to.

    Args:
        table: The name of the table.
        stage: The name of a temporary table that deltas are copied into first.
        types: PostgreSQL's type of each of the view's columns.
        key: The columns that find rows; None for a table that deltas are appended to.
    """

    def __init__(
        self, table: sql.Identifier, stage: sql.Identifier, types: Mapping[str, str], key: tuple[str, ...] | None
    ) -> None:
        self._table = table
        self._stage = stage
        self._columns = tuple(types)
        self._types = types
        self._key = key

    def change(self, connection: Connection, delta: BatchDelta) -> None:
        """Write a delta."""
        if self._key is None:
            _copy(connection, self._table, self._columns, (rows.select(self._columns) for rows in _pieces(delta)))
            return
        definitions = [sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(kind)) for n, kind in self._types.items()]
        connection.execute(
            sql.SQL("CREATE TEMPORARY TABLE IF NOT EXISTS {} ({}, {} boolean) ON COMMIT DELETE ROWS").format(
                self._stage, sql.SQL(", ").join(definitions), sql.Identifier(_COMES)
            )
        )
        # What a new view holds is told as a version of its own, before that of the batch.
        versions = {version for rows in _pieces(delta) for version in pc.unique(rows[COMMIT_VERSION]).to_pylist()}
        for version in sorted(versions):
            self._change(connection, delta, version)

    def _change(self, connection: Connection, delta: BatchDelta, version: int) -> None:
        """Apply the part of a delta that belongs to one version."""
        nulls: set[tuple[bool, ...]] = set()
        columns = (*self._columns, _COMES)
        pieces = (rows.filter(pc.equal(rows[COMMIT_VERSION], version)) for rows in _pieces(delta))
        connection.execute(sql.SQL("TRUNCATE {}").format(self._stage))
        _copy(connection, self._stage, columns, (self._staged(rows, nulls) for rows in pieces))
        connection.execute(sql.SQL("ANALYZE {}").format(self._stage))
        if not self._key:  # there is one row at most
            connection.execute(sql.SQL("DELETE FROM {}").format(self._table))
        for pattern in sorted(nulls):
            connection.execute(self._deletion(pattern))
        connection.execute(self._insertion())

    def _staged(self, rows: pa.RecordBatch, nulls: set[tuple[bool, ...]]) -> pa.RecordBatch:
        """The rows of a delta, each with a mark for insertions; notes in ``nulls`` where deleted keys have NULL."""
        comes = pc.is_in(rows[CHANGE_TYPE], _COMING)
        going = rows.filter(pc.invert(comes))
        if going.num_rows and self._key:
            missing = [going[name].null_count for name in self._key]
            nulls.update(product(*([False, True] if some else [False] for some in missing)))
        return rows.select(self._columns).append_column(_COMES, comes)

    def _deletion(self, pattern: Iterable[bool]) -> sql.Composed:
        """The DELETE of rows whose key does not come again, for keys that are NULL where the pattern says so.

        There is one statement for each pattern: PostgreSQL joins fast by equality, but row by row by IS NOT DISTINCT
        FROM.
        """
        key = [(sql.Identifier(name), is_null) for name, is_null in zip(self._key or (), pattern, strict=True)]
        gone, same = [], []
        for name, is_null in key:
            both = "held.{0} IS NULL AND went.{0} IS NULL" if is_null else "held.{0} = went.{0}"
            gone.append(sql.SQL(both).format(name))
            again = "came.{0} IS NULL AND went.{0} IS NULL" if is_null else "came.{0} = went.{0}"
            same.append(sql.SQL(again).format(name))
        stage, comes = self._stage, sql.Identifier(_COMES)
        return sql.SQL(
            "DELETE FROM {} held USING {} went WHERE {} AND NOT EXISTS (SELECT 1 FROM {} came WHERE {})"
        ).format(
            self._table,
            stage,
            sql.SQL(" AND ").join([*gone, sql.SQL("NOT went.{}").format(comes)]),
            stage,
            sql.SQL(" AND ").join([*same, sql.SQL("came.{}").format(comes)]),
        )

    def _insertion(self) -> sql.Composed:
        """The INSERT of new rows, which updates rows with the same keys."""
        columns = sql.SQL(", ").join(map(sql.Identifier, self._columns))
        rest = [sql.Identifier(name) for name in self._columns if name not in (self._key or ())]
        taken: sql.Composable = sql.SQL("")
        if self._key:
            action: sql.Composable = sql.SQL("DO NOTHING")
            if rest:
                update = sql.SQL(", ").join(sql.SQL("{0} = excluded.{0}").format(name) for name in rest)
                action = sql.SQL("DO UPDATE SET {}").format(update)
            key = sql.SQL(", ").join(map(sql.Identifier, self._key))
            taken = sql.SQL(" ON CONFLICT ({}) {}").format(key, action)
        return sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE {}{}").format(
            self._table, columns, columns, self._stage, sql.Identifier(_COMES), taken
        )


def _pieces(delta: BatchDelta) -> Iterable[pa.RecordBatch]:
    return delta.to_batches(ROWS)


def _copy(
    connection: Connection, table: sql.Identifier, columns: tuple[str, ...], pieces: Iterable[pa.RecordBatch]
) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT csv)").format(table, names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for rows in pieces:
            copy.write(memoryview(csv(rows)))
