"""The results of a join tree by their rank in the order of enumeration.

Cost: O(rows of inner nodes) once after a change and as many words, O(height * log rows) a result from then on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from livejoin.errors import CapacityError
from livejoin.families.sizes import too_many
from livejoin.kernels.memory import layout as k
from livejoin.query import ConjunctiveQuery
from livejoin.words import Words

_MAX_RANKS = 9.0e18
_WORTH_SORTING = 1024


@dataclass(frozen=True)
class RankKernels:
    """The kernels of an algorithm, see `livejoin.kernels.crown.ranks`; ``annotate`` is None without annotations."""

    weigh: Callable[..., float]
    total: Callable[..., int]
    descend: Callable[..., None]
    annotate: Callable[..., int] | None = None


@dataclass(frozen=True)
class RankPlan:
    """What the ranks of a plan need to know.

    Args:
        query: The query.
        words: The plan, int64.
        steps: Steps of the full enumeration.
        outputs: For each head column, the step that has it and the offset in its rows.
        annotation: Words of an annotation, 0 if results have none.
        scratch: Words that the kernel ``annotate`` asks for.
    """

    query: ConjunctiveQuery
    words: Words
    steps: int
    outputs: tuple[tuple[int, int], ...]
    annotation: int
    scratch: int


class Ranks:
    """The results in an arena as it is now.

    Args:
        plan: The plan.
        arena: The arena's words.
        kernels: The kernels that read them.
    """

    def __init__(self, plan: RankPlan, arena: Words, kernels: RankKernels) -> None:
        self._plan = plan
        self._arena = arena
        self._kernels = kernels

    @cached_property
    def _sums(self) -> Words:
        # Pages of blocks alone are touched, see `livejoin.kernels.join.prefix_sums`.
        sums = np.empty(int(self._arena[k.H_BUMP]), np.int64)
        largest = self._kernels.weigh(self._arena, self._plan.words, sums)
        if largest > _MAX_RANKS:
            msg = f"the result has about {largest:.3g} rows, and ranks have 64 bits; keep fewer rows, or aggregate them"
            raise CapacityError(msg)
        return sums

    @cached_property
    def total(self) -> int:
        """Number of results, with multiplicities under bag semantics.

        Raises:
            CapacityError: The number is beyond 64 bits.
        """
        return int(self._kernels.total(self._arena, self._plan.words, self._sums))

    def rows(self, ranks: Words) -> Words:
        """The rows of the results at some ranks, of shape (steps, n)."""
        rows = np.empty((self._plan.steps, ranks.shape[0]), np.int64)
        self._kernels.descend(self._arena, self._plan.words, self._sums, np.ascontiguousarray(ranks), rows)
        return rows

    def annotations(self, rows: Words) -> Words:
        """The annotations of results from their rows, of shape (words of an annotation, n).

        Raises:
            CapacityError: One does not fit.
        """
        found = np.empty((self._plan.annotation, rows.shape[1]), np.int64)
        if self._plan.annotation and self._kernels.annotate is not None:
            scratch = np.zeros(self._plan.scratch, np.int64)
            wraps = self._kernels.annotate(self._arena, self._plan.words, np.ascontiguousarray(rows), scratch, found)
            if wraps:
                raise too_many(self._plan.query)
        return found

    def results(self, ranks: Words) -> Words:
        """The results at some ranks, head columns and annotations.

        Many ranks are looked up in ascending order, in which they share the cache: a million of 3-Hop took 0.4 s in
        place of 1.3 s.
        """
        if ranks.shape[0] < _WORTH_SORTING:
            return self._results(ranks)
        order = np.argsort(ranks)
        ascending = self._results(ranks[order])
        results = np.empty_like(ascending)
        results[:, order] = ascending
        return results

    def _results(self, ranks: Words) -> Words:
        rows = self.rows(ranks)
        head = [self._arena[rows[step] + offset] for step, offset in self._plan.outputs]
        return np.concatenate([np.array(head, np.int64).reshape(len(head), ranks.shape[0]), self.annotations(rows)])


def program_outputs(words: Words, fields: int, first: int, last: int) -> tuple[tuple[int, int], ...]:
    """The step and the offset of each head column from an enumeration program.

    Args:
        words: The plan.
        fields: Where the program has the number and the list of the columns of outer steps, then of the last one.
        first: The depth of the first step.
        last: The last step.
    """
    outer, outer_list, inner, inner_list = words[fields : fields + 4].tolist()
    places: dict[int, tuple[int, int]] = {}
    for column, depth, offset in words[outer_list : outer_list + 3 * outer].reshape(-1, 3).tolist():
        places[column] = (depth - first, offset)
    for column, offset in words[inner_list : inner_list + 2 * inner].reshape(-1, 2).tolist():
        places[column] = (last, offset)
    return tuple(places[column] for column in range(len(places)))


def no_annotations(length: int) -> Words:
    """The annotations of results that have none."""
    return np.empty((0, length), np.int64)
