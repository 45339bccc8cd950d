"""Upserts that leave columns out keep what the row with their key has in them: against a dictionary of rows."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import livejoin
from livejoin.errors import ChangeError, ChangeFormatError, ChangeValueError, DuplicateKeyError
from strategies import FUZZ

COLUMNS = {
    "id": "BIGINT",
    "place": "STRING",
    "a": "STRING",
    "b": "DECIMAL(20, 0)",
    "c": "BIGINT NOT NULL",
    "n": "BIGINT",
}
KEY = ("id", "place")
VALUES = {
    "a": st.none() | st.sampled_from(["x", "y", "z"]),
    "b": st.none() | st.integers(0, 3).map(lambda n: 10**19 + n),
    "c": st.integers(0, 3),
    "n": st.none() | st.integers(0, 3),
}
Conflicts = Literal["error", "ignore", "update"]
Row = dict[str, Any]


class Refused(Exception):
    """The model would not take a change."""


class Model:
    """The rows by key, and with ``sequence_by`` what is known of each key: its sequence, and its row if it has one."""

    def __init__(self, by_sequence: bool) -> None:
        self.by_sequence = by_sequence
        self.rows: dict[Any, Row] = {}
        self.sequence: dict[Any, int] = {}

    def copy(self) -> Model:
        other = Model(self.by_sequence)
        other.rows, other.sequence = dict(self.rows), dict(self.sequence)
        return other

    def apply(self, changes: list[Row], on_conflict: Conflicts) -> None:
        """All changes one after the other, in the order of a commit."""
        for change in sorted(changes, key=lambda change: change["seq"]) if self.by_sequence else changes:
            self._change(change, on_conflict)

    def _change(self, change: Row, on_conflict: Conflicts) -> None:
        key = tuple(change[name] for name in KEY)
        if self.by_sequence and change["seq"] < self.sequence.get(key, -1):
            return
        there = self.rows.get(key)
        is_skipped = change["_change_type"] == "insert" and there is not None and on_conflict == "ignore"
        if self.by_sequence and not is_skipped:  # what is skipped says nothing, also not of its key
            self.sequence[key] = change["seq"]
        match change["_change_type"]:
            case "delete":
                if there is not None:
                    del self.rows[key]
                elif on_conflict == "error" and not self.by_sequence:
                    raise Refused
            case "insert" if there is not None and on_conflict != "update":
                if on_conflict == "error":
                    raise Refused
            case _:
                given = {name: value for name, value in change.items() if name != "_change_type"}
                row = {**dict.fromkeys(COLUMNS), **(there or {}), **given}
                if row["c"] is None:
                    raise Refused
                self.rows[key] = row

    def counted(self) -> Counter[Any]:
        return Counter(tuple(row[name] for name in COLUMNS) for row in self.rows.values())


def counted(rows: pa.Table) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for row in rows.to_pylist():
        weight = -1 if row.get("_change_type") == "delete" else 1
        found[tuple(None if row[name] is None else row[name] for name in COLUMNS)] += weight
    return found


@st.composite
def drawn(draw: st.DrawFn, by_sequence: bool) -> Row:
    key = {"id": draw(st.integers(0, 2)), "place": draw(st.sampled_from(["p", "q"]))}
    kind = draw(st.sampled_from(["upsert", "upsert", "upsert", "update_postimage", "delete", "insert"]))
    beside = {"seq": draw(st.integers(0, 6))} if by_sequence else {}
    if kind == "delete":
        return {**key, **beside, "_change_type": kind}
    names = VALUES if kind == "insert" else draw(st.sets(st.sampled_from(sorted(VALUES))))
    return {**key, **beside, **{name: draw(VALUES[name]) for name in names}, "_change_type": kind}


def outcome(db: livejoin.Database, model: Model, changes: list[Row], on_conflict: Conflicts, form: str) -> Model:
    """Apply changes to both; the model as it is then, the same where they refuse them."""
    data: Any = changes
    if form == "json":
        data = [
            {key: str(value) if key in ("id", "b") and value is not None else value for key, value in change.items()}
            for change in changes
        ]
    coerce: Any = "json" if form == "json" else "strict"
    expected = model.copy()
    total = counted(db.views["v"].to_arrow())
    try:
        expected.apply(changes, on_conflict)
    except Refused:
        with pytest.raises(ChangeError):
            db.apply("t", data, on_conflict=on_conflict, coerce=coerce)
        expected = model
    else:
        if form == "log":
            log = [{**change, "_seq": at} for at, change in enumerate(changes)]
            commit = db.replay({"t": log}, granularity="commit", on_conflict=on_conflict)
        else:
            commit = db.apply("t", data, on_conflict=on_conflict, coerce=coerce)
        total.update(counted(commit["v"]))
    rows = counted(db.views["v"].to_arrow())
    assert rows == expected.counted()
    assert {row: times for row, times in total.items() if times} == rows
    db._check()
    return expected


def declared(db: livejoin.Database, by_sequence: bool) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    seq = ", seq BIGINT" if by_sequence else ""
    db.create_table("t", f"{columns}{seq}, PRIMARY KEY (place, id)", sequence_by="seq" if by_sequence else None)
    db.create_view("v", f"SELECT {', '.join(COLUMNS)} FROM t")


@settings(FUZZ, max_examples=max(2, FUZZ.max_examples))
@given(data=st.data(), by_sequence=st.booleans())
def test_against_a_dictionary(data: st.DataObject, by_sequence: bool) -> None:
    """In every form, and in a folder that is opened again, whose log has whole rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db" if data.draw(st.booleans()) else None
        db = livejoin.Database(path)
        declared(db, by_sequence)
        model = Model(by_sequence)
        for _ in range(data.draw(st.integers(1, 4))):
            changes = data.draw(st.lists(drawn(by_sequence), min_size=1, max_size=8))
            changes.append(
                {"id": 9, "place": "p", "c": 1, "_change_type": "upsert", **({"seq": 0} if by_sequence else {})}
            )
            on_conflict: Conflicts = data.draw(st.sampled_from(["error", "ignore", "update"]))
            form = data.draw(st.sampled_from(["dicts", "json", "log"]))
            note(f"{form}, {on_conflict}: {changes}")
            model = outcome(db, model, changes, on_conflict, form)
            if path is not None and data.draw(st.booleans()):
                db.close()
                db = livejoin.Database(path)
        db.close()
        if path is not None:
            with livejoin.open(path) as again:
                assert counted(again.views["v"].to_arrow()) == model.counted()


@settings(FUZZ, max_examples=max(2, FUZZ.max_examples // 2))
@given(data=st.data(), by_sequence=st.booleans())
def test_one_by_one_in_pieces(data: st.DataObject, by_sequence: bool) -> None:
    """A replay change by change leaves what the changes leave one by one, whatever its pieces."""
    changes = data.draw(st.lists(drawn(by_sequence), min_size=1, max_size=10))
    changes = [
        {**change, "c": 0}
        if change["_change_type"] in ("upsert", "update_postimage") and "c" not in change and at % 2
        else change
        for at, change in enumerate(changes)
    ]
    db, model = livejoin.Database(), Model(by_sequence)
    declared(db, by_sequence)
    log = [{**change, "_seq": at} for at, change in enumerate(changes)]
    log.append(
        {"id": 9, "place": "p", "c": 1, "_change_type": "upsert", "_seq": 99, **({"seq": 0} if by_sequence else {})}
    )
    try:
        for change in (*changes, {k: v for k, v in log[-1].items() if k != "_seq"}):
            model._change(change, "ignore")
    except Refused:
        with pytest.raises(ChangeValueError):
            list(db.replay({"t": log}, on_conflict="ignore", max_rows=data.draw(st.integers(1, 4))))
        return
    for commit in db.replay({"t": log}, on_conflict="ignore", max_rows=data.draw(st.integers(1, 4))):
        assert isinstance(commit, livejoin.Commit)
    assert counted(db.views["v"].to_arrow()) == model.counted()


def people(**options: Any) -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("P", "id BIGINT PRIMARY KEY, name STRING NOT NULL, town STRING", **options)
    db.create_view("v", "SELECT * FROM P")
    return db


def rows(db: livejoin.Database) -> set[Any]:
    return {tuple(row.values()) for row in db.views["v"].to_arrow().to_pylist()}


def test_columns_that_arrow_data_does_not_have() -> None:
    """Stay in all rows; NULL in a column that is there is NULL."""
    db = people()
    db.apply("P", [(1, "Ada", "London"), (2, "Bob", "Rome")])
    db.apply("P", pa.table({"id": [2, 1], "town": [None, "Paris"], "_change_type": ["upsert", "upsert"]}))
    assert rows(db) == {(1, "Ada", "Paris"), (2, "Bob", None)}
    db.apply("P", pa.table({"ID": [2, 1], "Name": ["Eve", "Ida"]}), on_conflict="update")
    assert rows(db) == {(1, "Ida", "Paris"), (2, "Eve", None)}


def test_a_new_row_needs_what_is_not_null() -> None:
    db = people()
    with pytest.raises(ChangeValueError, match=r"row 1 .* leaves out 'name', which is NOT NULL, .* key \(id = 7\)"):
        db.apply("P", [{"id": 1, "name": "Ada", "_change_type": "upsert"}, {"id": 7, "_change_type": "upsert"}])
    assert rows(db) == set() and db.version == 0
    db.apply("P", [{"id": 1, "name": "Ada", "_change_type": "upsert"}])
    assert rows(db) == {(1, "Ada", None)}


def test_the_key_is_always_given() -> None:
    db = people()
    with pytest.raises(ChangeFormatError, match=r"row 1 .* missing column 'id'"):
        db.apply("P", [{"id": 1, "town": None, "_change_type": "upsert"}, {"name": "Bob", "_change_type": "upsert"}])
    with pytest.raises(ChangeFormatError, match="unknown column 'nmae'"):
        db.apply(
            "P", [{"id": 1, "town": None, "_change_type": "upsert"}, {"id": 2, "nmae": "", "_change_type": "upsert"}]
        )
    with pytest.raises(ChangeFormatError, match="of which two are one name"):
        db.apply("P", [{"id": 1, "town": None, "_change_type": "upsert"}, {"id": 2, "ID": 3, "_change_type": "upsert"}])


def test_an_insertion_is_whole() -> None:
    with pytest.raises(ChangeFormatError, match=r"row 1 .* missing column 'town'"):
        people().apply(
            "P", [{"id": 1, "town": "Rome", "_change_type": "upsert"}, {"id": 2, "name": "B", "_change_type": "insert"}]
        )


def test_columns_that_are_not_kept() -> None:
    db = livejoin.Database()
    db.create_table("P", "id BIGINT PRIMARY KEY, name STRING NOT NULL, town STRING", retain="used")
    db.create_view("v", "SELECT id, town FROM P")
    db.apply("P", [(1, "Ada", "London")])
    db.apply("P", [{"id": 1, "town": "Rome", "_change_type": "upsert"}])
    assert rows(db) == {(1, "Rome")}


def test_tables_in_which_the_row_before_is_not_known() -> None:
    """Windows, and UNIQUE where changes may be skipped for it, are refused with what would work."""
    windowed = people(window_rows=2)
    windowed.apply("P", [(1, "Ada", "London")])
    with pytest.raises(ChangeError, match="'town' as it was: the table has a window"):
        windowed.apply("P", [{"id": 1, "name": "Eve", "_change_type": "upsert"}])
    db = livejoin.Database()
    db.create_table("P", "id BIGINT PRIMARY KEY, name STRING UNIQUE, town STRING")
    db.create_view("v", "SELECT * FROM P")
    db.apply("P", [(1, "Ada", "London"), (2, "Bob", "Rome")])
    twice = [{"id": 1, "name": "Bob", "_change_type": "upsert"}, {"id": 1, "town": "Oslo", "_change_type": "upsert"}]
    with pytest.raises(ChangeError, match="each key once in a commit"):
        db.apply("P", twice, on_conflict="ignore")
    with pytest.raises(DuplicateKeyError, match="UNIQUE"):
        db.apply("P", twice)
    assert db.apply("P", twice[:1], on_conflict="ignore").ignored == 1
    town = [{"id": 1, "town": "Oslo", "_change_type": "upsert"}, {"id": 2, "town": "Bonn", "_change_type": "upsert"}]
    db.apply("P", town, on_conflict="ignore")
    assert rows(db) == {(1, "Ada", "Oslo"), (2, "Bob", "Bonn")}


def test_what_is_late_or_skipped_says_nothing() -> None:
    db = people(sequence_by=None)
    db.apply("P", [(1, "Ada", "London")])
    changes = [
        {"id": 1, "name": "Bob", "town": "Rome", "_change_type": "insert"},
        {"id": 1, "name": "Eve", "_change_type": "upsert"},
    ]
    assert db.apply("P", changes, on_conflict="ignore").ignored == 1
    assert rows(db) == {(1, "Eve", "London")}
    db = livejoin.Database()
    db.create_table("P", "id BIGINT PRIMARY KEY, name STRING, town STRING, lsn BIGINT", sequence_by="lsn")
    db.create_view("v", "SELECT id, name, town FROM P")
    db.apply("P", [(1, "Ada", "London", 10)])
    late = {"id": 1, "lsn": 5, "town": "Rome", "_change_type": "upsert"}
    assert db.apply("P", [{"id": 1, "lsn": 12, "name": "Eve", "_change_type": "upsert"}, late]).late == 1
    assert rows(db) == {(1, "Eve", "London")}
    db.apply("P", [{"id": 1, "lsn": 20, "_change_type": "delete"}])
    db.apply("P", [{**late, "lsn": 19}, {"id": 1, "lsn": 21, "name": "Ida", "_change_type": "upsert"}])
    assert rows(db) == {(1, "Ida", None)}


def test_what_is_late_is_not_checked_for_what_it_leaves_out() -> None:
    db = livejoin.Database()
    columns = "id BIGINT PRIMARY KEY, a BIGINT, b BIGINT, lsn BIGINT, c BIGINT GENERATED ALWAYS AS (10 div b)"
    db.create_table("P", f"{columns}, CHECK (a IS NOT NULL), CHECK (coalesce(b, 0) <> 7)", sequence_by="lsn")
    db.create_view("v", "SELECT id, a, b, c FROM P")
    db.apply("P", [{"id": 1, "a": 2, "b": 5, "lsn": 10, "_change_type": "upsert"}])
    late = {"id": 1, "lsn": 5, "b": 7, "_change_type": "upsert"}
    commit = db.apply("P", [late, {"id": 1, "lsn": 11, "b": 2, "_change_type": "upsert"}])
    assert (commit.late, commit.changes) == (1, 1)
    assert db.views["v"].to_arrow().to_pylist() == [{"id": 1, "a": 2, "b": 2, "c": 5}]
    assert db.apply("P", [late]).late == 1
    db.apply("P", [{"id": 1, "lsn": 12, "_change_type": "delete"}])
    assert db.apply("P", [late]).late == 1
    with pytest.raises(ChangeValueError, match="breaks CHECK"):
        db.apply("P", [{"id": 1, "lsn": 13, "b": 1, "_change_type": "upsert"}])
    with pytest.raises(ChangeValueError, match="breaks CHECK"):
        db.apply("P", [late, {"id": 1, "lsn": 13, "a": 1, "b": 7, "_change_type": "upsert"}])
