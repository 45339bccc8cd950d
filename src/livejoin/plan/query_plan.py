"""The plan of a whole query: a join tree chosen for each of its joins, operators above them."""

from __future__ import annotations

from livejoin.plan.choose import choose
from livejoin.plan.lower import lower
from livejoin.plan.operators import Operator, has_store
from livejoin.plan.physical import PhysicalPlan, compile_plan
from livejoin.plan.problem import problem_of
from livejoin.plan.statistics import Statistics
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import Query


def plan_query(query: Query, statistics: Statistics, deltas: bool) -> Operator:
    """The operators that maintain a query; a pure function of its arguments.

    Args:
        query: The query.
        statistics: What is known of its tables.
        deltas: Whether the view's deltas are asked for. Stores above a join need its deltas in any case.

    Raises:
        UnsupportedQueryError: A join is cyclic.
    """

    def compiler(live: bool) -> Operator:
        def compiled(join: ConjunctiveQuery) -> PhysicalPlan:
            return compile_plan(join, choose(problem_of(join, statistics, join.free)).best.tree, live)

        return lower(query.root, compiled)

    plan = compiler(deltas)
    return compiler(True) if not deltas and has_store(plan) else plan
