"""PIVOT: what a real Spark 4.3 called the columns and gave, and random commits against DuckDB."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from pairs_of_texts import Commit, Row, check_commits, rows_of
from strategies import FUZZ

ROWS: list[Row] = [(1, "a", 10, 1.5), (1, "b", 20, 2.5), (2, "a", 5, None), (2, None, 7, 1.0), (1, "a", 30, 0.0)]
COLUMNS = "k INT, a STRING, x INT, y DOUBLE"
SPARKS: list[tuple[str, list[str], list[Row]]] = [
    (
        "SUM(x) AS s, COUNT(*) FOR a IN ('a' AS p, 'b')",
        ["k", "y", "p_s", "p_count(1)", "b_s", "b_count(1)"],
        [
            (1, 1.5, 10, 1, None, None),
            (2, None, 5, 1, None, None),
            (1, 2.5, None, None, 20, 1),
            (2, 1.0, None, None, None, None),
            (1, 0.0, 30, 1, None, None),
        ],
    ),
    (
        "SUM(x), COUNT(y) FOR (k, a) IN ((1, 'a') AS p, (2, 'b'))",
        ["p_sum(x)", "p_count(y)", "{2, b}_sum(x)", "{2, b}_count(y)"],
        [(40, 2, None, None)],
    ),
    (
        "SUM(x) + 1 AS ignored FOR y IN (1, 2.5, 1.50)",
        ["k", "a", "1", "2.5", "1.50"],
        [(1, "b", None, 21, None), (2, "a", None, None, None), (2, None, 8, None, None), (1, "a", None, None, 11)],
    ),
    (
        "SUM(x + k) FOR a IN ('a', NULL)",
        ["y", "a", "null"],
        [(None, 7, None), (1.0, None, 9), (2.5, None, None), (0.0, 31, None), (1.5, 11, None)],
    ),
]


@pytest.mark.parametrize(("pivot", "names", "rows"), SPARKS)
def test_names_and_rows_are_those_of_spark(pivot: str, names: list[str], rows: list[Row]) -> None:
    db = livejoin.Database()
    db.create_table("t", COLUMNS)
    view = db.create_view("v", f"SELECT * FROM t PIVOT ({pivot})")
    db.apply("t", ROWS)
    assert view.to_arrow().schema.names == names
    assert rows_of(view) == Counter(rows)


def test_without_an_alias_the_groups_are_columns_of_their_tables() -> None:
    db = livejoin.Database()
    db.create_table("t", COLUMNS)
    view = db.create_view("v", "SELECT t.k, t.y FROM t PIVOT (SUM(x) FOR a IN ('a'))")
    db.apply("t", ROWS[:2])
    assert rows_of(view) == Counter([(1, 1.5), (1, 2.5)])
    for name, pivot in (("t", "AS q"), ("pivot", "")):
        with pytest.raises(livejoin.UnknownNameError, match=f"no table or alias '{name}'"):
            db.create_view("w", f"SELECT {name}.k FROM t PIVOT (SUM(x) FOR a IN ('a')) {pivot}")


# Each beside what it means for DuckDB.
PAIRS = [
    (
        "SELECT * FROM t PIVOT (SUM(x) AS s, COUNT(*) AS n, MAX(x) FILTER (WHERE y > 0) AS m "
        "FOR a IN ('a' AS p, NULL AS q))",
        "SELECT k, SUM(x) FILTER (WHERE a = 'a'), NULLIF(COUNT(*) FILTER (WHERE a = 'a'), 0), "
        "MAX(x) FILTER (WHERE a = 'a' AND y > 0), SUM(x) FILTER (WHERE a IS NULL), "
        "NULLIF(COUNT(*) FILTER (WHERE a IS NULL), 0), MAX(x) FILTER (WHERE a IS NULL AND y > 0) FROM t GROUP BY k",
    ),
    (
        "SELECT * FROM (SELECT a, x FROM t) PIVOT (COUNT(x) FOR a IN ('a', 'b')) AS p",
        "SELECT CASE WHEN COUNT(*) FILTER (WHERE a = 'a') > 0 THEN COUNT(x) FILTER (WHERE a = 'a') END, "
        "CASE WHEN COUNT(*) FILTER (WHERE a = 'b') > 0 THEN COUNT(x) FILTER (WHERE a = 'b') END FROM t",
    ),
    (
        "SELECT v, p.w, `{1, a}` FROM t JOIN u ON t.y = u.v PIVOT (SUM(x) FOR (k, a) IN ((1, 'a'))) AS p",
        "SELECT v, w, SUM(x) FILTER (WHERE k = 1 AND a = 'a') FROM t JOIN u ON t.y = u.v GROUP BY y, v, w",
    ),
    (
        "SELECT p.k, y, a, b, v FROM t PIVOT (SUM(x) FOR a IN ('a', 'b')) AS p LEFT JOIN u ON p.k = u.w AND a > 5",
        "SELECT p.k, y, a, b, v FROM (SELECT k, y, SUM(x) FILTER (WHERE a = 'a') AS a, SUM(x) FILTER (WHERE a = 'b') "
        "AS b FROM t GROUP BY k, y) p LEFT JOIN u ON p.k = u.w AND a > 5",
    ),
    (
        "SELECT * FROM t, u PIVOT (SUM(x) FOR a IN ('a')) AS p CROSS JOIN (SELECT COUNT(*) AS c FROM t) "
        "PIVOT (MAX(w) FOR c IN (1, 2)) AS q",
        "SELECT k, y, v, s, MAX(w) FILTER (WHERE c = 1), MAX(w) FILTER (WHERE c = 2) FROM (SELECT k, y, v, w, "
        "SUM(x) FILTER (WHERE a = 'a') AS s FROM t, u GROUP BY k, y, v, w), (SELECT COUNT(*) AS c FROM t) "
        "GROUP BY k, y, v, s",
    ),
    (
        "SELECT q.* FROM (SELECT * FROM t PIVOT (SUM(x) FOR a IN ('a', 'b')) WHERE b IS NULL) q JOIN u ON q.k = u.w",
        "SELECT q.* FROM (SELECT k, y, SUM(x) FILTER (WHERE a = 'a') AS a, SUM(x) FILTER (WHERE a = 'b') AS b FROM t "
        "GROUP BY k, y) q JOIN u ON q.k = u.w WHERE b IS NULL",
    ),
]
T = st.tuples(*map(st.sampled_from, ((1, 2, None), ("a", "b", "c", None), (1, 2, None), (0.0, 1.0, None))))
U = st.tuples(st.sampled_from((0.0, 1.0)), st.sampled_from((1, 2)))


@FUZZ
@given(st.lists(st.tuples(st.lists(T, max_size=4), st.lists(U, max_size=2), st.integers(0, 3)), max_size=4))
def test_commits_leave_what_duckdb_computes(commits: list[Commit]) -> None:
    db = livejoin.Database()
    db.create_table("t", COLUMNS)
    db.create_table("u", "v DOUBLE, w INT")
    declared = ("CREATE TABLE t (k INT, a TEXT, x INT, y DOUBLE)", "CREATE TABLE u (v DOUBLE, w INT)")
    check_commits(db, PAIRS, declared, commits)


@pytest.mark.parametrize(
    ("pivot", "message"),
    [
        ("SUM(x), MAX(x + 1) FOR a IN ('a')", "needs a name for MAX(x + 1); write AS behind it"),
        ("SUM(x) FOR k IN (1 + 2)", "needs a name for the value 1 + 2; write AS behind it"),
        ("SUM(x) FOR a IN (b AS p)", "no column 'b' is in scope here"),
        ("x FOR a IN ('a')", "takes aggregates, and x is none"),
        ("COLLECT_LIST(x) FOR a IN ('a')", "PIVOT with a list is not supported"),
        ("SUM(x) FOR (a, k) IN ('a')", "is FOR 2 columns, and 'a' has 1 values"),
        ("SUM(x) FOR z IN (1)", "no column 'z' is in scope here"),
        (
            "SUM(x) FOR k IN (SELECT k FROM t)",
            "IN of PIVOT takes constants, and a query stands there; write the values",
        ),
    ],
)
def test_what_is_refused_says_so(pivot: str, message: str) -> None:
    db = livejoin.Database()
    db.create_table("t", COLUMNS)
    with pytest.raises(livejoin.LivejoinError) as caught:
        db.create_view("v", f"SELECT * FROM t PIVOT ({pivot})")
    assert message in str(caught.value)
