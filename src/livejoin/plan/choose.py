"""The choice of a join tree for a query: least height, because height bounds how far a change can spread.

CROWN, section 6: a tree of height 1 has O(1) updates for every change sequence (Lemma 6.8), one of height 2 for every
first-in-first-out sequence (Lemma 6.9), any tree for insertions only (Lemma 6.10). Among the trees of least height the
sum over the atoms of depth times expected changes decides (end of section 6).
"""

from __future__ import annotations

from livejoin.query import ConjunctiveQuery
from livejoin.theory.join_tree import JoinTree, least_height_tree

_FILTERED = 0.1  # share of the changes that a predicate is taken to let through while nothing is known about it


def choose_tree(query: ConjunctiveQuery) -> JoinTree:
    """A generalized join tree of least height for an acyclic query.

    Cost: exact for queries of realistic size, bounded for larger ones; see `least_height_tree`.
    """
    weights = [_FILTERED if atom.predicate else 1.0 for atom in query.atoms]
    return least_height_tree(query.edges, weights=weights)
