"""Rows as bodies of requests, and bodies of answers as rows."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from livejoin.errors import ChangeFormatError, ServerError
from livejoin.shown import shown

JSON: Final = "application/json"
ARROW: Final = "application/vnd.apache.arrow.stream"


def is_arrow(rows: object) -> bool:
    """Whether rows come as Arrow: of pyarrow, pandas, Polars or DuckDB."""
    return hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__")


def arrow_body(table: str, rows: object) -> bytes:
    """Rows that come as Arrow, as a stream of its IPC format.

    Raises:
        ChangeFormatError: Arrow cannot read them.
    """
    found, sink = _table(table, rows), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, found.schema) as writer:
        writer.write_table(found)
    body: bytes = sink.getvalue().to_pybytes()
    return body


def _table(table: str, rows: object) -> pa.Table:
    try:
        return pa.table(rows) if hasattr(rows, "__arrow_c_stream__") else pa.Table.from_batches([pa.record_batch(rows)])
    except (pa.ArrowException, ValueError, TypeError) as error:
        msg = f"Arrow cannot read these rows: {error}"
        raise ChangeFormatError(msg, table) from error


def objects(table: str, rows: object) -> list[Any]:
    """Rows as objects for JSON; O(values) also where they come as Arrow.

    Raises:
        ChangeFormatError: The rows are neither dicts nor Arrow.
    """
    if is_arrow(rows):
        found = _table(table, rows)
        narrow = [_narrow(one) for one in found.schema]
        return list(found.cast(pa.schema(narrow)).to_pylist())
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        msg = f"rows are {shown(rows)}; allowed are a list of dicts, and what has the Arrow stream interface"
        raise ChangeFormatError(msg, table)
    listed = list(rows)
    for place, row in enumerate(listed):
        if not isinstance(row, dict):
            msg = f"a row is {shown(row)}; over HTTP rows are dicts by the names of the columns, or come as Arrow"
            raise ChangeFormatError(msg, table, place)
    return listed


def _narrow(column: pa.Field) -> pa.Field:
    """A column as Python has values of it: nanoseconds it has none of."""
    kind = column.type
    is_nanoseconds = pa.types.is_timestamp(kind) and kind.unit == "ns"
    return column.with_type(pa.timestamp("us", kind.tz)) if is_nanoseconds else column


def json_body(value: object) -> bytes:
    """A JSON text as the server reads it: DECIMAL, DATE, TIMESTAMP, BINARY and what is no number are texts.

    Raises:
        ChangeFormatError: A value is of a class that has no such text.

    >>> json_body([Decimal("1.50"), float("nan"), b"x", (1, None)])
    b'["1.50","NaN","eA==",[1,null]]'
    """
    try:
        try:
            return _dumps(value)
        except ValueError:  # NaN, or an infinity: they are rare, and the fast encoder knows no text for them
            return _dumps(_finite(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ChangeFormatError(str(error)) from error


def _dumps(value: object) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain)
    return text.encode()


def _plain(value: object) -> Any:
    """A value that JSON does not know, by one that it knows."""
    match value:
        case Decimal() | UUID():
            return str(value)
        case datetime() | date():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
    if callable(item := getattr(value, "item", None)):  # a scalar of NumPy
        found = item()
        if isinstance(found, bool | int | float | str):
            return _finite(found)
    msg = f"a value is {shown(value)}, of class {type(value).__name__}, which has no JSON here"
    raise TypeError(msg)


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {name: _finite(one) for name, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
    return value


def read_arrow(body: bytes) -> pa.Table:
    """The rows of a stream of Arrow's IPC format.

    Raises:
        ServerError: The body is none.
    """
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            return reader.read_all()
    except (pa.ArrowException, ValueError, OSError) as error:
        msg = f"the server answered something else than Arrow: {error}"
        raise ServerError(msg) from error
