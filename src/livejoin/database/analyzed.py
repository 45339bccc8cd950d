"""``view.explain(analyze=True)``: puts what was counted of a view beside what was expected of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from livejoin.database.analysis import Analysis, watch_only
from livejoin.database.analyzed_nodes import nodes_of
from livejoin.dataflow.counts import Passed
from livejoin.dataflow.measured import observed_shares
from livejoin.dataflow.observe import observe_tables
from livejoin.dataflow.watching.watch import CAPACITY
from livejoin.plan.explain.analyzed.actual import (
    KEYS,
    NO_QUEUE,
    Actual,
    ActualBlock,
    ActualKey,
    ActualStream,
    ActualTable,
    BetterPlan,
)
from livejoin.plan.explain.analyzed.analyzed_explanation import AnalyzedExplanation, times
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.memory.predicted import predicted_use
from livejoin.plan.explain.suggestions.seen import NOTHING_SEEN, Seen
from livejoin.plan.operators import AnyJoin, BagOperator
from livejoin.plan.query_plan import join_candidates
from livejoin.schema.watermarks import watched_name
from livejoin.search.problem import problem_of, table_changes
from livejoin.search.statistics import Figure, Statistics, TableStatistics

if TYPE_CHECKING:
    from livejoin.database.view import View
    from livejoin.dataflow.node import Node
    from livejoin.families.family import Candidate
    from livejoin.plan import Explanation

_BETTER = 1.2  # times as many rows visited, from which on another plan is told of


@dataclass(frozen=True, eq=False)
class Began:
    """The counts when a view was made.

    Args:
        version: The version of the database.
        versions: The versions that were counted.
        events: The net changes of each table, by name in lower case.
        blocks: The counts of the view's blocks.
        loaded: The rows that its tables had, which no count of changes has.
    """

    version: int
    versions: int
    events: Mapping[str, int]
    blocks: Mapping[Node, Passed]
    loaded: int


def begin(view: View) -> Analysis:
    """The analysis of a view, which begins now if there is none, or it is of another query."""
    analyses, name = view._tally.analyses, view.name.lower()
    known = analyses.get(name)
    _ = view._kept
    if known is not None and known.is_of(view):
        return known
    made = analyses[name] = Analysis(view)
    watch_only(view._graph, analyses.values())
    return made


def end(view: View) -> None:
    """End the analysis of a view, if there is one."""
    view._tally.analyses.pop(view.name.lower(), None)
    watch_only(view._graph, view._tally.analyses.values())


def seen_of(view: View) -> Seen:
    """What was seen of the changes of a view's tables since its analysis began; nothing where there is none."""
    analysis = view._tally.analyses.get(view.name.lower())
    if analysis is None or not analysis.is_of(view):
        return NOTHING_SEEN
    changed = frozenset(name for name in analysis.tables if view._tally.events.get(name, 0) > analysis.events[name])
    lives = zip(analysis.tables, analysis.lives.tables, strict=True)
    return Seen(changed, frozenset(name for name, one in lives if one.ended))


def analyzed(view: View, told: Explanation) -> AnalyzedExplanation:
    """An explanation with what the view really cost."""
    before = view._tally.analyses.get(view.name.lower())
    analysis = begin(view)
    seen = _observed(view, partial(_changes, view))
    watched = _with_tables_below(_observed(view, partial(_watched, view, analysis)), view, analysis)
    joined = [node.plan.physical.query for node in view._below if isinstance(node.plan, AnyJoin)]
    watched = observed_shares(joined, view._graph.tables, view._graph.codec).over(watched)  # as the verdict has them
    joins = [node for node in analysis.watched if isinstance(node.plan, AnyJoin)]
    numbers = {node: number for number, node in enumerate(view._graph.nodes, 1)}
    lives = analysis.lives
    tables = tuple(_tables(view, analysis, told))
    stream = ActualStream(lives.lower, lives.upper, lives.largest, lives.is_whole)
    actual = Actual(
        view=view.name,
        made=view._began.version,
        loaded=view._began.loaded,
        version=view._images.version,
        analyzed=analysis.version,
        analyzed_at=analysis.at.isoformat(timespec="seconds"),
        began_now=before is not analysis,
        commits=view._tally.versions - view._began.versions,
        delta_rows=view._rows_since if view.deltas else None,
        expected_delta_rows=_expected_rows(tables) if view.deltas else None,
        expected_is_most=any(one.delta.is_bound for one in told.effects if _changes(view, one.table.lower())),
        tables=tables,
        blocks=tuple(_blocks(view, analysis, numbers, told, watched)),
        stream=stream if any(one.began for one in lives.tables) else None,
        keys=tuple(_keys(analysis, numbers)),
        notes=tuple(_notes(tables)),
        better=tuple(one for node in joins for one in _better(view, node, numbers[node], seen)),
    )
    return AnalyzedExplanation.of(told, actual)


def _expected_rows(tables: tuple[ActualTable, ...]) -> float | None:
    """The rows of deltas that were to be expected of the changes of some tables; None if that is unknown."""
    found = 0.0
    for one in tables:
        if one.changes:
            if one.expected_delta is None:
                return None
            found += one.changes * one.expected_delta
    return found


def _changes(view: View, name: str) -> int:
    """The net changes of a table since the view was made."""
    return view._tally.events.get(name, 0) - view._began.events.get(name, 0)


def _watched(view: View, analysis: Analysis, name: str) -> int:
    """The net changes of a table since it is counted what they meet; since the view was made while there are none."""
    events = view._tally.events
    if any(events.get(one, 0) > before for one, before in analysis.events.items()):
        return events.get(name, 0) - analysis.events.get(name, 0)
    return _changes(view, name)


def _tables(view: View, analysis: Analysis, told: Explanation) -> Iterator[ActualTable]:
    expected = {
        table.name.lower(): table.changes
        for one in (told, *told.others)
        for table in one.tables
        if table.changes is not None and table.changes_known == "given"
    }
    deltas = {one.table.lower(): one.delta.expected for one in told.effects}
    total = sum(_changes(view, name) for name in analysis.tables)
    whole = sum(expected.values()) if set(expected) >= set(analysis.tables) else 0.0
    for name, lives in zip(analysis.tables, analysis.lives.tables, strict=True):
        base = view._graph.tables[name]
        changes = _changes(view, name)
        yield ActualTable(
            base.table.name,
            base.total,
            changes,
            changes / total if total else None,
            expected[name] / whole if whole else None,
            lives.began,
            lives.ended,
            lives.mean,
            deltas.get(name, None if watched_name(name) is None else 0.0),  # what it closes is told of its table
        )


def _blocks(
    view: View, analysis: Analysis, numbers: Mapping[Node, int], told: Explanation, seen: Statistics
) -> Iterator[ActualBlock]:
    """What each block did; ``seen`` has the changes that were counted, so that both sides are of the same ones."""
    nodes = analysis.watched
    present = view._graph.present(view._query)
    figures = Figures(seen, present.samples, present.evaluate)
    passed = {node: node.counts.total.less(view._began.blocks.get(node, Passed())) for node in nodes}
    seconds = sum(one.seconds for one in passed.values()) or 1.0
    for node in nodes:
        counts, watch = passed[node], node.watch
        assert watch is not None
        work = watch.work
        received = work.received
        join = node.plan if isinstance(node.plan, AnyJoin) else None
        joins = isinstance(node.plan, (AnyJoin, BagOperator))
        parts = () if join is None else tuple(nodes_of(analysis, node, join, told, seen))
        met = [one for one in parts if not one.label.startswith("[")] if join is not None and _of_tables(join) else []
        known = [one.expected_met for one in met if one.expected_met is not None]
        yield ActualBlock(
            number=numbers[node],
            kind=node.plan.kind,
            line="" if join is None else join.physical.line,
            commits=counts.commits,
            stopped=counts.stopped if counts.asked else None,
            received=counts.received,
            passed_on=counts.passed_on if counts.asked else None,
            seconds=counts.seconds,
            share=counts.seconds / seconds,
            rows=node.size(),
            state_bytes=node.block.sizes()[0],
            expected_bytes=predicted_use(node.plan, figures),
            watched=received if joins else None,
            propagated=_each(joins, received, work.propagated),
            stopped_rows=_each(joins, received, work.stopped),
            touched=_each(joins, received, work.touched),
            probes=_each(joins, received, work.probes),
            expected_touched=None if join is None else _expected_touched(join, seen.over(node.statistics)),
            nodes=parts,
            met=sum(one.met for one in met) if met else None,
            expected_met=sum(known) if met and len(known) == len(met) else None,
            expected_is_bound=any(one.expected_is_bound for one in met),
        )


def _each(joins: bool, received: int, number: int) -> float | None:
    """A number for each change that came to a block that joins."""
    return number / received if joins and received else None


def _of_tables(join: AnyJoin) -> bool:
    """Whether the plan of a join reads the tables of the query, and no bags of them."""
    return [one.alias for one in join.physical.query.atoms] == [one.alias for one in join.query.atoms]


def _expected_touched(join: AnyJoin, known: Statistics) -> float | None:
    """The rows above its own that a change of a table is predicted to touch; None where nothing is predicted."""
    query = join.physical.query
    visits = join.physical.predicted_work(known)
    names = dict.fromkeys(atom.table.name for atom in query.atoms if not atom.table.static)
    changes = sum(table_changes(query, known, name) for name in names)
    if not visits or not changes:
        return None
    return max(0.0, visits - sum(problem_of(query, known, query.free).weights)) / changes


def _keys(analysis: Analysis, numbers: Mapping[Node, int]) -> Iterator[ActualKey]:
    found = []
    for node in analysis.watched:
        assert node.watch is not None
        for of, summary in node.watch.found.items():
            held = [cost for _, cost in summary.largest(CAPACITY)]
            typical = held[len(held) // 2] if held else 0
            for values, cost in summary.largest(KEYS):
                key: dict[str, Any] = dict(zip(of.columns, values, strict=True))
                share = cost / (summary.total or 1)
                found.append(ActualKey(numbers[node], of.relation, key, cost, cost + summary.error, share, typical))
    yield from sorted(found, key=lambda one: -one.cost)[:KEYS]


def _notes(tables: tuple[ActualTable, ...]) -> Iterator[str]:
    """What the lives of rows say, in plain words."""
    lasting = [one for one in tables if one.ended == 0 and one.began]
    leaving = sorted((one for one in tables if one.life is not None), key=lambda one: one.life or 0.0)
    if not leaving:
        return
    shortest = leaving[0]
    assert shortest.life is not None
    for one in leaving[1:]:
        assert one.life is not None
        if one.life >= NO_QUEUE * max(shortest.life, 1e-9):
            yield (
                f"{one.name} is no queue beside {shortest.name}: its rows live {times(one.life / shortest.life)} as "
                f"long as those of {shortest.name}, so that each may be touched again by many of them"
            )
    if lasting:
        names = " and ".join(filter(None, (", ".join(one.name for one in lasting[:-1]), lasting[-1].name)))
        yield f"no row has left {names} so far; those of {shortest.name} come and go"


def _observed(view: View, changes_of: Callable[[str], int]) -> Statistics:
    """The figures of the stream as it was: some changes of each table, by name in lower case; rows and keys now."""
    joins = [node.plan.physical.query for node in view._below if isinstance(node.plan, AnyJoin)]
    bases = {name: view._graph.tables[name] for name in view._tables if name in view._graph.tables}
    passing: dict[str, list[tuple[str, Figure]]] = {}
    for node in view._below:
        for (table, predicate), share in {} if node.watch is None else node.watch.passing.items():
            passing.setdefault(table, []).append((predicate, Figure(share, "observed")))
    tables = []
    for one in observe_tables(bases, joins).tables:
        changes = Figure(changes_of(one.table.lower()), "observed")
        shares = tuple(sorted(dict(passing.get(one.table, ())).items()))
        tables.append(TableStatistics(one.table, changes, one.rows, one.distinct, shares))
    return Statistics(tuple(tables))


def _with_tables_below(seen: Statistics, view: View, analysis: Analysis) -> Statistics:
    """Figures with the changes of the tables that no join reads itself, but nested queries below joins."""
    known = {one.table.lower() for one in seen.tables}
    below = [name for name in analysis.tables if name not in known]
    more = tuple(TableStatistics(name, Figure(_watched(view, analysis, name), "observed")) for name in below)
    return replace(seen, tables=(*seen.tables, *more))


def _better(view: View, node: Node, number: int, seen: Statistics) -> Iterator[BetterPlan]:
    """The plan that the planner takes for the stream as it was, and that which is expected to have visited fewest rows.

    Nothing of them where they are not much better than the plan that the join has.
    """
    join = node.plan
    assert isinstance(join, AnyJoin)
    query = join.physical.query
    known = seen.over(node.statistics)
    used = join.physical.predicted_work(known)
    if not used or not any(one.changes.value for one in seen.tables):
        return
    weights = sum(problem_of(query, known, query.free).weights) or 1.0
    ranked = join_candidates(query, known, node.algorithm)
    plans = [plan for one in ranked for plan in one.candidates.plans if not plan.obstacle and not plan.derived]
    first, fewest = ranked[0].first, min(plans, key=lambda plan: plan.propagation or math.inf)
    most = used / weights  # rows that a change visits at most, of a plan that is told of
    for plan in dict.fromkeys((first, fewest)):
        if plan.propagation and plan.line != join.physical.line and most >= _BETTER * plan.propagation:
            most = plan.propagation
            yield BetterPlan(
                block=number,
                line=join.physical.line,
                better=plan.line,
                factor=used / (plan.propagation * weights),
                bound=plan.guarantee.bound.formula,
                is_first=plan is first,
                preferred="" if plan is first else _preferred(plan, first),
                moves=node.adaptive is not None,
                statistics=_given(view, seen),
            )


def _preferred(plan: Candidate, first: Candidate) -> str:
    """Why the planner takes another plan."""
    if first.guarantee.bound < plan.guarantee.bound:
        return f"{first.line}, which promises a better bound for any stream ({first.guarantee.bound.formula})"
    return f"{first.line}, in which the tables that change most stand as high, and which has fewer levels"


def _given(view: View, seen: Statistics) -> dict[str, dict[str, Any]]:
    """Figures as `livejoin.Database.create_view` takes them."""
    found: dict[str, dict[str, Any]] = {}
    for one in seen.tables:
        table = view._graph.tables[one.table.lower()].table
        found[one.table] = {"changes": int(one.changes.value or 0), "rows": int(one.rows.value or 0)}
        distinct = {
            ",".join(table.columns[column].name for column in columns): int(figure.value or 0)
            for columns, figure in one.distinct
        }
        if distinct:
            found[one.table]["distinct"] = distinct
    return found
