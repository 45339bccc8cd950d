"""Relations that say beside each row what it is made of: a number for the row of each occurrence of a table.

Where conditions, projections and DISTINCT are looked through, down to the join below them: a row of a relation then
stands once for each combination of rows that gives it (its why-provenance: Buneman, Khanna, Tan, ICDT 2001). What lies
below an aggregate, an order or a set operation is another relation, whose rows the join reads as those of a table.
Where a branch asks for a match (EXISTS), the row that matches is part of the combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from livejoin.query.conjunctive import Atom, Branch, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.relational import Distinct, Input, Join, Project, Relation
from livejoin.query.scalar import Call, Constant, Expression, Field, Scalar, Value
from livejoin.schema import Column, SqlType, Table, is_made_list

NUMBER = "#"
"""The column of a part that has the numbers of its rows."""

_BIGINT = SqlType.integer(64)
_BOOLEAN = SqlType("boolean")


@dataclass(frozen=True)
class Traced:
    """A relation taken apart.

    Args:
        relation: The relation.
        projects: The projections above the join, from above.
        join: The join, with the rows that EXISTS asks for among its rows.
        is_derived: Whether the join is there only to read another relation: an aggregate, an order, a set operation.
    """

    relation: Relation
    projects: tuple[Project, ...]
    join: Join
    is_derived: bool

    @property
    def parts(self) -> tuple[int, ...]:
        """Positions of the atoms that combinations have a row of, or NULL where an optional one has none."""
        query = self.join.query
        hidden = {atom for at, branch in enumerate(query.branches) if not self._shows(at) for atom in branch.atoms}
        return tuple(atom for atom in range(len(query.atoms)) if atom not in hidden)

    def _shows(self, branch: int) -> bool:
        found: int | None = branch
        while found is not None:
            one = self.join.query.branches[found]
            if one.kind != "optional":
                return False
            found = one.above
        return True

    def copied(self) -> tuple[int | None, ...]:
        """For each column of the relation the output of the join that it is a copy of; None if it is computed."""
        places: list[int | None] = list(range(len(self.join.query.outputs)))
        for project in reversed(self.projects):
            places = [places[one.source] if isinstance(one.source, int) else None for one in project.outputs]
        return tuple(places)

    def tables(self) -> tuple[Table, ...]:
        """What the relation that `over_parts` gives reads: a table for each atom, with a column of numbers."""
        return tuple(_part(number, atom.table) for number, atom in enumerate(self.join.query.atoms))

    def below(self, levels: int) -> Traced:
        """What stands below some of the projections, from above."""
        relation: Relation = self.projects[levels - 1].input if levels else self.relation
        return replace(self, relation=relation, projects=self.projects[levels:])

    def over_parts(self) -> Relation:
        """The relation over `tables`: its columns, and behind them the number of the row of each part."""
        query = self.join.query
        atoms = tuple(_over(atom, table) for atom, table in zip(query.atoms, self.tables(), strict=True))
        head, outputs = [*query.head], [*query.outputs]
        for part in self.parts:
            outputs.append(Output(f"{NUMBER}{part}", pa.int64(), len(head)))
            head.append(ColumnRef(part, atoms[part].columns[-1]))
        added = len(self.parts)
        traced = replace(query, atoms=atoms, head=tuple(head), outputs=tuple(outputs))
        found: Relation = Join(traced, (*self.join.types, *[_BIGINT] * added))
        below = len(query.outputs)
        for project in reversed(self.projects):
            numbers = [Output(f"{NUMBER}{part}", pa.int64(), below + at) for at, part in enumerate(self.parts)]
            outputs = [*(replace(one, name=f"c{at}") for at, one in enumerate(project.outputs)), *numbers]
            found = replace(project, input=found, outputs=tuple(outputs), types=(*project.types, *[_BIGINT] * added))
            below = len(project.outputs)
        return found


def traced(relation: Relation) -> Traced:
    """A relation taken apart.

    >>> from livejoin.query.relational import Numbers
    >>> found = traced(Distinct(Numbers(3)))
    >>> found.is_derived, found.copied()
    (True, (0,))
    """
    projects, below = list[Project](), relation
    while isinstance(below, Project | Distinct):
        if isinstance(below, Project):
            projects.append(below)
        below = below.input
    if isinstance(below, Join):
        return Traced(relation, tuple(projects), replace(below, query=_with_witnesses(below.query)), False)
    return Traced(relation, tuple(projects), _reading(below), True)


def where(relation: Relation, values: Mapping[int, Value]) -> Relation:
    """The rows of a relation that have some values; NULL is NULL.

    Args:
        relation: The relation.
        values: The values by the positions of the columns, which must be `is_comparable`.
    """
    if not values:
        return relation
    conditions: list[Scalar] = []
    for place, value in values.items():
        type = relation.types[place]
        conditions.append(Call("null_safe_equal", (Field(place, type), Constant(value, type)), _BOOLEAN))
    tree = conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions), _BOOLEAN)
    outputs = tuple(Output(f"c{at}", field.type, at) for at, field in enumerate(relation.schema))
    return Project(relation, outputs, relation.types, Expression("the row that is asked for", tree))


def is_comparable(relation: Relation, column: int) -> bool:
    """Whether `where` takes a value of a column."""
    type = relation.types[column]
    is_interval = type.kind in ("interval", "months")
    return not (type.is_payload or is_interval or is_made_list(relation.schema.field(column).type))


def _part(number: int, table: Table) -> Table:
    """What a part reads: the columns of its table, and the numbers of its rows."""
    columns = [Column(f"c{at}", one.type) for at, one in enumerate(table.columns)]
    return Table(f"part {number}", (*columns, Column(NUMBER, _BIGINT)))


def _over(atom: Atom, table: Table) -> Atom:
    """An atom over its part."""
    number = len(atom.table.columns)
    variable = f"{NUMBER}{table.name}"
    columns, variables = (*atom.columns, number), (*atom.variables, variable)
    return replace(atom, table=table, columns=columns, variables=variables)


def _reading(relation: Relation) -> Join:
    """A join that reads another relation as it is."""
    names = [f"c{at}" for at in range(len(relation.types))]
    made = [Column(name, type, is_made=True) for name, type in zip(names, relation.types, strict=True)]
    table = Table("rows", tuple(made))
    places = tuple(range(len(names)))
    atom = Atom("rows", table, places, tuple(names))
    head = tuple(ColumnRef(0, place) for place in places)
    outputs = tuple(
        Output(name, field.type, at) for at, (name, field) in enumerate(zip(names, relation.schema, strict=True))
    )
    return Join(ConjunctiveQuery("", (atom,), head, outputs), relation.types, (Input(table, relation),))


def _with_witnesses(query: ConjunctiveQuery) -> ConjunctiveQuery:
    """A join in which EXISTS is a join with each row that matches, but where that would say an equality twice."""
    at = len(query.branches) - 1
    while at >= 0:
        if query.branches[at].kind == "exists":
            query = _joined(query, at) or query
        at -= 1
    return query


def _joined(query: ConjunctiveQuery, at: int) -> ConjunctiveQuery | None:
    """A branch as a part of the one that it hangs on; None if two of its keys meet in one variable."""
    branch = query.branches[at]
    renamed = {inner: outer for outer, inner in branch.key}
    if len(renamed) != len(branch.key) or len(set(renamed.values())) != len(renamed):
        return None
    atoms = list(query.atoms)
    for atom in branch.atoms:
        names = tuple(renamed.get(name, name) for name in atoms[atom].variables)
        atoms[atom] = replace(atoms[atom], variables=names)
    branches: list[Branch] = []
    for place, one in enumerate(query.branches):
        if place == at:
            continue
        held, key, above = one.atoms, one.key, one.above
        if place == branch.above:
            held = tuple(sorted((*held, *branch.atoms)))
        if above == at:
            key = tuple((renamed.get(outer, outer), inner) for outer, inner in key)
            above = branch.above
        if above is not None and above > at:
            above -= 1
        branches.append(replace(one, atoms=held, key=key, above=above))
    return replace(query, atoms=tuple(atoms), branches=tuple(branches))


def over_some(taken: Traced, atoms: Sequence[int], without_predicates: Sequence[int] = ()) -> tuple[Traced, list[int]]:
    """Some atoms of a join alone, inner joined.

    Args:
        taken: The join; projections above it are left out.
        atoms: Positions of the atoms.
        without_predicates: Positions of atoms that lose their predicates.

    Returns:
        The join of these, and for each of its outputs the one of the whole join that it is.
    """
    query = taken.join.query
    equal = _unified(query, atoms)
    parts = list[Atom]()
    for atom in atoms:
        one = query.atoms[atom]
        names = [equal.get(name, name) for name in one.variables]
        kept = [at for at, name in enumerate(names) if name not in names[:at]]
        predicate = None if atom in without_predicates else one.predicate
        columns = tuple(one.columns[at] for at in kept)
        parts.append(replace(one, columns=columns, variables=tuple(names[at] for at in kept), predicate=predicate))
    head, outputs, places = list[ColumnRef](), list[Output](), list[int]()
    for place, output in enumerate(query.outputs):
        ref = query.head[output.source] if isinstance(output.source, int) else None
        if ref is not None and ref.atom in atoms and ref.column in parts[atoms.index(ref.atom)].columns:
            outputs.append(replace(output, source=len(head)))
            head.append(ColumnRef(atoms.index(ref.atom), ref.column))
            places.append(place)
    types = tuple(taken.join.types[place] for place in places)
    used = {one.table.name for one in parts}
    inputs = tuple(one for one in taken.join.inputs if one.table.name in used)
    join = Join(ConjunctiveQuery(query.sql, tuple(parts), tuple(head), tuple(outputs)), types, inputs)
    return Traced(join, (), join, taken.is_derived), places


def _unified(query: ConjunctiveQuery, atoms: Sequence[int]) -> dict[str, str]:
    """For each variable of a branch the one above that it is equal to, where both are there."""
    there = {name for atom in atoms for name in query.atoms[atom].variables}
    equal: dict[str, str] = {}
    for branch in query.branches:
        for outer, inner in branch.key:
            if outer in there and inner in there:
                equal[inner] = equal.get(outer, outer)
    return equal
