"""The explanation of a whole query: of each of its joins, and of the operators above them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from livejoin.changes import ChangeBatch
from livejoin.plan.explain.describe import Planned, explained
from livejoin.plan.explain.describe_cells import cells_outline
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.operators import Annotated, Combine, Compute, First, Group, Operator, Scan, leaves
from livejoin.plan.query_plan import QueryPlan, plan_with_reasons
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import Query
from livejoin.search.algorithm import Algorithm
from livejoin.search.guarantee import stored_guarantee
from livejoin.search.problem import problem_of
from livejoin.search.statistics import Statistics, observe
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover


def describe_query(
    query: Query,
    statistics: Statistics,
    live: bool = True,
    log: Sequence[ChangeBatch] | None = None,
    algorithm: Algorithm = "auto",
    threads: int = 1,
) -> Explanation:
    """Explain a query and the operators that maintain it; as `describe`.

    Args:
        query: The query.
        statistics: What is known of its tables.
        live: Whether the view's deltas are asked for.
        log: A change log, one batch a table.
        algorithm: What maintains the joins.
        threads: Cells that each join is split into where it can be.
    """
    known = statistics
    for join in query.joins:
        known = known if log is None else known.over(observe(log, join))
    plan = plan_with_reasons(query, known, live, algorithm, threads)
    told = []
    for leaf, kept in zip(leaves(plan.operator), _kept(plan.operator, ""), strict=True):
        join = leaf.physical.query
        planned = Planned(leaf.physical, plan.ranked[join], leaf.asked, leaf.physical.live, algorithm, known)
        one = explained(planned, log)
        one = replace(one, deltas=live, cells=cells_outline(leaf, one.tables, threads))
        told.append(_with_store(one, join, kept))
    return replace(told[0], sql=query.sql, operators=tuple(_lines(plan, plan.operator)), others=tuple(told[1:]))


def _kept(plan: Operator, above: str) -> Iterator[str]:
    """For each leaf, what the first store above it keeps; empty if there is none."""
    match plan:
        case Scan() | Annotated():
            yield above
        case Compute():
            yield from _kept(plan.input, above)
        case Combine():
            kept = above if plan.kind == "union" and plan.all else "each distinct row with its numbers"
            for one in plan.inputs:
                yield from _kept(one, kept)
        case Group():
            values = ", with the values of MIN, MAX, ARRAY_AGG and DISTINCT" if _keeps_values(plan) else ""
            yield from _kept(plan.input, f"each group{values}")
        case First():
            yield from _kept(plan.input, "each row, in order (a look-up costs O(log rows))")


def _keeps_values(plan: Group) -> bool:
    return any(call.distinct or call.function in ("min", "max", "array_agg") for call in plan.calls)


def _with_store(told: Explanation, query: ConjunctiveQuery, kept: str) -> Explanation:
    """What is promised where every row that the join gains or loses goes into a store."""
    if not kept:
        return told
    return replace(told, guarantee=stored_guarantee(told.guarantee, str(_changed_results(query)), kept))


def _changed_results(query: ConjunctiveQuery) -> Fraction:
    """One change adds or removes at most as many results as this power of the base rows says.

    It is the fractional edge cover number of what the changed row leaves open (Atserias, Grohe, Marx, FOCS 2008), for
    the atoms that can change; equal rows that are different base rows count. Rows that are known give those that their
    columns refer to by primary keys: they are columns of the row that refers to them, and leave nothing open (the chase
    of Gottlob, Lee, Valiant, Valiant, JACM 59(3), 2012, for keys).
    """
    by_row = [
        edge if query.free is not None or query.is_distinct(i) else edge | {f"row of {i}"}
        for i, edge in enumerate(query.edges)
    ]
    wide = [_referred_to(query, row) for row in by_row]
    free = frozenset[str]().union(*by_row) if query.free is None else query.free
    powers = [Fraction(0)]
    for atom, row in zip(query.atoms, wide, strict=True):
        if not atom.table.static and (open_ := free - row):
            powers.append(fractional_edge_cover([other & open_ for other in wide], open_).number)
    return max(powers)


def _referred_to(query: ConjunctiveQuery, given: frozenset[str]) -> frozenset[str]:
    """Some variables and all that they determine by primary keys."""
    keys = problem_of(query, Statistics()).keys
    for _ in query.atoms:
        for edge, key in zip(query.edges, keys, strict=True):
            if key is not None and key <= given:
                given |= edge
    return given


def _lines(plan: QueryPlan, operator: Operator) -> Iterator[str]:
    """What each operator does and costs, inputs first."""
    match operator:
        case Scan():
            yield from _scan_lines(operator)
        case Annotated():
            family = plan.ranked[operator.physical.query][0].family
            yield f"{_many(len(operator.results), 'aggregate')} {family.aggregates}"
        case Compute():
            yield from _lines(plan, operator.input)
            kept = ", for the rows that fit HAVING" if operator.predicate else ""
            yield f"{_many(len(operator.outputs), 'column')} computed from each row{kept}: no state"
        case Combine():
            for one in operator.inputs:
                yield from _lines(plan, one)
            if operator.kind == "union" and operator.all:
                yield "UNION ALL: no state"
            else:
                name = operator.kind.upper() + (" ALL" if operator.all else "")
                yield f"{name} over a store of the rows with their numbers: one look-up a row that changes"
        case Group():
            yield from _lines(plan, operator.input)
            yield (
                f"{_many(len(operator.calls), 'aggregate')} over a store of groups: one look-up a row of the join that "
                "changes (DYN, section 5.1)"
            )
        case First():
            yield from _lines(plan, operator.input)
            skipped = f" after the first {operator.offset}" if operator.offset else ""
            some = f"the first {operator.limit}{skipped} rows"
            yield f"{some} over an ordered store of all: O(log rows) a row that changes"


def _scan_lines(plan: Scan) -> Iterator[str]:
    query = plan.physical.query
    if query.free is not None:
        yield "each result once" + (", with its number of copies" if query.sums else "")
    if plan.asked is not None and query.free is not None and query.free > plan.asked:
        more = ", ".join(sorted(query.free - plan.asked))
        asked = ", ".join(sorted(plan.asked)) or "()"
        yield f"the output {asked} is not free-connex: kept with {more}, projected away above"


def _many(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
