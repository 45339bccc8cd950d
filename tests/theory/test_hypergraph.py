"""Components of hypergraphs and the GYO reduction, against brute force."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from theory_brute_force import random_edges, traditional_trees

from livejoin.theory import Hypergraph, cycle, is_acyclic, reduce
from strategies import seeds


def edges_of(*names: str) -> list[frozenset[str]]:
    return [frozenset(name) for name in names]


def test_components_are_connected_by_variables() -> None:
    graph = Hypergraph.of(["ab", "cd", "be", "", "f"])
    assert graph.components() == ((0, 2), (1,), (3,), (4,))
    assert graph.components(without="b") == ((0,), (1,), (2,), (3,), (4,))


def test_an_edge_joins_components_that_were_apart() -> None:
    assert Hypergraph.of(["ab", "cd", "ef", "bcf"]).components() == ((0, 1, 2, 3),)


def test_components_of_nothing() -> None:
    assert Hypergraph.of([]).components() == ()


@pytest.mark.parametrize("seed", seeds(16, 50))
def test_components_are_the_closure_of_sharing(seed: int) -> None:
    generator = random.Random(seed)
    edges = random_edges(generator, atoms=generator.randint(1, 6))
    without = frozenset(generator.sample("abcde", generator.randint(0, 2)))
    label = list(range(len(edges)))
    for _ in edges:
        for i, j in combinations(range(len(edges)), 2):
            if (edges[i] & edges[j]) - without:
                label[i] = label[j] = min(label[i], label[j])
    expected = {tuple(i for i in range(len(edges)) if label[i] == one) for one in label}
    assert set(Hypergraph.of(edges).components(without)) == expected


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["ab", "bc", "ca"], (0, 1, 2)),
        (["ab", "bc", "ca", "abc"], ()),
        (["ab", "bc", "cd", "da"], (0, 1, 2, 3)),
        (["ab", "bc", "cd"], ()),
        (["abc", "cde", "aef", "ace"], ()),
        (["abc", "cde", "aef"], (0, 1, 2)),
        ([""], ()),
        (["", "", "ab"], ()),
        (["ab", "ab", "ab"], ()),
        (["xy", "ab", "bc", "ca", "ay"], (1, 2, 3)),
    ],
)
def test_reduction(names: list[str], left: tuple[int, ...]) -> None:
    assert reduce(edges_of(*names)) == left


def test_a_cycle_is_one_cycle() -> None:
    found = cycle(edges_of("ab", "bc", "ca", "cd", "de", "ec", "ax"))
    assert found in ((0, 1, 2), (3, 4, 5))
    assert cycle(edges_of("ab", "bc")) == ()


@pytest.mark.parametrize("seed", seeds(13, 40))
def test_acyclic_if_and_only_if_there_is_a_join_tree(seed: int) -> None:
    generator = random.Random(seed)
    for _ in range(50):
        edges = random_edges(generator, atoms=generator.randint(1, 5))
        assert is_acyclic(edges) == any(True for _ in traditional_trees(edges))


@pytest.mark.parametrize("seed", seeds(13, 40))
def test_a_cycle_is_minimal(seed: int) -> None:
    generator = random.Random(seed)
    edges = random_edges(generator, atoms=7, variables="abcdefg", widths=(2, 2, 3))
    found = cycle(edges)
    assert bool(found) != is_acyclic(edges)
    for dropped in found:
        assert is_acyclic([edges[p] for p in found if p != dropped])
