"""The plan of a whole query: a join tree for each of its joins, over bags if it is cyclic, and operators above them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from livejoin.families.bags.plan import compile_bagged
from livejoin.families.cells.partition import Partition, partition, partition_variable
from livejoin.families.chain.plan import compile_chain
from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.plan import PhysicalPlan
from livejoin.families.dyn.plan import DynPlan, compile_dyn
from livejoin.families.program import Program
from livejoin.plan.lower import Compiler, free_connex_output, lower
from livejoin.plan.operators import Annotated, Operator, Scan
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

    return lower(query.root, _compiler(statistics, algorithm, threads), deltas)


def plan_join(
    leaf: Scan | Annotated, statistics: Statistics, live: bool, algorithm: Algorithm, threads: int
) -> Scan | Annotated:
    """A join with the plan that other statistics give it; what it gives stays the same.

    Args:
        leaf: The join.
        statistics: What is known of its tables.
        live: Whether its deltas are asked for.
        algorithm: What maintains it.
        threads: Cells that it is split into if it can be.
    """
    by = _compiler(statistics, algorithm, threads)
    physical = by.plan(leaf.physical.query, live)
    return replace(leaf, physical=physical, partition=by.split(physical))


def _compiler(statistics: Statistics, algorithm: Algorithm, threads: int) -> Compiler:
    """How the joins of a query are maintained."""

    def over_tree(join: ConjunctiveQuery, live: bool) -> PhysicalPlan | DynPlan:
        tree = choose(problem_of(join, statistics, join.free)).best.tree
        return compile_dyn(join, tree, live) if algorithm == "dyn" else compile_plan(join, tree, live)

    def over_bags(join: ConjunctiveQuery, live: bool) -> Program:
        if is_acyclic(join.edges):
            return over_tree(join, live)
        variable = None if threads == 1 else partition_variable(join, threads, statistics)
        return compile_bagged(join, partial(over_tree, live=live), variable)

    def split(plan: Program) -> Partition | None:
        return None if threads == 1 else partition(plan.query, plan.tables, threads, statistics)

    if algorithm == "change-propagation":
        return Compiler(compile_chain, lambda _, output: output, split)
    return Compiler(over_bags, free_connex_output, split)
