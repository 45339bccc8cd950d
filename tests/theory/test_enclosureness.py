"""Enclosureness by the original definition against all sets of disjoint lifespans, and on the papers' sequences."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifespan_brute_force import (
    Change,
    Interval,
    changes,
    most_disjoint_within,
    naive_enclosureness,
    queues,
    random_forest,
    spans_of,
    tuples_of,
)

from livejoin.kernels.lifespans import number_forest
from livejoin.theory.logs.disjoint_intervals import minimal_intervals, most_disjoint
from livejoin.theory.logs.enclosureness import enclosureness
from livejoin.theory.logs.lifespans import lifespans
from strategies import FUZZ

INTERVALS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)).map(lambda pair: (min(pair), max(pair))))


@pytest.mark.nojit
def test_postorder_numbers_of_forests() -> None:
    generator = random.Random(1)
    for _ in range(200):
        successor = random_forest(generator, generator.randint(0, 12))
        n = len(successor)
        depths: dict[int, int] = {n: 0}
        for i in reversed(range(n)):
            depths[i] = depths[successor[i]] + 1
        order: list[int] = []

        def walk(node: int, order: list[int] = order, successor: list[int] = successor) -> None:
            for child in (i for i, parent in enumerate(successor) if parent == node):
                walk(child)
            order.append(node)

        walk(n)
        found = number_forest(np.array(successor, np.int64))
        assert found.tolist() == [[depths[i] for i in range(n)], [order.index(i) for i in range(n)]]


@pytest.mark.nojit
@FUZZ
@given(INTERVALS, INTERVALS)
def test_most_disjoint_intervals(family: list[Interval], within: list[Interval]) -> None:
    starts, ends = np.array(family, np.int64).reshape(-1, 2).T
    outer = np.array(within, np.int64).reshape(-1, 2).T
    minimal = minimal_intervals(starts, ends)
    inner = [i for i in set(family) if not any(j != i and i[0] <= j[0] and j[1] <= i[1] for j in family)]
    assert list(zip(*(part.tolist() for part in minimal), strict=True)) == sorted(inner)
    found = most_disjoint(minimal, outer[0], outer[1]).tolist()
    assert found == [most_disjoint_within(inner, interval) for interval in within]


@pytest.mark.nojit
@FUZZ
@given(changes(most=16))
def test_definition_6_1(log: list[Change]) -> None:
    spans = lifespans(*np.array(log, np.int64).reshape(-1, 3).T)
    expected = naive_enclosureness(tuples_of(spans))
    found = enclosureness(spans)
    assert found.counts[0].tolist() == expected
    assert (found.tuples, found.total, found.largest) == (len(expected), sum(expected), max(expected, default=0))
    assert found.average == max(1, sum(expected) / max(1, len(expected)))


@FUZZ
@given(st.integers(1, 100), st.randoms(use_true_random=False))
def test_many_lifespans(number: int, generator: random.Random) -> None:
    """Longer logs than sets can be enumerated for: the greedy choice, made one lifespan at a time."""
    spans = spans_of([(0, *sorted(generator.sample(range(1000), 2))) for _ in range(number)])
    tuples = tuples_of(spans)
    for (_, start, end), found in zip(tuples, enclosureness(spans).counts[0].tolist(), strict=True):
        count, now = 0, start - 0.5
        for _, s, e in sorted(tuples, key=lambda t: t[2]):
            if now < s and e <= end:
                count, now = count + 1, e
        assert found == count


@FUZZ
@given(queues(most=30))
def test_first_in_first_out_logs_have_enclosureness_1(log: list[Change]) -> None:
    spans = lifespans(*np.array(log, np.int64).reshape(-1, 3).T)
    assert enclosureness(spans).largest <= 1
    assert enclosureness(spans).average == 1


def test_the_sequence_of_aju_theorem_13() -> None:
    """n vectors of n tuples, one after the other, while a matrix of n * n tuples stays."""
    n = 7
    matrix = [(0, row, 1) for row in range(n * n)]
    vectors = [(1, i, sign) for _ in range(n) for sign in (1, -1) for i in range(n)]
    found = enclosureness(lifespans(*np.array(matrix + vectors).T))
    assert found.counts[0].tolist() == [n] * (n * n) + [1] * (n * n)
    assert found.average == (n + 1) / 2
    assert found.largest == n


def test_a_stack_that_grows_and_shrinks_all_the_time_is_hard() -> None:
    n = 9
    log = [(0, 0, 1), *((0, row, sign) for row in range(1, n + 1) for sign in (1, -1)), (0, 0, -1)]
    assert enclosureness(lifespans(*np.array(log).T)).counts[0].tolist() == [n] + [1] * n


def test_an_empty_log_has_enclosureness_1() -> None:
    found = enclosureness(lifespans([], [], []))
    assert (found.average, found.largest, found.tuples, found.counts[0].tolist()) == (1.0, 0, 0, [])


def test_lifespans_that_touch_are_not_disjoint() -> None:
    assert enclosureness(spans_of([(0, 0, 9), (0, 1, 2), (0, 2, 3), (0, 4, 5)])).counts[0].tolist() == [2, 1, 1, 1]
