"""The nodes that a plan keeps: a join tree with projections above the connex nodes that have bound variables.

Enumeration needs ``V_a(e) = pi_{e & y} V_s(e)`` for every connex node e (CROWN, section 7.3). Where e has bound
variables, or rows that agree on all its variables, a *projection* node with the variables ``e & y`` takes e's place
and gets e as a child, which is not connex any more; e keeps its children outside of the connex subtree. So inside the
connex subtree everything is a full join over distinct rows. Generalized relations and projections are *derived* nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from livejoin.query import ConjunctiveQuery
from livejoin.theory.trees.join_tree import JoinTree

Edge = Literal["inner", "exists", "not exists", "optional"]


@dataclass(frozen=True)
class PlanNode:
    """A node of a plan.

    Args:
        variables: The variables of the node, sorted.
        atom: Position of the atom, None for a derived node.
        parent: Position of the parent, None for the root.
        children: Positions of the children, inline ones first.
        key: ``key(e)``, sorted.
        inline: Number of the children whose key is all of this derived node's variables.
        connex: Whether the node belongs to the connex subtree.
        edge: The kind of the edge to the parent.
        parent_key: The variables of the parent that the key equals.
        quiet: Whether nothing at the node or below it changes, so that the rows above are never asked for.
    """

    variables: tuple[str, ...]
    atom: int | None
    parent: int | None
    children: tuple[int, ...]
    key: tuple[str, ...]
    inline: int
    connex: bool
    edge: Edge
    parent_key: tuple[str, ...]
    quiet: bool = False


@dataclass(frozen=True)
class _Shape:
    """A node before it is numbered; over an edge that is not inner with its keys in the node and in the parent."""

    variables: tuple[str, ...]
    atom: int | None
    connex: bool
    children: tuple[_Shape, ...] = ()
    edge: Edge = "inner"
    keys: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def plan_nodes(tree: JoinTree, free: frozenset[str] | None, distinct: Sequence[bool]) -> tuple[PlanNode, ...]:
    """The nodes of a plan in preorder.

    Args:
        tree: A join tree of the query, free-connex for ``free``.
        free: The output variables, None for all variables under bag semantics.
        distinct: For each atom, whether its rows are known to differ in its variables.

    Returns:
        The nodes; the root is the first one.
    """
    connex = tree.connex if free is None else _least_connex(tree, free)

    def shape(position: int) -> _Shape:
        node = tree.nodes[position]
        if free is None or position not in connex:
            below = tuple(shape(child) for child in node.children)
            keys = (node.key, node.parent_key)
            return _Shape(node.variables, node.atom, position in connex, below, node.edge, keys)
        kept = tuple(v for v in node.variables if v in free)
        inside = tuple(shape(child) for child in node.children if child in connex)
        outside = tuple(shape(child) for child in node.children if child not in connex)
        if kept == node.variables and (node.atom is None or distinct[node.atom]):
            return _Shape(node.variables, node.atom, True, outside + inside)
        return _Shape(kept, None, True, (_Shape(node.variables, node.atom, False, outside), *inside))

    return _numbered(shape(0))


def with_quiet_edges(nodes: Sequence[PlanNode], query: ConjunctiveQuery) -> tuple[PlanNode, ...]:
    """The nodes, those marked above which no change goes up because all tables below are static.

    The rows of an atom that stands for several base rows are found by the widest key of its edges when results are read
    by their values (`livejoin.families.crown.access`): one edge with such a key keeps its lists.
    """
    fixed = [node.atom is None or query.atoms[node.atom].table.static for node in nodes]
    for position in reversed(range(len(nodes))):
        fixed[position] = fixed[position] and all(fixed[child] for child in nodes[position].children)

    kept = set()
    for node in nodes:
        if node.connex and node.atom is not None and not query.is_distinct(node.atom) and node.children:
            widest = max(node.children, key=lambda child: (len(nodes[child].parent_key), not fixed[child]))
            if len(nodes[widest].parent_key) > len(node.key):
                kept.add(widest)
    quiet = [fixed[at] and node.parent is not None and at not in kept for at, node in enumerate(nodes)]
    return tuple(replace(node, quiet=is_quiet) for node, is_quiet in zip(nodes, quiet, strict=True))


def _least_connex(tree: JoinTree, free: frozenset[str]) -> frozenset[int]:
    """The tree's connex subtree without leaves that add no output variable."""
    left = set(tree.connex)
    for position in sorted(left, reverse=True):
        node = tree.nodes[position]
        above = set() if node.parent is None else set(tree.nodes[node.parent].variables)
        if position and not left.intersection(node.children) and free.intersection(node.variables) <= above:
            left.remove(position)
    return frozenset(left)


def _numbered(root: _Shape) -> tuple[PlanNode, ...]:
    nodes: list[PlanNode] = []

    def is_inline(shape: _Shape, child: _Shape) -> bool:
        return shape.atom is None and child.edge == "inner" and set(shape.variables) <= set(child.variables)

    def add(shape: _Shape, parent: int | None, above: frozenset[str]) -> int:
        position = len(nodes)
        key = tuple(v for v in shape.variables if v in above)
        keys = (key, key) if shape.edge == "inner" else shape.keys
        nodes.append(PlanNode(shape.variables, shape.atom, parent, (), keys[0], 0, shape.connex, shape.edge, keys[1]))
        ordered = sorted(shape.children, key=lambda child: not is_inline(shape, child))
        children = tuple(add(child, position, frozenset(shape.variables)) for child in ordered)
        inline = sum(is_inline(shape, child) for child in ordered)
        nodes[position] = replace(nodes[position], children=children, inline=inline)
        return position

    add(root, None, frozenset())
    return tuple(nodes)
