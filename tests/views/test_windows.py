"""Windows of rows: the newest `window_rows` rows of a table stay; explicit deletions take the oldest equal row."""

from __future__ import annotations

from collections import deque

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from harness import add
from livejoin.errors import SchemaError
from oracle import assert_same_rows, multiset, signed_multiset
from scenario import ColumnSpec, TableSpec
from strategies import FUZZ, type_named
from windowed import check_changes, check_commits

Edge = tuple[int, int]


@st.composite
def windowed_tables(draw: st.DrawFn) -> tuple[TableSpec, ...]:
    """One or two tables of small integers, at least the first one with a window."""
    bigint = type_named("BIGINT")
    columns = (ColumnSpec("a", bigint), ColumnSpec("b", bigint))
    specs = [TableSpec("R", columns, window_rows=draw(st.integers(1, 5)))]
    if draw(st.booleans()):
        specs.append(TableSpec("S", columns[:1], window_rows=draw(st.none() | st.integers(1, 3))))
    return tuple(specs)


@FUZZ
@given(st.data())
def test_commits_over_windows(data: st.DataObject) -> None:
    """Deletions of rows that were there, then insertions, then the window shrinks: one atomic net delta."""
    check_commits(data, data.draw(windowed_tables()), max_atoms=4, max_insertions=7)


@FUZZ
@given(st.data())
def test_changes_over_windows(data: st.DataObject) -> None:
    """An insertion that overflows a window evicts the oldest row in the same version."""
    check_changes(data, data.draw(windowed_tables()), max_atoms=4)


@FUZZ
@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.sampled_from("iiid"), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=60),
    st.booleans(),
)
def test_a_window_is_a_deque(window: int, steps: list[tuple[str, int, int]], by_change: bool) -> None:
    """The window against `collections.deque`; long runs, so that the ring of rows wraps many times."""
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=window)
    view = db.create_view("all", "SELECT src, dst FROM G")
    model: deque[Edge] = deque()
    log = []
    total = multiset([])
    for kind, src, dst in steps:
        if kind == "d" and (src, dst) in model:
            model.remove((src, dst))
            log.append((src, dst, "delete"))
        else:
            model.append((src, dst))
            if len(model) > window:
                model.popleft()
            log.append((src, dst, "insert"))
        if not by_change:
            one = [{"src": src, "dst": dst, "_change_type": log[-1][2]}]
            total = add(total, signed_multiset(db.apply("G", one)["all"]))
            assert_same_rows(view.to_arrow(), multiset(model), f"after {log}")
    if by_change:
        src_column, dst_column, kinds = zip(*log, strict=True)
        changes = pa.table(
            {"src": src_column, "dst": dst_column, "_change_type": kinds, "_seq": pa.array(range(len(log)), pa.int64())}
        )
        total = add(total, signed_multiset(db.replay({"G": changes}, granularity="change")["all"]))
    assert_same_rows(view.to_arrow(), multiset(model), f"after {log}")
    assert_same_rows(total, multiset(model), f"deltas of {log}")
    assert view.count() == len(model)
    db._check()


def test_one_commit_larger_than_the_window_keeps_the_newest() -> None:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=3)
    view = db.create_view("all", "SELECT src, dst FROM G")
    commit = db.apply("G", [(i, i) for i in range(10)])
    assert signed_multiset(commit["all"]) == {(7, 7): 1, (8, 8): 1, (9, 9): 1}
    commit = db.apply("G", [(i, i) for i in (9, 8, 7)])
    assert commit["all"].num_rows == 0
    commit = db.apply("G", [(0, 0)])
    assert signed_multiset(commit["all"]) == {(0, 0): 1, (9, 9): -1}
    assert view.count() == 3


def test_replay_as_one_commit_orders_a_window_by_sequence() -> None:
    """At granularity "commit" the log is one commit, and rows enter the window in order of `_seq`."""
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT", window_rows=2)
    db.create_view("all", "SELECT src, dst FROM G")
    log = pa.table({"src": [1, 2, 3], "dst": [1, 2, 3], "_seq": pa.array([30, 10, 20], pa.int64())})
    commit = db.replay({"G": log}, granularity="commit")
    assert commit.version == 1
    assert signed_multiset(commit["all"]) == {(1, 1): 1, (3, 3): 1}


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_needs_a_positive_number_of_rows(window: int) -> None:
    db = livejoin.Database()
    with pytest.raises(SchemaError, match="window_rows"):
        db.create_table("G", "src BIGINT, dst BIGINT", window_rows=window)
    assert list(db.tables) == []


@pytest.mark.parametrize("granularity", ["commit", "change"])
def test_a_key_is_free_when_the_window_lets_its_row_go(granularity: str) -> None:
    """The row that a new one pushes out takes its key along, in the same version."""
    db = livejoin.Database()
    db.create_table("P", "k BIGINT PRIMARY KEY, v BIGINT", window_rows=2)
    db.create_view("all", "SELECT k, v FROM P")
    db.apply("P", [(1, 10), (2, 20)])
    log = pa.table({"k": [1], "v": [11], "_seq": pa.array([1], pa.int64())})
    commit = db.replay({"P": log}, granularity=granularity)
    assert signed_multiset(commit["all"]) == {(1, 10): -1, (1, 11): 1}
    db._check()


def test_a_change_over_a_window_is_net() -> None:
    """A replay in which duplicates come and go: no version both inserts and deletes a row."""
    db = livejoin.Database()
    db.create_table("G", "a BIGINT", window_rows=3)
    db.create_view("pairs", "SELECT A.a AS x, B.a AS y FROM G A, G B")
    db.apply("G", [(1,), (2,)])
    log = pa.table({"a": [1, 2, 2], "_change_type": ["insert", "insert", "delete"], "_seq": range(3)})
    delta = db.replay({"G": log}, granularity="change")["pairs"]
    for version in (2, 3, 4):
        rows = [r for r in delta.to_pylist() if r["_commit_version"] == version]
        inserted = {(r["x"], r["y"]) for r in rows if r["_change_type"] == "insert"}
        deleted = {(r["x"], r["y"]) for r in rows if r["_change_type"] == "delete"}
        assert not inserted & deleted
