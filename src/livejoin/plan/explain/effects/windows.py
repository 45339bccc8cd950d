"""What a change does to the rows of a window: those whose ranks or whose aggregates change with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from livejoin.plan.explain.effects.amount import NOTHING, Amount, Growth
from livejoin.plan.explain.effects.change import Change, pairs, replaced
from livejoin.plan.explain.effects.drawn import Draws
from livejoin.plan.explain.effects.nested import Some, keeps, origin_of
from livejoin.plan.explain.effects.ordered_rows import FirstRanks, first_ranks, near
from livejoin.plan.explain.effects.sizes import Sizes
from livejoin.plan.operators import Operator, RankedOperator, RunningOperator
from livejoin.query.orders import EVERY_RANK, RangeAround, RowsAround, Tiles

Below: TypeAlias = Callable[[Operator, Some], Change]
"""What the change does to a relation below, and to the different values of some of its columns."""

Behind: TypeAlias = Callable[[Operator, tuple[int, ...]], Amount]
"""The rows of a relation that have the same values in some columns."""


class Windows:
    """What a change does to windows; mutable: it gathers what is looked up in each.

    Args:
        below: A function that says what the change does below.
        behind: A function that says how many rows a partition has.
        sizes: The most rows and values of relations.
        draws: The rows that are drawn of relations.
        looked_up: The rows that are looked up in each store, to which those of windows are added.
    """

    def __init__(
        self, below: Below, behind: Behind, sizes: Sizes, draws: Draws, looked_up: dict[Operator, Amount]
    ) -> None:
        self._below = below
        self._behind = behind
        self._sizes = sizes
        self._draws = draws
        self._looked_up = looked_up

    def of(self, plan: RankedOperator | RunningOperator, some: Some) -> Change:
        """What it does to the rows of a window, and to the different values of some columns."""
        below = self._below(plan.input, None)
        if below.delta == NOTHING:
            return below
        match plan:
            case RankedOperator() if plan.ranks_all:
                found = self._moved(plan, some)
                if plan.function == "dense_rank":
                    found = self._few_moved(plan, found, below)
            case RankedOperator() if not plan.keys:  # each copy of a row has a number, the last one comes or goes
                self._looked_up[plan] = below.delta
                return replace(below, different=below.delta)
            case RankedOperator():
                return self._first(plan, below, some)
            case RunningOperator():
                found = self._moved(plan, some) if plan.moves else self._around(plan, below, some)
        self._looked_up[plan] = found.rows
        if some is not None and some <= frozenset(plan.partition):
            return replace(found, different=self._below(plan.input, some).different)
        return found

    def without_ranks(self, plan: RankedOperator) -> Change | None:
        """What it does to the rows with the first ranks, where nobody sees which rank each has; None if unknown."""
        below, first = self._below(plan.input, None), self._first_ranks(plan)
        if first is None or below.delta == NOTHING:
            return None
        each = first.among + first.entering
        found = below.delta.times(Amount(each, 2.0 if plan.function == "row_number" else None))
        if found.most is None:
            found = replace(found, most=self._partition(plan).most)
        return Change(found, found, found, both_ways=True)

    def _moved(self, plan: RankedOperator | RunningOperator, some: Some) -> Change:
        """Rows of whose partitions all behind the changed ones change too."""
        parts = self._below(plan.input, frozenset(plan.partition)).different
        behind = self._partition(plan).halved()  # the row itself, and those that follow it
        return pairs(plan, parts.times(behind).bounded().among(self._sizes.rows(plan.input)), some)

    def _few_moved(self, plan: RankedOperator, found: Change, below: Change) -> Change:
        """The change of dense ranks, where a row with the value of another one moves nobody."""
        rows = self._draws.of(plan.input)
        ranks = None if rows is None else first_ranks(plan, rows)
        if ranks is None or below.delta.expected is None:
            return found
        changed = replace(found.rows, expected=(1 + ranks.shifted) * below.delta.expected, is_bound=False)
        delta = replace(found.delta, expected=(1 + 2 * ranks.shifted) * below.delta.expected, is_bound=False)
        return replace(found, rows=changed, delta=delta)

    def _around(self, plan: RunningOperator, below: Change, some: Some) -> Change:
        """Rows that change, and those that have one of them in their frames, or show its value."""
        here = frozenset((*plan.partition, *(key.column for key in plan.keys)))
        places = below.rows if keeps(plan.input, here) else below.delta  # a row that is replaced is at one place
        moved = places.times(self._others(plan)).among(self._sizes.rows(plan.input))
        rows, delta = below.rows.plus(moved), below.delta.plus(replaced(moved))
        different = delta if some is None or not keeps(plan, some) else rows
        if plan.others < math.inf and some is not None and self._is_by_partition(plan, some):
            one = Amount(1.0 + plan.others, None)  # all rows that change show one value, and one before that
            different = replace(places.times(one), most=delta.most, is_size=delta.is_size)
        return Change(rows, different, delta, both_ways=True)

    def _is_by_partition(self, plan: RunningOperator, some: frozenset[int]) -> bool:
        """Whether some columns of the input are the same ones as those of the partition."""
        columns = tuple(sorted(column for column in some if column < len(plan.input.types)))
        if set(columns) <= set(plan.partition):
            return True
        here, there = origin_of(plan.input, columns), origin_of(plan.input, plan.partition)
        if here is None or there is None or (here.query, here.atom) != (there.query, there.atom):
            return False
        return set(here.columns) <= set(there.columns)

    def _partition(self, plan: RankedOperator | RunningOperator) -> Amount:
        """The rows of a partition."""
        return self._behind(plan.input, plan.partition).among(self._sizes.rows(plan.input))

    def _others(self, plan: RunningOperator) -> Amount:
        """The other rows whose results depend on a row, where these are not all behind it."""
        whole, frame = self._partition(plan), plan.frame
        if isinstance(frame, RangeAround):
            others = self._near(plan, frame, whole)
        elif isinstance(frame, (RowsAround, Tiles)):
            others = whole.capped(_most_around(plan)).less(1.0).bounded()
        elif all(call.function == "lag" for call in plan.calls):
            others = whole.less(1.0).capped(plan.others)
        else:
            others = (whole.halved() if plan.is_behind else whole).less(1.0).bounded()
        if plan.others == math.inf:
            return others
        fewer = math.inf if others.expected is None else others.expected
        return Amount(min(fewer, plan.others), others.most, True, is_size=others.is_size)

    def _near(self, plan: RunningOperator, frame: RangeAround, whole: Amount) -> Amount:
        """The other rows that have a row in their frames of a distance."""
        (key,) = plan.keys
        rows = self._draws.of(plan.input)
        found = None if rows is None else near(rows, plan.partition, key, plan.input.types[key.column], frame)
        if found is None:
            return whole.less(1.0).bounded()
        origin = origin_of(plan.input, (key.column,))
        name = "the window" if origin is None else origin.table.columns[origin.columns[0]].name
        cause = f"rows within the distance of {name}"
        if found.most is None:
            return Amount(found.expected, whole.most, False, (cause,), Growth.KEY, True)
        return Amount(found.expected, found.most, False, (cause,), Growth.KEY)

    def _first(self, plan: RankedOperator, below: Change, some: Some) -> Change:
        """Rows with the first ranks of a partition: each rank is of another row than before, and the last leaves."""
        self._looked_up[plan] = below.delta
        found, ranks = self._first_ranks(plan), float(plan.limit)
        each = below.rows if keeps(plan.input, frozenset(plan.partition)) else below.delta
        if plan.function == "row_number" and plan.limit < EVERY_RANK:
            most = ranks if ranks == 1 else ranks + 1.0
            rows, delta = each.times(Amount(most, most)).bounded(), each.times(Amount(2 * ranks, 2 * ranks)).bounded()
        else:  # rows with equal keys have one rank
            parts = self._below(plan.input, frozenset(plan.partition)).different
            rows = parts.times(self._behind(plan.input, plan.partition)).bounded()
            rows = rows.among(self._sizes.rows(plan.input))
            delta = replaced(rows)
        if found is not None and below.delta.expected is not None:
            changed = found.among + found.entering + found.shifted
            rows = replace(rows, expected=changed * below.delta.expected, is_bound=False)
            delta = replace(delta, expected=(changed + found.shifted) * below.delta.expected, is_bound=False)
        return replace(pairs(plan, rows, some), delta=delta)

    def _first_ranks(self, plan: RankedOperator) -> FirstRanks | None:
        rows = self._draws.of(plan.input) if plan.is_limited and plan.limit < EVERY_RANK else None
        return None if rows is None else first_ranks(plan, rows)


def _most_around(plan: RunningOperator) -> float:
    """The rows around one, itself among them, whose results change with it."""
    if isinstance(plan.frame, RowsAround):
        before, behind = plan.frame.before, plan.frame.behind
        return float(max(before, -behind, 0) + max(behind, -before, 0) + 1)
    if isinstance(plan.frame, Tiles):  # the row itself, and one at each border
        return float(plan.frame.number)
    return math.inf
