"""What a request brings: read within its limits, and made into changes."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import zlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect, Request

from livejoin.errors import ChangeFormatError
from livejoin.schema import Table
from livejoin.server.answers import RequestError
from livejoin.server.arrow_guard import read_stream
from livejoin.server.limits import Limits
from livejoin.shown import meant

JSON, LINES, ARROW = "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream"
_LINES = (LINES, "application/jsonl", "application/json-lines", "application/ndjson")
_GZIP = 16 + zlib.MAX_WBITS


async def read_body(request: Request, limits: Limits) -> bytes:
    """The body of a request, decompressed.

    Raises:
        RequestError: The body has more bytes than it may have, comes too slowly, or is compressed in a way that is not
            known.
    """
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        msg = f"the body is encoded by {encoding!r}; allowed are gzip and none"
        raise RequestError(msg, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limits.body:
        raise _too_large(limits)
    inflate = zlib.decompressobj(_GZIP) if encoding == "gzip" else None
    found = bytearray()
    try:
        async with asyncio.timeout(limits.read_seconds):
            async for piece in request.stream():
                found += piece if inflate is None else inflate.decompress(piece, limits.body - len(found) + 1)
                if len(found) > limits.body:
                    raise _too_large(limits)
    except TimeoutError:
        msg = f"the request did not come whole within {limits.read_seconds:g} s"
        raise RequestError(msg, HTTPStatus.REQUEST_TIMEOUT) from None
    except ClientDisconnect:
        msg = "the connection ended within the request"
        raise RequestError(msg) from None
    except zlib.error as error:
        msg = f"the body is no gzip: {error}"
        raise RequestError(msg) from error
    if inflate is not None and not inflate.eof:
        msg = "the gzip of the body ends in its middle"
        raise RequestError(msg)
    return bytes(found)


def _too_large(limits: Limits) -> RequestError:
    msg = f"the body has more than {limits.body:,} bytes; send it in parts"
    return RequestError(msg, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def kind_of(request: Request, allowed: tuple[str, ...]) -> str:
    """The media type of a body, one of those that are allowed.

    Raises:
        RequestError: The type is another one, or missing, as of a form that a page of another site sends.
    """
    found = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    found = LINES if found in _LINES else found
    if found not in allowed:
        msg = f"Content-Type is {found or 'missing'}; allowed are {', '.join(allowed)}"
        raise RequestError(msg, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    return found


def read_json(data: bytes, number: Callable[[str], Any] = float) -> Any:
    """The value of a JSON text.

    Args:
        data: The text in UTF-8.
        number: Reads a number with a fraction.

    Raises:
        RequestError: The text is none; the message says where.
    """
    if not data.strip():
        msg = "the body is empty; allowed is a JSON text"
        raise RequestError(msg)
    try:
        return json.loads(data, parse_float=number, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        msg = f"the body is no JSON: {error}"
        raise RequestError(msg) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        msg = f"an object has the key {json.dumps(twice)} twice; give it once"
        raise ValueError(msg)
    return found


def _refuse_constant(text: str) -> Any:
    msg = f"{text} is no JSON; write it as a text, {json.dumps(text)}"
    raise ValueError(msg)


def read_object(data: bytes, fields: Mapping[str, type | tuple[type, ...]], needed: str) -> dict[str, Any]:
    """A JSON object with known fields.

    Args:
        data: The JSON text.
        fields: The types that each field may have.
        needed: The field that must be there.

    Raises:
        RequestError: The body is no such object.
    """
    found = read_json(data)
    if not isinstance(found, dict) or needed not in found:
        msg = f"the body must be a JSON object with {needed!r}, and may have {', '.join(fields)}"
        raise RequestError(msg)
    for name, value in found.items():
        if name not in fields or not isinstance(value, fields[name]):
            msg = f"{name!r} is not allowed here, or of another type; the fields are {', '.join(fields)}"
            raise RequestError(msg)
    return found


def read_changes(data: bytes, kind: str, table: Table, limits: Limits) -> Any:
    """The changes of a table, as `livejoin.Database.apply` takes them.

    Args:
        data: The body.
        kind: The media type.
        table: The table.
        limits: The limits of a request.

    Raises:
        RequestError, ChangeFormatError: The body is wrong.
    """
    if kind == ARROW:
        rows = read_stream(data, limits.body)
        refuse_many(rows.num_rows, limits)
        return rows
    number = Decimal if any(column.type.kind == "decimal" for column in table.columns) else float
    if kind == LINES:
        found = []
        for place, line in enumerate(data.splitlines(), 1):
            if line.strip():
                try:
                    found.append(read_json(line, number))
                except RequestError as error:
                    msg = f"line {place}: {error}"
                    raise RequestError(msg) from error
    else:
        value = read_json(data, number)
        found = value if isinstance(value, list) else [value]
    return checked_rows(found, table, limits)


def checked_rows(found: Any, table: Table, limits: Limits) -> list[dict[str, Any]]:
    """Rows of JSON as changes: objects, with BINARY read from base64; one that does not say what it is is inserted.

    Raises:
        RequestError, ChangeFormatError: The rows are none.
    """
    if not isinstance(found, list):
        msg = f"the changes of table {table.name!r} must be an array of objects"
        raise RequestError(msg)
    refuse_many(len(found), limits)
    for place, row in enumerate(found):
        if not isinstance(row, dict):
            msg = "a change is an object with the columns of the table, and may have _change_type"
            raise ChangeFormatError(msg, table.name, place)
    changes: list[dict[str, Any]] = found
    binary = {column.name.lower() for column in table.columns if column.type.kind == "binary"}
    if binary:
        for place, row in enumerate(changes):
            for name, value in row.items():
                if name.lower() in binary and value is not None:
                    row[name] = _from_base64(value, name, table, place)
    return changes


def refuse_many(rows: int, limits: Limits) -> None:
    """Refuse a request of more rows than it may have.

    Raises:
        RequestError: There are more.
    """
    if rows > limits.rows:
        msg = f"the request has {rows:,} rows; allowed are {limits.rows:,}, so send them in parts"
        raise RequestError(msg, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)


def _from_base64(value: Any, name: str, table: Table, place: int) -> bytes:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        msg = f"value of column {name!r} is no base64 text, which BINARY is in JSON"
        raise ChangeFormatError(msg, table.name, place) from error


def refuse_others(request: Request, *known: str) -> None:
    """Refuse a request with a parameter that it does not take, or one twice, as it would be done otherwise than meant.

    Raises:
        RequestError: There is one.
    """
    others = [name for name in request.query_params if name not in known]
    if others:
        listed = f"{', '.join(known[:-1])} and {known[-1]}" if len(known) > 1 else "".join(known)
        takes = f"known are {listed}" if known else "this address takes none"
        msg = f"{', '.join(others)} is not known here{meant(others[0], known)}; {takes}. Nothing was done"
        raise RequestError(msg)
    if twice := [name for name in request.query_params if len(request.query_params.getlist(name)) > 1]:
        msg = f"{twice[0]} stands twice in the address; say it once. Nothing was done"
        raise RequestError(msg)
