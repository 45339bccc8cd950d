"""Tables with a PRIMARY KEY take `upsert`, and `delete` with the key alone: against a dictionary and DuckDB."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import livejoin
from by_key import FORMS, KeyedHarness, OnConflict, draw_changes
from livejoin import errors
from random_queries import queries
from random_relational import relational_queries
from scenario import TableSpec
from strategies import EXAMPLES, FUZZ, tables

FEWER = settings(FUZZ, max_examples=max(2, EXAMPLES // 2))


def keyed(draw: st.DrawFn) -> tuple[TableSpec, ...]:
    """One or two tables, all with a key of one or two columns."""
    specs = draw(tables(keys=False, max_tables=2, max_columns=3))
    return tuple(
        replace(spec, primary_key=tuple(sorted(draw(st.sets(st.integers(0, len(spec.columns) - 1), min_size=1)))))
        for spec in specs
    )


def harness_of(draw: st.DrawFn) -> KeyedHarness:
    specs = keyed(draw)
    harness = KeyedHarness(specs)
    harness.create_view("joined", draw(queries(specs, max_atoms=3)))
    harness.create_view("other", draw(st.one_of(relational_queries(specs), queries(specs, max_atoms=2))))
    note(f"{specs}: {[watched.query.sql for watched in harness.watched.values()]}")
    return harness


@FEWER
@given(data=st.data())
def test_commits_by_key(data: st.DataObject) -> None:
    """Keys come again in a commit, and only what the last change says of each is left, whatever form they come in."""
    harness = harness_of(data.draw)
    for _ in range(data.draw(st.integers(1, 4))):
        on_conflict: OnConflict = data.draw(st.sampled_from(["error", "ignore", "update"]))
        changes = draw_changes(data.draw, harness, 9, on_conflict)
        form = data.draw(st.sampled_from(FORMS))
        note(f"{form}, {on_conflict}: {changes}")
        harness.commit(changes, form, on_conflict)
        if data.draw(st.integers(0, 5)) == 5:
            harness.reload()


@FEWER
@given(data=st.data())
def test_changes_by_key_one_by_one(data: st.DataObject) -> None:
    """A replay gives the delta of each change: the net of the row that was there and the one that is."""
    harness = harness_of(data.draw)
    for _ in range(data.draw(st.integers(1, 2))):
        on_conflict: OnConflict = data.draw(st.sampled_from(["error", "ignore", "update"]))
        changes = draw_changes(data.draw, harness, 8, on_conflict)
        note(f"{on_conflict}: {changes}")
        harness.each(changes, on_conflict)


def people(**options: Any) -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("P", "id BIGINT PRIMARY KEY, name STRING NOT NULL, born DATE", **options)
    db.create_view("v", "SELECT * FROM P")
    db.apply("P", [(1, "Ada", None), (2, "Bob", dt.date(2000, 1, 1))])
    return db


def upsert(id: int | None, name: str | None, born: dt.date | None = None) -> dict[str, Any]:
    return {"id": id, "name": name, "born": born, "_change_type": "upsert"}


def names(db: livejoin.Database) -> dict[int, str]:
    shown = db.views["v"].to_arrow().to_pydict()
    return dict(zip(shown["id"], shown["name"], strict=True))


GONE = {"id": 2, "_change_type": "delete"}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ([GONE, upsert(1, None)], errors.ChangeValueError, "row 1 .*NULL in column 'name', which is NOT NULL"),
        ([GONE, upsert(None, "x")], errors.ChangeValueError, "row 1 .*NULL in column 'id'.*primary key"),
        ([upsert(1, 7)], errors.ChangeValueError, "value 7 .*'name'"),  # type: ignore[arg-type]
        ([{"_change_type": "delete", "name": "x"}], errors.ChangeFormatError, "missing column 'id'"),
        ([GONE, {"id": 9, "_change_type": "delete"}], errors.AbsentRowError, r"row 1 .*primary key \(id = 9\)"),
        ([GONE, GONE], errors.AbsentRowError, r"row 1 .*primary key \(id = 2\)"),
        ([{"id": 3, "_change_type": "upsert"}], errors.ChangeValueError, "row 0 .*leaves out 'name', .*no row has the"),
        (
            [upsert(1, "x"), {"id": 3, "_change_type": "insert"}],
            errors.ChangeFormatError,
            "row 1 .*missing columns 'name', 'born'",
        ),
        ([{**GONE, "height": 3}], errors.ChangeFormatError, "unknown column 'height'"),
        ([upsert(3, "x"), {**upsert(3, "y"), "_change_type": "insert"}], errors.DuplicateKeyError, "row 1 .*id = 3"),
        ([upsert(3, "x"), {**upsert(4, "y"), "_change_type": "merge"}], errors.ChangeFormatError, "'merge'.*upsert"),
    ],
)
def test_what_cannot_be_leaves_everything_as_it_was(changes: list[Any], error: type, message: str) -> None:
    db = people()
    before = names(db)
    with pytest.raises(error, match=message):
        db.apply("P", changes)
    assert (names(db), db.version) == (before, 1)
    db._check()
    db.apply("P", [upsert(1, "Eve"), GONE])
    assert names(db) == {1: "Eve"}


def test_a_table_without_a_key_takes_whole_rows() -> None:
    db = people()
    db.create_table("G", "a BIGINT, b BIGINT")
    with pytest.raises(errors.ChangeFormatError, match="no PRIMARY KEY to upsert by; allowed are insert, delete,"):
        db.apply("G", [{"a": 1, "b": 2, "_change_type": "upsert"}])
    with pytest.raises(errors.ChangeFormatError, match="'update', and no row of 'G' has a key"):
        db.apply("G", [(1, 2)], on_conflict="update")
    with pytest.raises(errors.ChangeFormatError, match="missing column 'b'"):
        db.apply("G", [{"a": 1, "_change_type": "delete"}])
    commit = db.apply({"G": [(1, 2), (1, 2)], "P": [(1, "Eve", None)]}, on_conflict="update")
    assert (commit.changes, names(db)[1]) == (3, "Eve")


def test_deletions_of_whole_rows_stay_what_they_are() -> None:
    """Without a change by key a commit is a set, and a deletion names the whole row."""
    db = people()
    with pytest.raises(errors.AbsentRowError, match="name = 'Eve'"):
        db.apply("P", [{"id": 1, "name": "Eve", "born": None, "_change_type": "delete"}])
    row = {"id": 1, "name": "Ada", "born": None}
    db.apply("P", [{**row, "name": "Eve", "_change_type": "insert"}, {**row, "_change_type": "delete"}])
    assert names(db) == {1: "Eve", 2: "Bob"}


def test_an_upsert_of_what_is_there_changes_nothing() -> None:
    db = people()
    commit = db.apply("P", [upsert(1, "Ada"), upsert(2, "Eve"), upsert(2, "Bob", dt.date(2000, 1, 1))])
    assert (commit["v"].num_rows, commit.changes, commit.ignored) == (0, 3, 0)


def test_conflicts_by_key() -> None:
    """What each way of treating conflicts does with an insertion of a key that is there, and one that is not."""
    with pytest.raises(errors.DuplicateKeyError, match="'update' to replace it"):
        people().apply("P", [(1, "Eve", None)])
    for on_conflict, left in (("ignore", {1: "Ada", 2: "Bob"}), ("update", {1: "Eve", 2: "Bob"})):
        db = people()
        absent = {"id": 9, "name": "x", "born": None, "_change_type": "delete"}
        commit = db.apply("P", [{**upsert(1, "Eve"), "_change_type": "insert"}, absent], on_conflict=on_conflict)
        assert (names(db), commit.ignored) == (left, 2 if on_conflict == "ignore" else 1)
    for wrong in ("replace", None, ["update"]):
        with pytest.raises(errors.ChangeFormatError, match="allowed are 'error', 'ignore' and 'update'"):
            people().apply("P", [(1, "Eve", None)], on_conflict=wrong)  # type: ignore[arg-type]


def test_update_pairs_beside_upserts() -> None:
    """A preimage takes the row with its key, whatever else it says, and its postimage brings another one."""
    db = people()
    pair = [
        {**upsert(2, "stale"), "_change_type": "update_preimage"},
        {**upsert(7, "Bob"), "_change_type": "update_postimage"},
    ]
    db.apply("P", [upsert(1, "Eve"), *pair])
    assert names(db) == {1: "Eve", 7: "Bob"}


def test_keys_alone_in_arrow() -> None:
    db = people()
    data = pa.table({"ID": pa.array([2], pa.int8()), "_change_type": ["delete"]})
    assert db.apply("P", data)["v"].to_pydict()["name"] == ["Bob"]
    assert names(db) == {1: "Ada"}


def test_expressions_see_only_rows_that_come() -> None:
    """A predicate that fails on NULL does not see a deletion by key, nor a row that another one replaced."""
    db = livejoin.Database()
    db.create_table("T", "id BIGINT PRIMARY KEY, text STRING NOT NULL")
    db.create_view("v", "SELECT id FROM T WHERE CAST(text AS INT) > 0")
    db.apply("T", [(1, "5"), (2, "7")])
    changes = [
        {"id": 1, "text": "none", "_change_type": "upsert"},
        {"id": 1, "text": "6", "_change_type": "upsert"},
        {"id": 2, "text": "nonsense", "_change_type": "delete"},
    ]
    db.apply("T", changes)
    assert db.views["v"].to_arrow().to_pydict() == {"id": [1]}
    with pytest.raises(errors.ExpressionError):
        db.apply("T", changes[:1])
    db._check()
    assert db.views["v"].to_arrow().to_pydict() == {"id": [1]}


def test_an_upsert_comes_anew_into_a_window() -> None:
    """It is the newest row; one that changes nothing leaves the row where it is."""
    db = people(window_rows=2)
    db.apply("P", [upsert(1, "Ada"), upsert(3, "Cy")])
    assert names(db) == {2: "Bob", 3: "Cy"}
    db.apply("P", [upsert(2, "Rob"), upsert(4, "Dan")])
    assert names(db) == {2: "Rob", 4: "Dan"}


def test_an_upsert_that_is_too_late_for_a_window_is_ignored() -> None:
    day = dt.date(2000, 1, 1)
    db = livejoin.Database()
    db.create_table("P", "id BIGINT PRIMARY KEY, name STRING, born DATE", window_range=("born", dt.timedelta(days=10)))
    db.create_view("v", "SELECT * FROM P")
    db.apply("P", [(1, "Ada", day), (2, "Bob", day + dt.timedelta(days=5))])
    commit = db.apply("P", [upsert(1, "old", day - dt.timedelta(days=20))])
    assert (commit.ignored, names(db)) == (1, {1: "Ada", 2: "Bob"})
    commit = db.apply("P", [upsert(1, "new", day + dt.timedelta(days=14)), {"id": 1, "_change_type": "delete"}])
    assert names(db) == {2: "Bob"}
    db._check()


def test_a_replay_in_pieces_goes_by_key() -> None:
    db = people()
    log = [{**upsert(1 + i % 3, f"n{i}"), "_seq": 100 - i} for i in range(20)]
    pieces = list(db.replay({"P": log}, granularity="commit", max_rows=3))
    assert sum(piece.changes for piece in pieces) == 20
    assert names(db) == {1: "n0", 2: "n1", 3: "n2"}


def test_logs_that_are_explained_have_whole_rows() -> None:
    with pytest.raises(errors.ChangeFormatError, match="no change goes by key here"):
        people().explain("SELECT id FROM P", log={"P": [upsert(1, "x")]})


def test_two_new_rows_with_one_key_are_not_said_to_be_in_the_table() -> None:
    database = livejoin.Database()
    database.execute("CREATE TABLE K (id INT, s STRING, a INT, PRIMARY KEY (s, id))")
    twice = (
        r"row 3 .* bring 2 rows with the primary key \(s = 'a', id = 50\), this one and row 1; bring one row of each"
    )
    with pytest.raises(errors.DuplicateKeyError, match=twice) as caught:
        database.apply("K", [(50, "b", 1), (50, "a", 1), (7, "a", 1), (50, "a", 2)])
    assert "delete" not in str(caught.value)
    database.apply("K", [(50, "a", 1)])
    with pytest.raises(errors.DuplicateKeyError, match=r"row 1 .*and delete the one that the table has"):
        database.apply("K", [(50, "b", 1), (50, "a", 2)])
    for on_conflict, kept in (("ignore", 1), ("update", 2)):
        view = database.create_view(on_conflict, "SELECT a FROM K WHERE id = 60")
        database.apply("K", [(60, on_conflict, 1), (60, on_conflict, 2)], on_conflict=on_conflict)
        assert (kept,) in [view.at(i) for i in range(view.count())]
