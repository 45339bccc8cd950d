"""Generalized join trees and the search for one of least height.

A generalized join tree of a query has a node for every atom, and nodes for generalized relations over any subset of
the variables; its laws (cover, connect, guard, above: CROWN, definitions 3.1 and 3.2) are in `join_tree_laws`. The
height counts the atoms on a path from leaf to root. It bounds the cost of an update: a query has a tree of height 1 if
and only if it is q-hierarchical, and then every update is O(1); at height 2 every FIFO sequence is O(1) (CROWN, lemmas
6.8 and 6.9).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from livejoin.errors import UnsupportedQueryError
from livejoin.theory.gyo import cycle
from livejoin.theory.hypergraph import Hypergraph


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
            below = ", ".join(show(child) for child in node.children)
            return f"{head}{{{below}}}" if below else head

        return show(0)


@dataclass(frozen=True)
class Shape:
    """A rooted tree without the bookkeeping of `JoinTree`; ``atom`` is None for a generalized relation."""

    variables: frozenset[str]
    atom: int | None
    children: tuple[Shape, ...] = ()


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


def least_height_tree(
    edges: Sequence[frozenset[str]],
    free: frozenset[str] | None = None,
    weights: Sequence[float] | None = None,
    budget: int = 20_000,
) -> JoinTree:
    """A generalized join tree of least height for a full query over an acyclic hypergraph.

    Among those of least height: least sum of the atoms' depths times their weights, then fewest generalized relations,
    then the first in the order of the atoms. Let S be atoms, K the variables that they share with the rest of the tree
    above, and h a bound for the height::

        traditional(S, K, h) = best over atoms r in S with K <= r:
            r over traditional(D, vars(D) & r, h - 1) for the components D of S - {r} without the variables of r
        general(S, K, h) = best of traditional(S, K, h) and, over e = a & b for atoms a, b in S with K <= e:
            [e] over general(D, e, h) for the components D of S without e

    The recursion is complete. Atoms of one component without r cannot be connected through r, so they lie below one
    child of r; each component is connected below it, so it may as well be a child by itself. A generalized relation
    with two children lies in an atom below each of them (guard) and contains what these share (connect), so it is their
    intersection. A component that has no atom with all of e hangs below some atom that contains e, at the same cost
    below any of them; here it joins the first component that has one.

    Args:
        edges: The variables of each atom, at least one atom.
        weights: What a level of depth costs for each atom; 1 each if None.
        budget: Largest number of separations into components that the search may try. The number grows with the square
            of the atoms for paths and stars and is exponential for contrived hypergraphs only. Beyond it, the result is
            the best known: the least height rooting of a spanning tree with the largest intersections.

    Returns:
        A tree that `is_valid`, nodes in preorder.

    Raises:
        UnsupportedQueryError: The hypergraph is cyclic.

    >>> str(least_height_tree([frozenset("ab"), frozenset("bc"), frozenset("cd")]))
    '[b]{0, 1{2}}'
    >>> str(least_height_tree([frozenset("ab"), frozenset("bc"), frozenset("cd"), frozenset("de")]))
    '[c]{1{0}, 2{3}}'
    >>> str(least_height_tree([frozenset("ab"), frozenset("cd")]))
    '[]{0, 1}'
    """
    if witness := cycle(edges):
        msg = f"the join is cyclic: atoms {', '.join(map(str, witness))} form a cycle; allowed are acyclic joins"
        raise UnsupportedQueryError(msg, clause="FROM")
    output = frozenset[str]().union(*edges) if free is None else free
    full = all(edge <= output for edge in edges)
    fallback = to_join_tree(_spanning_shape(edges)) if full else None
    search = _Search(edges, output, [1.0] * len(edges) if weights is None else weights, budget if full else -1)
    everything = tuple(range(len(edges)))
    try:
        for height in range(1, len(edges) + 1):
            best = search.general(everything, frozenset(), height)
            if best is not None:
                return to_join_tree(best.shape, output)
    except _BudgetSpentError:
        if fallback is not None:
            return fallback
    msg = f"the query is acyclic but not free-connex for the output {', '.join(sorted(output))}"
    raise UnsupportedQueryError(msg, clause="SELECT")


class _BudgetSpentError(Exception):
    """The search has made as many separations as it may."""


@dataclass(frozen=True)
class _Best:
    """The best tree of a sub-problem with its cost: weighted sum of depths, then number of generalized relations."""

    cost: tuple[float, int]
    shape: Shape


class _Search:
    """The memoised recursion of `least_height_tree`; its methods return None where no tree fits under ``height``."""

    def __init__(
        self, edges: Sequence[frozenset[str]], free: frozenset[str], weights: Sequence[float], budget: int
    ) -> None:
        self._edges = edges
        self._free = free
        self._weights = weights
        self._budget = budget
        self._memo: dict[tuple[bool, tuple[int, ...], frozenset[str], int], _Best | None] = {}

    def general(self, atoms: tuple[int, ...], key: frozenset[str], height: int) -> _Best | None:
        """The best generalized join tree of ``atoms`` whose root contains ``key``."""
        state = (True, atoms, key, height)
        if state not in self._memo:
            tries = [self.traditional(atoms, key, height)]
            for separator in self._separators(atoms, key):
                tries += [self._over(groups, separator, height) for groups in self._groups(atoms, separator)]
            self._memo[state] = _least(tries)
        return self._memo[state]

    def traditional(self, atoms: tuple[int, ...], key: frozenset[str], height: int) -> _Best | None:
        """The best join tree of ``atoms`` without generalized relations whose root contains ``key``."""
        if height == 0:
            return None
        state = (False, atoms, key, height)
        if state not in self._memo:
            self._memo[state] = _least([self._root(atoms, r, height) for r in atoms if key <= self._edges[r]])
        return self._memo[state]

    def _root(self, atoms: tuple[int, ...], root: int, height: int) -> _Best | None:
        children = []
        for component in self._components(tuple(a for a in atoms if a != root), self._edges[root]):
            key = self._variables(component) & self._edges[root]
            child = self.traditional(component, key, height - 1) if self._connex(component, key) else None
            if child is None:
                return None
            children.append(child)
        level = sum(self._weights[atom] for atom in atoms)
        return _Best(
            (level + sum(c.cost[0] for c in children), 0),
            Shape(self._edges[root], root, tuple(c.shape for c in children)),
        )

    def _over(self, groups: list[tuple[int, ...]], separator: frozenset[str], height: int) -> _Best | None:
        children = []
        for group in groups:
            child = self.general(group, separator, height) if self._connex(group, separator) else None
            if child is None:
                return None
            children.append(child)
        return _Best(
            (sum(c.cost[0] for c in children), 1 + sum(c.cost[1] for c in children)),
            Shape(separator, None, tuple(c.shape for c in children)),
        )

    def _groups(self, atoms: tuple[int, ...], separator: frozenset[str]) -> list[list[tuple[int, ...]]]:
        whole: list[tuple[int, ...]] = []
        partial: tuple[int, ...] = ()
        for component in self._components(atoms, separator):
            if any(separator <= self._edges[atom] for atom in component):
                whole.append(component)
            else:
                partial += component
        if len(whole) < 2:
            return []
        hosts = range(len(whole)) if self._variables(partial) & self._free - separator else range(1)
        return [[tuple(sorted(g + partial)) if i == host else g for i, g in enumerate(whole)] for host in hosts]

    def _connex(self, atoms: tuple[int, ...], key: frozenset[str]) -> bool:
        """Whether these atoms may hang by this key: it is of free variables, or no connex node is below it."""
        return key <= self._free or self._variables(atoms) & self._free <= key

    def _separators(self, atoms: tuple[int, ...], key: frozenset[str]) -> list[frozenset[str]]:
        pairs = (self._edges[a] & self._edges[b] for a, b in combinations(atoms, 2))
        return list(dict.fromkeys(separator for separator in pairs if key <= separator))

    def _variables(self, atoms: tuple[int, ...]) -> frozenset[str]:
        return frozenset[str]().union(*(self._edges[atom] for atom in atoms))

    def _components(self, atoms: tuple[int, ...], without: frozenset[str]) -> list[tuple[int, ...]]:
        if not self._budget:
            raise _BudgetSpentError
        self._budget -= 1
        parts = Hypergraph(tuple(self._edges[atom] for atom in atoms)).components(without)
        return [tuple(atoms[position] for position in part) for part in parts]


def _least(tries: Sequence[_Best | None]) -> _Best | None:
    return min((best for best in tries if best is not None), key=lambda best: best.cost, default=None)


def _spanning_shape(edges: Sequence[frozenset[str]]) -> Shape:
    """The least height rooting of a spanning tree with the largest intersections: a join tree (Maier, 1983)."""
    neighbours: dict[int, list[int]] = {0: []}
    while len(neighbours) < len(edges):
        near, far = max(
            ((a, b) for a in neighbours for b in range(len(edges)) if b not in neighbours),
            key=lambda pair: (len(edges[pair[0]] & edges[pair[1]]), -pair[0], -pair[1]),
        )
        neighbours[near].append(far)
        neighbours[far] = [near]

    def rooted(atom: int, above: int | None) -> Shape:
        return Shape(edges[atom], atom, tuple(rooted(n, atom) for n in neighbours[atom] if n != above))

    return min((rooted(atom, None) for atom in range(len(edges))), key=lambda shape: to_join_tree(shape).height)
