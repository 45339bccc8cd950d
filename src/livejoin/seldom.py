"""Warnings that are said at most once a minute, as those of who tries again and again.

Law: of the same reason nothing is due for `QUIET` seconds after it was, whatever else is said meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

QUIET = 60.0
"""Seconds in which the same warning is not said again."""


class Seldom:
    """The reasons that were said in the last minute; any thread may ask.

    Args:
        clock: A clock that never goes back, in seconds.

    >>> warnings = Seldom()
    >>> warnings.is_due("no space"), warnings.is_due("no space"), warnings.is_due("no permission")
    (True, False, True)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[str, float] = {}
        self._turn = threading.Lock()

    def is_due(self, reason: str) -> bool:
        """Whether to say a reason now; it then counts as said. O(reasons of the last minute)."""
        with self._turn:
            now = self._clock()
            self._said = {said: then for said, then in self._said.items() if now - then < QUIET}
            if reason in self._said:
                return False
            self._said[reason] = now
            return True
