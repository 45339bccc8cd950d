"""Bags over static atoms: what is left across them is in C_lin, and nothing is joined twice or left out."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from livejoin.theory.cyclic.edge_cover import fractional_edge_cover
from livejoin.theory.static.linear_tree import linear_tree
from livejoin.theory.static.static_bags import static_bags
from livejoin.theory.static.static_dynamic import Tractability, static_dynamic
from static_lives import random_query


@pytest.mark.parametrize("seed", range(3))
def test_the_query_across_the_bags_is_in_c_lin(seed: int) -> None:
    generator, seen = random.Random(seed), Counter[int]()
    for _ in range(300):
        query = random_query(generator)
        edges, free = query.sets, frozenset(query.free)
        found = static_dynamic(edges, free, query.dynamic, budget=100)
        if found.order is None:
            continue
        bags = static_bags(edges, free, query.dynamic, found.order.order)
        seen[len(bags.bags)] += 1
        assert (len(bags.bags) == 0) == (found.tractability is Tractability.LINEAR), query
        joined = [*bags.atoms, *(atom for bag in bags.bags for atom in bag.atoms)]
        assert sorted(joined) == list(range(len(edges))), query
        used = [*bags.shown, *(below for bag in bags.bags for below in bag.bags)]
        assert sorted(used) == list(range(len(bags.bags))), query
        across = [*(edges[atom] for atom in bags.atoms), *(bags.bags[bag].kept for bag in bags.shown)]
        dynamic = frozenset(place for place, atom in enumerate(bags.atoms) if atom in query.dynamic)
        assert linear_tree(across, free, dynamic) is not None, query
        static = [edge for atom, edge in enumerate(edges) if atom not in query.dynamic]
        for bag in bags.bags:
            assert query.dynamic.isdisjoint((*bag.atoms, *bag.filters)), query
            assert bag.kept <= bag.variables
            inside = [edges[atom] for atom in (*bag.atoms, *bag.filters)]
            inside += [bags.bags[other].kept for other in (*bag.bags, *bag.bag_filters)]
            assert bag.variables <= frozenset[str]().union(*inside), query
            assert fractional_edge_cover(static, bag.variables).number <= found.order.width, query
    assert len(seen) > 2, seen
