"""The application of ASGI: to be run by `livejoin serve`, or mounted in an application of one's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

import livejoin
from livejoin.database import Database
from livejoin.errors import LivejoinError, SchemaError
from livejoin.server.access import Access, Open
from livejoin.server.answers import RequestError, error_answer, json_answer
from livejoin.server.door import Door, wants_page
from livejoin.server.limits import Limits
from livejoin.server.origins import check_origins
from livejoin.server.routes import console, following, lineage, manual, reading, writing
from livejoin.server.routes.openapi import openapi
from livejoin.server.service import Service, service_of, who_asks

STATIC = Path(__file__).parent / "static"
Endpoint = Callable[[Request], Awaitable[Response]]


def app(
    db: Database,
    *,
    access: Access | None = None,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
    tick: float = 0.02,
    history: int = 100_000,
) -> Starlette:
    """The application that serves a database.

    Args:
        db: The database; it stays open when the application ends.
        access: Who may do what, as `read_tokens` gives it. By default anybody may do anything who asks by the names
            ``localhost`` and ``127.0.0.1``.
        limits: The limits of one who asks.
        origins: The sites whose pages may ask, as ``https://shop.example``, beside the server's own.
        tick: Seconds between two messages of a view at least: the changes of that time are one net change.
        history: How many rows of changes of each view that is followed are kept for those who come back.

    Raises:
        SchemaError: An argument is of another type, the tick or the history is no such number, or an origin is no site.

    >>> import livejoin
    >>> found = app(livejoin.Database())
    >>> [route.path for route in found.routes][1:3]
    ['/', '/healthz']
    """
    check_types(db, access, limits)
    if not isinstance(tick, int | float) or not 0 <= tick <= 60:
        msg = f"tick is {tick!r}; allowed are seconds from 0 to 60"
        raise SchemaError(msg)
    if not isinstance(history, int) or history < 0:
        msg = f"history is {history!r}; allowed are numbers of rows from 0 on"
        raise SchemaError(msg)
    check_origins(origins)
    service = Service(db, access or Open(), limits or Limits(), tick, history)
    middleware = [Middleware(Door, service=service, origins=origins)]
    if origins:
        cors = Middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "PUT"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID", "Livejoin-Client", "Livejoin-Number"],
            expose_headers=["Livejoin-Version", "Livejoin-Total", "Retry-After"],
        )
        middleware.insert(0, cors)
    routes = _routes()
    if find_spec("mcp") is not None:
        from livejoin.server.mcp_tools import Models  # noqa: PLC0415  # an extra of its own

        service.models = Models(service)
        routes.append(Route("/mcp", service.models))
    found = Starlette(routes=routes, middleware=middleware, exception_handlers={HTTPException: _not_found})
    found.state.service = service
    return found


def check_types(db: object, access: object, limits: object) -> None:
    """Refuse what is no database, no access and no limits.

    Raises:
        SchemaError: An argument is something else.
    """
    if not isinstance(db, Database):
        msg = f"db is {db!r:.80}; give a database, as livejoin.open('folder') or livejoin.Database() gives it"
        raise SchemaError(msg)
    if access is not None and not callable(getattr(access, "who", None)):
        msg = f"access is {access!r:.80}; give read_tokens('tokens.toml'), whose file `livejoin token` writes"
        raise SchemaError(msg)
    if limits is not None and not isinstance(limits, Limits):
        msg = f"limits is {limits!r:.80}; give Limits(requests=...), as livejoin.server has it"
        raise SchemaError(msg)


def _routes() -> list[BaseRoute]:
    def get(path: str, endpoint: Endpoint) -> Route:
        return Route(path, _answered(endpoint), methods=["GET"])

    def post(path: str, endpoint: Endpoint, method: str = "POST") -> Route:
        return Route(path, _answered(endpoint), methods=[method])

    return [
        post("/v1/tables/{name}", writing.insert),
        get("/", _index),
        get("/healthz", _health),
        get("/metrics", _metrics),
        get("/openapi.json", _openapi),
        get("/livejoin.js", _module),
        get("/console/{file:path}", console.asset),
        get(manual.PAGES, manual.first),
        get(manual.PAGES + "/{file:path}", manual.page),
        get("/v1/graph", console.graph),
        get("/v1/stats", console.stats),
        get("/v1/views", reading.views),
        get("/v1/tables", reading.tables),
        get("/v1/views/{name}", reading.view),
        get("/v1/tables/{name}", reading.table),
        get("/v1/{kind:str}/{name}/rows", reading.rows),
        get("/v1/views/{name}/count", reading.count),
        get("/v1/views/{name}/explain", reading.explain),
        get("/v1/views/{name}/why", lineage.why),
        get("/v1/views/{name}/why_not", lineage.why_not),
        get("/v1/views/{name}/changes", following.events),
        WebSocketRoute("/v1/views/{name}/changes", following.socket),
        post("/v1/views/{name}/analyze", reading.analyze),
        post("/v1/query", reading.query),
        post("/v1/explain", reading.explain_query),
        post("/v1/tables/{name}", writing.refresh, "PUT"),
        post("/v1/commit", writing.commit),
        post("/v1/execute", writing.execute),
    ]


def _answered(endpoint: Endpoint) -> Endpoint:
    """An endpoint whose errors are answers."""

    @wraps(endpoint)
    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except (LivejoinError, OSError, ValueError, MemoryError, RuntimeError, TypeError, LookupError) as error:
            return error_answer(error)

    return answer


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    msg = f"{request.method} {request.url.path} is none of this server; /openapi.json lists what it has"
    found = RequestError(msg)
    response = error_answer(found)
    response.status_code = error.status_code
    return response


async def _index(request: Request) -> Response:
    if wants_page(request.headers):
        return console.page()
    service, who = service_of(request), who_asks(request)
    views = [name for name in service.db.views if who.may_read(name)]
    root = request.scope.get("root_path", "")
    return json_answer(
        {
            "livejoin": livejoin.__version__,
            "views": {name: f"{root}/v1/views/{name}/rows" for name in views},
            "follow": {name: f"{root}/v1/views/{name}/changes" for name in views},
            "description": f"{root}/openapi.json",
        }
    )


async def _health(request: Request) -> Response:
    """Whether the database takes calls."""
    service = service_of(request)
    version = await service.run(lambda: (service.db.tables, service.db.version)[1])
    return json_answer({"status": "ok", "version": version})


async def _metrics(request: Request) -> Response:
    service, who = service_of(request), who_asks(request)
    if not who.reads_all:
        msg = f"the metrics need a token that may read all; {who.name!r} may not"
        raise RequestError(msg, HTTPStatus.FORBIDDEN)
    return Response(await service.run(service.metrics.text), media_type="text/plain; version=0.0.4; charset=utf-8")


async def _openapi(request: Request) -> Response:
    return json_answer(openapi(request.scope.get("root_path", "")))


async def _module(request: Request) -> Response:
    del request
    return FileResponse(STATIC / "livejoin.js", media_type="text/javascript", headers={"cache-control": "max-age=300"})
