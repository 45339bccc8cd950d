"""Widths of decompositions by brute force, over all sets of bags and over all partitions of the atoms."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations

import pytest
from hypergraphs import effort
from theory_brute_force import partitions, random_edges

from livejoin.theory.classes.gyo import is_acyclic
from livejoin.theory.classes.hypergraph import Hypergraph
from livejoin.theory.cyclic.decomposition import decompose
from livejoin.theory.cyclic.decomposition_laws import decomposition_violations
from livejoin.theory.cyclic.edge_cover import fractional_edge_cover, integral_edge_cover

Edges = Sequence[frozenset[str]]


@cache
def acyclic_families(variables: str) -> tuple[tuple[frozenset[str], ...], ...]:
    """All acyclic sets of bags over some variables of which none is in another one."""
    subsets = [frozenset(c) for size in range(1, len(variables) + 1) for c in combinations(variables, size)]

    def grow(chosen: tuple[frozenset[str], ...], start: int) -> Iterator[tuple[frozenset[str], ...]]:
        yield chosen
        for index in range(start, len(subsets)):
            if not any(bag <= subsets[index] for bag in chosen):
                yield from grow((*chosen, subsets[index]), index + 1)

    return tuple(family for family in grow((), 0) if is_acyclic(family))


def least_widths(edges: Edges, free: frozenset[str]) -> tuple[Fraction, int]:
    """By the definition: the least widths over all sets of bags that hold the atoms and are free-connex."""

    @cache
    def widths(bag: frozenset[str]) -> tuple[Fraction, int]:
        return fractional_edge_cover(edges, bag).number, integral_edge_cover(edges, bag).number

    best: tuple[Fraction, int] | None = None
    for family in acyclic_families("".join(sorted(frozenset[str]().union(*edges)))):
        if all(any(edge <= bag for bag in family) for edge in edges if edge):
            fractional = max((widths(bag)[0] for bag in family), default=Fraction(0))
            integral = max((widths(bag)[1] for bag in family), default=0)
            if (best is None or (fractional, integral) < best) and is_acyclic([*family, free]):
                best = fractional, integral
    assert best is not None
    return best


@pytest.mark.parametrize("variables", ["abcd", "abcde"])
def test_no_set_of_bags_has_smaller_widths(variables: str) -> None:
    generator = random.Random(variables)
    seen = Counter[Fraction]()
    for _ in range(250 if variables == "abcd" else 150):
        edges = random_edges(generator, generator.randint(2, 7), variables, (1, 2, 2, 2, 3, 3))
        everything = sorted(frozenset[str]().union(*edges))
        free = frozenset(generator.sample(everything, generator.randint(0, len(everything))))
        for output in (free, frozenset(everything)):
            found = decompose(edges, output)
            assert decomposition_violations(found, edges, output) == []
            assert found.complete
            assert (found.width, found.integral_width) == least_widths(edges, output)
            seen[found.width] += 1
    assert len(seen) >= 4


def is_connected(edges: Edges) -> bool:
    return len(Hypergraph(tuple(edges)).components()) == 1


def test_no_partition_of_the_atoms_is_better() -> None:
    """Each part of a partition as a bag of its atoms' variables: no smaller width, and no less effort if connected.

    For some queries every partition is wider: parts of atoms are needed as filters.
    """
    generator = random.Random(32)
    seen = Counter[str]()
    for _ in range(200):
        edges = random_edges(generator, generator.choice((4, 5, 5, 6)), "abcdef", (2, 2, 2, 3))
        variables = sorted(frozenset[str]().union(*edges))
        free = frozenset(variables if generator.random() < 0.6 else generator.sample(variables, 2))
        found = decompose(edges, free)
        mine = (found.width, found.integral_width)
        covers = cache(lambda bag, edges=edges: fractional_edge_cover(edges, bag).number)
        least = None
        for blocks in partitions(tuple(range(len(edges)))):
            bags = list(dict.fromkeys(frozenset[str]().union(*(edges[atom] for atom in block)) for block in blocks))
            if not is_acyclic(bags) or not is_acyclic([*bags, free]):
                continue
            width = max(map(covers, bags)), max(integral_edge_cover(edges, bag).number for bag in bags)
            least = width if least is None else min(least, width)
            if width == mine and all(is_connected([edges[atom] for atom in block]) for block in blocks):
                assert effort(edges, found.edges) <= effort(edges, bags)
        assert least is not None
        assert mine <= least
        seen["cyclic" if found.width > 1 else "free-connex"] += 1
        seen["wider"] += mine < least
    assert seen["cyclic"] > 80
    assert seen["wider"] > 2
