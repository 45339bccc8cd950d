"""How many places in memory a change is predicted to touch: what plans of several families are compared by.

`livejoin.search.cost.propagation` says how many rows a change visits above its own, which tells trees of one query
apart. Between families more differs. A row is looked for under its own key, if rows above find it by that, and under
the key of each row below; a row of a generalized relation is one more, under a key of its own. In a join tree the rows
with a key lie in a block, which is a place more; a foreign key links them. A row goes on upwards where it has all rows
below that it wants, so that a predicate stops not only the rows of its own table.

Changes are weighted by the sizes of tables where nothing is known of them: a table of which each row is referred to by
eight others changes an eighth as often as these. Else a table of 25 nations is taken to change as often as that of all
lines of orders, and plans are chosen for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from livejoin.query import ConjunctiveQuery
from livejoin.search.problem import Problem, passing_shares
from livejoin.search.statistics import Statistics
from livejoin.theory.trees.join_tree import JoinTree

_SLOT = 2.0  # a key of a join tree has its rows in a block beside it, a place more; a foreign key links rows
LEAST = 1e-9  # a share of rows that is not 0
_WANTED = ("inner", "exists")  # the edges over which a row wants another one


@dataclass(frozen=True)
class Churn:
    """What is expected to change in a query, and how much that meets.

    Args:
        problem: The planning problem, whose weights are in proportion to sizes where no changes are known.
        shares: The share of the rows of each atom that its predicate lets through.
    """

    problem: Problem
    shares: tuple[float, ...]

    def met(self, atom: int, variables: frozenset[str]) -> float:
        """Rows of an atom that take part and are expected to have the same values in some of its variables."""
        return self.problem.fanout(atom, variables) * self.shares[atom]

    def flip(self, atom: int, variables: frozenset[str]) -> float:
        """Probability that a change of an atom's rows changes which values some variables have at all."""
        if self.problem.identifies(variables, atom):
            return 1.0
        return 1.0 / max(1.0, self.met(atom, variables))

    def mean(self, touched: tuple[float, ...]) -> float:
        """What a change touches on average.

        Args:
            touched: For each atom what a change of one of its rows touches.
        """
        weights = self.problem.weights
        return sum(w * t for w, t in zip(weights, touched, strict=True)) / (sum(weights) or 1.0)


def churn(query: ConjunctiveQuery, problem: Problem, known: Statistics) -> Churn:
    """The expected changes in a query. Cost: atoms cubed.

    Args:
        query: The query.
        problem: The planning problem of the query.
        known: Statistics of the tables.
    """
    shares = passing_shares(query, known)
    if any(known.of(atom.table.name).changes.value is not None for atom in query.atoms):
        return Churn(problem, shares)
    sizes = _sizes(query, problem)
    weights = (
        size * share if atom in problem.dynamic else 0.0
        for atom, (size, share) in enumerate(zip(sizes, shares, strict=True))
    )
    return Churn(replace(problem, weights=tuple(weights)), shares)


def tree_touches(tree: JoinTree, changes: Churn) -> float:
    """Records and keys that a change touches in a join tree, on average. Cost: O(nodes).

    A row looks for the keys of its children when it comes, and for its own when they all have a row.

    >>> from livejoin.theory.trees.join_tree import least_height_tree
    >>> edges = tuple(map(frozenset, ("ab", "bc")))
    >>> two = Problem(edges, frozenset("abc"), ((),) * 2, frozenset({0, 1}), (1, 1), (None,) * 2, ((),) * 2)
    >>> tree_touches(
    ...     least_height_tree(edges), Churn(two, (1.0, 1.0))
    ... )  # a record, its key's slot and block, and a key of [b] in 8
    3.125
    """
    nodes = tree.nodes
    alive = [1.0] * len(nodes)  # the share of the rows of a node that have a row below on each of its edges
    found = [1.0] * len(nodes)  # the share of the rows above that have one here
    for position in range(len(nodes) - 1, 0, -1):
        node = nodes[position]
        assert node.parent is not None
        rows = 1.0 if node.atom is None else changes.met(node.atom, frozenset(node.key))
        found[position] = min(1.0, rows * alive[position]) if node.edge in _WANTED else 1.0
        alive[node.parent] *= found[position]
    up: list[float] = []  # what a row touches above when it comes alive
    touched = [0.0] * len(changes.problem.edges)
    for position, node in enumerate(nodes):
        up.append(0.0)
        if node.parent is not None:
            above = nodes[node.parent].atom
            flip = 1.0 if node.atom is None else changes.flip(node.atom, frozenset(node.key))
            reached = 1.0 if above is None else changes.met(above, frozenset(node.parent_key))
            others = alive[node.parent] / max(found[position], LEAST)
            up[position] = _SLOT + flip * reached * (1.0 + others * up[node.parent])
        if node.atom is not None:
            touched[node.atom] = 1.0 + _SLOT * len(node.children) + alive[position] * up[position]
    return changes.mean(tuple(touched))


def _sizes(query: ConjunctiveQuery, problem: Problem) -> tuple[float, ...]:
    """Rows of each atom's table, in proportion; of unknown ones as many as the rows that refer to them have keys."""
    if all(rows is not None for rows in problem.rows):
        return tuple(float(rows or 0.0) for rows in problem.rows)
    sizes = [1.0] * len(problem.edges)
    pairs = [
        (a, frozenset(edge & other), b, frozenset(edge & other))
        for a, edge in enumerate(problem.edges)
        for b, other in enumerate(problem.edges)
        if a != b and edge & other
    ]
    for branch in query.branches:
        outer, inner = (frozenset(pair[side] for pair in branch.key) for side in (0, 1))
        holders = [a for a, edge in enumerate(problem.edges) if outer <= edge]
        pairs += [(a, outer, b, inner) for a in holders for b in branch.atoms if inner <= problem.edges[b]]
    for _ in problem.edges:
        for a, over, b, key in pairs:
            if problem.identifies(key, b) and not problem.identifies(over, a):
                sizes[b] = min(sizes[b], sizes[a] / problem.fanout(a, over))
    return tuple(sizes)
