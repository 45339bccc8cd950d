"""``EXPLAIN`` as SQL: the lines of the explanation as rows, and errors that say what to write."""

from __future__ import annotations

import pytest

import livejoin
from livejoin.errors import AbsentNameError, SqlError, SqlSyntaxError, UnknownNameError, UnsupportedQueryError


@pytest.fixture
def db() -> livejoin.Database:
    found = livejoin.Database()
    found.execute("CREATE TABLE a (k BIGINT, v BIGINT); CREATE VIEW sums AS SELECT k, SUM(v) AS s FROM a GROUP BY k")
    found.apply("a", [(1, 2), (1, 3)])
    return found


@pytest.mark.parametrize("head", ["EXPLAIN", "explain\n", "/* why */ EXPLAIN", "-- why\nEXPLAIN "])
def test_the_rows_are_the_lines_of_explain(db: livejoin.Database, head: str) -> None:
    query = "SELECT k FROM a WHERE v = 3"
    rows = db.sql(f"{head} {query};")
    assert rows.column_names == ["explanation"]
    assert rows["explanation"].to_pylist()[0] == db.explain(query).text().splitlines()[0]
    assert query in "\n".join(rows["explanation"].to_pylist())


@pytest.mark.parametrize("name", ["sums", "SUMS", "`sums`", '"sums"'])
def test_a_view_is_named(db: livejoin.Database, name: str) -> None:
    assert db.sql(f"EXPLAIN {name}")["explanation"].to_pylist() == db.views["sums"].explain().text().splitlines()


def test_analyze_counts_what_a_view_really_costs(db: livejoin.Database) -> None:
    db.sql("EXPLAIN ANALYZE sums")
    db.apply("a", [(1, 7)])
    found = "\n".join(db.sql("EXPLAIN ANALYZE sums")["explanation"].to_pylist())
    assert "predicted against actual" in found
    assert "a: k = 1: 100%" in found or "group: k = 1" in found


def test_values_stand_in_the_places(db: livejoin.Database) -> None:
    found = "\n".join(db.sql("EXPLAIN SELECT k FROM a WHERE v = :v", {"v": 42})["explanation"].to_pylist())
    assert "v = 42" in found


@pytest.mark.parametrize(
    ("sql", "kind", "told"),
    [
        ("EXPLAIN", SqlSyntaxError, "EXPLAIN ANALYZE name"),
        ("EXPLAIN ANALYZE", SqlSyntaxError, "EXPLAIN ANALYZE name"),
        ("EXPLAIN ANALYZE SELECT k FROM a", SqlSyntaxError, "CREATE VIEW name AS"),
        ("EXPLAIN nope", AbsentNameError, "'nope'"),
        ("EXPLAIN SELECT k\n FROM b", UnknownNameError, "line 2, column 7"),
        ("EXPLAIN INSERT INTO a VALUES (1, 2)", UnsupportedQueryError, "line 1, column 9"),
    ],
)
def test_what_cannot_be_explained(db: livejoin.Database, sql: str, kind: type[Exception], told: str) -> None:
    with pytest.raises(kind, match=told):
        db.sql(sql)


def test_execute_says_where_explanations_are(db: livejoin.Database) -> None:
    with pytest.raises(UnsupportedQueryError, match="gives the explanation as rows"):
        db.execute("EXPLAIN SELECT k FROM a")


def test_values_without_a_place_are_refused(db: livejoin.Database) -> None:
    with pytest.raises(SqlError, match="1 values are given"):
        db.sql("EXPLAIN sums", [1])
