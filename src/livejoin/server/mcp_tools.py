"""Tools for models, by the Model Context Protocol: what there is, what it costs, queries, what has changed. Read-only.

Every tool sees what the token of its request may read, as everywhere in the server.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from livejoin.errors import LivejoinError
from livejoin.server.access import Who
from livejoin.server.explaining import explained_for
from livejoin.server.json_values import objects
from livejoin.server.routes import lineage, reading
from livejoin.server.service import Service

_ROWS = 1000  # of an answer
_WAIT = 1.0  # seconds for what comes at once
_ABOUT = (
    "Views of SQL that are always up to date. list_views says what there is; query answers a SELECT over views and "
    "tables; changes_since says what happened to a view since you last looked."
)


class Models:
    """The application at ``/mcp``.

    Its sessions need a task that runs as long as the server; it is begun by the first request, so that an application
    in which this one is mounted need not know of it.

    Args:
        service: The server.
    """

    def __init__(self, service: Service) -> None:
        self._server = _server(service)
        self._app = self._server.streamable_http_app(
            streamable_http_path="/",
            json_response=True,
            stateless_http=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the door has looked
        )
        self._running: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        loop = asyncio.get_running_loop()
        if self._running is None or self._loop is not loop:
            begun = asyncio.Event()
            self._loop, self._running = loop, loop.create_task(self._run(begun))
            await begun.wait()
        await self._app({**scope, "path": "/", "raw_path": b"/", "root_path": ""}, receive, send)

    async def _run(self, begun: asyncio.Event) -> None:
        async with self._server.session_manager.run():
            begun.set()
            await asyncio.Event().wait()

    def stop(self) -> None:
        """End the sessions."""
        if self._running is not None:
            self._running.cancel()
            self._running = None


def _server(service: Service) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("livejoin", instructions=_ABOUT)

    def who_asks(context: Context[Any]) -> Who:
        request = context.request_context.request
        assert request is not None
        found: Who = request.scope["livejoin.who"]
        return found

    async def told(call: Any) -> Any:
        """What a call gives; its errors as those of a tool, which the model reads."""
        try:
            return await service.run(call)
        except LivejoinError as error:
            raise ToolError(str(error)) from error

    @server.tool()
    async def list_views(context: Context[Any]) -> dict[str, Any]:
        """All views and tables with their columns, and the version of the database."""
        who = who_asks(context)
        views = await told(lambda: reading.list_views(service, who))
        return {**views, **await told(lambda: reading.list_tables(service, who))}

    @server.tool()
    async def describe(name: str, context: Context[Any]) -> dict[str, Any]:
        """A view: its columns, its key, its SQL, how many rows it has, and what a change of its tables costs."""
        who = who_asks(context)

        def read() -> dict[str, Any]:
            view = service.view(name, who)
            return {**reading.describe_view(view), "rows": view.count(), "explanation": str(view.explain())}

        found: dict[str, Any] = await told(read)
        return found

    @server.tool()
    async def explain(sql: str, context: Context[Any]) -> str:
        """What it would cost to keep a SELECT up to date as a view."""
        who = who_asks(context)
        found: str = await told(lambda: str(explained_for(service.db, who, sql)))
        return found

    @server.tool()
    async def query(sql: str, context: Context[Any], parameters: list[Any] | None = None) -> dict[str, Any]:
        """The answer to a SELECT (Spark SQL) over views and tables at one version; `?` stands for a parameter."""
        who = who_asks(context)

        def read() -> dict[str, Any]:
            rows, version, instants = reading.answer(service, who, sql, parameters)
            shown = objects(rows.slice(0, _ROWS), instants)
            return {"version": version, "rows": shown, "all_rows": rows.num_rows}

        found: dict[str, Any] = await told(read)
        return found

    @server.tool()
    async def why(view: str, row: dict[str, Any], context: Context[Any]) -> str:
        """What a row of a view is made of: the rows of the tables that give it. The row, or the columns of a key."""
        who = who_asks(context)
        asked = json.dumps(row)
        found: str = await told(
            lambda: str(lineage.found(service, who, view, asked, lambda one, values: one.why(values, coerce="json")))
        )
        return found

    @server.tool()
    async def why_not(view: str, values: dict[str, Any], context: Context[Any]) -> str:
        """Why no row of a view has some values: the first thing that is missing, from the tables on."""
        who = who_asks(context)
        asked = json.dumps(values)
        found: str = await told(
            lambda: str(lineage.found(service, who, view, asked, lambda one, row: one.why_not(row, coerce="json")))
        )
        return found

    @server.tool()
    async def changes_since(view: str, context: Context[Any], since: str | None = None) -> dict[str, Any]:
        """What changed in a view since an `id` that this tool gave; all rows, with `reset`, where none is given."""
        who = who_asks(context)
        name = (await told(lambda: service.view(view, who))).name
        try:
            feed = await service.hub.feed(name, "changes")
        except LivejoinError as error:
            raise ToolError(str(error)) from error
        follower = feed.join()
        messages = feed.messages(follower, service.hub.version_of(feed.sql, since))
        try:
            with suppress(TimeoutError, StopAsyncIteration):
                first = await asyncio.wait_for(anext(messages), _WAIT)
                found: dict[str, Any] = json.loads(first.data)
                shown = found["changes"][:_ROWS]  # a model reads them all
                return {**found, "changes": shown, "all_changes": len(found["changes"])}
        finally:
            feed.leave(follower)
        return {"id": since, "reset": False, "changes": []}

    return server
