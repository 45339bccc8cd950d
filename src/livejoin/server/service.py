"""What all requests of a server share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import HTTPConnection

from livejoin.database import Database, View
from livejoin.schema import Table
from livejoin.server.access import Access, Who
from livejoin.server.feeds import Hub
from livejoin.server.figures import Figures
from livejoin.server.limits import Limits
from livejoin.server.metrics import Metrics
from livejoin.server.permissions import table_for, view_for
from livejoin.server.queries import Queries

if TYPE_CHECKING:
    from livejoin.server.mcp_tools import Models

Found = TypeVar("Found")
_THREADS = 16
_SMALL = 20_000  # bytes of a commit
_QUICK = 0.005  # seconds of a commit


class Service:
    """A database that is served.

    Args:
        db: The database.
        access: Finds out who asks.
        limits: The limits of one who asks.
        tick: Seconds between two messages of a view at least.
        history: How many rows of changes of each view that somebody follows are kept for those who come back.

    Attributes:
        hub: The feeds, which those who follow share.
        queries: Answers ad-hoc queries.
        metrics: Figures of the requests.
        figures: The graph and the figures that the console shows.
        active: How many requests are being answered.
        models: The tools for models; None if they are not installed.
    """

    def __init__(self, db: Database, access: Access, limits: Limits, tick: float, history: int) -> None:
        self.db = db
        self.access = access
        self.limits = limits
        self._threads = ThreadPoolExecutor(_THREADS, "livejoin-server")
        self.hub = Hub(db, limits, tick, history, self._threads)
        self.queries = Queries(limits)
        self.metrics = Metrics(self)
        self.figures = Figures(self)
        self.active = 0
        self.models: Models | None = None
        self._is_quick = True

    async def run(self, call: Callable[..., Found], *arguments: Any) -> Found:
        """Call a function in a thread, as whatever waits for the database."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def write(self, call: Callable[[], Found], size: int) -> Found:
        """Call a function that commits: in a thread, or here if that is sooner done.

        Kernels give Python's lock back, so that a small commit in a thread waits for this one several times. It is made
        here if it brings little and the last one was quick, disk and all.

        Args:
            call: The function.
            size: The bytes that it brings.
        """
        is_here = self._is_quick and size <= _SMALL
        began = time.perf_counter()
        try:
            return call() if is_here else await self.run(call)
        finally:
            seconds = time.perf_counter() - began
            self._is_quick = seconds < _QUICK

    def view(self, name: str, who: Who) -> View:
        """A view that somebody may read.

        Raises:
            AbsentNameError: There is none of this name for them.
        """
        return view_for(self.db, name, who)

    def table(self, name: str, who: Who, writes: bool = False) -> Table:
        """A table that somebody may read, or change.

        Raises:
            AbsentNameError: There is none of this name for them.
            RequestError: The token may not change it.
        """
        return table_for(self.db, name, who, writes)

    def close(self) -> None:
        """End what follows and what queries; the database stays open. Once more changes nothing."""
        self.hub.stop()
        self.queries.close()
        self.figures.close()
        if self.models is not None:
            self.models.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)


def service_of(request: HTTPConnection) -> Service:
    """The service that a request is for."""
    found: Service = request.app.state.service
    return found


def who_asks(request: HTTPConnection) -> Who:
    """Who asks, as the door found out."""
    found: Who = request.scope["livejoin.who"]
    return found
