"""Semi-joins among the static tables of a join: what says of a row that it can be part of no result.

    supplier |>< nation:  a supplier whose nation is in no row of ``nation`` that fits joins nothing, whatever changes

Yannakakis' algorithm (VLDB 1981) reduces all relations by such semi-joins before it joins them. Here the static tables
alone are reduced, by each other: as long as they are what they are, what is left out is in no result of any commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

from livejoin.query.conjunctive import ConjunctiveQuery


@dataclass(frozen=True)
class SemiJoin:
    """``R |>< S``: a row of R is of use only if some row of S has its values.

    Args:
        atom: Position of the atom R.
        by: Position of the atom S.
        columns: The columns of R's table that are compared.
        others: The columns of S's table, in the same order.
    """

    atom: int
    by: int
    columns: tuple[int, ...]
    others: tuple[int, ...]


def static_semi_joins(query: ConjunctiveQuery) -> tuple[SemiJoin, ...]:
    """The semi-joins among the static atoms of a query. Cost: O(atoms squared).

    Law: without the rows that one of them leaves out, the results and their multiplicities are the same, whatever the
    other tables have. Within a part (the core, or a branch) atoms reduce each other, as each combination has a row of
    every one. A branch is reduced by the part that it hangs on, since nobody asks for its other keys; that part is
    reduced by the branch if its rows want a match.

    Args:
        query: The query.
    """
    found: list[SemiJoin] = []
    parts = [query.core, *(branch.atoms for branch in query.branches)]
    for part in parts:
        static = [atom for atom in part if query.atoms[atom].table.static]
        for atom, by in permutations(static, 2):
            found += _semi_join(query, atom, by, {v: v for v in query.edges[atom] & query.edges[by]})
    for branch in query.branches:
        above = query.core if branch.above is None else query.branches[branch.above].atoms
        inner, outer = ([a for a in part if query.atoms[a].table.static] for part in (branch.atoms, above))
        for atom in outer:
            for below in inner:
                found += _semi_join(query, below, atom, {inside: outside for outside, inside in branch.key})
                if branch.kind == "exists":
                    found += _semi_join(query, atom, below, dict(branch.key))
    return tuple(found)


def _semi_join(query: ConjunctiveQuery, atom: int, by: int, equal: Mapping[str, str]) -> Iterator[SemiJoin]:
    """The semi-join of an atom by another one, of whose variables some are equal; none if they share nothing."""
    one, other = query.atoms[atom], query.atoms[by]
    pairs = sorted((v, w) for v, w in equal.items() if v in one.variables and w in other.variables)
    if pairs:
        columns = tuple(one.column_of(v) for v, _ in pairs)
        yield SemiJoin(atom, by, columns, tuple(other.column_of(w) for _, w in pairs))
