"""The foreign-key join operator: a conjunctive query maintained along its foreign keys (AJU, section 3).

The query is full with multiplicities; it may have edges that are not inner. Law: after every event, what `scan`
enumerates is the query's result over the rows given so far, and the deltas of `maintain` add up to it. A result is a
live row of the root with what its links lead to, so that none is stored. Cost of an event: O(lambda), the enclosureness
of the change sequence, amortised (Theorem 8); of a result row, full and delta: O(1); of a count: O(1), or O(live rows)
where rows of the root stand more than once; of the state: O(rows).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from livejoin.families.arena.event_join import EventJoin
from livejoin.families.arena.kernel_join import Kernels
from livejoin.families.foreign_keys.access import ForeignKeyAccess
from livejoin.families.foreign_keys.checks import check
from livejoin.families.foreign_keys.nodes import node_bytes, node_work
from livejoin.families.join_access import RowIndexes
from livejoin.kernels.foreign_keys import maintain as kernel
from livejoin.state.budget import Budget
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.foreign_keys.plan import ForeignKeyPlan

_KERNELS = Kernels(kernel.maintain, kernel.scan, kernel.count, check)


class ForeignKeyJoin(EventJoin["ForeignKeyPlan"]):
    """State and operations of one foreign-key join; mutable.

    Args:
        plan: The plan.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: ForeignKeyPlan, budget: Budget | None = None) -> None:
        super().__init__(plan, _KERNELS, budget)
        for at, word in plan.null_words.items():
            self.arena.words[at] = word

    def node_work(self) -> Words:
        """As `livejoin.families.nodes.CountsNodes.node_work`."""
        plan = self.plan
        return node_work(self.arena.words, plan.graph, plan.work_at, {step.relation for step in plan.steps})

    def node_bytes(self) -> Words:
        """As `livejoin.families.nodes.CountsNodes.node_bytes`."""
        return node_bytes(self.arena.words, self.plan.words, self.plan.graph, self.plan.node_offsets)

    def access(self, tables: RowIndexes) -> ForeignKeyAccess:
        """Access to the results as they are now; as `livejoin.families.join.Join.access`."""
        return ForeignKeyAccess(self, tables)
