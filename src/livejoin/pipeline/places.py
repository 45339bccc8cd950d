"""Servers that a pipeline reads from or writes to; each needs a client that is imported when one is named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from livejoin.pipeline.model import ConsoleOutput, PostgresOutput, PostgresServer, ServerTable
from livejoin.schema import Table
from livejoin.spark.sinks import ConsoleSink, Sink
from livejoin.spark.stream_part import StreamPart
from livejoin.sql import parse_columns
from livejoin.sql.tables.window_range import parse_range


class Server(Protocol):
    """A database whose tables are streamed."""

    def look_up(self, asked: Mapping[str, ServerTable]) -> dict[str, Table]:
        """The tables as they are there.

        Raises:
            SchemaError: One is not there.
            StorageError: The server is not there.
        """

    def read(self, spark: Any) -> dict[str, StreamPart]:
        """The changes of the tables, as parts of one stream."""

    def clear(self, checkpoint: Path) -> None:
        """Let the server forget a checkpoint that is to be deleted."""


class _Postgres:
    """Tables of a PostgreSQL database, by logical replication."""

    def __init__(self, settings: PostgresServer, asked: Mapping[str, ServerTable]) -> None:
        from livejoin.spark import postgres  # noqa: PLC0415

        self._client = postgres
        self._settings = settings
        self._names = {name: table.name or name for name, table in asked.items()}

    def look_up(self, asked: Mapping[str, ServerTable]) -> dict[str, Table]:
        tables = {}
        found = self._client.published_tables(self._settings.url, self._settings.publication, self._names)
        for table in found:
            given = asked[table.name]
            columns = [f"{_quoted(column.name)} {column.sql_type}" for column in table.columns]
            if table.key:
                columns.append(f"PRIMARY KEY ({', '.join(map(_quoted, table.key))})")
            window = None if given.window_range is None else parse_range(given.window_range)
            tables[table.name] = parse_columns(
                table.name, ", ".join(columns), given.window_rows, window_range=window, retain=given.retain
            )
        return tables

    def read(self, spark: Any) -> dict[str, StreamPart]:
        given = self._settings
        return self._client.read_postgres(spark, given.url, given.publication, given.slot, self._names)

    def clear(self, checkpoint: Path) -> None:
        if (checkpoint / "spark").exists():  # else the slot may be somebody else's
            self._client.drop_slot(self._settings.url, self._settings.slot)


def server_of(settings: PostgresServer, asked: Mapping[str, ServerTable]) -> Server:
    """A server.

    Raises:
        PipelineError: Its client is not installed.
    """
    return _Postgres(settings, asked)


def sink_of(settings: PostgresOutput | ConsoleOutput) -> Sink:
    """A sink that is not a folder.

    Raises:
        PipelineError: Its client is not installed.
    """
    if isinstance(settings, ConsoleOutput):
        return ConsoleSink(settings.rows)
    from livejoin.spark.postgres import PostgresSink  # noqa: PLC0415

    return PostgresSink(settings.url, settings.schema_name, settings.tables, settings.history)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
