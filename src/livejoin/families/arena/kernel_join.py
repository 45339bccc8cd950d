"""A join in one arena whose result, count and laws are an algorithm's kernels: reading it is the same for all of them.

How changes are applied is not: one after the other (`livejoin.families.arena.event_join`), or those of a version as a
batch (`livejoin.families.arena.batch_join`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from livejoin.families.arena.join import ArenaJoin, JoinPlan
from livejoin.state.budget import Budget
from livejoin.words import Words


@dataclass(frozen=True)
class Kernels:
    """The kernels of an algorithm.

    Args:
        maintain: Applies events.
        scan: Writes the result.
        count: Counts it.
        check: Asserts all invariants of a state.
    """

    maintain: Callable[..., int]
    scan: Callable[..., tuple[bool, int]]
    count: Callable[..., tuple[int, float]]
    check: Callable[[Any, Words], None]


class KernelPlan(JoinPlan, Protocol):
    """What such a join needs to know of a plan."""

    @property
    def columns(self) -> int:
        """Columns of results: the head's, then the words of the annotation."""

    @property
    def cursor_words(self) -> int:
        """Words of a cursor."""


K = TypeVar("K", bound=KernelPlan)


class KernelJoin(ArenaJoin[K]):
    """State and operations of one maintained join, but for `maintain`; mutable.

    Args:
        plan: The plan.
        kernels: The kernels that read it.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: K, kernels: Kernels, budget: Budget | None = None) -> None:
        super().__init__(plan, kernels.count, budget)
        self._kernels = kernels
        self._cursor = np.zeros(plan.cursor_words, np.int64)

    def scan(self, capacity: int) -> Iterator[Words]:
        """Full enumeration with constant delay, in buffers of shape (`columns`, up to ``capacity`` rows).

        Raises:
            CapacityError: An annotation or a multiplicity does not fit.
        """
        return self._enumerated(self.plan.columns, capacity)

    def combinations(self, capacity: int) -> Iterator[Words]:
        """As `livejoin.families.join.Join.combinations`; errors as `scan`."""
        return self._enumerated(self.plan.columns + 1, capacity)

    def _enumerated(self, lines: int, capacity: int) -> Iterator[Words]:
        """The result in buffers of so many lines."""
        cursor = self._start()
        done = False
        while not done:
            output = np.empty((lines, capacity), np.int64)
            done, rows = self._kernels.scan(self.arena.words, self.plan.words, cursor, output)
            self.refuse_overflow()
            if rows:
                yield output[:, :rows]

    def _start(self) -> Words:
        """The cursor of a scan that begins."""
        return np.zeros(self.plan.cursor_words, np.int64)

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        self._kernels.check(self.plan, self.arena.words)
