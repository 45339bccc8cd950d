"""Access to the results of a T-representation: by rank, and by values (DYN, Proposition 4.18)."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from livejoin.families.arena.join import ArenaJoin
from livejoin.families.dyn.multiplicities import found_of
from livejoin.families.join_access import Found, Values
from livejoin.families.ranks import RankKernels, RankPlan, Ranks, no_annotations, program_outputs
from livejoin.kernels.dyn import layout as y
from livejoin.kernels.dyn import ranks as kernel
from livejoin.kernels.join import layout as q
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.dyn.plan import DynPlan

_KERNELS = RankKernels(kernel.weigh, kernel.total, kernel.descend, kernel.annotate)


class DynAccess:
    """The results of a T-representation as they are now.

    Args:
        join: The join.
    """

    def __init__(self, join: ArenaJoin[DynPlan]) -> None:
        self._plan = join.plan
        self._join = join
        self._ranks = Ranks(_rank_plan(join.plan), join.arena.words, _KERNELS)
        self.needed = frozenset(join.plan.output)

    def total(self) -> int:
        return self._ranks.total

    def results(self, ranks: Words) -> Words:
        return self._ranks.results(ranks)

    def find(self, values: Values, length: int) -> Found:
        query = self._plan.query
        found = found_of(self._join, values, length)
        if query.free is None or not query.sums:
            return Found(found[0], no_annotations(length), values)
        there: Words = np.any(found, axis=0).astype(np.int64)
        return Found(there, found, values)


@lru_cache(maxsize=256)
def _rank_plan(plan: DynPlan) -> RankPlan:
    program = int(plan.words[q.P_FULL])
    steps = int(plan.words[program + y.G_STEPS])
    outputs = program_outputs(plan.words, program + y.G_OUTER, 0, steps - 1)
    return RankPlan(
        plan.query, plan.words, steps, outputs, plan.annotation if plan.query.sums else 0, plan.cursor_words
    )
