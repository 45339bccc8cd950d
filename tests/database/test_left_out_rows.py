"""``on_bad_rows``: a change that cannot be applied is left out with its reason, and the others are applied."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from livejoin.errors import (
    AbsentRowError,
    ChangeFormatError,
    ChangeValueError,
    DuplicateKeyError,
    ExpressionError,
    SchemaError,
)
from strategies import FUZZ, seeds

T = "id BIGINT PRIMARY KEY, price DECIMAL(5, 2), n INT NOT NULL"


def made(**options: Any) -> livejoin.Database:
    db = livejoin.Database(**options)
    db.create_table("t", T)
    db.create_view("v", "SELECT id, 10 DIV n AS tenth FROM t")
    return db


def ids(db: livejoin.Database) -> list[int]:
    return sorted(row["id"] for row in db.views["v"].to_arrow().to_pylist())


ONE = Decimal(1)


def test_one_bad_row_of_each_kind() -> None:
    db = made()
    rows: list[Any] = [
        {"id": 1, "price": ONE, "n": 1, "_change_type": "insert"},
        {"id": 2, "price": "x", "n": 1, "_change_type": "insert"},
        {"id": 3, "price": ONE, "n": None, "_change_type": "insert"},
        {"id": 4, "price": ONE, "n": 1, "_change_type": "merge"},
        {"id": 5, "price": ONE, "n": 0, "_change_type": "insert"},
        {"id": 6, "price": ONE, "_change_type": "insert"},
        {"id": 7, "price": ONE, "n": 2, "_change_type": "upsert"},
        {"id": 8, "price": ONE, "_change_type": "upsert"},
        {"price": ONE, "n": 1, "_change_type": "delete"},
    ]
    with pytest.raises((ChangeFormatError, ChangeValueError, ExpressionError)):
        db.apply("t", rows)
    commit = db.apply("t", iter(rows), on_bad_rows="dead_letter")
    assert (commit.version, commit.changes, commit.bad_rows, ids(db)) == (1, 2, 7, [1, 7])
    letters = {letter.row: letter for letter in commit.dead_letters}
    assert [*letters] == [1, 2, 3, 4, 5, 7, 8]
    for row, reason in {
        1: "'x'",
        2: "NULL in column 'n'",
        3: "'merge'",
        5: "'n'",
        7: "no row has the key",
        8: "'id'",
    }.items():
        assert reason in letters[row].reason and letters[row].change is rows[row] and letters[row].table == "t"
    assert "10 DIV n" in letters[4].reason
    skipped = db.apply("t", [(9, ONE, 1), (10, ONE, "x"), (11, None, 1)], on_bad_rows="skip")
    assert (skipped.bad_rows, skipped.dead_letters, ids(db)) == (1, (), [1, 7, 9, 11])
    assert db.apply("t", [(12, ONE, 1)]).bad_rows == 0
    db._check()


@pytest.mark.parametrize("form", ["arrow", "pandas", "records"])
def test_each_form(form: str) -> None:
    columns = {"id": [1, 2, 3, 4], "price": [1.0, 2.5, 1.005, 3.0], "n": [1, 0, 1, 2]}
    data: Any = pa.table(columns)
    if form == "pandas":
        data = pd.DataFrame(columns)
    elif form == "records":
        data = np.array(list(zip(*columns.values(), strict=True)), [("id", "i8"), ("price", "f8"), ("n", "i4")])
    db = made(coerce="json", on_bad_rows="dead_letter")
    commit = db.apply("t", data)
    assert [letter.row for letter in commit.dead_letters] == [1, 2] and ids(db) == [1, 4]
    assert "1.005" in commit.dead_letters[1].reason
    change = commit.dead_letters[1].change
    assert tuple(change.values() if isinstance(change, dict) else change) == (3, 1.005, 1)


def test_what_is_no_single_change_is_an_error() -> None:
    db = made(on_bad_rows="skip")
    with pytest.raises(ChangeFormatError, match="missing column 'n'"):
        db.apply("t", [{"id": 1, "price": ONE}])
    with pytest.raises(DuplicateKeyError):
        db.apply("t", [(1, ONE, 1), (1, ONE, 2), (2, "x", 1)])
    with pytest.raises(AbsentRowError):
        db.apply("t", [{"id": 1, "_change_type": "delete"}])
    for data in (5, "text", {"id": 1}):
        with pytest.raises(ChangeFormatError, match="of type"):
            db.apply("t", data)
    assert db.version == 0 and ids(db) == []
    for options in ({"on_bad_rows": "ignore"}, {"on_bad_rows": None}):
        with pytest.raises(SchemaError, match="on_bad_rows"):
            livejoin.Database(**options)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="on_bad_rows"):
        db.apply("t", [], on_bad_rows="x")  # type: ignore[arg-type]


def test_a_subscriber_that_raises_is_no_bad_row() -> None:
    db = made()

    def fail(delta: pa.Table) -> None:
        msg = "no"
        raise ExpressionError(msg)

    db.views["v"].subscribe(fail)
    assert db.apply("t", [(1, ONE, 1)], on_bad_rows="skip").bad_rows == 0
    assert isinstance(db.views["v"].last_subscriber_error, ExpressionError)
    assert db.version == 1 and ids(db) == [1]


@FUZZ
@given(data=st.data())
def test_the_others_are_applied(data: st.DataObject) -> None:
    """Several tables, in one process and in a folder: what is left out is what is bad, and nothing else."""
    good = st.sampled_from([(ONE, 1), (None, 2)])
    bad = st.sampled_from([("x", 1), (ONE, None), (ONE, 0), (Decimal("0.001"), 1)])
    db = livejoin.Database()
    for name in ("t", "u"):
        db.create_table(name, T)
    db.create_view("v", "SELECT t.id, 10 DIV t.n AS a, 10 DIV u.n AS b FROM t JOIN u ON t.id = u.id")
    db.create_view("w", "SELECT id, 10 DIV n AS a FROM t")
    db.create_view("x", "SELECT id, 10 DIV n AS a FROM u")
    expected: dict[str, list[int]] = {}
    changes: dict[str, list[Any]] = {}
    for name in ("t", "u"):
        kinds = data.draw(st.lists(st.booleans(), max_size=12))
        changes[name] = [(row, *data.draw(good if is_good else bad)) for row, is_good in enumerate(kinds)]
        expected[name] = [row for row, is_good in enumerate(kinds) if not is_good]
    commit = db.apply(changes, on_bad_rows="dead_letter")
    found = {name: [letter.row for letter in commit.dead_letters if letter.table == name] for name in changes}
    assert found == expected and commit.bad_rows == sum(map(len, expected.values()))
    for name, view in (("t", "w"), ("u", "x")):
        rows = sorted(row["id"] for row in db.views[view].to_arrow().to_pylist())
        assert rows == [row for row, *_ in changes[name] if row not in expected[name]]
    db._check()


def test_many_bad_rows() -> None:
    """All of them, at the cost of a logarithm of pieces each and not of the whole."""
    db = made()
    rows = [(row, ONE if row % 3 else "x", 1) for row in range(3000)]
    assert db.apply("t", rows, on_bad_rows="skip").bad_rows == 1000
    assert len(ids(db)) == 2000


@pytest.mark.parametrize("kind", ["rows", "arrow"])
def test_a_refresh_leaves_bad_rows_out(kind: str) -> None:
    db = livejoin.Database(coerce="json", on_bad_rows="dead_letter")
    db.create_table("t", f"{T}, CHECK (id <> 9)", static=True)
    db.create_view("v", "SELECT id, 10 DIV n AS tenth FROM t")
    db.refresh("t", [(1, ONE, 1), (2, ONE, 2), (3, ONE, 3)])
    rows: list[Any] = [{"id": i, "price": "1", "n": n} for i, n in ((5, "0"), (1, "1"), (4, "x"), (9, "1"), (2, "5"))]
    rows += [
        {"id": 6, "price": "1", "n": "0"},
        {"id": 7, "price": "1000", "n": "1"},
        {"id": 8, "price": None, "n": "1"},
    ]
    data = pa.Table.from_pylist(rows) if kind == "arrow" else rows
    with pytest.raises((ChangeValueError, ExpressionError)):
        db.refresh("t", data, on_bad_rows="fail")
    assert ids(db) == [1, 2, 3]
    commit = db.refresh("t", data)
    assert (ids(db), commit.bad_rows, commit.version) == ([1, 2, 8], 5, 2)
    assert [(letter.table, letter.row, letter.change["id"]) for letter in commit.dead_letters] == [
        ("t", 0, 5),
        ("t", 2, 4),
        ("t", 3, 9),
        ("t", 5, 6),
        ("t", 6, 7),
    ]
    assert "breaks CHECK" in commit.dead_letters[2].reason
    assert {(row["id"], row["tenth"]) for row in db.views["v"].to_arrow().to_pylist()} == {(1, 10), (2, 2), (8, 10)}
    assert db.refresh("t", [(1, ONE, 0)], on_bad_rows="skip").dead_letters == ()
    assert ids(db) == []
    with pytest.raises(DuplicateKeyError, match="one row of each key"):
        db.refresh("t", [(1, ONE, 1), (1, ONE, 2)])
    with pytest.raises(ChangeFormatError, match="says that some go"):
        db.refresh("t", [{"id": 1, "price": ONE, "n": 1, "_change_type": "delete"}])


@pytest.mark.parametrize("granularity", ["change", "commit"])
@pytest.mark.parametrize("max_rows", [None, 1, 3, 100])
@pytest.mark.parametrize("seed", seeds(1, 2))
def test_a_log_is_replayed_without_its_bad_changes(granularity: Any, max_rows: int | None, seed: int) -> None:
    """What stands is what its good changes leave, one by one in the order of `_seq`; each bad one is told of once."""
    random = Random(seed)
    db = made(coerce="json", on_bad_rows="dead_letter")
    db.create_table("u", "id BIGINT, n INT")
    db.create_view("w", "SELECT id, 10 DIV n AS tenth FROM u WHERE id > 0")
    logs: dict[str, list[dict[str, Any]]] = {"t": [], "u": []}
    left: dict[str, list[int]] = {"t": [], "u": []}
    bad: dict[str, set[int]] = {"t": set(), "u": set()}
    for number in random.sample(range(100), 40):
        name = random.choice("tu")
        change = {"id": number, "n": random.choice([0, 1, 2, "x"]), "_seq": number, "_change_type": "insert"}
        logs[name].append({**change, "price": ONE} if name == "t" else change)
        wrong = change["n"] == "x" or (change["n"] == 0 and (name == "t" or number > 0))
        if wrong:
            bad[name].add(len(logs[name]) - 1)
        else:
            left[name].append(number)
    if max_rows is None:
        found = [db.replay(logs, granularity=granularity)]
    else:
        found = list(db.replay(logs, granularity=granularity, max_rows=max_rows))
    letters = [letter for commit in found for letter in commit.dead_letters]
    assert len(letters) == len({(letter.table, letter.row) for letter in letters})
    assert sum(commit.bad_rows for commit in found) == len(letters)
    for name in ("t", "u"):
        assert {letter.row for letter in letters if letter.table == name} == bad[name]
        view = db.views["v" if name == "t" else "w"]
        assert sorted(row[0] for row in view) == sorted(one for one in left[name] if name == "t" or one > 0)
    assert all(letter.change is logs[letter.table][letter.row] for letter in letters)
    assert sum(commit.changes for commit in found) == len(left["t"]) + len(left["u"])
    db._check()


def test_a_replay_that_is_whole_is_refused_whole() -> None:
    db = made(on_bad_rows="skip")
    log = [{"id": 1, "price": ONE, "n": 0, "_seq": 1}, {"id": 2, "price": ONE, "n": 1, "_seq": 2}]
    with pytest.raises(ExpressionError):
        db.replay({"t": log}, on_bad_rows="fail")
    assert db.version == 0
    repaired = [{**change, "_change_type": "insert"} for change in log]
    repaired += [{"id": 1, "price": ONE, "n": 0, "_seq": 3, "_change_type": "delete"}]
    with pytest.raises(AbsentRowError):  # its insertion was left out; conflicts are what on_conflict says
        db.replay({"t": repaired})
    commit = db.replay({"t": repaired}, on_conflict="ignore")
    assert (commit.bad_rows, commit.ignored, commit.dead_letters, ids(db)) == (1, 1, (), [2])
    with pytest.raises(SchemaError, match="on_bad_rows"):
        db.replay({"t": log}, on_bad_rows="x")  # type: ignore[call-overload]


@pytest.mark.parametrize("encoded", ["plain", "large", "view", "dictionary", "runs"])
@pytest.mark.parametrize("at", ["s", "_change_type"])
def test_bad_rows_beside_strings_however_arrow_lays_them(encoded: str, at: str) -> None:
    """Arrow takes no values of views of strings, nor of run-end encoded columns."""
    db = livejoin.Database()
    db.execute("CREATE TABLE y (n TINYINT, s STRING)")
    texts = pa.array(["insert"] * 3)
    kinds = {"large": pa.large_string(), "view": pa.string_view(), "dictionary": pa.dictionary(pa.int8(), pa.string())}
    column = pa.compute.run_end_encode(texts) if encoded == "runs" else texts.cast(kinds.get(encoded, pa.string()))
    given = pa.table(
        {"n": [1, 300, 2], "s": ["a", "b", "c"], at: column} if at != "s" else {"n": [1, 300, 2], "s": column}
    )
    commit = db.apply("y", given, on_bad_rows="dead_letter")
    assert (commit.changes, [letter.row for letter in commit.dead_letters]) == (2, [1])
    assert sorted(row["n"] for row in db.tables["y"].to_pylist()) == [1, 2]


@pytest.mark.parametrize("place", [0, 5, 7])
@pytest.mark.parametrize(("kind", "value", "bad"), [("insert", 1, 0), ("insert", "x", 1), ("remove", 1, 1)])
def test_rows_that_do_not_say_what_they_are_are_inserted(kind: str, value: object, bad: int, place: int) -> None:
    """They were bad where another row said it, unless that one was bad itself: then they were inserted."""
    db = livejoin.Database(coerce="json")
    db.execute("CREATE TABLE o (id BIGINT PRIMARY KEY, c INT)")
    view = db.create_view("v", "SELECT id, c FROM o")
    rows: list[dict[str, object]] = [{"id": number, "c": 1} for number in range(8)]
    rows[place] |= {"_change_type": kind, "c": value}
    seen = db.preview("o", rows, on_bad_rows="dead_letter")
    done = db.apply("o", rows, on_bad_rows="dead_letter")
    assert [letter.row for letter in done.dead_letters] == [place][:bad]
    assert (seen.bad_rows, done.bad_rows, view.count()) == (bad, bad, 8 - bad)
