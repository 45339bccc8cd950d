"""What a join tree is expected to cost for a change: sum of depths times changes, and predicted propagation.

The first is the measure of CROWN (end of section 6): ``sum of d(e) N(e)`` over the relations e, where d(e) counts the
relations above e and N(e) the changes of e. It needs no sizes and says in which order trees are preferred. The second
predicts the rows that a change visits, and decides between trees that the first cannot tell apart.
"""

from __future__ import annotations

from livejoin.search.problem import Problem
from livejoin.theory.trees.join_tree import JoinTree


def depth_cost(tree: JoinTree, problem: Problem) -> float:
    """Sum over the atoms of their depth times their expected changes; generalized relations do not count.

    >>> from livejoin.theory.trees.join_tree import least_height_tree
    >>> edges = tuple(map(frozenset, ("ab", "bc", "cd")))
    >>> hops = Problem(edges, frozenset("abcd"), (None,) * 3, frozenset({0, 1, 2}), (5, 3, 2), (None,) * 3, ((),) * 3)
    >>> depth_cost(least_height_tree(edges, weights=hops.weights), hops)
    2.0
    """
    return float(
        sum(
            (depth - 1) * problem.weights[node.atom]
            for node, depth in zip(tree.nodes, tree.depths, strict=True)
            if node.atom is not None
        )
    )


def propagation(tree: JoinTree, problem: Problem) -> float:
    """Predicted rows that a change visits on its way up, its own included, on average over the expected changes.

    A change that reaches ``V_s(c)`` makes a key of ``V_p(c)`` appear or vanish if it is the only row with this key: one
    of as many as share a key in c. It then visits as many rows of the parent as share this key there. Rows of a
    generalized relation are keys, so there it is one in one. Cost: O(nodes).

    >>> from livejoin.theory.trees.join_tree import least_height_tree
    >>> edges = tuple(map(frozenset, ("ab", "bc")))
    >>> two = Problem(edges, frozenset("abc"), ((),) * 2, frozenset({0, 1}), (1, 1), (None,) * 2, ((),) * 2)
    >>> propagation(least_height_tree(edges), two)
    1.125
    """
    visited: list[float] = []
    for node in tree.nodes:
        if node.parent is None:
            visited.append(1.0)
            continue
        key = frozenset(node.key)
        above = tree.nodes[node.parent].atom
        flip = 1.0 if node.atom is None else problem.flip(node.atom, key)
        reached = 1.0 if above is None else problem.fanout(above, frozenset(node.parent_key))
        visited.append(1.0 + flip * reached * visited[node.parent])
    total = sum(problem.weights) or 1.0
    return (
        sum(
            problem.weights[node.atom] * v for node, v in zip(tree.nodes, visited, strict=True) if node.atom is not None
        )
        / total
    )
