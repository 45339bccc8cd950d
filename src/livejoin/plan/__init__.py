"""From a query to the plan that maintains it: the choice among all candidates, its layout, its explanation."""

from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.plan import PhysicalPlan
from livejoin.families.table_use import TableUse
from livejoin.plan.explain.describe import describe
from livejoin.plan.explain.describe_query import describe_query
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.explain.strict import require
from livejoin.search.choose import choose_tree
from livejoin.search.guarantee import UpdateBound
from livejoin.search.statistics import Statistics

__all__ = [
    "Explanation",
    "PhysicalPlan",
    "Statistics",
    "TableUse",
    "UpdateBound",
    "choose_tree",
    "compile_plan",
    "describe",
    "describe_query",
    "require",
]
