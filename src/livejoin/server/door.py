"""What every request passes: who asks, from where, how many there are; and what every answer says to browsers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from livejoin.server.access import UNKNOWN_TOKEN, Who
from livejoin.server.answers import RequestError, error_answer
from livejoin.server.policy import policy
from livejoin.server.service import Service

_HOSTS = frozenset(("localhost", "127.0.0.1", "::1"))
_FREE = frozenset(("/healthz", "/livejoin.js", "/docs"))
_PAGES = ("/console/", "/docs/")
_NO_TOKEN = "a token is needed, as `Authorization: Bearer TOKEN`; the request has none"
_SAID = (
    ("content-security-policy", policy()),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
)
_ENDED = (
    "the server ended before this was answered; a commit may stand or not: send it again with the same client and "
    "number, and it is done once"
)
SUBPROTOCOL = "livejoin"
BEARER = "livejoin.bearer."
"""How a page says its token where it opens a WebSocket, which takes no headers: as a subprotocol."""


class Door:
    """Lets requests in.

    Without tokens there is no way to tell people from pages: a page of another site can let a browser ask this machine,
    also by a name of its own that leads here (DNS rebinding). So the name by which the server is asked must be this
    machine's then, and a page of another site that is not listed is refused always.

    Args:
        app: The application that answers.
        service: The server.
        origins: The sites whose pages may ask, beside the server's own.
    """

    def __init__(self, app: ASGIApp, service: Service, origins: Sequence[str]) -> None:
        self._app = app
        self._service = service
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        service = self._service
        try:
            who = self._who(scope)
            if service.active >= service.limits.requests + service.limits.followers:
                msg = f"{service.limits.requests} requests are being answered, as many as may be; ask again"
                raise RequestError(msg, HTTPStatus.SERVICE_UNAVAILABLE)
        except RequestError as error:
            await _refuse(error, scope, receive, send)
            return
        scope["livejoin.who"] = who
        scope["livejoin.send"] = send  # for what goes on, past all that looks at an answer
        service.active += 1
        began, status, has_begun = time.perf_counter(), 500, False

        async def said(message: Message) -> None:
            nonlocal status, has_begun
            has_begun = True
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _SAID:
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            await self._app(scope, receive, said)
        except asyncio.CancelledError:
            if not service.hub.is_stopping:
                raise
            if not has_begun:
                await _refuse(RequestError(_ENDED, HTTPStatus.SERVICE_UNAVAILABLE), scope, receive, said)
        finally:
            service.active -= 1
            if scope["type"] == "http":
                route = getattr(scope.get("route"), "path", "none")
                service.metrics.requests.labels(route, str(status)).inc()
                if not route.endswith("/changes"):
                    service.metrics.seconds.labels(route).observe(time.perf_counter() - began)

    def _who(self, scope: Scope) -> Who:
        headers, service = Headers(scope=scope), self._service
        host = headers.get("host", "")
        if service.access.is_open and (urlsplit(f"//{host}").hostname or "") not in _HOSTS:
            msg = (
                f"the server is asked as {host!r}; without tokens it answers as localhost and 127.0.0.1 alone, as "
                "pages of other sites could ask it by names of theirs. Give it a file of tokens"
            )
            raise RequestError(msg, HTTPStatus.FORBIDDEN)
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and urlsplit(origin).netloc != host:
            msg = f"pages of {origin!r} may not ask; list it in origins"
            raise RequestError(msg, HTTPStatus.FORBIDDEN)
        token = _token(headers)
        found = service.access.who(token)
        if found is None:
            if scope["type"] == "http" and _is_free(scope["path"].removeprefix(scope.get("root_path", "")), headers):
                return Who("nobody", frozenset(), frozenset())
            msg = UNKNOWN_TOKEN if token else _NO_TOKEN
            raise RequestError(msg, HTTPStatus.UNAUTHORIZED)
        return found


def _is_free(path: str, headers: Headers) -> bool:
    """Whether a path is for everybody: it tells nothing of the database, as the page that asks for the token."""
    return path in _FREE or path.startswith(_PAGES) or (path == "/" and wants_page(headers))


def wants_page(headers: Headers) -> bool:
    """Whether a browser asks for a page."""
    return "text/html" in headers.get("accept", "")


def _token(headers: Headers) -> str | None:
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and token:
        return token.strip()
    for one in headers.get("sec-websocket-protocol", "").split(","):
        if one.strip().startswith(BEARER):
            return one.strip().removeprefix(BEARER)
    return None


async def _refuse(error: RequestError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await error_answer(error)(scope, receive, send)
    elif "websocket.http.response" in scope.get("extensions", {}):
        response = error_answer(error)
        await send(
            {"type": "websocket.http.response.start", "status": response.status_code, "headers": response.raw_headers}
        )
        await send({"type": "websocket.http.response.body", "body": response.body})
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": str(error)[:120]})
