"""From a query to the plan that maintains it: the choice among all candidates, and its explanation."""

from livejoin.plan.explain.describing.join import describe
from livejoin.plan.explain.describing.query import describe_query
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.explain.strict import require
from livejoin.search.guarantee import UpdateBound
from livejoin.search.statistics import Statistics

__all__ = ["Explanation", "Statistics", "UpdateBound", "describe", "describe_query", "require"]
