"""The operator of a plan over a join tree, by its algorithm."""

from __future__ import annotations

from livejoin.dataflow.batch_join import BatchJoin
from livejoin.dataflow.dyn_join import dyn_join
from livejoin.dataflow.multiway import MultiwayJoin
from livejoin.plan.dyn_plan import DynPlan
from livejoin.plan.physical import PhysicalPlan


def make_tree_join(plan: PhysicalPlan | DynPlan) -> MultiwayJoin | BatchJoin:
    """An empty join for a plan."""
    return dyn_join(plan) if isinstance(plan, DynPlan) else MultiwayJoin(plan)
