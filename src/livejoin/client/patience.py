"""How often and how long something that failed is tried again."""

from __future__ import annotations

import random
import time
from threading import Event

_FIRST, _LONGEST = 0.1, 5.0  # seconds of a pause


class Patience:
    """Pauses that double, until they took so many seconds in all; mutable.

    A pause is drawn between a half and the whole of its length, so that those who lost the same server do not all come
    back at once.

    Args:
        seconds: The most seconds from the first failure to the last attempt.
        given_up: Ends a pause, and the patience.
    """

    def __init__(self, seconds: float, given_up: Event) -> None:
        self._seconds = seconds
        self._given_up = given_up
        self._pause = _FIRST
        self._until: float | None = None

    def wait(self, at_least: float = 0.0) -> bool:
        """Pause, and say whether to try again; without a pause if there is no time left for it.

        Args:
            at_least: The seconds that the other side asked for.
        """
        now = time.monotonic()
        self._until = now + self._seconds if self._until is None else self._until
        pause = max(at_least, self._pause * random.uniform(0.5, 1.0))
        self._pause = min(2 * self._pause, _LONGEST)
        return now + pause <= self._until and not self._given_up.wait(pause)

    def answered(self) -> None:
        """The other side is there: the time until giving up begins anew, the pauses stay long."""
        self._until = None

    def went_well(self) -> None:
        """What was tried went well for a while: all begins anew."""
        self._until, self._pause = None, _FIRST
