"""The plan of a whole query: a program for each of its joins, chosen among what the join families offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from livejoin.errors import UnsupportedQueryError
from livejoin.families.cells.partition import Partition, partition, rows_variable
from livejoin.families.derived import DerivedTable, RowProgram
from livejoin.families.family import Candidate
from livejoin.families.program import Program
from livejoin.families.registry import RankedFamily, kept_output, ranked, ranked_again, ranked_with_merged
from livejoin.plan.join_planner import JoinPlanner
from livejoin.plan.lower import lower_query
from livejoin.plan.operators import AnyJoin, Operator
from livejoin.query import ConjunctiveQuery
from livejoin.query.bound_query import Query
from livejoin.schema import Table
from livejoin.search.algorithm import Algorithm
from livejoin.search.delta_size import delta_bound
from livejoin.search.guarantee import UpdateBound
from livejoin.search.problem import is_many, passing_shares
from livejoin.search.statistics import Statistics


@dataclass(frozen=True)
class QueryPlan:
    """The operators that maintain a query, and what the programs at their leaves were chosen from.

    Args:
        operator: The operators.
        ranked: For each conjunctive query at a leaf the families that could run it, that of its program first.
    """

    operator: Operator
    ranked: Mapping[ConjunctiveQuery, tuple[RankedFamily, ...]]


def plan_query(
    query: Query, statistics: Statistics, deltas: bool, algorithm: Algorithm = "auto", threads: int = 1
) -> Operator:
    """The operators that maintain a query; a pure function of its arguments.

    Args:
        query: The query.
        statistics: The known figures of the query's tables.
        deltas: Whether the view's deltas are asked for. Stores above a join need its deltas in any case.
        algorithm: The algorithm that maintains the joins.
        threads: Cells that each join is split into where it can be.
    """
    return plan_with_reasons(query, statistics, deltas, algorithm, threads).operator


def plan_with_reasons(
    query: Query, statistics: Statistics, deltas: bool, algorithm: Algorithm = "auto", threads: int = 1
) -> QueryPlan:
    """As `plan_query`, with what was chosen from, for an explanation.

    Args:
        query: The query.
        statistics: The known figures of the query's tables.
        deltas: Whether the view's deltas are asked for.
        algorithm: The algorithm that maintains the joins.
        threads: Cells that each join is split into where it can be.
    """
    refuse_cells(algorithm, threads, f"the database has threads={threads}")
    found: dict[ConjunctiveQuery, tuple[RankedFamily, ...]] = {}

    def chosen(join: ConjunctiveQuery) -> Candidate:
        if join not in found:
            found[join] = ranked_with_merged(join, statistics, algorithm)
        return found[join][0].first

    def output(join: ConjunctiveQuery, asked: frozenset[str]) -> frozenset[str] | None:
        return kept_output(join, asked, statistics, algorithm)

    def delta(join: ConjunctiveQuery) -> UpdateBound | None:
        return delta_bound(join) if algorithm == "auto" else None

    def split(plan: Program) -> Partition | None:
        return _split(plan, statistics, threads)

    def rows(derived: DerivedTable) -> tuple[RowProgram, Partition | None]:
        return _rows(derived, statistics, threads)

    def shares(join: ConjunctiveQuery) -> tuple[float, ...]:
        return passing_shares(join, statistics)

    def many(table: Table, columns: tuple[int, ...]) -> bool | None:
        return is_many(table, columns, statistics)

    of_auto = algorithm == "auto"
    own = of_auto and not query.reads  # the groups of a view are there as they are
    by = JoinPlanner(
        chosen, output, delta, split, rows, shares, many, powers=of_auto, thresholds=of_auto, restricts=own
    )
    return QueryPlan(lower_query(query.root, by, deltas), found)


def candidates_again(
    leaf: AnyJoin, before: Sequence[RankedFamily], statistics: Statistics, algorithm: Algorithm
) -> tuple[RankedFamily, ...]:
    """What `plan_join` chooses from: relations that stand for static tables stay.

    Args:
        leaf: The join, with the plan that other statistics give it.
        before: The query from which the first plan was chosen.
        statistics: The other statistics.
        algorithm: The algorithm that maintains the join.
    """
    return ranked_again(leaf.query, leaf.physical.query, before, statistics, algorithm)


def plan_join(leaf: AnyJoin, statistics: Statistics, live: bool, algorithm: Algorithm, threads: int) -> AnyJoin:
    """A join with the plan that other statistics give it; what it reads, bags included, and gives stays the same.

    Args:
        leaf: The join.
        statistics: The known figures of the join's tables.
        live: Whether its deltas are asked for.
        algorithm: The algorithm that maintains the join.
        threads: Cells that it is split into if it can be.
    """
    plan = join_candidates(leaf.physical.query, statistics, algorithm)[0].first
    assert not plan.derived, "a program's query is free-connex, for which no plan keeps relations of its own"
    program = plan.compile(live)
    return replace(leaf, physical=program, partition=_split(program, statistics, threads))


def refuse_cells(algorithm: Algorithm, cells: int, asked: str) -> None:
    """Refuse what is kept in one piece where joins are split into cells.

    Args:
        algorithm: The algorithm that maintains the joins.
        cells: How many cells there are.
        asked: The clause that asks for cells.

    Raises:
        UnsupportedQueryError: The query is kept in one piece.
    """
    if algorithm == "transitions" and cells > 1:
        msg = (
            f"algorithm='transitions' is not split into cells, and {asked}: a state is a set of rows of all cells; "
            "keep the view in a database with threads=1, or take algorithm='auto'"
        )
        raise UnsupportedQueryError(msg, clause="FROM")


def _split(plan: Program, statistics: Statistics, threads: int) -> Partition | None:
    """How the join of a program is split into cells."""
    return None if threads == 1 else partition(plan.query, plan.tables, threads, statistics)


def _rows(derived: DerivedTable, statistics: Statistics, threads: int) -> tuple[RowProgram, Partition | None]:
    """The program of a relation that a plan keeps for itself, and how it is split into cells by a column of its rows.

    The cells' rows are different ones then, and nothing is added up.
    """
    variable = None if threads == 1 else rows_variable(derived.query, threads, statistics)
    program = derived.compile(variable)
    if variable is None:
        return program, None
    return program, partition(derived.query, program.tables, threads, statistics)


def join_candidates(
    join: ConjunctiveQuery, statistics: Statistics, algorithm: Algorithm = "auto"
) -> tuple[RankedFamily, ...]:
    """The families that could run a join, the chosen one first, each with its plans.

    Args:
        join: The join, over an output that is kept.
        statistics: The known figures of the join's tables.
        algorithm: The algorithm that maintains the join.
    """
    return ranked(join, statistics, algorithm)
