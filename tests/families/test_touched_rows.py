"""Annotated results are written once a version: what changes touch is withdrawn at once, and restored at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from algorithm_driver import AlgorithmDriver, Change, Problem, Row, brute
from factors import factor
from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.join import CrownJoin
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.events import table_events, view_events
from livejoin.kernels.join.ahead import BEYOND
from livejoin.query import ConjunctiveQuery, Product
from livejoin.theory.trees.join_tree import least_height_tree

COUNT_AND_SUM = (Product(), Product((factor(1, "x"),), True))
ONE_NODE = Problem(("gk", "kx"), "g", True, COUNT_AND_SUM)
TWO_NODES = Problem(("ab", "ax", "bc", "cy"), "abc", True, (Product(), Product((factor(1, "x"), factor(3, "y")))))
ATOMS = Problem(("ab", "bc", "bx"), "abc", True, (Product(), Product((factor(2, "x"),))))


def crown(query: ConjunctiveQuery) -> Any:
    return CrownJoin(compile_plan(query, least_height_tree(query.edges, query.free), True))


@pytest.mark.nojit
@pytest.mark.parametrize("capacity", [1, 2, 1000])
@pytest.mark.parametrize("problem", [ONE_NODE, TWO_NODES, ATOMS], ids=["one node", "two nodes", "atoms"])
def test_many_changes_of_a_version_that_touch_the_same_groups(problem: Problem, capacity: int) -> None:
    """Rows come and go below groups that stay, that come, and that go, in versions of many changes."""
    random = Random(capacity)
    driver = AlgorithmDriver(problem, crown, capacity)
    contents: list[Counter[Row]] = [Counter() for _ in problem.variables]
    before = brute(problem, contents)
    for version in range(1, 13):
        changes: dict[tuple[int, Row], Change] = {}
        for _ in range(random.choice((1, 4, 25))):
            table, row = random.randrange(len(problem.variables)), (random.randrange(3), random.randrange(3))
            there = contents[table][row]
            weight = random.choice((1, 1, 2, -1, -there) if version < 12 else (-there,))
            if weight and there + weight >= 0 and (table, row) not in changes:
                contents[table][row] += weight
                changes[table, row] = (table, row, weight, version)
        after = brute(problem, contents)
        expected = Counter({r: n for r in {*before, *after} if (n := after[r] - before[r])})
        delta = driver.apply(changes.values())
        assert {v: d for v, d in delta.items() if d} == ({version: expected} if expected else {})
        assert driver.result() == after
        driver.join._check()
        before = after


def test_a_group_is_written_twice_a_version_however_many_changes_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 changes of two versions reach five groups: one by one they were 800 results that go or come."""
    driver = AlgorithmDriver(ONE_NODE, crown)
    driver.apply([(0, (k % 5, k), 1, 1) for k in range(50)] + [(1, (k, 0), 1, 1) for k in range(50)], emit=False)
    chunks: list[DeltaChunk] = []
    maintain = driver.join.maintain

    def recorded(*arguments: Any) -> Iterator[DeltaChunk]:
        for chunk in maintain(*arguments):
            chunks.append(chunk)
            yield chunk

    monkeypatch.setattr(driver.join, "maintain", recorded)
    driver.apply([(1, (k, x), 1, 2 + x // 5) for k in range(50) for x in range(1, 9)])
    (chunk,) = chunks
    assert chunk.versions.tolist() == [2, 2, 3, 3]
    assert chunk.signs.tolist() == [-1, 1, -1, 1]
    assert chunk.lengths().tolist() == [5] * 4
    driver.join._check()


def test_a_state_that_caches_do_not_hold_is_read_ahead_and_stays_what_it_is() -> None:
    """Rows come, go, and come again, of keys that have parents, that have none, and that are new in the commit."""
    random = Random(1)
    driver = AlgorithmDriver(ONE_NODE, crown)
    parents, rows = 4_000, 12_000
    contents = [Counter({(k % 7, k): 1 for k in range(parents)}), Counter[Row]()]
    driver.ids |= {(0, row): number for number, row in enumerate(contents[0])}
    ids = {(random.randrange(parents + 1_000), x): parents + x for x in range(rows)}
    driver.ids |= {(1, row): number for row, number in ids.items()}
    _load(driver, 0, [*contents[0]], 0)
    _load(driver, 1, [*ids], parents)
    assert _changed(driver, [(0, number, 1) for number in range(parents)], 1) == 0
    there: set[Row] = set()
    for version in range(2, 5):
        coming = {row for row in ids if row not in there and random.random() < 0.8}
        going = {row for row in there if random.random() < 0.5}
        there = (there - going) | coming
        _changed(driver, [(1, ids[row], 1 if row in coming else -1) for row in ids if row in coming | going], version)
        assert driver.join.arena.words.shape[0] > BEYOND, "the test is for a state that is read ahead of"
        expected: dict[int, list[int]] = {}
        for k, x in there:
            if k < parents:
                group = expected.setdefault(k % 7, [0, 0])
                group[0] += 1
                group[1] += x
        assert driver.result() == Counter((g, n, total, 0) for g, (n, total) in expected.items())
    _changed(driver, [(1, ids[row], -1) for row in there], 9)
    assert driver.result() == Counter() and driver.join.registered == parents


def _load(driver: AlgorithmDriver, table: int, rows: Sequence[Row], first: int) -> None:
    """Bring rows into their records, which are numbered from the first one on."""
    position = driver.position[f"R{table}"]
    ids, words = np.arange(first, first + len(rows)), np.array(rows, np.int64)
    factors = words[:, 1:].T.copy() if driver.join.plan.tables[position].factors else np.empty((0, len(rows)), np.int64)
    driver.join.load(position, ids, words.ravel(), 2, 0, factors, np.arange(len(rows)))


def _changed(driver: AlgorithmDriver, changes: Sequence[tuple[int, int, int]], version: int) -> int:
    """Apply changes of one table, each by the number of its row; the rows of the delta."""
    table = changes[0][0]
    _, numbers, weights = np.array(changes).T.copy()
    lines = (numbers, weights, np.full(len(changes), 1 << table), np.full(len(changes), version))
    events = view_events([(driver.position[f"R{table}"], table_events(f"R{table}", *lines))])
    return sum(chunk.rows for chunk in driver.join.maintain(events, True))
