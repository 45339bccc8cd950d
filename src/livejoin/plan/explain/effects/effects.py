"""What one change of each table of a query does: the rows that it meets on its way, and those of the result it changes.

A change goes through the operators from below. At a join each occurrence of the table is a start of its own
(`livejoin.plan.explain.effects.reach`); above it every row that changes is a look-up in what is stored there. A row of
a group that takes another one's place is one row that changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from livejoin.families.nodes import MadeRelation, MakesRelations
from livejoin.plan.explain.effects.amount import NOTHING, ONE, Amount, total
from livejoin.plan.explain.effects.as_read import as_read, only_rows
from livejoin.plan.explain.effects.asked import on_average, only_match
from livejoin.plan.explain.effects.change import ITSELF, UNTOUCHED, Change, replaced
from livejoin.plan.explain.effects.drawn import Draws
from livejoin.plan.explain.effects.effect import Effect, Way
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.linked import by_links, linked_rows
from livejoin.plan.explain.effects.nested import Nested, Some, keeps, read_by
from livejoin.plan.explain.effects.reach import (
    Columns,
    called_above,
    columns_by_variable,
    is_asked,
    is_optional,
    reach,
    tells_apart,
)
from livejoin.plan.explain.effects.sizes import Sizes
from livejoin.plan.explain.effects.stored import StoredStep, is_last_alone, stored_words
from livejoin.plan.explain.effects.stores import Stores
from livejoin.plan.operators import (
    AnnotatedOperator,
    AnyJoin,
    BagOperator,
    JoinOperator,
    NumbersOperator,
    Operator,
    ProjectOperator,
    RankedOperator,
    RepeatedOperator,
    SelectedOperator,
    StoredOperator,
    ThresholdOperator,
    upwards,
)
from livejoin.query import Atom
from livejoin.schema import Table
from livejoin.schema.watermarks import watermark_name


def effects(plan: Operator, tables: tuple[Table, ...], figures: Figures) -> tuple[Effect, ...]:
    """What a change of each table does, those that cost most first and those that never change last.

    Cost: operators times atoms cubed, and that of the figures, each once.

    Args:
        plan: The operators that maintain the query.
        tables: The tables of the query.
        figures: The known figures of the tables.
    """
    sizes, draws = Sizes(figures), Draws(figures)
    watched = {one.watched for one in upwards(plan) if isinstance(one, ThresholdOperator)}
    closing = {watermark_name(table) for table in watched if table is not None}
    told = [table for table in tables if table.name.lower() not in closing]  # the watermark moves with these
    found = [_effect(plan, table, figures, sizes, draws) for table in told]
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
        _perhaps(change.rows, met, table, figures),
        total(walk.looked_up.values()),
        _perhaps(change.delta, met, table, figures),
        ways,
        tuple(conditions),
        tuple(sources),
        tuple(walk.stored()),
        any(isinstance(one, ThresholdOperator) and one.watched == table.name.lower() for one in upwards(plan)),
    )


def _perhaps(found: Amount, met: Amount, table: Table, figures: Figures) -> Amount:
    """Where none of the n rows of a table changes a row of the result, the next one still may: one of n + 2 does."""
    there = figures.rows(table)
    meets_none = met.expected == 0.0 and met != NOTHING
    if found.expected != 0.0 or found.most == 0.0 or meets_none or there is None:
        return found
    return replace(found, expected=1.0 / (there.expected + 2.0))


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
        self._draws = draws
        self._stores = Stores(table, self.of, figures, sizes, draws)
        self._known: dict[tuple[Operator, Some], Change] = {}
        self.ways: dict[Operator, list[Way]] = {}
        self.looked_up, self.sources = self._stores.looked_up, self._stores.sources

    def stored(self) -> Iterator[StoredStep]:
        """The steps to rows that are stored above joins, from below."""
        for plan, rows in [*self.looked_up.items()]:
            if rows != NOTHING:
                sides = [self.of(one, None).delta for one in plan.below]
                several = any(one.most is None or one.most > 1 for one in sides)
                what = stored_words(plan, several, sides[0] != NOTHING, sides[-1] != NOTHING)
                yield StoredStep(what, rows, is_last_alone(plan))

    def of(self, plan: Operator, some: Some) -> Change:
        """What it does to a relation.

        Args:
            plan: The operators that maintain the relation.
            some: The columns of which different values are counted.
        """
        if (plan, some) not in self._known:
            self._known[plan, some] = self._within_sizes(plan, some, self._of(plan, some))
        return self._known[plan, some]

    def _within_sizes(self, plan: Operator, some: Some, found: Change) -> Change:
        """No more of a change than there are rows: what passes rows on has as many as what is below it."""
        if isinstance(plan, (ProjectOperator, StoredOperator)) or (isinstance(plan, SelectedOperator) and plan.inputs):
            return found
        there = self._sizes.rows(plan)
        return found.within(there, there if some is None else self._sizes.values(plan, some))

    def _of(self, plan: Operator, some: Some) -> Change:
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
                return Change(below.rows.times(each), different, below.delta.times(each), below.both_ways)
            case StoredOperator():
                return self.of(plan.input, some)
            case NumbersOperator() | BagOperator():
                return UNTOUCHED  # constant rows; what a join reads of bags is what it reads itself
            case _:
                return self._stores.of(plan, some)

    def _join(self, plan: AnyJoin, some: Some) -> Change:
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
                begin = ITSELF
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
            if own is None and is_asked(query, position):
                only = only_match(query, position, self._figures, self._draws, derived)
                found = found if only is None else found.met_by(only)
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
                    gone = replaced(changed) if alone is None else changed.times(Amount(1.0 + alone, 2.0))
            asked.add(is_asked(query, position))
            both_ways |= begin.both_ways or is_optional(query, position) or len(asked) > 1
            rows, delta = rows.plus(changed), delta.plus(gone)
            different = different.plus(gone if wanted is None else self._values(plan, start, wanted))
        if groups and some is not None and max(some, default=-1) >= len(query.head):  # a sum before, and behind it
            different = replaced(rows)
        return Change(rows, different, replaced(rows) if groups else delta, groups or both_ways)

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
            found, changed = replaced(found), 2 * changed
        if not tells_apart(query, start.position, wanted):
            found = found.bounded()
        others: dict[int, set[int]] = {}
        for v in wanted - own.keys():
            atom = next(atom for atom, there in enumerate(start.columns) if v in there)
            others.setdefault(atom, set()).add(start.columns[atom][v])
        return found.among(changed * self._sizes.combinations(plan, others))

    def _selected(self, plan: SelectedOperator, some: Some) -> Change:
        if plan.inputs:
            wanted = None if some is None else frozenset(_columns(plan, some))
            below = self.of(plan.inputs[0], wanted)
            (atom,) = plan.query.atoms
            if atom.predicate is None:
                return below
            return below.bounded()
        if plan.name.lower() != self._table:
            return UNTOUCHED
        found = reach(plan.query, 0, None, self._figures)
        self.ways[plan] = [Way(plan.query.atoms[0].alias, found)]
        return Change(found.results, found.results, found.results)

    def _project(self, plan: ProjectOperator, some: Some) -> Change:
        sources = None if some is None else [plan.outputs[column].source for column in sorted(some)]
        below = self.of(plan.input, None if sources is None else read_by(sources))
        if isinstance(plan.input, RankedOperator) and self._draws.has_all_ranks(plan, plan.input):
            seen = None if _shows_rank(plan, plan.input) else self._stores.windows.without_ranks(plan.input)
            return seen or below
        share = self._draws.share(plan)
        if share is None:
            return below.bounded()
        each = Amount(share, 1.0)
        rows, delta = below.rows.times(each), below.delta.times(each)
        return replace(
            below, rows=rows, delta=delta, different=below.different.bounded() if share < 1 else below.different
        )


def _shows_rank(plan: ProjectOperator, ranked: RankedOperator) -> bool:
    """Whether an output is made of a rank."""
    read = read_by([output.source for output in plan.outputs])
    return read is None or len(ranked.input.types) in read


def _made_above(plan: AnyJoin) -> Mapping[int, MadeRelation]:
    """The relations of different values that the plan of a join makes, above atoms of the query."""
    program = plan.physical
    if not isinstance(program, MakesRelations) or program.query.atoms != plan.query.atoms:
        return {}
    return program.made_above()


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
