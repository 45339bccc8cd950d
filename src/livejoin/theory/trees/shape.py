"""Rooted trees without bookkeeping, in which join trees are built before their nodes are numbered.

A shape says which node is below which, and nothing that follows from it: keys, numbers and the connex subtree are
those of `livejoin.theory.trees.join_tree.JoinTree`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A node with all that is below it.

    Args:
        variables: The node's attributes.
        atom: Position of the atom in the query, None for a generalized relation.
        children: The subtrees below.

    >>> star = Shape(frozenset("x"), None, (Shape(frozenset("xa"), 0), Shape(frozenset("xb"), 1)))
    >>> star.height
    1
    """

    variables: frozenset[str]
    atom: int | None
    children: tuple[Shape, ...] = ()

    @property
    def height(self) -> int:
        """Largest number of atoms on a path from leaf to root; generalized relations do not count."""
        return (self.atom is not None) + max((child.height for child in self.children), default=0)
