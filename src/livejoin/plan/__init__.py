"""From a query to the plan that maintains it: the choice among all candidates, its layout, its explanation."""

from livejoin.plan.choose import choose_tree
from livejoin.plan.compile_tree import compile_plan
from livejoin.plan.describe import describe
from livejoin.plan.describe_query import describe_query
from livejoin.plan.explanation import Explanation
from livejoin.plan.guarantee import UpdateBound
from livejoin.plan.physical import PhysicalPlan, TableUse
from livejoin.plan.statistics import Statistics
from livejoin.plan.strict import require

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
