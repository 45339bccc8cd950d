"""Free-connex join trees: construction, and the search for one of least height.

A generalized join tree of a query has a node for every atom, and nodes for generalized relations over any subset of
the variables, and a connex subtree that holds the output; its laws (cover, connect, guard, above, connex: CROWN,
definitions 3.1 and 3.2) are in `join_tree_laws`. A query has one if and only if it is free-connex (Lemma A.1). The
height counts the atoms on a path from leaf to root. It bounds the cost of an update: a query has a tree of height 1 if
and only if it is q-hierarchical, and then every update is O(1); at height 2 every FIFO sequence is O(1) (CROWN, lemmas
6.8 and 6.9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from livejoin.errors import UnknownNameError, UnsupportedQueryError
from livejoin.theory.classes.gyo import cycle, is_acyclic
from livejoin.theory.trees.connex_construction import construct_shape
from livejoin.theory.trees.least_height import least_height_shape
from livejoin.theory.trees.shape import Shape

__all__ = [
    "BUDGET",
    "JoinTree",
    "Node",
    "Shape",
    "TreeSearch",
    "connex_subtree",
    "construct_tree",
    "least_height_tree",
    "output_variables",
    "search_tree",
    "to_join_tree",
]

BUDGET = 20_000  # separations; about half a second


@dataclass(frozen=True)
class Node:
    """A node of a generalized join tree.

    Args:
        variables: The node's attributes, sorted.
        atom: Position of the atom in the query, None for a generalized relation.
        parent: Position of the parent in the tree's ``nodes``, None for the root.
        children: Positions of the children, ascending.
        key: ``key(e) = e & parent(e)``, sorted; empty for the root. Over an edge that is not inner the variables of the
            node that equal those of ``over``, in the same order.
        edge: The kind of the edge to the parent.
        over: Over an edge that is not inner, the variables of the parent that the key equals.
    """

    variables: tuple[str, ...]
    atom: int | None
    parent: int | None
    children: tuple[int, ...]
    key: tuple[str, ...]
    edge: Literal["inner", "exists", "not exists", "optional"] = "inner"
    over: tuple[str, ...] = ()

    @property
    def parent_key(self) -> tuple[str, ...]:
        """The variables of the parent that the key equals."""
        return self.key if self.edge == "inner" else self.over


@dataclass(frozen=True)
class JoinTree:
    """A rooted generalized join tree; ``nodes[0]`` is the root and nodes stand in preorder.

    Args:
        nodes: The nodes, parents before children.
        connex: Positions of the connex subtree's nodes, which hold the output variables; all nodes for a full query.
    """

    nodes: tuple[Node, ...]
    connex: frozenset[int]

    @property
    def depths(self) -> tuple[int, ...]:
        """Number of atoms on the path from each node to the root, both included."""
        depths: list[int] = []
        for node in self.nodes:
            above = 0 if node.parent is None else depths[node.parent]
            depths.append(above + (node.atom is not None))
        return tuple(depths)

    @property
    def height(self) -> int:
        """Largest number of atoms on a path from leaf to root; generalized relations do not count."""
        return max(self.depths)

    def __str__(self) -> str:
        """The tree on one line: generalized relations in brackets, atoms by position, children in braces."""

        def show(position: int) -> str:
            node = self.nodes[position]
            head = f"[{', '.join(node.variables)}]" if node.atom is None else str(node.atom)
            head = head if node.edge == "inner" else f"{node.edge} {head}"
            below = ", ".join(show(child) for child in node.children)
            return f"{head}{{{below}}}" if below else head

        return show(0)


def to_join_tree(shape: Shape, free: frozenset[str] | None = None) -> JoinTree:
    """Number the nodes of a shape in preorder, derive their keys and mark the connex subtree.

    >>> leaf = Shape(frozenset("bc"), 1)
    >>> to_join_tree(Shape(frozenset("ab"), 0, (leaf,))).nodes[1].key
    ('b',)
    """
    nodes: list[Node] = []

    def add(shape: Shape, parent: int | None, above: frozenset[str]) -> int:
        position = len(nodes)
        key = tuple(sorted(shape.variables & above))
        nodes.append(Node(tuple(sorted(shape.variables)), shape.atom, parent, (), key))
        children = tuple(add(child, position, shape.variables) for child in shape.children)
        nodes[position] = Node(nodes[position].variables, shape.atom, parent, children, key)
        return position

    add(shape, None, frozenset())
    return JoinTree(tuple(nodes), connex_subtree(nodes, free))


def connex_subtree(nodes: Sequence[Node], free: frozenset[str] | None = None) -> frozenset[int]:
    """The connex subtree of nodes in preorder: all of them for a full query, else the least one.

    A connected set of nodes with the root covers a variable only if it has the highest node that contains it. So the
    least candidate is unique: these nodes for all output variables, the nodes above them, and the root. If any
    candidate keeps the connex law then this one does. Cost: nodes times variables.

    >>> ab, bc = Shape(frozenset("ab"), 0), Shape(frozenset("bc"), 1)
    >>> nodes = to_join_tree(Shape(frozenset("b"), None, (ab, bc))).nodes
    >>> sorted(connex_subtree(nodes, frozenset("b"))), sorted(connex_subtree(nodes, frozenset("bc")))
    ([0], [0, 2])
    """
    if free is None or free >= {variable for node in nodes for variable in node.variables}:
        return frozenset(range(len(nodes)))
    connex = {0}
    for position, node in enumerate(nodes):
        if free & (set(node.variables) - set(node.key)):
            above: int | None = position
            while above is not None and above not in connex:
                connex.add(above)
                above = nodes[above].parent
    return frozenset(connex)


@dataclass(frozen=True)
class TreeSearch:
    """What `search_tree` found.

    Args:
        tree: The best tree known, a valid one in any case.
        complete: Whether the search came to its end, so that no tree is better.
        separations: How many separations into components it made or looked up.
    """

    tree: JoinTree
    complete: bool
    separations: int


def search_tree(
    edges: Sequence[frozenset[str]],
    free: frozenset[str] | None = None,
    weights: Sequence[float] | None = None,
    budget: int = BUDGET,
) -> TreeSearch:
    """Search for a free-connex join tree of least height.

    Among those of least height: least sum of the atoms' depths times their weights, then fewest generalized relations,
    then the first in the order of the atoms; over all generalized join trees of the query (`least_height` says why).
    Cost: 10 to 40 microseconds a separation; a path of 12 atoms takes 229 of them, one of 64 atoms 7,444, contrived
    hypergraphs more.

    Args:
        edges: The variables of each atom, at least one atom.
        free: The output variables; all of them if None.
        weights: The cost of a level of depth for each atom; 1 each if None.
        budget: Largest number of separations into components that the search may make. Beyond it, the tree is that of
            `construct_tree`, and the report says that the search is not complete.

    Returns:
        The tree, which `is_valid`, and how far the search came.

    Raises:
        UnknownNameError: An output variable occurs in no atom.
        UnsupportedQueryError: The query is cyclic, or not free-connex.

    >>> search_tree([frozenset("ab"), frozenset("bc"), frozenset("cd")]).complete
    True
    """
    output = output_variables(edges, free)
    fallback = construct_tree(edges, output)
    costs = [1.0] * len(edges) if weights is None else weights
    found = least_height_shape(edges, output, costs, fallback.height, budget)
    tree = fallback if found.shape is None else to_join_tree(found.shape, output)
    return TreeSearch(tree, found.complete, found.separations)


def least_height_tree(
    edges: Sequence[frozenset[str]],
    free: frozenset[str] | None = None,
    weights: Sequence[float] | None = None,
    budget: int = BUDGET,
) -> JoinTree:
    """The tree of `search_tree`, with the same arguments, cost and errors.

    >>> str(least_height_tree([frozenset("ab"), frozenset("bc"), frozenset("cd")]))
    '[b]{0, 1{2}}'
    >>> str(least_height_tree([frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("de")]))
    '[c]{1{0}, 2{3}}'
    >>> str(least_height_tree([frozenset("ab"), frozenset("bc")], free=frozenset("a")))
    '0{1}'
    """
    return search_tree(edges, free, weights, budget).tree


def construct_tree(edges: Sequence[frozenset[str]], free: frozenset[str] | None = None) -> JoinTree:
    """A free-connex join tree by the construction of CROWN, appendix A; seldom of least height.

    Cost: polynomial; see `connex_construction`.

    Args:
        edges: The variables of each atom, at least one atom.
        free: The output variables; all of them if None.

    Raises:
        UnknownNameError: An output variable occurs in no atom.
        UnsupportedQueryError: The query is cyclic, or not free-connex.

    >>> tree = construct_tree([frozenset("ab"), frozenset("bc"), frozenset("cd")], frozenset("bc"))
    >>> str(tree), sorted(tree.connex)
    ('1{0, 2}', [0])
    """
    output = output_variables(edges, free)
    if witness := cycle(edges):
        msg = f"the join is cyclic: atoms {', '.join(map(str, witness))} form a cycle; allowed are acyclic joins"
        raise UnsupportedQueryError(msg, clause="FROM")
    if not is_acyclic([*edges, output]):
        msg = (
            f"the query is not free-connex: no join tree of its atoms keeps the output {', '.join(sorted(output))} "
            "together; allowed are outputs that close no cycle with the atoms; add columns to the output, "
            "`check_free_connex` says which"
        )
        raise UnsupportedQueryError(msg, clause="SELECT")
    return to_join_tree(construct_shape(edges, output), output)


def output_variables(edges: Sequence[frozenset[str]], free: frozenset[str] | None) -> frozenset[str]:
    """The output variables: ``free``, or all variables if it is None.

    Raises:
        UnknownNameError: An output variable occurs in no atom.
    """
    variables = frozenset[str]().union(*edges)
    if free is None:
        return variables
    if unknown := free - variables:
        msg = (
            f"output variables {', '.join(sorted(unknown))} occur in no atom; "
            f"allowed are {', '.join(sorted(variables)) or 'none'}"
        )
        raise UnknownNameError(msg)
    return free
