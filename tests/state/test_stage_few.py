"""A few changes that are staged in one call of a kernel do what the general way does, event by event."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from livejoin.errors import StateError
from livejoin.sql import parse_columns
from livejoin.state.table import _FEW, BaseTable, Conflict, Staged
from livejoin.words import Words
from strategies import FUZZ

CHANGES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([1, 1, -1])), max_size=9)
COMMITS = st.lists(st.tuples(CHANGES, st.booleans(), st.booleans()), max_size=12)


def pair(columns: str) -> tuple[BaseTable, BaseTable]:
    """A table, and the same one that knows no other way than the general one."""
    one, other = (BaseTable(parse_columns("T", columns)) for _ in range(2))
    assert one._few is not None
    other._few = None
    return one, other


def stage(base: BaseTable, changes: list[tuple[int, int, int]], ignore: bool) -> tuple[list[object], str]:
    rows = np.array([change[:2] for change in changes], np.int64).reshape(-1, 2).T
    weights = np.array([change[2] for change in changes], np.int64)
    try:
        staged: Staged = base.stage_commit(np.ascontiguousarray(rows), weights, ignore)
    except Conflict as conflict:
        return [conflict.absent, conflict.change], "conflict"
    lines = [staged.rows.tolist(), staged.weights.tolist(), staged.changes.tolist()]
    return [*lines, staged.ignored if ignore else 0], "staged"


@FUZZ
@given(st.sampled_from(["a BIGINT, b BIGINT", "a BIGINT PRIMARY KEY, b BIGINT"]), COMMITS)
def test_the_same_events_and_the_same_table(
    columns: str, commits: list[tuple[list[tuple[int, int, int]], bool, bool]]
) -> None:
    few, general = pair(columns)
    for changes, ignore, stands in commits:
        done = [stage(base, changes, ignore) for base in (few, general)]
        assert done[0] == done[1]
        for base in (few, general):
            if done[0][1] == "staged":
                base.commit() if stands else base.rollback()
            base._check()
        assert content(few) == content(general)


def content(base: BaseTable) -> list[list[int]]:
    rows, weights = base.live_rows()
    return [rows.tolist(), weights.tolist(), *base.values_of(rows).tolist()]


def wide(begin: int, end: int) -> Words:
    return np.stack([np.arange(begin, end), np.arange(begin, end)])


def test_room_is_made_by_the_general_way() -> None:
    """A table grows, commit by commit, through several doublings of its words and its indexes, and shrinks again."""
    base, _ = pair("a BIGINT PRIMARY KEY, b BIGINT")
    for weight in (1, -1):
        for begin in range(0, 16 * _FEW, _FEW):
            assert base.stage_commit(wide(begin, begin + _FEW), np.full(_FEW, weight), False).rows.shape[0] == _FEW
            base.commit()
            if begin // _FEW % 8 == 7:  # a check looks at all rows
                base._check()
    assert base.rows == 0
    base._check()
    base.trim()
    assert base.nbytes < 64 * _FEW


def test_a_staging_that_is_open_is_refused() -> None:
    base, _ = pair("a BIGINT, b BIGINT")
    base.stage_commit(wide(0, 1), np.ones(1, np.int64), False)
    with pytest.raises(StateError, match="neither committed nor rolled back"):
        base.stage_commit(wide(1, 2), np.ones(1, np.int64), False)
    base.rollback()
    assert base.rows == 0
