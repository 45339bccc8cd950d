"""The functions that a view calls with its deltas.

Law: each subscriber hears of every version since it subscribed, in order, while the database is at that version. So a
subscriber cannot commit: later subscribers would hear of that commit first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction

import pyarrow as pa

from livejoin.errors import ReadError

Callback = Callable[[pa.Table], object]


@dataclass(eq=False)
class Subscription:
    """One subscription of a callback, which may be subscribed more than once. Mutable."""

    callback: Callback
    has_ended: bool = False


class Subscribers:
    """The subscribers of a view; mutable.

    Args:
        view: The view's name.
        listened: The names in lower case of all views that have subscribers; updated here.
    """

    def __init__(self, view: str, listened: set[str]) -> None:
        self._view = view
        self._listened = listened
        self._subscriptions: list[Subscription] = []

    def add(self, callback: Callback) -> Callable[[], None]:
        """Subscribe a function; gives a function that ends the subscription and may be called again.

        Raises:
            ReadError: The callback is no function, or an ``async`` function, which nothing would await.
        """
        if not callable(callback):
            msg = f"view {self._view!r} cannot call {callback!r}; subscribe a function of one argument, the delta"
            raise ReadError(msg)
        if _is_async(callback):
            msg = (
                f"view {self._view!r} awaits no subscriber, and {callback!r} is async; subscribe a plain function that "
                "hands the delta on, as lambda delta: loop.call_soon_threadsafe(queue.put_nowait, delta)"
            )
            raise ReadError(msg)
        subscription = Subscription(callback)
        self._listened.add(self._view.lower())
        self._subscriptions.append(subscription)

        def end() -> None:
            subscription.has_ended = True
            if subscription in self._subscriptions:  # else another view may have the name by now
                self._subscriptions.remove(subscription)
                if not self._subscriptions:
                    self._listened.discard(self._view.lower())

        return end

    def now(self) -> tuple[Subscription, ...]:
        """The subscriptions that have not ended."""
        return tuple(self._subscriptions)

    def clear(self) -> None:
        """End all subscriptions."""
        for one in self._subscriptions:
            one.has_ended = True
        self._subscriptions.clear()
        self._listened.discard(self._view.lower())


def _is_async(callback: Callable[..., object]) -> bool:
    """Whether a call gives a coroutine: an ``async def``, also in a partial or as ``__call__``."""
    while isinstance(callback, partial):
        callback = callback.func
    called = (callback, getattr(type(callback), "__call__", None))  # noqa: B004
    return any(iscoroutinefunction(part) or isasyncgenfunction(part) for part in called)
