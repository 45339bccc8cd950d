"""The explanation of a whole query: of each of its joins, and of the operators above them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias, assert_never

from livejoin.changes import ChangeBatch
from livejoin.families.outline import with_rows
from livejoin.families.registry import Ranked
from livejoin.plan.explain.changed_results import changed_results
from livejoin.plan.explain.describe import Planned, explained
from livejoin.plan.explain.describe_cells import bag_cells, cells_outline
from livejoin.plan.explain.describe_selected import constant, explained_selection
from livejoin.plan.explain.explanation import Explanation
from livejoin.plan.operators import (
    Annotated,
    Bag,
    Combine,
    Compute,
    First,
    FirstOfEach,
    Group,
    Numbers,
    Operator,
    RunningOver,
    Scan,
    Selected,
    Stored,
    Threshold,
    ThresholdGroup,
    inputs_of,
)
from livejoin.plan.query_plan import candidates_again, plan_join, plan_with_reasons
from livejoin.query import ConjunctiveQuery
from livejoin.query.relational import EVERY_RANK, EVERY_ROW, LISTS, Query, RowsAround, RowsUpTo, RunningFrame
from livejoin.query.scalar import Expression
from livejoin.search.algorithm import Algorithm
from livejoin.search.delta_size import delta_bound
from livejoin.search.guarantee import (
    UpdateBound,
    bounding_guarantee,
    checked_guarantee,
    product_guarantee,
    stored_guarantee,
)
from livejoin.search.statistics import Statistics, observe


@dataclass(frozen=True)
class RunningJoin:
    """A join that runs already.

    Args:
        statistics: What its plan was chosen by.
        live: Whether it gives deltas.
        bag_rows: The rows of the bags that it reads, by their titles, which differ within a join.
    """

    statistics: Statistics
    live: bool
    bag_rows: Mapping[str, int] = field(default_factory=dict)


Running: TypeAlias = Callable[[Operator], Mapping[Scan | Annotated, RunningJoin]]
"""For the joins of a plan those that run already."""

KeptStatic: TypeAlias = Callable[[Scan | Annotated], Mapping[str, int]]
"""For a join the rows that it keeps of its static tables, by name; nothing of a join that keeps all."""


def describe_query(
    query: Query,
    statistics: Statistics,
    live: bool = True,
    log: Sequence[ChangeBatch] | None = None,
    algorithm: Algorithm = "auto",
    threads: int = 1,
    running: Running | None = None,
    static: KeptStatic | None = None,
) -> Explanation:
    """Explain a query and the operators that maintain it; as `describe`.

    Args:
        query: The query.
        statistics: What is known of its tables.
        live: Whether the view's deltas are asked for.
        log: A change log, one batch a table.
        algorithm: What maintains the joins.
        threads: Cells that each join is split into where it can be.
        running: The joins that run already.
        static: What is kept of static tables; None if it is not to be said.
    """
    known = statistics
    for join in query.joins:
        known = known if log is None else known.over(observe(log, join))
    plan = plan_with_reasons(query, known, live, algorithm, threads)
    there = {} if running is None else running(plan.operator)
    checked = {one.input: one.across for one in _upwards(plan.operator) if isinstance(one, Compute) and one.across}
    bounding = {
        leaf for one in _upwards(plan.operator) if isinstance(one, Threshold) for leaf, _ in _leaves(one.bounds, "")
    }
    told = []
    for planned_leaf, kept in _leaves(plan.operator, ""):
        if isinstance(planned_leaf, Selected):
            one = explained_selection(planned_leaf, known, live, None if planned_leaf.inputs else log)
            one = _over_inputs(_with_store(one, planned_leaf.query, kept), planned_leaf)
            told.append(_as_bounds(one) if planned_leaf in bounding else one)
            continue
        runs = there.get(planned_leaf) or RunningJoin(known, planned_leaf.physical.live)
        by, gives = runs.statistics, runs.live
        leaf, join = planned_leaf, planned_leaf.query
        ranked = plan.ranked[join]
        if (by, gives) != (known, leaf.physical.live):
            leaf = plan_join(leaf, by, gives, algorithm, threads)
            ranked = candidates_again(leaf, ranked, by, algorithm)
        planned = Planned(join, leaf.physical, ranked, leaf.asked, gives, algorithm, by)
        one = explained(planned, None if _relations_below(leaf) else log)
        one = replace(one, plan=with_rows(one.plan, runs.bag_rows))
        left = {} if static is None else static(leaf)
        one = replace(one, tables=tuple(replace(table, kept=left.get(table.name)) for table in one.tables))
        one = replace(one, deltas=live, cells=cells_outline(leaf, one.tables, threads))
        one = _with_check(one, join, checked.get(planned_leaf, ""))
        one = _over_inputs(_with_store(one, join, kept), leaf)
        told.append(_as_bounds(one) if planned_leaf in bounding else one)
    drawn = (operator for operator in _upwards(plan.operator) if not isinstance(operator, Bag))  # bags are in the plans
    lines = tuple(line for operator in drawn for line in operator_lines(operator, plan.ranked))
    if query.order:
        names = (query.read.schema.names[key.column] + (" DESC" if key.descending else "") for key in query.order)
        lines += (f"sorted by {', '.join(names)} when it is read, which costs a change nothing: no state",)
    whole, beside = " ".join(_whole(plan.operator)), _beside(plan.operator)
    said = replace(told[0], sql=query.sql, operators=lines, others=tuple(told[1:]), whole=whole, beside=beside)
    return replace(said, names=_names(query))


def _beside(plan: Operator) -> str:
    """What a change costs beside the bounds of the joins, in plain words."""
    what = []
    for one in _upwards(plan):
        if isinstance(one, FirstOfEach) and _ranks_all(one):
            what.append("ranks")
        if isinstance(one, RunningOver) and _moves(one):
            what.append("running aggregates")
    if not what:
        return ""
    named = " and ".join(dict.fromkeys(what))
    return f"A change also changes the {named} of the rows behind it in its partition, which its delta tells."


def _moves(plan: RunningOver) -> bool:
    """Whether a change may change the results of all rows behind it."""
    of_peers = ("lag", "last", "first_peer") if isinstance(plan.frame, str) else ()
    return not isinstance(plan.frame, RowsAround) and any(call.function not in of_peers for call in plan.calls)


def _each(partition: Sequence[int]) -> str:
    return "each partition" if partition else "the whole"


def _ranks_all(operator: FirstOfEach) -> bool:
    """Whether nothing bounds the ranks; without keys they are numbers of equal rows."""
    is_every = operator.limit >= EVERY_RANK and bool(operator.keys)
    return is_every and not (isinstance(operator.input, FirstOfEach) and not _ranks_all(operator.input))


def _leaves(plan: Operator, kept: str) -> Iterator[tuple[Scan | Annotated | Selected, str]]:
    """The joins and selections, each before those in its inputs, with what the first store above it keeps.

    Without a store above that is empty.
    """
    match plan:
        case Scan() | Annotated() | Selected():
            yield plan, kept
            for _, given in _relations_below(plan):
                yield from _leaves(given, kept)
        case Bag():
            for _, given in _relations_below(plan):
                yield from _leaves(given, kept)
        case Numbers():
            yield constant(plan), kept
        case Compute():
            yield from _leaves(plan.input, kept)
        case Combine():
            below = kept if plan.kind == "union" and plan.all else "each distinct row with its numbers"
            for one in plan.inputs:
                yield from _leaves(one, below)
        case Group():
            values = ", with the values of MIN, MAX, percentiles, lists and DISTINCT" if _keeps_values(plan) else ""
            yield from _leaves(plan.input, f"each group{values}")
        case First():
            yield from _leaves(plan.input, "each row, in order (a look-up costs O(log rows))")
        case FirstOfEach():
            yield from _leaves(plan.input, "each row, in the order of its partition (a look-up costs O(log rows))")
        case RunningOver():
            kept = "each row with its aggregates, in the order of its partition (a look-up costs O(log rows))"
            yield from _leaves(plan.input, kept)
        case Threshold() | ThresholdGroup():
            yield from _leaves(plan.rows, "each row, in the order of what is compared (a look-up costs O(log rows))")
            yield from _leaves(plan.bounds, "each bound")
        case Stored():
            yield from _leaves(plan.input, f"each row of {plan.name}, so that the join above can read it")


def _over_inputs(told: Explanation, leaf: Scan | Annotated | Selected) -> Explanation:
    """What is promised of a join, a change of a base table below its inputs counted with all rows that it changes.

    They are counted amortised where the join takes O(1) for each, whatever comes and goes, and these are few.
    """
    promise = told.guarantee
    always = promise.bound == UpdateBound.ALWAYS
    for name, one in _relations_below(leaf):
        power = _most_changes(one)
        if power and always and (amortised := _amortised_changes(one)) is not None:
            update = f"{promise.update}; a change makes amortised {amortised.formula} changes of {name}"
            source = f"{promise.source}; AJU, Corollary 9"
            promise = replace(promise, bound=max(promise.bound, amortised), update=update, source=source)
        elif power:
            bound = max(promise.bound, UpdateBound.LINEAR if power <= 1 else UpdateBound.POLYNOMIAL)
            update = f"{promise.update}; a change below {name} makes up to O(N^{power}) changes of it"
            promise = replace(promise, bound=bound, update=update)
    return replace(told, guarantee=promise)


def _relations_below(plan: Scan | Annotated | Selected | Bag) -> tuple[tuple[str, Operator], ...]:
    """The derived relations that a join reads, those inside of its bags included, each once with its name."""
    if isinstance(plan, Selected):
        return tuple((plan.name, one) for one in plan.inputs)
    found: dict[Operator, str] = {}
    for one in plan.inputs:
        match one.operator:
            case Stored():
                found[one.operator] = one.operator.name
            case Bag():
                found |= {given: name for name, given in _relations_below(one.operator)}
    return tuple((name, given) for given, name in found.items())


def _most_changes(plan: Operator) -> Fraction:
    """A change of a base table changes at most as many rows of a relation as this power of the base rows says."""
    powers = [changed_results(leaf.query) for leaf, _ in _leaves(plan, "")]
    return max(powers, default=Fraction(0))


def _amortised_changes(plan: Operator) -> UpdateBound | None:
    """What bounds the rows of a relation that a change of a base table changes, amortised; None if nothing is proven.

    Rows, groups and distinct rows of a foreign-key join change with its results, which are few (AJU, Corollary 9). So a
    join above that takes O(1) for each of them, in whatever order they come and go, takes no longer for all.
    """
    match plan:
        case Scan() | Annotated():
            return None if plan.inputs else delta_bound(plan.query)
        case Stored() | Compute() | Group():
            return _amortised_changes(plan.input)
        case _:
            return None


def _upwards(plan: Operator) -> Iterator[Operator]:
    """The operators, inputs first, each once."""
    found: dict[Operator, None] = {}

    def collect(one: Operator) -> None:
        for below in inputs_of(one):
            collect(below)
        found[one] = None

    collect(plan)
    yield from found


def _names(query: Query) -> str:
    """Which columns got a number behind their names."""
    if not query.numbered:
        return ""
    changed = ", ".join(f"{name} (written {written})" for written, name in query.numbered)
    return f"several columns have one name, and the later ones get a number: {changed}; name them with AS"


def _whole(plan: Operator) -> Iterator[str]:
    """What a change costs where it goes through several blocks, in sentences; nothing for a single one."""
    read = [
        (name, one)
        for leaf in _upwards(plan)
        if isinstance(leaf, (Scan, Annotated, Selected, Bag))
        for name, one in _relations_below(leaf)
    ]
    if not read:
        return
    yield (
        "A change goes through the blocks one after the other, from below: each row that one of them gains or loses is "
        "a change of the block above it, at the cost that is said there."
    )
    for name, one in dict.fromkeys(read):
        power = _most_changes(one)
        rows = "O(1) rows" if power == 0 else f"O(N^{power}) rows, N the rows of the tables below,"
        yield f"A change below {name} changes at most {rows} of {name}."
    yield (
        "A row that takes another one's place, as that of a group, is two changes, and every row of a join that it is "
        "part of changes with it."
    )


def _keeps_values(plan: Group) -> bool:
    return any(call.distinct or call.function in _OF_VALUES for call in plan.calls)


_OF_VALUES = (*LISTS, "min", "max", "min_by", "max_by", "mode", "percentile_cont", "percentile_disc")


def _with_check(told: Explanation, query: ConjunctiveQuery, condition: str) -> Explanation:
    """What is promised where a condition across tables is checked on every row that the join gives."""
    if not condition:
        return told
    promise = checked_guarantee(told.guarantee, condition)
    return replace(told, guarantee=product_guarantee(promise) if _is_product(query) else promise)


def _is_product(query: ConjunctiveQuery) -> bool:
    """Whether some atoms of the core are joined with the others by no variable."""
    parts: list[frozenset[str]] = []
    for atom in query.core:
        joined = [part for part in parts if part & query.edges[atom]]
        parts = [part for part in parts if part not in joined]
        parts.append(query.edges[atom].union(*joined))
    return len(parts) > 1


def _as_bounds(told: Explanation) -> Explanation:
    """What is promised where the rows are bounds of others."""
    return replace(told, guarantee=bounding_guarantee(told.guarantee))


def _with_store(told: Explanation, query: ConjunctiveQuery, kept: str) -> Explanation:
    """What is promised where every row that the join gains or loses goes into a store."""
    if not kept:
        return told
    changed, delta = str(changed_results(query)), delta_bound(query)  # a group changes with a result of the join
    return replace(told, guarantee=stored_guarantee(told.guarantee, changed, kept, delta))


def operator_lines(operator: Operator, families: Mapping[ConjunctiveQuery, Sequence[Ranked]]) -> Iterator[str]:
    """What an operator does and costs, without its inputs; nothing of a join that there is nothing to say of.

    Args:
        operator: The operator.
        families: What the programs of joins were chosen from, the chosen ones first.
    """
    yield from _lines(operator, families)
    if slow := [step.text for one in _expressions(operator) for step in one.steps or (one,) if step.scalar is None]:
        yield f"evaluated by DuckDB, a call of about a millisecond a commit: {', '.join(slow)}"


def _expressions(operator: Operator) -> Iterator[Expression]:
    """The expressions of an operator, each once."""
    found: list[Expression | int | None] = []
    match operator:
        case Scan() | Annotated() | Selected():
            found += [atom.predicate for atom in operator.query.atoms]
            found += [output.source for output in operator.query.outputs]
        case Compute():
            found += [operator.predicate, *(output.source for output in operator.outputs)]
    yield from dict.fromkeys(one for one in found if isinstance(one, Expression))


def _lines(operator: Operator, families: Mapping[ConjunctiveQuery, Sequence[Ranked]]) -> Iterator[str]:
    match operator:
        case Scan():
            yield from _scan_lines(operator)
        case Annotated():
            family = families[operator.query][0].family
            yield f"{_many(len(operator.results), 'aggregate')} {family.aggregates}"
        case Compute():
            kept = ", for the rows that fit a condition" if operator.predicate else ""
            if operator.across:
                kept = (
                    f", for the rows that {operator.across} is true for: it is checked on each row that the join gives"
                )
            kept += f" (no threshold: {operator.reason})" if operator.reason else ""
            yield f"{_many(len(operator.outputs), 'column')} computed from each row{kept}: no state"
        case Combine() if operator.kind == "union" and operator.all:
            yield "UNION ALL: no state"
        case Combine():
            name = operator.kind.upper() + (" ALL" if operator.all else "")
            yield f"{name} over a store of the rows with their numbers: one look-up a row that changes"
        case Group():
            yield (
                f"{_many(len(operator.calls), 'aggregate')} over a store of groups: one look-up a row of the relation "
                "below that changes (DYN, section 5.1)"
            )
            if operator.within:
                yield (
                    f"of the keys alone that {' and '.join(operator.within)} let pass, since what reads the groups "
                    "asks for no others: over the rows of the join around them, which is kept once (WinMagic, SIGMOD "
                    "2003)"
                )
            if _keeps_values(operator):
                yield (
                    "values of groups are kept in order: O(log values) a row that changes; percentiles and numbers of "
                    "distinct values are exact, also those that are written as approximate ones"
                )
        case First():
            skipped = f" after the first {operator.offset}" if operator.offset else ""
            some = f"the first {operator.limit}{skipped} rows"
            if operator.limit >= EVERY_ROW:
                some = f"all rows but the first {operator.offset}"
            yield f"{some} over an ordered store of all: O(log rows) a row that changes"
        case FirstOfEach():
            each = _each(operator.partition)
            what = f"{operator.function.upper()} of the rows of {each}"
            if not operator.keys:
                what = "the number of each copy of a row"
            elif operator.limit < EVERY_RANK:
                what = f"{operator.function.upper()} up to {operator.limit} of {each}"
            elif not _ranks_all(operator):
                what += " that the rank below keeps"
            advice = "; a bound, as QUALIFY rank <= 10, would leave fewer" if _ranks_all(operator) else ""
            yield (
                f"{what} over an ordered store of all rows: O(log rows) a row that changes, and O(1) for each whose "
                f"rank that changes, which is in the delta{advice}"
            )
        case RunningOver():
            which, cost = _frame(operator.frame)
            yield (
                f"{_many(len(operator.calls), 'running function')} {which} of "
                f"{_each(operator.partition)}, over an ordered store of all rows: O(log rows) a row that changes, and "
                f"{cost} for each whose results that changes, which is in the delta"
            )
        case Threshold():
            yield (
                f"join-select: the rows that {operator.written} is true for, over an ordered store of all with "
                f"{_bounds(operator)}: O(log rows) a change, and O(1) for each row that a bound lets in or out as it "
                "moves (AJU, Theorem 14)"
            )
        case ThresholdGroup():
            groups = " for each group of rows with its key" if operator.groups else ""
            yield (
                f"join-select-aggregate: {_many(len(operator.calls), 'aggregate')} over the rows that "
                f"{operator.written} is true for, by sums in an ordered store of all rows with {_bounds(operator)}: "
                f"O(log rows) a row that changes, O(log rows){groups} a bound that moves, whatever rows it lets in or "
                "out (AJU, Theorem 15)"
            )
        case Numbers():
            yield f"{_many(operator.count, 'constant row')}: no state, and no change"
        case Stored():
            yield f"{operator.name}: each row stored with an id, for a join above: O(rows of {operator.name}) state"
        case Bag():
            yield f"{operator.derived.title}: each row stored with an id, for the joins across the bags"
            if operator.partition is not None:
                yield bag_cells(operator)


def _frame(frame: RunningFrame) -> tuple[str, str]:
    """The rows that a frame has, and what each row costs whose result changes."""
    match frame:
        case "rows":
            return "up to each row", "O(1)"
        case "range":
            return "up to the last row with its keys", "O(1)"
        case RowsAround():
            return "around each row", f"O({frame.before + frame.behind + 1})"
        case RowsUpTo():
            where = "behind" if frame.behind > 0 else "before"
            return f"up to {_many(abs(frame.behind), 'row')} {where} each row", "O(log rows)"
        case _:
            assert_never(frame)


def _bounds(operator: Threshold | ThresholdGroup) -> str:
    return f"the bound of each key of {_many(operator.keys, 'column')}" if operator.keys else "one bound for all"


def _scan_lines(plan: Scan) -> Iterator[str]:
    query = plan.query
    if query.free is not None:
        yield "each result once" + (", with its number of copies" if query.sums else "")
    if plan.asked is not None and query.free is not None and query.free > plan.asked:
        more = ", ".join(sorted(query.free - plan.asked))
        asked = ", ".join(sorted(plan.asked)) or "()"
        yield f"the output {asked} is not free-connex: kept with {more}, projected away above"


def _many(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
