"""Arrow columns as columns of a CREATE TABLE."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from livejoin.errors import SchemaError
from livejoin.schema.names import backticked

TEXT_TYPE = b"__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark's metadata of a column of strings say that it is ``char(n)`` or ``varchar(n)``; Delta keeps them."""

_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
}


def marked(field: pa.Field, text: str) -> pa.Field:
    """Mark a column of strings as one of Spark's ``char(n)`` or ``varchar(n)``; an empty text marks nothing."""
    return field.with_metadata({TEXT_TYPE: text}) if text else field


def text_type(field: pa.Field) -> str:
    """The mark of a column, ``char(n)`` or ``varchar(n)``; empty if it has none.

    >>> text_type(marked(pa.field("c", pa.string()), "char(5)")), text_type(pa.field("c", pa.string()))
    ('char(5)', '')
    """
    written = (field.metadata or {}).get(TEXT_TYPE, b"")
    return written.decode() if field.type == pa.string() else ""


def mark_texts(types: Any, columns: pa.Schema) -> None:
    """Note in Spark's column metadata which columns are ``char(n)`` or ``varchar(n)``, in place, as Spark does.

    Args:
        types: A ``StructType`` with these columns.
        columns: The columns.
    """
    for field in columns:
        if text := text_type(field):
            types[field.name].metadata = {TEXT_TYPE.decode(): text}


def sql_columns(table: str, columns: pa.Schema, key: tuple[str, ...] = ()) -> str:
    """The list of columns in CREATE TABLE.

    Args:
        table: The table's name, for messages.
        columns: The columns of the table.
        key: The columns of the primary key.

    Raises:
        SchemaError: A column has a type that livejoin does not support.

    >>> sql_columns("T", pa.schema([("id", pa.int64()), ("price", pa.decimal128(10, 2))]), ("id",))
    '`id` BIGINT, `price` DECIMAL(10, 2), PRIMARY KEY (`id`)'
    """
    parts = [f"{backticked(field.name)} {_sql_type(table, field)}" for field in columns]
    if key:
        parts.append(f"PRIMARY KEY ({', '.join(map(backticked, key))})")
    return ", ".join(parts)


def _sql_type(table: str, field: pa.Field) -> str:
    kind = field.type
    if text := text_type(field):
        return text.upper()
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz else "TIMESTAMP_NTZ"
    if kind not in _NAMES:
        msg = f"table {table!r}, column {field.name!r} has the type {kind}, which livejoin does not keep"
        raise SchemaError(msg)
    return _NAMES[kind]
