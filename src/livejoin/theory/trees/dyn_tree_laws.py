"""The laws of Dynamic Yannakakis' generalized join trees, in which all atoms are leaves.

Let A be the atoms of a query. A *hyperedge* is a set of variables that some atom has all of; it is *full* if some atom
has no others, and else *partial*. A *generalized hypertree decomposition of width one* is a tree of atoms and
hyperedges with these laws (DYN, definition 3.1):

- cover: every atom is exactly one node;
- hyperedge: every other node is a hyperedge, and no hyperedge is there twice;
- connect: for each variable, the nodes that contain it are connected.

It is a *generalized join tree* in DYN's sense (definition 3.3) with two more:

- leaf: the atoms are the leaves;
- guard: every hyperedge is contained in one of its children at least, which is called a *guard* of it.

CROWN's trees (`join_tree_laws`) differ: atoms may be inside, and every child guards a generalized relation. The trees
here are `livejoin.theory.trees.join_tree.JoinTree` values too; hyperedges are nodes without an atom.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from livejoin.theory.trees.join_tree import JoinTree


def guards(tree: JoinTree, position: int) -> tuple[int, ...]:
    """The children of a node that contain it: grd(n) of DYN, section 3.1.

    >>> from livejoin.theory.trees.join_tree import to_join_tree
    >>> from livejoin.theory.trees.shape import Shape
    >>> ab, bc = Shape(frozenset("ab"), 0), Shape(frozenset("bc"), 1)
    >>> guards(to_join_tree(Shape(frozenset("ab"), None, (ab, bc))), 0)
    (1,)
    """
    variables = set(tree.nodes[position].variables)
    return tuple(child for child in tree.nodes[position].children if variables <= set(tree.nodes[child].variables))


def width_one_violations(tree: JoinTree, edges: Sequence[frozenset[str]]) -> list[str]:
    """What in a tree breaks the laws of a generalized hypertree decomposition of width one; empty for a valid one.

    Cost: nodes times atoms times variables.
    """
    return [*_broken_form(tree), *_broken_cover(tree, edges), *_broken_hyperedges(tree, edges), *_broken_connect(tree)]


def dyn_violations(tree: JoinTree, edges: Sequence[frozenset[str]]) -> list[str]:
    """What in a tree breaks the laws of DYN's generalized join trees; empty for a valid one.

    Cost: nodes times atoms times variables.

    >>> from livejoin.theory.trees.join_tree import to_join_tree
    >>> from livejoin.theory.trees.shape import Shape
    >>> edges = [frozenset("ab"), frozenset("bc")]
    >>> dyn_violations(to_join_tree(Shape(edges[0], 0, (Shape(edges[1], 1),))), edges)
    ['leaf: node 0 is atom 0 and has children']
    """
    return [*width_one_violations(tree, edges), *_broken_leaves(tree)]


def _broken_form(tree: JoinTree) -> Iterator[str]:
    for position, node in enumerate(tree.nodes):
        if (node.parent is None) != (position == 0) or (node.parent is not None and node.parent >= position):
            yield f"form: node {position} has parent {node.parent}"
            continue
        above = () if node.parent is None else tree.nodes[node.parent].variables
        if node.key != tuple(sorted(set(above) & set(node.variables))):
            yield f"form: node {position} has key {node.key}"
        children = tuple(child for child, other in enumerate(tree.nodes) if other.parent == position)
        if node.children != children:
            yield f"form: node {position} has children {node.children} and is the parent of {children}"


def _broken_cover(tree: JoinTree, edges: Sequence[frozenset[str]]) -> Iterator[str]:
    atoms = sorted(node.atom for node in tree.nodes if node.atom is not None)
    if atoms != list(range(len(edges))):
        yield f"cover: the tree has atoms {atoms}, the query has {len(edges)}"
        return
    for position, node in enumerate(tree.nodes):
        if node.atom is not None and node.variables != tuple(sorted(edges[node.atom])):
            yield f"cover: node {position} is atom {node.atom} and has variables {node.variables}"


def _broken_hyperedges(tree: JoinTree, edges: Sequence[frozenset[str]]) -> Iterator[str]:
    seen: dict[tuple[str, ...], int] = {}
    for position, node in enumerate(tree.nodes):
        if node.atom is None:
            if not any(edge.issuperset(node.variables) for edge in edges):
                yield f"hyperedge: no atom has all variables of node {position}, {', '.join(node.variables)}"
            if (other := seen.setdefault(node.variables, position)) != position:
                yield f"hyperedge: nodes {other} and {position} have the same variables"


def _broken_connect(tree: JoinTree) -> Iterator[str]:
    tops: dict[str, int] = {}
    for position, node in enumerate(tree.nodes):
        for variable in sorted(set(node.variables) - set(node.key)):
            if (other := tops.setdefault(variable, position)) != position:
                yield f"connect: {variable} has tops {other} and {position}"


def _broken_leaves(tree: JoinTree) -> Iterator[str]:
    for position, node in enumerate(tree.nodes):
        if node.atom is not None and node.children:
            yield f"leaf: node {position} is atom {node.atom} and has children"
        if node.atom is None and not node.children:
            yield f"leaf: leaf {position} is a hyperedge"
        elif node.atom is None and not guards(tree, position):
            yield f"guard: no child of hyperedge {position} contains it"
