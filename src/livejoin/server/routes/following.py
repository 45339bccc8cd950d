"""Routes that follow: server-sent events and WebSocket, first the rows, then the changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from livejoin.errors import LivejoinError
from livejoin.server.access import Who
from livejoin.server.answers import RequestError, error_said, status_of
from livejoin.server.door import SUBPROTOCOL
from livejoin.server.feeds import Feed, Form, check_since
from livejoin.server.json_values import dumps
from livejoin.server.service import Service, service_of, who_asks

_PING = 15.0  # seconds after which a line is sent that says nothing, so that a dead connection is noticed
_FORMS: dict[tuple[str, str], Form] = {
    ("json", "changes"): "changes",
    ("json", "upsert"): "upsert",
    ("arrow", "changes"): "arrow",
}


class _Watch:
    """Notices that one who follows takes nothing any more; costs a look at the clock for each message; mutable.

    Args:
        patience: Seconds in which a message has to be taken.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._since: float | None = None

    def begin(self) -> None:
        """A message is given."""
        self._since = time.monotonic()

    def end(self) -> None:
        """The message was taken."""
        self._since = None

    async def waits(self, seconds: float) -> bool:
        """Wait; whether messages are still taken."""
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            if self._since is not None and now - self._since > self._patience:
                return False
            await asyncio.sleep(min(1.0, self._patience, until - now))
        return True


async def _until_one_ends(*calls: Coroutine[Any, Any, None]) -> None:
    """Await calls until one of them ends, and end the others; raises what that one raised."""
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _feed(request: Request | WebSocket, service: Service, who: Who) -> Feed:
    """The feed that is asked for.

    Raises:
        LivejoinError: There is none, or as many follow as may.
    """
    asked = request.query_params
    key = (asked.get("format", "json"), asked.get("shape", "changes"))
    if asked.keys() & {"when_full", "max_waiting", "patience"}:
        msg = (
            "nobody who follows over HTTP makes commits wait: one who is slow gets what it missed as one change, or "
            "all rows anew. view.changes(when_full='block') is for the process that has the database"
        )
        raise RequestError(msg)
    if key not in _FORMS or asked.keys() - {"format", "shape", "since"}:
        msg = "known here are shape=changes and shape=upsert, format=json and, for a WebSocket, format=arrow, and since"
        raise RequestError(msg)
    hub = service.hub
    if hub.followers >= service.limits.followers or hub.is_stopping:
        msg = f"{service.limits.followers} connections follow views, as many as may; come again"
        raise RequestError(msg, HTTPStatus.SERVICE_UNAVAILABLE)
    view = await service.run(service.view, request.path_params["name"], who)
    return await hub.feed(view.name, _FORMS[key])


async def events(request: Request) -> Response:
    """The changes of a view as server-sent events."""
    service = service_of(request)
    feed = await _feed(request, service, who_asks(request))
    if feed.form == "arrow":
        msg = "server-sent events are text; follow in Arrow by a WebSocket"
        raise RequestError(msg)
    known = request.headers.get("last-event-id") or check_since(request.query_params.get("since") or None)
    return _Events(service, feed, service.hub.version_of(feed.sql, known))


class _Events(Response):
    """An answer that goes on.

    Args:
        service: The server.
        feed: The feed.
        since: The version that the one who follows knows; None for none.
    """

    media_type = "text/event-stream"

    def __init__(self, service: Service, feed: Feed, since: int | None) -> None:
        super().__init__(headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._service = service
        self._feed = feed
        self._since = since

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer until the connection or the view ends."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        send = scope["livejoin.send"]
        watch = _Watch(self._service.limits.send_seconds)

        async def tell(data: bytes, more: bool = True) -> None:
            watch.begin()
            await send({"type": "http.response.body", "body": data, "more_body": more})
            watch.end()

        async def until_gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        async def follow() -> None:
            feed, follower = self._feed, self._feed.join()
            try:
                async for message in feed.messages(follower, self._since):
                    await tell(message.event)
                ended = {"message": feed.ended, "again": self._service.hub.is_stopping}
                await tell(b"event: end\ndata: " + dumps(ended) + b"\n\n", more=False)
            finally:
                feed.leave(follower)

        async def ping() -> None:
            while await watch.waits(_PING):
                await tell(b": ping\n\n")

        with suppress(OSError):
            await _until_one_ends(follow(), until_gone(), ping())


async def socket(websocket: WebSocket) -> None:
    """The changes of a view by a WebSocket."""
    service = service_of(websocket)
    protocols = websocket.scope.get("subprotocols", ())
    await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in protocols else None)
    try:
        known = check_since(websocket.query_params.get("since") or None)
        feed = await _feed(websocket, service, who_asks(websocket))
    except LivejoinError as error:
        status = status_of(error)
        again = status == HTTPStatus.SERVICE_UNAVAILABLE
        await websocket.send_text(dumps({"error": {**error_said(error), "status": int(status)}}).decode())
        await websocket.close(1013 if again else 1008, str(error)[:120])
        return
    since = service.hub.version_of(feed.sql, known)
    follower = feed.join()

    watch = _Watch(service.limits.send_seconds)

    async def follow() -> None:
        async for message in feed.messages(follower, since):
            watch.begin()
            if feed.form == "arrow":
                await websocket.send_bytes(message.data)
            else:
                await websocket.send_text(message.data.decode())
            watch.end()
        await websocket.close(1001 if service.hub.is_stopping else 1000, (feed.ended or "")[:120])

    async def until_gone() -> None:
        while (await websocket.receive())["type"] != "websocket.disconnect":
            pass  # nothing is expected of who follows

    async def until_stuck() -> None:
        while await watch.waits(_PING):
            pass

    try:
        with suppress(WebSocketDisconnect, RuntimeError, OSError):  # the other side is gone
            await _until_one_ends(follow(), until_gone(), until_stuck())
    finally:
        feed.leave(follower)
