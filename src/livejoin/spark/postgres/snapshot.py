"""The first rows of a stream from PostgreSQL: what the tables hold, in pieces of one snapshot of the database.

A temporary slot of logical replication comes with a snapshot, which lives as long as the connection that made the slot.
The planner of batches holds that connection. A piece is a range of positions in a table's files. When the last piece
was read, the temporary slot is copied to a permanent one.

Law: the pieces of one snapshot are the rows at the slot's position, each once. If the snapshot is lost before its end,
a new one is taken, which begins with the truncation of all tables; pieces of the lost one have no rows.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import errors, sql

from livejoin.spark.postgres import slot as slots
from livejoin.spark.postgres.connection import Connection, connect
from livejoin.spark.postgres.published import PublishedTable, newest_columns
from livejoin.spark.streams.stream_part import NUMBERS

SNAPSHOT = "snapshot"
_PART = """
WITH RECURSIVE part AS (
    SELECT c.oid, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s
    UNION ALL
    SELECT c.oid, c.relkind FROM part p JOIN pg_inherits i ON i.inhparent = p.oid AND p.relkind = 'p'
    JOIN pg_class c ON c.oid = i.inhrelid)
"""
_SIZE = f"""{_PART}
SELECT sum(c.reltuples)::bigint, min(c.reltuples) >= 0, coalesce(sum(pg_table_size(c.oid)), 0)::bigint
FROM part p JOIN pg_class c ON c.oid = p.oid WHERE p.relkind <> 'p'
"""
_PARTS = f"""{_PART}
SELECT n.nspname::text, c.relname::text FROM part p JOIN pg_class c ON c.oid = p.oid
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.relkind <> 'p' ORDER BY p.oid
"""
# A range of places is read in their order, so that the first rows are a piece.
_IN_ORDER = (
    "SET LOCAL synchronize_seqscans = off; SET LOCAL max_parallel_workers_per_gather = 0; "
    "SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = off"
)
_GONE = (errors.InvalidParameterValue, errors.ObjectNotInPrerequisiteState, errors.UndefinedObject)
_FIRST = "(0,0)"
_LONGEST = 50  # of the characters of a slot's name, so that something random fits behind


@dataclass(frozen=True)
class Range:
    """A range of rows of a table, or of one of its partitions, in the order of the file.

    Args:
        table: The position of the table among those of the stream.
        schema: The schema of the table or partition.
        name: The name of the table or partition.
        after: The position in the file after which the range begins.
        upto: The last position of the range; None for the end.
    """

    table: int
    schema: str
    name: str
    after: str
    upto: str | None

    def condition(self) -> sql.Composed:
        """The SQL condition for the rows of the range."""
        found = sql.SQL("ctid > {}::tid").format(sql.Literal(self.after))
        return found if self.upto is None else found + sql.SQL(" AND ctid <= {}::tid").format(sql.Literal(self.upto))


@dataclass(eq=False)
class HeldSnapshot:
    """A snapshot that is held, and how far it was handed out; mutable.

    Args:
        walsender: The connection that the snapshot lives with.
        temporary: The temporary slot of the snapshot.
        position: The position of the slot.
        name: The name of the snapshot.
        state: The transactions that the snapshot sees, to recognise it.
        again: Whether an earlier snapshot was lost.
        left: The ranges that were not handed out yet.
        numbers: For each table the largest number of a column at that time.
    """

    walsender: Connection
    temporary: str
    position: int
    name: str
    state: str
    again: bool
    left: list[Range] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    _given: tuple[object, dict[str, Any]] | None = None

    @staticmethod
    def take(conninfo: str, slot: str, tables: Sequence[PublishedTable], again: bool) -> HeldSnapshot:
        """Take a snapshot.

        Raises:
            StorageError: The server refuses.
        """
        # Else a server that ends idle transactions ends this one.
        walsender = connect(conninfo, replication="database", options="-c idle_in_transaction_session_timeout=0")
        try:
            temporary = f"{slot[:_LONGEST]}_{secrets.token_hex(4)}"
            position, name = slots.created(walsender, conninfo, temporary)
            held = HeldSnapshot(walsender, temporary, position, name, "", again)
            with connect(conninfo) as connection, connection.transaction():
                _begin(connection, name)
                held.state = _state(connection)
                held.numbers = newest_columns(connection, tables)
                for place, table in enumerate(tables):
                    for schema, part in connection.execute(_PARTS, (table.schema, table.table)).fetchall():
                        held.left.append(Range(place, schema, part, _FIRST, None))
        except BaseException:
            walsender.close()
            raise
        return held

    def is_alive(self, connection: Connection) -> bool:
        """Whether the snapshot still exists."""
        found = connection.execute(
            "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active_pid = %s",
            (self.temporary, self.walsender.info.backend_pid),
        )
        return found.fetchone() is not None

    def was_given(self, offset: Mapping[str, Any]) -> bool:
        """Whether an offset is the one that was handed out last."""
        return self._given is not None and self._given[1] == offset

    def began_at(self, offset: object) -> bool:
        """Whether an offset is the start of the last piece, which is asked for again."""
        return self._given is None or self._given[0] == offset

    def next(
        self, connection: Connection, start: object, tables: Sequence[PublishedTable], most: int
    ) -> dict[str, Any]:
        """The offset after the next piece of at most ``most`` rows; the same one if a start is asked for again.

        Cost: the rows of the piece are counted.
        """
        if self._given is not None and self._given[0] == start:
            return self._given[1]
        ranges, left = [], list(self.left)
        with connection.transaction():
            _begin(connection, self.name)
            connection.execute(_IN_ORDER)
            while left and most > 0:
                one = left.pop(0)
                count, last = _counted(connection, one, tables[one.table], most)
                if count == most:
                    left.insert(0, Range(one.table, one.schema, one.name, last, None))
                    one = Range(one.table, one.schema, one.name, one.after, last)
                most -= count
                ranges.append(one)
        offset = {
            "at": SNAPSHOT,
            "of": slots.text(self.position),
            "name": self.name,
            "state": self.state,
            "again": self.again and self._given is None,
            "ranges": [list(vars(one).values()) for one in ranges],
            "ends": not left,
            NUMBERS: self.numbers,
        }
        self.left, self._given = left, (start, offset)
        return offset

    def keep(self, connection: Connection, slot: str) -> None:
        """Make the slot permanent, and release the snapshot."""
        slots.copy(connection, self.temporary, slot)
        self.close()

    def close(self) -> None:
        """Release the snapshot."""
        self.walsender.close()


def is_there(connection: Connection, offset: Mapping[str, Any]) -> bool:
    """Let a transaction see the snapshot of a piece; gives whether the snapshot still exists."""
    try:
        _begin(connection, offset["name"])
    except _GONE:
        return False
    return bool(_state(connection) == offset["state"])  # a server that started again uses the names again


def size_of(connection: Connection, table: PublishedTable) -> tuple[int | None, int]:
    """About how many rows a table has, None if they were not counted yet, and its bytes; of all its partitions."""
    found = connection.execute(_SIZE, (table.schema, table.table)).fetchone()
    assert found is not None
    rows, is_counted, size = found
    return (int(rows) if is_counted else None), int(size)


def ranges_of(offset: Mapping[str, Any]) -> Iterator[Range]:
    """The ranges of a piece."""
    return (Range(*one) for one in offset["ranges"])


def _begin(connection: Connection, name: str) -> None:
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(name)))


def _state(connection: Connection) -> str:
    found = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
    assert found is not None
    return str(found[0])


def filtered(table: PublishedTable, rows: Range, columns: sql.Composable) -> sql.Composed:
    """The query for a range of rows."""
    found = sql.SQL("SELECT {} FROM ONLY {} WHERE {}").format(
        columns, sql.Identifier(rows.schema, rows.name), rows.condition()
    )
    return found + sql.SQL(" AND ({})").format(sql.SQL(table.row_filter)) if table.row_filter else found


def _counted(connection: Connection, rows: Range, table: PublishedTable, most: int) -> tuple[int, str]:
    """The number of rows in the next ``most`` rows of a range, and the position of the last one."""
    query = sql.SQL("SELECT count(*), max(ctid)::text FROM ({} LIMIT {}) piece").format(
        filtered(table, rows, sql.SQL("ctid")), sql.Literal(most)
    )
    found = connection.execute(query).fetchone()
    assert found is not None
    return int(found[0]), str(found[1])
