"""The life of an application that is mounted in another one: who follows hears that the process stops.

A server of ASGI, asked to stop, waits until connections are idle, and then ends the lifespan of the application. Who
follows a view keeps a connection open. So the end of the lifespan comes too late to tell them: the signal has to.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from starlette.applications import Starlette

from livejoin.errors import SchemaError
from livejoin.server.service import Service


@asynccontextmanager
async def lifespan(served: Starlette) -> AsyncIterator[None]:
    """Follow the life of an application in which another one is mounted, as a part of its own lifespan.

    At Ctrl-C and SIGTERM those who follow are told that the server ends, and their connections close. The handler that
    was there is called as well. At the end of the lifespan everything stops that the application runs beside the
    database, which stays open.

    Args:
        served: The application, as `livejoin.server.app` gives it.

    Raises:
        SchemaError: ``served`` is no such application.

    >>> import livejoin, livejoin.server
    >>> async def live(site):
    ...     async with livejoin.server.lifespan(livejoin.server.app(livejoin.Database())):
    ...         yield
    """
    service = getattr(getattr(served, "state", None), "service", None)
    if not isinstance(service, Service):
        msg = f"served is {served!r:.80}; give the application that livejoin.server.app(db) gives"
        raise SchemaError(msg)
    loop = asyncio.get_running_loop()
    before: dict[signal.Signals, Any] = {}

    def told(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(service.hub.stop)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        elif handler != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    if threading.current_thread() is threading.main_thread():  # others may set no handler
        before = {number: signal.signal(number, told) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is told:
                signal.signal(number, signal.SIG_DFL if handler is None else handler)
        service.close()
