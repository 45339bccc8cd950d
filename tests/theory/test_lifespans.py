"""Lifespans of change logs against queues of copies, and against the contents of the tables."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifespan_brute_force import Change, changes, naive_lifespans, tuples_of

from livejoin.errors import ChangeFormatError
from livejoin.theory.logs.lifespans import Lifespans, lifespans
from strategies import FUZZ


@FUZZ
@given(changes(most=20))
def test_copies_leave_first_in_first_out(log: list[Change]) -> None:
    spans = lifespans(*np.array(log, np.int64).reshape(-1, 3).T)
    assert sorted(tuples_of(spans)) == sorted(naive_lifespans(log))


@FUZZ
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.just(1)), max_size=6), changes(relations=2, most=12))
def test_the_first_changes_may_be_the_initial_database(first: list[Change], log: list[Change]) -> None:
    spans = lifespans(*np.array(first + log, np.int64).reshape(-1, 3).T, initial=len(first))
    assert sorted(tuples_of(spans)) == sorted(naive_lifespans(first + log, len(first)))


@FUZZ
@given(changes(most=20))
def test_as_many_lifespans_as_copies_at_every_time(log: list[Change]) -> None:
    tuples = tuples_of(lifespans(*np.array(log, np.int64).reshape(-1, 3).T))
    for relation in range(3):
        alive = [sum(s <= time < e for r, s, e in tuples if r == relation) for time in range(-1, len(log))]
        steps = [sign * (r == relation) for r, _, sign in log]
        assert np.diff(alive).tolist() == steps


def test_insertions_in_the_order_of_the_log_then_deleted_rows_of_the_past() -> None:
    spans = lifespans([0, 0, 1, 0, 0], [5, 6, 9, 5, 5], [-1, 1, 1, 1, 1])
    assert tuples_of(spans) == [(0, 1, inf), (1, 2, inf), (0, 3, inf), (0, 4, inf), (0, -inf, 0)]
    assert tuples_of(spans.of(1)) == [(1, 2, inf)]
    assert len(spans) == 5


def test_a_row_with_copies_in_the_past_loses_these_first() -> None:
    spans = lifespans([0, 0, 0], [5, 5, 5], [1, -1, -1])
    assert tuples_of(spans) == [(0, 0, 2), (0, -inf, 1)]


def test_rows_of_extreme_numbers_are_told_apart() -> None:
    low, high = -(2**63), 2**63 - 1
    spans = lifespans([low, high, low, high], [high, low, high, low], [1, 1, -1, -1])
    assert [(s, e) for _, s, e in tuples_of(spans)] == [(0, 2), (1, 3)]


@pytest.mark.parametrize(
    ("arguments", "initial", "message"),
    [
        (([0], [1, 2], [1, 1]), 0, "relation has shape \\(1,\\), row has shape \\(2,\\)"),
        (([[0]], [[1]], [[1]]), 0, "one-dimensional"),
        (([0, 0], [1, 2], [1, 2]), 0, "row 1 .*the sign is 2; allowed are \\+1"),
        (([0], [1], [1]), 2, "has 2 changes; allowed are 0 to 1"),
        (([0], [1], [1]), -1, "has -1 changes"),
        (([0, 0], [1, 1], [1, -1]), 2, "row 1 .*a deletion in the initial database"),
    ],
)
def test_malformed_logs_are_refused(arguments: tuple[list[int], ...], initial: int, message: str) -> None:
    with pytest.raises(ChangeFormatError, match=message):
        lifespans(*arguments, initial=initial)


def test_malformed_lifespans_are_refused() -> None:
    with pytest.raises(ChangeFormatError, match="tuple 1 ends at 3, before its start at 4"):
        Lifespans(np.array([0, 0]), np.array([0, 4]), np.array([0, 3]))
    with pytest.raises(ChangeFormatError, match="end has shape"):
        Lifespans(np.array([0, 0]), np.array([0, 4]), np.array([5]))
