"""The join tree of a query with the least cost under a bound: first the sum of depths times changes, then the height.

The recursion is that of `livejoin.theory.trees.join_tree.least_height_tree`, with a limit on wide edges in place of one
on the height (see `livejoin.search.spread`). For atoms S that share the variables K with the tree above::

    traditional(S, K) = best over atoms r in S with K <= r:
        r over traditional(D, vars(D) & r) for the components D of S - {r} without the variables of r
    general(S, K) = best of traditional(S, K) and, over e = a & b for atoms a, b in S with K <= e:
        [e] over general(D, e) for the components D of S without e

Both parts of the cost of a tree grow with those of each subtree, so the best subtrees make the best tree. A component D
whose output variables are not all in its key must be in the connex subtree, which wants the key to be output (CROWN,
Definition 3.2); one whose output variables are all in its key may lie outside of it, and so may all below it.

A component is hung at the highest place. For depth and height nothing is lost by that, see `least_height_tree`; a tree
that hangs one lower, below an atom whose primary key is in its key, is not found here but among all trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

from livejoin.search.guarantee import UpdateBound
from livejoin.search.problem import Problem, edge_variables
from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.trees.join_tree import JoinTree, Shape, to_join_tree

_Edges = Literal["narrow", "single", "first-in-first-out", "any"]  # the edges that a tree may have

_ALLOWED: dict[UpdateBound, _Edges] = {
    UpdateBound.ALWAYS: "narrow",
    UpdateBound.FIFO: "first-in-first-out",
    UpdateBound.LAMBDA: "any",
}
_MOST_PLACES = 64  # ways to hang components that lack variables of a generalized relation


@dataclass(frozen=True)
class CheapestTree:
    """What a search found.

    Args:
        tree: The cheapest tree that keeps the bound; None if there is none or the budget was spent.
        complete: Whether the search went through.
        steps: Separations into components that it made.
    """

    tree: JoinTree | None
    complete: bool
    steps: int


def cheapest_tree(problem: Problem, bound: UpdateBound, budget: int = 20_000) -> CheapestTree:
    """The cheapest join tree whose bound is at least as good as a given one.

    Cost: as `least_height_tree`: polynomial for paths and stars, bounded by ``budget`` separations for all.

    Args:
        problem: The query.
        bound: `UpdateBound.LAMBDA` allows every tree.
        budget: Largest number of separations.

    >>> edges = tuple(map(frozenset, ("ab", "bc", "cd", "de")))
    >>> hops = Problem(edges, frozenset("abcde"), ((),) * 4, frozenset(range(4)), (1,) * 4, (None,) * 4, ((),) * 4)
    >>> print(cheapest_tree(hops, UpdateBound.ALWAYS).tree, cheapest_tree(hops, UpdateBound.FIFO).tree)
    None [c]{1{0}, 2{3}}
    """
    search = _Search(problem, budget)
    try:
        best = search.general(tuple(range(len(problem.edges))), frozenset(), _ALLOWED[bound])
    except _BudgetSpentError:
        return CheapestTree(None, False, budget)
    tree = None if best is None else to_join_tree(best.shape, problem.free)
    return CheapestTree(tree, True, search.steps)


def rooted_shape(problem: Problem, atoms: tuple[int, ...], key: frozenset[str], budget: int = 2_000) -> Shape | None:
    """The cheapest join tree of some atoms whose root contains some variables.

    Cost: at most ``budget`` separations; where that is not enough, the first tree in the order of the atoms.

    Args:
        problem: The query.
        atoms: Positions of the atoms.
        key: The variables.

    Returns:
        None if there is none: the atoms are cyclic, or with the key as an edge.
    """
    if not is_acyclic([*(problem.edges[atom] for atom in atoms), key]):
        return None
    try:
        best = _Search(problem, budget).general(atoms, key, "any")
    except _BudgetSpentError:
        best = None
    if best is not None:
        return best.shape
    root = next((atom for atom in atoms if key <= problem.edges[atom]), None)
    return None if root is None else _hung(problem, atoms, root)


def _hung(problem: Problem, atoms: Sequence[int], root: int) -> Shape:
    """Some join tree of acyclic atoms without generalized relations, with an atom at its root."""
    edge = problem.edges[root]
    others = [atom for atom in atoms if atom != root]
    parts = Hypergraph(tuple(problem.edges[atom] for atom in others)).components(edge)
    children = []
    for part in parts:
        below = [others[position] for position in part]
        shared = edge_variables(problem.edges, below) & edge
        children.append(_hung(problem, below, next(atom for atom in below if shared <= problem.edges[atom])))
    return Shape(edge, root, tuple(children))


class _BudgetSpentError(Exception):
    """The search has made as many separations as it may."""


@dataclass(frozen=True)
class _Best:
    """The best tree of a sub-problem: sum of depths times changes, height, generalized relations; and the tree."""

    cost: tuple[float, int, int]
    shape: Shape


class _Search:
    """The memoised recursion of `cheapest_tree`; its methods return None where no tree keeps the bound."""

    def __init__(self, problem: Problem, budget: int) -> None:
        self._problem = problem
        self._edges = problem.edges
        self._budget = budget
        self.steps = 0
        self._memo: dict[tuple[object, ...], _Best | None] = {}

    def general(self, atoms: tuple[int, ...], key: frozenset[str], edges: _Edges) -> _Best | None:
        """The best tree of ``atoms`` whose root contains ``key``."""
        state = ("general", atoms, key, edges)
        if state not in self._memo:
            tries = [self.traditional(atoms, key, edges)]
            for separator in self._separators(atoms, key):
                tries += [self._split(groups, separator, edges) for groups in self._groups(atoms, separator)]
            self._memo[state] = _least(tries)
        return self._memo[state]

    def traditional(self, atoms: tuple[int, ...], key: frozenset[str], edges: _Edges) -> _Best | None:
        """The best tree of ``atoms`` without generalized relations whose root contains ``key``."""
        state = ("traditional", atoms, key, edges)
        if state not in self._memo:
            roots = [r for r in atoms if key <= self._edges[r]]
            if edges == "single":
                roots = [r for r in roots if self._problem.identifies(key, r)]
            self._memo[state] = _least([self._root(atoms, r, edges) for r in roots])
        return self._memo[state]

    def _root(self, atoms: tuple[int, ...], root: int, edges: _Edges) -> _Best | None:
        """The best tree of ``atoms`` with an atom at its root."""
        children = []
        for component in self._components(tuple(a for a in atoms if a != root), self._edges[root]):
            key = edge_variables(self._edges, component) & self._edges[root]
            child = self._below(component, key, root, edges) if self._may_hang(component, key) else None
            if child is None:
                return None
            children.append(child)
        below = sum(self._problem.weights[a] for a in atoms if a != root)
        cost = (
            below + sum(c.cost[0] for c in children),
            1 + max((c.cost[1] for c in children), default=0),
            0,
        )
        return _Best(cost, Shape(self._edges[root], root, tuple(c.shape for c in children)))

    def _below(self, atoms: tuple[int, ...], key: frozenset[str], parent: int, edges: _Edges) -> _Best | None:
        """The best tree of ``atoms`` below an atom, with what the edge between them leaves of what is allowed."""
        changing = [a for a in atoms if a in self._problem.dynamic]
        if edges == "any" or not changing:
            return self.traditional(atoms, key, "any")
        grows = self._problem.leaving.isdisjoint(atoms)
        if grows and edges != "single":
            return self.traditional(atoms, key, "any")
        if self._problem.identifies(key, parent):
            return self.traditional(atoms, key, edges)
        if edges == "narrow" or not (grows or parent in self._problem.leaving):
            return None
        tries = [self.traditional(atoms, key, "single")]
        if edges != "single" and len(changing) == 1 and key <= self._edges[changing[0]]:
            tries.append(self._root(atoms, changing[0], "any"))
        return _least(tries)

    def _split(self, groups: Sequence[tuple[int, ...]], separator: frozenset[str], edges: _Edges) -> _Best | None:
        """The best tree of groups of atoms below a generalized relation."""
        children = []
        for group in groups:
            child = self.general(group, separator, edges) if self._may_hang(group, separator) else None
            if child is None:
                return None
            children.append(child)
        cost = (
            sum(c.cost[0] for c in children),
            max(c.cost[1] for c in children),
            1 + sum(c.cost[2] for c in children),
        )
        return _Best(cost, Shape(separator, None, tuple(c.shape for c in children)))

    def _may_hang(self, atoms: tuple[int, ...], key: frozenset[str]) -> bool:
        """Whether a component may hang by this key: the key is output, or no connex node is needed below it."""
        free = self._problem.free
        return key <= free or edge_variables(self._edges, atoms) & free <= key

    def _groups(self, atoms: tuple[int, ...], separator: frozenset[str]) -> Iterator[Sequence[tuple[int, ...]]]:
        """Ways to divide atoms into the children of ``[separator]``.

        A component without an atom that has all of the separator hangs below one of another component.
        """
        whole: list[tuple[int, ...]] = []
        partial: list[tuple[int, ...]] = []
        for component in self._components(atoms, separator):
            has_all = any(separator <= self._edges[atom] for atom in component)
            (whole if has_all else partial).append(component)
        if len(whole) < 2:
            return
        places: Sequence[tuple[int, ...]] = [(0,) * len(partial)]
        if partial and self._place_matters() and len(whole) ** len(partial) <= _MOST_PLACES:
            places = list(product(range(len(whole)), repeat=len(partial)))
        for place in places:
            groups = [list(component) for component in whole]
            for component, position in zip(partial, place, strict=True):
                groups[position].extend(component)
            yield [tuple(sorted(group)) for group in groups]

    def _place_matters(self) -> bool:
        problem = self._problem
        full = all(edge <= problem.free for edge in self._edges)
        return not full or any(problem.keys) or len(problem.dynamic) < len(self._edges)

    def _separators(self, atoms: tuple[int, ...], key: frozenset[str]) -> list[frozenset[str]]:
        pairs = (self._edges[a] & self._edges[b] for a, b in combinations(atoms, 2))
        return list(dict.fromkeys(separator for separator in pairs if key <= separator))

    def _components(self, atoms: tuple[int, ...], without: frozenset[str]) -> list[tuple[int, ...]]:
        if self.steps == self._budget:
            raise _BudgetSpentError
        self.steps += 1
        parts = Hypergraph(tuple(self._edges[atom] for atom in atoms)).components(without)
        return [tuple(atoms[position] for position in part) for part in parts]


def _least(tries: Sequence[_Best | None]) -> _Best | None:
    return min((best for best in tries if best is not None), key=lambda best: best.cost, default=None)
