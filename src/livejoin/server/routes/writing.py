"""Routes that write: one commit a request, done once however often it is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, get_args

from starlette.requests import Request
from starlette.responses import Response

from livejoin.database import Commit
from livejoin.database.commit import BadRow
from livejoin.database.transactions.staging import OnConflict
from livejoin.schema import instants_of
from livejoin.server.access import Who
from livejoin.server.answers import RequestError, json_answer, violation
from livejoin.server.json_values import objects, plain
from livejoin.server.permissions import refuse_script, told_to, violations_told_to
from livejoin.server.routes.bodies import (
    ARROW,
    JSON,
    LINES,
    checked_rows,
    kind_of,
    read_body,
    read_changes,
    read_json,
    read_object,
    refuse_many,
    refuse_others,
)
from livejoin.server.service import Service, service_of, who_asks

_ON_CONFLICT: tuple[OnConflict, ...] = get_args(OnConflict)
_OPTIONS = ("on_conflict", "dry_run", "extra_columns", "on_bad_rows")


class _Manner:
    """How changes are applied, as a request says.

    Args:
        request: The request.

    Raises:
        RequestError: The request says something else.
    """

    def __init__(self, request: Request) -> None:
        refuse_others(request, *_OPTIONS)
        asked = request.query_params
        self.on_conflict = _word(asked, "on_conflict", _ON_CONFLICT, "error")
        self.is_dry = _word(asked, "dry_run", ("0", "1", "false", "true"), "0") in ("1", "true")
        self.extra_columns = _word(asked, "extra_columns", ("refuse", "ignore"), None)
        self.on_bad_rows = _word(asked, "on_bad_rows", ("fail", "skip", "dead_letter"), None)


def _word(asked: Mapping[str, str], name: str, allowed: tuple[str, ...], default: Any) -> Any:
    text = asked.get(name, default)
    if text is not None and text not in allowed:
        msg = f"{name} is {text!r}; allowed are {', '.join(allowed)}"
        raise RequestError(msg)
    return text


def _numbered(request: Request, body: bytes) -> tuple[str, int, int] | None:
    """The client of a request and its number, by its headers, and a digest of the request."""
    client, number = request.headers.get("livejoin-client"), request.headers.get("livejoin-number")
    if client is None and number is None:
        return None
    if client is None or number is None or not (number.isascii() and number.isdecimal()):
        msg = "Livejoin-Client, a name, and Livejoin-Number, a number that ascends, stand together"
        raise RequestError(msg)
    asked = f"{request.method} {request.scope['path']} {sorted(request.query_params.multi_items())}\n".encode()
    digest = hashlib.blake2b(asked + body, digest_size=8).digest()
    return client, int(number), int.from_bytes(digest) >> 1


async def insert(request: Request) -> Response:
    """Changes of one table, as one commit."""
    service, who, manner = service_of(request), who_asks(request), _Manner(request)
    name = request.path_params["name"]
    kind = kind_of(request, (JSON, LINES, ARROW))
    body = await read_body(request, service.limits)
    asked = _numbered(request, body)

    def write() -> Response:
        table = service.table(name, who, writes=True)
        return _apply(service, who, {table.name: read_changes(body, kind, table, service.limits)}, manner, asked)

    return await service.write(write, len(body))


async def commit(request: Request) -> Response:
    """Changes of several tables, as one commit."""
    service, who, manner = service_of(request), who_asks(request), _Manner(request)
    kind_of(request, (JSON,))
    body = await read_body(request, service.limits)
    asked = _numbered(request, body)

    def write() -> Response:
        found = read_json(body, Decimal)
        if not isinstance(found, dict) or not found:
            msg = "the body must be a JSON object with an array of changes for each table"
            raise RequestError(msg)
        tables = {name: service.table(name, who, writes=True) for name in found}
        changes = {name: checked_rows(found[name], table, service.limits) for name, table in tables.items()}
        refuse_many(sum(map(len, changes.values())), service.limits)
        return _apply(service, who, changes, manner, asked)

    return await service.write(write, len(body))


def _apply(
    service: Service,
    who: Who,
    changes: Mapping[str, object],
    manner: _Manner,
    asked: tuple[str, int, int] | None,
) -> Response:
    db = service.db
    if manner.is_dry:
        seen = db.preview(
            changes,
            on_conflict=manner.on_conflict,
            coerce="json",
            extra_columns=manner.extra_columns,
            on_bad_rows=manner.on_bad_rows,
        )
        deltas = {
            name: objects(delta, instants_of(delta.column_names, db.views[name].types))
            for name, delta in seen.deltas.items()
            if who.may_read(name)
        }
        figures = {"version": seen.version, "changes": seen.changes, "ignored": seen.ignored, "late": seen.late}
        violations = [violation(told_to(who, error)) for error in seen.violations]
        said = {"violations": violations} if violations else {}
        left_out = {"bad_rows": seen.bad_rows, **_letters(seen.dead_letters)}
        return json_answer({**figures, **left_out, "dry_run": True, "deltas": deltas, **said})
    with violations_told_to(who):
        done = db.apply(
            changes,
            on_conflict=manner.on_conflict,
            coerce="json",
            extra_columns=manner.extra_columns,
            on_bad_rows=manner.on_bad_rows,
            request=asked,
        )
    if not done.repeated:
        service.metrics.changes.inc(done.changes)
        service.metrics.bad_rows.inc(done.bad_rows)
    return json_answer(_said(done))


def _letters(left_out: Sequence[BadRow]) -> dict[str, Any]:
    """The changes that are given back, where there are any."""
    letters = [
        {"table": one.table, "row": one.row, "reason": one.reason, "change": plain(one.change)} for one in left_out
    ]
    return {"dead_letters": letters} if letters else {}


def _said(done: Commit) -> dict[str, Any]:
    return {
        "version": done.version,
        "changes": done.changes,
        "ignored": done.ignored,
        "late": done.late,
        "bad_rows": done.bad_rows,
        "repeated": done.repeated,
        **_letters(done.dead_letters),
    }


async def refresh(request: Request) -> Response:
    """All rows that a static table is to have from now on."""
    service, who = service_of(request), who_asks(request)
    refuse_others(request)
    name = request.path_params["name"]
    kind = kind_of(request, (JSON, LINES, ARROW))
    body = await read_body(request, service.limits)

    def write() -> Response:
        table = service.table(name, who, writes=True)
        rows = read_changes(body, kind, table, service.limits)
        with violations_told_to(who):
            done = service.db.refresh(table.name, rows, coerce="json")
        return json_answer(_said(done))

    return await service.run(write)


async def execute(request: Request) -> Response:
    """SQL that changes rows, or that declares and drops, which is for admins."""
    service, who = service_of(request), who_asks(request)
    refuse_others(request)
    kind_of(request, (JSON,))
    body = await read_body(request, service.limits)
    asked = read_object(body, {"sql": str, "parameters": (list, dict)}, "sql")
    numbered = _numbered(request, body)

    def run() -> Response:
        sql, parameters = asked["sql"], asked.get("parameters")
        refuse_script(service.db, who, sql, parameters)
        with violations_told_to(who):
            done = service.db.execute(sql, parameters, request=numbered)
        if done is None:
            return json_answer({"version": service.db.version, "changes": 0})
        if not done.repeated:
            service.metrics.changes.inc(done.changes)
        return json_answer(_said(done))

    return await service.run(run)
