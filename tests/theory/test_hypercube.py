"""Integer shares against all shares there are; boxes that part all values; estimates against what happens."""

from __future__ import annotations

from itertools import product
from math import prod, sqrt
from random import Random

import numpy as np
import pytest

from livejoin.theory.hypercube import shares as module
from livejoin.theory.hypercube.frequencies import Frequencies, Skew
from livejoin.theory.hypercube.residual import CellProblem, divided, hot_product, plain
from livejoin.theory.hypercube.shares import Spread, integer_shares, loads, slices
from strategies import seeds


def random_spreads(random: Random, variables: str, skewed: bool = True) -> list[Spread]:
    """Atoms over some variables each, of different sizes."""
    found = []
    for _ in range(random.randint(1, 4)):
        own = random.sample(variables, random.randint(1, min(3, len(variables))))
        top = random.choice((0.0, 0.0, 0.02, 0.3)) if skewed else 0.0
        found.append(Spread(10 ** random.uniform(3, 6), dict.fromkeys(own, Skew(top, top * top))))
    return found


@pytest.mark.parametrize("seed", seeds(4, 12))
def test_integer_shares_are_the_best_of_all(seed: int) -> None:
    random = Random(seed)
    variables = "abcd"[: random.randint(1, 4)]
    spreads, cells = random_spreads(random, variables), random.choice((1, 2, 3, 4, 7, 12))
    found = integer_shares(spreads, variables, cells)
    every = [way for way in product(range(1, cells + 1), repeat=len(variables)) if prod(way) <= cells]
    load, sent = loads(spreads, variables, np.array(every, float).T)
    assert found.cells <= cells
    assert found.load == pytest.approx(load.min())
    assert found.sent == pytest.approx(min(s for one, s in zip(load, sent, strict=True) if one <= load.min() * 1.0001))


@pytest.mark.parametrize("seed", seeds(4, 12))
def test_changing_two_shares_at_a_time_comes_close(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    variables = "abcd"[: random.randint(2, 4)]
    spreads, cells = random_spreads(random, variables), random.choice((30, 64, 150))
    best = integer_shares(spreads, variables, cells)
    monkeypatch.setattr(module, "ALL", 0)
    found = integer_shares(spreads, variables, cells)
    assert found.cells <= cells
    assert found.load == pytest.approx(best.load, rel=0.05)


@pytest.mark.parametrize("cells", [1, 2, 4, 7, 64, 1_024, 10_000])
def test_shares_of_known_queries(cells: int) -> None:
    """Evenly spread relations of one size: n / N**(2/3) of each edge of a triangle, n / N of a star."""
    even = dict.fromkeys("abcd", Skew())
    triangle = [Spread(1e12, {v: even[v] for v in pair}) for pair in ("ab", "bc", "ca")]
    found = integer_shares(triangle, "abc", cells)
    assert found.load <= 3.02e12 / cells ** (2 / 3) * (1 if cells ** (1 / 3) % 1 < 1e-9 else 1.35)
    star = [Spread(1e12, {v: even[v] for v in pair}) for pair in ("ab", "ac", "ad")]
    assert integer_shares(star, "abcd", cells).shares == (cells, 1, 1, 1)


def test_the_busiest_slice_is_estimated() -> None:
    random = np.random.default_rng(3)
    for top, distinct in ((0.0, 300), (0.1, 1_000), (0.01, 100_000)):
        values = random.integers(1, distinct + 1, 200_000)
        values[random.random(200_000) < top] = 0
        skew = Frequencies(200_000, {"x": values.astype(np.uint64)}, whole=True).skew("x")
        for share in (2, 10, 50):
            place = random.integers(0, share, distinct + 1)
            busiest = np.bincount(place[values], minlength=share).max() / 200_000
            assert slices(skew, np.array([float(share)]))[0] == pytest.approx(busiest, rel=0.25)


def test_a_sample_says_what_the_relation_says() -> None:
    random = np.random.default_rng(4)
    values = np.where(random.random(100_000) < 0.05, 0, random.integers(1, 1_000, 100_000)).astype(np.uint64)
    whole = Frequencies(100_000, {"x": values}, whole=True).skew("x")
    part = Frequencies(100_000, {"x": values[:10_000]}).skew("x")
    assert part.top == pytest.approx(whole.top, rel=0.1)
    assert part.squares == pytest.approx(whole.squares, rel=0.1)
    assert Frequencies(5, {"x": values[:0]}).skew("x") == Skew()
    assert Frequencies(9, {"x": np.arange(9, dtype=np.uint64)}).skew("x") == Skew()


def zipf(random: np.random.Generator, rows: int) -> np.ndarray:
    chances = 1 / np.arange(1, 1_001) ** 1.2
    return random.choice(1_000, rows, p=chances / chances.sum()).astype(np.uint64)


def edges(*pairs: str) -> tuple[Frequencies, ...]:
    """Atoms over one relation, whose values are as frequent as Zipf's law says at both ends."""
    random = np.random.default_rng(5)
    ends = zipf(random, 5_000), zipf(random, 5_000)
    return tuple(Frequencies(5_000, dict(zip(pair, ends, strict=True)), whole=True) for pair in pairs)


@pytest.mark.parametrize("cells", [4, 30, 500])
def test_each_choice_of_values_is_in_one_box_and_each_cell_in_one_grid(cells: int) -> None:
    problem = CellProblem(edges("ab", "bc", "cd"), tuple("abcd"), cells)
    division = divided(problem)
    assert division.load <= plain(problem).load
    assert len(division.grids) > 2 or cells == 4
    ends = 0
    for grid in division.grids:
        assert grid.first == ends
        ends += grid.cells
    assert ends <= cells
    random = np.random.default_rng(6)
    for values in random.choice(zipf(random, 100), (200, 4)):
        point = dict(zip("abcd", values.tolist(), strict=True))
        boxes = [all((point[v] in c.values) == c.inside for v, c in grid.box.items()) for grid in division.grids]
        assert sum(boxes) == 1


def test_the_product_of_a_hot_value_bounds_what_any_dispatch_does() -> None:
    """Value 0 has 400 rows of R(a, b) and 900 of S(b, c): 360,000 results, of which a cell with L rows has L**2 / 4."""
    random = np.random.default_rng(7)
    columns = [np.concatenate([np.zeros(hot), random.integers(1, 10**6, 2_000)]) for hot in (400, 900)]
    relations = [
        Frequencies(len(b), {"b": b.astype(np.uint64), other: np.arange(len(b), dtype=np.uint64)}, whole=True)
        for b, other in zip(columns, "ac", strict=True)
    ]
    for cells in (4, 64, 1_024):
        problem = CellProblem(tuple(relations), ("a", "b", "c"), cells)
        bound, variable, value = hot_product(problem)
        assert (bound, variable, value) == (pytest.approx(2 * sqrt(400 * 900 / cells)), "b", 0) or bound < 1_000 / cells
        assert bound <= divided(problem).load
    (bound, _, _) = hot_product(CellProblem((relations[0],), ("a", "b"), 4))
    assert bound == 100
