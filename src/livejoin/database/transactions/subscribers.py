"""The functions that a view calls with its deltas.

Law: each subscriber hears of every version since it subscribed, in order, while the database is at that version. So a
subscriber cannot commit: later subscribers would hear of that commit first. Law: what a subscriber raises is its own
affair. The commit stands, the other subscribers hear of it, and the call that made it gives it back. Only what ends
programs, as KeyboardInterrupt, comes out of that call. An ``async`` function is awaited later, by its event loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction, signature
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from livejoin.errors import ReadError

if TYPE_CHECKING:
    import asyncio

    from livejoin.database.transactions.awaited import AsyncCallback, Awaited

logger = logging.getLogger("livejoin")

Callback = Callable[[pa.Table], object]
ErrorHandler = Callable[[Exception], object]
"""What a subscriber's exception is given to."""


@dataclass(eq=False)
class Subscription:
    """One subscription of a callback, which may be subscribed more than once. Mutable.

    Args:
        subscribers: All subscriptions of the view.
        callback: The function that gets each delta.
        on_error: The function that gets what the callback raises; None if that is logged.
        has_ended: Whether it is called no more.
        awaited: The awaiting of an ``async`` callback; None of a plain one.
        called: The last version that it was called for; known as soon as the call begins.
    """

    subscribers: Subscribers
    callback: Callback
    on_error: ErrorHandler | None
    has_ended: bool = False
    awaited: Awaited | None = None
    called: int = -1

    def tell(self, delta: pa.Table, version: int) -> None:
        """Call the callback with the delta of a version; what it raises goes to its handler, or else to the log.

        Raises:
            BaseException: The callback or the handler raised what is no `Exception`, as KeyboardInterrupt.
        """
        try:
            if self.awaited is None:
                self.called = version  # Python looks for signals before this, and then in the callback
                self.callback(delta)
                return
            is_there = self.awaited.hand(delta, version)
            self.called = version
            if not is_there:
                self.end()
                self.failed(ReadError(f"the event loop in which {self.callback!r} subscribed is closed"), version)
        except Exception as error:
            self.failed(error, version)

    def failed(self, error: Exception, version: int) -> None:
        """Give what the callback raised to its handler, or else to the log."""
        if self.on_error is None:
            self.subscribers.note(error, f"{self.callback!r} failed", version)
            return
        try:
            self.on_error(error)
        except Exception as failure:  # has the first one as its context
            self.subscribers.note(failure, f"{self.on_error!r} failed, which handles errors", version)

    def end(self) -> None:
        """End it; once more changes nothing."""
        self.has_ended = True
        self.subscribers.remove(self)
        if self.awaited is not None:
            self.awaited.end()


class Subscribers:
    """The subscribers of a view; mutable.

    Args:
        view: The view's name.
        listened: The names in lower case of all views that have subscribers; updated here.

    Attributes:
        last_error: The last exception that no handler took; None if there was none.
    """

    def __init__(self, view: str, listened: set[str]) -> None:
        self._view = view
        self._listened = listened
        self._subscriptions: list[Subscription] = []
        self.last_error: Exception | None = None

    def add(self, callback: Callback, on_error: ErrorHandler | None = None) -> Callable[[], None]:
        """Subscribe a function; gives a function that ends the subscription and may be called again.

        Raises:
            ReadError: The callback or ``on_error`` is no function, or does not take one argument; the callback is an
                ``async`` function and no event loop runs in this thread; ``on_error`` is one, which nothing would
                await.
        """
        if not callable(callback):
            msg = f"view {self._view!r} cannot call {callback!r}; subscribe a function of one argument, the delta"
            raise ReadError(msg)
        if on_error is not None and not callable(on_error):
            msg = f"on_error of view {self._view!r} is {on_error!r}; give a function of one argument, the exception"
            raise ReadError(msg)
        if on_error is not None and _is_async(on_error):
            msg = f"nothing awaits on_error of view {self._view!r}, and {on_error!r} is async; give a plain function"
            raise ReadError(msg)
        if _is_async(callback, isasyncgenfunction):
            msg = f"view {self._view!r} cannot await {callback!r}, which yields; subscribe a function that returns"
            raise ReadError(msg)
        loop = self._loop(callback) if _is_async(callback) else None
        for called, what in ((callback, "the delta"), (on_error, "the exception")):
            if called is not None and not _takes_one(called):
                msg = (
                    f"view {self._view!r} calls {called!r} with one argument, {what}, and it takes "
                    f"{signature(called)}; subscribe a function of one argument, as lambda x: f(x, more)"
                )
                raise ReadError(msg)
        subscription = Subscription(self, callback, on_error)
        if loop is not None:
            from livejoin.database.transactions.awaited import Awaited  # noqa: PLC0415  # asyncio is there already

            function = cast("AsyncCallback", callback)
            subscription.awaited = Awaited(function, loop, subscription.failed, subscription.end)
        self._listened.add(self._view.lower())
        self._subscriptions.append(subscription)
        return subscription.end

    def remove(self, subscription: Subscription) -> None:
        """Forget a subscription, if it is there."""
        if subscription in self._subscriptions:  # else another view may have the name by now
            self._subscriptions.remove(subscription)
            if not self._subscriptions:
                self._listened.discard(self._view.lower())

    def _loop(self, callback: Callback) -> asyncio.AbstractEventLoop:
        """The event loop that runs in this thread."""
        import asyncio  # noqa: PLC0415  # whoever has an async function has it

        try:
            return asyncio.get_running_loop()
        except RuntimeError as error:
            msg = (
                f"{callback!r} is async, and no event loop runs in this thread to await it; subscribe it within one, "
                "as in asyncio.run(main()), or subscribe a plain function"
            )
            raise ReadError(msg) from error

    def now(self) -> tuple[Subscription, ...]:
        """The subscriptions that have not ended."""
        return tuple(self._subscriptions)

    def note(self, error: Exception, what: str, version: int) -> None:
        """Log an exception that no handler took, and keep it."""
        logger.error(
            "view %r: the subscriber %s at version %d; the commit stands, and the next one calls the subscriber again",
            self._view,
            what,
            version,
            exc_info=error,
        )
        traceback = error.__traceback__  # without our own frame, which holds the database
        self.last_error = error.with_traceback(None if traceback is None else traceback.tb_next)

    def clear(self) -> None:
        """End all subscriptions."""
        for one in self.now():
            one.end()
        self._listened.discard(self._view.lower())


def _is_async(callback: Callable[..., object], is_kind: Callable[[object], bool] = iscoroutinefunction) -> bool:
    """Whether a call gives a coroutine: an ``async def``, also in a partial or as ``__call__``."""
    while isinstance(callback, partial):
        callback = callback.func
    called = (callback, getattr(type(callback), "__call__", None))  # noqa: B004
    return any(is_kind(part) for part in called)


def _takes_one(callback: Callable[..., object]) -> bool:
    """Whether a function may be called with one argument, as far as its signature says; some have none."""
    try:
        found = signature(callback)
    except (TypeError, ValueError):
        return True
    try:
        found.bind(None)
    except TypeError:
        return False
    return True
