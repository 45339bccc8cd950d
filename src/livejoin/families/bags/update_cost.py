"""What a change costs over the bags of a decomposition, as a power of the base rows N (CROWN, section 7.1).

Inside a bag, a change is joined with the bag's other relations; across the bags, the join-tree plan runs. Let x be the
power for the rows that a change of a relation R makes in its bag B: rho* of the variables of B without those of R. On
its way up, a bag's change of N^x rows reaches at most N^y rows of the bag above, with
``y = min(rho*(parent), x + rho*(parent without the key))``; a generalized relation changes in no more rows than its
child. The largest power on any way to the root bounds the change. For the dumbbell it is 1 (CROWN, Lemma 7.2).
"""

from __future__ import annotations

from fractions import Fraction

from livejoin.search.problem import Problem
from livejoin.theory.cyclic.decomposition import Bag, Decomposition
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover


def update_exponent(found: Decomposition, problem: Problem) -> Fraction:
    """The power of the base rows that bounds the cost of a change."""
    place = {node.atom: position for position, node in enumerate(found.tree.nodes) if node.atom is not None}
    return max(
        (
            _on_the_way(found, problem, place[number], _rest(problem, bag, problem.edges[atom]))
            for number, bag in enumerate(found.bags)
            for atom in (*bag.atoms, *bag.filters)
            if atom in problem.dynamic
        ),
        default=Fraction(0),
    )


def _on_the_way(found: Decomposition, problem: Problem, position: int, changed: Fraction) -> Fraction:
    """The largest power between a bag in which so many rows change and the root."""
    largest = changed
    node = found.tree.nodes[position]
    while node.parent is not None:
        parent = found.tree.nodes[node.parent]
        if parent.atom is not None:
            bag = found.bags[parent.atom]
            changed = min(bag.width, changed + _rest(problem, bag, frozenset(node.key)))
        largest = max(largest, changed)
        node = parent
    return largest


def _rest(problem: Problem, bag: Bag, fixed: frozenset[str]) -> Fraction:
    """rho* of a bag's variables when some of them have given values."""
    free = bag.variables - fixed
    if not free:
        return Fraction(0)
    parts = [problem.edges[atom] & free for atom in (*bag.atoms, *bag.filters)]
    return fractional_edge_cover(parts, free).number
