"""A replay in pieces: what stands of a log is a prefix of it, and the pieces add up to the whole replay."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import (
    AbsentRowError,
    ChangeError,
    ChangeFormatError,
    ChangeValueError,
    ExpressionError,
    SchemaError,
)
from oracle import multiset
from torture.interrupts import NEVER, cut_off, places

VIEWS = {
    "hop2": "SELECT A.src AS a, B.src AS b, P.name AS n FROM G A JOIN G B ON A.dst = B.src JOIN P ON B.dst = P.id",
    "totals": "SELECT src, COUNT(*) AS n FROM G GROUP BY src",
}
Logs = dict[str, list[dict[str, Any]]]


def database(**window: Any) -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT", **window)
    db.create_table("P", "id BIGINT, name STRING")
    for name, sql in VIEWS.items():
        db.create_view(name, sql)
    return db


def logs(seed: int, size: int = 60) -> Logs:
    """Random changes of both tables, given in no order, with gaps in ``_seq``."""
    draw = random.Random(seed)
    found: Logs = {"G": [], "P": []}
    there: Logs = {"G": [], "P": []}
    for number in range(size):
        name = draw.choice(["G", "G", "P"])
        if there[name] and draw.random() < 0.3:
            row = there[name].pop(draw.randrange(len(there[name])))
            change = {**row, "_change_type": "delete"}
        else:
            pick = draw.randrange(5)
            row = {"src": pick, "dst": draw.randrange(5)} if name == "G" else {"id": pick, "name": f"name {pick}"}
            there[name].append(row)
            change = {**row, "_change_type": "insert"}
        found[name].append({**change, "_seq": 7 * number - 50})
    for changes in found.values():
        draw.shuffle(changes)
    return found


def by_version(delta: pa.Table) -> dict[int, Counter[Any]]:
    """The rows of a delta, their kinds too, as a multiset for each version."""
    found: dict[int, Counter[Any]] = {}
    for row in delta.to_pylist():
        found.setdefault(row["_commit_version"], Counter())[tuple(row.values())] += 1
    return found


@pytest.mark.parametrize("max_rows", [1, 7, 60, 1000])
@pytest.mark.parametrize("window", [{}, {"window_rows": 9}])
def test_pieces_have_the_deltas_of_the_whole_replay(max_rows: int, window: dict[str, int]) -> None:
    log, whole, cut = logs(max_rows), database(**window), database(**window)
    conflicts: Any = {"on_conflict": "ignore"} if window else {}
    expected = whole.replay(log, **conflicts)
    commits = list(cut.replay(log, max_rows=max_rows, **conflicts))
    assert len(commits) == -(-60 // max_rows)
    assert commits[-1].version == expected.version == 60
    assert sum(commit.changes for commit in commits) == expected.changes
    assert sum(commit.ignored for commit in commits) == expected.ignored
    assert commits[-1].sequence == expected.sequence == 59 * 7 - 50
    for name in VIEWS:
        assert by_version(pa.concat_tables([commit[name] for commit in commits])) == by_version(expected[name])
        assert multiset(cut.views[name].to_arrow()) == multiset(whole.views[name].to_arrow())
    cut._check()


def test_pieces_are_sets_with_the_granularity_commit() -> None:
    log, one, other = logs(3), database(window_rows=5), database(window_rows=5)
    ordered = sorted(((change["_seq"], name, change) for name, changes in log.items() for change in changes))
    for number, commit in enumerate(one.replay(log, max_rows=20, granularity="commit", on_conflict="ignore"), 1):
        assert commit.version == number
        piece: Logs = {"G": [], "P": []}
        for sequence, name, change in ordered[20 * number - 20 : 20 * number]:
            piece[name].append(change)
            assert sequence <= (commit.sequence or 0)
        expected = other.apply(piece, on_conflict="ignore")
        for name in VIEWS:
            assert by_version(commit[name]) == by_version(expected[name])
    assert one.version == other.version == 3


def test_who_stops_keeps_the_pieces_before() -> None:
    log, db = logs(4), database()
    pieces = db.replay(log, max_rows=25)
    assert (db.version, pieces.sequence, pieces.changes) == (0, None, 0), "nothing is applied before the first step"
    commit = next(pieces)
    assert commit.sequence == pieces.sequence == 24 * 7 - 50
    assert db.version == pieces.changes == 25
    del pieces
    rest = {name: [c for c in changes if c["_seq"] > (commit.sequence or 0)] for name, changes in log.items()}
    db.replay(rest)
    whole = database()
    whole.replay(log)
    for name in VIEWS:
        assert multiset(db.views[name].to_arrow()) == multiset(whole.views[name].to_arrow())


def test_a_piece_that_fails_leaves_those_before_and_says_where_it_stopped() -> None:
    db = database()
    log = [{"src": i, "dst": i, "_change_type": "insert", "_seq": i} for i in range(10)]
    log[7] = {"src": 99, "dst": 99, "_change_type": "delete", "_seq": 7}
    pieces = db.replay({"G": list(reversed(log))}, max_rows=3)
    with pytest.raises(AbsentRowError, match="its changes up to _seq 5 stand, 6, at version 6") as caught:
        for commit in pieces:
            assert commit.sequence in (2, 5)
    assert (caught.value.table, caught.value.row) == ("G", 2), "where it stands in what was given"
    assert (db.version, pieces.sequence) == (6, 5)
    assert multiset(db.views["totals"].to_arrow()) == Counter({(i, 1): 1 for i in range(6)})
    db.apply("G", [(99, 99)])
    assert [commit.version for commit in pieces] == [10, 11], "the step is tried again, and goes on"
    db._check()


def test_a_first_piece_that_fails_and_a_view_that_fails() -> None:
    db = database()
    db.create_view("number", "SELECT CAST(name AS BIGINT) AS n FROM P")
    pieces = db.replay({"P": [{"id": 1, "name": "x", "_seq": 1}]}, max_rows=1)
    with pytest.raises(ExpressionError, match="replay of 1 changes stopped: nothing of it stands, at version 0"):
        next(pieces)
    db.drop_view("number")
    assert [commit.version for commit in pieces] == [1]
    assert list(pieces) == []


def test_other_calls_come_in_between() -> None:
    db = database()
    pieces = db.replay({"G": [{"src": i, "dst": 1, "_seq": i} for i in range(4)]}, max_rows=2)
    assert next(pieces).version == 2
    assert db.apply("P", [(1, "one")]).version == 3
    db.create_view("later", "SELECT src FROM G")
    assert by_version(next(pieces)["later"]) == {4: Counter([(2, "insert", 4)]), 5: Counter([(3, "insert", 5)])}
    heard: list[int] = []
    db.views["later"].subscribe(lambda delta: heard.extend(delta["_commit_version"].to_pylist()))
    for _ in db.replay({"G": [{"src": 9, "dst": 9, "_seq": i} for i in range(3)]}, max_rows=1):
        assert len(heard) == db.version - 5
    assert heard == [6, 7, 8]


def test_tables_that_changed_in_between_are_refused() -> None:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_table("S", "a BIGINT", static=True)
    change = [{"src": 1, "dst": 1, "_seq": 1}]
    for again in ("src BIGINT, dst INT", None):
        pieces = db.replay({"G": change}, max_rows=1)
        db.drop_table("G")
        if again:
            db.create_table("G", again)
        with pytest.raises(SchemaError, match="nothing of it stands"):
            next(pieces)
    pieces = db.replay({"S": [{"a": 1, "_seq": 1}]}, max_rows=1)
    db.create_view("v", "SELECT a FROM S")
    with pytest.raises(ChangeError, match="static"):
        next(pieces)


def test_all_values_are_checked_before_the_first_piece() -> None:
    db = database()
    log: Any = [{"src": 1, "dst": 1, "_seq": 1}, {"src": 2, "dst": "two", "_seq": 2}]
    with pytest.raises(ChangeValueError):
        db.replay({"G": log}, max_rows=1)
    with pytest.raises(ChangeFormatError, match="twice"):
        db.replay({"G": log[:1] * 2}, max_rows=1)
    for wrong in (0, -1, True, 1.5, "2"):
        with pytest.raises(ChangeFormatError, match="max_rows"):
            db.replay({"G": log[:1]}, max_rows=wrong)  # type: ignore[call-overload]
    with pytest.raises(ChangeFormatError, match="on_conflict"):
        db.replay({"G": log[:1]}, max_rows=1, on_conflict="skip")  # type: ignore[call-overload]
    assert db.version == 0
    assert list(db.replay({}, max_rows=1)) == list(db.replay({"G": []}, max_rows=1)) == []


def test_a_subscriber_that_fails_does_not_take_a_piece_back() -> None:
    db = database()
    pieces = db.replay({"G": [{"src": i, "dst": 1, "_seq": i} for i in range(4)]}, max_rows=2)

    def fails(delta: pa.Table) -> None:
        msg = "no"
        raise SchemaError(msg)

    db.views["totals"].subscribe(fails)
    assert next(pieces).sequence == 1
    assert isinstance(db.views["totals"].last_subscriber_error, SchemaError)
    assert (db.version, pieces.sequence) == (2, 1)
    assert [commit.sequence for commit in pieces] == [3]


def test_a_step_that_is_cut_off_stands_or_does_not_and_the_replay_tells() -> None:
    log = {"G": [{"src": i % 3, "dst": i % 2, "_seq": i} for i in range(6)]}
    total = cut_off(database().replay(log, max_rows=3).__next__, KeyboardInterrupt, NEVER).points
    outcomes = set()
    db = database()
    for name in VIEWS:
        db.views[name].to_arrow()
    for at in places(total, 60, 1):
        before = db.version
        pieces = db.replay(log, max_rows=3)
        cut_off(pieces.__next__, KeyboardInterrupt, at)
        stands = pieces.sequence == 2
        outcomes.add(stands)
        assert (pieces.changes, db.version - before) == ((3, 3) if stands else (0, 0))
        assert pieces.sequence in (2, None)
        assert [commit.sequence for commit in pieces] == ([5] if stands else [2, 5])
        assert db.version == before + 6
    assert outcomes == {True, False}
    db._check()
    assert multiset(db.views["totals"].to_arrow()) == Counter({(i, db.version // 3): 1 for i in range(3)})
