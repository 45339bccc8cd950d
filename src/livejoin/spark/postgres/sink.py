"""Views as tables of a PostgreSQL database: one transaction for each batch.

Law: the transaction of a batch also writes the batch's number into ``livejoin_batches``, and a batch whose number
stands there is not written again. So at any time all tables hold their views as they were after the same batch.

A view with a key becomes a table with that key: deleted rows are deleted by the key, new rows are inserted or update
the row with their key. For a view without a key, and for those in ``history``, the rows of the deltas are appended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import LiteralString

import pyarrow as pa
from psycopg import sql

from livejoin.checkpoint.batch_delta import TIMESTAMP, TIMESTAMP_TYPE, BatchDelta
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.errors import SchemaError, StateError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.spark.postgres.columns import column_type
from livejoin.spark.postgres.connection import RETRY_SECONDS, Connection, connect, explained, patiently, where
from livejoin.spark.postgres.target import Target
from livejoin.spark.sinks.sink import SinkView

BATCHES = "livejoin_batches"
_NULLS_ARE_EQUAL = 150000  # the first version of the server that has UNIQUE NULLS NOT DISTINCT
_HISTORY = (
    pa.field(CHANGE_TYPE, pa.string()),
    pa.field(COMMIT_VERSION, pa.int64()),
    pa.field(TIMESTAMP, TIMESTAMP_TYPE),
)


class PostgresSink:
    """A table for each view in a PostgreSQL database, changed in one transaction for each batch; mutable.

    Missing tables are made. A table that exists must have the view's columns and a unique index on one of the view's
    keys, and be empty before the first batch.

    Args:
        conninfo: The database, as for libpq: ``postgresql://user@host/database``.
        schema: The schema of the tables and of ``livejoin_batches``.
        tables: For a view the name of its table, if it differs.
        history: Views whose deltas are appended as rows, with ``_change_type``, ``_commit_version`` and
            ``_commit_timestamp``.
        retry_seconds: How long the server may be unreachable, as during a restart, before the query ends.
    """

    def __init__(
        self,
        conninfo: str,
        schema: str = "public",
        tables: Mapping[str, str] | None = None,
        history: Collection[str] = (),
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        self._retry_seconds = retry_seconds
        self._conninfo = conninfo
        self._schema = schema
        self._names = dict(tables or {})
        self._history = frozenset(history)
        self._run = ""
        self._targets: dict[str, Target] = {}
        self._connection: Connection | None = None

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Make missing tables, and compare the others with the checkpoint.

        Raises:
            SchemaError: A view has no key, or a table does not fit its view.
            StateError: The database and the checkpoint do not belong together.
            StorageError: The server cannot be reached, or refuses.
        """
        for argument, named in (("tables", self._names), ("history", self._history)):
            for view in named:
                if view not in views:
                    msg = f"{argument}= of the PostgreSQL sink names {view!r}; the views are {', '.join(views)}"
                    raise SchemaError(msg)
        self._run = run
        with explained(self._conninfo, "nothing was written"):
            connection = self._connected()
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtext('livejoin_batches'))")
                known = self._known(connection, last_batch)
                for view, shape in views.items():
                    self._targets[view] = self._target(connection, view, shape, view in known)
                connection.execute(
                    self._of_batches(
                        "INSERT INTO {} AS known (run, batch, views) VALUES ({}, {}, {}) "
                        "ON CONFLICT (run) DO UPDATE SET views = excluded.views",
                        *(run, -1, list(views)),
                    )
                )

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Write a batch to the tables; nothing if the database has the batch already.

        Cost: linear in the deltas, with a look at an index for each row.

        Raises:
            StateError: The database has not seen the batch before, or has seen later ones.
            StorageError: The server cannot be reached or refused. The tables are as before the batch; if the connection
                broke during the commit, maybe as after it, which the next delivery finds out.
        """
        said = (
            f"the tables hold batch {batch_id} whole or not at all. Repair that and start the query again: it goes on "
            "with this batch"
        )
        with explained(self._conninfo, said):
            # A batch that the server has, though it went away before it said so, is not written again.
            patiently(lambda: self._write(deltas, batch_id), self._retry_seconds)
        return []

    def forget(self, run: str) -> None:
        """Empty the tables that a run has written, and forget the run, so that it can start anew.

        Raises:
            StorageError: The server cannot be reached, or refuses.
        """
        with explained(self._conninfo, "nothing was deleted"), self._connected().transaction():
            connection = self._connected()
            if not _exists(connection, self._schema, BATCHES):
                return
            forgotten = self._of_batches("DELETE FROM {} WHERE run = {} RETURNING views", run)
            for (views,) in connection.execute(forgotten).fetchall():
                for view in views:
                    if _exists(connection, self._schema, self._names.get(view, view)):
                        connection.execute(sql.SQL("DELETE FROM {}").format(self._named(self._names.get(view, view))))

    def _write(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> None:
        """Run the transaction of a batch."""
        connection = self._connected()
        with connection.transaction():
            if not self._is_new(connection, batch_id):
                return
            for view, delta in deltas.items():
                if delta.num_rows:
                    self._targets[view].change(connection, delta)
            connection.execute(
                self._of_batches("UPDATE {} SET batch = {}, at = now() WHERE run = {}", batch_id, self._run)
            )

    def _connected(self) -> Connection:
        """The connection; a new one if the last one broke."""
        if self._connection is None or self._connection.closed or self._connection.broken:
            self._connection = connect(self._conninfo)
        return self._connection

    def _of_batches(self, statement: LiteralString, *values: object) -> sql.Composed:
        """A statement on ``livejoin_batches``. With parameters, psycopg takes no ``%`` in the name of a schema."""
        return sql.SQL(statement).format(self._named(BATCHES), *map(sql.Literal, values))

    def _named(self, table: str) -> sql.Identifier:
        return sql.Identifier(self._schema, table)

    def _known(self, connection: Connection, last_batch: int | None) -> frozenset[str]:
        """The views of this run in the database; the table of runs is made if it is missing."""
        connection.execute(
            sql.SQL(
                "CREATE TABLE IF NOT EXISTS {} (run text PRIMARY KEY, batch bigint NOT NULL, views text[] NOT NULL, "
                "at timestamptz NOT NULL DEFAULT now())"
            ).format(self._named(BATCHES))
        )
        found = connection.execute(self._of_batches("SELECT batch, views FROM {} WHERE run = {}", self._run)).fetchone()
        holds = "has not seen a batch yet" if last_batch is None else f"has seen the batches up to {last_batch}"
        if found is None:
            if last_batch is not None:
                msg = (
                    f"the checkpoint {holds}, and the database {where(self._conninfo)} knows none of them in "
                    f"{self._schema}.{BATCHES}: it is not the one that they went to. Give that one, or start over with "
                    "an empty checkpoint"
                )
                raise StateError(msg)
            return frozenset()
        batch, views = found
        last = -1 if last_batch is None else last_batch
        if not last - 1 <= batch <= last + 1:
            msg = (
                f"the checkpoint {holds}, and the database {where(self._conninfo)} those up to {batch}: one of them "
                "was put back to an earlier state. Restore both from the same time, or start over with an empty "
                "checkpoint and empty tables"
            )
            raise StateError(msg)
        return frozenset(views)

    def _is_new(self, connection: Connection, batch_id: int) -> bool:
        """Whether a batch is the next one (True) or the last one again (False). Locks out other writers."""
        found = connection.execute(
            self._of_batches("SELECT batch FROM {} WHERE run = {} FOR UPDATE", self._run)
        ).fetchone()
        batch = None if found is None else found[0]
        if batch == batch_id:
            return False
        if batch != batch_id - 1:
            msg = (
                f"batch {batch_id} comes to the database {where(self._conninfo)}, which has "
                f"{'forgotten this run' if batch is None else f'seen those up to {batch}'}: somebody else changed "
                f"{self._schema}.{BATCHES}, or it was restored. Start over with an empty checkpoint and empty tables"
            )
            raise StateError(msg)
        return True

    def _target(self, connection: Connection, view: str, shape: SinkView, is_ours: bool) -> Target:
        """The table of a view, which is made if it is missing.

        Raises:
            SchemaError: The table does not fit the view.
            StateError: The table has rows that are not of this run.
        """
        name = self._names.get(view, view)
        appends = view in self._history
        if not appends and not shape.keys:
            msg = (
                f"view {view!r} has no key by which rows could be updated in PostgreSQL. Let it show the keys of its "
                "tables (PRIMARY KEY), or group its rows (SELECT a, b, COUNT(*) AS n ... GROUP BY a, b), or have its "
                f"deltas appended: history = [{view!r}]"
            )
            raise SchemaError(msg)
        fields = [*shape.schema, *(_HISTORY if appends else ())]
        types = {field.name: column_type(field) for field in fields}
        table = self._named(name)
        if not _exists(connection, self._schema, name):
            definitions = [sql.SQL("{} {}").format(sql.Identifier(n), sql.SQL(kind)) for n, kind in types.items()]
            if not appends and shape.keys[0]:
                definitions.append(_unique(connection, shape.keys[0]))
            connection.execute(sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(definitions)))
        elif not is_ours and connection.execute(sql.SQL("SELECT 1 FROM {} LIMIT 1").format(table)).fetchone():
            msg = (
                f"table {self._schema}.{name} of {where(self._conninfo)} holds rows that are not of this checkpoint, "
                f"and view {view!r} is to be written there: empty it (TRUNCATE), or name another one in tables="
            )
            raise StateError(msg)
        self._check_columns(connection, view, name, types)
        key = None if appends else self._key(connection, view, name, shape.keys)
        return Target(table, sql.Identifier("pg_temp", f"livejoin_delta_{len(self._targets)}"), types, key)

    def _check_columns(self, connection: Connection, view: str, name: str, types: Mapping[str, str]) -> None:
        rows = connection.execute(
            "SELECT column_name, is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' "
            "FROM information_schema.columns WHERE table_schema = %s AND table_name = %s AND is_generated = 'NEVER'",
            (self._schema, name),
        ).fetchall()
        there: dict[str, bool] = dict(rows)
        missing = [column for column in types if column not in there]
        wanted = [column for column, needs_value in there.items() if needs_value and column not in types]
        if missing or wanted:
            told = [f"lacks the column {column!r} of type {types[column]}" for column in missing]
            told += [f"wants a value in {column!r}, which the view does not have" for column in wanted]
            msg = f"table {self._schema}.{name} does not fit view {view!r}: it {', and '.join(told)}. Alter or drop it"
            raise SchemaError(msg)

    def _key(self, connection: Connection, view: str, name: str, keys: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
        """The key of the view on which the table has a unique index."""
        if () in keys:
            return ()
        found = connection.execute(
            "SELECT array_agg(a.attname::text ORDER BY a.attname::text) FROM pg_index i "
            "JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace "
            "JOIN pg_attribute a ON a.attrelid = i.indrelid "
            "AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) "
            "WHERE n.nspname = %s AND c.relname = %s AND i.indisunique AND i.indimmediate AND i.indisvalid "
            "AND i.indpred IS NULL AND i.indexprs IS NULL "
            "GROUP BY i.indexrelid",
            (self._schema, name),
        ).fetchall()
        unique = {tuple(columns) for (columns,) in found}
        for key in keys:
            if tuple(sorted(key)) in unique:
                return key
        msg = (
            f"table {self._schema}.{name} has no unique index on a key of view {view!r}, which are "
            f"{', '.join('(' + ', '.join(key) + ')' for key in keys)}: make one, or drop the table, and it is made"
        )
        raise SchemaError(msg)


def _unique(connection: Connection, key: tuple[str, ...]) -> sql.Composed:
    """A unique constraint for which NULL is a value; on servers too old for that, a key without NULL."""
    columns = sql.SQL(", ").join(map(sql.Identifier, key))
    is_new = connection.info.server_version >= _NULLS_ARE_EQUAL
    return sql.SQL("UNIQUE NULLS NOT DISTINCT ({})" if is_new else "PRIMARY KEY ({})").format(columns)


def _exists(connection: Connection, schema: str, table: str) -> bool:
    found = connection.execute(
        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relname = %s",
        (schema, table),
    )
    return found.fetchone() is not None
