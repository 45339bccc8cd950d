"""Rows and errors as answers of HTTP."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Literal, get_args

import pyarrow as pa
import pyarrow.csv
from starlette.responses import Response

from livejoin.errors import (
    AbsentNameError,
    AbsentRowError,
    CapacityError,
    ChangeError,
    ChangeFormatError,
    ChangeValueError,
    DuplicateKeyError,
    ExpressionError,
    LivejoinError,
    ReadError,
    SchemaError,
    SqlError,
    StateError,
    StorageError,
    ViolationError,
)
from livejoin.server.json_values import dumps, objects, values

logger = logging.getLogger("livejoin")

Format = Literal["json", "jsonl", "csv", "arrow"]
FORMATS: tuple[Format, ...] = get_args(Format)
TYPES: Mapping[Format, str] = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}
VERSION = "Livejoin-Version"


class RequestError(LivejoinError):
    """A request that is wrong, or that is not answered now.

    Args:
        message: The text: what was found and what is allowed.
        status: The status of HTTP.
    """

    def __init__(self, message: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


def json_answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer of JSON."""
    return Response(dumps(value), status, headers, TYPES["json"])


def rows_answer(
    rows: pa.Table, form: Format, version: int, instants: frozenset[str], total: int | None = None
) -> Response:
    """Rows as an answer.

    Args:
        rows: The rows.
        form: The format.
        version: The version of the database that they are of.
        instants: The columns that are instants.
        total: How many rows there are, where these are some of them.
    """
    headers = {VERSION: str(version)} | ({} if total is None else {"Livejoin-Total": str(total)})
    return Response(encoded(rows, form, version, instants), 200, headers, TYPES[form])


def encoded(rows: pa.Table, form: Format, version: int, instants: frozenset[str]) -> bytes:
    """Rows in a format."""
    match form:
        case "json":
            columns = [{"name": field.name, "type": str(field.type)} for field in rows.schema]
            return dumps({"version": version, "columns": columns, "rows": objects(rows, instants)})
        case "jsonl":
            return b"".join(dumps(row) + b"\n" for row in objects(rows, instants))
        case "csv":
            sink = pa.BufferOutputStream()
            pyarrow.csv.write_csv(_of_texts(rows, instants), sink)
            return _bytes(sink)
        case "arrow":
            return arrow_bytes(rows)


def arrow_bytes(rows: pa.Table, metadata: Mapping[str, str] | None = None) -> bytes:
    """Rows as a stream of Arrow's IPC format, with something said beside them in the schema's metadata."""
    if metadata is not None:
        rows = rows.replace_schema_metadata({**(rows.schema.metadata or {}), **metadata})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return _bytes(sink)


def _bytes(sink: pa.BufferOutputStream) -> bytes:
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _of_texts(rows: pa.Table, instants: frozenset[str]) -> pa.Table:
    """What CSV has no types for as texts, as JSON has them."""
    columns = []
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        kind = column.type
        if pa.types.is_nested(kind):
            found = [None if one is None else dumps(one).decode() for one in values(column)]
            columns.append(pa.array(found, pa.string()))
        elif pa.types.is_floating(kind):
            found = values(column)
            texts = [None if one is None else str(one) for one in found]
            columns.append(pa.array(texts) if any(isinstance(one, str) for one in found) else column)
        elif pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_string(kind):
            columns.append(column)
        else:
            columns.append(pa.array(values(column, name in instants), pa.string()))
    return pa.table(columns, names=rows.column_names)


_STATUS: tuple[tuple[type[LivejoinError], HTTPStatus], ...] = (
    (AbsentNameError, HTTPStatus.NOT_FOUND),
    (AbsentRowError, HTTPStatus.CONFLICT),
    (DuplicateKeyError, HTTPStatus.CONFLICT),
    (ChangeFormatError, HTTPStatus.BAD_REQUEST),
    (ChangeValueError, HTTPStatus.BAD_REQUEST),
    (ChangeError, HTTPStatus.CONFLICT),
    (SqlError, HTTPStatus.BAD_REQUEST),
    (ExpressionError, HTTPStatus.CONFLICT),
    (CapacityError, HTTPStatus.REQUEST_ENTITY_TOO_LARGE),
    (StorageError, HTTPStatus.INSUFFICIENT_STORAGE),
    (StateError, HTTPStatus.SERVICE_UNAVAILABLE),
    (SchemaError, HTTPStatus.BAD_REQUEST),
    (ReadError, HTTPStatus.CONFLICT),
)
_PLACES = ("table", "row", "line", "column", "clause")


def status_of(error: Exception) -> HTTPStatus:
    """The status of HTTP for an error."""
    if isinstance(error, RequestError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), HTTPStatus.INTERNAL_SERVER_ERROR)


def error_answer(error: Exception) -> Response:
    """An error as an answer: its kind, its message, and where it is. What is no error of livejoin's is not told."""
    status = status_of(error)
    headers = {"Retry-After": "1"} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return json_answer({"error": error_said(error)}, status, headers)


def error_said(error: Exception) -> dict[str, Any]:
    """An error as JSON values. What is no error of livejoin's is not told, but logged."""
    if not isinstance(error, LivejoinError):
        logger.error("a request failed", exc_info=error)
        return {"kind": "ServerError", "message": "the server failed; its log says why"}
    places = {name: getattr(error, name) for name in _PLACES if isinstance(getattr(error, name, None), int | str)}
    return {
        "kind": type(error).__name__,
        "message": str(error),
        **{k: v for k, v in places.items() if v not in ("", -1)},
        **(violation(error) if isinstance(error, ViolationError) else {}),
    }


def violation(error: ViolationError) -> dict[str, Any]:
    """What violates an assertion as JSON values, with its first rows where they may be told."""
    rows = {} if error.rows is None else {"rows": objects(error.rows, frozenset())}
    return {"assertion": error.assertion, "count": error.count, **rows}
