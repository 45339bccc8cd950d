"""What has passed through a block: always counted, by one number a commit and not by one a row.

A block counts a commit when it has applied it, and the count stands when the commit does. Law: a commit that was undone
counts nowhere, and one that was cut off on its way to its end counts once.
"""

from __future__ import annotations

from typing import NamedTuple


class Passed(NamedTuple):
    """Counts of commits; they add up.

    Args:
        commits: The commits that reached the block with changes; a replay in one piece is one.
        asked: The commits of which somebody above wanted to know what the block changed.
        stopped: The commits among these that changed nothing in the block's relation: they ended here.
        received: The changed rows that came: of tables net ones, of blocks below as they passed them on.
        passed_on: The changed rows of its own relation; one that comes and goes in a version may be counted twice.
        seconds: The time in which it applied them.
    """

    commits: int = 0
    asked: int = 0
    stopped: int = 0
    received: int = 0
    passed_on: int = 0
    seconds: float = 0.0

    def less(self, other: Passed) -> Passed:
        """The counts since others were taken."""
        return Passed(
            self.commits - other.commits,
            self.asked - other.asked,
            self.stopped - other.stopped,
            self.received - other.received,
            self.passed_on - other.passed_on,
            self.seconds - other.seconds,
        )


class Counts:
    """The counts of one block; mutable. Small commits pay for it, so that it is tuples and no more.

    Attributes:
        now: The changed rows that came to the block, those that it passed on (None if nobody asked) and the seconds, of
            a commit that it has applied and that may still be undone; None where there is none.
    """

    __slots__ = ("_state", "now")

    def __init__(self) -> None:
        # The counts of the commits that stand, and the last `now` that is among them: they change in one assignment.
        self._state: tuple[tuple[int, int, int, int, int, float], object] = ((0, 0, 0, 0, 0, 0.0), None)
        self.now: tuple[int, int | None, float] | None = None

    @property
    def total(self) -> Passed:
        """The counts of all commits that stand."""
        return Passed(*self._state[0])

    @property
    def passed_on(self) -> int:
        """The changed rows that the commit under way has passed on here; 0 where nobody asked, or there is none."""
        return 0 if self.now is None else self.now[1] or 0

    def settle(self) -> None:
        """The commit stands; may be called again."""
        total, last = self._state
        now = self.now
        if now is not None and now is not last:
            received, passed_on, seconds = now
            commits, asked, stopped, came, went, took = total
            if passed_on is not None:
                asked, stopped, went = asked + 1, stopped + (not passed_on), went + passed_on
            self._state = (commits + 1, asked, stopped, came + received, went, took + seconds), now
        self.now = None
