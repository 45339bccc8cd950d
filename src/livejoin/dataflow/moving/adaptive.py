"""Adaptive plans: a join that moves to another tree when the stream has changed enough.

The planner's choice rests on figures of the stream: how many changes each table has, how many rows, how many distinct
keys. They are taken from the changes themselves, period by period. At the end of a period every tree that some period
would have chosen is compared with the one in use by the visits that the period's changes are expected to have made in
each. What the tree in use cost more is *rent*; it adds up, and falls again, to zero at least, in periods where the tree
in use was better (Page, "Continuous inspection schemes", 1954). The view moves once the rent has reached what a rebuild
costs (rent or buy: Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", 1988): against a single other
tree it never pays more than twice what would have been best, as far as visits are predicted rightly.

Law: moving changes no result and no delta. A move happens between two commits, is linear in the base rows (CROWN,
Theorem 6.11) and in the rows of the joins that stores keep, and takes the memory of both states; one that fails leaves
the old tree in use.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from livejoin.dataflow.observe import observe_tables
from livejoin.families.events import TableEvents
from livejoin.handlers import raised_by_handler
from livejoin.plan.explain.analyzed.predicted_work import predicted_work, tree_lines
from livejoin.plan.operators import AnyJoin
from livejoin.query import ConjunctiveQuery
from livejoin.search.statistics import Figure, Statistics, TableStatistics
from livejoin.state.table import BaseTable

if TYPE_CHECKING:
    from livejoin.dataflow.node import Node

logger = logging.getLogger("livejoin")

PERIOD = (
    10_000  # changes between two looks at least; else as many as there are rows, so that a look costs O(1) a change
)
MARGIN = 1.5  # how many times the visits of the new tree the old one must be expected to make
LOAD = 8.0  # visits that loading one row costs as much as (docs/decisions/0015)
_MOST_CANDIDATES = 8


@dataclass
class _Candidate:
    """A plan that some period would have chosen, what it was chosen by, and the rent paid for not having it."""

    plan: AnyJoin
    statistics: Statistics
    rent: float = 0.0


@dataclass(frozen=True)
class Surroundings:
    """What the rule needs to know of its view.

    Args:
        plan: Gives the plan for some statistics.
        observe: Gives sizes and distinct keys of the tables, from the changes of each since it was asked last.
        rows: Gives the number of rows that a rebuild loads.
        move: Rebuilds the view with a plan that was chosen by some statistics; after an error it is as before.
    """

    plan: Callable[[Statistics], AnyJoin]
    observe: Callable[[Mapping[str, int]], Statistics]
    rows: Callable[[], float]
    move: Callable[[AnyJoin, Statistics], None]


class Adaptive:
    """The running figures of one view and the rule that moves it; mutable.

    Args:
        name: The view's name.
        around: The figures and the tables around the view.
        given: The user's figures of the tables; running figures replace the numbers.
    """

    def __init__(self, name: str, around: Surroundings, given: Statistics) -> None:
        self.moves = 0
        self._name = name
        self._around = around
        self._given = given
        self._changes: dict[str, int] = {}
        self._passed: dict[tuple[str, str], tuple[int, int]] = {}
        self._before = (self._changes, self._passed)
        self._candidates: dict[str, _Candidate] = {}
        self._last: tuple[object, ...] = ()

    @property
    def told(self) -> str:
        """What an explanation says of it."""
        moved = "" if self.moves == 0 else f", {self.moves} times so far"
        return f"The view is adaptive: it moves to another join tree when the stream changes{moved}."

    def note(self, events: Sequence[TableEvents], query: ConjunctiveQuery) -> None:
        """Count the changes of a commit.

        Args:
            events: The events of each table that changes.
            query: The join's query.
        """
        for part in events:
            self._changes[part.table] = self._changes.get(part.table, 0) + part.rows.shape[0]
            self._note_passing(query, part)

    def forget(self) -> None:
        """Take back what was noted since the last `reconsider`: the commit failed."""
        self._changes, self._passed = self._before

    def reconsider(self, current: AnyJoin) -> None:
        """Between two commits: move the view if that has come to be worth it.

        Cost: O(1), and at the end of a period that of planning and O(rows log rows) to look at the tables.

        Args:
            current: The plan in use.
        """
        self._before = (dict(self._changes), dict(self._passed))
        changes = sum(self._changes.values())
        if changes < PERIOD or changes < (rows := self._around.rows()):
            return
        running = self._running()
        used = _work(current, running)
        if (coarse := _coarse(running)) != self._last:
            plan = self._around.plan(running)
            self._candidates.setdefault(plan.physical.digest, _Candidate(plan, running))
            self._last = coarse
        if not self._candidates:
            self._begin_period()
            return
        for candidate in self._candidates.values():
            candidate.rent = max(0.0, candidate.rent + used - _work(candidate.plan, running))
        self._begin_period()
        best = max(self._candidates.values(), key=lambda candidate: candidate.rent)
        works = _work(best.plan, running)
        if best.rent > LOAD * rows and used >= MARGIN * works:
            self._move(
                current, best, f"{changes:,} changes ({_shares(running)}): {used:,.0f} visits against {works:,.0f}"
            )
        kept = sorted(self._candidates.items(), key=lambda item: -item[1].rent)[:_MOST_CANDIDATES]
        self._candidates = {key: candidate for key, candidate in kept if candidate.rent > 0}

    def _begin_period(self) -> None:
        self._changes, self._passed = {}, {}
        self._before = ({}, {})

    def _move(self, current: AnyJoin, best: _Candidate, why: str) -> None:
        route = f"from {tree_lines(_alone(current))} to {tree_lines(_alone(best.plan))} after {why}"
        begin = time.perf_counter()
        self._candidates.clear()
        try:
            self._around.move(best.plan, best.statistics)
        except Exception as error:
            if raised_by_handler(error):
                raise
            logger.warning("view %r stays as it is: moving %s failed: %s", self._name, route, error)
            return
        self.moves += 1
        logger.info("view %r moved %s; rebuilt in %.3f s", self._name, route, time.perf_counter() - begin)

    def _note_passing(self, query: ConjunctiveQuery, part: TableEvents) -> None:
        """How many insertions each predicate of a join lets through; a NULL key does not pass either."""
        for position, atom in enumerate(query.atoms):
            if atom.table.name == part.table and atom.predicate is not None:
                masks = part.masks[part.weights > 0]
                seen, passed = self._passed.get((part.table, atom.predicate.text), (0, 0))
                now = int(np.count_nonzero((masks >> position) & 1))
                self._passed[part.table, atom.predicate.text] = (seen + masks.shape[0], passed + now)

    def _running(self) -> Statistics:
        """The figures of this period, over what was given."""
        tables = []
        for seen in self._around.observe(self._changes).tables:
            passing = tuple(
                (predicate, Figure(passed / total, "observed"))
                for (table, predicate), (total, passed) in sorted(self._passed.items())
                if table == seen.table and total
            )
            changes = Figure(self._changes.get(seen.table, 0), "observed")
            tables.append(TableStatistics(seen.table, changes, seen.rows, seen.distinct, passing))
        return Statistics(tuple(tables)).over(self._given)


def _alone(plan: AnyJoin) -> AnyJoin:
    """A join without what maintains the relations that it reads."""
    return replace(plan, inputs=())


def _work(plan: AnyJoin, statistics: Statistics) -> float:
    """Visits that a join alone is expected to make."""
    return predicted_work(_alone(plan), statistics)


def _coarse(statistics: Statistics) -> tuple[object, ...]:
    """The figures in powers of two: while they stay, so does the planner's choice, but for close calls."""
    total = sum(table.changes.value or 0 for table in statistics.tables) or 1

    def power(value: float | None) -> int | None:
        return None if value is None else round(math.log2(1 + value))

    return tuple(
        (
            table.table,
            power(None if table.changes.value is None else 1000 * table.changes.value / total),
            power(table.rows.value),
            tuple(power(figure.value) for _, figure in table.distinct),
            tuple(power(None if figure.value is None else 1000 * figure.value) for _, figure in table.passing),
        )
        for table in statistics.tables
    )


def _shares(statistics: Statistics) -> str:
    return ", ".join(f"{table.table}: {table.changes.value:,.0f}" for table in statistics.tables if table.changes.value)


def surroundings(
    node: Node,
    tables: Mapping[str, BaseTable],
    replan: Callable[[AnyJoin, Statistics], AnyJoin],
) -> Surroundings:
    """What the rule needs to know of a join; of derived relations it sees that rows of theirs are loaded, no more.

    Args:
        node: The join's node.
        tables: The base tables by name in lower case.
        replan: Gives the plan of a join for other statistics.
    """
    seen: dict[str, TableStatistics] = {}
    stale: dict[str, int] = {}

    def leaf() -> AnyJoin:
        assert isinstance(node.plan, AnyJoin)
        return node.plan

    def rows() -> float:
        """A row is loaded once for every atom over its table."""
        names = (atom.table.name.lower() for atom in leaf().physical.query.atoms)
        bases = sum(tables[name].rows for name in names if name in node.reads)
        return bases + sum(one.size() for one in node.inputs)

    def observe(changes: Mapping[str, int]) -> Statistics:
        """Tables are looked at again when a quarter of their rows may be others."""
        for name, number in changes.items():
            stale[name] = stale.get(name, 0) + number
        bases = {tables[name].table.name: tables[name] for name in node.reads}
        looked = [name for name, base in bases.items() if name not in seen or 4 * stale.get(name, 0) > base.rows]
        for table in observe_tables({name.lower(): bases[name] for name in looked}, [leaf().physical.query]).tables:
            seen[table.table] = table
            stale[table.table] = 0
        return Statistics(tuple(seen[name] for name in bases if name in seen))

    def move(plan: AnyJoin, known: Statistics) -> None:
        node.move(node.in_form(plan), known)

    return Surroundings(plan=lambda known: replan(leaf(), known), observe=observe, rows=rows, move=move)
