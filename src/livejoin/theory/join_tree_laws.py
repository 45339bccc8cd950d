"""The laws of a generalized join tree, checked.

A tree of a query that returns all its variables keeps these laws (CROWN, definitions 3.1 and 3.2; the connex property
is empty for such a query):

- cover: every atom is exactly one node, and every leaf is an atom;
- connect: for each variable, the nodes that contain it are connected;
- guard: a generalized relation is contained in each of its children;
- above: a generalized relation stands below generalized relations only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from livejoin.theory.join_tree import JoinTree


def violations(tree: JoinTree, edges: Sequence[frozenset[str]]) -> list[str]:
    """What in a tree breaks the laws of a generalized join tree; empty for a valid one.

    Cost: nodes times variables.

    >>> from livejoin.theory.join_tree import least_height_tree
    >>> edges = [frozenset("ab"), frozenset("bc")]
    >>> violations(least_height_tree(edges), edges)
    []
    """
    return [*_broken_form(tree), *_broken_cover(tree, edges), *_broken_nodes(tree)]


def is_valid(tree: JoinTree, edges: Sequence[frozenset[str]]) -> bool:
    """Whether a tree is a generalized join tree of the hypergraph."""
    return not violations(tree, edges)


def _broken_form(tree: JoinTree) -> Iterator[str]:
    order: list[int] = []
    todo = [0]
    while todo and len(order) <= len(tree.nodes):
        order.append(todo.pop())
        todo.extend(reversed(tree.nodes[order[-1]].children))
    if order != list(range(len(tree.nodes))):
        yield f"form: a walk over the children meets {order}, not the nodes in preorder"
    for position, node in enumerate(tree.nodes):
        if (node.parent is None) != (position == 0):
            yield f"form: node {position} has parent {node.parent}"
        for child in node.children:
            if tree.nodes[child].parent != position:
                yield f"form: node {child} is a child of {position} and has parent {tree.nodes[child].parent}"


def _broken_cover(tree: JoinTree, edges: Sequence[frozenset[str]]) -> Iterator[str]:
    atoms = sorted(node.atom for node in tree.nodes if node.atom is not None)
    if atoms != list(range(len(edges))):
        yield f"cover: the tree has atoms {atoms}, the query has {len(edges)}"
        return
    for position, node in enumerate(tree.nodes):
        if node.atom is None and not node.children:
            yield f"cover: leaf {position} is a generalized relation"
        if node.variables != tuple(sorted(edges[node.atom] if node.atom is not None else set(node.variables))):
            yield f"cover: node {position} has variables {node.variables}"


def _broken_nodes(tree: JoinTree) -> Iterator[str]:
    tops: dict[str, int] = {}
    for position, node in enumerate(tree.nodes):
        parent = None if node.parent is None else tree.nodes[node.parent]
        above = set() if parent is None else set(parent.variables)
        if node.key != tuple(sorted(above & set(node.variables))):
            yield f"form: node {position} has key {node.key}"
        if parent is not None and parent.atom is None and not above <= set(node.variables):
            yield f"guard: generalized relation {node.parent} is not contained in its child {position}"
        if parent is not None and parent.atom is not None and node.atom is None:
            yield f"above: generalized relation {position} stands below atom {parent.atom}"
        for variable in set(node.variables) - above:
            if variable in tops:
                yield f"connect: {variable} has tops {tops[variable]} and {position}"
            tops[variable] = position
