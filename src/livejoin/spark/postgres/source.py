"""Tables of a PostgreSQL database as one stream of changes: a snapshot first, then logical replication.

Offsets are positions in the server's log. A micro-batch holds whole transactions, those that committed between two
positions, over all tables of the stream. The slot on the server is advanced when Spark has committed the batch behind,
so that a batch that runs again is read again from the server, the same.

The first batch is what the tables hold. The slot is made while it is read, in one transaction with a snapshot of the
same moment; if that batch has to run again, the slot is made anew, with a newer snapshot.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
from psycopg import sql
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from livejoin.errors import StateError
from livejoin.schema import CHANGE_TYPE, SEQUENCE
from livejoin.spark.arrow_columns import mark_texts
from livejoin.spark.postgres import slot as slots
from livejoin.spark.postgres.connection import Connection, connect, explained, where
from livejoin.spark.postgres.pgoutput import changes
from livejoin.spark.postgres.published import PublishedTable, published
from livejoin.spark.postgres.values import rows_of
from livejoin.spark.read_limit import checked, most_of, read_limit
from livejoin.spark.stream_part import StreamPart

FORMAT = "livejoin-postgres"
_NOTHING, _SNAPSHOT = "nothing", "snapshot"  # offsets before and behind the first batch
_PIECE = 50_000  # changes in an Arrow batch
_FAILED = "the query ends; start it again when that is repaired, and it goes on with this batch"


def read_postgres(
    spark: SparkSession,
    conninfo: str,
    publication: str,
    slot: str,
    tables: Sequence[str] | Mapping[str, str] | None = None,
    max_changes: int | None = None,
) -> dict[str, StreamPart]:
    """The tables of a publication as `maintain` takes them: what they hold first, then every change, without a gap.

    They are one stream, so that a micro-batch holds whole transactions. A table with a primary key goes by it; one
    without needs ``REPLICA IDENTITY FULL``. Values of types that livejoin does not have come as PostgreSQL's text.

    Args:
        spark: The session; PySpark 4.2 or newer.
        conninfo: The database, as for libpq; its user needs the attribute REPLICATION and SELECT on the tables.
        publication: The publication, as CREATE PUBLICATION made it.
        slot: What the slot of this stream is called on the server; a name that no other checkpoint has. The server
            keeps its log until this stream has read it, so drop the slot (``pg_drop_replication_slot``) when the
            stream is not wanted any more.
        tables: Those of the publication that are read: their names, or what they are called here and their names.
        max_changes: The most changes of a batch, for streams that have fallen behind; None for all that are there.
            Transactions stay whole, so that one with more changes is a batch alone, and the first batch has all that
            the tables hold.

    Raises:
        SchemaError: There is no such publication or table, or ``max_changes`` is less than 1.
        StorageError: The server is not there, or refuses.
    """
    checked(max_changes, "max_changes")
    found = published_tables(conninfo, publication, tables)
    spark.dataSource.register(PostgresSource)
    names = {table.name: f"{table.schema}.{table.table}" for table in found}
    reader = spark.readStream.format(FORMAT).option("url", conninfo).option("publication", publication)
    # Spark would start a process of its own to ask for the schema.
    reader = reader.schema(_types(found))
    reader = reader.option("slot", slot).option("tables", json.dumps(names))
    stream = (reader if max_changes is None else reader.option("max_changes", max_changes)).load()
    return {table.name: StreamPart(stream, table.name, table.key) for table in found}


def published_tables(
    conninfo: str, publication: str, tables: Sequence[str] | Mapping[str, str] | None = None
) -> tuple[PublishedTable, ...]:
    """The tables that `read_postgres` would read; raises as it does."""
    with explained(conninfo, "nothing was read"), connect(conninfo) as connection:
        return published(connection, publication, tables)


def drop_slot(conninfo: str, slot: str) -> None:
    """Drop the slot of a stream that is not wanted any more, if it is there.

    Raises:
        StorageError: The server is not there, or refuses.
    """
    with explained(conninfo, "the slot was not dropped"), connect(conninfo) as connection:
        slots.drop(connection, slot)


class PostgresSource(DataSource):
    """Spark's side of the source; its options are the arguments of `read_postgres`, ``tables`` as JSON."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        place = Place(self.options)
        with explained(place.conninfo, "nothing was read"), connect(place.conninfo) as connection:
            return _types(place.tables(connection))

    def streamReader(self, schema: StructType) -> PostgresReader:
        return PostgresReader(Place(self.options))


class Place:
    """What a stream reads; it goes to Spark's workers."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.conninfo = options["url"]
        self.publication = options["publication"]
        self.slot = options["slot"]
        self.max_changes = int(options["max_changes"]) if "max_changes" in options else None
        self._tables: dict[str, str] = json.loads(options["tables"])

    def tables(self, connection: Connection) -> tuple[PublishedTable, ...]:
        """The tables as the catalog has them now."""
        return published(connection, self.publication, self._tables)


class PostgresReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets and batches of the stream."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._last: int | None = None  # where a query ends that reads what is there now

    def initialOffset(self) -> dict[str, str]:
        return {"at": _NOTHING}

    def getDefaultReadLimit(self) -> ReadLimit:
        return read_limit(self._place.max_changes)

    def prepareForTriggerAvailableNow(self) -> None:
        with _asking(self._place.conninfo) as connection:
            self._last = slots.newest_position(connection)

    def latestOffset(self, start: dict[str, str], limit: ReadLimit) -> dict[str, str]:
        """The newest position at which all transactions before are whole, or one before it, of no more changes.

        Raises:
            StateError: The slot is not there any more, or is there before the first batch.
        """
        place = self._place
        with _asking(self._place.conninfo) as connection:
            held = slots.confirmed(connection, place.slot)
            if start["at"] == _NOTHING:
                if held is not None:
                    msg = (
                        f"the slot {place.slot!r} of {where(place.conninfo)} is there already, and this checkpoint has "
                        "not begun: it may be of another pipeline. Name another one, or drop it: "
                        f"SELECT pg_drop_replication_slot('{place.slot}')"
                    )
                    raise StateError(msg)
                return {"at": _SNAPSHOT}
            if held is None:
                slots.check_holds(connection, place.slot, 0)
            newest = self._last if self._last is not None else slots.newest_position(connection)
            if newest is None and start["at"] != _SNAPSHOT:
                return start
            begin = (held or 0) if start["at"] == _SNAPSHOT else slots.number(start["at"])
            end = max(newest or 0, begin)
            most = most_of(limit)
            if most is not None and begin < end:
                end = slots.position_behind(connection, place.slot, place.publication, begin, end, most)
            return {"at": slots.text(end)}

    def partitions(self, start: dict[str, str], end: dict[str, str]) -> list[InputPartition]:
        return [InputPartition((start["at"], end["at"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes between two positions, in one partition: they have an order."""
        start, end = partition.value
        place = self._place
        with explained(place.conninfo, _FAILED):
            if end == _SNAPSHOT:
                with slots.created(place.conninfo, place.slot) as connection:
                    yield from _snapshot(connection, place.tables(connection))
            elif start != end:
                with connect(place.conninfo) as connection:
                    begin = (
                        (slots.confirmed(connection, place.slot) or 0) if start == _SNAPSHOT else slots.number(start)
                    )
                    slots.check_holds(connection, place.slot, begin)
                    yield from _changes(connection, place, begin, slots.number(end))

    def commit(self, end: dict[str, str]) -> None:
        if end["at"] not in (_NOTHING, _SNAPSHOT):
            with _asking(self._place.conninfo) as connection:
                slots.advance(connection, self._place.slot, slots.number(end["at"]))


@contextmanager
def _asking(conninfo: str) -> Iterator[Connection]:
    with explained(conninfo, _FAILED), connect(conninfo) as connection:
        yield connection


def _schema(tables: Sequence[PublishedTable]) -> pa.Schema:
    """The columns of the stream."""
    own = [pa.field(SEQUENCE, pa.int64()), pa.field(CHANGE_TYPE, pa.string())]
    return pa.schema([*own, *(pa.field(table.name, table.row_type) for table in tables)])


def _types(tables: Sequence[PublishedTable]) -> StructType:
    """The same as Spark has it."""
    types: StructType = from_arrow_schema(_schema(tables), prefer_timestamp_ntz=True)
    for table in tables:
        mark_texts(types[table.name].dataType, table.arrow_schema)
    return types


def _snapshot(connection: Connection, tables: Sequence[PublishedTable]) -> Iterator[pa.RecordBatch]:
    """What the tables hold."""
    schema = _schema(tables)
    for place, table in enumerate(tables):
        columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in table.columns)
        rows = sql.SQL("SELECT {} FROM {}").format(columns, sql.Identifier(table.schema, table.table))
        if table.row_filter:
            rows = sql.SQL("{} WHERE {}").format(rows, sql.SQL(table.row_filter))
        kind = "upsert" if table.key else "insert"
        statement = sql.SQL("COPY ({}) TO STDOUT (FORMAT csv)").format(rows)
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            lines: list[bytes] = []
            for line in copy:
                lines.append(bytes(line))
                if len(lines) == _PIECE:
                    yield _batch(schema, place, rows_of(table, _texts(lines, len(table.columns))), kind)
                    lines.clear()
            if lines:
                yield _batch(schema, place, rows_of(table, _texts(lines, len(table.columns))), kind)


def _texts(lines: Sequence[bytes], columns: int) -> list[pa.Array]:
    """The texts of rows in CSV, where NULL is nothing and the empty string is in quotes."""
    names = [str(position) for position in range(columns)]
    read = pacsv.read_csv(
        io.BytesIO(b"".join(lines)),
        read_options=pacsv.ReadOptions(column_names=names, use_threads=False),
        parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return [column.combine_chunks() for column in read.columns]


def _batch(schema: pa.Schema, place: int, rows: pa.StructArray, kind: str) -> pa.RecordBatch:
    """Rows of one table that all have one kind; their order does not matter."""
    count = len(rows)
    arrays = [pa.repeat(pa.scalar(0, pa.int64()), count), pa.repeat(kind, count)]
    arrays += [rows if place == at else pa.nulls(count, field.type) for at, field in enumerate(list(schema)[2:])]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _changes(connection: Connection, place: Place, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """The changes between two positions, numbered in their order."""
    tables = place.tables(connection)
    schema = _schema(tables)
    messages = slots.read(connection, place.slot, place.publication, end)
    by_name = {(table.schema, table.table): table for table in tables}
    taken = []
    first = 0
    for change in changes(messages, by_name, start, end):
        taken.append(change)
        if len(taken) == _PIECE:
            yield _numbered(schema, tables, taken, first)
            first += len(taken)
            taken.clear()
    if taken:
        yield _numbered(schema, tables, taken, first)


def _numbered(schema: pa.Schema, tables: Sequence[PublishedTable], taken: Sequence[Any], first: int) -> pa.RecordBatch:
    """Changes of several tables as rows of the stream."""
    arrays = [
        pa.array(range(first, first + len(taken)), pa.int64()),
        pa.array([change.kind for change in taken], pa.string()),
    ]
    for table in tables:
        places = [at for at, change in enumerate(taken) if change.table == table.name]
        columns = zip(*(taken[at].row for at in places), strict=True) if places else [()] * len(table.columns)
        rows = rows_of(table, [pa.array(column, pa.binary()) for column in columns])
        chosen: list[int | None] = [None] * len(taken)
        for position, at in enumerate(places):
            chosen[at] = position
        arrays.append(rows.take(pa.array(chosen, pa.int64())))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
