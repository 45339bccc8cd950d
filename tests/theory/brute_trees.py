"""All trees of a small query by brute force: every rooted tree over labelled nodes that keeps the laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations, product

from livejoin.theory.trees.join_tree import JoinTree, to_join_tree
from livejoin.theory.trees.join_tree_laws import is_valid
from livejoin.theory.trees.shape import Shape

Edges = Sequence[frozenset[str]]
Canonical = tuple[tuple[str, ...], int, tuple["Canonical", ...]]


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def subsets(variables: frozenset[str]) -> list[frozenset[str]]:
    ordered = sorted(variables)
    chosen = chain.from_iterable(combinations(ordered, size) for size in range(len(ordered) + 1))
    return [frozenset(subset) for subset in chosen]


def canonical(tree: JoinTree, position: int = 0) -> Canonical:
    """A tree without the order of its children; equal for trees that an isomorphism fixing the atoms maps."""
    node = tree.nodes[position]
    children = sorted(canonical(tree, child) for child in node.children)
    return node.variables, -1 if node.atom is None else node.atom, tuple(children)


def parent_maps(atoms: int, generalized: int) -> list[tuple[int | None, ...]]:
    """The parents of all nodes, atoms first, in every tree whose form keeps the cover law and the above law.

    So generalized relations are not leaves and stand below each other only; the first one is the root. Their names
    mean nothing, so each stands after its parent.
    """
    nodes = atoms + generalized
    above: list[Sequence[int | None]] = [range(atoms, g) for g in range(atoms + 1, nodes)]
    if generalized:
        options = [*([n for n in range(nodes) if n != atom] for atom in range(atoms)), [None], *above]
    else:
        options = [[None, *(n for n in range(nodes) if n != atom)] for atom in range(atoms)]
    return [
        parents
        for parents in product(*options)
        if all(_reaches_root(parents, node) for node in range(nodes)) and {*range(atoms, nodes)} <= {*parents}
    ]


def _reaches_root(parents: tuple[int | None, ...], node: int) -> bool:
    current: int | None = node
    for _ in parents:
        current = None if current is None else parents[current]
    return current is None and parents.count(None) == 1


def labelled_trees(edges: Edges, generalized: int) -> dict[Canonical, JoinTree]:
    """Every valid tree over the atoms and exactly this many generalized relations.

    They are over any variables of some atom: the guard law puts an atom that contains it below each of them.
    """
    choices = set(chain.from_iterable(subsets(edge) for edge in edges))
    found: dict[Canonical, JoinTree] = {}
    for parents in parent_maps(len(edges), generalized):
        for extra in product(choices, repeat=generalized):
            tree = to_join_tree(_shape(parents, [*edges, *extra], len(edges), parents.index(None)))
            if is_valid(tree, edges):
                found.setdefault(canonical(tree), tree)
    return found


def _shape(parents: Sequence[int | None], variables: Edges, atoms: int, node: int) -> Shape:
    children = [_shape(parents, variables, atoms, c) for c, parent in enumerate(parents) if parent == node]
    return Shape(variables[node], node if node < atoms else None, tuple(children))


def connex_subtrees(tree: JoinTree, edges: Edges, free: frozenset[str]) -> list[frozenset[int]]:
    """Every connected set of nodes around the root with which the tree is a valid free-connex join tree."""
    below = [
        {0, *chosen} for size in range(len(tree.nodes)) for chosen in combinations(range(1, len(tree.nodes)), size)
    ]
    sets = [frozenset(nodes) for nodes in below if all(tree.nodes[n].parent in nodes for n in nodes if n)]
    return [connex for connex in sets if is_valid(replace(tree, connex=connex), edges, free)]


def redundant_node(tree: JoinTree) -> int | None:
    """A generalized relation with one child, or with the variables of its parent."""
    for position, node in enumerate(tree.nodes):
        parent = None if node.parent is None else tree.nodes[node.parent].variables
        if node.atom is None and (len(node.children) == 1 or node.variables == parent):
            return position
    return None


def without(tree: JoinTree, left_out: int) -> JoinTree:
    """The tree with a node taken out, whose children go to its parent; an only child becomes the root."""

    def shapes(position: int) -> tuple[Shape, ...]:
        node = tree.nodes[position]
        children = tuple(chain.from_iterable(shapes(child) for child in node.children))
        return children if position == left_out else (Shape(frozenset(node.variables), node.atom, children),)

    (root,) = shapes(0)
    return to_join_tree(root)


def atom_depths(tree: JoinTree) -> dict[int, int]:
    return {n.atom: depth for n, depth in zip(tree.nodes, tree.depths, strict=True) if n.atom is not None}
