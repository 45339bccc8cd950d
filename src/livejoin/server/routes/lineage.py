"""Routes that say what rows of views are made of, and what is missing for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from livejoin.database import View
from livejoin.database.lineage.found import Why, WhyNot
from livejoin.errors import ReadError
from livejoin.server.access import Who
from livejoin.server.answers import RequestError, json_answer
from livejoin.server.json_values import plain
from livejoin.server.permissions import refuse_hidden_tables
from livejoin.server.routes.bodies import refuse_others
from livejoin.server.routes.reading import number_of, wanted_values
from livejoin.server.service import Service, service_of, who_asks

_MOST = 1000  # combinations


async def why(request: Request) -> Response:
    """What a row is made of, for those who may read all tables below the view."""
    refuse_others(request, "get", "limit", "format")
    limit = number_of(dict(request.query_params), "limit")
    if limit is not None and not 1 <= limit <= _MOST:
        msg = f"limit is {limit:,}; allowed are 1 to {_MOST:,}"
        raise RequestError(msg)
    return await _answered(request, lambda view, values: view.why(values, limit=limit or 100, coerce="json"))


async def why_not(request: Request) -> Response:
    """Why no row has some values, for those who may read all tables below the view."""
    refuse_others(request, "get", "format")
    return await _answered(request, lambda view, values: view.why_not(values, coerce="json"))


async def _answered(request: Request, ask: Callable[[View, dict[str, Any]], Why | WhyNot]) -> Response:
    service, who = service_of(request), who_asks(request)
    form = request.query_params.get("format", "json")
    if form not in ("json", "text"):
        msg = f"format is {form!r}; allowed are json and text"
        raise RequestError(msg)
    name, text = request.path_params["name"], request.query_params.get("get")
    return await service.run(lambda: _answer(found(service, who, name, text, ask), service, form))


def found(
    service: Service, who: Who, name: str, text: str | None, ask: Callable[[View, dict[str, Any]], Why | WhyNot]
) -> Why | WhyNot:
    """What a question about a row of a view gives, for somebody.

    Raises:
        RequestError: Some table below the view is not for them to read; or the text is no row.
    """
    view = service.view(name, who)
    refuse_hidden_tables(service.db, view, who)
    if text is None:
        msg = 'give the row as ?get={"column": value, ...}'
        raise RequestError(msg)
    try:
        return ask(view, wanted_values(text, view.schema.names))
    except ReadError as error:
        raise RequestError(str(error)) from error


def _answer(said: Why | WhyNot, service: Service, form: str) -> Response:
    if form == "text":
        return PlainTextResponse(f"{said}\n")
    return json_answer({"version": service.db.version, **plain(said.to_dict())})
