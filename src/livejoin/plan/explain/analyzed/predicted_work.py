"""What the plan of a whole query is expected to cost, so that plans can be compared while they run.

The unit is a *visit*: a row of some node that a change reaches on its way up (`livejoin.search.cost.propagation`).
"""

from __future__ import annotations

from livejoin.plan.operators import Operator, joins_of
from livejoin.search.statistics import Statistics


def predicted_work(plan: Operator, statistics: Statistics) -> float:
    """Visits that the changes of the statistics are expected to make in all joins of a plan.

    A join of which there is only one plan counts nothing. Cost: O(nodes).

    Args:
        plan: The plan.
        statistics: The known figures of the tables; ``changes`` is how many there are.
    """
    return sum(leaf.physical.predicted_work(statistics) for leaf in joins_of(plan))


def tree_lines(plan: Operator) -> str:
    """The joins of a plan on one line, with aliases for atoms."""
    return "; ".join(line for leaf in joins_of(plan) if (line := leaf.physical.line))
