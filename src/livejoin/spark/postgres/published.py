"""The tables of a publication: their columns, types and keys, from the catalog."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

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
# An index has the columns of INCLUDE behind those of its key. A deferred key is not one until the transaction ends.
# A constant default of ADD COLUMN stays in the catalog for the rows that were there; a computed one is in the rows.
_COLUMNS = """
SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), i.indrelid IS NOT NULL,
    NOT coalesce(i.indimmediate, true), a.attgenerated <> '',
    CASE WHEN a.atthasmissing THEN (a.attmissingval::text::text[])[1] END,
    a.atthasmissing OR NOT (a.atthasdef OR a.attnotnull OR a.attidentity <> ''), a.attnum
FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid
    AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])
    AND CASE WHEN %(identity)s = 'i' THEN i.indisreplident ELSE i.indisprimary END
WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_PARTS = """
SELECT attnames::text[], rowfilter FROM pg_publication_tables
WHERE pubname = %s AND schemaname = %s AND tablename = %s
"""
_NUMBERS = """
SELECT a.attname::text, a.attnum FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
"""
_OLDEST = 140000  # the first version with scans of ranges of places, and the last place of some rows
_HAS_PARTS = 150000  # the first version of the server whose publications choose columns and rows


@dataclass(frozen=True)
class PublishedColumn:
    """A published column.

    Args:
        name: The name of the column in the stream.
        kind: The column's type in PostgreSQL.
        source: The column's name in the database.
        before: The value in rows that are older than the column, as text, if ``knows_before``.
        knows_before: Whether the catalog tells ``before``; not if a default was computed row by row.
        number: The number of the column in its table. New columns have greater numbers.
    """

    name: str
    kind: str
    source: str
    before: str | None = None
    knows_before: bool = True
    number: int = 0

    @property
    def type(self) -> pa.DataType:
        """The Arrow type of the column's values."""
        return _arrow_type(self.kind)

    @property
    def text(self) -> str:
        """The type of strings in Spark, ``char(n)`` or ``varchar(n)``; empty for all others."""
        return _text_type(self.kind)


@dataclass(frozen=True)
class PublishedTable:
    """A table of a publication.

    Args:
        name: The name of the table in the stream.
        schema: The table's schema in the database.
        table: The table's name in the database.
        columns: The published columns.
        key: The columns by which changes find their rows; empty if they find whole rows.
        row_filter: The condition of published rows; empty for all rows.
        is_deferrable: Whether two rows may have one key until their transaction ends.
    """

    name: str
    schema: str
    table: str
    columns: tuple[PublishedColumn, ...]
    key: tuple[str, ...]
    row_filter: str = ""
    is_deferrable: bool = False

    @property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema of the table."""
        return pa.schema([marked(pa.field(column.name, column.type), column.text) for column in self.columns])

    @property
    def selected(self) -> tuple[str, ...]:
        """The names of the columns in the database."""
        return tuple(column.source for column in self.columns)

    @property
    def before(self) -> tuple[str | None, ...]:
        """For each column its value in older rows, as PostgreSQL's text."""
        return tuple(column.before for column in self.columns)

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each column."""
        return {column.name: column.number for column in self.columns}

    def plain(self) -> dict[str, object]:
        """The table as JSON values."""
        return asdict(self)

    @staticmethod
    def from_plain(entry: Mapping[str, Any]) -> PublishedTable:
        """The table from the JSON values of `plain`."""
        columns = tuple(PublishedColumn(**column) for column in entry["columns"])
        return PublishedTable(**{**entry, "columns": columns, "key": tuple(entry["key"])})

    @property
    def row_type(self) -> pa.DataType:
        """The type of a row, as a struct."""
        return pa.struct(list(self.arrow_schema))


def published(
    connection: Connection,
    publication: str,
    chosen: Sequence[str] | Mapping[str, str] | None = None,
    columns: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[PublishedTable, ...]:
    """The tables of a publication.

    Args:
        connection: The database.
        publication: The publication.
        chosen: The tables to read, as ``table`` or ``schema.table``, each with its name in the stream. None for all.
        columns: For a table its renamed columns: names in the stream, with the names in the database.

    Raises:
        SchemaError: There is no such publication, table or column, two of them have one name, or a key is not sent.
    """
    place = where(connection.info.dsn)
    if connection.info.server_version < _OLDEST:
        msg = (
            f"{place} is PostgreSQL {connection.info.server_version // 10_000}, whose tables cannot be read in pieces; "
            "it needs 14 or newer"
        )
        raise SchemaError(msg)
    if not connection.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", (publication,)).fetchone():
        msg = (
            f"there is no publication {publication!r} in {place}; make one: "
            f'CREATE PUBLICATION "{publication}" FOR TABLE ...'
        )
        raise SchemaError(msg)
    found = connection.execute(_TABLES, (publication,)).fetchall()
    there = {f"{schema}.{table}": (schema, table, oid, identity) for schema, table, oid, identity in found}
    for called in columns or {}:
        if chosen is not None and called not in _called(chosen):
            msg = f"columns= names the table {called!r}; those that are read are {', '.join(_called(chosen))}"
            raise SchemaError(msg)
    names = _named([f"{schema}.{table}" for schema, table, _, _ in found], chosen, publication)
    tables = []
    for name, full in names.items():
        schema, table, oid, identity = there[full]
        tables.append(
            _table(connection, publication, name, schema, table, oid, identity, (columns or {}).get(name, {}))
        )
    return tuple(tables)


def numbers_of(connection: Connection, table: PublishedTable) -> dict[str, int]:
    """The present columns of a table, with their numbers."""
    return dict(connection.execute(_NUMBERS, (table.schema, table.table)).fetchall())


def newest_columns(connection: Connection, tables: Iterable[PublishedTable]) -> dict[str, int]:
    """The present largest number of a column of each table."""
    return {table.name: max(numbers_of(connection, table).values(), default=0) for table in tables}


def gone_from(table: PublishedTable, there: Mapping[str, int]) -> frozenset[str]:
    """The columns of the stream that a table does not have any more, or not under this name."""
    return frozenset(column.name for column in table.columns if there.get(column.source) != column.number)


def _called(chosen: Sequence[str] | Mapping[str, str]) -> list[str]:
    """The names of the chosen tables in the stream."""
    return list(chosen) if isinstance(chosen, Mapping) else [text.rpartition(".")[2] for text in chosen]


def _named(there: Sequence[str], chosen: Sequence[str] | Mapping[str, str] | None, publication: str) -> dict[str, str]:
    """The full name of each table, by its name in the stream."""
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
    connection: Connection,
    publication: str,
    name: str,
    schema: str,
    table: str,
    oid: int,
    identity: str,
    renamed: Mapping[str, str],
) -> PublishedTable:
    shown: list[str] | None = None
    row_filter = ""
    if connection.info.server_version >= _HAS_PARTS:
        parts = connection.execute(_PARTS, (publication, schema, table)).fetchone()
        if parts is not None:
            shown, row_filter = parts[0], parts[1] or ""
    here = {source: called for called, source in renamed.items()}
    columns, key, unsent = [], [], list[str]()
    is_deferrable = False
    for source, kind, is_key, deferrable, is_generated, before, knows_before, number in connection.execute(
        _COLUMNS, {"table": oid, "identity": identity}
    ):
        called = here.pop(source, source)
        is_sent = not is_generated and (shown is None or source in shown)
        if is_sent:
            columns.append(PublishedColumn(called, kind, source, before, knows_before, number))
        else:
            unsent.append(source)
        if is_key:
            key.append(called if is_sent else "")
            is_deferrable |= deferrable
    if here:
        source, called = here.popitem()
        msg = f"table {schema}.{table}: columns= calls {source!r} {called!r}, and there is no {source!r}"
        raise SchemaError(msg)
    names = [column.name for column in columns]
    for name_twice in names:
        if names.count(name_twice) > 1:
            msg = f"table {schema}.{table}: columns= lets two columns be called {name_twice!r}"
            raise SchemaError(msg)
    if "" in key:
        msg = (
            f"table {schema}.{table} has a key with {unsent[0]!r}, which the publication {publication!r} does not send "
            "(a generated column, or one that its list of columns leaves out): rows cannot be told apart without it. "
            "Publish it, or choose another key by ALTER TABLE ... REPLICA IDENTITY USING INDEX ..."
        )
        raise SchemaError(msg)
    return PublishedTable(name, schema, table, tuple(columns), tuple(key), row_filter, is_deferrable)


def _text_type(kind: str) -> str:
    """The type in Spark of a text with a length."""
    found = _TEXT.fullmatch(kind)
    return "" if found is None else f"{'varchar' if found[1] else 'char'}({found[2]})"


def _arrow_type(kind: str) -> pa.DataType:
    """The Arrow type of values; a type that livejoin does not support becomes PostgreSQL's text."""
    decimal = _DECIMAL.fullmatch(kind)
    if decimal is not None:
        precision, scale = int(decimal[1]), int(decimal[2])
        return pa.decimal128(precision, scale) if scale <= precision <= _LARGEST else pa.string()
    if kind.startswith("timestamp"):
        return pa.timestamp("us", "UTC" if kind.endswith("with time zone") else None)
    return _PLAIN.get(kind, pa.string())
