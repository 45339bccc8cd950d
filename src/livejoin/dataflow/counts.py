"""What has passed through a block: always counted, by one number a commit and not by one a row.

A block counts a commit when it has applied it, and the count stands when the commit does. Law: a commit that was undone
counts nowhere, and one that was cut off on its way to its end counts once.
"""

from __future__ import annotations

from typing import NamedTuple


class Passed(NamedTuple):
    """Counts of commits; they add up.

    Args:
        commits: Commits that reached the block with changes; a replay in one piece is one.
        asked: Those of them whose changes somebody above wanted to know.
        stopped: Those of these that changed nothing in the block's relation: they ended here.
        received: Changed rows that came: of tables net ones, of blocks below as they passed them on.
        passed_on: Changed rows of its own relation; one that comes and goes in a version may be counted twice.
        seconds: Time in which it applied them.
    """

    commits: int = 0
    asked: int = 0
    stopped: int = 0
    received: int = 0
    passed_on: int = 0
    seconds: float = 0.0


NOTHING = Passed()


class Counts:
    """The counts of one block; mutable."""

    __slots__ = ("_state",)

    def __init__(self) -> None:
        # The counts of the commits that stand, and of one on its way. They change in one assignment.
        self._state: tuple[Passed, tuple[int, int | None, float] | None] = (NOTHING, None)

    @property
    def total(self) -> Passed:
        """The counts of all commits that stand."""
        return self._state[0]

    @property
    def seconds_now(self) -> float:
        """What the commit took here that is on its way; 0 where it has not been here."""
        now = self._state[1]
        return 0.0 if now is None else now[2]

    def note(self, received: int, passed_on: int | None, seconds: float) -> None:
        """Count a commit that the block has applied, and that may still be undone.

        Args:
            received: Changed rows that came.
            passed_on: Changed rows of the block; None if nobody asked.
            seconds: The time that it took.
        """
        self._state = (self._state[0], (received, passed_on, seconds))

    def settle(self) -> None:
        """The commit stands; may be called again."""
        total, now = self._state
        if now is not None:
            received, passed_on, seconds = now
            commits, asked, stopped, came, went, took = total
            if passed_on is not None:
                asked, stopped, went = asked + 1, stopped + (not passed_on), went + passed_on
            self._state = (Passed(commits + 1, asked, stopped, came + received, went, took + seconds), None)

    def drop(self) -> None:
        """The commit was undone; may be called again."""
        self._state = (self._state[0], None)
