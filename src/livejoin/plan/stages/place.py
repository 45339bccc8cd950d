"""From a query over tables to stages: each operator where its rows are, and an exchange where they are not together.

A join runs where HyperCube brings its rows (CROWN, section 8.1): a combination of rows that join is in one cell. What
is above it stays there as long as rows that belong together, those of a group, equal ones, are sure to be in one cell;
else they go on to the next stage, by what they have in common. Aggregates, DISTINCT and the first rows of an order are
made smaller before they go, where the whole can be told from the parts. Rows that belong together with all others go
to the first cell. What a join reads and is no table comes from an earlier stage: so a NOT IN counts NULLs of all cells.

A table that has a window by rows or a key has an owner of each row in a stage before: it knows which row an upsert
replaces, and which ones leave the window. A static table has none, as its rows come once. What leaves a window by range
is told by the newest time alone: its rows go where other tables' rows would, and each cell that has some is told that
time.

A table with a watermark has an owner of each row, which says whether it is late. The watermark of each owner goes on:
that of the table is the newest of them. Windows that it closes stay where their groups are, and each cell is told.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from livejoin.catalog import tables_beside
from livejoin.plan.dispatch import Dispatch
from livejoin.plan.stages.homes import owner
from livejoin.plan.stages.partial import first, in_two_steps, second
from livejoin.plan.stages.staged import ByColumns, Cube, Everywhere, Exchange, Shown, Stage, Staged
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.bound_query import Query
from livejoin.query.orders import SortKey
from livejoin.query.relational import (
    Aggregate,
    AsOf,
    Distinct,
    Input,
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
from livejoin.schema import Column, Table, TableSettings
from livejoin.schema.watermarks import WATERMARK_COLUMN, watermark_name

Choose = Callable[[ConjunctiveQuery], Dispatch]
"""Where the rows of a join's tables go."""


def stages(queries: Mapping[str, Query], choose: Choose, tables: Iterable[Table] = ()) -> Staged:
    """The stages of some views over spread tables; equal relations are shown once.

    Args:
        queries: The queries of the views, by name.
        choose: Where the rows of each join's tables go.
        tables: The base tables; those with a watermark have to be there.

    Cost: O(size of the queries), and a choice for each join.
    """
    placer = _Placer(choose, tables)
    views = {}
    for name, query in queries.items():
        views[name] = placer.show(placer.place(query.root))
    built = (Stage(tuple(one.exchanges.values()), tuple(one.shown.values())) for one in placer.built)
    return Staged(tuple(built), views)


@dataclass
class _Building:
    """A stage, as it comes to be."""

    exchanges: dict[tuple[object, ...], Exchange] = field(default_factory=dict)
    shown: dict[tuple[Relation, bool], Shown] = field(default_factory=dict)


@dataclass(frozen=True)
class _Placed:
    """A relation over tables of the cells.

    Args:
        stage: The stage in which it is.
        relation: The relation.
        by: The cell of a row is a function of some values; for each of them the columns that have it. None: nothing is
            known of where its rows are. Empty: they are in the first cell.
    """

    stage: int
    relation: Relation
    by: tuple[frozenset[int], ...] | None

    @property
    def alone(self) -> bool:
        """Whether it is in the first cell only."""
        return self.by == ()

    def together(self, columns: Sequence[int]) -> bool:
        """Whether rows that are equal in some columns are in one cell."""
        return self.by is not None and all(not one.isdisjoint(columns) for one in self.by)

    def above(self, relation: Relation, copies: Mapping[int, Sequence[int]]) -> _Placed:
        """A relation in the same cells, whose columns some columns of this one are copied to."""
        by = self.by
        if by is not None:
            by = tuple(frozenset(to for column in one for to in copies.get(column, ())) for one in by)
            by = by if all(by) else None
        return _Placed(self.stage, relation, by)


class _Placer:
    """The stages of all views; mutable."""

    def __init__(self, choose: Choose, tables: Iterable[Table]) -> None:
        self.built: list[_Building] = []
        self._choose = choose
        self._watched = {watermark_name(table.name): table for table in tables if table.watermark is not None}
        self._names = 0
        self._owned: dict[str, str] = {}
        self._placed: dict[tuple[Relation, tuple[int, ...] | None], _Placed] = {}

    def place(self, relation: Relation, wanted: Sequence[int] | None = None) -> _Placed:
        """The stage of a relation, with all below it.

        Args:
            relation: The relation.
            wanted: Columns in which equal rows had better be in one cell.
        """
        key = (relation, None if wanted is None else tuple(wanted))
        if key not in self._placed:
            self._placed[key] = self._place(relation, wanted)
        return self._placed[key]

    def _place(self, relation: Relation, wanted: Sequence[int] | None) -> _Placed:
        match relation:
            case Join():
                return self._join(relation, wanted)
            case Project():
                return self._project(relation, wanted)
            case Distinct():
                return self._distinct(relation)
            case Aggregate():
                return self._aggregate(relation)
            case SetOperation():
                return self._set_operation(relation)
            case TopK():
                return self._first(relation)
            case Ranked() | Running():
                below = self.place(relation.input, relation.partition)
                if not below.together(relation.partition):
                    below = self._exchange(below, relation.partition)
                return below.above(replace(relation, input=below.relation), _same(relation.input))
            case AsOf():
                return self._as_of(relation)
            case Repeated():
                below = self.place(relation.input)
                return below.above(replace(relation, input=below.relation), _same(relation.input))
            case Numbers():
                return _Placed(0, relation, ())
            case _:
                assert_never(relation)

    def show(self, placed: _Placed) -> str:
        """The name by which later stages know a relation."""
        stage = self._stage(placed.stage)
        key = (placed.relation, placed.alone)
        if key not in stage.shown:
            query = Query("", placed.relation)
            stage.shown[key] = Shown(self._name(), query, placed.alone, placed.by is None)
        return stage.shown[key].relation

    def _name(self) -> str:
        self._names += 1
        return f"#{self._names}"

    def _stage(self, number: int) -> _Building:
        while len(self.built) <= number:
            self.built.append(_Building())
        return self.built[number]

    def _base(self, table: Table) -> tuple[int, str]:
        """The first stage to which a base table's net changes can come, and what they are the changes of."""
        name, route = table.name.lower(), owner(table)
        if name in self._watched:
            newest = self._newest(name)
            return newest.stage + 1, self.show(newest)
        if route is None:
            return 0, name
        if name not in self._owned:
            own = self._owner(table, route)
            by = tuple(frozenset((column,)) for column in route.columns)
            self._owned[name] = self.show(_Placed(0, _rows_of(own), by))
        return 1, self._owned[name]

    def _owner(self, table: Table, route: ByColumns | Everywhere) -> Table:
        """A table of the first stage to which the changes of a base table come as they are."""
        name = table.name.lower()
        exchanges = self._stage(0).exchanges
        key = (name, "owned", route)
        if key not in exchanges:
            called = table.name if isinstance(route, ByColumns) else table.name + self._name()
            own = replace(table, name=called, foreign_keys=())
            exchanges[key] = Exchange(name, route, ((own, -1),))
        return exchanges[key].tables[0][0]

    def _marks(self, name: str) -> tuple[str, Table]:
        """What the owners of a table show of its watermark, and a table for what several of them show."""
        watched = self._watched[name]
        route = owner(watched)
        assert route is not None, "rows have owners where there is a watermark"
        (mark,) = tables_beside(self._owner(watched, route))
        return self.show(_Placed(0, _rows_of(mark), None)), _unwindowed(mark)

    def _newest(self, name: str) -> _Placed:
        """The watermark of a table: in the first cell the newest one that its owners show."""
        relation, mark = self._marks(name)
        rows = _rows_of(self._brought(relation, 1, ByColumns(()), mark), [WATERMARK_COLUMN])
        return _Placed(1, TopK(rows, (SortKey(0, descending=True, nulls_first=False),), 1, 0), ())

    def _closed(self, join: Join) -> _Placed | None:
        """A join of rows with the watermark of a table, where the rows are; None of another join.

        It is what closes windows: each cell is told the watermarks of all owners, so that the rows stay where they are.
        """
        sides = {one.table.name: one for one in join.inputs}
        marks = {name: found for name, one in sides.items() if (found := _mark_of(one.relation, self._watched))}
        if len(join.query.atoms) != _TWO or len(sides) != _TWO or len(marks) != 1:
            return None
        ((of, name),) = marks.items()
        place, rows = next((i, sides[a.table.name]) for i, a in enumerate(join.query.atoms) if a.table.name != of)
        below = self.place(rows.relation)
        if below.stage == 0:
            below = self._exchange(below, [i for i, kind in enumerate(below.relation.types) if not kind.is_payload])
        relation, mark = self._marks(name)
        exchanges = self._stage(below.stage).exchanges
        key = (relation, "every cell")
        if key not in exchanges:
            exchanges[key] = Exchange(relation, Everywhere(), ((_plain(mark, mark.name + self._name()), -1),))
        told = _over(sides[of].relation, exchanges[key].tables[0][0])
        inputs = tuple(replace(one, relation=told if one.table.name == of else below.relation) for one in join.inputs)
        copies: dict[int, tuple[int, ...]] = {}
        for to, output in enumerate(join.query.outputs):
            if isinstance(output.source, int) and (ref := join.query.head[output.source]).atom == place:
                copies[ref.column] = (*copies.get(ref.column, ()), to)
        return below.above(replace(join, inputs=inputs), copies)

    def _brought(self, relation: str, stage: int, route: ByColumns, table: Table) -> Table:
        """A table of a stage's cells that has the rows of a relation, in one cell each."""
        exchanges = self._stage(stage).exchanges
        key = (relation, route)
        if key not in exchanges:
            exchanges[key] = Exchange(relation, route, ((_plain(table, table.name + self._name()), -1),))
        return exchanges[key].tables[0][0]

    def _exchange(self, placed: _Placed, columns: Sequence[int], to: int | None = None) -> _Placed:
        """The rows of a relation in a later stage, with those that are equal in some columns in one cell."""
        relation = self.show(placed)
        stage = placed.stage + 1 if to is None else to
        types = placed.relation.types
        table = Table("rows", tuple(Column(f"c{i}", kind) for i, kind in enumerate(types)))
        table = self._brought(relation, stage, ByColumns(tuple(columns)), table)
        names = placed.relation.schema.names
        return _Placed(stage, _rows_of(table, names), tuple(frozenset((column,)) for column in columns))

    def _join(self, join: Join, wanted: Sequence[int] | None) -> _Placed:
        query = join.query
        if len(query.atoms) == 1:
            return self._selected(join, wanted)
        if (closed := self._closed(join)) is not None:
            return closed
        dispatch = self._choose(query)
        if dispatch.divided is not None:
            return self._divided(join, dispatch.divided)
        made = {one.table.name: one.relation for one in join.inputs}
        sources = {name: self.place(relation) for name, relation in made.items()}
        came: dict[str, tuple[int, str]] = {}
        for atom in query.atoms:
            name = atom.table.name
            if name in came:
                continue
            if name in sources:
                came[name] = sources[name].stage + 1, self.show(sources[name])
            else:
                came[name] = self._base(atom.table)
        stage = max(first for first, _ in came.values())
        atoms = list(query.atoms)
        for name, (_, relation) in came.items():
            own = {
                i: self._seen(atom.table, made.get(name))
                for i, atom in enumerate(query.atoms)
                if atom.table.name == name
            }
            for i, table in own.items():
                atoms[i] = replace(atoms[i], table=table)
            tables = tuple((table, 1 << i) for i, table in own.items())
            route = Cube(dispatch, next(atom.table for atom in query.atoms if atom.table.name == name))
            self._stage(stage).exchanges[relation, self._name()] = Exchange(relation, route, tables)
        spread = replace(join, query=replace(query, atoms=tuple(atoms)), inputs=())
        by = tuple(
            frozenset(
                i
                for i, output in enumerate(query.outputs)
                if isinstance(output.source, int)
                and query.head[output.source].atom in query.core
                and query.variable(query.head[output.source]) == variable
            )
            for variable in sorted(dispatch.variables)
        )
        return _Placed(stage, spread, by if all(by) else None)

    def _seen(self, table: Table, made: Relation | None) -> Table:
        """A table for the rows that a join needs of a base table, or of a relation."""
        name = self._name()
        if made is not None:
            return _derived(table, table.name + name, made)
        return _unwindowed(table, name) if table.name.lower() in self._watched else _keyed(table, table.name + name)

    def _divided(self, join: Join, divided: int) -> _Placed:
        """A join of base tables in the first stage, one of whose atoms has a part of its table in each cell."""
        query = join.query
        own = query.atoms[divided].table
        key = ByColumns(own.primary_key)
        atoms = tuple(
            replace(atom, table=self._owner(atom.table, key if i == divided else Everywhere()))
            for i, atom in enumerate(query.atoms)
        )
        by = tuple(
            frozenset(
                i
                for i, output in enumerate(query.outputs)
                if isinstance(output.source, int) and query.head[output.source] == ColumnRef(divided, column)
            )
            for column in own.primary_key
        )
        return _Placed(0, replace(join, query=replace(query, atoms=atoms)), by if all(by) else None)

    def _selected(self, join: Join, wanted: Sequence[int] | None) -> _Placed:
        """The rows of one relation that pass: where a derived one is, or by columns of a table."""
        query = join.query
        (atom,) = query.atoms
        copies = _copies(query.outputs, [ref.column for ref in query.head])
        of = {to: column for column, tos in copies.items() for to in tos}
        below_wanted = [of[i] for i in wanted] if wanted is not None and all(i in of for i in wanted) else None
        if (name := atom.table.name.lower()) in self._watched:
            below = self._newest(name)
            own = _unwindowed(atom.table, self._name())
            seen = replace(query, atoms=(replace(atom, table=own),))
            return below.above(replace(join, query=seen, inputs=(Input(own, below.relation),)), copies)
        if join.inputs:
            below = self.place(join.inputs[0].relation, below_wanted)
            inputs = (Input(atom.table, below.relation),)
            return below.above(replace(join, inputs=inputs), copies)
        if _is_by_one_key(atom.table):
            own = self._owner(atom.table, ByColumns(atom.table.primary_key))
            by = tuple(frozenset((column,)) for column in atom.table.primary_key)
            mine = replace(join, query=replace(query, atoms=(replace(atom, table=own),)))
            return _Placed(0, join, by).above(mine, copies)
        stage, relation = self._base(atom.table)
        if below_wanted is None:
            below_wanted = [i for i, column in enumerate(atom.table.columns) if not column.type.is_payload]
        route = ByColumns(tuple(below_wanted))
        table = self._brought(relation, stage, route, atom.table)
        here = _Placed(stage, join, tuple(frozenset((column,)) for column in route.columns))
        return here.above(replace(join, query=replace(query, atoms=(replace(atom, table=table),))), copies)

    def _project(self, project: Project, wanted: Sequence[int] | None) -> _Placed:
        sources = [output.source for output in project.outputs]
        below_wanted = None
        if wanted is not None:
            asked = [sources[i] for i in wanted]
            below_wanted = [one for one in asked if isinstance(one, int)]
            below_wanted = below_wanted if len(below_wanted) == len(asked) else None
        below = self.place(project.input, below_wanted)
        return below.above(replace(project, input=below.relation), _copies(project.outputs))

    def _distinct(self, distinct: Distinct) -> _Placed:
        every = range(len(distinct.types))
        below = self.place(distinct.input)
        first = below.above(Distinct(below.relation), _same(distinct))
        if below.together(every):
            return first
        below = self._exchange(first, every)
        return below.above(Distinct(below.relation), _same(distinct))

    def _aggregate(self, aggregate: Aggregate) -> _Placed:
        groups = range(aggregate.groups)
        kept = {column: (column,) for column in groups}
        below = self.place(aggregate.input, groups)
        if below.together(groups):
            return below.above(replace(aggregate, input=below.relation), kept)
        if in_two_steps(aggregate):
            below = self._exchange(below.above(first(aggregate, below.relation), kept), groups)
            return below.above(second(aggregate, below.relation), kept)
        below = self._exchange(below, groups)
        return below.above(replace(aggregate, input=below.relation), kept)

    def _set_operation(self, operation: SetOperation) -> _Placed:
        every = range(len(operation.types))
        sides = [self.place(operation.left), self.place(operation.right)]
        is_union = operation.kind == "union" and operation.all
        same = sides[0].stage == sides[1].stage and sides[0].alone == sides[1].alone
        if not (same and (is_union or sides[0].alone)):
            stage = 1 + max(side.stage for side in sides)
            sides = [self._exchange(side, every, stage) for side in sides]
        left, right = sides
        by = None if is_union and not left.alone else left.by
        return _Placed(left.stage, replace(operation, left=left.relation, right=right.relation), by)

    def _as_of(self, join: AsOf) -> _Placed:
        """Rows of both sides that are equal in the keys are in one cell; without keys all are in the first one."""
        sides = [self.place(join.left, join.on.left_keys), self.place(join.right, join.on.right_keys)]
        if not all(one.alone and one.stage == sides[0].stage for one in sides):
            stage, keys = 1 + max(one.stage for one in sides), (join.on.left_keys, join.on.right_keys)
            sides = [self._exchange(one, columns, stage) for one, columns in zip(sides, keys, strict=True)]
        left, right = sides
        return left.above(replace(join, left=left.relation, right=right.relation), _same(join.left))

    def _first(self, first: TopK) -> _Placed:
        below = self.place(first.input)
        if not below.alone:
            some = replace(first, input=below.relation, limit=first.limit + first.offset, offset=0)
            below = self._exchange(below.above(some, _same(first)), ())
        return below.above(replace(first, input=below.relation), _same(first))


_TWO = 2


def _mark_of(relation: Relation, watched: Container[str]) -> str | None:
    """The name of the table with a watermark of which a relation is, and of nothing else; None if it is none."""
    match relation:
        case Aggregate() | Project():
            return _mark_of(relation.input, watched)
        case Join(inputs=()) if len(relation.query.atoms) == 1:
            name = relation.query.atoms[0].table.name.lower()
            return name if name in watched else None
        case _:
            return None


def _unwindowed(mark: Table, more: str = "") -> Table:
    """A table for the watermarks of several owners; that of one has a window, which keeps the newest alone."""
    return Table(mark.name + more, mark.columns)


def _over(relation: Relation, table: Table) -> Relation:
    """A relation for which `_mark_of`, over the watermarks in a table of the cells."""
    if isinstance(relation, Aggregate | Project):
        return replace(relation, input=_over(relation.input, table))
    assert isinstance(relation, Join)
    (atom,) = relation.query.atoms
    return replace(relation, query=replace(relation.query, atoms=(replace(atom, table=table),)))


def _same(relation: Relation) -> dict[int, tuple[int, ...]]:
    """Each column of a relation, copied to its own place."""
    return {column: (column,) for column in range(len(relation.types))}


def _copies(outputs: Sequence[Output], head: Sequence[int] | None = None) -> dict[int, tuple[int, ...]]:
    """For each column the outputs that copy it; of a head that shows columns of a table those of the table."""
    found: dict[int, tuple[int, ...]] = {}
    for place, output in enumerate(outputs):
        if isinstance(output.source, int):
            column = output.source if head is None else head[output.source]
            found[column] = (*found.get(column, ()), place)
    return found


def _rows_of(table: Table, names: Sequence[str] | None = None) -> Join:
    """All rows of a table."""
    places = range(len(table.columns))
    atom = Atom("rows", table, tuple(places), tuple(f"v{i}" for i in places))
    head = tuple(ColumnRef(0, i) for i in places)
    named = [column.name for column in table.columns] if names is None else names
    outputs = tuple(Output(named[i], column.type.arrow, i) for i, column in enumerate(table.columns))
    types = tuple(column.type for column in table.columns)
    return Join(ConjunctiveQuery("", (atom,), head, outputs), types)


def _is_by_one_key(table: Table) -> bool:
    """Whether what becomes of a row is told by its primary key alone."""
    return bool(table.primary_key) and not table.unique and not table.has_window


def _plain(table: Table, name: str) -> Table:
    """A table for the rows of another one, of which a cell may have any: no key holds for them, promises do."""
    return replace(_keyed(table, name), primary_key=(), unique=())


def _keyed(table: Table, name: str) -> Table:
    """A table for rows of another one, of which a cell has each once at most.

    It has the window of one whose changes come as they are; an owner of its rows tells what leaves.
    """
    window = table.settings.window_range if owner(table) is None else None
    settings = TableSettings(static=table.static, append_only=table.append_only, window_range=window)
    return Table(name, table.columns, table.primary_key, unique=table.unique, settings=settings)


def _derived(table: Table, name: str, relation: Relation) -> Table:
    """A table for the rows of a relation that is no table: NULL may be in its key.

    It is there before the views only if a base table below is static: what is made of constants alone comes with the
    first batch.
    """
    found = _plain(table, name)
    return found if any(base.static for base in Query("", relation).tables) else found.having(static=False)
