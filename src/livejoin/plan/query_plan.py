"""The plan of a whole query: a join tree for each of its joins, over bags if it is cyclic, and operators above them."""

from __future__ import annotations

from dataclasses import replace

from livejoin.families.bags.plan import compile_bagged
from livejoin.families.cells.partition import partition, partition_variable
from livejoin.families.chain.plan import compile_chain
from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.plan import PhysicalPlan
from livejoin.families.dyn.plan import DynPlan, compile_dyn
from livejoin.families.join_plan import JoinPlan
from livejoin.plan.lower import Compiler, free_connex_output, lower
from livejoin.plan.operators import Annotated, Operator, Scan, has_store, with_leaves
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import Query
from livejoin.search.algorithm import Algorithm
from livejoin.search.choose import choose
from livejoin.search.problem import problem_of
from livejoin.search.statistics import Statistics
from livejoin.theory import is_acyclic


def plan_query(
    query: Query, statistics: Statistics, deltas: bool, algorithm: Algorithm = "auto", threads: int = 1
) -> Operator:
    """The operators that maintain a query; a pure function of its arguments.

    Args:
        query: The query.
        statistics: What is known of its tables.
        deltas: Whether the view's deltas are asked for. Stores above a join need its deltas in any case.
        algorithm: What maintains the joins.
        threads: Cells that each join is split into where it can be.
    """

    def compiler(live: bool) -> Operator:
        def over_tree(join: ConjunctiveQuery) -> PhysicalPlan | DynPlan:
            tree = choose(problem_of(join, statistics, join.free)).best.tree
            return compile_dyn(join, tree, live) if algorithm == "dyn" else compile_plan(join, tree, live)

        def over_parts(join: ConjunctiveQuery) -> JoinPlan:
            variable = None if threads == 1 else partition_variable(join, threads, statistics)
            return compile_bagged(join, over_tree, variable)

        def over_bags(join: ConjunctiveQuery) -> JoinPlan:
            return over_tree(join) if is_acyclic(join.edges) else over_parts(join)

        if algorithm == "change-propagation":
            return lower(query.root, Compiler(lambda join: compile_chain(join, live), lambda _, output: output))
        return lower(query.root, Compiler(over_bags, free_connex_output))

    def split(leaf: Scan | Annotated) -> Scan | Annotated:
        plan = leaf.physical
        return replace(leaf, partition=partition(plan.query, plan.tables, threads, statistics))

    plan = compiler(deltas)
    plan = compiler(True) if not deltas and has_store(plan) else plan
    return plan if threads == 1 else with_leaves(plan, split)
