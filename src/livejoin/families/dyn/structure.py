"""The nodes that a plan of Dynamic Yannakakis keeps: DYN's generalized join tree with a connex subset N.

The tree is that of `livejoin.theory.trees.dyn_trees`: atoms at the leaves, and under projections a connex subset that
has exactly the output variables. Two changes are made to it, which keep it such a tree: with distinct results an atom
in N whose rows may agree in its variables gets the hyperedge of these above it, and leaves of N that add no variable
are taken out of N, as their multiplicities are found above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from livejoin.theory.trees.dyn_trees import dyn_tree
from livejoin.theory.trees.join_tree import JoinTree


@dataclass(frozen=True)
class DynNode:
    """A node of DYN's tree.

    Args:
        variables: The variables of the node, sorted.
        atom: Position of the atom, None for a hyperedge.
        parent: Position of the parent, None for the root.
        children: Positions of the children, guards first.
        guards: Number of the guards among them.
        key: ``pvar(n)``, sorted.
        connex: Whether the node is in N.
    """

    variables: tuple[str, ...]
    atom: int | None
    parent: int | None
    children: tuple[int, ...]
    guards: int
    key: tuple[str, ...]
    connex: bool


def dyn_nodes(tree: JoinTree, free: frozenset[str] | None, distinct: Sequence[bool]) -> tuple[DynNode, ...]:
    """The nodes of DYN's tree in preorder.

    Args:
        tree: A join tree of the query, free-connex for ``free``.
        free: The output variables, None for all variables under bag semantics.
        distinct: For each atom, whether its rows are known to differ in its variables.
    """
    found = dyn_tree(tree, free)
    connex = set(found.connex)
    if free is not None:
        for position in sorted(connex, reverse=True):
            node = found.nodes[position]
            if position and not connex.intersection(node.children) and set(node.variables) == set(node.key):
                connex.remove(position)
    nodes: list[DynNode] = []

    def add(position: int, parent: int | None, inside: bool) -> int:
        node = found.nodes[position]
        at = len(nodes)
        wrapped = node.atom is not None and inside and free is not None and not distinct[node.atom]
        above = set(nodes[parent].variables) if parent is not None else set()
        key = tuple(v for v in node.variables if v in above)
        nodes.append(DynNode(node.variables, None if wrapped else node.atom, parent, (), 0, key, inside))
        below = [position] if wrapped else sorted(node.children, key=lambda c: not _is_guard(found, position, c))
        guards = sum(wrapped or _is_guard(found, position, c) for c in below)
        children = tuple(add(c, at, not wrapped and c in connex) for c in below)
        nodes[at] = replace(nodes[at], children=children, guards=guards)
        return at

    add(0, None, True)
    return tuple(nodes)


def enumeration_order(nodes: Sequence[DynNode], first: Sequence[int], filtered: Sequence[bool]) -> list[int]:
    """The nodes of N in the order of an enumeration, parents before children.

    The innermost group should be long, so subtrees of unfiltered atoms come last.

    Args:
        nodes: The nodes.
        first: Nodes to begin with, from the root downwards; none for the root alone.
        filtered: Whether each atom has a predicate.
    """
    order = list(first) or [0]

    def inwardness(node: int) -> tuple[bool, int]:
        below = [node]
        for one in below:
            below.extend(nodes[one].children)
        atoms = [a for one in below if (a := nodes[one].atom) is not None]
        return not any(filtered[a] for a in atoms), -len(atoms)

    def descend(node: int) -> None:
        for child in sorted(nodes[node].children, key=inwardness):
            if nodes[child].connex and child not in order:
                order.append(child)
                descend(child)

    for node in tuple(order):
        descend(node)
    return order


def _is_guard(tree: JoinTree, parent: int, child: int) -> bool:
    return set(tree.nodes[parent].variables) <= set(tree.nodes[child].variables)
