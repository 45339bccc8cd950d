"""DISTINCT ON, and ORDER BY by what is not shown: after every commit what DuckDB gives, deltas included."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from livejoin import Database
from oracle import connect
from strategies import seeds
from sub_query_views import Lives

TABLES = {"R": "a INT, b INT, x BIGINT", "S": "k INT, c INT NOT NULL, v BIGINT", "T": "k INT"}
VIEWS = [
    "SELECT DISTINCT ON (a) a, b, x FROM R ORDER BY a, b NULLS FIRST, x NULLS FIRST",
    "SELECT DISTINCT ON (a, b) x FROM R ORDER BY x DESC NULLS LAST",
    "SELECT DISTINCT ON (k) c, x FROM R JOIN S ON a = k ORDER BY v DESC NULLS LAST, c, x NULLS FIRST",
    "SELECT DISTINCT ON (n) a, n FROM (SELECT a, COUNT(*) AS n FROM R GROUP BY a) q ORDER BY n, a DESC NULLS LAST",
    "SELECT DISTINCT ON (2) a + 1, b, COUNT(*) FROM R GROUP BY a, b ORDER BY a + 1 NULLS FIRST, b NULLS FIRST LIMIT 2",
    "SELECT DISTINCT ON (a, b) a, b, SUM(x) OVER (PARTITION BY a) AS s FROM R ORDER BY a, b",
    "SELECT a FROM R WHERE b IN (SELECT DISTINCT ON (k) c FROM S ORDER BY k, v NULLS FIRST, c)",
    "SELECT q.x FROM (SELECT DISTINCT ON (a) a, x FROM R ORDER BY x NULLS FIRST) q JOIN S ON q.a = k",
    "SELECT a FROM R ORDER BY b, x",
    "SELECT a, COUNT(*) AS n FROM R GROUP BY a ORDER BY SUM(x)",
    "SELECT a FROM R LEFT JOIN S ON a = k ORDER BY v + b",
    "SELECT DISTINCT a, b FROM R ORDER BY a + b",
    "SELECT a FROM R WHERE x > 0 ORDER BY (SELECT SUM(v) FROM S WHERE k = a)",
]


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_equal_to_duckdb_after_every_commit(seed: int) -> None:
    lives = Lives(TABLES, seed, threads=seed + 1)
    for sql in VIEWS:
        assert lives.create(sql), sql
    for _ in range(12):
        lives.commit()


def test_without_an_order_the_columns_decide_from_left_to_right() -> None:
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT, x INT)")
    view = database.create_view("v", "SELECT DISTINCT ON (a) x, b FROM R")
    database.apply("R", [(1, 5, 3), (1, 4, 3), (1, 9, 2), (2, None, None), (2, 0, None)])
    assert sorted(view.to_arrow().to_pylist(), key=str) == [{"x": 2, "b": 9}, {"x": None, "b": None}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM R ORDER BY b DESC, x, a",
        "SELECT a FROM R ORDER BY -b - x, a",
        "SELECT a, COUNT(*) AS n FROM R GROUP BY a ORDER BY MAX(x) DESC, a",
        "SELECT DISTINCT a, b FROM R ORDER BY a * b, b, a",
        "SELECT a FROM R UNION ALL SELECT b FROM R ORDER BY abs(a - 2), a",
        "SELECT x, b FROM R ORDER BY ALL DESC",
        "SELECT a FROM R UNION SELECT x FROM R ORDER BY ALL",
        "SELECT DISTINCT ON (a) x FROM R ORDER BY b DESC, x, a",
    ],
)
def test_rows_come_in_an_order_that_is_not_shown(sql: str) -> None:

    draw = random.Random(sql)
    rows = [tuple(draw.choice([None, 0, 1, 2, 3, 4]) for _ in range(3)) for _ in range(40)]
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT, x INT)")
    view = database.create_view("v", sql)
    database.apply("R", rows)
    connection = connect()
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    connection.execute("CREATE TABLE R (a INT, b INT, x INT)")
    connection.executemany("INSERT INTO R VALUES (?, ?, ?)", rows)
    found = view.to_arrow()
    assert found.schema == view.schema
    assert [tuple(row.values()) for row in found.to_pylist()] == connection.sql(sql).fetchall()
    assert [row for batch in view.batches(7) for row in batch.to_pylist()] == found.to_pylist()
    assert view.count() == found.num_rows


def test_an_order_that_is_not_shown_is_there_after_a_restart(tmp_path: Path) -> None:
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT)")
    database.create_view("v", "SELECT a FROM R ORDER BY b DESC")
    database.apply("R", [(1, 5), (2, 7), (3, 6)])
    database.save(tmp_path / "kept")
    again = Database.load(tmp_path / "kept")
    assert again.views["v"].to_arrow()["a"].to_pylist() == [2, 3, 1]
    commit = again.apply("R", [{"a": 2, "b": 7, "_change_type": "delete"}, {"a": 2, "b": 0, "_change_type": "insert"}])
    assert commit["v"].num_rows == 0, "what is shown does not change"
    assert again.views["v"].to_arrow()["a"].to_pylist() == [3, 1, 2]
