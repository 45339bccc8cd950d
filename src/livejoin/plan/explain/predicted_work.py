"""What the plan of a whole query is expected to cost, so that plans can be compared while they run.

The unit is a *visit*: a row of some node that a change reaches on its way up (`livejoin.search.cost.propagation`).
"""

from __future__ import annotations

from collections.abc import Iterator

from livejoin.families.bags.plan import BaggedPlan
from livejoin.families.crown.plan import PhysicalPlan
from livejoin.families.dyn.plan import DynPlan
from livejoin.plan.explain.outline import atom_outlines, tree_line
from livejoin.plan.operators import Operator, leaves
from livejoin.query import ConjunctiveQuery
from livejoin.search.cost import propagation
from livejoin.search.problem import problem_of
from livejoin.search.statistics import Statistics
from livejoin.theory.trees.join_tree import JoinTree


def predicted_work(plan: Operator, statistics: Statistics) -> float:
    """Visits that the changes of the statistics are expected to make in all trees of a plan.

    A chain of joins has no tree and counts nothing: there is only one for a query. Cost: O(nodes).

    Args:
        plan: The plan.
        statistics: What is known of the tables; ``changes`` is how many there are.
    """
    total = 0.0
    for query, tree in _trees(plan):
        problem = problem_of(query, statistics, query.free)
        total += propagation(tree, problem) * sum(problem.weights)
    return total


def tree_lines(plan: Operator) -> str:
    """The trees of a plan on one line, with aliases for atoms."""
    return "; ".join(tree_line(tree, atom_outlines(query)) for query, tree in _trees(plan))


def _trees(plan: Operator) -> Iterator[tuple[ConjunctiveQuery, JoinTree]]:
    """Each join tree with the query that it is of; of a cyclic query the one over its bags."""
    for leaf in leaves(plan):
        physical = leaf.physical
        across = physical.outer if isinstance(physical, BaggedPlan) else physical
        if isinstance(across, PhysicalPlan | DynPlan):
            yield across.query, across.tree
