"""The plan of a whole query: a join tree for each of its joins, over bags if it is cyclic, and operators above them."""

from __future__ import annotations

from livejoin.plan.bagged import compile_bagged
from livejoin.plan.choose import choose
from livejoin.plan.lower import lower
from livejoin.plan.operators import JoinPlan, Operator, has_store
from livejoin.plan.physical import PhysicalPlan, compile_plan
from livejoin.plan.problem import problem_of
from livejoin.plan.statistics import Statistics
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import Query
from livejoin.theory import is_acyclic


def plan_query(query: Query, statistics: Statistics, deltas: bool) -> Operator:
    """The operators that maintain a query; a pure function of its arguments.

    Args:
        query: The query.
        statistics: What is known of its tables.
        deltas: Whether the view's deltas are asked for. Stores above a join need its deltas in any case.
    """

    def compiler(live: bool) -> Operator:
        def acyclic(join: ConjunctiveQuery) -> PhysicalPlan:
            return compile_plan(join, choose(problem_of(join, statistics, join.free)).best.tree, live)

        def compiled(join: ConjunctiveQuery) -> JoinPlan:
            return acyclic(join) if is_acyclic(join.edges) else compile_bagged(join, acyclic)

        return lower(query.root, compiled)

    plan = compiler(deltas)
    return compiler(True) if not deltas and has_store(plan) else plan
