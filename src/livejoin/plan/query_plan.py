"""The plan of a whole query: a join tree for each of its joins, over bags if it is cyclic, and operators above them."""

from __future__ import annotations

from livejoin.plan.algorithm import Algorithm
from livejoin.plan.bagged import compile_bagged
from livejoin.plan.chain_plan import compile_chain
from livejoin.plan.choose import choose
from livejoin.plan.dyn_plan import DynPlan, compile_dyn
from livejoin.plan.lower import Compiler, free_connex_output, lower
from livejoin.plan.operators import JoinPlan, Operator, has_store
from livejoin.plan.physical import PhysicalPlan, compile_plan
from livejoin.plan.problem import problem_of
from livejoin.plan.statistics import Statistics
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import Query
from livejoin.theory import is_acyclic


def plan_query(query: Query, statistics: Statistics, deltas: bool, algorithm: Algorithm = "auto") -> Operator:
    """The operators that maintain a query; a pure function of its arguments.

    Args:
        query: The query.
        statistics: What is known of its tables.
        deltas: Whether the view's deltas are asked for. Stores above a join need its deltas in any case.
        algorithm: What maintains the joins.
    """

    def compiler(live: bool) -> Operator:
        def over_tree(join: ConjunctiveQuery) -> PhysicalPlan | DynPlan:
            tree = choose(problem_of(join, statistics, join.free)).best.tree
            return compile_dyn(join, tree, live) if algorithm == "dyn" else compile_plan(join, tree, live)

        def over_bags(join: ConjunctiveQuery) -> JoinPlan:
            return over_tree(join) if is_acyclic(join.edges) else compile_bagged(join, over_tree)

        if algorithm == "change-propagation":
            return lower(query.root, Compiler(lambda join: compile_chain(join, live), lambda _, output: output))
        return lower(query.root, Compiler(over_bags, free_connex_output))

    plan = compiler(deltas)
    return compiler(True) if not deltas and has_store(plan) else plan
