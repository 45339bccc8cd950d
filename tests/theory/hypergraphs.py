"""Named hypergraphs, and decompositions in a form that tests can read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.cyclic.decomposition import Decomposition

Edges = Sequence[frozenset[str]]


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def cycle_of(length: int) -> list[frozenset[str]]:
    names = "abcdefghijklmnop"[:length]
    return [frozenset((names[i], names[(i + 1) % length])) for i in range(length)]


def clique_of(size: int) -> list[frozenset[str]]:
    return [frozenset(pair) for pair in combinations("abcdef"[:size], 2)]


def described(found: Decomposition) -> list[str]:
    """Each bag as its variables, the atoms that it joins and those that filter it."""
    return [
        f"{''.join(sorted(bag.variables))} {','.join(map(str, bag.atoms))}"
        + (f"/{','.join(map(str, bag.filters))}" if bag.filters else "")
        for bag in found.bags
    ]


def effort(edges: Edges, bags: Sequence[frozenset[str]]) -> tuple[int, int]:
    """Cartesian products inside of bags, and pairs of atoms that meet in one."""
    products = pairs = 0
    for bag in bags:
        if not any(bag <= edge for edge in edges) and not any(bag < other for other in bags):
            parts = {edge & bag for edge in edges if edge & bag}
            largest = [part for part in parts if not any(part < other for other in parts)]
            products += len(Hypergraph(tuple(largest)).components()) - 1
            pairs += len(largest) * (len(largest) - 1) // 2
    return products, pairs
