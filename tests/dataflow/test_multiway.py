"""The kernels against CROWN's running example and against the naive twin, views and deltas alike."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from join_driver import JoinDriver
from naive import NaiveView
from strategies import seeds
from test_naive import FIGURE_1, NODE_R1, NODE_R2, NODE_R3, NODE_R4, R1, R2, R3, R4, ROOT, keys, random_tree, summed


@pytest.fixture
def running_example() -> JoinDriver:
    variables = [("x1", "x2"), ("x2", "x3"), ("x3", "x4"), ("x4", "x5")]
    driver = JoinDriver(variables, FIGURE_1, output=("x1", "x2", "x3", "x4"))
    tables = {
        R1: [(1, 2), (2, 2), (3, 3)],
        R2: [(1, 2), (2, 2), (4, 3), (1, 1), (2, 4), (1, 4)],
        R3: [(1, 1), (2, 5), (3, 3), (1, 2), (4, 4)],
        R4: [(1, 1), (2, 2), (3, 3), (4, 4)],
    }
    for atom, rows in tables.items():
        for row in rows:
            driver.insert(atom, row)
    driver.check()
    return driver


@pytest.mark.nojit
def test_crown_figure_3a(running_example: JoinDriver) -> None:
    view = running_example
    assert view.counters(ROOT) == keys({1: 1, 2: 1, 3: 1, 4: 2})
    assert view.counters(NODE_R2) == {(1, 2): 0, (2, 2): 1, (4, 3): 0, (1, 1): 0, (2, 4): 1, (1, 4): 0}
    assert view.counters(NODE_R3) == {(1, 1): 1, (2, 5): 0, (3, 3): 1, (1, 2): 1, (4, 4): 1}
    assert view.projection_view(NODE_R1) == keys({2: 2, 3: 1})
    assert view.projection_view(NODE_R2) == keys({4: 1, 2: 1})
    assert view.projection_view(NODE_R3) == keys({1: 2, 3: 1, 4: 1})
    assert view.projection_view(NODE_R4) == keys({1: 1, 2: 1, 3: 1, 4: 1})
    assert view.semijoin_view(ROOT) == {(4,)}
    assert view.semijoin_view(NODE_R2) == {(2, 2), (2, 4)}
    assert view.semijoin_view(NODE_R3) == {(1, 1), (3, 3), (1, 2), (4, 4)}
    assert view.live_view(ROOT) == {(4,)}
    assert view.live_view(NODE_R2) == {(2, 4)}
    assert view.live_view(NODE_R3) == {(4, 4)}
    assert view.live_view(NODE_R1) == {(1, 2), (2, 2)}
    assert view.result() == {(1, 2, 4, 4): 1, (2, 2, 4, 4): 1}


@pytest.mark.nojit
def test_crown_figure_3b_and_examples_4_3_and_5_8_insertion(running_example: JoinDriver) -> None:
    view = running_example
    assert view.insert(R1, (1, 1)) == {(1, 1, 1, 1): 1, (1, 1, 1, 2): 1, (1, 1, 4, 4): 1}
    assert view.counters(ROOT) == keys({1: 2, 2: 1, 3: 1, 4: 2})
    assert view.counters(NODE_R2) == {(1, 2): 1, (2, 2): 1, (4, 3): 0, (1, 1): 1, (2, 4): 1, (1, 4): 1}
    assert view.projection_view(NODE_R1) == keys({2: 2, 3: 1, 1: 1})
    assert view.projection_view(NODE_R2) == keys({4: 2, 2: 2, 1: 1})
    assert view.semijoin_view(ROOT) == {(1,), (4,)}
    assert view.semijoin_view(NODE_R2) == {(1, 2), (2, 2), (1, 1), (2, 4), (1, 4)}
    assert view.live_view(NODE_R2) == {(1, 1), (2, 4), (1, 4)}
    assert view.live_view(NODE_R3) == {(1, 1), (1, 2), (4, 4)}
    assert view.live_view(NODE_R1) == {(1, 2), (2, 2), (1, 1)}
    view.check()


@pytest.mark.nojit
def test_crown_figure_3c_and_examples_4_3_and_5_8_deletion(running_example: JoinDriver) -> None:
    view = running_example
    view.insert(R1, (1, 1))
    assert view.delete(R4, (1, 1)) == {(1, 1, 1, 1): -1}
    assert view.counters(ROOT) == keys({1: 2, 2: 1, 3: 1, 4: 2})
    assert view.counters(NODE_R3) == {(1, 1): 0, (2, 5): 0, (3, 3): 1, (1, 2): 1, (4, 4): 1}
    assert view.projection_view(NODE_R4) == keys({2: 1, 3: 1, 4: 1})
    assert view.projection_view(NODE_R3) == keys({1: 1, 3: 1, 4: 1})
    assert view.semijoin_view(NODE_R3) == {(3, 3), (1, 2), (4, 4)}
    assert view.live_view(ROOT) == {(1,), (4,)}
    assert view.live_view(NODE_R3) == {(1, 2), (4, 4)}
    assert view.live_view(NODE_R4) == {(2, 2), (4, 4)}
    view.check()


def compare(seed: int, steps: int, domain: int, capacity: int | None) -> None:
    """Random changes over a random tree; the kernels and the naive twin agree on everything after each."""
    rng = random.Random(seed)
    variables, tree = random_tree(rng)
    driver = JoinDriver(variables, tree, capacity=capacity)
    quiet = JoinDriver(variables, tree, live=False)
    naive = NaiveView(variables, tree)
    rows: list[Counter[tuple[int, ...]]] = [Counter() for _ in variables]
    for step in range(steps):
        atom = rng.randrange(len(variables))
        present = sorted(rows[atom])
        weight = rng.choice((1, 1, 1, 3))
        if present and rng.random() < (0.4 if step < steps * 3 // 4 else 0.95):
            row = rng.choice(present)
            weight = -min(weight, rows[atom][row])
            expected = naive.delete(atom, row, -weight)
        else:
            row = tuple(rng.randrange(domain) for _ in variables[atom])
            expected = naive.insert(atom, row, weight)
        rows[atom][row] += weight
        rows[atom] = +rows[atom]
        assert driver.change(atom, row, weight) == summed(expected)
        assert quiet.change(atom, row, weight) == {}
        assert driver.result() == quiet.result() == summed(naive.result())
        assert driver.join.count() == quiet.join.count() == naive.count()
        driver.check()
        quiet.check()
    for index in range(len(tree.nodes)):
        assert driver.semijoin_view(index) == naive.semijoin_view(index)
        counters = driver.counters(index)
        if tree.nodes[index].atom is None:  # the kernels keep the row of a key while child rows outside of V_s name it
            counters = {row: counter for row, counter in counters.items() if counter}
        assert counters == naive.counters[index]
        if tree.nodes[index].parent is not None:
            assert driver.projection_view(index) == naive.projection_view(index)
        if tree.nodes[index].children:
            assert driver.live_view(index) == naive.live_view(index)


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_random_trees_against_the_naive_twin(seed: int) -> None:
    compare(seed, steps=50, domain=2 + seed % 3, capacity=(None, 1, 3, 50)[seed % 4])


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(100, 108))
def test_random_trees_without_the_compiler(seed: int) -> None:
    compare(seed, steps=25, domain=2, capacity=(None, 2)[seed % 2])
