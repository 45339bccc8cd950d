"""An ``async`` function that subscribes to a view: awaited with each delta by the event loop in which it subscribed.

Law: it is awaited with the deltas in the order of the versions, one after the other, and hears of each of them, as a
plain subscriber does. It runs in the loop's thread when the commit stands; commits do not wait for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

import pyarrow as pa

AsyncCallback = Callable[[pa.Table], Awaitable[object]]


class Awaited:
    """The function, with the deltas that wait for it; mutable.

    Args:
        function: The function.
        loop: The event loop, which runs in this thread.
        failed: Called in the loop with what the function raises, and the version of the delta.
        ended: Called when the loop ends, or cancels it.
    """

    def __init__(
        self,
        function: AsyncCallback,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[Exception, int], object],
        ended: Callable[[], object],
    ) -> None:
        self._function = function
        self._loop = loop
        self._failed = failed
        self._ended = ended
        self._has_ended = False
        self._waiting = deque[tuple[pa.Table, int]]()
        self._handed = -1
        self._news = asyncio.Event()
        self._task = loop.create_task(self._run())

    def hand(self, delta: pa.Table, version: int) -> bool:
        """Let a delta wait for the function, once a version, in any thread; whether the loop is there to await it."""
        if version > self._handed:
            self._handed = version
            self._waiting.append((delta, version))
        return self._wake()

    def end(self) -> None:
        """Await the function no more, but finish a call that is under way. In any thread; once more changes nothing."""
        self._has_ended = True
        self._waiting.clear()
        self._wake()

    def _wake(self) -> bool:
        if self._loop.is_closed():
            return False
        try:
            self._loop.call_soon_threadsafe(self._news.set)
        except RuntimeError:  # closed meanwhile
            return False
        return True

    async def _run(self) -> None:
        try:
            while not self._has_ended:
                await self._news.wait()
                self._news.clear()
                while self._waiting:
                    delta, version = self._waiting.popleft()
                    try:
                        await self._function(delta)
                    except Exception as error:
                        self._failed(error, version)
        finally:
            self._ended()

    def __repr__(self) -> str:
        return repr(self._function)
