"""How many results a change adds and removes, amortised over a sequence of changes.

In a foreign-key join a row of the root makes one result at most, and it is touched whenever it comes or goes:

    the results that n changes add and remove are O(lambda * n)                                    (AJU, Corollary 9).

That is so whatever maintains the join, and so it is what a store above the join is fed.
"""

from __future__ import annotations

from livejoin.query import ConjunctiveQuery
from livejoin.search.guarantee import UpdateBound
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
