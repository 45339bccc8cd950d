"""LIMIT and OFFSET where less is written than Spark could choose by, and joins of what has no column in common."""

from __future__ import annotations

import random

import pytest

from livejoin import Database
from oracle import connect, multiset
from reader import check_reading
from strategies import seeds

TABLES = {"R": "a INT, b INT NOT NULL, x BIGINT", "S": "k INT, c INT NOT NULL, v BIGINT", "U": "q INT"}
# What is written, and what DuckDB is asked.
VIEWS = [
    ("SELECT a, b FROM R ORDER BY b, a OFFSET 3", "SELECT a, b FROM R ORDER BY b, a NULLS FIRST OFFSET 3"),
    (
        "SELECT a, x FROM R ORDER BY x DESC, a LIMIT ALL OFFSET 2",
        "SELECT a, x FROM R ORDER BY x DESC NULLS LAST, a NULLS FIRST OFFSET 2",
    ),
    ("SELECT q FROM U ORDER BY q OFFSET 0", "SELECT q FROM U"),
    (
        "SELECT a FROM R WHERE x IN (SELECT v FROM S WHERE k = a ORDER BY c, v OFFSET 1)",
        "SELECT a FROM R WHERE x IN (SELECT v FROM S WHERE k = a ORDER BY c, v NULLS FIRST OFFSET 1)",
    ),
    (
        "SELECT a FROM R WHERE b IN (SELECT c FROM S LIMIT 2)",
        "SELECT a FROM R WHERE b IN (SELECT c FROM S ORDER BY c LIMIT 2)",
    ),
    (
        "SELECT a FROM R WHERE a IN (SELECT k FROM S OFFSET 3)",
        "SELECT a FROM R WHERE a IN (SELECT k FROM S ORDER BY k NULLS FIRST OFFSET 3)",
    ),
    (
        "SELECT a, b FROM R WHERE b NOT IN (SELECT c FROM S WHERE k = a LIMIT 1)",
        "SELECT a, b FROM R WHERE b NOT IN (SELECT c FROM S WHERE k = a ORDER BY c LIMIT 1)",
    ),
    (
        "SELECT a FROM R WHERE b IN (SELECT c FROM S UNION SELECT q FROM U LIMIT 2)",
        "SELECT a FROM R WHERE b IN (SELECT c FROM S UNION SELECT q FROM U ORDER BY 1 NULLS FIRST LIMIT 2)",
    ),
    ("SELECT a, q FROM R NATURAL JOIN U", "SELECT a, q FROM R, U"),
    ("SELECT a, q FROM R NATURAL LEFT JOIN U", "SELECT a, q FROM R LEFT JOIN U ON TRUE"),
]


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_equal_to_duckdb_after_every_commit(seed: int) -> None:
    draw, database = random.Random(seed), Database(threads=seed + 1)
    rows: dict[str, list[tuple[int | None, ...]]] = {name: [] for name in TABLES}
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    views = [database.create_view(f"v{i}", sql, allow_product=True) for i, (sql, _) in enumerate(VIEWS)]
    for number in range(10):
        changes = {}
        for name, columns in TABLES.items():
            names = [column.split()[0] for column in columns.split(", ")]
            gone = list(rows[name]) if number == 5 else draw.sample(rows[name], min(len(rows[name]), draw.randrange(3)))
            came = [
                tuple(
                    None if "NOT" not in column and draw.random() < 0.2 else draw.randrange(4)
                    for column in columns.split(", ")
                )
                for _ in range(draw.randrange(5))
            ]
            for row in gone:
                rows[name].remove(row)
            rows[name] += came
            written = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
            changes[name] = [{**dict(zip(names, row, strict=True)), "_change_type": kind} for row, kind in written]
        database.apply({name: listed for name, listed in changes.items() if listed})
        with connect() as connection:
            for name, columns in TABLES.items():
                connection.execute(f"CREATE TABLE {name} ({columns})")
                for row in rows[name]:
                    connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
            for view, (sql, asked) in zip(views, VIEWS, strict=True):
                result = connection.sql(asked).to_arrow_table()
                assert multiset(view.to_arrow()) == multiset(result), (sql, rows)
                check_reading(view, result, draw)


def test_explain_names_the_rows_that_are_left_out() -> None:
    database = Database()
    database.execute("CREATE TABLE U (q INT)")
    assert "all rows but the first 3" in " ".join(str(database.explain("SELECT q FROM U ORDER BY q OFFSET 3")).split())
