"""``NOT IN`` over a column that may be NULL: the verdict says what one NULL does, and what to write."""

from __future__ import annotations

import pytest

from livejoin import Database
from livejoin.plan.explain.ways import way_lines

WARNED = "one row of s whose a is NULL empties the result"


@pytest.fixture
def db() -> Database:
    found = Database()
    found.execute("CREATE TABLE r (k BIGINT PRIMARY KEY, a BIGINT); CREATE TABLE s (a BIGINT, b BIGINT NOT NULL)")
    return found


def test_one_null_is_told(db: Database) -> None:
    told = db.explain("SELECT k FROM r WHERE a NOT IN (SELECT a FROM s)").verdict
    assert WARNED in told
    assert "NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a)" in told


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM r WHERE a NOT IN (SELECT b FROM s)",
        "SELECT k FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a)",
        "SELECT k FROM r WHERE a IN (SELECT a FROM s)",
    ],
)
def test_nothing_is_told_where_no_null_does_that(db: Database, sql: str) -> None:
    assert "empties" not in db.explain(sql).verdict


def test_it_is_true(db: Database) -> None:
    view = db.create_view("v", "SELECT k FROM r WHERE a NOT IN (SELECT a FROM s)")
    db.apply({"r": [(1, 5), (2, 6)], "s": [(5, 0)]})
    assert view.to_pylist() == [{"k": 2}]
    db.apply("s", [(None, 0)])
    assert view.to_pylist() == []


def test_where_a_change_goes_in_windows_and_asof_joins(db: Database) -> None:
    told = {
        one.table: list(way_lines(one))
        for one in db.explain("SELECT r.k, s.b FROM r ASOF JOIN s ON r.k >= s.b").effects
    }
    assert told["s"][0].startswith("s: to the rows of r behind it, up to the next row of s")
    assert told["r"] == ["r: to the last row of s in front of it (1 stored row)"]
    (one,) = db.explain("SELECT k, SUM(k) OVER (PARTITION BY a ORDER BY k) AS n FROM r").effects
    assert next(way_lines(one)).startswith(
        "r: to itself and the rows behind it in the order of the window by k, with the same a"
    )
