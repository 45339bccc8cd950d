"""Several ranks in one SELECT: after every commit what DuckDB gives, deltas included."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from livejoin import Database
from oracle import multiset
from strategies import seeds
from sub_query_views import Lives

TABLES = {"R": "a INT, b INT NOT NULL, x BIGINT", "S": "k INT, v BIGINT", "T": "id INT PRIMARY KEY, y INT, z BIGINT"}
_BY_A = "OVER (PARTITION BY a ORDER BY b)"
VIEWS = [
    # Of one partition and order: any of them has the bound.
    f"SELECT a, b, x, RANK() {_BY_A} AS p, DENSE_RANK() {_BY_A} AS d FROM R QUALIFY p <= 3",
    f"SELECT a, b, x, RANK() {_BY_A} AS p, DENSE_RANK() {_BY_A} AS d FROM R QUALIFY d <= 2",
    f"SELECT x, d, p FROM (SELECT x, RANK() {_BY_A} AS p, DENSE_RANK() {_BY_A} AS d FROM R) q WHERE d <= 2 AND p < 3",
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY y ORDER BY id) AS n, RANK() OVER (PARTITION BY y ORDER BY id) AS p,"
    " DENSE_RANK() OVER (PARTITION BY y ORDER BY id) AS d FROM T QUALIFY p <= 2",
    # Of different ones, over rows with a key and over rows that may be equal, beside aggregates, over groups.
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY y ORDER BY z NULLS FIRST, id) AS n,"
    " ROW_NUMBER() OVER (PARTITION BY z ORDER BY y NULLS FIRST, id) AS m FROM T QUALIFY n <= 2 AND m = 1",
    f"SELECT a, b, RANK() {_BY_A} AS p, RANK() OVER (PARTITION BY b ORDER BY x NULLS FIRST) AS s FROM R"
    " QUALIFY p <= 2 AND s <= 2",
    f"SELECT * FROM (SELECT a, RANK() {_BY_A} AS p, DENSE_RANK() OVER (PARTITION BY b ORDER BY a NULLS FIRST) AS s"
    " FROM R) q WHERE p <= 2 AND s <= 2",
    f"SELECT a, RANK() {_BY_A} AS p, RANK() OVER (ORDER BY x NULLS FIRST) AS s, SUM(x) OVER (PARTITION BY b) AS t"
    " FROM R QUALIFY p <= 2 AND s <= 4 AND t > 1",
    "SELECT a, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS p, RANK() OVER (ORDER BY SUM(x) NULLS FIRST) AS s"
    " FROM R GROUP BY a QUALIFY p <= 2 AND s <= 2",
    f"SELECT a, RANK() {_BY_A} AS p, RANK() OVER (PARTITION BY a ORDER BY x NULLS FIRST) AS s, DENSE_RANK() OVER"
    " (PARTITION BY a ORDER BY x NULLS FIRST) AS t, RANK() OVER (ORDER BY b DESC) AS u FROM R"
    " QUALIFY p <= 2 AND t <= 2 AND u <= 5",
    # Without a bound, of one or of all, and with conditions that give none.
    f"SELECT a, b, RANK() {_BY_A} AS p, DENSE_RANK() {_BY_A} AS d FROM R",
    "SELECT id, ROW_NUMBER() OVER (ORDER BY z DESC NULLS LAST, id) AS n, RANK() OVER (PARTITION BY y ORDER BY id) AS p"
    " FROM T",
    f"SELECT a, RANK() {_BY_A} AS p, RANK() OVER (ORDER BY x NULLS FIRST) AS s FROM R QUALIFY p <= 2 OR s > 3",
    f"SELECT a, RANK() {_BY_A} AS p, DENSE_RANK() OVER (ORDER BY x NULLS FIRST) AS s FROM R QUALIFY p <= 2",
    f"SELECT a, p, MAX(b) AS m FROM (SELECT a, b, DENSE_RANK() {_BY_A} AS p FROM R) q WHERE p > 1 GROUP BY a, p",
    "SELECT a, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS p FROM R GROUP BY a",
    f"SELECT s.k, q.p FROM S s JOIN (SELECT a, RANK() {_BY_A} AS p FROM R) q ON s.k = q.a",
]


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_equal_to_duckdb_after_every_commit(seed: int) -> None:
    lives = Lives(TABLES, seed, threads=seed + 1)
    for sql in VIEWS:
        assert lives.create(sql), sql
    for _ in range(12):
        lives.commit()


def test_numbers_of_equal_rows_go_together() -> None:
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT)")
    sql = (
        "SELECT a, b, ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS m, ROW_NUMBER() OVER (ORDER BY b DESC, a) AS n, "
        "RANK() OVER (PARTITION BY a ORDER BY b) AS p FROM R QUALIFY m <= 3 AND n <= 6"
    )
    view = database.create_view("v", sql)
    draw, rows = random.Random(4), list[tuple[int, int]]()
    for _ in range(25):
        gone = draw.sample(rows, min(len(rows), draw.randrange(4)))
        came = [(draw.randrange(3), draw.randrange(3)) for _ in range(draw.randrange(5))]
        for row in gone:
            rows.remove(row)
        rows += came
        written = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
        database.apply("R", [{"a": a, "b": b, "_change_type": kind} for (a, b), kind in written])
        expected: Counter[tuple[int, ...]] = Counter()
        for (a, b), copies in Counter(rows).items():
            first = sum(1 for row in rows if row[0] == a and row[1] < b) + 1
            place = sum(1 for row in rows if (-row[1], row[0]) < (-b, a)) + 1
            numbers = [(first + i, place + i) for i in range(copies)]
            expected.update((a, b, m, n, first) for m, n in numbers if m <= 3 and n <= 6)
        assert multiset(view.to_arrow()) == expected


def test_explain_says_what_follows() -> None:
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT)")
    text = "\n".join(
        database.explain(f"SELECT RANK() {_BY_A} p, DENSE_RANK() {_BY_A} d FROM R QUALIFY d < 3").operators
    )
    assert "DENSE_RANK up to 2 of each partition" in text
    assert "RANK of the rows of each partition that the rank below keeps" in text


def test_explain_says_what_a_rank_without_a_bound_costs() -> None:
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT)")
    told = database.explain(f"SELECT RANK() {_BY_A} p, DENSE_RANK() {_BY_A} d FROM R")
    assert "also changes the ranks of the rows behind it" in " ".join(str(told).split())
    assert "would leave fewer" in told.operators[0]
    told = database.explain(f"SELECT RANK() {_BY_A} p, DENSE_RANK() {_BY_A} d FROM R QUALIFY p < 3")
    assert "also changes" not in str(told)
