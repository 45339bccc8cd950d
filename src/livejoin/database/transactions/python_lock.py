"""How a commit and other threads share Python's lock.

Who gives Python's lock back while others wait for it gets it again when one of them lets go of it: after a *switch
interval* of 5 ms if that one computes in Python, and later if the system has taken it off its core. A short commit
therefore keeps the lock from its begin to its end. A long one gives it back in each kernel, and the interval is short
meanwhile. So it is while a commit waits for another call, or writes to the log.
"""

from __future__ import annotations

import sys

from livejoin.kernels.compiling.python_lock import give_back, keep

SHORT = 0.005
"""Seconds that a short commit takes at most: as long as any thread that computes in Python may keep the lock."""

_INTERVAL = 0.0001  # seconds for which a thread of Python goes on when a commit waits for it


def hasten() -> float:
    """Let threads of Python give up Python's lock soon when another one waits for it; what `calm` takes back."""
    interval = sys.getswitchinterval()
    if interval <= _INTERVAL:
        return 0.0
    sys.setswitchinterval(_INTERVAL)
    return interval


def calm(interval: float) -> None:
    """Take back a `hasten`, which gave an interval."""
    if interval and sys.getswitchinterval() < 2 * _INTERVAL:  # else somebody has set another one
        sys.setswitchinterval(interval)


class Held:
    """Python's lock while a commit runs; mutable.

    Args:
        is_short: Whether the commit is expected to be short.
    """

    __slots__ = ("_interval", "_is_short")

    def __init__(self, is_short: bool) -> None:
        self._is_short = is_short
        self._interval = 0.0

    def __enter__(self) -> None:
        if self._is_short:
            keep()
        else:
            self._interval = hasten()

    def __exit__(self, *error: object) -> None:
        give_back()
        calm(self._interval)
