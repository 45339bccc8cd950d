"""How many results a change adds and removes, amortised over a sequence of changes.

In a foreign-key join a row of the root makes one result at most, and it is touched whenever it comes or goes:

    the results that n changes add and remove are O(lambda * n)                                    (AJU, Corollary 9).

That is so whatever maintains the join, and so it is what a store above the join is fed.
"""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import UpdateBound
from livejoin.search.problem import Problem, passing_shares, problem_of, table_changes
from livejoin.search.statistics import Statistics
from livejoin.theory.keys.foreign_key import foreign_key_acyclic, foreign_key_graph


def delta_bound(query: ConjunctiveQuery) -> UpdateBound | None:
    """The bound on the results that a change adds and removes; None if only the size of the tables bounds them.

    Cost: that of `livejoin.theory.keys.foreign_key.foreign_key_graph`.
    """
    if query.branches:
        return None
    graph = foreign_key_graph(query)
    if not foreign_key_acyclic(graph):
        return None
    (root,) = graph.digraph.roots
    leaving = {i for i, atom in enumerate(query.atoms) if not (atom.table.static or atom.table.append_only)}
    if leaving <= {root}:
        return UpdateBound.ALWAYS  # a row of the root makes its result once
    return UpdateBound.LAMBDA if query.atoms[root].table.append_only else UpdateBound.FIFO


def expected_delta(query: ConjunctiveQuery, known: Statistics) -> float | None:
    """The results that a change of a table is expected to add or to take away, on average over the expected changes.

    Each row is taken to have as many partners in another relation as rows share a key there, whatever the key is.

    Args:
        query: The query.
        known: The figures of the tables.

    Returns:
        The number; None for distinct results, for edges that are not inner, and where the rows of a table are unknown.
    """
    problem, shares = problem_of(query, known, query.free), passing_shares(query, known)
    if query.free is not None or query.branches or any(rows is None for rows in problem.rows):
        return None
    names = dict.fromkeys(atom.table.name for atom in query.atoms if not atom.table.static)
    changes = sum(table_changes(query, known, name) for name in names)
    total = 0.0
    for start, weight in enumerate(problem.weights):
        if weight:
            partners = _partners(problem, shares, start)
            if partners is None:
                return None
            total += weight * partners
    return total / changes if changes else None


def _partners(problem: Problem, shares: Sequence[float], start: int) -> float | None:
    """The results that a row of an atom is expected to be in; None if it is not known how many rows share some key."""
    bound, left, found = problem.edges[start], set(range(len(problem.edges))) - {start}, 1.0
    while left:
        atom = max(left, key=lambda one: (len(problem.edges[one] & bound), -one))
        shared = problem.edges[atom] & bound
        if shared and shared not in dict(problem.distinct[atom]) and not problem.identifies(shared, atom):
            return None
        found *= problem.fanout(atom, shared) * shares[atom]
        bound |= problem.edges[atom]
        left.remove(atom)
    return found
