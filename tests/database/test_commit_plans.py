"""The plan of a commit is that of the tables, views and rules as they are, whatever came and went before it."""

from __future__ import annotations

import datetime as dt

import pytest

import livejoin
from livejoin.errors import ChangeValueError, SchemaError
from oracle import multiset


def opened() -> livejoin.Database:
    """A database with a table that commits have a plan for."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (a INT, b INT)")
    db.apply("t", [(1, 2)])
    return db


def test_a_table_that_takes_the_place_of_a_dropped_one() -> None:
    db = opened()
    db.drop_table("t")
    with pytest.raises(SchemaError):
        db.apply("t", [(1, 2)])
    db.execute("CREATE TABLE t (a INT, b STRING)")
    db.apply("t", [(3, "x")])
    assert db.tables["t"].to_pylist() == [{"a": 3, "b": "x"}]


def test_a_table_with_the_name_that_another_one_had() -> None:
    db = opened()
    view = db.create_view("v", "SELECT a FROM t")
    db.execute("ALTER TABLE t RENAME TO u")
    db.execute("CREATE TABLE t (a INT, b INT)")
    db.apply("t", [(7, 7)])
    db.apply("u", [(8, 8)])
    assert multiset(view.to_arrow()) == {(1,): 1, (8,): 1}
    assert db.tables["t"].to_pylist() == [{"a": 7, "b": 7}]


def test_a_view_that_comes_and_goes() -> None:
    db, rows = opened(), [(1, 5)]
    for round_ in range(3):
        view = db.create_view("v", "SELECT a, SUM(b) AS s FROM t GROUP BY a")
        assert db.apply("t", rows).rows("v") == 2
        assert multiset(view.to_arrow()) == {(1, 2 + 5 * (2 * round_ + 1)): 1}
        db.drop_view("v")
        assert db.apply("t", rows).views == ()


def test_columns_and_rules_that_come_and_go() -> None:
    db = opened()
    db.execute("ALTER TABLE t ADD COLUMN c INT DEFAULT 9")
    db.apply("t", [{"a": 2, "b": 3, "c": 4}])
    db.execute("ALTER TABLE t DROP COLUMN b")
    db.apply("t", [(5, 6)])
    assert sorted(tuple(row.values()) for row in db.tables["t"].to_pylist()) == [(1, 9), (2, 4), (5, 6)]
    db.execute("CREATE TABLE checked (a INT CHECK (a > 0), twice INT GENERATED ALWAYS AS (a * 2))")
    db.apply("checked", [{"a": 1}])
    with pytest.raises(ChangeValueError):
        db.apply({"t": [(1, 1)], "checked": [{"a": -1}]})
    db.apply({"t": [(1, 1)], "checked": [{"a": 2}]})
    assert [row["twice"] for row in db.tables["checked"].to_pylist()] == [2, 4]


def test_a_watermark_in_a_commit_of_several_tables() -> None:
    """The plan of the tables that are given leads to that of these and of the watermark."""
    db = opened()
    db.create_table("e", "id BIGINT, ts TIMESTAMP", watermark=("ts", dt.timedelta(minutes=1)))
    noon = dt.datetime(2026, 1, 1, 12)
    for minutes in range(5):
        late = (0, noon - dt.timedelta(hours=1))
        commit = db.apply({"e": [(minutes, noon + dt.timedelta(minutes=minutes)), late], "t": [(minutes, 0)]})
        assert commit.late == (1 if minutes else 0)
    assert len(db.tables["e"]) == 6
    assert len(db.tables["t"]) == 6


def test_what_a_failed_commit_leaves_of_a_plan() -> None:
    db = opened()
    view = db.create_view("v", "SELECT a, b FROM t WHERE 10 / b > 1")
    with pytest.raises(livejoin.errors.ExpressionError):
        db.apply("t", [(1, 0)])
    db.apply("t", [(1, 4), (2, 100)])
    assert multiset(view.to_arrow()) == {(1, 2): 1, (1, 4): 1}
