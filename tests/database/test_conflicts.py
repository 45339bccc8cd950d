"""`on_conflict="ignore"`: conflicts are skipped and counted, and all else is as if they had never been given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

import livejoin
from harness import Harness
from livejoin.errors import AbsentRowError, DuplicateKeyError
from random_queries import queries
from scenario import Change
from strategies import FUZZ, rows, tables


@pytest.mark.parametrize("granularity", ["commit", "change"])
@FUZZ
@given(data=st.data())
def test_conflicts_are_skipped_and_counted(granularity: str, data: st.DataObject) -> None:
    """Changes drawn without regard to what is there."""
    specs = data.draw(tables(max_tables=2, max_columns=2))
    harness = Harness(specs)
    query = data.draw(queries(specs, max_atoms=3))
    note(query.sql)
    harness.create_view("v", query)
    for _ in range(data.draw(st.integers(1, 4))):
        changes = []
        for _ in range(data.draw(st.sampled_from([3, 6, 1, 9]))):
            table = data.draw(st.sampled_from(specs))
            kind = data.draw(st.sampled_from(["insert", "delete", "insert", "update_preimage", "update_postimage"]))
            changes.append(Change(table.name, kind, data.draw(rows(table))))
        note(f"{specs}: {changes}")
        harness.apply_ignoring(changes, granularity)


def test_a_second_key_is_an_error_in_a_window_unless_changes_come_one_by_one() -> None:
    """Inside a commit the window has moved before keys are compared, so that skipping a row would be too late."""
    db = livejoin.Database()
    db.create_table("P", "k BIGINT PRIMARY KEY, v STRING", window_rows=2)
    view = db.create_view("rows", "SELECT * FROM P")
    db.apply("P", [(1, "a"), (2, "b")])
    with pytest.raises(livejoin.errors.DuplicateKeyError, match=r"k = 2.*granularity='change'"):
        db.apply("P", [(2, "c")], on_conflict="ignore")
    db._check()
    assert sorted(view.to_arrow().to_pydict()["v"]) == ["a", "b"]
    commit = db.replay({"P": [{"k": 2, "v": "c", "_seq": 1}]}, on_conflict="ignore")
    assert commit.ignored == 1
    assert sorted(view.to_arrow().to_pydict()["v"]) == ["a", "b"]
    assert db.apply("P", [{"k": 9, "v": "z", "_change_type": "delete"}], on_conflict="ignore").ignored == 1
    db._check()


def test_of_two_new_rows_with_a_key_the_one_given_first_stays() -> None:
    """Also where it went and came again in between: what counts is what the commit comes to."""
    db = livejoin.Database()
    db.create_table("P", "k BIGINT PRIMARY KEY, v STRING")
    view = db.create_view("rows", "SELECT * FROM P")
    given = [("a", "insert"), ("a", "insert"), ("b", "insert"), ("a", "insert"), ("a", "delete"), ("a", "delete")]
    commit = db.apply("P", [{"k": 1, "v": v, "_change_type": kind} for v, kind in given], on_conflict="ignore")
    assert commit.ignored == 1
    assert view.to_arrow().to_pylist() == [{"k": 1, "v": "a"}]
    db._check()


@pytest.mark.parametrize("manner", ["skip", "dead_letter"])
def test_a_conflict_names_the_row_as_it_was_given_also_where_bad_rows_were_left_out(manner: Any) -> None:
    db = livejoin.Database()
    db.create_table("t", "k BIGINT PRIMARY KEY, v BIGINT")
    db.apply("t", [(1, 1)])
    with pytest.raises(DuplicateKeyError, match="row 3 of the given changes") as raised:
        db.apply("t", [("x", 1), (2, 2), (3, "y"), (1, 5)], on_bad_rows=manner)
    assert raised.value.row == 3
    with pytest.raises(DuplicateKeyError, match=r"row 3 of .* this one and row 1;") as raised:
        db.apply("t", [("x", 1), (2, 2), (3, "y"), (2, 5)], on_bad_rows=manner)
    assert raised.value.row == 3
    gone = {"k": 7, "v": 7, "_change_type": "delete"}
    with pytest.raises(AbsentRowError, match="row 1 of the given changes"):
        db.apply("t", [{"k": "x", "v": 1, "_change_type": "insert"}, gone], on_bad_rows=manner)
    with pytest.raises(DuplicateKeyError, match="row 2 of the given changes"):
        log = [{"k": "x", "v": 1, "_seq": 1}, {"k": 5, "v": 1, "_seq": 2}, {"k": 1, "v": 2, "_seq": 3}]
        db.replay({"t": log}, on_bad_rows=manner)
    assert db.version == 1
