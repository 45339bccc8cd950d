"""Covering programs: each answer proves itself by duality, and no vertex that brute force finds costs less."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from livejoin.theory.cyclic.simplex import cover_at_least_cost

Columns = Sequence[frozenset[int]]


def assert_proven(costs: Sequence[Fraction], columns: Columns, rows: int) -> Fraction:
    """Both are feasible and weigh the same: weak duality says that each is best."""
    cover, packing = cover_at_least_cost(costs, columns, rows)
    assert (len(cover), len(packing)) == (len(columns), rows)
    assert all(value >= 0 for value in (*cover, *packing))
    assert all(sum(x for x, column in zip(cover, columns, strict=True) if row in column) >= 1 for row in range(rows))
    assert all(sum(packing[row] for row in column) <= cost for cost, column in zip(costs, columns, strict=True))
    total = sum((cost * x for cost, x in zip(costs, cover, strict=True)), Fraction(0))
    assert total == sum(packing)
    return total


def least_vertex(costs: Sequence[Fraction], columns: Columns, rows: int) -> Fraction:
    """The least cost among all vertices: points at which as many inequalities are equalities as there are columns."""
    count = len(columns)
    planes = [([Fraction(row in column) for column in columns], Fraction(1)) for row in range(rows)]
    planes += [([Fraction(place == at) for place in range(count)], Fraction(0)) for at in range(count)]
    found = []
    for chosen in combinations(planes, count):
        point = solve([[*left, right] for left, right in chosen])
        if point and min(point) >= 0 and all(dot(left, point) >= right for left, right in planes):
            found.append(dot(costs, point))
    return min(found)


def dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((one * other for one, other in zip(left, right, strict=True)), Fraction(0))


def solve(lines: list[list[Fraction]]) -> list[Fraction] | None:
    """The one solution of linear equations, by elimination; None if there is not just one."""
    for at in range(len(lines)):
        pivot = next((line for line in range(at, len(lines)) if lines[line][at]), None)
        if pivot is None:
            return None
        lines[at], lines[pivot] = lines[pivot], lines[at]
        lines[at] = [value / lines[at][at] for value in lines[at]]
        for other in range(len(lines)):
            if other != at and (factor := lines[other][at]):
                lines[other] = [x - factor * y for x, y in zip(lines[other], lines[at], strict=True)]
    return [line[-1] for line in lines]


def random_columns(generator: random.Random, count: int, rows: int) -> list[frozenset[int]]:
    """Columns, some equal and some empty, that have all rows together."""
    columns = [{row for row in range(rows) if generator.random() < 0.4} for _ in range(count)]
    for row in range(rows):
        generator.choice(columns).add(row)
    return [frozenset(column) for column in columns]


def test_random_programs_are_solved_as_brute_force_solves_them() -> None:
    generator = random.Random(1)
    for _ in range(40):
        rows = generator.randint(1, 4)
        columns = random_columns(generator, generator.randint(1, 5), rows)
        costs = [Fraction(generator.randint(0, 6), generator.randint(1, 3)) for _ in columns]
        assert assert_proven(costs, columns, rows) == least_vertex(costs, columns, rows)


def test_larger_programs_prove_themselves() -> None:
    generator = random.Random(2)
    for _ in range(20):
        rows = generator.randint(6, 12)
        columns = random_columns(generator, generator.randint(6, 14), rows)
        assert_proven([Fraction(1)] * len(columns), columns, rows)
        assert_proven([Fraction(generator.randint(0, 1 << 24), 1 << 20) for _ in columns], columns, rows)


def test_ties_and_nothing() -> None:
    """Equal costs, equal columns and costs of 0 give degenerate tableaus, at which a careless rule goes in circles."""
    assert cover_at_least_cost([], [], 0) == ((), ())
    assert assert_proven([Fraction(0)] * 3, [frozenset({0, 1})] * 3, 2) == 0
    everything = [frozenset(pair) for pair in combinations(range(7), 2)]
    assert assert_proven([Fraction(1)] * len(everything), everything, 7) == Fraction(7, 2)


def test_a_large_clique() -> None:
    edges = [frozenset(pair) for pair in combinations(range(9), 2)]
    assert assert_proven([Fraction(1)] * len(edges), edges, 9) == Fraction(9, 2)
