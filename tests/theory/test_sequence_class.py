"""Classes of change logs against all pairs of their tuples."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lifespan_brute_force import Change, Tuple, changes, queues, spans_of, tuples_of

from livejoin.theory.logs.lifespans import lifespans
from livejoin.theory.logs.sequence_class import (
    SequenceClass,
    deletion_only,
    first_in_first_out,
    first_in_last_out,
    insertion_only,
)
from strategies import FUZZ

TUPLES = st.lists(
    st.tuples(
        st.just(0),
        st.sampled_from([float("-inf"), *range(6)]),
        st.sampled_from([*range(6, 9), float("inf"), *range(3, 6)]),
    ).filter(lambda t: t[1] <= t[2]),
    max_size=7,
)


def _first_pair(tuples: list[Tuple], breaks: str) -> tuple[int, int] | None:
    """Of the pairs (s, t) that break the class, the one whose earlier deletion is first, then the earliest partner."""
    pairs = [
        (i, j)
        for i, (_, s_start, s_end) in enumerate(tuples)
        for j, (_, t_start, t_end) in enumerate(tuples)
        if s_start < t_start and (s_end > t_end if breaks == "fifo" else s_end < t_end)
    ]
    inner, outer = (1, 0) if breaks == "fifo" else (0, 1)
    return min(
        pairs, key=lambda pair: (tuples[pair[inner]][2], tuples[pair[outer]][1], tuples[pair[inner]][1]), default=None
    )


def _same_pair(found: SequenceClass, pair: tuple[int, int] | None, tuples: list[Tuple]) -> bool:
    if pair is None or not found.witness:
        return pair is None and found.holds and not found.witness
    return not found and [tuples[i][1:] for i in found.witness] == [tuples[i][1:] for i in pair]


@FUZZ
@given(changes(most=16))
def test_the_first_pair_of_a_log_that_breaks_the_order(log: list[Change]) -> None:
    spans = lifespans(*np.array(log, np.int64).reshape(-1, 3).T)
    tuples = tuples_of(spans)
    assert _same_pair(first_in_first_out(spans), _first_pair(tuples, "fifo"), tuples)
    assert _same_pair(first_in_last_out(spans), _first_pair(tuples, "filo"), tuples)


@FUZZ
@given(TUPLES)
def test_any_lifespans_with_equal_times(tuples: list[Tuple]) -> None:
    spans = spans_of(tuples)
    assert bool(first_in_first_out(spans)) == (_first_pair(tuples, "fifo") is None)
    assert bool(first_in_last_out(spans)) == (_first_pair(tuples, "filo") is None)
    for found, breaks in ((first_in_first_out(spans), "fifo"), (first_in_last_out(spans), "filo")):
        if not found:
            (_, s_start, s_end), (_, t_start, t_end) = (tuples[i] for i in found.witness)
            assert s_start < t_start
            assert s_end > t_end if breaks == "fifo" else s_end < t_end


@FUZZ
@given(changes(most=16))
def test_insertion_only_and_deletion_only(log: list[Change]) -> None:
    spans = lifespans(*np.array(log, np.int64).reshape(-1, 3).T)
    deletions = [time for time, (_, _, sign) in enumerate(log) if sign < 0]
    insertions = [time for time, (_, _, sign) in enumerate(log) if sign > 0]
    assert spans.end[list(insertion_only(spans).witness)].tolist() == deletions[:1]
    assert spans.start[list(deletion_only(spans).witness)].tolist() == insertions[:1]
    assert bool(insertion_only(spans)) == (not deletions)
    assert bool(deletion_only(spans)) == (not insertions)


@FUZZ
@given(queues())
def test_queues_are_first_in_first_out(log: list[Change]) -> None:
    assert first_in_first_out(lifespans(*np.array(log, np.int64).reshape(-1, 3).T))


def test_a_stack_is_first_in_last_out_while_it_only_grows_and_then_only_shrinks() -> None:
    assert first_in_last_out(lifespans([0] * 6, [1, 2, 3, 3, 2, 1], [1, 1, 1, -1, -1, -1]))
    found = first_in_last_out(lifespans([0] * 6, [1, 2, 2, 3, 3, 1], [1, 1, -1, 1, -1, -1]))
    assert found == SequenceClass(False, (1, 2))


def test_a_window_is_first_in_first_out_with_rows_in_it() -> None:
    arrivals = [(0, row, 1) for row in range(8)]
    log = arrivals[:3] + [change for row in range(5) for change in (arrivals[row + 3], (0, row, -1))]
    assert first_in_first_out(lifespans(*np.array(log).T))
    assert not first_in_first_out(lifespans(*np.array([*log, (0, 7, -1)]).T))
    assert not first_in_last_out(lifespans(*np.array(log).T))
