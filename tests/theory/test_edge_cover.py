"""Edge covers: proofs by duality, brute force over small weights, known numbers, and joins that meet their bound."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypergraphs import clique_of, cycle_of, edges_of
from theory_brute_force import random_edges

from livejoin.errors import UnknownNameError
from livejoin.theory.cyclic.edge_cover import FractionalCover, agm_bound, fractional_edge_cover, integral_edge_cover

Edges = Sequence[frozenset[str]]


def loomis_whitney(size: int) -> list[frozenset[str]]:
    return [frozenset(edge) for edge in combinations("abcdefghijkl"[:size], size - 1)]


FANO = edges_of("abc", "ade", "afg", "bdf", "beg", "cdg", "cef")


def assert_proven(cover: FractionalCover, edges: Edges, variables: frozenset[str]) -> None:
    """A cover and a packing of the same weight: each proves that there is no better one of the other."""
    packing = dict(cover.packing)
    assert len(cover.weights) == len(edges)
    assert set(packing) == variables
    assert all(weight >= 0 for weight in (*cover.weights, *packing.values()))
    for variable in variables:
        assert sum(w for w, edge in zip(cover.weights, edges, strict=True) if variable in edge) >= 1
    for edge in edges:
        assert sum(packing[v] for v in edge & variables) <= 1
    assert cover.number == sum(cover.weights) == sum(packing.values())


@pytest.mark.parametrize(
    ("edges", "fractional", "integral"),
    [
        ([], Fraction(0), 0),
        (edges_of(""), Fraction(0), 0),
        (edges_of("", "abc", "bc", "c"), Fraction(1), 1),
        (edges_of("ab", "bc"), Fraction(2), 2),
        (edges_of("ab", "bc", "cd"), Fraction(2), 2),
        (edges_of("xa", "xb", "xc"), Fraction(3), 3),
        (cycle_of(3), Fraction(3, 2), 2),
        (cycle_of(4), Fraction(2), 2),
        (cycle_of(5), Fraction(5, 2), 3),
        (cycle_of(9), Fraction(9, 2), 5),
        (clique_of(4), Fraction(2), 2),
        (clique_of(5), Fraction(5, 2), 3),
        (loomis_whitney(4), Fraction(4, 3), 2),
        (loomis_whitney(6), Fraction(6, 5), 2),
        (FANO, Fraction(7, 3), 3),
        ([*cycle_of(3), *edges_of("xy", "yz", "zx"), *edges_of("ax")], Fraction(3), 3),
    ],
)
def test_known_numbers(edges: Edges, fractional: Fraction, integral: int) -> None:
    cover = fractional_edge_cover(edges)
    assert_proven(cover, edges, frozenset[str]().union(*edges))
    assert cover.number == fractional
    assert integral_edge_cover(edges).number == integral


def test_edges_may_reach_beyond_the_variables() -> None:
    edges = edges_of("abz", "bcz", "cay", "y")
    assert fractional_edge_cover(edges, frozenset("abc")).number == Fraction(3, 2)
    assert integral_edge_cover(edges, frozenset("abc")).number == 2
    assert fractional_edge_cover(edges, frozenset()).number == 0
    assert integral_edge_cover(edges, frozenset("y")).number == 1


def test_random_covers_are_proven_best() -> None:
    generator = random.Random(7)
    denominators = Counter[int]()
    for _ in range(300):
        edges = random_edges(generator, generator.randint(3, 6), "abcdef", (2, 2, 3, 3, 3))
        everything = sorted(frozenset[str]().union(*edges))
        variables = frozenset(generator.sample(everything, len(everything) - generator.randint(0, 1)))
        cover = fractional_edge_cover(edges, variables)
        assert_proven(cover, edges, variables)
        denominators[cover.number.denominator] += 1
    assert denominators[2] > 5
    assert max(denominators) > 2


def test_covers_of_graphs_are_half_integral() -> None:
    """For edges of two variables some best cover has weights 0, 1/2 and 1 only, which can all be tried."""
    generator = random.Random(8)
    for _ in range(60):
        edges = [frozenset(generator.sample("abcde", 2)) for _ in range(generator.randint(1, 6))]
        variables = frozenset[str]().union(*edges)
        least = min(
            sum(weights)
            for weights in product((0, 1, 2), repeat=len(edges))
            if all(sum(w for w, e in zip(weights, edges, strict=True) if v in e) >= 2 for v in variables)
        )
        assert fractional_edge_cover(edges).number == Fraction(least, 2)


def test_integral_covers_are_the_smallest_sets() -> None:
    generator = random.Random(9)
    for _ in range(300):
        edges = random_edges(generator, generator.randint(1, 7), "abcdef")
        everything = sorted(frozenset[str]().union(*edges))
        variables = frozenset(generator.sample(everything, generator.randint(0, len(everything))))
        covers = [
            chosen
            for size in range(len(edges) + 1)
            for chosen in combinations(range(len(edges)), size)
            if variables <= frozenset[str]().union(*(edges[e] for e in chosen))
        ]
        found = integral_edge_cover(edges, variables)
        assert found.number == len(found.edges) == len(covers[0])
        assert found.edges in covers


@pytest.mark.parametrize("cover", [fractional_edge_cover, integral_edge_cover])
def test_variables_without_an_edge_are_refused(cover: object) -> None:
    with pytest.raises(UnknownNameError, match=r"no edge covers the variables x, y; the edges have a, b"):
        cover(edges_of("ab"), frozenset("axy"))  # type: ignore[operator]
    with pytest.raises(UnknownNameError, match="x"):
        agm_bound(edges_of("ab"), [10], frozenset("x"))


def test_size_bounds_of_equal_sizes_are_powers() -> None:
    for edges in (cycle_of(3), cycle_of(5), clique_of(4), loomis_whitney(4), edges_of("ab", "bc", "cd")):
        expected = 100.0 ** float(fractional_edge_cover(edges).number)
        assert agm_bound(edges, [100] * len(edges)).rows == pytest.approx(expected)


def test_size_bounds_use_small_relations() -> None:
    assert agm_bound(cycle_of(3), [100, 10, 100_000]).rows == pytest.approx(1000)
    assert agm_bound(edges_of("ab", "a", "b"), [100, 3, 4]).rows == pytest.approx(12)
    assert agm_bound(edges_of("ab", "b"), [100, 0]).rows == 0
    assert agm_bound(edges_of("ab", "b"), [100, 0]).weights == (0.0, 1.0)
    assert agm_bound(edges_of("ab", "b"), [100, 5], frozenset()).rows == 1
    assert agm_bound(edges_of("ab", "bc"), [1, 0.25]).rows == 1
    assert agm_bound(edges_of("a", "b"), [1e200, 1e200]).rows == math.inf


def test_size_bounds_hold_and_are_met() -> None:
    """No join is larger, and that of the database which the packing describes is as large."""
    generator = random.Random(10)
    for _ in range(60):
        edges = random_edges(generator, generator.randint(1, 4), "abcd", (1, 2, 2, 3))
        variables = sorted(frozenset[str]().union(*edges))
        relations = [
            {tuple(generator.randint(0, 2) for _ in edge) for _ in range(generator.randint(1, 9))} for edge in edges
        ]
        joined = sum(
            all(tuple(row[variables.index(v)] for v in sorted(e)) in r for e, r in zip(edges, relations, strict=True))
            for row in product(range(3), repeat=len(variables))
        )
        assert joined <= agm_bound(edges, [len(r) for r in relations]).rows + 1e-6
        cover = fractional_edge_cover(edges)
        base = 4 ** math.lcm(*(y.denominator for _, y in cover.packing))
        domains = {v: round(base ** float(y)) for v, y in cover.packing}
        sizes = [math.prod(domains[v] for v in edge) for edge in edges]
        assert max(sizes) <= base
        assert agm_bound(edges, sizes).rows == pytest.approx(math.prod(domains.values()))
