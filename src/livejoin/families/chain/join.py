"""Standard change propagation as an operator: binary joins whose results are all kept, as an honest baseline.

Law: after every version each store of the chain is the join of its atoms, projected to what is needed, and the last one
is the query's result. Cost of a change: that of the rows that it makes in all stores; of reading: the result's rows; of
the state: all rows of all stores, which may be polynomially more than the base rows. CROWN and DYN are measured against
this (CROWN, section 1; DYN, section 5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from livejoin.families.arena.batch_join import BatchJoin
from livejoin.families.arena.kernel_join import Kernels
from livejoin.families.chain.access import ChainAccess
from livejoin.families.chain.checks import check
from livejoin.families.join_access import RowIndexes
from livejoin.kernels.chain import maintain as binary_join
from livejoin.state.budget import Budget

if TYPE_CHECKING:
    from livejoin.families.chain.plan import ChainPlan

_KERNELS = Kernels(binary_join.maintain, binary_join.scan, binary_join.count, check)


class ChainJoin(BatchJoin["ChainPlan"]):
    """State and operations of one chain of joins; mutable.

    Args:
        plan: The plan.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: ChainPlan, budget: Budget | None = None) -> None:
        super().__init__(plan, _KERNELS, budget)

    def access(self, tables: RowIndexes) -> ChainAccess:
        """Access to the results as they are now; as `livejoin.families.join.Join.access`."""
        return ChainAccess(self)
