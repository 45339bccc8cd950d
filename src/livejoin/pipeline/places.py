"""Servers that a pipeline reads from or writes to; the client of a server is imported when the file names one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from livejoin.errors import SchemaError
from livejoin.pipeline.model import (
    ConsoleOutput,
    DeltaOutput,
    DeltaTableSource,
    KafkaOutput,
    KafkaTableSource,
    PostgresOutput,
    PostgresServer,
    ServerTable,
    TableOutput,
)
from livejoin.schema import Table
from livejoin.shown import counted
from livejoin.spark.arrow_columns import sql_columns
from livejoin.spark.feeds import from_versions
from livejoin.spark.paths import is_remote, local_path
from livejoin.spark.sinks import ConsoleSink, Sink, TableSink
from livejoin.sql import parse_columns
from livejoin.state.store_folder import Place


class Server(Protocol):
    """A database whose tables are streamed."""

    def look_up(self) -> dict[str, Table]:
        """The declarations of the tables on the server.

        Raises:
            SchemaError: A table does not exist.
            StorageError: The server cannot be reached.
        """

    def read(self, spark: Any) -> dict[str, Any]:
        """The changes of the tables, as `livejoin.spark.maintain` takes them."""

    def first_rows(self) -> str:
        """The rows that the first batches bring, as words; empty if that is not known beforehand."""

    def clear(self, checkpoint: Place) -> None:
        """Remove what the server keeps for a checkpoint that is to be deleted."""


class _Postgres:
    """Tables of a PostgreSQL database, by logical replication."""

    def __init__(self, settings: PostgresServer, asked: Mapping[str, ServerTable]) -> None:
        from livejoin.spark import postgres  # noqa: PLC0415

        self._client = postgres
        self._settings = settings
        self._asked = asked
        self._names = {name: table.name or name for name, table in asked.items()}
        self._columns = {name: table.columns for name, table in asked.items() if table.columns}

    def look_up(self) -> dict[str, Table]:
        given = self._settings
        found = self._client.published_tables(given.url, given.publication, self._names, self._columns)
        texts = {table.name: sql_columns(table.name, table.arrow_schema, table.key) for table in found}
        tables = {name: parse_columns(name, text, self._asked[name].table_settings) for name, text in texts.items()}
        for table in tables.values():
            if table.append_only and table.primary_key:
                msg = (
                    f"table {table.name!r} has append_only and a key: its changes come by key, insertions and updates "
                    "of one alike; leave append_only out"
                )
                raise SchemaError(msg)
        return tables

    def read(self, spark: Any) -> dict[str, Any]:
        given = self._settings
        reading = (given.url, given.publication, given.slot, self._names, given.max_changes)
        return dict(self._client.read_postgres(spark, *reading, self._columns, given.retry_seconds))

    def first_rows(self) -> str:
        given = self._settings
        sizes = self._client.table_sizes(given.url, given.publication, self._names, self._columns)
        return ", ".join(f"{name} ({_about(rows, size)})" for name, (rows, size) in sizes.items())

    def clear(self, checkpoint: Place) -> None:
        if (checkpoint / "spark").is_dir():  # else the slot may be somebody else's
            self._client.drop_slot(self._settings.url, self._settings.slot)


class _Delta:
    """A Delta table, by its change data feed."""

    def __init__(self, name: str, path: str | Path, settings: DeltaTableSource) -> None:
        from livejoin.spark import delta  # noqa: PLC0415

        self._client = delta
        self._name = name
        self._path = path
        self._settings = settings

    def look_up(self) -> dict[str, Table]:
        columns = self._client.table_columns(self._path)
        text = sql_columns(self._name, columns, tuple(self._settings.keys))
        return {self._name: parse_columns(self._name, text, self._settings.table_settings)}

    def read(self, spark: Any) -> dict[str, Any]:
        frame = self._client.read_delta(spark, self._path)
        names = self._client.table_columns(self._path).names
        by_key = bool(self._settings.keys) and not self._settings.append_only
        return {self._name: from_versions(frame, names, by_key)}

    def first_rows(self) -> str:
        return ""

    def clear(self, checkpoint: Place) -> None:
        """Nothing: a Delta table keeps nothing for its readers."""


class _Kafka:
    """A topic."""

    def __init__(self, name: str, settings: KafkaTableSource) -> None:
        from livejoin.spark.kafka import read_kafka  # noqa: PLC0415

        self._read_kafka = read_kafka
        self._name = name
        self._settings = settings

    def look_up(self) -> dict[str, Table]:
        given = self._settings
        table = parse_columns(self._name, given.columns, given.table_settings)
        table.refuse_rules()
        if table.append_only and given.messages == "upsert":
            msg = "append_only and messages = 'upsert': an upsert takes the place of a row; leave one of the two out"
            raise SchemaError(msg)
        unchecked = next((column for column in table.columns if column.is_uuid), None)
        if unchecked is not None:
            msg = f"column {unchecked.name!r} is UUID, which Spark has no type for and does not check; declare STRING"
            raise SchemaError(msg)
        if given.messages == "upsert" and not table.primary_key:
            msg = "messages = 'upsert' go by a key; add a PRIMARY KEY to schema"
            raise SchemaError(msg)
        return {self._name: table}

    def read(self, spark: Any) -> dict[str, Any]:
        given = self._settings
        table = self.look_up()[self._name]
        columns = ", ".join(f"`{column.name}` {column.type}" for column in table.columns)
        key = [table.columns[column].name for column in table.primary_key] if table.takes_place else []
        reading = (given.servers, given.topic, columns, given.messages, key, given.settings, given.max_messages)
        frame = self._read_kafka(spark, *reading, integer_times=given.integer_times, decimals=given.decimals)
        return {self._name: frame}

    def first_rows(self) -> str:
        return ""

    def clear(self, checkpoint: Place) -> None:
        """Nothing: the broker keeps nothing for readers of a topic."""


def server_of(settings: PostgresServer, asked: Mapping[str, ServerTable]) -> Server:
    """A server and the tables that are asked of it.

    Raises:
        PipelineError: The client of the server is not installed.
    """
    return _Postgres(settings, asked)


def located(folder: Path, path: str) -> str | Path:
    """A path of a pipeline file, relative to the file; a URI of an object store stays as it is."""
    return path if is_remote(path) else folder / local_path(path, "path")


def delta_of(name: str, path: str | Path, settings: DeltaTableSource) -> Server:
    """A Delta table.

    Raises:
        PipelineError: The client of Delta is not installed.
    """
    return _Delta(name, path, settings)


def kafka_of(name: str, settings: KafkaTableSource) -> Server:
    """A topic of Kafka.

    Raises:
        PipelineError: The client of Kafka is not installed.
    """
    return _Kafka(name, settings)


def sink_of(
    settings: PostgresOutput | DeltaOutput | TableOutput | KafkaOutput | ConsoleOutput,
    folder: Path,
    views: Collection[str] = (),
) -> Sink:
    """A sink that is not a folder of Parquet.

    Args:
        settings: The settings of the file.
        folder: The folder of the file.
        views: The views.

    Raises:
        PipelineError: The client of the sink is not installed.
    """
    if isinstance(settings, TableOutput):
        sink = TableSink(settings.name, settings.history, settings.counts, settings.provider)
        sink.shows(views)
        return sink
    if isinstance(settings, ConsoleOutput):
        return ConsoleSink(settings.rows)
    if isinstance(settings, DeltaOutput):
        from livejoin.spark.delta import DeltaSink  # noqa: PLC0415

        return DeltaSink(folder / local_path(settings.path, "path"), settings.history)
    if isinstance(settings, KafkaOutput):
        from livejoin.spark.kafka import KafkaSink  # noqa: PLC0415

        return KafkaSink(settings.servers, settings.topics, settings.settings)
    from livejoin.spark.postgres import PostgresSink  # noqa: PLC0415

    return PostgresSink(settings.url, settings.schema_name, settings.tables, settings.history)


def _about(rows: int | None, size: int) -> str:
    """The size of a table, in rows if the server has counted them."""
    return f"{size / 2**20:,.1f} MB" if rows is None else f"about {counted(rows, 'row')}"
