"""Join trees with edges of other kinds than inner: what hangs on an atom is a join tree of its own.

The part above and the part below have no variable in common. The edge between them says which variables are equal, all
of them in the one node above and all in the root below, so that each part keeps the laws of a join tree by itself
(CROWN, definition 3.1). Parts below an ``exists`` or ``not exists`` edge bring nothing to the output: the connex
subtree (definition 3.2) is the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from livejoin.theory.trees.join_tree import JoinTree, Node, connex_subtree
from livejoin.theory.trees.shape import Shape


@dataclass(frozen=True)
class Hanging:
    """A part of a query that hangs on an atom.

    Args:
        edge: The kind of the edge.
        over: The variables of the atom.
        key: The variables of the part's root that equal them, in the same order.
        shape: The part's join tree.
    """

    edge: Literal["exists", "not exists", "optional"]
    over: tuple[str, ...]
    key: tuple[str, ...]
    shape: Shape


def shape_of(tree: JoinTree, atoms: Sequence[int]) -> Shape:
    """A tree as a shape, with ``atoms[i]`` for its atom i."""

    def shape(position: int) -> Shape:
        node = tree.nodes[position]
        below = tuple(shape(child) for child in node.children)
        return Shape(frozenset(node.variables), None if node.atom is None else atoms[node.atom], below)

    return shape(0)


def with_branches(
    core: Shape, hanging: Mapping[int, Sequence[Hanging]], free: frozenset[str] | None = None
) -> JoinTree:
    """The tree of a core and of what hangs on its atoms, and on theirs.

    Args:
        core: The tree of the core.
        hanging: For an atom the parts that hang on it.
        free: The output variables, all of the core; None for all but those below exists and not exists edges.

    >>> orders = Hanging("not exists", ("k",), ("o.k",), Shape(frozenset({"o.k"}), 1))
    >>> tree = with_branches(Shape(frozenset({"k"}), 0), {0: [orders]})
    >>> str(tree), sorted(tree.connex)
    ('0{not exists 1}', [0])
    """
    nodes: list[Node] = []
    connex: set[int] = set()

    def add(shape: Shape, parent: int | None, key: tuple[str, ...], is_shown: bool) -> int:
        position = len(nodes)
        nodes.append(Node(tuple(sorted(shape.variables)), shape.atom, parent, (), key))
        if is_shown:
            connex.add(position)
        children = []
        for child in shape.children:
            children.append(add(child, position, tuple(sorted(child.variables & shape.variables)), is_shown))
        for part in hanging.get(shape.atom, ()) if shape.atom is not None else ():
            root = add(part.shape, position, part.key, is_shown and part.edge == "optional")
            nodes[root] = replace(nodes[root], edge=part.edge, over=part.over)
            children.append(root)
        nodes[position] = replace(nodes[position], children=tuple(children))
        return position

    add(core, None, (), True)
    return JoinTree(tuple(nodes), frozenset(connex) if free is None else connex_subtree(nodes, free))
