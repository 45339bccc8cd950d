"""The number of triangles by heavy and light values, against brute force, after every change."""

from __future__ import annotations

from collections import Counter
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_bagged import driver_of, step

from algorithm_driver import AlgorithmDriver, Problem, Row
from livejoin.kernels.bag import layout as b
from livejoin.kernels.join import layout as q
from livejoin.query import Product
from strategies import FUZZ

SHAPES = (("ab", "bc", "ca"), ("ab", "bc", "ac"), ("ba", "bc", "ca"))
TABLES = ((0, 0, 0), (0, 1, 2), (0, 0, 2), (0, 1, 0))


def counting(shape: tuple[str, ...], tables: tuple[int, ...], odd: frozenset[int] = frozenset()) -> AlgorithmDriver:
    """The operator with a threshold that few rows reach."""
    driver = driver_of(Problem(shape, "", True, (Product((), True),), tables, frozenset(), odd))
    driver.join.bags[0].plan.words[b.P_LEAST_HEAVY] = 1
    return driver


def heavy_values(driver: AlgorithmDriver) -> int:
    """Values that are heavy now."""
    join = driver.join.bags[0].join
    return sum(int(join.arena.words[n.heavies]) for s in join.plan.stores for n in s.nodes.values())


@FUZZ
@given(st.data())
def test_every_change(data: st.DataObject) -> None:
    shape, tables = data.draw(st.sampled_from(SHAPES)), data.draw(st.sampled_from(TABLES))
    odd = frozenset(data.draw(st.sets(st.integers(0, 2), max_size=1)))
    driver = counting(shape, tables, odd)
    contents: list[Counter[Row]] = [Counter() for _ in range(3)]
    values = st.sampled_from([0, 0, 0, 1, 1, *range(2, 7)])
    version = 0
    for _ in range(data.draw(st.integers(5, 30))):
        table = data.draw(st.sampled_from(sorted(set(tables))))
        present = sorted(row for row, times in contents[table].items() if times)
        if present and data.draw(st.integers(0, 2)) == 0:
            row = data.draw(st.sampled_from(present))
            weight = data.draw(st.sampled_from([-1, -contents[table][row], 1]))
        else:
            row = (data.draw(values), data.draw(values))
            weight = data.draw(st.sampled_from([1, 1, 2]))
        version += 1
        step(driver, contents, [(table, row, weight, version)])
    step(driver, contents, [(t, r, -n, version + 1) for t in set(tables) for r, n in contents[t].items() if n])
    assert driver.join.registered == 0 and heavy_values(driver) == 0


@pytest.mark.nojit
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tables", TABLES)
def test_hubs(shape: tuple[str, ...], tables: tuple[int, ...]) -> None:
    """Two hubs over many values between them: they become heavy, are read off a view, and become light again."""
    driver = counting(shape, tables)
    contents: list[Counter[Row]] = [Counter() for _ in range(3)]
    used = sorted(set(tables))
    middle = [(0, c) for c in range(8)] + [(c, 0) for c in range(1, 8)] + [(1, c) for c in range(2, 8)]
    middle += [(c, 1) for c in range(2, 8)]
    step(driver, contents, [(t, row, 1 + (row[0] + row[1]) % 2, 0) for t in used for row in middle])
    assert heavy_values(driver) > 0
    version = 0
    for row in cartesian((0, 1), repeat=2):
        for weight in (1, 2, -1):
            version += 1
            step(driver, contents, [(used[0], row, weight, version)])
    for table, row in [(t, row) for t in used for row in sorted(contents[t]) if contents[t][row]]:
        version += 1
        step(driver, contents, [(table, row, -contents[table][row], version)])
    assert heavy_values(driver) == 0


def test_a_change_between_hubs_does_not_read_their_blocks() -> None:
    driver = driver_of(Problem(SHAPES[0], "", True, (Product((), True),), (0, 0, 0)))
    between = 5000
    edges = [(0, c) for c in range(2, between + 2)] + [(c, 1) for c in range(2, between + 2)]
    ids = {edge: i for i, edge in enumerate([*edges, (1, 0)])}
    words = np.array(list(ids), np.int64)
    driver.join.load(0, np.arange(len(words)), words.ravel(), 2, 0)
    events = np.ones((q.EVENT_FIELDS, len(words)), np.int64)
    events[q.V_TABLE], events[q.V_ROW], events[q.V_MASK] = 0, np.arange(len(words)), -1
    assert not list(driver.join.maintain(events[:, :-1].copy(), True))
    before = driver.join.probes
    (chunk,) = driver.join.maintain(events[:, -1:].copy(), True)
    assert chunk.words[:, -1].tolist() == [3 * between, 0]
    assert driver.join.probes - before < 200
