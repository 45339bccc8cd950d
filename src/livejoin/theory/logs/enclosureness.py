"""Enclosureness: how hard a change log is for any plan, by the original definition.

The enclosureness of a tuple is the largest number of disjoint lifespans that its own lifespan contains, itself
included; that of the log is the average over its tuples (AJU, section 1; CROWN, definition 6.1)::

    lambda(t) = max { |J| : J lifespans of the log, each contained in I(t), pairwise disjoint }
    lambda(S) = max(1, sum of lambda(t) / number of tuples)

A foreign-key acyclic join is maintained in O(lambda) a change (AJU, theorem 8). It is 1 for logs without deletions,
without insertions, first in first out, or first in last out. For a join tree, `tree_enclosureness` is finer.

AJU writes that lifespans are contained (or equal), CROWN's formula (7) that they are properly contained; the original
is taken. The proper reading gives a tuple that encloses nothing 0 and not 1, and is the same for all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.theory.logs.disjoint_intervals import minimal_intervals, most_disjoint
from livejoin.theory.logs.lifespans import Lifespans
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class Enclosureness:
    """The enclosureness of a change log.

    Args:
        tuples: Number of tuples.
        total: Sum of their enclosureness.
        largest: The largest enclosureness of a tuple, 0 if there is none.
        counts: The enclosureness of each tuple, int64. By the original definition one array, aligned with the
            lifespans; with respect to a tree one array for each atom, aligned with the lifespans of its relation.
    """

    tuples: int
    total: int
    largest: int
    counts: tuple[Words, ...]

    @staticmethod
    def of(counts: Sequence[Words]) -> Enclosureness:
        """Sum up the enclosureness of single tuples."""
        return Enclosureness(
            tuples=sum(len(part) for part in counts),
            total=sum(int(part.sum()) for part in counts),
            largest=max((int(part.max()) for part in counts if len(part)), default=0),
            counts=tuple(counts),
        )

    @property
    def average(self) -> float:
        """The enclosureness of the log: the average over its tuples, but at least 1."""
        return max(1.0, self.total / self.tuples) if self.tuples else 1.0


def enclosureness(spans: Lifespans) -> Enclosureness:
    """The enclosureness of a change log by the original definition, exact.

    Cost: O(n log n) for n tuples.

    >>> from livejoin.theory.logs.lifespans import lifespans
    >>> log = lifespans([0, 1, 1, 1, 1, 0], [0, 1, 1, 2, 2, 0], [+1, +1, -1, +1, -1, -1])
    >>> found = enclosureness(log)
    >>> found.counts[0].tolist(), found.largest, round(found.average, 2)
    ([2, 1, 1], 2, 1.33)
    """
    family = minimal_intervals(spans.start, spans.end)
    return Enclosureness.of([most_disjoint(family, spans.start, spans.end)])
