"""What of an atom says where its rows go: the columns that carry variables of the core, or what equals them.

Only variables of the core have shares. A combination of rows of the core is in one cell, and there must be all that a
branch may have for it: so atoms of a branch are placed along a variable where the keys on the way say that a column of
theirs equals it, and are replicated along all others. A branch whose key is not split, or that has none, is in each
cell as a whole; so what it counts of itself is the same everywhere.

NULL equals nothing. A row with NULL where it would have to equal something goes nowhere as a row of that atom. A row of
the core on the preserved side of a `not exists` or `optional` edge has its place, NULL being a value like any other.
"""

from __future__ import annotations

from dataclasses import dataclass

from livejoin.query import ConjunctiveQuery


@dataclass(frozen=True)
class RoutedAtom:
    """An atom as rows are sent to it.

    Args:
        alias: The atom's alias in the query.
        table: The name of its table.
        columns: Variables of the core, each with the position of the table's column that has its values.
        required: Positions of the columns that must not be NULL.
    """

    alias: str
    table: str
    columns: tuple[tuple[str, int], ...]
    required: tuple[int, ...]


def routed_atoms(query: ConjunctiveQuery) -> tuple[RoutedAtom, ...]:
    """The atoms of a query, in its order. Cost: O(atoms * variables)."""
    found = []
    for i, atom in enumerate(query.atoms):
        required = tuple(sorted(atom.column_of(variable) for variable in query.join_variables(i)))
        found.append(RoutedAtom(atom.alias, atom.table.name, tuple(query.carried[i].items()), required))
    return tuple(found)


def variables_to_share(query: ConjunctiveQuery) -> tuple[str, ...]:
    """The variables that may have a share: those of the core whose values can be compared, in the query's order."""
    found: dict[str, None] = {}
    for position in query.core:
        atom = query.atoms[position]
        for variable, column in zip(atom.variables, atom.columns, strict=True):
            if not atom.table.columns[column].type.is_payload:
                found[variable] = None
    return tuple(found)
