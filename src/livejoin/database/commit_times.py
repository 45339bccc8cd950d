"""How long commits took lately, whoever made them: a ring of the last ones."""

from __future__ import annotations

from collections import deque

_LAST = 4096


class CommitTimes:
    """The times of the last 4,096 commits; mutable: one thread notes, others may ask.

    Attributes:
        busy: The processor's seconds of the last one of few changes, or more; 0 where there was none.
        is_unsure: Whether it took so long that it may have waited, so that the next one asks for the processor's time.

    >>> times = CommitTimes()
    >>> for milliseconds in range(1, 101):
    ...     times.note(milliseconds / 1000)
    >>> found = times.figures()
    >>> (found["commits"], found["p50"], found["p99"])
    (100, 0.051, 0.1)
    """

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=_LAST)
        self._commits = 0
        self.busy = 0.0
        self.is_unsure = False

    def note_busy(self, seconds: float, short: float) -> None:
        """Note how long one of few changes took, by the clock, or by the processor's time where that was unsure.

        The processor's time costs ten times the clock's, and is at most as long: it is asked for where the clock says
        that a commit was not short.
        """
        if self.is_unsure or seconds < short:
            self.busy, self.is_unsure = seconds, seconds >= short
        else:
            self.is_unsure = True

    def note(self, seconds: float) -> None:
        """Note a commit that took so long."""
        self._last.append(seconds)
        self._commits += 1

    def forget(self) -> None:
        """Begin anew."""
        self._last.clear()
        self._commits = 0

    def figures(self) -> dict[str, float | int | None]:
        """How many there were, and of the last ones the median, the 99th percentile and the longest, in seconds.

        Cost: O(n log n), with n = 4,096 at most.
        """
        known = sorted(self._last.copy())
        if not known:
            return {"commits": self._commits, "p50": None, "p99": None, "longest": None}
        return {
            "commits": self._commits,
            "p50": known[len(known) // 2],
            "p99": known[min(len(known) - 1, len(known) * 99 // 100)],
            "longest": known[-1],
        }
