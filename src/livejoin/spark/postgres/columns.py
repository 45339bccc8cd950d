"""Columns between Arrow and PostgreSQL, as PostgreSQL's text.

Law: a value of a view's column that PostgreSQL accepts comes back equal; NULL and the empty string stay different.
Arrow does the work for each row, except for bytes and lists, which are written value by value.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from livejoin.errors import SchemaError

_PLAIN = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.string(): "text",
    pa.large_string(): "text",
    pa.binary(): "bytea",
    pa.large_binary(): "bytea",
}


def column_type(field: pa.Field) -> str:
    """PostgreSQL's type for an Arrow column.

    Raises:
        SchemaError: PostgreSQL has no such type.
    """
    kind = field.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if kind in _PLAIN:
        return _PLAIN[kind]
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if _is_nested(kind):
        return "jsonb"
    msg = (
        f"column {field.name!r} has the type {kind}, which livejoin does not write to PostgreSQL; CAST it to STRING in "
        "the view, or leave it out"
    )
    raise SchemaError(msg)


def csv(rows: pa.RecordBatch) -> pa.Buffer:
    """Rows as ``COPY ... (FORMAT csv)`` takes them: values in quotes, NULL as nothing. Cost: linear in the rows."""
    columns = [_plain(column) for column in rows.columns]
    target = pa.BufferOutputStream()
    options = pacsv.WriteOptions(include_header=False, quoting_style="all_valid")
    pacsv.write_csv(pa.RecordBatch.from_arrays(columns, names=rows.schema.names), target, options)
    return target.getvalue()


def _plain(column: pa.Array) -> pa.Array:
    """A column in a type that Arrow writes as CSV in a form that PostgreSQL reads."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return column.cast(kind.value_type)
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.cast(pa.timestamp("us", "UTC"))
    if pa.types.is_decimal(kind):
        return column.cast(pa.string())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array([None if value is None else f"\\x{value.hex()}" for value in column.to_pylist()], pa.string())
    if _is_nested(kind):
        texts = [None if value is None else json.dumps(value, default=_said) for value in column.to_pylist()]
        return pa.array(texts, pa.string())
    return column


def _said(value: Any) -> Any:
    return str(value)


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_struct(kind))
