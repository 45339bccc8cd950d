"""The multiway join operator: a conjunctive query maintained by the join-tree plan (CROWN, sections 4, 5 and 7.3).

The query is full with multiplicities, or free-connex with distinct results, or that with annotated results. Law: after
every event, what `scan` enumerates is the query's result over the rows given so far, and the deltas of
`maintain` add up to it. Cost of an event: O(enclosureness of the change sequence with respect to the tree), amortised
(Theorem 6.6); of a result row: O(1); of the state: O(rows).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from livejoin.families.crown.access import TreeAccess
from livejoin.families.crown.checks import check
from livejoin.families.event_join import EventJoin
from livejoin.families.join_access import RowIndexes
from livejoin.families.kernel_join import Kernels
from livejoin.kernels.crown import count as counting
from livejoin.kernels.crown import layout as u
from livejoin.kernels.crown import maintain as kernel
from livejoin.state.budget import Budget
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.crown.plan import PhysicalPlan


def _maintain(*arguments: Any) -> int:
    """The kernel as its module has it now: what is put in its place counts from then on."""
    return int(kernel.maintain(*arguments))


_KERNELS = Kernels(_maintain, kernel.scan, counting.count, check)


class MultiwayJoin(EventJoin["PhysicalPlan"]):
    """State and operations of one maintained join; mutable.

    Args:
        plan: The physical plan.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: PhysicalPlan, budget: Budget | None = None) -> None:
        super().__init__(plan, _KERNELS, budget)
        for at, word in plan.null_words.items():
            self.arena.words[at] = word

    def _start(self) -> Words:
        """The cursor of a scan that begins: the product of the rows above the first one is one."""
        cursor = super()._start()
        ones = self.plan.components if self.plan.query.sums else np.zeros(1, np.int64)  # of no row, to multiply by
        cursor[u.CURSOR_HEADER + u.C_WEIGHT + ones] = 1
        return cursor

    def access(self, tables: RowIndexes) -> TreeAccess:
        """Access to the results as they are now; as `livejoin.families.join.Join.access`."""
        return TreeAccess(self, tables)
