"""The best tree decomposition of a graph whose bags are taken from given candidates.

A *tree decomposition* puts the vertices of a graph into bags at the nodes of a tree, so that each two neighbours share
a bag and the bags of each vertex are connected. Seen from a bag on, what is left falls apart: let C be a connected set
of vertices and S = N(C) its border, which lies in the bag above. Then, over the bags B with S <= B <= S + C::

    best(C) = least over B of  cost(B) with best(D) for the components D of C - B

Two decompositions that agree on C do not matter to each other, so that the recursion is exact for costs that are added
up, and for those of which the largest counts (Bouchitte, Todinca, SIAM J. Comput. 31(1), 2001, section 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product

from livejoin.theory.cyclic.potential_maximal_clique import components, neighbourhood

Cost = tuple[Fraction | int, ...]


@dataclass(frozen=True)
class Best:
    """The least cost, and sets of bags that have it: all of them, or the first few."""

    cost: Cost
    choices: tuple[frozenset[int], ...]


def best_tree_decomposition(
    graph: Sequence[int],
    vertices: int,
    candidates: Iterable[int],
    cost: Callable[[int], Cost],
    combine: Callable[[Iterable[Cost]], Cost],
    ties: int = 1,
) -> Best | None:
    """A tree decomposition of least cost for a connected graph.

    A candidate is also used without the vertices that are out of reach. Cost: the number of connected sets C that come
    up, times the number of candidates, about a microsecond each.

    Args:
        graph: The neighbours of each vertex.
        vertices: The vertices to decompose, connected.
        candidates: The bags to choose from.
        cost: The cost of a bag.
        combine: The cost of bags together, from the cost of each; not less than that of any of them.
        ties: How many decompositions of least cost are wanted.

    Returns:
        The best, None if no decomposition has bags within the candidates only.

    >>> square = [0b1010, 0b0101, 0b1010, 0b0101]
    >>> found = best_tree_decomposition(square, 0b1111, [0b0111, 0b1101], lambda bag: (bag.bit_count(),), max)
    >>> found.cost, [bin(bag) for bag in sorted(found.choices[0])]
    ((3,), ['0b111', '0b1101'])
    """
    ordered = sorted(set(candidates))
    memo: dict[int, Best | None] = {}

    def best(connected: int) -> Best | None:
        if connected in memo:
            return memo[connected]
        border = neighbourhood(graph, connected) & vertices
        found: Best | None = None
        tried = set()
        for candidate in ordered:
            bag = candidate & (border | connected)
            if border & ~bag or not bag & connected or bag in tried:
                continue
            tried.add(bag)
            own = cost(bag)
            if found is not None and own > found.cost:
                continue
            below = [best(component) for component in components(graph, connected & ~bag)]
            parts = [part for part in below if part is not None]
            if len(parts) < len(below):
                continue
            total = combine([own, *(part.cost for part in parts)])
            if found is not None and (total > found.cost or (total == found.cost and len(found.choices) >= ties)):
                continue
            choices = product(*(part.choices for part in parts))
            joined = (frozenset({bag}).union(*choice) for choice in choices)
            earlier = found.choices if found is not None and total == found.cost else ()
            found = Best(total, tuple(islice(dict.fromkeys([*earlier, *islice(joined, ties)]), ties)))
        memo[connected] = found
        return found

    return best(vertices)
