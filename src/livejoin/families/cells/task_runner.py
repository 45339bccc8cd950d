"""Running the tasks of cells: side by side where that is worth handing them over, else one after the other.

What a task takes is measured, so that a commit of few events that make many results is shared out, and one of some
hundred that make none is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from livejoin.families.cells.workers import Workers

T = TypeVar("T")

LEAST_SECONDS = 90e-6
"""Predicted seconds of all tasks from which on they are handed over.

Handing over takes 30 microseconds, and another thread saves the half.
"""
_PACE = 0.35e-6  # seconds an event without output takes, until it is measured


@dataclass
class Spent:
    """Processor time of the tasks since it was taken last; mutable.

    Args:
        own: In the caller's thread.
        longest: Of the longest task of each run side by side, and of all tasks of the others.
        total: Of all tasks.
    """

    own: float = 0.0
    longest: float = 0.0
    total: float = 0.0


class TaskRunner:
    """Runs the tasks of the cells of one join; mutable.

    Args:
        workers: The threads.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._pace = _PACE
        self._spent = Spent()

    def run(self, tasks: Sequence[Callable[[], T]], work: int) -> list[T]:
        """Run a task of each cell; their results in order.

        Args:
            tasks: The tasks, perhaps none.
            work: Events to apply, or rows to count.
        """
        spent = [0.0] * len(tasks)
        timed = [partial(_timed, task, spent, place) for place, task in enumerate(tasks)]
        if side_by_side := len(tasks) > 1 and work * self._pace >= LEAST_SECONDS:
            results = self._workers.run(timed)
        else:
            results = [task() for task in timed]
        total = sum(spent)
        self._spent.own += spent[0] if side_by_side else total
        self._spent.longest += max(spent) if side_by_side else total
        self._spent.total += total
        if work:
            self._pace = (self._pace + total / work) / 2
        return results

    def take(self) -> Spent:
        """What the tasks took since this was asked last."""
        spent, self._spent = self._spent, Spent()
        return spent


def _timed(task: Callable[[], T], spent: list[float], place: int) -> T:
    begin = time.thread_time()
    try:
        return task()
    finally:
        spent[place] = time.thread_time() - begin
