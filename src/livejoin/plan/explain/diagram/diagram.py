"""Boxes and lines of a query: its result on top, below it the steps, and below these the tables that are joined.

Of a join the table that is joined with most others stands above them, and each other one below the first that it is
joined with. What closes a circle is a link beside that, so that a triangle is three tables and three lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from livejoin.plan.explain.diagram.column_words import column_words, in_words
from livejoin.plan.explain.effects.amount import NOTHING, Growth
from livejoin.plan.explain.effects.effect import Effect
from livejoin.plan.explain.effects.figures import Figures
from livejoin.plan.explain.effects.reach import Reach
from livejoin.plan.explain.number_words import number, readable, rows, stored
from livejoin.query import Atom, ConjunctiveQuery
from livejoin.query.bound_query import Query
from livejoin.query.orders import EVERY_RANK, EVERY_ROW, SortKey
from livejoin.query.relational import (
    Aggregate,
    AsOf,
    Distinct,
    Join,
    Numbers,
    Project,
    Ranked,
    Relation,
    Repeated,
    Running,
    SetOperation,
    TopK,
)

NodeKind = Literal["result", "step", "table", "nested query"]


@dataclass(frozen=True)
class DiagramNode:
    """A box.

    Args:
        kind: The kind of thing that the box stands for.
        title: The name of the box, in a word or two.
        lines: The work of a step, or the columns of a table that are used.
        parent: Position of the box above; None for the result.
        label: The columns that are matched with the box above, and how many rows match; lines.
        reach: How far a change of the table goes, in words; empty of others.
        grows: How that grows with the tables; None of others.
    """

    kind: NodeKind
    title: str
    lines: tuple[str, ...]
    parent: int | None
    label: tuple[str, ...] = ()
    reach: str = ""
    grows: Growth | None = None


@dataclass(frozen=True)
class DiagramLink:
    """A line beside those to the boxes above: what two tables are also matched on."""

    parent: int
    child: int
    label: tuple[str, ...]


@dataclass(frozen=True)
class Diagram:
    """A query as boxes, each behind the one above it, and lines."""

    nodes: tuple[DiagramNode, ...] = ()
    links: tuple[DiagramLink, ...] = ()


NO_DIAGRAM = Diagram()


def diagram(query: Query, effects: Sequence[Effect], figures: Figures) -> Diagram:
    """The boxes and lines of a query. Cost: linear in the query, and that of the figures.

    Args:
        query: The query.
        effects: The effect of a change of each table.
        figures: The known figures of the tables.
    """
    return _Drawn(effects, figures).of(query)


class _Drawn:
    """A diagram that is being drawn; mutable."""

    def __init__(self, effects: Sequence[Effect], figures: Figures) -> None:
        self._effects = {one.table: one for one in effects}
        self._figures = figures
        self._nodes: list[DiagramNode] = []
        self._links: list[DiagramLink] = []

    def of(self, query: Query) -> Diagram:
        top = self._add(DiagramNode("result", "result", _few(query.schema.names), None))
        if query.order:
            keys = _order(query.order, column_words(query.read))
            top = self._add(DiagramNode("step", "ORDER BY", (keys, "when it is read"), top))
        self._relation(query.root, top)
        return Diagram(tuple(self._nodes), tuple(self._links))

    def _add(self, node: DiagramNode) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _step(self, title: str, lines: Iterable[str], parent: int) -> int:
        return self._add(DiagramNode("step", title, tuple(lines), parent))

    def _relation(self, relation: Relation, parent: int) -> None:
        match relation:
            case Join():
                self._join(relation, parent)
                return
            case Project():
                parent = self._project(relation, parent)
            case Distinct():
                parent = self._step("DISTINCT", ("each row once",), parent)
            case Aggregate():
                words = column_words(relation)
                per = ", ".join(words[: relation.groups])
                title = "one row for all" if not relation.groups else f"GROUP BY {per}"
                parent = self._step(title, _few(words[relation.groups :]), parent)
            case SetOperation():
                parent = self._step(relation.kind.upper() + (" ALL" if relation.all else ""), (), parent)
            case TopK():
                first = "all rows" if relation.limit >= EVERY_ROW else f"the first {relation.limit:,}"
                skipped = f" after {relation.offset:,}" if relation.offset else ""
                keys = _order(relation.keys, column_words(relation.input))
                parent = self._step("ORDER BY, LIMIT", (f"{first}{skipped}", f"by {keys}"), parent)
            case Ranked():
                words = column_words(relation.input)
                some = f" up to {relation.limit:,}" if relation.limit < EVERY_RANK else ""
                parent = self._step(f"{relation.function.upper()}{some}", _partition(relation, words), parent)
            case Running():
                words = column_words(relation)
                calls = words[len(relation.input.types) :]
                parent = self._step("running functions", (*_few(calls), *_partition(relation, words)), parent)
            case AsOf():
                title = "ASOF LEFT JOIN" if relation.on.is_optional else "ASOF JOIN"
                parent = self._step(title, (relation.written,), parent)
            case Repeated():
                parent = self._step("repeated rows", (f"each row {relation.count:,} times",), parent)
            case Numbers():
                self._step("constant rows", (f"{relation.count:,}",), parent)
            case _:
                assert_never(relation)
        for below in relation.below:
            self._relation(below, parent)

    def _project(self, relation: Project, parent: int) -> int:
        if relation.predicate is None:
            return parent
        condition = relation.written or in_words(relation.predicate, column_words(relation.input))
        title = "only where"
        if relation.across:
            title = "each match is checked"
        elif _is_over_groups(relation.input):
            title = "HAVING"
        return self._step(title, (condition,), parent)

    def _join(self, join: Join, parent: int) -> None:
        query, edges = join.query, _Edges(join.query)
        derived = {one.table.name: one.relation for one in join.inputs}
        places: dict[int, int] = {}
        below: list[tuple[Relation, int]] = []
        for atom, above, on in edges.tree:
            one = query.atoms[atom]
            here = parent if above is None else places[above]
            label: tuple[str, ...] = ()
            if above is not None:
                label = (*edges.written(above, atom, on), *self._matches(query, edges, above, atom))
            relation = derived.get(one.table.name)
            if relation is None:
                places[atom] = self._add(self._table(one, here, label))
            else:
                is_made = any(column.is_made for column in one.table.columns)
                title = "a nested query" if is_made else one.alias
                lines = (*_few(() if is_made else _columns(one)), *_where(one))
                reaches = self._reaches(one.alias)
                reach = _reach(reaches) if reaches else ""
                grows = max((found.met.growth for found in reaches), default=None)
                places[atom] = self._add(DiagramNode("nested query", title, lines, here, label, reach, grows))
                below.append((relation, places[atom]))
        for one_end, other_end, on in edges.circles():
            said = edges.written(one_end, other_end, on)
            self._links.append(DiagramLink(places[one_end], places[other_end], said))
        for relation, place in below:
            self._relation(relation, place)

    def _table(self, atom: Atom, parent: int, label: tuple[str, ...]) -> DiagramNode:
        table = atom.table
        title = table.name if atom.alias == table.name else f"{table.name} {atom.alias}"
        effect = self._effects.get(table.name)
        lines = (*_few(_columns(atom)), *_where(atom))
        if effect is None:
            return DiagramNode("table", title, lines, parent, label)
        if effect.promise == "static":
            return DiagramNode("table", title, lines, parent, label, "never changes")
        if effect.looked_up.growth > effect.met.growth:
            reach = f"a change here reads {stored(effect.looked_up)}"  # as all rows of a partition
            return DiagramNode("table", title, lines, parent, label, reach, effect.growth)
        reaches = self._reaches(atom.alias)
        grows = max((found.met.growth for found in reaches), default=Growth.NONE)
        if effect.looked_up != NOTHING and not any(hop.kept for one in reaches for hop in one.hops):
            reach = f"a change here reads {stored(effect.looked_up)}"
            return DiagramNode("table", title, lines, parent, label, reach, grows)
        reach = _reach(reaches)
        if len(effect.ways) > 1:
            where = "in this join" if atom.alias == table.name else f"as {atom.alias}"
            reach = reach.replace("a change here", f"a change {where}")
        return DiagramNode("table", title, lines, parent, label, reach, grows)

    def _reaches(self, alias: str) -> list[Reach]:
        """Where changes of an occurrence go in its join."""
        ways = (way for effect in self._effects.values() for way in effect.ways if way.alias == alias)
        return [way.reach for way in ways]

    def _matches(self, query: ConjunctiveQuery, edges: _Edges, above: int, atom: int) -> tuple[str, ...]:
        """How many rows of each end match a row of the other one on average, as far as it is known."""
        down, up = self._each(query, edges, above, atom), self._each(query, edges, atom, above)
        if down and up:
            return (f"each {_called(query.atoms[above])} meets {down}", f"each {_called(query.atoms[atom])} meets {up}")
        ends = ((query.atoms[above], down), (query.atoms[atom], up))
        return tuple(f"each {_called(one)} meets {text}" for one, text in ends if text)

    def _each(self, query: ConjunctiveQuery, edges: _Edges, one: int, other: int) -> str:
        """The rows of an atom that match a row of another one."""
        first, second = query.atoms[one], query.atoms[other]
        on = edges.shared(one, other)
        if not on:
            found = self._figures.rows(second.table)
            return "" if found is None else f"all {number(found.expected)} {_called(second)}"
        columns, others = zip(*sorted(edges.pairs(one, other, on)), strict=True)
        found = self._figures.meeting(first.table, columns, second.table, others)
        by_key = any(set(key) <= set(others) for key in second.table.keys)
        if found is None:
            return f"at most 1 {_called(second)}" if by_key else ""
        if by_key and found.expected > _NEARLY:
            return f"1 {_called(second)}"
        most = f", at most {number(found.most)}" if found.most is not None and found.most > 2 * found.expected else ""
        return f"{number(found.expected)} {_called(second)} on average{'' if by_key else most}"


_NEARLY = 0.995
_FEW = 6
_LONG = 90


def _few(words: Sequence[str]) -> tuple[str, ...]:
    """The first of some names on one line, and how many more there are."""
    shown = ", ".join(words[:_FEW])
    more = f" and {len(words) - _FEW} more" if len(words) > _FEW else ""
    return (f"{shown}{more}",) if words else ()


def _columns(atom: Atom) -> tuple[str, ...]:
    key = atom.table.primary_key or ()
    mark = " (key)" if len(key) == 1 else " (part of the key)"
    return tuple(atom.table.columns[column].name + (mark if column in key else "") for column in atom.columns)


def _called(atom: Atom) -> str:
    """A row of an atom."""
    is_made = any(column.is_made for column in atom.table.columns)
    return "row of the nested query" if is_made else atom.alias


def _where(atom: Atom) -> tuple[str, ...]:
    return () if atom.predicate is None else (f"only where {readable(atom.predicate.text)}",)


def _order(keys: Sequence[SortKey], words: Sequence[str]) -> str:
    return ", ".join(words[key.column] + (" DESC" if key.descending else "") for key in keys)


def _partition(relation: Ranked | Running, words: Sequence[str]) -> Iterator[str]:
    if relation.partition:
        yield f"in each {', '.join(words[column] for column in relation.partition)}"
    if relation.keys:
        yield f"by {_order(relation.keys, words)}"


def _is_over_groups(relation: Relation) -> bool:
    while isinstance(relation, Project):
        relation = relation.input
    return isinstance(relation, Aggregate)


def _reach(reaches: Sequence[Reach]) -> str:
    if not reaches:
        return "a change here is counted above"
    found = max(reaches, key=lambda one: one.met.growth)
    kept = [hop for hop in found.hops if hop.kept]
    if not kept:
        return "a change here meets no other row"
    if all(hop.by_key for hop in kept):
        return "a change here meets at most 1 row of each"
    if found.met.expected is None:
        wide = next(hop for hop in kept if not hop.by_key)
        if wide.is_nested:
            return "a change here meets rows of a nested query"
        per = f" of one {' and '.join(wide.columns)}" if wide.columns else ""
        return f"a change here meets all {wide.table} rows{per}"
    return f"a change here meets {rows(found.met)}"


_Step = tuple[int, int | None, list[str]]


class _Edges:
    """What the atoms of a join share, and the tree that they are drawn as. Cost: atoms squared."""

    def __init__(self, query: ConjunctiveQuery) -> None:
        equal: dict[str, str] = {}
        for branch in query.branches:
            for outer, inner in branch.key:
                equal.setdefault(inner, equal.get(outer, outer))
        self._query = query
        self._columns = [
            {equal.get(v, v): column for v, column in zip(atom.variables, atom.columns, strict=True)}
            for atom in query.atoms
        ]
        self.tree = [*_preorder(self._found())]

    def shared(self, one: int, other: int) -> list[str]:
        """The variables of two atoms, those of branches by the names above."""
        return [v for v in self._columns[one] if v in self._columns[other]]

    def pairs(self, one: int, other: int, on: Sequence[str]) -> list[tuple[int, int]]:
        """The columns of two atoms that are equal."""
        return [(self._columns[one][v], self._columns[other][v]) for v in on]

    def _found(self) -> list[_Step]:
        """The atoms, each with the one above it and what it shares with that; the first stands on top."""
        atoms = range(len(self._columns))
        degree = [sum(bool(self.shared(one, other)) for other in atoms if other != one) for one in atoms]
        root = max(self._query.core, key=lambda atom: degree[atom])
        found: list[_Step] = [(root, None, [])]
        waiting = [atom for atom in atoms if atom != root]
        place = 0
        while waiting:
            if place == len(found):  # nothing ties the others to these
                found.append((waiting.pop(0), root, []))
                continue
            above = found[place][0]
            joined = [(atom, above, on) for atom in waiting if (on := self.shared(above, atom))]
            found += joined
            waiting = [atom for atom in waiting if atom not in {one for one, _, _ in joined}]
            place += 1
        return found

    def circles(self) -> Iterator[tuple[int, int, list[str]]]:
        """Pairs of atoms with what they share, where the tree does not tie these columns to each other."""
        tied: dict[str, list[set[int]]] = {}
        for atom, above, on in self.tree:
            for v in self._columns[atom]:
                group = next((one for one in tied.setdefault(v, []) if above in one and v in on), None)
                if group is None:
                    tied[v].append({atom})
                else:
                    group.add(atom)
        links: dict[tuple[int, int], list[str]] = {}
        for v, groups in tied.items():
            for group in groups[1:]:
                links.setdefault((min(groups[0]), min(group)), []).append(v)
        yield from ((one, other, on) for (one, other), on in links.items())

    def written(self, above: int, atom: int, on: Sequence[str]) -> tuple[str, ...]:
        """What two atoms are matched on, with the kind of the edge where it is not inner."""
        query = self._query
        branches = (one for one in query.branches if atom in one.atoms and above not in one.atoms)
        kind = next((branch.kind for branch in branches), None)
        words = "" if kind is None else {"optional": "LEFT JOIN "}.get(kind, f"{kind.upper()} ")
        one, other = query.atoms[above], query.atoms[atom]
        lines = [f"{one.readable(a)} = {other.readable(b)}" for a, b in self.pairs(above, atom, on)]
        if not lines:
            return (f"{words}every row with every row",)
        return (words + lines[0], *(f"AND {line}" for line in lines[1:]))


def _preorder(found: Sequence[_Step]) -> Iterator[_Step]:
    """Each step before those below it, so that a box stands behind the one above it."""
    below: dict[int | None, list[_Step]] = {}
    for step in found:
        below.setdefault(step[1], []).append(step)
    waiting = [*below[None]]
    while waiting:
        step = waiting.pop()
        yield step
        waiting += reversed(below.get(step[0], []))
