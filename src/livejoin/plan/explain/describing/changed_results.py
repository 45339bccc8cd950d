"""How many results of a join one change of a row adds or removes at most, as a power of the base rows."""

from __future__ import annotations

from fractions import Fraction

from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import problem_of
from livejoin.search.statistics import Statistics
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover


def changed_results(query: ConjunctiveQuery) -> Fraction:
    """One change adds or removes at most as many results as this power of the base rows says.

    It is the fractional edge cover number of what the changed row leaves open (Atserias, Grohe, Marx, FOCS 2008), for
    the atoms that can change; equal rows that are different base rows count. Rows that are known give those that their
    columns refer to by primary keys: they are columns of the row that refers to them, and leave nothing open (the chase
    of Gottlob, Lee, Valiant, Valiant, JACM 59(3), 2012, for keys). A row of a branch changes only results of rows above
    it that have its key, and one above it shows only rows of the branch that have it.
    """
    by_row = [
        edge if query.free is not None or query.is_distinct(i) else edge | {f"row of {i}"}
        for i, edge in enumerate(query.edges)
    ]
    wide = [_referred_to(query, row) for row in by_row]
    free = frozenset[str]().union(*by_row) if query.free is None else query.free
    powers = [Fraction(0)]
    for atom, row in zip(query.atoms, by_row, strict=True):
        if not atom.table.static and (open_ := free - _referred_to(query, row, over_branches=True)):
            powers.append(fractional_edge_cover([other & open_ for other in wide], open_).number)
    return max(powers)


def _referred_to(query: ConjunctiveQuery, given: frozenset[str], over_branches: bool = False) -> frozenset[str]:
    """Some variables and all that they determine by keys, and by the keys of branches where these are followed."""
    keys = problem_of(query, Statistics()).keys
    pairs = [pair for branch in query.branches for pair in branch.key] if over_branches else []
    for _ in query.atoms:
        for outer, inner in pairs:
            given |= {outer, inner} if outer in given or inner in given else set()
        for edge, own in zip(query.edges, keys, strict=True):
            if any(key <= given for key in own):
                given |= edge
    return given
