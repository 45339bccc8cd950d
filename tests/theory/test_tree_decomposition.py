"""Potential maximal cliques against all minimal triangulations, tree decompositions against all elimination orders."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import combinations, permutations

import networkx
import pytest

from livejoin.theory.cyclic.potential_maximal_clique import (
    components,
    greedy_cliques,
    members,
    potential_maximal_cliques,
)
from livejoin.theory.cyclic.tree_decomposition import Cost, best_tree_decomposition

Graph = list[int]


def random_graph(generator: random.Random, size: int, density: float) -> Graph:
    """A random connected graph."""
    graph = [0] * size
    joined = [(v, generator.randrange(v)) for v in range(1, size)]
    for a, b in [*joined, *(pair for pair in combinations(range(size), 2) if generator.random() < density)]:
        graph[a] |= 1 << b
        graph[b] |= 1 << a
    return graph


def edges_of(graph: Graph) -> set[tuple[int, int]]:
    return {(a, b) for a, b in combinations(range(len(graph)), 2) if graph[a] >> b & 1}


def minimal_triangulations(graph: Graph) -> Iterator[networkx.Graph]:
    """By the definition: all ways to add edges, those that are chordal, those of which no part is chordal."""
    missing = [pair for pair in combinations(range(len(graph)), 2) if pair not in edges_of(graph)]
    found: list[set[tuple[int, int]]] = []
    for number in range(len(missing) + 1):
        for added in combinations(missing, number):
            if any(fewer <= set(added) for fewer in found):
                continue
            candidate = networkx.Graph([*edges_of(graph), *added])
            candidate.add_nodes_from(range(len(graph)))
            if networkx.is_chordal(candidate):
                found.append(set(added))
                yield candidate


def elimination_bags(graph: Graph, order: tuple[int, ...]) -> list[int]:
    near = {v: set(members(graph[v])) for v in range(len(graph))}
    bags = []
    for vertex in order:
        around = near.pop(vertex)
        bags.append(sum(1 << v for v in around | {vertex}))
        for v in around:
            near[v] = (near[v] | around) - {v, vertex}
    return bags


def is_tree_decomposition(graph: Graph, bags: frozenset[int]) -> bool:
    """Each edge is in a bag, and a spanning tree with the largest intersections connects the bags of each vertex."""
    size = len(graph)
    if not all(any(bag >> a & 1 and bag >> b & 1 for bag in bags) for a, b in edges_of(graph)):
        return False
    ordered = sorted(bags)
    complete = networkx.Graph()
    complete.add_nodes_from(range(len(ordered)))
    for i, j in combinations(range(len(ordered)), 2):
        complete.add_edge(i, j, weight=(ordered[i] & ordered[j]).bit_count())
    tree = networkx.maximum_spanning_tree(complete)
    homes = [[i for i, bag in enumerate(ordered) if bag >> v & 1] for v in range(size)]
    return all(home and networkx.is_connected(tree.subgraph(home)) for home in homes)


@pytest.mark.parametrize("density", [0.1, 0.3, 0.6])
def test_potential_maximal_cliques_are_those_of_minimal_triangulations(density: float) -> None:
    generator = random.Random(f"cliques {density}")
    for _ in range(40):
        graph = random_graph(generator, generator.randint(1, 5), density)
        expected = {
            sum(1 << v for v in clique)
            for triangulation in minimal_triangulations(graph)
            for clique in networkx.find_cliques(triangulation)
        }
        found = potential_maximal_cliques(graph, (1 << len(graph)) - 1)
        assert sorted(expected) == found


def test_a_part_of_a_graph_is_looked_at_by_itself() -> None:
    """The path 0 - 1 - 2 and 3 next to all: without 3, only the edges of the path are left."""
    graph = [0b1010, 0b1101, 0b1010, 0b0111]
    assert potential_maximal_cliques(graph, 0b0111) == [0b011, 0b110]
    assert greedy_cliques(graph, 0b0111) == [0b011, 0b110]
    assert list(components(graph, 0b0101)) == [0b001, 0b100]


def total(costs: Iterable[Cost]) -> Cost:
    return (sum(cost[0] for cost in costs),)


def test_least_largest_cost_over_all_elimination_orders() -> None:
    generator = random.Random(5)
    for _ in range(80):
        size = generator.randint(1, 6)
        graph = random_graph(generator, size, generator.choice((0.1, 0.3, 0.6)))
        prices = [generator.randint(1, 9) for _ in range(size)]

        def price(bag: int, prices: list[int] = prices) -> Cost:
            return (sum(prices[v] for v in members(bag)),)

        vertices = (1 << size) - 1
        found = best_tree_decomposition(graph, vertices, potential_maximal_cliques(graph, vertices), price, max)
        assert found is not None
        assert is_tree_decomposition(graph, found.choices[0])
        orders = (elimination_bags(graph, order) for order in permutations(range(size)))
        assert found.cost == min(max(price(bag) for bag in bags) for bags in orders)


def antichains(subsets: list[int], chosen: frozenset[int] = frozenset()) -> Iterator[frozenset[int]]:
    yield chosen
    for index, subset in enumerate(subsets):
        if not any(subset & bag in (subset, bag) for bag in chosen):
            yield from antichains(subsets[index + 1 :], chosen | {subset})


def test_least_total_cost_over_all_sets_of_bags() -> None:
    generator = random.Random(7)
    several = 0
    for _ in range(20):
        size = generator.randint(2, 4)
        graph = random_graph(generator, size, 0.3)
        price = {bag: (generator.randint(1, 2) * bag.bit_count(),) for bag in range(1, 1 << size)}
        expected = {bags: total(map(price.__getitem__, bags)) for bags in antichains(list(price))}
        valid = {bags: cost for bags, cost in expected.items() if is_tree_decomposition(graph, bags)}
        least = {bags for bags, cost in valid.items() if cost == min(valid.values())}
        found = best_tree_decomposition(graph, (1 << size) - 1, price, price.__getitem__, total, ties=100)
        first = best_tree_decomposition(graph, (1 << size) - 1, price, price.__getitem__, total)
        assert found is not None
        assert first is not None
        assert found.cost == min(valid.values())
        assert set(found.choices) == least
        assert len(found.choices) == len(least)
        assert first.choices == found.choices[:1]
        several += len(least) > 1
    assert several > 0


def test_greedy_cliques_decompose() -> None:
    generator = random.Random(6)
    for _ in range(150):
        size = generator.randint(1, 12)
        graph = random_graph(generator, size, generator.choice((0.05, 0.2, 0.4)))
        found = best_tree_decomposition(
            graph, (1 << size) - 1, greedy_cliques(graph, (1 << size) - 1), lambda bag: (bag.bit_count(),), max
        )
        assert found is not None
        assert is_tree_decomposition(graph, found.choices[0])


def test_candidates_that_do_not_decompose() -> None:
    square = [0b1010, 0b0101, 0b1010, 0b0101]
    assert best_tree_decomposition(square, 0b1111, [0b0111], lambda bag: (bag,), max) is None
    assert best_tree_decomposition(square, 0b1111, [0b0111, 0b1110], lambda bag: (bag,), max) is None
