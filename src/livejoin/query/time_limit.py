"""Time limits on calls that cannot look at the clock themselves.

One thread a process sleeps until the next limit has passed and then interrupts the call, again and again until the call
has ended, because what is interrupted may not have begun; each time after twice the time, because an exception at the
wrong place may have hidden that it has. Where no call is under way it sleeps for good.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf, isinf

_AGAIN = 0.1  # seconds between the first two interrupts of a call


class TimeLimits:
    """The calls that are under way and when their time is over; safe to use from all threads, and after a fork.

    >>> limits = TimeLimits()
    >>> with limits.of(lambda: print("interrupted"), seconds=60):
    ...     pass
    """

    def __init__(self) -> None:
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """No calls and no thread, as in a process that has just begun."""
        self._changed = threading.Condition()
        self._ends: dict[object, tuple[float, float, Callable[[], object]]] = {}  # when, and what to wait then
        self._wakes = inf  # when the thread looks again by itself
        self._watched = False

    @contextmanager
    def of(self, interrupt: Callable[[], object], seconds: float) -> Iterator[None]:
        """Interrupt what is done inside when its time is over.

        Args:
            interrupt: Called from another thread, never when the call has ended.
            seconds: The time; infinite for no limit.

        Cost: some microseconds.
        """
        if isinf(seconds):
            yield
            return
        call, end = object(), time.monotonic() + seconds
        try:
            with self._changed:
                self._ends[call] = (end, _AGAIN, interrupt)
                if not self._watched:
                    threading.Thread(target=self._watch, name="livejoin-time-limits", daemon=True).start()
                    self._watched = True
                elif end < self._wakes:
                    self._changed.notify()
            yield
        finally:
            with self._changed:
                self._ends.pop(call, None)

    def _watch(self) -> None:
        with self._changed:
            while True:
                wait = self._interrupt_late()
                self._changed.wait(None if isinf(wait) else max(wait, 0.0))

    def _interrupt_late(self) -> float:
        """Interrupt every call whose time is over. Returns the seconds until there is something to do again."""
        now = time.monotonic()
        for call, (end, wait, interrupt) in self._ends.items():
            if end <= now:
                interrupt()
                self._ends[call] = (now + wait, 2 * wait, interrupt)
        self._wakes = min((end for end, _, _ in self._ends.values()), default=inf)
        return self._wakes - now
