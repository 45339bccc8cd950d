"""The operator of a plan over a join tree, by its algorithm."""

from __future__ import annotations

from livejoin.families.batch_join import BatchJoin
from livejoin.families.crown.join import MultiwayJoin
from livejoin.families.crown.plan import PhysicalPlan
from livejoin.families.dyn.join import dyn_join
from livejoin.families.dyn.plan import DynPlan


def make_tree_join(plan: PhysicalPlan | DynPlan) -> MultiwayJoin | BatchJoin:
    """An empty join for a plan."""
    return dyn_join(plan) if isinstance(plan, DynPlan) else MultiwayJoin(plan)
