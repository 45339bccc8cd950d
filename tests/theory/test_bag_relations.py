"""Bags on data: their join is the join of the atoms, with multiplicities, and none is larger than its bound."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import product

from theory_brute_force import random_edges

from livejoin.theory.cyclic.decomposition import Bag, decompose

Edges = Sequence[frozenset[str]]
Rows = Counter[tuple[int, ...]]


def rows_of(bag: Bag, edges: Edges, tables: Sequence[Rows], domain: int) -> dict[tuple[int, ...], int]:
    """A bag's relation by its definition: rows over its sorted variables with their multiplicities."""
    order = sorted(bag.variables)
    found = {}
    for row in product(range(domain), repeat=len(order)):
        value = dict(zip(order, row, strict=True))
        count = 1
        for atom in bag.atoms:
            count *= tables[atom][tuple(value[v] for v in sorted(edges[atom]))]
        for atom in bag.filters:
            shared = [(i, v) for i, v in enumerate(sorted(edges[atom])) if v in value]
            count *= any(all(kept[i] == value[v] for i, v in shared) for kept in tables[atom])
        if count:
            found[row] = count
    return found


def test_the_join_of_the_bags_is_the_join_of_the_atoms() -> None:
    generator = random.Random(33)
    results = 0
    for _ in range(250):
        edges = random_edges(generator, generator.randint(2, 6), "abcde", (0, 1, 2, 2, 2, 3))
        variables = sorted(frozenset[str]().union(*edges))
        free = frozenset(generator.sample(variables, generator.randint(0, len(variables))))
        found = decompose(edges, free)
        tables = [
            Counter(tuple(generator.randint(0, 1) for _ in edge) for _ in range(generator.randint(1, 6)))
            for edge in edges
        ]
        bags = [rows_of(bag, edges, tables, 2) for bag in found.bags]
        for bag, rows in zip(found.bags, bags, strict=True):
            assert len(rows) <= bag.size_bound(edges, [len(table) for table in tables]).rows + 1e-6
        for row in product(range(2), repeat=len(variables)):
            value = dict(zip(variables, row, strict=True))
            expected = actual = 1
            for edge, table in zip(edges, tables, strict=True):
                expected *= table[tuple(value[v] for v in sorted(edge))]
            for bag, rows in zip(found.bags, bags, strict=True):
                actual *= rows.get(tuple(value[v] for v in sorted(bag.variables)), 0)
            assert actual == expected
            results += expected > 0
    assert results > 500
