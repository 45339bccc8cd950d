"""The explanation of a whole query: of each of its joins, and of the operators above them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TypeAlias

from livejoin.changes import ChangeBatch
from livejoin.families.outline import with_rows
from livejoin.plan.explain.describing.cells import cells_outline
from livejoin.plan.explain.describing.change_types import change_types
from livejoin.plan.explain.describing.changed_results import changed_results
from livejoin.plan.explain.describing.join import Planned, explained
from livejoin.plan.explain.describing.not_in import not_in_sentences
from livejoin.plan.explain.describing.products import parts_of, product_sentences
from livejoin.plan.explain.describing.selected import constant, explained_selection
from livejoin.plan.explain.diagram.diagram import diagram
from livejoin.plan.explain.effects.effects import effects
from livejoin.plan.explain.effects.figures import Evaluate, Figures, TableSample, unknown
from livejoin.plan.explain.explanation import Explanation, Suggestion
from livejoin.plan.explain.memory.predicted import predicted_memory
from livejoin.plan.explain.suggestions.seen import NOTHING_SEEN, Seen
from livejoin.plan.operators import (
    AnyJoin,
    BagOperator,
    InequalityJoinOperator,
    NumbersOperator,
    Operator,
    ProjectOperator,
    SelectedOperator,
    ThresholdOperator,
    upwards,
)
from livejoin.plan.query_plan import candidates_again, plan_join, plan_with_reasons
from livejoin.query import ConjunctiveQuery
from livejoin.query.bound_query import Query
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
class MaintainedJoin:
    """A join that runs already.

    Args:
        statistics: The statistics by which the plan was chosen.
        live: Whether it gives deltas.
        bag_rows: The rows of the bags that it reads, by their titles, which differ within a join.
    """

    statistics: Statistics
    live: bool
    bag_rows: Mapping[str, int] = field(default_factory=dict)


MaintainedJoins: TypeAlias = Callable[[Operator], Mapping[AnyJoin, MaintainedJoin]]
"""For the joins of a plan those that run already."""

KeptStatic: TypeAlias = Callable[[AnyJoin], Mapping[str, int]]
"""For a join the rows that it keeps of its static tables, by name; nothing of a join that keeps all."""


@dataclass(frozen=True)
class Present:
    """The rows that a database has when a query is explained.

    Args:
        static: The static tables that are kept.
        samples: Rows of the tables that have some, by name in lower case.
        seen: The changes that were seen.
        evaluate: A way to evaluate expressions over rows that are made of the samples.
    """

    static: KeptStatic = lambda leaf: {}
    samples: Mapping[str, TableSample] = field(default_factory=dict)
    seen: Seen = NOTHING_SEEN
    evaluate: Evaluate = unknown


def describe_query(
    query: Query,
    statistics: Statistics,
    live: bool = True,
    log: Sequence[ChangeBatch] | None = None,
    algorithm: Algorithm = "auto",
    threads: int = 1,
    running: MaintainedJoins | None = None,
    present: Present | None = None,
) -> Explanation:
    """Explain a query and the operators that maintain it; as `describe`.

    Args:
        query: The query.
        statistics: The known figures of the query's tables.
        live: Whether the view's deltas are asked for.
        log: A change log, one batch a table.
        algorithm: The algorithm that maintains the joins.
        threads: Cells that each join is split into where it can be.
        running: The joins that run already.
        present: The rows that are there; None if nothing is to be said of them.
    """
    known = statistics
    present = present or Present()
    seen = present.seen if log is None else Seen.in_log(log)
    for join in query.joins:
        known = known if log is None else known.over(observe(log, join))
    plan = plan_with_reasons(query, known, live, algorithm, threads)
    there = {} if running is None else running(plan.operator)
    operators = tuple(upwards(plan.operator))
    checked = {one.input: one.across for one in operators if isinstance(one, ProjectOperator) and one.across}
    bounds = [one.bounds for one in operators if isinstance(one, ThresholdOperator)]
    bounding = {leaf for one in bounds for leaf, _ in _leaves(one, "")}
    told = []
    for planned_leaf, kept in _leaves(plan.operator, ""):
        if isinstance(planned_leaf, SelectedOperator):
            one = explained_selection(planned_leaf, known, live, None if planned_leaf.inputs else log)
            one = _over_inputs(_with_store(one, planned_leaf.query, kept), planned_leaf)
            one = _with_check(one, planned_leaf.query, _checked_pairs(plan.operator))
            told.append(_as_bounds(one) if planned_leaf in bounding else one)
            continue
        runs = there.get(planned_leaf) or MaintainedJoin(known, planned_leaf.physical.live)
        by, gives = runs.statistics, runs.live
        leaf, join = planned_leaf, planned_leaf.query
        ranked = plan.ranked[join]
        if (by, gives) != (known, leaf.physical.live):
            leaf = plan_join(leaf, by, gives, algorithm, threads)
            ranked = candidates_again(leaf, ranked, by, algorithm)
        planned = Planned(join, leaf.physical, ranked, leaf.asked, gives, algorithm, by)
        one = explained(planned, None if leaf.named else log, seen)
        one = replace(one, plan=with_rows(one.plan, runs.bag_rows))
        left = present.static(leaf)
        one = replace(one, tables=tuple(replace(table, kept=left.get(table.name)) for table in one.tables))
        one = replace(one, deltas=live, cells=cells_outline(leaf, one.tables, threads))
        suggestions = _of_tables(one.suggestions, leaf)
        if kept or join.sums:  # sums and groups cannot be filtered when they are read
            suggestions = tuple(s for s in suggestions if s.kind != "shape")
        one = replace(one, suggestions=suggestions)
        one = _with_check(one, join, checked.get(planned_leaf, ""))
        one = _over_inputs(_with_store(one, join, kept), leaf)
        told.append(_as_bounds(one) if planned_leaf in bounding else one)
    drawn = [one for one in operators if not isinstance(one, BagOperator)]  # bags are in the plans
    lines = tuple(line for one in drawn for line in one.does(plan.ranked))
    if query.order:
        names = (query.read.schema.names[key.column] + (" DESC" if key.descending else "") for key in query.order)
        lines += (
            f"sorted by {', '.join(names)} when it is read: a change costs nothing for it, and nothing is stored",
        )
    whole, beside = " ".join(_whole(operators)), _beside(operators)
    told = [*_with_what_helps(told)]
    said = replace(told[0], sql=query.sql, operators=lines, others=tuple(told[1:]), whole=whole, beside=beside)
    figures = Figures(known, present.samples, present.evaluate)
    found = effects(plan.operator, query.tables, figures)
    product = " ".join(product_sentences(operators, figures))
    types = change_types(query, plan.operator) if live else ""
    drawing = diagram(query, found, figures)
    memory = predicted_memory(plan.operator, figures)
    said = replace(said, names=_names(query), effects=found, diagram=drawing, memory=memory)
    nulls = " ".join(dict.fromkeys(not_in_sentences(query.sql, operators)))
    return replace(said, product=product, nulls=nulls, change_types=types)


def _with_what_helps(told: Sequence[Explanation]) -> Iterator[Explanation]:
    """Explanations without suggestions for one join where another one still has as bad a bound.

    A key, or a table that never changes, may change other figures too: `livejoin.plan.explain.suggestions.worth`.
    """
    bounds = [(one.alone or one.guarantee).bound for one in told]
    for place, one in enumerate(told):
        rest = max((*bounds[:place], *bounds[place + 1 :]), default=UpdateBound.ALWAYS)
        helps = rest < max(bounds)
        yield (
            one if helps else replace(one, suggestions=tuple(s for s in one.suggestions if s.kind in _OF_OTHER_FIGURES))
        )


_OF_OTHER_FIGURES = ("primary key", "foreign key", "static table", "not null")


def _of_tables(suggestions: Iterable[Suggestion], leaf: AnyJoin) -> tuple[Suggestion, ...]:
    """Suggestions without those that would declare something of a nested query, which nobody can."""
    derived = [re.compile(rf"\b{re.escape(name)}\b") for name, _ in leaf.named]
    return tuple(one for one in suggestions if not any(name.search(f"{one.text} {one.sql}") for name in derived))


def _beside(operators: Iterable[Operator]) -> str:
    """What a change costs beside the bounds of the joins, in plain words."""
    what = [one.moves for one in operators if one.moves]
    if not what:
        return ""
    named = " and ".join(dict.fromkeys(what))
    return f"A change also changes the {named} of the rows behind it in its partition: these rows are in the delta too."


def _leaves(plan: Operator, kept: str) -> Iterator[tuple[AnyJoin | SelectedOperator, str]]:
    """The joins and selections, each before those in its inputs, with what the first store above it keeps.

    Without a store above that is empty.
    """
    if isinstance(plan, (AnyJoin, SelectedOperator)):
        yield plan, kept
    elif isinstance(plan, NumbersOperator):
        yield constant(plan), kept
    for below, own in plan.kept(kept):
        yield from _leaves(below, own)


def _over_inputs(told: Explanation, leaf: AnyJoin | SelectedOperator) -> Explanation:
    """What is promised of a join, a change of a base table below its inputs counted with all rows that it changes.

    They are counted amortised where the join takes O(1) for each, whatever comes and goes, and these are few.
    """
    promise = told.guarantee
    always = promise.bound == UpdateBound.ALWAYS
    for name, one in leaf.named:
        power = _most_changes(one)
        if power and always and (amortised := one.amortised_changes) is not None:
            update = f"{promise.update}; a change makes amortised {amortised.formula} changes of {name}"
            source = f"{promise.source}; AJU, Corollary 9"
            promise = replace(promise, bound=max(promise.bound, amortised), update=update, source=source)
        elif power:
            bound = max(promise.bound, UpdateBound.LINEAR if power <= 1 else UpdateBound.POLYNOMIAL)
            update = f"{promise.update}; a change below {name} makes up to O(N^{power}) changes of it"
            promise = replace(promise, bound=bound, update=update)
    return replace(told, guarantee=promise)


def _most_changes(plan: Operator) -> Fraction:
    """A change of a base table changes at most as many rows of a relation as this power of the base rows says."""
    powers = [changed_results(leaf.query) for leaf, _ in _leaves(plan, "")]
    return max(powers, default=Fraction(0))


def _names(query: Query) -> str:
    """Which columns got a number behind their names."""
    if not query.numbered:
        return ""
    changed = ", ".join(f"{name} (written {written})" for written, name in query.numbered)
    return f"several columns have one name, and the later ones get a number: {changed}; name them with AS"


def _whole(operators: Iterable[Operator]) -> Iterator[str]:
    """What a change costs where it goes through several blocks, in sentences; nothing for a single one."""
    read = [pair for one in operators for pair in one.named]
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


def _checked_pairs(plan: Operator) -> str:
    """The condition that is checked on the pairs of an inequality join that a view reads; empty if there is none."""
    match plan:
        case ProjectOperator(input=InequalityJoinOperator()):
            return plan.across
        case _:
            return ""


def _with_check(told: Explanation, query: ConjunctiveQuery, condition: str) -> Explanation:
    """What is promised where a condition across tables is checked on every row that the join gives."""
    if not condition:
        return told
    promise = checked_guarantee(told.guarantee, condition)
    return replace(told, guarantee=product_guarantee(promise) if len(parts_of(query)) > 1 else promise)


def _as_bounds(told: Explanation) -> Explanation:
    """What is promised where the rows are bounds of others."""
    return replace(told, guarantee=bounding_guarantee(told.guarantee))


def _with_store(told: Explanation, query: ConjunctiveQuery, kept: str) -> Explanation:
    """What is promised where every row that the join gains or loses goes into a store."""
    if not kept:
        return told
    changed, delta = str(changed_results(query)), delta_bound(query)  # a group changes with a result of the join
    whole = stored_guarantee(told.guarantee, changed, kept, delta)
    return replace(told, guarantee=whole, alone=told.guarantee)
