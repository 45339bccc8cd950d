"""The tables of a publication: their columns, types and keys, as the catalog has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from livejoin.errors import SchemaError
from livejoin.spark.arrow_columns import marked
from livejoin.spark.postgres.connection import Connection, where

_DECIMAL = re.compile(r"numeric\((\d+),(\d+)\)")
_TEXT = re.compile(r"character( varying)?\((\d+)\)")
_LARGEST = 38
_PLAIN = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "real": pa.float32(),
    "double precision": pa.float64(),
    "numeric": pa.decimal128(38, 18),  # as Spark's own JDBC source has it
    "date": pa.date32(),
    "bytea": pa.binary(),
}
_TABLES = """
SELECT p.schemaname::text, p.tablename::text, c.oid::bigint, c.relreplident::text
FROM pg_publication_tables p
JOIN pg_namespace n ON n.nspname = p.schemaname
JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename
WHERE p.pubname = %s ORDER BY 1, 2
"""
_COLUMNS = """
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), EXISTS (
    SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey)
    AND CASE WHEN %(identity)s = 'i' THEN i.indisreplident ELSE i.indisprimary END)
FROM pg_attribute a
WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum
"""
_PARTS = """
SELECT attnames::text[], rowfilter FROM pg_publication_tables
WHERE pubname = %s AND schemaname = %s AND tablename = %s
"""
_HAS_PARTS = 150000  # the first version of the server whose publications choose columns and rows


@dataclass(frozen=True)
class PublishedColumn:
    """A column.

    Args:
        name: Its name.
        type: The Arrow type that its values become.
        text: What strings are in Spark, ``char(n)`` or ``varchar(n)``; empty for all others.
    """

    name: str
    type: pa.DataType
    text: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """A table of a publication.

    Args:
        name: What it is called in the stream.
        schema: Its schema in the database.
        table: Its name in the database.
        columns: What is published of it.
        key: The columns by which its changes find rows; empty for rows that are found as a whole.
        row_filter: The condition of the rows that are published; empty for all.
    """

    name: str
    schema: str
    table: str
    columns: tuple[PublishedColumn, ...]
    key: tuple[str, ...]
    row_filter: str = ""

    @property
    def arrow_schema(self) -> pa.Schema:
        """Its columns."""
        return pa.schema([marked(pa.field(column.name, column.type), column.text) for column in self.columns])

    @property
    def row_type(self) -> pa.DataType:
        """A row as a struct."""
        return pa.struct(list(self.arrow_schema))


def published(
    connection: Connection, publication: str, chosen: Sequence[str] | Mapping[str, str] | None = None
) -> tuple[PublishedTable, ...]:
    """The tables of a publication.

    Args:
        connection: The database.
        publication: The publication.
        chosen: Those that are wanted, as ``table`` or ``schema.table``; also by other names. None for all.

    Raises:
        SchemaError: There is no such publication or table, or two tables have one name.
    """
    place = where(connection.info.dsn)
    if not connection.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", (publication,)).fetchone():
        msg = (
            f"there is no publication {publication!r} in {place}; make one: "
            f'CREATE PUBLICATION "{publication}" FOR TABLE ...'
        )
        raise SchemaError(msg)
    found = connection.execute(_TABLES, (publication,)).fetchall()
    there = {f"{schema}.{table}": (schema, table, oid, identity) for schema, table, oid, identity in found}
    names = _named([f"{schema}.{table}" for schema, table, _, _ in found], chosen, publication)
    tables = []
    for name, full in names.items():
        schema, table, oid, identity = there[full]
        tables.append(_table(connection, publication, name, schema, table, oid, identity))
    return tuple(tables)


def _named(there: Sequence[str], chosen: Sequence[str] | Mapping[str, str] | None, publication: str) -> dict[str, str]:
    """The full name of each table, by what it is called in the stream."""
    if chosen is None:
        chosen = there
    wanted: Iterable[tuple[str, str]]
    wanted = chosen.items() if isinstance(chosen, Mapping) else [(text.rpartition(".")[2], text) for text in chosen]
    names: dict[str, str] = {}
    for name, text in wanted:
        matching = [full for full in there if text in (full, full.partition(".")[2])]
        if len(matching) != 1:
            found = "is in several schemas" if matching else "is not in it"
            msg = f"publication {publication!r}: table {text!r} {found}; it has {', '.join(there) or 'none'}"
            raise SchemaError(msg)
        if name in names:
            msg = (
                f"publication {publication!r}: {names[name]} and {matching[0]} are both called {name!r}; give them "
                f"names: tables = {{{name}_1 = {names[name]!r}, {name}_2 = {matching[0]!r}}}"
            )
            raise SchemaError(msg)
        names[name] = matching[0]
    return names


def _table(
    connection: Connection, publication: str, name: str, schema: str, table: str, oid: int, identity: str
) -> PublishedTable:
    shown: list[str] | None = None
    row_filter = ""
    if connection.info.server_version >= _HAS_PARTS:
        parts = connection.execute(_PARTS, (publication, schema, table)).fetchone()
        if parts is not None:
            shown, row_filter = parts[0], parts[1] or ""
    columns, key = [], []
    for column, kind, is_key in connection.execute(_COLUMNS, {"table": oid, "identity": identity}):
        if shown is None or column in shown:
            columns.append(PublishedColumn(column, _arrow_type(kind), _text_type(kind)))
            if is_key:
                key.append(column)
    return PublishedTable(name, schema, table, tuple(columns), tuple(key), row_filter)


def _text_type(kind: str) -> str:
    """What a text with a length is in Spark."""
    found = _TEXT.fullmatch(kind)
    return "" if found is None else f"{'varchar' if found[1] else 'char'}({found[2]})"


def _arrow_type(kind: str) -> pa.DataType:
    """The type of values; what livejoin has no type for is PostgreSQL's text of it."""
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        precision, scale = int(decimal[1]), int(decimal[2])
        return pa.decimal128(precision, scale) if scale <= precision <= _LARGEST else pa.string()
    if kind.startswith("timestamp"):
        return pa.timestamp("us", "UTC" if kind.endswith("with time zone") else None)
    return _PLAIN.get(kind, pa.string())
