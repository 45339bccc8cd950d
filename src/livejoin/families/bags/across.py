"""What the query across bags has in place of the atoms, columns and factors that are inside of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Factor
from livejoin.query.scalar import Expression, Field
from livejoin.schema import Table


def fresh_prefix(query: ConjunctiveQuery) -> str:
    """A prefix that no table of the query has in its name."""
    prefix = "bag"
    while any(atom.table.name.lower().startswith(prefix) for atom in query.atoms):
        prefix += "_"
    return prefix


def restricted(atom: Atom, variables: frozenset[str]) -> Atom:
    """An atom with some of its variables."""
    left = [(c, v) for c, v in zip(atom.columns, atom.variables, strict=True) if v in variables]
    return replace(atom, columns=tuple(c for c, _ in left), variables=tuple(v for _, v in left))


def column_factor(atom: int, table: Table, column: str) -> Factor:
    """A column of an atom's table as a factor; it is never NULL."""
    place = table.position(column)
    return Factor(atom, Expression(f'"{column}"', Field(place, table.columns[place].type, nullable=False)))


def place_of(variable: str, place: int | None, atoms: Sequence[Atom]) -> ColumnRef:
    """A column of the outer query that carries a variable: that of the given atom if there is one."""
    if place is None:
        place = next(i for i, atom in enumerate(atoms) if variable in atom.variables)
    return ColumnRef(place, atoms[place].column_of(variable))
