"""The functions that a view calls with its deltas.

Law: each hears of every version that it was subscribed at, in order, while the database is at that version. So a
subscriber cannot commit: others would hear of its commit before they hear of the one that they are called for.
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
    """A callback, until it ends; the same one may be subscribed more than once. Mutable."""

    callback: Callback
    has_ended: bool = False


class Subscribers:
    """The subscribers of a view; mutable.

    Args:
        view: The view's name.
        listened: The names in lower case of the views that have subscribers; that of this one comes and goes.
    """

    def __init__(self, view: str, listened: set[str]) -> None:
        self._view = view
        self._listened = listened
        self._subscriptions: list[Subscription] = []

    def add(self, callback: Callback) -> Callable[[], None]:
        """Subscribe a function; what ends the subscription, and changes nothing once more.

        Raises:
            ReadError: It is no function, or an ``async`` one, which nothing would await.
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
        """Those that have not ended."""
        return tuple(self._subscriptions)

    def clear(self) -> None:
        """End all."""
        for one in self._subscriptions:
            one.has_ended = True
        self._subscriptions.clear()
        self._listened.discard(self._view.lower())


def _is_async(callback: Callable[..., object]) -> bool:
    """Whether calling it gives something to be awaited: an ``async def``, in a partial or as ``__call__`` too."""
    while isinstance(callback, partial):
        callback = callback.func
    called = (callback, getattr(type(callback), "__call__", None))  # noqa: B004
    return any(iscoroutinefunction(part) or isasyncgenfunction(part) for part in called)
