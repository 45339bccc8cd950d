"""Give every column that the query uses a variable, so that equal columns share one.

Equalities are closed under transitivity. The columns of one class share the class's variable, one column in each atom.
If an atom has several, a predicate keeps them equal, and the others get own variables if they are returned.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from livejoin.query.conjunctive import Atom, ColumnRef
from livejoin.query.filters import conjunction
from livejoin.query.scalar import Call, Expression, Field
from livejoin.schema import SqlType
from livejoin.sql.resolved.part import Equality
from livejoin.sql.resolved.query import Occurrence, Scope
from livejoin.sql.scalars import coercion
from livejoin.sql.scalars.labels import column_text
from livejoin.sql.scalars.operands import BOOLEAN, cast


def classes(equalities: Iterable[Equality]) -> tuple[tuple[ColumnRef, ...], ...]:
    """The classes of columns that are equal, each sorted; columns without an equality are in none."""
    parent: dict[ColumnRef, ColumnRef] = {}

    def root(ref: ColumnRef) -> ColumnRef:
        while parent.setdefault(ref, ref) != ref:
            ref = parent[ref]
        return ref

    for equality in equalities:
        first, second = sorted((root(equality.left), root(equality.right)))
        parent[second] = first
    members: dict[ColumnRef, list[ColumnRef]] = {}
    for ref in sorted(parent):
        members.setdefault(root(ref), []).append(ref)
    return tuple(tuple(members[first]) for first in sorted(members))


def make_atoms(
    scope: Scope,
    equal: tuple[tuple[ColumnRef, ...], ...],
    predicates: dict[int, tuple[Expression, ...]],
    head: tuple[ColumnRef, ...],
) -> tuple[Atom, ...]:
    """The atoms of the query, with readable variables.

    The atom of a nested query has all columns of the query in its table, and its predicate names them as a `Project`
    does; `livejoin.sql.lower.inputs` moves the predicate into the relation.

    A variable is named after the first column of its class that is not computed, with that column's alias if another
    variable has the name.
    """
    variable_of = _assign(scope, equal, head)
    return tuple(
        _atom(relation, variable_of, (*predicates.get(relation.atom, ()), *_inner_equalities(relation, equal)))
        for relation in scope.relations
    )


def _assign(
    scope: Scope, equal: tuple[tuple[ColumnRef, ...], ...], head: tuple[ColumnRef, ...]
) -> dict[ColumnRef, str]:
    groups: list[tuple[ColumnRef, list[ColumnRef]]] = []
    for members in equal:
        if len({ref.atom for ref in members}) > 1:
            chosen: dict[int, ColumnRef] = {}
            for ref in sorted(members, key=lambda ref: (ref not in head, ref)):
                chosen.setdefault(ref.atom, ref)
            first = next((ref for ref in members if not scope.is_computed(ref)), members[0])
            groups.append((first, sorted(chosen.values())))
    joined = {ref for _, members in groups for ref in members}
    groups += [(ref, [ref]) for ref in head if ref not in joined]
    names = _names([first for first, _ in groups], scope)
    return {ref: name for (_, members), name in zip(groups, names, strict=True) for ref in members}


def _names(firsts: list[ColumnRef], scope: Scope) -> list[str]:
    short = [scope.declared(ref).name for ref in firsts]
    uses = Counter(name.lower() for name in short)
    taken: set[str] = set()
    names: list[str] = []
    for name, ref in zip(short, firsts, strict=True):
        wanted = name if uses[name.lower()] == 1 else scope.qualified(ref)
        unique, number = wanted, 1
        while unique.lower() in taken:
            number += 1
            unique = f"{wanted}#{number}"
        taken.add(unique.lower())
        names.append(unique)
    return names


def _inner_equalities(relation: Occurrence, equal: tuple[tuple[ColumnRef, ...], ...]) -> tuple[Expression, ...]:
    """Predicates that keep the columns of a class within one atom equal."""

    def name(ref: ColumnRef) -> str:
        return column_text(relation.rows.names[ref.column])

    def are_equal(left: ColumnRef, right: ColumnRef) -> Expression:
        columns = [relation.table.columns[ref.column] for ref in (left, right)]
        fields = [Field(ref.column, c.type, c.nullable) for ref, c in zip((left, right), columns, strict=True)]
        common = coercion.common_type(fields[0].type, fields[1].type)
        assert isinstance(common, SqlType), "columns that are joined have a type in common"
        text = f"{name(left)} = {name(right)}"
        return Expression(text, Call("equal", tuple(cast(field, common, text) for field in fields), BOOLEAN, text))

    own = ([ref for ref in members if ref.atom == relation.atom] for members in equal)
    return tuple(are_equal(refs[0], other) for refs in own for other in refs[1:])


def _atom(relation: Occurrence, variable_of: dict[ColumnRef, str], predicates: tuple[Expression, ...]) -> Atom:
    refs = sorted(ref for ref in variable_of if ref.atom == relation.atom)
    return Atom(
        alias=relation.alias,
        table=relation.table,
        columns=tuple(ref.column for ref in refs),
        variables=tuple(variable_of[ref] for ref in refs),
        predicate=conjunction(predicates),
    )
