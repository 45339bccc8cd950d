"""Routes that read: what there is, rows, queries, explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from starlette.requests import Request
from starlette.responses import Response

from livejoin.changes.convert import convert
from livejoin.database import View
from livejoin.database.versions.past import KEEP
from livejoin.errors import AbsentIndexError, CapacityError, ChangeValueError, ReadError
from livejoin.plan import Explanation
from livejoin.plan.explain.forms.rows import as_rows
from livejoin.schema import Column, SqlType, Table, instants_of
from livejoin.server.access import Who
from livejoin.server.answers import FORMATS, TYPES, Format, RequestError, json_answer, rows_answer
from livejoin.server.explaining import explained_as_asked, explained_for, explained_view
from livejoin.server.figures import assertion_of
from livejoin.server.permissions import refuse_but_admin
from livejoin.server.routes.bodies import JSON, kind_of, read_body, read_json, read_object, refuse_others
from livejoin.server.service import Service, service_of, who_asks
from livejoin.shown import meant, shortened
from livejoin.sql import read_explain

_PAGE = 65_536
_TRIES = 20  # of a look-up between two commits


async def views(request: Request) -> Response:
    """The views that one may read."""
    service, who = service_of(request), who_asks(request)
    return json_answer(await service.run(list_views, service, who))


def list_views(service: Service, who: Who) -> dict[str, Any]:
    """The views that somebody may read."""
    found = [describe_view(view) for name, view in service.db.views.items() if who.may_read(name)]
    return {"version": service.db.version, "views": found}


async def view(request: Request) -> Response:
    """One view."""
    service, who = service_of(request), who_asks(request)

    def read() -> dict[str, Any]:
        found = service.view(request.path_params["name"], who)
        return {"version": service.db.version, **describe_view(found)}

    return json_answer(await service.run(read))


def describe_view(view: View) -> dict[str, Any]:
    """What there is to say of a view; of one with ORDER BY also the order, of an assertion also what it does."""
    names = view.schema.names
    order = [
        {"column": names[key.column], "descending": key.descending, "nulls_first": key.nulls_first}
        for key in view._query.shown_order
    ]
    return {
        "name": view.name,
        "columns": _columns(view.schema, view.types),
        "key": next((list(key) for key in view.keys), None),
        "changes": view.deltas,
        "sql": view.sql,
        **({"order": order} if order else {}),
        **assertion_of(view),
    }


async def tables(request: Request) -> Response:
    """The tables that one may read or change."""
    service, who = service_of(request), who_asks(request)
    return json_answer(await service.run(list_tables, service, who))


def list_tables(service: Service, who: Who) -> dict[str, Any]:
    """The tables that somebody may read or change."""
    found = [table for name, table in service.db.tables.items() if who.may_read(name) or who.may_write(name)]
    return {"version": service.db.version, "tables": [_of_table(table) for table in found]}


async def table(request: Request) -> Response:
    """One table."""
    service, who = service_of(request), who_asks(request)

    def read() -> dict[str, Any]:
        name = request.path_params["name"]
        found = service.table(name, who, writes=not who.may_read(name))
        return {"version": service.db.version, **_of_table(found)}

    return json_answer(await service.run(read))


def _of_table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "columns": _columns(table.arrow, [column.type for column in table.columns]),
        "key": [table.columns[place].name for place in table.primary_key] or None,
        "keys": table.described_keys(),
    }


def _columns(schema: pa.Schema, types: Sequence[SqlType]) -> list[dict[str, Any]]:
    pairs = zip(schema, types, strict=True)
    return [{"name": field.name, "type": str(kind), "nullable": field.nullable} for field, kind in pairs]


async def rows(request: Request) -> Response:
    """Rows of a view or a table, all or some."""
    service, who = service_of(request), who_asks(request)
    kind = request.path_params["kind"]
    given = _Wanted(request)
    return await service.run(_rows, service, who, kind, request.path_params["name"], given)


class _Wanted:
    """Which rows are asked for.

    Args:
        request: The request.

    Raises:
        RequestError: The request asks for something else.
    """

    def __init__(self, request: Request) -> None:
        refuse_others(request, "format", "limit", "at", "sample", "seed", "get", "version")
        asked = dict(request.query_params)
        self.form = format_of(asked.pop("format", "json"))
        self.limit = number_of(asked, "limit")
        self.at = number_of(asked, "at")
        self.sample = number_of(asked, "sample")
        self.seed = number_of(asked, "seed")
        self.get = asked.pop("get", None)
        self.version = number_of(asked, "version")
        if sum(value is not None for value in (self.at, self.sample, self.get)) > 1:
            msg = "at, sample and get are three ways to say which rows; give one of them"
            raise RequestError(msg)
        if self.version is not None and self.sample is not None:
            msg = "sample is of the view as it is; leave version out"
            raise RequestError(msg)


def format_of(text: str) -> Format:
    """A format of rows.

    Raises:
        RequestError: There is no such format.
    """
    for form in FORMATS:
        if text == form:
            return form
    msg = f"format is {text!r}; allowed are {', '.join(FORMATS)}"
    raise RequestError(msg)


def number_of(asked: dict[str, str], name: str) -> int | None:
    """A number that is asked for, which is taken out of what is asked; None if there is none.

    Raises:
        RequestError: The text is no number.
    """
    text = asked.pop(name, None)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        msg = f"{name} is {text!r}; allowed are numbers from 0 on"
        raise RequestError(msg)
    return int(text)


def _rows(service: Service, who: Who, kind: str, name: str, given: _Wanted) -> Response:
    if kind == "tables":
        if given.version is not None:
            msg = "a table has no history to be read as of a version; make a view of it, which has one"
            raise RequestError(msg)
        service.table(name, who)
        with service.db.snapshot() as at:
            found = at.tables[name]
            rows = _with(found.to_arrow(), given.get, found.types)
            return _some(rows, given, service, at.version, found.types, None)
    view = service.view(name, who)
    if given.version is not None:
        rows = _with(_as_of(view, given.version), given.get, view.types)
        return _some(rows, given, service, given.version, view.types, None)
    if given.sample is not None:
        _refuse_many(given.sample, service)
        rows = view.sample(given.sample, seed=given.seed)
        return rows_answer(rows, given.form, service.db.version, instants_of(rows.column_names, view.types))
    if given.get is not None and (looked_up := _looked_up(service, view, given.get)) is not None:
        rows, version = looked_up
        return _some(rows, given, service, version, view.types, None)
    total = view.count()
    if total > service.limits.rows and given.get is None:
        return _page(service, view, given, total)
    try:
        with service.db.snapshot() as at:
            rows = at.views[name].to_arrow()
            version = at.version
    except ReadError:  # it keeps no deltas, and changed meanwhile
        version, rows = service.db.version, view.to_arrow()
    return _some(_with(rows, given.get, view.types), given, service, version, view.types, None)


def _as_of(view: View, version: int) -> pa.Table:
    """The rows of a view at a version that was.

    Raises:
        ReadError: The history does not reach there; the message says what helps over HTTP.
    """
    try:
        return view.as_of(version).to_arrow()
    except ReadError as error:
        keep = (
            f"the server keeps what comes from the first GET /v1/views/{view.name}/changes on, as much as its setting "
            "`history` says; the program that serves may also call view.keep_history"
        )
        raise ReadError(str(error).replace(KEEP, keep)) from error


def _looked_up(service: Service, view: View, text: str) -> tuple[pa.Table, int] | None:
    """The rows with some values by the indexes of a view, and their version; None if it has no index by these columns.

    Raises:
        RequestError: A value is none of its column.
    """
    wanted = wanted_values(text, view.schema.names)
    for _ in range(_TRIES):
        version = service.db.version
        try:
            rows = view.lookup(wanted, coerce="json")
        except AbsentIndexError:
            return None
        except ReadError as error:
            msg = f"get: {error}"
            raise RequestError(msg) from error
        if service.db.version == version:
            return rows, version
    return None  # commits come and go too fast: all rows are read, at one version


def _some(
    rows: pa.Table, given: _Wanted, service: Service, version: int, types: Sequence[SqlType], total: int | None
) -> Response:
    """Some of the rows of a version that are there."""
    if given.sample is not None:
        msg = "sample is for views; give a table a limit"
        raise RequestError(msg)
    count = rows.num_rows
    if given.at is not None or given.limit is not None:
        rows = rows.slice(given.at or 0, given.limit)
        total = count
    if rows.num_rows > service.limits.rows:
        _refuse_many(rows.num_rows, service)
    return rows_answer(rows, given.form, version, instants_of(rows.column_names, types), total)


def _page(service: Service, view: View, given: _Wanted, total: int) -> Response:
    """Some rows of a result that is too large to be read whole."""
    if given.limit is None:
        msg = (
            f"view {view.name!r} has {total:,} rows; an answer has {service.limits.rows:,} at most. Give a limit, with "
            "at= for the position to begin at, or sample="
        )
        raise CapacityError(msg)
    _refuse_many(given.limit, service)
    rows = view.slice(given.at or 0, min(given.limit, _PAGE))
    return rows_answer(rows, given.form, service.db.version, instants_of(rows.column_names, view.types), total)


def _refuse_many(rows: int, service: Service) -> None:
    if rows > service.limits.rows:
        msg = f"{rows:,} rows are asked for; an answer has {service.limits.rows:,} at most"
        raise CapacityError(msg)


def _with(rows: pa.Table, text: str | None, types: Sequence[SqlType]) -> pa.Table:
    """The rows with some values, where some are asked for; O(rows)."""
    if text is None:
        return rows
    wanted = wanted_values(text, rows.column_names)
    known = {name.lower(): place for place, name in enumerate(rows.column_names)}
    for name, value in wanted.items():
        place = known[name.lower()]
        column = Column(name, types[place])
        try:
            given = convert((value,), column, Table("get", (column,)), required=False, coerce="json")
        except ChangeValueError as error:
            msg = f"get: {error.message}"
            raise RequestError(msg) from error
        values = rows.column(place)
        mask = pc.is_null(values) if value is None else pc.equal(values, given[0])
        rows = rows.filter(mask)
    return rows


def wanted_values(text: str, columns: Sequence[str]) -> dict[str, Any]:
    """The values by the names of columns that are asked for.

    Raises:
        RequestError: The text is no such object.
    """
    try:
        wanted = read_json(text.encode())
    except RequestError as error:
        msg = f'get is {text:.100}, which is no JSON; allowed is an object, as {{"{columns[0]}": 1}}'
        raise RequestError(msg) from error
    known = {name.lower() for name in columns}
    allowed = f"allowed is a JSON object with some of the columns {', '.join(columns)}"
    if not isinstance(wanted, dict) or not wanted:
        msg = f"get is {text:.100}; {allowed}"
        raise RequestError(msg)
    for name in wanted:
        if name.lower() not in known:
            msg = f"get names {shortened(name)!r}, which is no column here{meant(name, columns)}; {allowed}"
            raise RequestError(msg)
    return wanted


async def count(request: Request) -> Response:
    """How many rows a view has, also where they are more than anybody can list."""
    service, who = service_of(request), who_asks(request)

    def read() -> dict[str, Any]:
        found = service.view(request.path_params["name"], who).count()
        return {"version": service.db.version, "count": found}

    return json_answer(await service.run(read))


async def query(request: Request) -> Response:
    """The answer to an ad-hoc SELECT over all that one may read, at one version."""
    service, who = service_of(request), who_asks(request)
    refuse_others(request, "format")
    form = format_of(request.query_params.get("format", "json"))
    kind_of(request, (JSON,))
    body = await read_body(request, service.limits)
    asked = read_object(body, {"sql": str, "parameters": (list, dict)}, "sql")
    return await service.run(_query, service, who, asked, form)


def _query(service: Service, who: Who, asked: Mapping[str, Any], form: Format) -> Response:
    rows, version, instants = answer(service, who, asked["sql"], asked.get("parameters"))
    return rows_answer(rows, form, version, instants)


def answer(service: Service, who: Who, sql: str, parameters: Any) -> tuple[pa.Table, int, frozenset[str]]:
    """The answer to a query over what somebody may read: its rows, their version, and the columns that are instants.

    An ``EXPLAIN`` gives the lines of the explanation.
    """
    if (explain := read_explain(sql, parameters)) is not None:
        return as_rows(explained_as_asked(service.db, who, explain)), service.db.version, frozenset()
    with service.db.snapshot() as at:
        named = {name: one.named for name, one in {**at.tables, **at.views}.items() if who.may_read(name)}
        rows, instants = service.queries.ask(sql, parameters, named)
        return rows, at.version, instants


async def explain(request: Request) -> Response:
    """What a view costs, and why; with ``analyze`` also what it really cost, which begins to count it."""
    service, who = service_of(request), who_asks(request)
    refuse_others(request, "format", "analyze")
    form = request.query_params.get("format", "json")
    analyze = _switch(request.query_params.get("analyze", "0"))

    def read() -> Response:
        return _explained(explained_view(service.db, who, request.path_params["name"], analyze), form)

    return await service.run(read)


def _switch(text: str) -> bool:
    if text not in ("0", "1", "false", "true"):
        msg = f"analyze is {text!r}; allowed are 0 and 1"
        raise RequestError(msg)
    return text in ("1", "true")


async def analyze(request: Request) -> Response:
    """Begin to count what a view really costs, or end it."""
    service, who = service_of(request), who_asks(request)
    refuse_but_admin(who, "analyzing a view")
    kind_of(request, (JSON,))
    on = read_object(await read_body(request, service.limits), {"on": bool}, "on")["on"]

    def switch() -> Response:
        service.view(request.path_params["name"], who).analyze(on)
        return json_answer({"version": service.db.version, "on": on})

    return await service.run(switch)


async def explain_query(request: Request) -> Response:
    """What a query would cost as a view."""
    service, who = service_of(request), who_asks(request)
    refuse_others(request, "format")
    kind_of(request, (JSON,))
    asked = read_object(await read_body(request, service.limits), {"sql": str, "suppose": list}, "sql")
    form = request.query_params.get("format", "json")

    def read() -> Response:
        return _explained(explained_for(service.db, who, asked["sql"], asked.get("suppose") or ()), form)

    return await service.run(read)


def _explained(found: Explanation, form: str) -> Response:
    match form:
        case "json":
            return Response(found.json(), media_type=TYPES["json"])
        case "text":
            return Response(str(found), media_type="text/plain; charset=utf-8")
        case "svg":
            return Response(found.svg(), media_type="image/svg+xml")
        case "html":
            return Response(found.html(), media_type="text/html; charset=utf-8")
        case _:
            msg = f"format is {form!r}; allowed are json, text, svg and html"
            raise RequestError(msg)
