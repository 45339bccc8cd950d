"""Arrow's columns as those of a table in SQL."""

from __future__ import annotations

import pyarrow as pa

from livejoin.errors import SchemaError

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


def sql_columns(table: str, columns: pa.Schema, key: tuple[str, ...] = ()) -> str:
    """The list of columns in CREATE TABLE.

    Args:
        table: The table's name, for messages.
        columns: Its columns.
        key: Those of its primary key.

    Raises:
        SchemaError: A column has a type that livejoin does not keep.

    >>> sql_columns("T", pa.schema([("id", pa.int64()), ("price", pa.decimal128(10, 2))]), ("id",))
    '`id` BIGINT, `price` DECIMAL(10, 2), PRIMARY KEY (`id`)'
    """
    parts = [f"{_quoted(field.name)} {_sql_type(table, field)}" for field in columns]
    if key:
        parts.append(f"PRIMARY KEY ({', '.join(map(_quoted, key))})")
    return ", ".join(parts)


def _sql_type(table: str, field: pa.Field) -> str:
    kind = field.type
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP"
    if kind not in _NAMES:
        msg = f"table {table!r}, column {field.name!r} has the type {kind}, which livejoin does not keep"
        raise SchemaError(msg)
    return _NAMES[kind]


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
