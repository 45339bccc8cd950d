"""What a change does to what is stored above joins: groups, ordered rows, equal rows, and pairs of an inequality.

Every row that changes below is a look-up in the store. A row of a group that takes another one's place is one row that
changes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeAlias, assert_never

from livejoin.plan.explain.effects.amount import NOTHING, ONE, Amount, Growth, total
from livejoin.plan.explain.effects.change import TWO, Change, pairs, replaced
from livejoin.plan.explain.effects.drawn import Draws
from livejoin.plan.explain.effects.expected_rows import ExpectedRows
from livejoin.plan.explain.effects.figures import Figures, Matched
from livejoin.plan.explain.effects.nested import Some, origin_of
from livejoin.plan.explain.effects.reach import grown, reach
from livejoin.plan.explain.effects.sizes import Sizes
from livejoin.plan.explain.effects.windows import Below, Windows
from livejoin.plan.operators import (
    AggregateOperator,
    AnnotatedOperator,
    AsOfOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    JoinOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    StoredOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
)
from livejoin.query.orders import EVERY_ROW
from livejoin.schema import Table

Store: TypeAlias = (
    SetOperator
    | AggregateOperator
    | TopKOperator
    | RankedOperator
    | RunningOperator
    | ThresholdOperator
    | ThresholdAggregateOperator
    | AsOfOperator
    | InequalityAggregateOperator
    | InequalityJoinOperator
)
"""The operators that keep rows above joins."""


class Stores:
    """What a change does to stores; mutable: it gathers what is looked up in each.

    Args:
        table: The table that changes.
        below: A function that says what the change does below a store.
        figures: The known figures of the tables.
        sizes: The most rows and values of relations.
        draws: The rows that are drawn of relations.
    """

    def __init__(self, table: Table, below: Below, figures: Figures, sizes: Sizes, draws: Draws) -> None:
        self._there = figures.rows(table)
        self._below = below
        self._figures = figures
        self._sizes = sizes
        self._draws = draws
        self._expected = ExpectedRows(figures, sizes, draws)
        self.looked_up: dict[Operator, Amount] = {}
        self.sources: list[str] = []
        self.windows = Windows(below, self._behind, sizes, draws, self.looked_up)

    def of(self, plan: Store, some: Some) -> Change:
        """What it does to the rows of a store, and to the different values of some columns."""
        match plan:
            case SetOperator():
                return self._set(plan)
            case AggregateOperator():
                below = self._below(plan.input, frozenset(range(plan.groups)))
                may_stay = any(call.function in _MAY_STAY or call.distinct for call in plan.calls)
                found = self._stored(plan, below, below.different.bounded() if may_stay else below.different)
                if plan.writes_lists:
                    values = self._behind(plan.input, tuple(range(plan.groups))).among(self._sizes.rows(plan.input))
                    self.looked_up[plan] = self.looked_up[plan].plus(below.different.times(values))
                return pairs(plan, found.rows, some)
            case TopKOperator():
                return self._first_rows(plan, self._below(plan.input, None))
            case RankedOperator() | RunningOperator():
                return self.windows.of(plan, some)
            case ThresholdOperator() if plan.watched is not None:
                return self._closed(plan)
            case ThresholdOperator():
                return self._within(plan, self._below(plan.rows, None).rows)
            case ThresholdAggregateOperator():
                return self._within(plan, self._below(plan.rows, None).rows)
            case AsOfOperator():
                return self._as_of(plan)
            case InequalityAggregateOperator():
                return self._compared(plan)
            case InequalityJoinOperator():
                return self._met(plan)
            case _:
                assert_never(plan)

    def _set(self, plan: SetOperator) -> Change:
        if plan.is_union_all:
            sides = [self._below(one, None) for one in plan.inputs]
            rows = total(one.rows for one in sides)
            delta = total(one.delta for one in sides)
            return Change(rows, delta, delta, any(one.both_ways for one in sides))
        sides = [self._below(one, frozenset(range(len(plan.types)))) for one in plan.inputs]
        rows = total((one.delta if plan.all else one.different) for one in sides).bounded()
        self.looked_up[plan] = total(one.delta for one in sides)
        several = plan.operation == "except" and all(one.delta != NOTHING for one in sides)
        return Change(rows, rows, rows, several or any(one.both_ways for one in sides))

    def _stored(self, plan: Operator, below: Change, rows: Amount) -> Change:
        """What changes above a store, in which every row that changes below is looked up."""
        self.looked_up[plan] = replaced(below.delta) if _counts_copies(plan) else below.delta
        return Change(rows, rows, rows, both_ways=True)

    def _first_rows(self, plan: TopKOperator, below: Change) -> Change:
        """The first rows: where one of these goes another one comes in, and a change of a later one is not seen."""
        self.looked_up[plan] = replaced(below.delta) if _counts_copies(plan) else below.delta
        if plan.limit >= EVERY_ROW:
            rows = below.rows.times(TWO)
            return Change(rows, rows, rows, both_ways=True)
        limit = float(plan.limit)
        first = self._among_first(plan, limit + plan.offset)
        if first is None:  # of groups in the order of their sums those that change often may come first
            rows, delta = below.rows.bounded(), below.rows.times(TWO).bounded()
        else:
            share, is_full = first
            rows = below.rows.times(Amount(share, 1.0))
            delta = rows.times(Amount(1.0 + is_full, 2.0))
        delta = delta.capped(2.0 * limit)
        return Change(rows.capped(limit), delta, delta, both_ways=True)

    def _among_first(self, plan: TopKOperator, first: float) -> tuple[float, bool] | None:
        """The share of the rows that are among the first ones, and whether there are others; None if unknown."""
        if not _is_joined(plan.input):
            return None
        there, is_bound = self._expected.of(plan.input)
        if is_bound or there == math.inf:
            return None
        return min(1.0, first / max(1.0, there)), there > first

    def _closed(self, plan: ThresholdOperator) -> Change:
        """Windows of time that have ended: each comes once, when the watermark of its table has passed its end.

        So n rows let in as many windows as they are in, one after the other, in whatever commits they come.
        """
        own, there = self._below(plan.rows, None), self._there
        if own.delta == NOTHING:
            return own
        windows, is_bound = self._expected.of(plan.rows)
        found = Amount(None, None, is_bound)
        if there is not None and windows < math.inf:
            self.sources.append(there.source)
            found = Amount(windows / max(1.0, there.expected), windows, is_bound, is_size=True)
        self.looked_up[plan] = own.delta.plus(found)
        return Change(found, found, found)

    def _within(self, plan: ThresholdOperator | ThresholdAggregateOperator, rows: Amount) -> Change:
        """Rows that come and go, and those that a bound lets in or out as it moves."""
        bounds, own = self._below(plan.bounds, None), self._below(plan.rows, None)
        key = tuple(range(plan.keys))
        each = self._behind(plan.rows, key)  # one of n rows that make a bound moves it by an n-th
        let = bounds.rows.times(each.between(self._behind(plan.bounds, key)))
        looked_up = own.delta.plus(bounds.delta)
        match plan:
            case ThresholdOperator():
                found = rows.plus(let).bounded()
                self.looked_up[plan] = looked_up.plus(let)
                return Change(found, found, found, both_ways=True)
            case ThresholdAggregateOperator():
                groups = Amount(None, None, True, ("groups of the result",), Growth.KEY) if plan.groups else ONE
                moved = bounds.rows.times(groups)
                found = rows.plus(moved).bounded()
                self.looked_up[plan] = looked_up.plus(moved)
                return Change(found, replaced(found), replaced(found), both_ways=True)
            case _:
                assert_never(plan)

    def _as_of(self, plan: AsOfOperator) -> Change:
        """Left rows that come and go, and those up to the next right row where one of these does."""
        left, right = self._below(plan.left, None), self._below(plan.right, None)
        each = self._behind(plan.left, plan.on.left_keys).between(self._behind(plan.right, plan.on.right_keys))
        matched = self._matched(plan)
        if matched is not None:
            each = replace(each, expected=matched[1], most=matched[0].most, is_size=False)
        moved = right.delta.times(each)
        self.looked_up[plan] = left.delta.plus(right.delta).plus(moved)
        rows, came = left.rows, left.delta
        if not plan.on.is_optional:  # a row without one in front of it is none of the result
            has_one = ONE.bounded() if matched is None else Amount(matched[0].share, 1.0, True)
            rows, came = rows.times(has_one), came.times(has_one)
        delta = came.plus(replaced(moved))
        return Change(rows.plus(moved), delta, delta, both_ways=True)

    def _matched(self, plan: AsOfOperator) -> tuple[Matched, float] | None:
        """The left rows whose key right rows have, and how many there are for each of these; None if unknown."""
        here, there = origin_of(plan.left, plan.on.left_keys), origin_of(plan.right, plan.on.right_keys)
        if here is None or there is None or not here.columns or max(len(here.query.atoms), len(there.query.atoms)) > 1:
            return None
        found = self._figures.matched(here.table, here.columns, there.table, there.columns)
        left, right = self._figures.rows(here.table), self._figures.rows(there.table)
        if found is None or left is None or right is None:
            return None
        return found, left.expected * found.share / max(1.0, right.expected)

    def _compared(self, plan: InequalityAggregateOperator) -> Change:
        """The groups of the pairs of a changed row; the rows of the other side are looked at one by one or by sums."""
        sides = self._below(plan.left, None), self._below(plan.right, None)
        key = tuple(range(plan.keys))
        groups, looked_up = NOTHING, NOTHING
        for own, other, below in ((0, 1, plan.right), (1, 0, plan.left)):
            parts = plan.sides[other].groups
            each = self._behind(below, key).among(self._sizes.values(below, parts)) if parts else ONE
            groups = groups.plus(sides[own].rows.times(each))
            looked_up = looked_up.plus(sides[own].delta).plus(sides[own].rows.times(each))
        self.looked_up[plan] = looked_up
        found = groups.bounded()
        return Change(found, replaced(found), replaced(found), both_ways=True)

    def _met(self, plan: InequalityJoinOperator) -> Change:
        """The pairs of a changed row: the rows of the other side within its range."""
        left, right = self._below(plan.left, None), self._below(plan.right, None)
        key = tuple(range(plan.keys))
        behind, before = self._behind(plan.right, key), self._behind(plan.left, key)
        if _compares_itself(plan):  # of two rows one alone is in front of the other one
            behind, before = behind.halved(), before.halved()
        met = left.rows.times(behind).plus(right.rows.times(before)).bounded()
        pairs, lefts, rights = self._draws.of(plan), self._draws.of(plan.left), self._draws.of(plan.right)
        found = met
        if pairs is not None and lefts is not None and rights is not None:
            behind = replace(behind, expected=pairs.rows / max(1.0, lefts.rows), is_bound=False)
            before = replace(before, expected=pairs.rows / max(1.0, rights.rows), is_bound=False)
            found = left.rows.times(behind).plus(right.rows.times(before))
        self.looked_up[plan] = left.delta.plus(right.delta).plus(met if plan.skips else found)
        return Change(found, found, found, both_ways=True)

    def _behind(self, plan: Operator, columns: tuple[int, ...]) -> Amount:
        """The rows of a relation that have the same values in some columns: of a partition, or of a bound."""
        found = origin_of(plan, columns)
        if found is None:
            cause = f"{_what(plan)} per key" if columns else _what(plan)
            return Amount(None, None, True, (cause,), Growth.KEY if columns else Growth.TABLE)
        query, atom, places, table = found.query, found.atom, found.columns, found.table
        figure = (
            self._figures.meeting(table, places, table, places, nulls=True) if places else self._figures.rows(table)
        )
        cause = grown(table, places)
        growth = Growth.KEY if places else Growth.TABLE
        if figure is None:
            return Amount(None, None, True, (cause,), growth)
        self.sources.append(figure.source)
        same = Amount(figure.expected, figure.most, True, (cause,), growth, figure.is_size)
        return same if len(query.atoms) == 1 else same.times(reach(query, atom, None, self._figures).results)


def _compares_itself(plan: InequalityJoinOperator) -> bool:
    """Whether rows of one table are compared with one another, by the same column on both sides."""
    columns = tuple(range(plan.keys + 1))  # the key, and what is compared behind it
    left, right = origin_of(plan.left, columns), origin_of(plan.right, columns)
    if plan.bounds != 1 or left is None or right is None or max(len(left.query.atoms), len(right.query.atoms)) > 1:
        return False
    is_all = left.is_each and right.is_each  # of some rows on the left and others on the right more may fit
    return is_all and (left.table.name, left.columns) == (right.table.name, right.columns)


_MAY_STAY = ("min", "max", "min_by", "max_by", "mode", "percentile_cont", "percentile_disc", "bool_and", "bool_or")


def _is_joined(plan: Operator) -> bool:
    """Whether rows are those of tables, or of joins of tables, and no groups."""
    while isinstance(plan, (ProjectOperator, StoredOperator)):
        plan = plan.below[0]
    return isinstance(plan, (SelectedOperator, JoinOperator)) and not plan.named


def _counts_copies(plan: Operator) -> bool:
    """Whether what comes to a store are results with numbers of copies, of which an old one and a new one come."""
    while len(plan.below) == 1:
        plan = plan.below[0]
        if not isinstance(plan, (ProjectOperator, SelectedOperator, StoredOperator)):
            break
    return isinstance(plan, JoinOperator) and bool(plan.query.sums)


def _what(plan: Operator) -> str:
    """What the rows of a relation are that is no table."""
    while isinstance(plan, (ProjectOperator, SelectedOperator, StoredOperator)) and len(plan.below) == 1:
        plan = plan.below[0]
    return "groups" if isinstance(plan, (AggregateOperator, AnnotatedOperator)) else "rows of a nested query"
