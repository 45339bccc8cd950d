"""Groups that a join is made with, over the rows of that join: no group is kept of a key that the join has no row of.

A correlated aggregate is a join with groups of all keys, though a predicate of the query around it lets few keys pass:

    Join lineitem, part, groups on k                  part: p_brand = 'Brand#23', k its key
      groups: AVG(q) GROUP BY k of lineitem

Where the rows that are aggregated stand in the join itself, joined in the same way, and what else stands there says of
each key only whether it is kept, the groups are those of the join without them (WinMagic: Zuzarte, Pirahesh, Ma, Cheng,
Liu, Wong, SIGMOD 2003):

    J = Join lineitem, part
    groups: AVG(q) GROUP BY k of J

Law: let K be the columns of the groups and I the atoms that are aggregated, of which the core of the join has a copy
with the same predicates and the same equalities. The other atoms of the core, E, have no variable but those of K in
common with the copy, and K determines a row of each of them by their keys. So for each value of K the rows of J are
those of I, each as often, or none. The join asks for the groups of keys that J has, and for no others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.keys import determined
from livejoin.query.relational import Aggregate, Join, Project, Relation
from livejoin.query.scalar import Expression, moved

Copy = Mapping[int, int]
"""For each atom that is aggregated the atom of the join around it that stands for it."""


@dataclass(frozen=True)
class Restricted:
    """Groups over the rows of the join that they are joined with.

    Args:
        join: The join without the groups; the columns that the groups read follow its own.
        groups: The groups, over the rows of ``join``.
        by: The atoms of ``join`` that say which groups are kept.
    """

    join: Join
    groups: Relation
    by: tuple[int, ...]


def restricted(outer: Join, atom: Atom, groups: Relation) -> Restricted | None:
    """Groups over the rows of the join around them; None where these are not the rows of whole groups.

    Cost: linear in the atoms where no table stands twice, else that of trying equal ones.

    Args:
        outer: The join without the groups' atom.
        atom: This atom; its variables are those of ``outer`` where it is joined.
        groups: The relation that it reads.
    """
    above, relation = list[Project](), groups
    while isinstance(relation, Project):
        above.append(relation)
        relation = relation.input
    if not isinstance(relation, Aggregate) or relation.is_global or not isinstance(relation.input, Join):
        return None
    inner, keys = relation.input, _key_variables(atom, above, relation)
    if keys is None or inner.inputs or not _is_readable(inner.query, relation.groups):
        return None
    if inner.query.branches or outer.query.branches:
        return None
    derived = {one.table.name for one in outer.inputs}
    own = [inner.query.head[source] for o in inner.query.outputs if isinstance(source := o.source, int)]
    first = dict(zip((inner.query.variable(ref) for ref in own[: relation.groups]), keys, strict=True))
    if len(first) < relation.groups:
        return None
    for copy in _copies(inner.query, outer.query, first, derived):
        by = tuple(a for a in outer.query.core if a not in copy.values())
        if by and _are_whole(inner.query, outer.query, copy, frozenset(keys), derived):
            return _over(outer, copy, relation, above, by)
    return None


def _is_readable(query: ConjunctiveQuery, groups: int) -> bool:
    """Whether groups are columns, and what is aggregated can be computed from other rows."""
    sources = [output.source for output in query.outputs]
    return all(isinstance(one, int) for one in sources[:groups]) and all(
        isinstance(one, int) or one.scalar is not None for one in sources
    )


def _key_variables(atom: Atom, above: Sequence[Project], groups: Aggregate) -> list[str] | None:
    """For each column of the groups the variable that the atom has there; None if it has none of one."""
    found: dict[int, str] = {}
    for column, variable in zip(atom.columns, atom.variables, strict=True):
        place: int | Expression = column
        for relation in above:
            place = relation.outputs[place].source if isinstance(place, int) else place
        if isinstance(place, int) and place < groups.groups:
            found.setdefault(place, variable)
    return [found[i] for i in range(groups.groups)] if len(found) == groups.groups else None


def _copies(
    inner: ConjunctiveQuery, outer: ConjunctiveQuery, first: Mapping[str, str], derived: Set[str]
) -> Iterator[Copy]:
    """The ways in which atoms of a join stand for those of another one, with the same predicates and equalities.

    Args:
        inner: The query whose atoms are looked for.
        outer: The query in whose core they are looked for.
        first: For each variable of a group the variable of ``outer`` that it is.
        derived: The tables of ``outer`` that are no base tables.
    """
    tied = {v for v in inner.variables if v in first or sum(v in edge for edge in inner.edges) > 1}

    def extended(position: int, copy: dict[int, int], names: Mapping[str, str]) -> Iterator[Copy]:
        if position == len(inner.atoms):
            yield dict(copy)
            return
        atom = inner.atoms[position]
        for place in outer.core:
            other = outer.atoms[place]
            if place in copy.values() or other.table.name in derived or not _reads_the_same(atom, other):
                continue
            found = _bound(atom, other, tied, names)
            if found is not None:
                yield from extended(position + 1, {**copy, position: place}, found)

    return extended(0, {}, first)


def _reads_the_same(one: Atom, other: Atom) -> bool:
    return one.table == other.table and one.predicate == other.predicate


def _bound(one: Atom, other: Atom, tied: Set[str], names: Mapping[str, str]) -> Mapping[str, str] | None:
    """The names of variables with those that an atom adds; None if the other atom has others in their place."""
    found = dict(names)
    there = dict(zip(other.columns, other.variables, strict=True))
    for column, variable in zip(one.columns, one.variables, strict=True):
        if variable in tied and (column not in there or found.setdefault(variable, there[column]) != there[column]):
            return None
    return found


def _are_whole(
    inner: ConjunctiveQuery, outer: ConjunctiveQuery, copy: Copy, keys: frozenset[str], derived: Set[str]
) -> bool:
    """Whether the rows of a join are, for each value of the keys, all rows of another one or none of them."""
    mine = set(copy.values())
    if not _has_equalities(inner, outer, copy):
        return False
    others = tuple(outer.atoms[a] for a in outer.core if a not in mine)
    around = frozenset[str]().union(*(atom.variables for atom in others))
    within = frozenset[str]().union(*(outer.edges[a] for a in mine))
    if not around & within <= keys or any(atom.table.name in derived for atom in others):
        return False
    known = determined(replace(outer, atoms=others, head=(), outputs=()), keys)
    return all(_has_one_row(atom, known) for atom in others)


def _has_equalities(inner: ConjunctiveQuery, outer: ConjunctiveQuery, copy: Copy) -> bool:
    """Whether columns of a copy that are equal by a variable are so in what is copied."""
    seen: dict[str, str | None] = {}
    for position, place in copy.items():
        atom = inner.atoms[position]
        own = dict(zip(atom.columns, atom.variables, strict=True))
        for column, variable in zip(outer.atoms[place].columns, outer.atoms[place].variables, strict=True):
            name = own.get(column)
            if variable in seen and (name is None or seen[variable] != name):
                return False
            seen[variable] = name
    return True


def _has_one_row(atom: Atom, known: Set[str]) -> bool:
    """Whether values of some variables are those of at most one row of an atom."""
    variable = dict(zip(atom.columns, atom.variables, strict=True))
    return any(all(variable.get(column) in known for column in key) for key in atom.table.keys)


def _over(outer: Join, copy: Copy, groups: Aggregate, above: Sequence[Project], by: tuple[int, ...]) -> Restricted:
    """The groups over the rows of a join that has a copy of what they aggregate."""
    assert isinstance(groups.input, Join), "what is copied is a join"
    inner = groups.input.query
    refs = [ColumnRef(copy[ref.atom], ref.column) for ref in inner.head]
    join, places = _with_columns(outer, refs)

    def read(output: Output) -> Output:
        if isinstance(output.source, int):
            return replace(output, source=places[output.source])
        assert output.source.scalar is not None, "what is computed has a tree"
        tree = moved(output.source.scalar, places.__getitem__)
        return replace(output, source=Expression(output.source.text, tree))

    rows = Project(join, tuple(map(read, inner.outputs)), groups.input.types)
    calls = tuple(replace(call, product=None) for call in groups.calls)
    names = tuple(outer.query.atoms[a].alias for a in by)
    relation: Relation = replace(groups, input=rows, calls=calls, within=names)
    for one in reversed(above):
        relation = replace(one, input=relation)
    return Restricted(join, relation, by)


def _with_columns(join: Join, refs: Sequence[ColumnRef]) -> tuple[Join, list[int]]:
    """A join that also shows some columns of its tables, behind its others; and the places of these columns."""
    query = join.query
    atoms = list(query.atoms)
    for ref in refs:
        atom = atoms[ref.atom]
        if ref.column not in atom.columns:
            columns = (*atom.columns, ref.column)
            variables = (*atom.variables, unused(f"{atom.alias}.{ref.column}", query.variables))
            both = sorted(zip(columns, variables, strict=True))
            atoms[ref.atom] = replace(atom, columns=tuple(c for c, _ in both), variables=tuple(v for _, v in both))
    head = (*query.head, *dict.fromkeys(ref for ref in refs if ref not in query.head))
    outputs, types = list(query.outputs), list(join.types)
    shown = {output.source: place for place, output in reversed([*enumerate(outputs)])}
    for ref in refs:
        position = head.index(ref)
        if position not in shown:
            column = query.atoms[ref.atom].table.columns[ref.column]
            shown[position] = len(outputs)
            name = unused(column.name, {output.name for output in outputs})
            outputs.append(Output(name, column.type.arrow, position))
            types.append(column.type)
    shows = replace(query, atoms=tuple(atoms), head=head, outputs=tuple(outputs))
    return replace(join, query=shows, types=tuple(types)), [shown[head.index(ref)] for ref in refs]


def unused(name: str, taken: Set[str]) -> str:
    """A name that is not taken, as like the given one as can be."""
    return next(found for i in range(len(taken) + 1) if (found := name + "_" * i) not in taken)
