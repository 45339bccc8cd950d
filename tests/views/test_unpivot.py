"""UNPIVOT: what a real Spark 4.3 called the columns and gave, and random commits against DuckDB."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import livejoin
from livejoin.sql import to_duckdb
from pairs_of_texts import Commit, Row, check_commits, rows_of
from strategies import FUZZ

ROWS: list[Row] = [(1, 10, 20, "p", 1.5), (2, None, 5, "q", 2.5), (3, None, None, "r", None)]
OTHERS: list[Row] = [(1, 7), (2, None)]
SPARKS: list[tuple[str, list[str], list[Row]]] = [
    (
        "* FROM t UNPIVOT (v FOR n IN (A, b AS x))",
        ["k int32", "s string", "y double", "n string", "v int32"],
        [(1, "p", 1.5, "A", 10), (1, "p", 1.5, "x", 20), (2, "q", 2.5, "x", 5)],
    ),
    (
        "w.n, v FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (t.a, `b` c2)) AS w",
        ["n string", "v int32"],
        [("a", 10), ("c2", 20), ("a", None), ("c2", 5), ("a", None), ("c2", None)],
    ),
    (
        "* FROM t UNPIVOT ((v, w) FOR n IN ((a, b) AS x, (b, k)))",
        ["s string", "y double", "n string", "v int32", "w int32"],
        [
            ("p", 1.5, "x", 10, 20),
            ("p", 1.5, "b_k", 20, 1),
            ("q", 2.5, "x", None, 5),
            ("q", 2.5, "b_k", 5, 2),
            ("r", None, "b_k", None, 3),
        ],
    ),
    (
        "* FROM t UNPIVOT (v FOR n IN (a, y))",
        ["k int32", "b int32", "s string", "n string", "v double"],
        [(1, 20, "p", "a", 10.0), (1, 20, "p", "y", 1.5), (2, 5, "q", "y", 2.5)],
    ),
    (
        "* FROM t UNPIVOT (v FOR n IN (a, a))",
        ["k int32", "b int32", "s string", "y double", "n string", "v int32"],
        [(1, 20, "p", 1.5, "a", 10)] * 2,
    ),
    ("t.k, u.k AS j FROM t, u UNPIVOT (v FOR n IN (z))", ["k int32", "j int32"], [(1, 1), (2, 1), (3, 1)]),
    (
        "* FROM t UNPIVOT (v FOR n IN (a)) UNPIVOT (w FOR m IN (b))",
        ["k int32", "s string", "y double", "n string", "v int32", "m string", "w int32"],
        [(1, "p", 1.5, "a", 10, "b", 20)],
    ),
    (
        "* FROM t UNPIVOT (v FOR n IN (a, b)) PIVOT (SUM(v) FOR n IN ('a', 'b'))",
        ["k int32", "s string", "y double", "a int64", "b int64"],
        [(2, "q", 2.5, None, 5), (1, "p", 1.5, 10, 20)],
    ),
    ("v FROM (SELECT 1L AS a, 1.5F AS b) UNPIVOT (v FOR n IN (a, b))", ["v float"], [(1.0,), (1.5,)]),
    # Further joins behind it: it is of all that stands before it, and what follows sees what it gives.
    (
        "* FROM t UNPIVOT (v FOR n IN (a, b)) JOIN u ON t.k = u.k",
        ["k int32", "s string", "y double", "n string", "v int32", "k_1 int32", "z int32"],
        [(1, "p", 1.5, "a", 10, 1, 7), (1, "p", 1.5, "b", 20, 1, 7), (2, "q", 2.5, "b", 5, 2, None)],
    ),
    (
        "x.n, x.v, z FROM t UNPIVOT (v FOR n IN (a, b)) AS x LEFT JOIN u ON x.v = u.z + 13 AND x.n = 'b'",
        ["n string", "v int32", "z int32"],
        [("a", 10, None), ("b", 20, 7), ("b", 5, None)],
    ),
    (
        "u.k, v, w.k AS j FROM t, u UNPIVOT (v FOR n IN (z)) JOIN (SELECT 3 AS k) w ON t.k = w.k",
        ["k int32", "v int32", "j int32"],
        [(1, 7, 3)],
    ),
    (
        "n, v FROM (SELECT 1.5 AS a, 2L AS b, 3F AS c, DATE'2020-01-01' AS d) UNPIVOT ((v) FOR n IN ((a), (b) AS x))",
        ["n string", "v decimal128(21, 1)"],
        [("a", 1.5), ("x", 2)],
    ),
]


def _database() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("t", "k INT, a INT, b INT, s STRING, y DOUBLE")
    db.create_table("u", "k INT, z INT")
    return db


@pytest.mark.parametrize(("select", "columns", "rows"), SPARKS)
def test_columns_and_rows_are_those_of_spark(select: str, columns: list[str], rows: list[Row]) -> None:
    db = _database()
    view = db.create_view("v", f"SELECT {select}")
    db.apply("t", ROWS)
    db.apply("u", OTHERS)
    assert [f"{field.name} {field.type}" for field in view.to_arrow().schema] == columns
    assert rows_of(view) == Counter(rows)
    with duckdb.connect() as duck:
        for name, table in db.tables.items():
            duck.register("rows", pa.Table.from_pylist([], table.arrow))
            duck.execute(f"CREATE TABLE {name} AS FROM rows")
        duck.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", ROWS)
        duck.executemany("INSERT INTO u VALUES (?, ?)", OTHERS)
        text = to_duckdb(f"SELECT {select}", db._contents.catalog)
        assert Counter(duck.execute(text).fetchall()) == Counter(rows), "the same text for DuckDB, as run.check has it"


# Each beside what it means for DuckDB.
_PLAIN = (
    "(SELECT k, s, y, 'a' AS n, a AS v FROM t WHERE a IS NOT NULL UNION ALL "
    "SELECT k, s, y, 'x', b FROM t WHERE b IS NOT NULL)"
)
PAIRS = [
    ("SELECT n, k, v, s FROM t UNPIVOT (v FOR n IN (a, b AS x))", f"SELECT n, k, v, s FROM {_PLAIN}"),
    (
        "SELECT n, COUNT(*), SUM(v), MIN(k) FROM t UNPIVOT (v FOR n IN (a, b AS x)) WHERE v > 0 GROUP BY n",
        f"SELECT n, COUNT(*), SUM(v), MIN(k) FROM {_PLAIN} WHERE v > 0 GROUP BY n",
    ),
    (
        "SELECT * FROM t LEFT JOIN u ON t.k = u.k UNPIVOT ((v, w) FOR n IN ((a, z), (b, z) AS q))",
        "SELECT t.k, s, y, u.k, 'a_z', a, z FROM t LEFT JOIN u ON t.k = u.k WHERE a IS NOT NULL OR z IS NOT NULL "
        "UNION ALL "
        "SELECT t.k, s, y, u.k, 'q', b, z FROM t LEFT JOIN u ON t.k = u.k WHERE b IS NOT NULL OR z IS NOT NULL",
    ),
    (
        "SELECT x.k, n, u.z FROM (SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a, b))) x JOIN u ON x.v = u.z",
        "SELECT x.k, n, u.z FROM (SELECT k, 'a' AS n, a AS v FROM t UNION ALL SELECT k, 'b', b FROM t) x "
        "JOIN u ON x.v = u.z",
    ),
    (
        "SELECT * FROM (SELECT s, COUNT(*) AS c, SUM(a) AS m FROM t GROUP BY s) UNPIVOT (v FOR n IN (c, m))",
        "SELECT s, 'c', c FROM (SELECT s, COUNT(*) AS c FROM t GROUP BY s) UNION ALL "
        "SELECT s, 'm', m FROM (SELECT s, SUM(a) AS m FROM t GROUP BY s) WHERE m IS NOT NULL",
    ),
    (
        "SELECT p.k, v, n, u.z FROM t UNPIVOT (v FOR n IN (a, b AS x)) AS p JOIN u ON p.k = u.k AND v <> z",
        f"SELECT p.k, v, n, u.z FROM {_PLAIN} p JOIN u ON p.k = u.k AND v <> z",
    ),
    (
        "SELECT z, t.k, m, n, v FROM u JOIN (t UNPIVOT (v FOR n IN (a, b AS x)) "
        "CROSS JOIN (SELECT MAX(k) AS m FROM u)) ON t.k = u.k",
        f"SELECT z, p.k, m, n, v FROM u JOIN {_PLAIN} p ON p.k = u.k CROSS JOIN (SELECT MAX(k) AS m FROM u)",
    ),
    (
        "SELECT * FROM u LEFT JOIN t USING (k) UNPIVOT (v FOR n IN (a, b AS x)) JOIN u AS w ON v = w.z",
        f"SELECT p.k, u.z, p.s, p.y, p.n, p.v, w.k, w.z FROM u JOIN {_PLAIN} p USING (k) JOIN u AS w ON p.v = w.z",
    ),
    (
        "SELECT z FROM u WHERE z NOT IN (SELECT v FROM t UNPIVOT (v FOR n IN (a, b AS x)) WHERE k = 1)",
        f"SELECT z FROM u WHERE z NOT IN (SELECT v FROM {_PLAIN} WHERE k = 1)",
    ),
]
T = st.tuples(*map(st.sampled_from, ((1, 2, None), (1, 2, None), (1, 3, None), ("p", "q", None), (0.0, None))))
U = st.tuples(st.sampled_from((1, 2)), st.sampled_from((1, 2, None)))


@FUZZ
@given(st.lists(st.tuples(st.lists(T, max_size=4), st.lists(U, max_size=2), st.integers(0, 3)), max_size=4))
def test_commits_leave_what_duckdb_computes(commits: list[Commit]) -> None:
    declared = ("CREATE TABLE t (k INT, a INT, b INT, s TEXT, y DOUBLE)", "CREATE TABLE u (k INT, z INT)")
    check_commits(_database(), PAIRS, declared, commits)


def test_columns_that_are_only_passed_through_are_rows_too() -> None:
    db = livejoin.Database()
    db.create_table("t", "k INT, e ARRAY<INT>, f ARRAY<INT>, c CHAR(2), d CHAR(3)")
    lists = db.create_view("lists", "SELECT k, n, v FROM t UNPIVOT (v FOR n IN (e, f))")
    texts = db.create_view("texts", "SELECT n, v FROM t UNPIVOT (v FOR n IN (c, d)) WHERE v = 'x'")
    db.apply("t", [(1, [1], None, "x", "y")])
    assert lists.to_arrow().to_pylist() == [{"k": 1, "n": "e", "v": [1]}]
    assert texts.to_arrow().to_pylist() == [{"n": "c", "v": "x "}]


def test_a_join_is_maintained_once_for_all_names() -> None:
    db = _database()
    db.create_view("v", "SELECT * FROM t JOIN u USING (k) UNPIVOT (v FOR n IN (a, b, z))")
    kinds = [block["kind"] for block in db.stats()["blocks"]]
    assert kinds.count("join") == 1


@pytest.mark.parametrize(
    ("unpivot", "message"),
    [
        ("v FOR n IN (a, s)", "a is INT, and s is STRING; CAST one of them in a query in FROM"),
        ("v FOR n IN (a + 1)", "UNPIVOT takes columns, and a + 1 is none; compute it in a query in FROM"),
        ("v FOR n IN (*)", "UNPIVOT takes columns, and * is none"),
        ("(v, w) FOR n IN ((a, b), (a))", "UNPIVOT has 2 columns of values, and (a) has 1; write UNPIVOT (value FOR"),
        ("v FOR n IN ((a, b))", "UNPIVOT has 1 column of values, and (a, b) has 2"),
        ("v FOR (n) IN (a)", "UNPIVOT takes one column of names"),
        ("t.v FOR n IN (a)", "UNPIVOT names its columns of values by plain names, and t.v is none"),
        ("_seq FOR n IN (a)", "the name '_seq' is reserved for change streams"),
        ("v FOR n IN (nothere)", "no column 'nothere' is in scope here; in scope: k, a, b, s, y"),
    ],
)
def test_what_is_refused_says_so(unpivot: str, message: str) -> None:
    with pytest.raises(livejoin.SqlError) as caught:
        _database().create_view("v", f"SELECT * FROM t UNPIVOT ({unpivot})")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (
            "SELECT * FROM t JOIN u UNPIVOT (v FOR n IN (a)) ON t.k = u.k",
            "UNPIVOT in front of ON or USING is not supported: it is of all that stands before it in FROM",
        ),
        ("SELECT * FROM t UNPIVOT (v FOR n IN (a)) AS x JOIN u AS x ON TRUE", "alias 'x' occurs twice in FROM"),
        ("SELECT t.k FROM t UNPIVOT (v FOR n IN (a)) AS x JOIN u ON t.k = u.k", "no table or alias 't' is in scope"),
        ("SELECT t.n FROM t UNPIVOT (v FOR n IN (a))", "'t' (table 't') has no column 'n'; it has k, b, s, y"),
        (
            "SELECT (SELECT MAX(v) FROM (SELECT a FROM t WHERE t.k = u.k) UNPIVOT (v FOR n IN (a))) AS m FROM u",
            "UNPIVOT of a query that reads columns of the query around is not supported; keep the columns",
        ),
        (
            "SELECT (SELECT MAX(v) FROM t JOIN t AS w ON t.k = u.k UNPIVOT (v FOR n IN (t.a))) AS m FROM u",
            "UNPIVOT of a query that reads columns of the query around is not supported; keep the columns",
        ),
        (
            "SELECT * FROM t JOIN u ON t.k IN (SELECT k FROM u) UNPIVOT (v FOR n IN (a))",
            "UNPIVOT behind a sub-query in ON is not supported",
        ),
        (
            "SELECT * FROM (SELECT k, COLLECT_LIST(a) AS l, MAX(b) AS m FROM t GROUP BY k) UNPIVOT (v FOR n IN (m))",
            "UNPIVOT of rows with a list is not supported",
        ),
    ],
)
def test_what_is_refused_of_the_query_around_says_so(sql: str, message: str) -> None:
    with pytest.raises(livejoin.SqlError) as caught:
        _database().create_view("v", sql)
    assert message in str(caught.value)
