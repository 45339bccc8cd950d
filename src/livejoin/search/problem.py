"""A planning problem: what the choice of a plan needs to know of a query, its keys and the expected changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from livejoin.query import ConjunctiveQuery
from livejoin.query.scalar import Expression
from livejoin.schema import Table
from livejoin.search.statistics import Statistics

PASSING = 0.1  # share of the changes that a predicate is taken to let through while nothing is known about it
_MANY = 0.05  # of the rows: to walk so many groups takes as long as to walk half of the rows (decision 66)
FANOUT = 8.0  # rows that are taken to share a join key while nothing is known about it


@dataclass(frozen=True)
class Problem:
    """A query as the search for a tree sees it.

    Args:
        edges: The variables of each atom.
        free: The output variables.
        keys: For each atom the variables of each key of its table of which it hides no column.
        dynamic: Positions of the atoms whose tables change.
        weights: Expected changes of each atom's relation, 0 for one that is static.
        rows: Rows of each atom's relation, None where unknown.
        distinct: For each atom, distinct keys of some sets of its variables.
        growing: Positions of the atoms whose tables are append-only.
    """

    edges: tuple[frozenset[str], ...]
    free: frozenset[str]
    keys: tuple[tuple[frozenset[str], ...], ...]
    dynamic: frozenset[int]
    weights: tuple[float, ...]
    rows: tuple[float | None, ...]
    distinct: tuple[tuple[tuple[frozenset[str], float], ...], ...]
    growing: frozenset[int] = frozenset()

    @property
    def leaving(self) -> frozenset[int]:
        """Positions of the atoms from whose tables rows may leave."""
        return self.dynamic - self.growing

    def identifies(self, variables: frozenset[str], atom: int) -> bool:
        """Whether values of some variables are those of at most one row of an atom."""
        return any(key <= variables for key in self.keys[atom])

    def fanout(self, atom: int, variables: frozenset[str]) -> float:
        """Rows of an atom that are expected to have the same values in some of its variables, at least 1."""
        if self.identifies(variables, atom):
            return 1.0
        known = dict(self.distinct[atom]).get(variables)
        rows = self.rows[atom]
        if not variables and rows is not None:
            return max(1.0, rows)
        if known is not None and rows is not None:
            return max(1.0, rows / max(1.0, known))
        return FANOUT

    def flip(self, atom: int, variables: frozenset[str]) -> float:
        """Probability that a change of an atom's rows changes which values some variables have at all."""
        if self.identifies(variables, atom):
            return 1.0
        return 1.0 / self.fanout(atom, variables)


def problem_of(query: ConjunctiveQuery, statistics: Statistics, free: frozenset[str] | None = None) -> Problem:
    """The planning problem of a query.

    Changes that are unknown are taken to be as many as those that are known on average, and equal if none is known.

    Args:
        query: The query.
        statistics: Statistics of the tables.
        free: The output variables; all of them if None.
    """
    keys: list[tuple[frozenset[str], ...]] = []
    distinct = []
    for atom in query.atoms:
        variable_of = dict(zip(atom.columns, atom.variables, strict=True))
        shown = [key for key in atom.table.keys if set(key) <= variable_of.keys()]
        keys.append(tuple(frozenset(variable_of[column] for column in key) for key in shown))
        known = []
        for columns, figure in statistics.of(atom.table.name).distinct:
            if figure.value is not None and set(columns) <= set(atom.columns):
                known.append((frozenset(atom.variables[atom.columns.index(c)] for c in columns), figure.value))
        distinct.append(tuple(known))
    return Problem(
        edges=query.edges,
        free=query.variables if free is None else free,
        keys=tuple(keys),
        dynamic=frozenset(i for i, atom in enumerate(query.atoms) if not atom.table.static),
        weights=expected_changes(query, statistics),
        rows=tuple(statistics.of(atom.table.name).rows.value for atom in query.atoms),
        distinct=tuple(distinct),
        growing=frozenset(i for i, atom in enumerate(query.atoms) if atom.table.append_only),
    )


def expected_changes(query: ConjunctiveQuery, statistics: Statistics) -> tuple[float, ...]:
    """``N(e)`` of each atom: the changes of its table that its predicate lets through (CROWN, end of section 6)."""
    return tuple(
        0.0 if atom.table.static else table_changes(query, statistics, atom.table.name) * share
        for atom, share in zip(query.atoms, passing_shares(query, statistics), strict=True)
    )


def passing_shares(query: ConjunctiveQuery, statistics: Statistics) -> tuple[float, ...]:
    """The share of the rows that each atom's predicate lets through."""
    return tuple(_passing(statistics, atom.table.name, atom.predicate) for atom in query.atoms)


def is_many(table: Table, columns: Sequence[int], statistics: Statistics) -> bool | None:
    """Whether a table has many different values in some columns, against its rows; None where it is not known."""
    known = statistics.of(table.name)
    rows, values = known.rows.value, known.distinct_of(columns).value
    return None if rows is None or values is None else values > _MANY * rows


def table_changes(query: ConjunctiveQuery, statistics: Statistics, table: str) -> float:
    """Changes of a table, known or as many as those of a table of the query that is known."""
    found = statistics.of(table).changes.value
    return _mean_changes(query, statistics) if found is None else found


def _mean_changes(query: ConjunctiveQuery, statistics: Statistics) -> float:
    names = dict.fromkeys(atom.table.name for atom in query.atoms if not atom.table.static)
    known = [value for name in names if (value := statistics.of(name).changes.value) is not None]
    return sum(known) / len(known) if any(known) else 1.0


def _passing(statistics: Statistics, table: str, predicate: Expression | None) -> float:
    if predicate is None:
        return 1.0
    known = statistics.of(table).passing_of(predicate.text).value
    return PASSING if known is None else known


def edge_variables(edges: Sequence[frozenset[str]], atoms: Sequence[int]) -> frozenset[str]:
    """All variables of some atoms."""
    return frozenset[str]().union(*(edges[atom] for atom in atoms))
