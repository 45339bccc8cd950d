"""From a query to the plan that maintains it: the choice of a tree, its layout, its explanation."""

from livejoin.plan.choose import choose_tree
from livejoin.plan.explain import explain
from livejoin.plan.physical import PhysicalPlan, TableUse, compile_plan

__all__ = ["PhysicalPlan", "TableUse", "choose_tree", "compile_plan", "explain"]
