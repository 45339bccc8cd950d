"""Generalized join trees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """A node of a generalized join tree.

    Args:
        variables: The node's attributes, sorted.
        atom: Position of the atom in the query, None for a generalized relation.
        parent: Position of the parent in the tree's ``nodes``, None for the root.
        children: Positions of the children, ascending.
        key: ``key(e) = e & parent(e)``, sorted; empty for the root.
    """

    variables: tuple[str, ...]
    atom: int | None
    parent: int | None
    children: tuple[int, ...]
    key: tuple[str, ...]


@dataclass(frozen=True)
class JoinTree:
    """A rooted generalized join tree; ``nodes[0]`` is the root and nodes stand in preorder."""

    nodes: tuple[Node, ...]

    @property
    def height(self) -> int:
        """Largest number of atoms on a path from leaf to root; generalized relations do not count."""
        depth: list[int] = []
        for node in self.nodes:
            above = 0 if node.parent is None else depth[node.parent]
            depth.append(above + (node.atom is not None))
        return max(depth)
