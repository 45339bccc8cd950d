"""What one change of each table of a query does: the rows that it meets on its way, and those of the result it changes.

A change goes through the operators from below. At a join each occurrence of the table is a start of its own
(`livejoin.plan.explain.effects.reach`); above it every row that changes is a look-up in what is stored there. A row of
a group that takes another one's place is one row that changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from livejoin.families.nodes import MadeRelation, MakesRelations
from livejoin.plan.explain.effects.amount import NOTHING, ONE, Amount, Growth, total
from livejoin.plan.explain.effects.as_read import as_read, only_rows
from livejoin.plan.explain.effects.asked import on_average
from livejoin.plan.explain.effects.drawn import Draws, at_least
from livejoin.plan.explain.effects.expected_rows import ExpectedRows
from livejoin.plan.explain.effects.figures import Figures, Matched
from livejoin.plan.explain.effects.linked import by_links, linked_rows
from livejoin.plan.explain.effects.nested import Nested, Some, keeps, origin_of, read_by
from livejoin.plan.explain.effects.reach import (
    Columns,
    Reach,
    called_above,
    columns_by_variable,
    grown,
    is_asked,
    is_optional,
    reach,
    tells_apart,
)
from livejoin.plan.explain.effects.sizes import Sizes
from livejoin.plan.explain.effects.stored import StoredStep, is_last_alone, stored_words
from livejoin.plan.operators import (
    AggregateOperator,
    AnnotatedOperator,
    AnyJoin,
    AsOfOperator,
    BagOperator,
    InequalityAggregateOperator,
    InequalityJoinOperator,
    JoinOperator,
    NumbersOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RepeatedOperator,
    RunningOperator,
    SelectedOperator,
    SetOperator,
    StoredOperator,
    ThresholdAggregateOperator,
    ThresholdOperator,
    TopKOperator,
    upwards,
)
from livejoin.query import Atom
from livejoin.query.orders import EVERY_RANK, EVERY_ROW, RangeAround, RowsAround, Tiles
from livejoin.schema import Table


@dataclass(frozen=True)
class Way:
    """Where a change goes in one join, from one occurrence of the table or of what it changed before.

    Args:
        alias: The occurrence.
        reach: The steps from there.
        through: The nested query whose rows the change changed before, in words; empty for a row of the table itself.
        begin: The rows that go this way: 1 of the table itself.
        atoms: The aliases of the join.
    """

    alias: str
    reach: Reach
    through: str = ""
    begin: Amount = ONE
    atoms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Effect:
    """What one change of a table is expected to do.

    Args:
        table: The table.
        promise: ``static`` if it never changes, ``append-only`` if rows are never deleted, else empty.
        met: The rows of tables and nested queries that it is combined with in joins.
        result: The rows of the result that it adds, takes away or replaces.
        looked_up: The rows that it looks up in what is stored above joins, as groups, distinct and ordered rows.
        delta: The rows of the result's delta, in which a row that is replaced is two.
        ways: Where it goes, from each occurrence of the table, those of nested queries first.
        conditions: The conditions that each combination of rows is checked for after it was found.
        sources: Where the figures are from.
        stored: The steps to rows that are stored above joins, from below.
    """

    table: str
    promise: Literal["", "static", "append-only"]
    met: Amount
    result: Amount
    looked_up: Amount = NOTHING
    delta: Amount = NOTHING
    ways: tuple[Way, ...] = ()
    conditions: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    stored: tuple[StoredStep, ...] = ()

    @property
    def growth(self) -> Growth:
        """How what it costs grows with the tables."""
        return max(self.met.growth, self.looked_up.growth, self.result.growth)

    @property
    def causes(self) -> tuple[str, ...]:
        """What that grows with, in words."""
        return tuple(dict.fromkeys((*self.met.causes, *self.looked_up.causes, *self.result.causes)))

    @property
    def last_alone(self) -> bool:
        """Whether a row that comes behind all others in the order of a window changes itself alone."""
        grown = [one for one in self.stored if one.rows.growth]
        return bool(grown) and not self.met.growth and all(one.last_alone for one in grown)

    @property
    def is_known(self) -> bool:
        """Whether there are figures for all of it."""
        return None not in (self.met.expected, self.looked_up.expected, self.result.expected)


def effects(plan: Operator, tables: tuple[Table, ...], figures: Figures) -> tuple[Effect, ...]:
    """What a change of each table does, those that cost most first and those that never change last.

    Cost: operators times atoms cubed, and that of the figures, each once.

    Args:
        plan: The operators that maintain the query.
        tables: The tables of the query.
        figures: The known figures of the tables.
    """
    sizes, draws = Sizes(figures), Draws(figures)
    found = [_effect(plan, table, figures, sizes, draws) for table in tables]
    return tuple(sorted(found, key=lambda one: (one.promise == "static", -one.growth, -_size(one))))


def _size(one: Effect) -> float:
    there = one.met.plus(one.looked_up).expected
    return -1.0 if there is None else there


def _effect(plan: Operator, table: Table, figures: Figures, sizes: Sizes, draws: Draws) -> Effect:
    promise: Literal["", "static", "append-only"] = (
        "static" if table.static else "append-only" if table.append_only else ""
    )
    if table.static:
        return Effect(table.name, promise, NOTHING, NOTHING)
    walk = _Walk(table, figures, sizes, draws)
    change = walk.of(plan, None)
    ways = tuple(way for found in walk.ways.values() for way in found)
    above_first = (way for found in reversed([*walk.ways.values()]) for way in found)
    met = total(way.begin.times(way.reach.met) for way in above_first)
    hops = (hop for way in ways for hop in way.reach.hops if hop.kept)
    sources = dict.fromkeys(source for source in (*(hop.source for hop in hops), *walk.sources) if source)
    conditions = dict.fromkeys(one.across for one in upwards(plan) if isinstance(one, ProjectOperator) and one.across)
    return Effect(
        table.name,
        promise,
        met,
        change.rows,
        total(walk.looked_up.values()),
        change.delta,
        ways,
        tuple(conditions),
        tuple(sources),
        tuple(walk.stored()),
    )


@dataclass(frozen=True)
class _Change:
    """What a change does to a relation.

    Args:
        rows: The rows that change.
        different: The different values of some columns of these.
        delta: The rows of the delta, in which one that takes another one's place comes and the other one goes.
        both_ways: Whether some rows may come while others go.
    """

    rows: Amount
    different: Amount
    delta: Amount
    both_ways: bool = False

    def within(self, rows: float, different: float) -> _Change:
        """No more of it than there are: each row goes and another one comes, or only one of these.

        Args:
            rows: The most rows that the relation has.
            different: The most different values of the columns.
        """
        both = rows * (1 + self.both_ways)
        at_most = both if self.delta == self.rows else rows
        changed, delta = self.rows.among(at_most), self.delta.among(both)
        return replace(self, rows=changed, different=self.different.among(different), delta=delta)

    def bounded(self) -> _Change:
        """At most that."""
        return replace(self, rows=self.rows.bounded(), different=self.different.bounded(), delta=self.delta.bounded())


_UNTOUCHED = _Change(NOTHING, NOTHING, NOTHING)
_ITSELF = _Change(ONE, ONE, ONE)


@dataclass(frozen=True)
class _Start:
    """Where a change comes to a join.

    Args:
        position: The atom.
        inner: The relation of the atom, if it is of a nested query.
        columns: The columns of all atoms by their variables.
        nested: The facts about the relations of nested queries.
    """

    position: int
    inner: Operator | None
    columns: tuple[Columns, ...]
    nested: Mapping[str, Nested]

    @property
    def joined(self) -> frozenset[int]:
        """The columns of the atom that other ones are compared with."""
        own = self.columns[self.position]
        others = [there for atom, there in enumerate(self.columns) if atom != self.position]
        return frozenset(column for v, column in own.items() if any(v in there for there in others))


class _Walk:
    """A change of one table on its way up; mutable: it gathers the ways that it went, and what it looked up.

    Each operator counts once, however many read it.
    """

    def __init__(self, table: Table, figures: Figures, sizes: Sizes, draws: Draws) -> None:
        self._table = table.name.lower()
        self._sizes = sizes
        self._figures = figures
        self._expected = ExpectedRows(figures, sizes, draws)
        self._draws = draws
        self._known: dict[tuple[Operator, Some], _Change] = {}
        self.ways: dict[Operator, list[Way]] = {}
        self.looked_up: dict[Operator, Amount] = {}
        self.sources: list[str] = []

    def stored(self) -> Iterator[StoredStep]:
        """The steps to rows that are stored above joins, from below."""
        for plan, rows in self.looked_up.items():
            if rows != NOTHING:
                sides = [self.of(one, None).delta for one in plan.below]
                several = any(one.most is None or one.most > 1 for one in sides)
                what = stored_words(plan, several, sides[0] != NOTHING, sides[-1] != NOTHING)
                yield StoredStep(what, rows, is_last_alone(plan))

    def of(self, plan: Operator, some: Some) -> _Change:
        """What it does to a relation.

        Args:
            plan: The operators that maintain the relation.
            some: The columns of which different values are counted.
        """
        if (plan, some) not in self._known:
            self._known[plan, some] = self._within_sizes(plan, some, self._of(plan, some))
        return self._known[plan, some]

    def _within_sizes(self, plan: Operator, some: Some, found: _Change) -> _Change:
        """No more of a change than there are rows: what passes rows on has as many as what is below it."""
        if isinstance(plan, (ProjectOperator, StoredOperator)) or (isinstance(plan, SelectedOperator) and plan.inputs):
            return found
        there = self._sizes.rows(plan)
        return found.within(there, there if some is None else self._sizes.values(plan, some))

    def _of(self, plan: Operator, some: Some) -> _Change:
        match plan:
            case JoinOperator() | AnnotatedOperator():
                return self._join(plan, some)
            case SelectedOperator():
                return self._selected(plan, some)
            case ProjectOperator():
                return self._project(plan, some)
            case RepeatedOperator():
                width = len(plan.input.types)
                below = self.of(plan.input, None if some is None else frozenset(c for c in some if c < width))
                each = Amount(float(plan.count), float(plan.count))
                different = below.different.times(each) if some is None or width in some else below.different
                return _Change(below.rows.times(each), different, below.delta.times(each), below.both_ways)
            case SetOperator():
                return self._set(plan)
            case AggregateOperator():
                below = self.of(plan.input, frozenset(range(plan.groups)))
                may_stay = any(call.function in _MAY_STAY or call.distinct for call in plan.calls)
                found = self._stored(plan, below, below.different.bounded() if may_stay else below.different)
                return _pairs(plan, found.rows, some)
            case TopKOperator():
                return self._first_rows(plan, self.of(plan.input, None))
            case RankedOperator():
                below = self.of(plan.input, None)
                if plan.ranks_all:
                    return self._moved(plan, some)
                if not plan.keys:  # the last one of the equal rows comes or goes
                    return replace(self._stored(plan, below, below.delta), both_ways=below.both_ways)
                return self._first_ranks(plan, below, some)
            case RunningOperator():
                if plan.moves or isinstance(plan.frame, RangeAround):  # within it may be all rows of a partition
                    return self._moved(plan, some)
                if any(call.function in _OF_PEERS for call in plan.calls):  # all rows with equal keys
                    return self._moved(plan, some)
                below, each = self.of(plan.input, None), Amount(_around(plan), _around(plan))
                changed = below.delta if below.delta != below.rows else below.rows
                found = self._stored(plan, below, changed.times(each).bounded())
                return _pairs(plan, found.rows, some)
            case ThresholdOperator():
                return self._within(plan, self.of(plan.rows, None).rows)
            case ThresholdAggregateOperator():
                return self._within(plan, self.of(plan.rows, None).rows)
            case AsOfOperator():
                return self._as_of(plan)
            case InequalityAggregateOperator():
                return self._compared(plan)
            case InequalityJoinOperator():
                return self._met(plan)
            case StoredOperator():
                return self.of(plan.input, some)
            case NumbersOperator() | BagOperator():
                return _UNTOUCHED  # constant rows; what a join reads of bags is what it reads itself
            case _:
                assert_never(plan)

    def _join(self, plan: AnyJoin, some: Some) -> _Change:
        query = plan.query
        derived = dict(plan.named)
        own = None if query.free is None else (plan.asked or query.free)
        groups = isinstance(plan, AnnotatedOperator) and bool(query.sums)
        is_distinct = query.free is not None and not query.sums
        wanted = None if some is None else _variables(plan, some)
        rows, different, delta = NOTHING, NOTHING, NOTHING
        both_ways, asked = False, set[bool]()
        below = {name: self.of(one, None) for name, one in derived.items()}
        ways = self.ways[plan] = []
        nested, columns, made = self._sizes.nested(plan), columns_by_variable(query), _made_above(plan)
        linked = linked_rows(plan)
        bags = [one.derived.query for one in plan.below if isinstance(one, BagOperator)]
        in_bags = {inside.table.name for bag in bags for inside in bag.atoms}
        for position, atom in enumerate(query.atoms):
            name = atom.table.name
            if name in below:
                begin = below[name]
            elif name.lower() == self._table:
                begin = _ITSELF
            else:
                continue
            if begin.delta == NOTHING:
                continue
            found = reach(query, position, own, self._figures, nested, made)
            if linked is not None and own is None:
                found = by_links(found, position, linked)
            elif own is None and name not in in_bags:
                found = as_read(found, position, plan, self._figures, nested)
            elif own is not None and name in in_bags:
                found = reach(query, position, None, self._figures, nested).bounded()  # a bag is joined all the same
            if is_distinct and not tells_apart(query, position, query.free or frozenset()):  # it may be there already
                found = found.bounded()
            through = _through(atom) if name in below else ""
            ways.append(Way(atom.alias, found, through, begin.delta, tuple(one.alias for one in query.atoms)))
            start = _Start(position, derived.get(name), columns, nested)
            if own is not None and (groups or is_distinct):
                changed = gone = self._values(plan, start, own)
            else:
                each = begin.rows if start.inner is None or keeps(start.inner, start.joined) else begin.delta
                whole = found if own is None else reach(query, position, None, self._figures, nested)
                results = on_average(whole.results, query, position, self._figures, self._draws, derived)
                changed, gone = each.times(results), begin.delta.times(results)
                if is_asked(query, position):
                    gone = changed
                elif is_optional(query, position):  # a row of NULLs takes the place, or leaves it
                    alone = None if start.inner is not None else only_rows(query, position, self._figures)
                    gone = _replaced(changed) if alone is None else changed.times(Amount(1.0 + alone, 2.0))
            asked.add(is_asked(query, position))
            both_ways |= begin.both_ways or is_optional(query, position) or len(asked) > 1
            rows, delta = rows.plus(changed), delta.plus(gone)
            different = different.plus(gone if wanted is None else self._values(plan, start, wanted))
        if groups and some is not None and max(some, default=-1) >= len(query.head):  # a sum before, and behind it
            different = _replaced(rows)
        return _Change(rows, different, _replaced(rows) if groups else delta, groups or both_ways)

    def _values(self, plan: AnyJoin, start: _Start, wanted: frozenset[str]) -> Amount:
        """The different values of some variables that a change has which comes to one atom.

        Those of this atom are its own: of the others there may be as many as their columns have.
        """
        query, inner = plan.query, start.inner
        wanted = called_above(query, wanted)
        own = start.columns[start.position]
        fixed = frozenset(own[v] for v in wanted & own.keys())
        changed, begin = 1.0, ONE
        if inner is not None:
            begin = self.of(inner, fixed | start.joined).different
            most = self.of(inner, fixed).different.most
            changed = math.inf if most is None else most
        found = begin.times(reach(query, start.position, wanted, self._figures, start.nested).results)
        above = frozenset[str]().union(*(start.columns[atom].keys() for atom in query.core))
        if is_optional(query, start.position) and not wanted <= above:  # NULLs, and the values
            found, changed = _replaced(found), 2 * changed
        if not tells_apart(query, start.position, wanted):
            found = found.bounded()
        others: dict[int, set[int]] = {}
        for v in wanted - own.keys():
            atom = next(atom for atom, there in enumerate(start.columns) if v in there)
            others.setdefault(atom, set()).add(start.columns[atom][v])
        return found.among(changed * self._sizes.combinations(plan, others))

    def _selected(self, plan: SelectedOperator, some: Some) -> _Change:
        if plan.inputs:
            wanted = None if some is None else frozenset(_columns(plan, some))
            below = self.of(plan.inputs[0], wanted)
            (atom,) = plan.query.atoms
            if atom.predicate is None:
                return below
            return below.bounded()
        if plan.name.lower() != self._table:
            return _UNTOUCHED
        found = reach(plan.query, 0, None, self._figures)
        self.ways[plan] = [Way(plan.query.atoms[0].alias, found)]
        return _Change(found.results, found.results, found.results)

    def _project(self, plan: ProjectOperator, some: Some) -> _Change:
        sources = None if some is None else [plan.outputs[column].source for column in sorted(some)]
        below = self.of(plan.input, None if sources is None else read_by(sources))
        share = self._draws.share(plan)
        if share is None:
            return below.bounded()
        each = Amount(share, 1.0)
        rows, delta = below.rows.times(each), below.delta.times(each)
        return replace(below, rows=rows, delta=delta, different=below.different.bounded() if share < 1 else below.different)

    def _set(self, plan: SetOperator) -> _Change:
        if plan.is_union_all:
            sides = [self.of(one, None) for one in plan.inputs]
            rows = total(one.rows for one in sides)
            delta = total(one.delta for one in sides)
            return _Change(rows, delta, delta, any(one.both_ways for one in sides))
        sides = [self.of(one, frozenset(range(len(plan.types)))) for one in plan.inputs]
        rows = total((one.delta if plan.all else one.different) for one in sides).bounded()
        self.looked_up[plan] = total(one.delta for one in sides)
        several = plan.operation == "except" and all(one.delta != NOTHING for one in sides)
        return _Change(rows, rows, rows, several or any(one.both_ways for one in sides))

    def _stored(self, plan: Operator, below: _Change, rows: Amount) -> _Change:
        """What changes above a store, in which every row that changes below is looked up."""
        self.looked_up[plan] = _replaced(below.delta) if _counts_copies(plan) else below.delta
        return _Change(rows, rows, rows, both_ways=True)

    def _moved(self, plan: RankedOperator | RunningOperator, some: Some) -> _Change:
        """Rows of whose partitions all behind the changed ones change too."""
        partition = frozenset(plan.partition)
        below, parts = self.of(plan.input, None), self.of(plan.input, partition).different
        behind = self._behind(plan.input, plan.partition).among(self._sizes.rows(plan.input))
        if not isinstance(plan, RunningOperator) or plan.moves:
            behind = behind.halved()  # the row itself, and those that follow it
        rows = parts.times(behind).bounded().among(self._sizes.rows(plan.input))
        if rows == NOTHING:
            return below
        here = some is not None and some <= partition
        self.looked_up[plan] = rows
        found = _pairs(plan, rows, some)
        return replace(found, different=self.of(plan.input, some).different) if here else found

    def _first_rows(self, plan: TopKOperator, below: _Change) -> _Change:
        """The first rows: where one of these goes another one comes in, and a change of a later one is not seen."""
        self.looked_up[plan] = _replaced(below.delta) if _counts_copies(plan) else below.delta
        if plan.limit >= EVERY_ROW:
            rows = below.rows.times(_TWO)
            return _Change(rows, rows, rows, both_ways=True)
        limit = float(plan.limit)
        first = self._among_first(plan, limit + plan.offset)
        if first is None:  # of groups in the order of their sums those that change often may come first
            rows, delta = below.rows.bounded(), below.rows.times(_TWO).bounded()
        else:
            share, is_full = first
            rows = below.rows.times(Amount(share, 1.0))
            delta = rows.times(Amount(1.0 + is_full, 2.0))
        delta = delta.capped(2.0 * limit)
        return _Change(rows.capped(limit), delta, delta, both_ways=True)

    def _among_first(self, plan: TopKOperator, first: float) -> tuple[float, bool] | None:
        """The share of the rows that are among the first ones, and whether there are others; None if unknown."""
        if not _is_joined(plan.input):
            return None
        there, is_bound = self._expected.of(plan.input)
        if is_bound or there == math.inf:
            return None
        return min(1.0, first / max(1.0, there)), there > first

    def _first_ranks(self, plan: RankedOperator, below: _Change, some: Some) -> _Change:
        """Rows with the first ranks of a partition: each rank is of another row than before, and the last leaves."""
        each = below.rows if keeps(plan.input, frozenset(plan.partition)) else below.delta
        if plan.function == "row_number" and plan.limit < EVERY_RANK:
            ranks = float(plan.limit)
            several = ranks if ranks == 1 else ranks + 1.0
            found = self._stored(plan, below, each.times(Amount(several, several)).bounded())
            return replace(_pairs(plan, found.rows, some), delta=each.times(Amount(2 * ranks, 2 * ranks)).bounded())
        parts = self.of(plan.input, frozenset(plan.partition)).different
        behind = self._behind(plan.input, plan.partition)  # rows with equal keys have one rank
        rows = parts.times(behind).bounded().among(self._sizes.rows(plan.input))
        return _pairs(plan, self._stored(plan, below, rows).rows, some)

    def _within(self, plan: ThresholdOperator | ThresholdAggregateOperator, rows: Amount) -> _Change:
        """Rows that come and go, and those that a bound lets in or out as it moves."""
        bounds, own = self.of(plan.bounds, None), self.of(plan.rows, None)
        key = tuple(range(plan.keys))
        each = self._behind(plan.rows, key)  # one of n rows that make a bound moves it by an n-th
        let = bounds.rows.times(each.between(self._behind(plan.bounds, key)))
        looked_up = own.delta.plus(bounds.delta)
        match plan:
            case ThresholdOperator():
                found = rows.plus(let).bounded()
                self.looked_up[plan] = looked_up.plus(let)
                return _Change(found, found, found, both_ways=True)
            case ThresholdAggregateOperator():
                groups = Amount(None, None, True, ("groups of the result",), Growth.KEY) if plan.groups else ONE
                moved = bounds.rows.times(groups)
                found = rows.plus(moved).bounded()
                self.looked_up[plan] = looked_up.plus(moved)
                return _Change(found, _replaced(found), _replaced(found), both_ways=True)
            case _:
                assert_never(plan)

    def _as_of(self, plan: AsOfOperator) -> _Change:
        """Left rows that come and go, and those up to the next right row where one of these does."""
        left, right = self.of(plan.left, None), self.of(plan.right, None)
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
        delta = came.plus(_replaced(moved))
        return _Change(rows.plus(moved), delta, delta, both_ways=True)

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

    def _compared(self, plan: InequalityAggregateOperator) -> _Change:
        """The groups of the pairs of a changed row; the rows of the other side are looked at one by one or by sums."""
        sides = self.of(plan.left, None), self.of(plan.right, None)
        key = tuple(range(plan.keys))
        groups, looked_up = NOTHING, NOTHING
        for own, other, below in ((0, 1, plan.right), (1, 0, plan.left)):
            parts = plan.sides[other].groups
            each = self._behind(below, key).among(self._sizes.values(below, parts)) if parts else ONE
            groups = groups.plus(sides[own].rows.times(each))
            looked_up = looked_up.plus(sides[own].delta).plus(sides[own].rows.times(each))
        self.looked_up[plan] = looked_up
        found = groups.bounded()
        return _Change(found, _replaced(found), _replaced(found), both_ways=True)

    def _met(self, plan: InequalityJoinOperator) -> _Change:
        """The pairs of a changed row: the rows of the other side within its range."""
        left, right = self.of(plan.left, None), self.of(plan.right, None)
        key = tuple(range(plan.keys))
        behind, before = self._behind(plan.right, key), self._behind(plan.left, key)
        if _compares_itself(plan):  # of two rows one alone is in front of the other one
            behind, before = behind.halved(), before.halved()
        met = left.rows.times(behind).plus(right.rows.times(before)).bounded()
        pairs, lefts, rights = self._draws.of(plan), self._draws.of(plan.left), self._draws.of(plan.right)
        found = met
        if pairs is not None and lefts is not None and rights is not None:
            behind = replace(behind, expected=at_least(pairs.rows, lefts.rows), is_bound=False)
            before = replace(before, expected=at_least(pairs.rows, rights.rows), is_bound=False)
            found = left.rows.times(behind).plus(right.rows.times(before))
        self.looked_up[plan] = left.delta.plus(right.delta).plus(met if plan.skips else found)
        return _Change(found, found, found, both_ways=True)

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


def _made_above(plan: AnyJoin) -> Mapping[int, MadeRelation]:
    """The relations of different values that the plan of a join makes, above atoms of the query."""
    program = plan.physical
    if not isinstance(program, MakesRelations) or program.query.atoms != plan.query.atoms:
        return {}
    return program.made_above()


_TWO = Amount(2.0, 2.0)


_OF_PEERS = ("last", "first_peer")


def _around(plan: RunningOperator) -> float:
    """The rows around one, itself among them, whose results change with it."""
    if isinstance(plan.frame, RowsAround):
        before, behind = plan.frame.before, plan.frame.behind
        return float(max(before, -behind, 0) + max(behind, -before, 0) + 1)
    if isinstance(plan.frame, Tiles):  # the row itself, and one at each border
        return float(plan.frame.number)
    return 1.0 + max((abs(call.back) for call in plan.calls), default=0)


def _pairs(plan: Operator, rows: Amount, some: Some) -> _Change:
    """A change of rows of which each takes another one's place: these have the same values in some columns."""
    delta = _replaced(rows)
    return _Change(rows, rows if some is not None and keeps(plan, some) else delta, delta, both_ways=True)


def _replaced(rows: Amount) -> Amount:
    """The delta of rows that may take one another's place; the first row of a group, and the last one, do not."""
    return rows.times(_TWO).bounded()


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


def _through(atom: Atom) -> str:
    return "a nested query" if any(column.is_made for column in atom.table.columns) else atom.alias


def _variables(plan: AnyJoin, some: frozenset[int]) -> frozenset[str]:
    """The variables of a join that some of its columns are made of."""
    query = plan.query
    places: set[int] = set()
    for column in some:
        if isinstance(plan, AnnotatedOperator):
            places |= {column} if column < len(query.head) else set()
        else:
            found = read_by([query.outputs[column].source])
            places |= set(range(len(query.head))) if found is None else found
    return frozenset(query.variable(query.head[place]) for place in places)


def _columns(plan: SelectedOperator, some: frozenset[int]) -> Iterator[int]:
    """The columns of the relation below that some columns are made of."""
    found = read_by([plan.query.outputs[column].source for column in sorted(some)])
    places = range(len(plan.query.head)) if found is None else sorted(found)
    yield from (plan.query.head[place].column for place in places)
