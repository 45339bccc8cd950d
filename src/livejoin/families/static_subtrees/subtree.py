"""A static table with the static tables that it refers to, which could be one relation.

customer(id, address) -> address(id, city) -> city(id, country), shown: the country
one relation {(customer, country)}, with as many rows as ``customer`` has at most
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from livejoin.query import Atom, ConjunctiveQuery
from livejoin.query.semi_joins import static_semi_joins
from livejoin.search.statistics import Statistics


@dataclass(frozen=True)
class Subtree:
    """Static atoms: a row of the first one determines the rows of the others.

    Law: each row of the first atom joins at most one row of each other atom. So the join has no more rows than the
    first atom, and no two of its rows have the same ``key``.

    Args:
        atoms: Positions of the atoms, the first one first.
        kept: The variables of the atoms that are needed elsewhere.
        key: The variables of a key of the first atom, all of which are kept.
        rows: The most rows of the join.
        referred: For each other atom the most rows that are referred to.
    """

    atoms: tuple[int, ...]
    kept: frozenset[str]
    key: frozenset[str]
    rows: float
    referred: tuple[float, ...]

    @property
    def variables(self) -> frozenset[str]:
        """The variables that are compared inside."""
        return self.key | self.kept


def subtrees(query: ConjunctiveQuery, known: Statistics) -> Iterator[Subtree]:
    """The subtrees of a query's core, each with all that it refers to, the larger ones first; they may overlap.

    Without those that a condition reaches over static tables: how few rows it leaves is not known here, and the others
    are left out of the join without a relation (`livejoin.dataflow.static_rows`). Cost: O(atoms cubed).

    Args:
        query: The query.
        known: Statistics of the tables.
    """
    reached = _reached_by_conditions(query)
    static = [atom for atom in query.core if atom not in reached and _may_be_merged(query, atom)]
    found = []
    for root in static:
        atoms = _referred(query, root, static)
        if len(atoms) > 1 and (one := _subtree(query, atoms, known)) is not None:
            found.append(one)
    yield from sorted(found, key=lambda one: (-len(one.atoms), one.atoms))


def _may_be_merged(query: ConjunctiveQuery, position: int) -> bool:
    """Whether an atom is static, and the only one over its table."""
    atom = query.atoms[position]
    return atom.table.static and sum(other.table.name == atom.table.name for other in query.atoms) == 1


def _reached_by_conditions(query: ConjunctiveQuery) -> set[int]:
    """The static atoms that have a condition, and those that such ones reduce, at any distance."""
    found = [place for place, atom in enumerate(query.atoms) if atom.table.static and atom.predicate is not None]
    semi_joins = static_semi_joins(query)
    for atom in found:
        found += [one.atom for one in semi_joins if one.by == atom and one.atom not in found]
    return set(found)


def _referred(query: ConjunctiveQuery, root: int, static: list[int]) -> tuple[int, ...]:
    """An atom, and the static ones that it refers to by their keys, at any depth."""
    found = [root]
    for atom in found:
        found += [
            other
            for other in static
            if other not in found and any(key <= query.edges[atom] for key in _keys(query.atoms[other]))
        ]
    return tuple(found)


def _keys(atom: Atom) -> list[frozenset[str]]:
    """The variables of each key of an atom's table of which it hides no column."""
    whole = (key for key in atom.table.keys if set(key) <= set(atom.columns))
    return [frozenset(atom.variables[atom.columns.index(column)] for column in key) for key in whole]


def _subtree(query: ConjunctiveQuery, atoms: tuple[int, ...], known: Statistics) -> Subtree | None:
    """The subtree of some atoms; None if its key is not kept, or the rows of its tables are not known."""
    inside = frozenset[str]().union(*(query.edges[atom] for atom in atoms))
    outside = frozenset[str]().union(*(query.edges[a] for a in range(len(query.atoms)) if a not in atoms))
    shown = {query.variable(ref) for ref in query.head} | (query.free or frozenset())
    hanging = {variable for branch in query.branches for pair in branch.key for variable in pair}
    kept = inside & (outside | shown | hanging)
    key = next((key for key in _keys(query.atoms[atoms[0]]) if key <= kept), None)
    rows = [known.of(query.atoms[atom].table.name).rows.value for atom in atoms]
    if key is None or not all(rows):
        return None
    referred = []
    for place, atom in enumerate(atoms[1:], 1):
        count = rows[place] or 0.0
        for above in atoms[:place]:
            if any(one <= query.edges[above] for one in _keys(query.atoms[atom])):
                shared = [query.atoms[above].column_of(v) for v in query.edges[above] & query.edges[atom]]
                distinct = known.of(query.atoms[above].table.name).distinct_of(shared).value
                count = min(count, rows[0] or 0.0, count if distinct is None else distinct)
        referred.append(count)
    return Subtree(atoms, kept, key, rows[0] or 0.0, tuple(referred))
