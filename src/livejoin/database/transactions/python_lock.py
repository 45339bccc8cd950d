"""How a commit and other threads share Python's lock.

Who gives Python's lock back while others wait for it gets it again when one of them lets go of it: after a *switch
interval* of 5 ms if that one computes in Python, and later if the system has taken it off its core. A short commit
therefore keeps the lock in its kernels, and the interval is 1 ms, so that most commits end within one. A long commit
gives the lock back in each kernel, and the interval is 0.1 ms. So it is while a commit writes to the log, too.
"""

from __future__ import annotations

import sys
from time import thread_time

from livejoin.database.commit_times import CommitTimes
from livejoin.kernels.compiling.python_lock import give_back, keep

INTERVAL = 0.001
"""Seconds for which a thread of Python goes on when a short commit waits for it, or the other way round."""

_LONG_INTERVAL = 0.0001  # the same for a long one, which waits behind each kernel
_SHORT = 0.005  # seconds of a processor: as long as any thread that computes in Python may keep the lock
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

    Processor time says so: what a commit waits for is no work of its own.

    Args:
        changes: How many changes it has.
        times: The times of the commits before.
    """

    __slots__ = ("_before", "_began", "_is_few", "_times")

    def __init__(self, changes: int, times: CommitTimes) -> None:
        self._is_few = changes <= _FEW
        self._times = times
        self._before = 0.0

    def __enter__(self) -> None:
        if self._is_few and self._times.busy < _SHORT:
            keep()
        else:
            self._before = hasten()
        self._began = thread_time() if self._is_few else 0.0

    def __exit__(self, *error: object) -> None:
        if self._is_few:
            self._times.busy = thread_time() - self._began
        give_back()
        calm(self._before)
