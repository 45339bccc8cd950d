"""Dynamic Yannakakis as an operator: a conjunctive query kept as a T-representation (DYN, sections 4.2 to 4.5).

The query is full with multiplicities, or free-connex with distinct results, or that with annotated results. Law: after
every version the state is the T-representation of the rows given so far, from which the result is enumerated with
constant delay. Cost of a version of u changes: O(u) for a simple tree, and only for such (Theorem 4.15), else O(rows)
(Proposition 4.16); of the state: O(rows) (Proposition 4.10); of a count: O(rows). Unlike the join-tree plan there are
neither counters nor live views: every change of a multiplicity goes up to the root, as far as tuples are live.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from livejoin.families.arena.batch_join import BatchJoin
from livejoin.families.arena.kernel_join import Kernels
from livejoin.families.dyn.access import DynAccess
from livejoin.families.dyn.checks import check
from livejoin.families.join_access import RowIndexes
from livejoin.kernels.dyn import count as dyn_counting
from livejoin.kernels.dyn import maintain as dyn
from livejoin.state.budget import Budget

if TYPE_CHECKING:
    from livejoin.families.dyn.plan import DynPlan

_KERNELS = Kernels(dyn.maintain, dyn.scan, dyn_counting.count, check)


class DynJoin(BatchJoin["DynPlan"]):
    """State and operations of one T-representation; mutable.

    Args:
        plan: The plan.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: DynPlan, budget: Budget | None = None) -> None:
        super().__init__(plan, _KERNELS, budget)

    def access(self, tables: RowIndexes) -> DynAccess:
        """Access to the results as they are now; as `livejoin.families.join.Join.access`."""
        return DynAccess(self)
