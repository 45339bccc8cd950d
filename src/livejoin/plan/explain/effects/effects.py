"""What one change of each table of a query does: the rows that it meets on its way, and those of the result it changes.

A change goes through the operators from below. At a join each occurrence of the table is a start of its own
(`livejoin.plan.explain.effects.reach`); above it every row that changes is a look-up in what is stored there. A row of
a group that takes another one's place is one row that changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from livejoin.plan.explain.effects.amount import NOTHING, ONE, Amount, Growth, total
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.reach import Reach, grown, is_optional, reach, tells_apart
from livejoin.plan.explain.effects.sizes import Sizes, Some, most_rows, read_by
from livejoin.plan.operators import (
    AggregateOperator,
    AnnotatedOperator,
    AnyJoin,
    AsOfOperator,
    BagOperator,
    JoinOperator,
    NumbersOperator,
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
    upwards,
)
from livejoin.query import Atom, ConjunctiveQuery
from livejoin.query.orders import EVERY_ROW, RangeAround, RowsAround, Tiles
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

    @property
    def growth(self) -> Growth:
        """How what it costs grows with the tables."""
        return max(self.met.growth, self.looked_up.growth, self.result.growth)

    @property
    def causes(self) -> tuple[str, ...]:
        """What that grows with, in words."""
        return tuple(dict.fromkeys((*self.met.causes, *self.looked_up.causes, *self.result.causes)))

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
    sizes = Sizes(figures)
    found = [_effect(plan, table, figures, sizes) for table in tables]
    return tuple(sorted(found, key=lambda one: (one.promise == "static", -one.growth, -_size(one))))


def _size(one: Effect) -> float:
    there = one.met.plus(one.looked_up).expected
    return -1.0 if there is None else there


def _effect(plan: Operator, table: Table, figures: Figures, sizes: Sizes) -> Effect:
    promise: Literal["", "static", "append-only"] = (
        "static" if table.static else "append-only" if table.append_only else ""
    )
    if table.static:
        return Effect(table.name, promise, NOTHING, NOTHING)
    walk = _Walk(table, figures, sizes)
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
    )


@dataclass(frozen=True)
class _Change:
    """What a change does to a relation.

    Args:
        rows: The rows that change.
        different: The different values of some columns of these.
        delta: The rows of the delta, in which one that takes another one's place comes and the other one goes.
    """

    rows: Amount
    different: Amount
    delta: Amount

    def within(self, rows: float, different: float) -> _Change:
        """No more of it than there are: each row goes and another one comes, or only one of these.

        Args:
            rows: The most rows that the relation has.
            different: The most different values of the columns.
        """
        both = rows if self.delta == self.rows else 2 * rows
        return _Change(self.rows.among(rows), self.different.among(different), self.delta.among(both))


_UNTOUCHED = _Change(NOTHING, NOTHING, NOTHING)
_ITSELF = _Change(ONE, ONE, ONE)


class _Walk:
    """A change of one table on its way up; mutable: it gathers the ways that it went, and what it looked up.

    Each operator counts once, however many read it.
    """

    def __init__(self, table: Table, figures: Figures, sizes: Sizes) -> None:
        self._table = table.name.lower()
        self._sizes = sizes
        self._figures = figures
        self._known: dict[tuple[Operator, Some], _Change] = {}
        self.ways: dict[Operator, list[Way]] = {}
        self.looked_up: dict[Operator, Amount] = {}
        self.sources: list[str] = []

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
        some_stay = not (
            isinstance(plan, RankedOperator) and plan.ranks_all
        )  # a new rank takes the place of the old one
        moved = some_stay and isinstance(plan, (TopKOperator, RankedOperator, ThresholdOperator))  # one goes, one comes
        if isinstance(plan, SetOperator):
            sides = [self.of(one, None) for one in plan.inputs]
            moved = any(one.delta != one.rows for one in sides)
        there = self._sizes.rows(plan) * (1 + moved)
        return found.within(there, there if some is None else self._sizes.values(plan, some))

    def _of(self, plan: Operator, some: Some) -> _Change:
        match plan:
            case JoinOperator() | AnnotatedOperator():
                return self._join(plan, some)
            case SelectedOperator():
                return self._selected(plan, some)
            case ProjectOperator():
                return self._project(plan, some)
            case SetOperator():
                return self._set(plan)
            case AggregateOperator():
                below = self.of(plan.input, frozenset(range(plan.groups)))
                may_stay = any(call.function in _MAY_STAY or call.distinct for call in plan.calls)
                found = self._stored(plan, below, below.different.bounded() if may_stay else below.different)
                return replace(found, delta=_replaced(found.rows))
            case TopKOperator():
                below = self.of(plan.input, None)
                both = below.rows.times(_TWO)  # one comes in, and another one goes out
                some_rows = both if plan.limit >= EVERY_ROW else both.capped(2.0 * plan.limit).bounded()
                return self._stored(plan, below, some_rows)
            case RankedOperator():
                below = self.of(plan.input, None)
                if plan.ranks_all:
                    return self._moved(plan, some)
                several = float(min(plan.limit, EVERY_ROW)) + 1.0 if plan.keys else 1.0
                found = self._stored(plan, below, below.rows.times(Amount(several, several)).bounded())
                return replace(found, delta=_replaced(found.rows))
            case RunningOperator():
                if plan.moves or isinstance(plan.frame, RangeAround):  # within it may be all rows of a partition
                    return self._moved(plan, some)
                below, each = self.of(plan.input, None), _TWO
                if isinstance(plan.frame, RowsAround):
                    around = float(max(1, plan.frame.before + plan.frame.behind + 1))
                    each = Amount(around, around)
                if isinstance(plan.frame, Tiles):  # the row itself, and one at each border
                    each = Amount(float(plan.frame.number), float(plan.frame.number))
                found = self._stored(plan, below, below.rows.times(each).bounded())
                return replace(found, delta=_replaced(found.rows))
            case ThresholdOperator():
                return self._within(plan, self.of(plan.rows, None).rows)
            case ThresholdAggregateOperator():
                return self._within(plan, self.of(plan.rows, None).rows)
            case AsOfOperator():
                return self._as_of(plan)
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
        is_distinct = query.free is not None and not query.sums
        wanted = None if some is None else _variables(plan, some)
        rows, different, delta = NOTHING, NOTHING, NOTHING
        below = {name: self.of(one, None) for name, one in derived.items()}
        ways = self.ways[plan] = []
        limits = {name: most_rows(one) for name, one in derived.items()}
        for position, atom in enumerate(query.atoms):
            name = atom.table.name
            if name in below:
                begin = below[name]
            elif name.lower() == self._table:
                begin = _ITSELF
            else:
                continue
            if begin == _UNTOUCHED:
                continue
            found = reach(query, position, own, self._figures, limits)
            if is_distinct and not tells_apart(query, position, query.free or frozenset()):  # it may be there already
                found = found.bounded()
            through = _through(atom) if name in below else ""
            ways.append(Way(atom.alias, found, through, begin.delta, tuple(one.alias for one in query.atoms)))
            rows = rows.plus(begin.rows.times(found.results))
            gone = begin.delta.times(
                found.results
            )  # where there was no match a row of NULLs takes the place, or leaves it
            delta = delta.plus(_replaced(gone) if is_optional(query, position) else gone)
            fewer = found if wanted is None else reach(query, position, wanted, self._figures, limits)
            different = different.plus(begin.delta.times(fewer.results))
        groups = isinstance(plan, AnnotatedOperator) and bool(query.sums)
        return _Change(rows, different, _replaced(rows) if groups else delta)

    def _selected(self, plan: SelectedOperator, some: Some) -> _Change:
        if plan.inputs:
            wanted = None if some is None else frozenset(_columns(plan, some))
            below = self.of(plan.inputs[0], wanted)
            (atom,) = plan.query.atoms
            if atom.predicate is None:
                return below
            return _Change(below.rows.bounded(), below.different.bounded(), below.delta.bounded())
        if plan.name.lower() != self._table:
            return _UNTOUCHED
        found = reach(plan.query, 0, None, self._figures)
        self.ways[plan] = [Way(plan.query.atoms[0].alias, found)]
        return _Change(found.results, found.results, found.results)

    def _project(self, plan: ProjectOperator, some: Some) -> _Change:
        sources = None if some is None else [plan.outputs[column].source for column in sorted(some)]
        below = self.of(plan.input, None if sources is None else read_by(sources))
        if plan.predicate is None:
            return below
        return _Change(below.rows.bounded(), below.different.bounded(), below.delta.bounded())

    def _set(self, plan: SetOperator) -> _Change:
        if plan.is_union_all:
            sides = [self.of(one, None) for one in plan.inputs]
            rows = total(one.rows for one in sides)
            return _Change(rows, rows, total(one.delta for one in sides))
        sides = [self.of(one, frozenset(range(len(plan.types)))) for one in plan.inputs]
        rows = total((one.delta if plan.all else one.different) for one in sides).bounded()
        self.looked_up[plan] = total(one.delta for one in sides)
        return _Change(rows, rows, rows)

    def _stored(self, plan: Operator, below: _Change, rows: Amount) -> _Change:
        """What changes above a store, in which every row that changes below is looked up."""
        self.looked_up[plan] = _replaced(below.delta) if _counts_copies(plan) else below.delta
        return _Change(rows, rows, rows)

    def _moved(self, plan: RankedOperator | RunningOperator, some: Some) -> _Change:
        """Rows of whose partitions all behind the changed ones change too."""
        partition = frozenset(plan.partition)
        below, parts = self.of(plan.input, None), self.of(plan.input, partition).different
        rows = parts.times(self._behind(plan.input, plan.partition)).bounded().among(self._sizes.rows(plan.input))
        if rows == NOTHING:
            return below
        here = some is not None and some <= partition
        self.looked_up[plan] = rows
        return _Change(rows, self.of(plan.input, some).different if here else rows, _replaced(rows))

    def _within(self, plan: ThresholdOperator | ThresholdAggregateOperator, rows: Amount) -> _Change:
        """Rows that come and go, and those that a bound lets in or out as it moves."""
        bounds, own = self.of(plan.bounds, None), self.of(plan.rows, None)
        each = self._behind(plan.rows, tuple(range(plan.keys)))
        let = bounds.rows.times(each)
        looked_up = own.delta.plus(bounds.delta)
        match plan:
            case ThresholdOperator():
                found = rows.plus(let).bounded()
                self.looked_up[plan] = looked_up.plus(let)
                return _Change(found, found, found)
            case ThresholdAggregateOperator():
                groups = Amount(None, None, True, ("groups of the result",), Growth.KEY) if plan.groups else ONE
                moved = bounds.rows.times(groups)
                found = rows.plus(moved).bounded()
                self.looked_up[plan] = looked_up.plus(moved)
                return _Change(found, found, _replaced(found))
            case _:
                assert_never(plan)

    def _as_of(self, plan: AsOfOperator) -> _Change:
        """Left rows that come and go, and those up to the next right row where one of these does."""
        left, right = self.of(plan.left, None), self.of(plan.right, None)
        each = self._behind(plan.left, plan.on.left_keys).between(self._behind(plan.right, plan.on.right_keys))
        moved = right.rows.times(each)
        self.looked_up[plan] = left.delta.plus(right.delta).plus(moved)
        return _Change(left.rows.plus(moved), left.rows.plus(moved), left.delta.plus(_replaced(moved)))

    def _behind(self, plan: Operator, columns: tuple[int, ...]) -> Amount:
        """The rows of a relation that have the same values in some columns: of a partition, or of a bound."""
        found = _base_columns(plan, columns)
        if found is None:
            cause = f"{_what(plan)} per key" if columns else _what(plan)
            return Amount(None, None, True, (cause,), Growth.KEY if columns else Growth.TABLE)
        query, atom, places = found
        table = query.atoms[atom].table
        figure = self._figures.meeting(table, places, table, places) if places else self._figures.rows(table)
        cause = grown(table, places)
        growth = Growth.KEY if places else Growth.TABLE
        if figure is None:
            return Amount(None, None, True, (cause,), growth)
        self.sources.append(figure.source)
        same = Amount(figure.expected, figure.most, True, (cause,), growth)
        return same if len(query.atoms) == 1 else same.times(reach(query, atom, None, self._figures).results)


_TWO = Amount(2.0, 2.0)


def _replaced(rows: Amount) -> Amount:
    """The delta of rows that may take one another's place; the first row of a group, and the last one, do not."""
    return rows.times(_TWO).bounded()


_MAY_STAY = ("min", "max", "min_by", "max_by", "mode", "percentile_cont", "percentile_disc", "bool_and", "bool_or")


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


def _base_columns(plan: Operator, columns: tuple[int, ...]) -> tuple[ConjunctiveQuery, int, tuple[int, ...]] | None:
    """The join of base tables, its atom and the columns of this that some columns are; None where they are no such."""
    match plan:
        case ProjectOperator():
            sources = [plan.outputs[column].source for column in columns]
            places = [source for source in sources if isinstance(source, int)]
            return _base_columns(plan.input, tuple(places)) if len(places) == len(sources) else None
        case SelectedOperator() | JoinOperator():
            query = plan.query
            derived: Mapping[str, Operator] = dict(plan.named)
            sources = [query.outputs[column].source for column in columns]
            refs = [query.head[source] for source in sources if isinstance(source, int)]
            atoms = {ref.atom for ref in refs} or ({0} if len(query.atoms) == 1 else set())
            if len(refs) < len(sources) or len(atoms) != 1 or query.free is not None:
                return None
            if any(atom.table.name in derived for atom in query.atoms):
                return None
            return query, atoms.pop(), tuple(sorted(ref.column for ref in refs))
        case AsOfOperator() if all(column < len(plan.left.types) for column in columns):
            return _base_columns(plan.left, columns)
        case RankedOperator() | RunningOperator():
            return _base_columns(plan.input, columns)
        case _:
            return None
