"""Windows by range: rows stay while they are less than a range older than the newest time that was ever inserted."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from livejoin.errors import AbsentRowError, ChangeValueError, DuplicateKeyError, SchemaError
from oracle import multiset, signed_multiset
from scenario import ColumnSpec, TableSpec
from strategies import FUZZ, type_named
from windowed import check_changes, check_commits


@st.composite
def ranged_tables(draw: st.DrawFn) -> tuple[TableSpec, ...]:
    """One or two tables of small integers, the first with a window by range over its last column."""
    bigint = type_named("BIGINT")
    columns = (ColumnSpec("a", bigint), ColumnSpec("b", bigint), ColumnSpec("t", bigint))
    specs = [TableSpec("R", columns, window_range=("t", draw(st.integers(1, 4))))]
    if draw(st.booleans()):
        other = draw(st.sampled_from([None, ("b", 1), ("b", 3)]))
        specs.append(TableSpec("S", columns[:2], window_range=other))
    return tuple(specs)


@FUZZ
@given(st.data())
def test_commits_over_ranges(data: st.DataObject) -> None:
    """Insertions, deletions of rows that were there, then the window moves: one atomic net delta."""
    check_commits(data, data.draw(ranged_tables()), max_atoms=3, max_insertions=6)


@FUZZ
@given(st.data())
def test_changes_over_ranges(data: st.DataObject) -> None:
    """A change that moves the window takes the rows out in its own version."""
    check_changes(data, data.draw(ranged_tables()), max_atoms=3)


def test_a_stream_in_nearly_the_order_of_its_times() -> None:
    """20,000 messages, some of them late or deleted, in commits of any size; the rows are always those of the range."""
    rng = random.Random(5)
    db = livejoin.Database()
    db.create_table("M", "who BIGINT, ts TIMESTAMP", window_range=("ts", dt.timedelta(seconds=60)))
    view = db.create_view("all", "SELECT who, ts FROM M")
    start = dt.datetime(2024, 1, 1)
    clock, newest, ignored = start, start, 0
    model: list[tuple[int, dt.datetime]] = []
    for _ in range(120):
        changes = []
        bound = newest - dt.timedelta(seconds=60)
        late = 0
        for _ in range(rng.choice([1, 3, 400])):
            clock += dt.timedelta(milliseconds=rng.randrange(200))
            row = (rng.randrange(50), clock - dt.timedelta(seconds=rng.choice([0, 0, 0, 5, 59, 61, 90])))
            late += bool(model) and row[1] <= bound
            changes.append((*row, "insert"))
            newest = max(newest, row[1])
        model += [(who, ts) for who, ts, _ in changes]
        for _ in range(min(len(model), rng.choice([0, 0, 1, 30]))):
            gone = model.pop(rng.randrange(len(model)))
            changes.append((*gone, "delete"))
        model = [row for row in model if row[1] > newest - dt.timedelta(seconds=60)]
        who, ts, kinds = zip(*changes, strict=True)
        commit = db.apply("M", pa.table({"who": who, "ts": pa.array(ts, pa.timestamp("us")), "_change_type": kinds}))
        ignored += commit.ignored
        assert commit.ignored == late
        assert view.count() == len(model)
    assert multiset(view.to_arrow()) == multiset(model)
    assert ignored > 100
    db._check()


def integers() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("G", "a BIGINT, t INT", window_range=("t", 10))
    db.create_view("sums", "SELECT a, count(*) AS n FROM G GROUP BY a")
    return db


def test_rows_leave_in_the_commit_that_moves_the_window() -> None:
    db = integers()
    db.apply("G", [(1, 0), (1, 5)])
    delta = db.apply("G", [(2, 10)])["sums"].to_pylist()
    assert {(r["a"], r["n"], r["_change_type"]) for r in delta} == {
        (1, 2, "update_preimage"),
        (1, 1, "update_postimage"),
        (2, 1, "insert"),
    }
    assert {r["_commit_version"] for r in delta} == {2}


def test_late_rows_are_counted_and_enter_nothing() -> None:
    db = integers()
    db.apply("G", [(1, 100)])
    commit = db.apply("G", [(1, 90), (2, 91)])
    assert (commit.ignored, commit.changes) == (1, 1)
    assert db.views["sums"].count() == 2


def test_the_newest_time_stays_when_its_row_is_deleted() -> None:
    db = integers()
    db.apply("G", [(1, 100), (2, 95)])
    db.apply("G", [{"a": 1, "t": 100, "_change_type": "delete"}])
    assert db.apply("G", [(3, 90)]).ignored == 1
    assert db.apply("G", [{"a": 4, "t": 200, "_change_type": kind} for kind in ("insert", "delete")]).ignored == 0
    assert db.views["sums"].count() == 0


def test_a_row_that_the_window_took_out_cannot_be_deleted() -> None:
    db = integers()
    db.apply("G", [(1, 0)])
    db.apply("G", [(1, 50)])
    gone = [{"a": 1, "t": 0, "_change_type": "delete"}]
    with pytest.raises(AbsentRowError):
        db.apply("G", gone)
    assert db.apply("G", gone, on_conflict="ignore").ignored == 1
    db._check()


def test_a_refused_commit_does_not_move_the_window() -> None:
    db = integers()
    db.apply("G", [(1, 0), (1, 5), (1, 5)])
    with pytest.raises(AbsentRowError):
        db.apply("G", [{"a": 9, "t": 99, "_change_type": "insert"}, {"a": 8, "t": 1, "_change_type": "delete"}])
    db._check()
    assert db.views["sums"].to_arrow().to_pylist() == [{"a": 1, "n": 3}]
    log = pa.table({"a": [1, 9, 8], "t": [8, 99, 1], "_seq": [1, 2, 3], "_change_type": ["insert", "insert", "delete"]})
    with pytest.raises(AbsentRowError):
        db.replay({"G": log})
    db._check()
    assert db.apply("G", [(1, 1)]).ignored == 0
    assert db.views["sums"].to_arrow().to_pylist() == [{"a": 1, "n": 4}]
    db._check()


@pytest.mark.parametrize("granularity", ["commit", "change"])
def test_a_key_is_free_when_the_range_lets_its_row_go(granularity: str) -> None:
    db = livejoin.Database()
    db.create_table("P", "k BIGINT PRIMARY KEY, t BIGINT", window_range=("t", 10))
    db.create_view("all", "SELECT k, t FROM P")
    db.apply("P", [(1, 10), (2, 15)])
    with pytest.raises(DuplicateKeyError):
        db.apply("P", [(1, 19)])
    commit = db.replay({"P": pa.table({"k": [1], "t": [20], "_seq": [1]})}, granularity=granularity)
    assert signed_multiset(commit["all"]) == {(1, 10): -1, (1, 20): 1}
    log = pa.table({"k": [2, 3], "t": [24, 24], "_seq": [1, 2]})
    assert db.replay({"P": log}, on_conflict="ignore").ignored == 1
    db._check()
    assert multiset(db.views["all"].to_arrow()) == {(1, 20): 1, (2, 15): 1, (3, 24): 1}


@pytest.mark.parametrize("extreme", [-(2**63), 2**63 - 1])
def test_times_at_the_ends_of_64_bits(extreme: int) -> None:
    """A range reaches below the least integer: nothing wraps."""
    db = livejoin.Database()
    db.create_table("G", "t BIGINT", window_range=("t", 2**63 - 1))
    view = db.create_view("all", "SELECT t FROM G")
    db.apply("G", [(extreme,)])
    assert view.count() == 1
    assert db.apply("G", [(-(2**63),)]).ignored == (extreme > 0)
    db.apply("G", [(1,)])
    assert view.count() == (2 if extreme > 0 else 1)
    db._check()


@pytest.mark.parametrize(
    ("declared", "span", "old", "new"),
    [
        ("DATE", dt.timedelta(days=7), dt.date(2024, 1, 1), dt.date(2024, 1, 8)),
        ("TIMESTAMP", dt.timedelta(hours=1), dt.datetime(2024, 1, 1, 0), dt.datetime(2024, 1, 1, 1)),
        ("TINYINT", 7, 1, 8),
    ],
)
def test_every_type_of_time(declared: str, span: object, old: object, new: object) -> None:
    db = livejoin.Database()
    db.create_table("G", f"t {declared}", window_range=("T", span))
    view = db.create_view("all", "SELECT t FROM G")
    db.apply("G", [(old,)])
    db.apply("G", [(new,)])
    assert view.to_arrow()["t"].to_pylist() == [new]


def test_null_has_no_place_in_a_window() -> None:
    db = integers()
    with pytest.raises(ChangeValueError, match=r"NULL in column 't', which is the time that window_range goes by"):
        db.apply("G", [(1, 1), (1, None)])
    assert not db.tables["G"].columns[1].nullable


@pytest.mark.parametrize(
    ("columns", "given_range", "message"),
    [
        ("t BIGINT", ("u", 1), "names the column 'u', which is not there; it has t"),
        ("t BIGINT", ("t", 0), "the range of window_range is 0"),
        ("t BIGINT", ("t", dt.timedelta(1)), r"t BIGINT is datetime.timedelta\(days=1\); allowed is a whole number"),
        ("t DATE", ("t", dt.timedelta(hours=1)), "allowed is a timedelta of whole days"),
        ("t TIMESTAMP", ("t", 5), "allowed is a timedelta"),
        ("t STRING", ("t", 5), "is STRING; allowed are TIMESTAMP, DATE and integers"),
        ("t BIGINT", 5, "allowed is a column and its range"),
    ],
)
def test_windows_that_cannot_stand(columns: str, given_range: object, message: str) -> None:
    db = livejoin.Database()
    with pytest.raises(SchemaError, match=message):
        db.create_table("G", columns, window_range=given_range)
    assert list(db.tables) == []


def test_a_table_has_one_window_and_a_static_one_none() -> None:
    db = livejoin.Database()
    with pytest.raises(SchemaError, match="one window"):
        db.create_table("G", "t BIGINT", window_range=("t", 5), window_rows=3)
    with pytest.raises(SchemaError, match="static and has window_range"):
        db.create_table("G", "t BIGINT", window_range=("t", 5), static=True)
