"""How a commit and other threads share Python's lock.

Who gives Python's lock back while others wait for it gets it again when one of them lets go of it: after a *switch
interval* of 5 ms if that one computes in Python, and later if the system has taken it off its core. A short commit
therefore keeps the lock in its kernels, and the interval is 1 ms, so that most commits end within one. A long commit
gives the lock back in each kernel, and the interval is 0.1 ms. So it is while a commit writes to the log, too.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from threading import active_count
from time import perf_counter, sleep, thread_time

from livejoin.database.commit_times import CommitTimes
from livejoin.kernels.compiling.python_lock import give_back, keep

INTERVAL = 0.001
"""Seconds for which a thread of Python goes on when a short commit waits for it, or the other way round."""

_LONG_INTERVAL = 0.0001  # the same for a long one, which waits behind each kernel
_SHORT = 0.005  # seconds of a processor: as long as any thread that computes in Python may keep the lock
_LONGEST_RUN = 0.005  # seconds of commits without a pause: as long as one that computes has its turn
_PAUSE = 0.00005  # seconds in which another thread wakes up
_FEW = 128  # changes of a commit that may be short


def hasten(interval: float = _LONG_INTERVAL) -> float:
    """Let threads of Python give up Python's lock sooner when another one waits for it; what `calm` takes back."""
    before = sys.getswitchinterval()
    if before <= interval:
        return 0.0
    sys.setswitchinterval(interval)
    return before


def calm(before: float) -> None:
    """Take back a `hasten`, which gave the interval of before."""
    if before and sys.getswitchinterval() < 2 * INTERVAL:  # else somebody has set another one
        sys.setswitchinterval(before)


class Held:
    """Python's lock while a commit runs; mutable. A commit is taken for short if the last one of few changes was.

    What a commit waits for is no work of its own, so that processor time says so where the clock says otherwise.

    Args:
        changes: How many changes it has.
        times: The times of the commits before.
    """

    __slots__ = ("_before", "_began", "_clock", "_is_few", "_times")

    def __init__(self, changes: int, times: CommitTimes) -> None:
        self._is_few = changes <= _FEW
        self._times = times
        self._clock = thread_time if times.is_unsure else perf_counter
        self._before = 0.0

    def __enter__(self) -> None:
        if self._is_few and self._times.busy < _SHORT:
            keep()
        else:
            self._before = hasten()
        self._began = self._clock() if self._is_few else 0.0

    def __exit__(self, *error: object) -> None:
        if self._is_few:
            self._times.note_busy(self._clock() - self._began, _SHORT)
        give_back()
        calm(self._before)


ALONE: AbstractContextManager[None] = nullcontext()
"""In the place of `Held` where no other thread of Python waits for the lock."""


class Run:
    """Commits of one database that follow each other without a pause; mutable.

    Without one no other thread would run beside them, whatever it does: who wakes up asks for Python's lock only when
    nobody has let go of it for an interval, and a commit lets go of it for a moment again and again.
    """

    __slots__ = ("_began", "_ended")

    def __init__(self) -> None:
        self._began = self._ended = 0.0

    def end(self, came: float) -> None:
        """Give Python's lock away for a moment, if commits have followed each other for long.

        Args:
            came: The time at which the call has begun that ends now, by `time.perf_counter`.
        """
        now = perf_counter()
        if came - self._ended > _PAUSE:
            self._began = came
        if now - self._began > _LONGEST_RUN:
            if active_count() > 1:
                sleep(_PAUSE)
            self._began = now = perf_counter()
        self._ended = now
