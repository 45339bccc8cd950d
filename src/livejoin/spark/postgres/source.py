"""Tables of a PostgreSQL database as one stream of changes: a snapshot first, then logical replication.

Offsets are positions in the server's log. A micro-batch holds whole transactions, those that committed between two
positions, over all tables of the stream. The slot on the server is advanced when Spark has committed the next batch, so
a batch that runs again is read from the server again, unchanged.

The first batches are the rows of the tables, in pieces of one snapshot (`livejoin.spark.postgres.snapshot`). The
permanent slot exists when the last piece was read. A start that does not find the slot takes a new snapshot, and first
empties what earlier pieces have filled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from psycopg import OperationalError
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from livejoin.errors import StateError
from livejoin.spark.limited_streams import ReadLimit, SupportsTriggerAvailableNow
from livejoin.spark.postgres import slot as slots
from livejoin.spark.postgres.connection import (
    RETRY_SECONDS,
    Connection,
    Patience,
    Result,
    connect,
    explained,
    patiently,
    where,
)
from livejoin.spark.postgres.published import PublishedTable, newest_columns, published
from livejoin.spark.postgres.snapshot import SNAPSHOT, HeldSnapshot, is_there, size_of
from livejoin.spark.postgres.stream_rows import change_rows, earlier_of, piece_rows, types_of
from livejoin.spark.read_limit import checked, most_of, read_limit
from livejoin.spark.streams.stream_part import NUMBERS, StreamPart

FORMAT = "livejoin-postgres"
_NOTHING = "nothing"  # the offset before the first batch
_ROWS = 250_000  # of what the tables hold in a batch, so that it passes the memory that Spark gives a result
_FAILED = "the query ends; start it again when that is repaired, and it goes on with this batch"


def read_postgres(
    spark: SparkSession,
    conninfo: str,
    publication: str,
    slot: str,
    tables: Sequence[str] | Mapping[str, str] | None = None,
    max_changes: int | None = None,
    columns: Mapping[str, Mapping[str, str]] | None = None,
    retry_seconds: float = RETRY_SECONDS,
) -> dict[str, StreamPart]:
    """The tables of a publication as `maintain` takes them: first their rows, then every change, without a gap.

    All tables are one stream, so a micro-batch holds whole transactions. A table with a primary key has changes by key;
    a table without one needs ``REPLICA IDENTITY FULL``. Values of types that livejoin does not support come as
    PostgreSQL's text.

    Args:
        spark: The session; PySpark 4.2 or newer.
        conninfo: The database, as for libpq; its user needs the attribute REPLICATION and SELECT on the tables.
        publication: The publication, as CREATE PUBLICATION made it.
        slot: The name of this stream's slot on the server, which no other checkpoint may use. The server keeps its log
            until this stream has read it. So drop the slot (`drop_slot`) when you do not need the stream any more.
        tables: The tables to read: a list of names, or a mapping from names here to names in the database.
        max_changes: The most changes of a batch, for streams that have fallen behind; None for all that are there.
            Transactions stay whole: one with more changes is a batch alone. The first rows of the tables come in pieces
            of this size, at most 250,000 rows.
        columns: For a table its renamed columns: ``{"customers": {"name": "full_name"}}`` has the column ``full_name``
            of the database as ``name``. So a stream can go on after a column was renamed.
        retry_seconds: How long the server may be unreachable, as during a restart, before the query ends.

    Raises:
        SchemaError: There is no such publication or table, or ``max_changes`` is less than 1.
        StorageError: The server cannot be reached, or refuses.
    """
    checked(max_changes, "max_changes")
    found = published_tables(conninfo, publication, tables, columns)
    spark.dataSource.register(PostgresSource)
    reader = spark.readStream.format(FORMAT).option("url", conninfo).option("publication", publication)
    # Spark would start a process of its own to ask for the schema.
    reader = reader.schema(types_of(found))
    reader = reader.option("slot", slot).option("tables", json.dumps([table.plain() for table in found]))
    reader = reader.option("retry_seconds", str(float(retry_seconds)))
    stream = (reader if max_changes is None else reader.option("max_changes", max_changes)).load()
    return {table.name: StreamPart(stream, table.name, table.key, earlier_of(table), table.numbers) for table in found}


def published_tables(
    conninfo: str,
    publication: str,
    tables: Sequence[str] | Mapping[str, str] | None = None,
    columns: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[PublishedTable, ...]:
    """The tables that `read_postgres` would read; raises the same errors."""
    with explained(conninfo, "nothing was read"), connect(conninfo) as connection:
        return published(connection, publication, tables, columns)


def table_sizes(
    conninfo: str,
    publication: str,
    tables: Sequence[str] | Mapping[str, str] | None = None,
    columns: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, tuple[int | None, int]]:
    """For each table about how many rows it has, None if the server has not counted them, and its bytes.

    Raises:
        StorageError, SchemaError: As for `read_postgres`.

    Cost: a look at the catalog. The rows are those that ANALYZE or autovacuum saw last.
    """
    with explained(conninfo, "nothing was read"), connect(conninfo) as connection:
        found = published(connection, publication, tables, columns)
        return {table.name: size_of(connection, table) for table in found}


def drop_slot(conninfo: str, slot: str) -> None:
    """Drop the slot of a stream that is not needed any more, if it exists.

    Raises:
        StorageError: The server cannot be reached, or refuses.
    """
    with explained(conninfo, "the slot was not dropped"), connect(conninfo) as connection:
        slots.drop(connection, slot)


class PostgresSource(DataSource):
    """Spark's entry to the source; its options are the arguments of `read_postgres`, ``tables`` as JSON."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return types_of(Place(self.options).tables)

    def streamReader(self, schema: StructType) -> PostgresReader:
        return PostgresReader(Place(self.options))


class Place:
    """What a stream reads, as Spark's workers get it. Tables and columns are those at the start of the query."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.conninfo = options["url"]
        self.publication = options["publication"]
        self.slot = options["slot"]
        self.max_changes = int(options["max_changes"]) if "max_changes" in options else None
        self.retry_seconds = float(options["retry_seconds"])
        self.tables = tuple(map(PublishedTable.from_plain, json.loads(options["tables"])))


class PostgresReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets and batches of the stream."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._last: int | None = None  # where a query ends that reads what is there now
        self._held: HeldSnapshot | None = None  # by the process that plans batches

    def initialOffset(self) -> dict[str, Any]:
        return {"at": _NOTHING}

    def getDefaultReadLimit(self) -> ReadLimit:
        return read_limit(self._place.max_changes)

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._asked(slots.newest_position)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """The newest position before which all transactions are complete, or an earlier one to limit the changes.

        Before the first position come the pieces of the tables' rows. An offset also has the numbers of the newest
        columns: the stream may have skipped values of columns that it does not read yet.

        Raises:
            StateError: The slot does not exist any more, or exists before the first batch.
        """
        return self._asked(lambda connection: self._latest(connection, start, most_of(limit)))

    def _latest(self, connection: Connection, start: dict[str, Any], most: int | None) -> dict[str, Any]:
        place = self._place
        held = slots.confirmed(connection, place.slot)
        if start["at"] == _NOTHING and slots.is_taken(connection, place.slot):
            msg = (
                f"the slot {place.slot!r} of {where(place.conninfo)} is there already, and this checkpoint has "
                "not begun: it may be of another pipeline. Name another one, or drop it: "
                f"SELECT pg_drop_replication_slot('{place.slot}')"
            )
            raise StateError(msg)
        if start["at"] == _NOTHING or "of" in start:
            piece = self._piece(connection, start, held, most)
            if piece is not None:
                return piece
            begin = slots.number(start["of"])
            return {"at": slots.text(begin), NUMBERS: newest_columns(connection, place.tables)}
        if held is None:
            slots.check_holds(connection, place.slot, 0)
        newest = self._last if self._last is not None else slots.newest_position(connection)
        is_old = start["at"] == SNAPSHOT  # a checkpoint of before there were pieces
        if newest is None and not is_old:
            return start
        begin = (held or 0) if is_old else slots.number(start["at"])
        end = max(newest or 0, begin)
        if most is not None and begin < end:
            end = slots.position_behind(connection, place.slot, place.publication, begin, end, most)
        if end == begin and not is_old:
            return start
        return {"at": slots.text(end), NUMBERS: newest_columns(connection, place.tables)}

    def _piece(
        self, connection: Connection, start: dict[str, Any], slot: int | None, most: int | None
    ) -> dict[str, Any] | None:
        """The offset after the next piece of the tables' rows; None after the last piece."""
        place, held = self._place, self._held
        if start["at"] != _NOTHING and start["ends"] and slot == slots.number(start["of"]):
            return None
        if held is not None and not held.is_alive(connection):
            held.close()
            held = self._held = None
        if held is not None and held.was_given(start) and start["ends"]:
            held.keep(connection, place.slot)
            self._held = None
            return None
        if held is None or not (held.was_given(start) or held.began_at(start)):
            if held is not None:
                held.close()
            held = HeldSnapshot.take(place.conninfo, place.slot, place.tables, start["at"] != _NOTHING)
            self._held = held
        return held.next(connection, start, place.tables, min(most or _ROWS, _ROWS))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        return [InputPartition((start, end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The changes between two positions, in one partition because they have an order.

        If the server goes away in the middle, the changes are read again, and those that were handed on are left out.
        """
        start, end = partition.value
        place = self._place
        patience = Patience(place.retry_seconds)
        given = 0
        with explained(place.conninfo, _FAILED):
            while True:
                try:
                    for number, batch in enumerate(self._read(start, end)):
                        patience.succeed()
                        if number >= given:
                            given += 1
                            yield batch
                except OperationalError as error:
                    patience.wait(error)
                else:
                    return

    def _read(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        place = self._place
        if start["at"] == end["at"] != SNAPSHOT:
            return
        with connect(place.conninfo) as connection:
            if "of" in end:
                with connection.transaction():
                    if is_there(connection, end):
                        yield from piece_rows(connection, place.tables, end)
            elif end["at"] != SNAPSHOT and start["at"] != SNAPSHOT:
                begin = slots.number(start["at"])
                slots.check_holds(connection, place.slot, begin)
                yield from self._changes(connection, begin, end)
            elif "of" not in start:
                begin = slots.confirmed(connection, place.slot) or 0
                yield from self._changes(connection, begin, end)

    def _changes(self, connection: Connection, begin: int, end: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        place = self._place
        return change_rows(connection, place.slot, place.publication, place.tables, begin, slots.number(end["at"]))

    def commit(self, end: dict[str, Any]) -> None:
        if end["at"] not in (_NOTHING, SNAPSHOT):
            self._asked(lambda connection: slots.advance(connection, self._place.slot, slots.number(end["at"])))

    def _asked(self, ask: Callable[[Connection], Result]) -> Result:
        """Call a function with a connection, again until the server answers."""
        place = self._place

        def attempt() -> Result:
            with connect(place.conninfo) as connection:
                return ask(connection)

        with explained(place.conninfo, _FAILED):
            return patiently(attempt, place.retry_seconds)
