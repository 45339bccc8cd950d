"""GROUP BY of a key, with columns that it determines outside of aggregates; DuckDB has them in GROUP BY."""

from __future__ import annotations

import pytest

from livejoin import Database
from livejoin.errors import UnsupportedQueryError
from sub_query_views import Lives

TABLES = {"p": "id INT PRIMARY KEY, name INT, c INT", "s": "k INT PRIMARY KEY, p INT, x INT"}
JOINED = "p JOIN s ON s.p = p.id"
VIEWS = [
    (f"SELECT p.id, p.name, COUNT(*) AS n FROM {JOINED} GROUP BY p.id", "name"),
    (f"SELECT p.name + 1 AS m, SUM(x) AS n FROM {JOINED} GROUP BY s.p", "name"),
    (f"SELECT p.id, SUM(x) AS n FROM {JOINED} GROUP BY p.id HAVING p.c > 1 OR p.name < COUNT(*)", "c, name"),
    (f"SELECT s.p, p.id, COUNT(*) AS n FROM {JOINED} GROUP BY s.p", "p.id"),  # by the equality of the join
    ("SELECT p.name FROM p GROUP BY p.id ORDER BY p.c NULLS FIRST, p.id LIMIT 2", "name, c"),
    (f"SELECT n, COUNT(*) AS m FROM (SELECT p.id AS i, name AS n FROM {JOINED} WHERE x < c) q GROUP BY i", "n"),
    ("SELECT p.id, p.name, COUNT(s.k) AS n FROM p LEFT JOIN s ON s.p = p.id GROUP BY p.id", "name"),
    ("SELECT s.k, p.name FROM p RIGHT JOIN s ON s.p = p.id GROUP BY s.k", "name"),
    ("SELECT p.id, SUM(p.c) OVER (ORDER BY p.id) AS w FROM p GROUP BY p.id", "c"),
]


def test_equal_to_duckdb_after_every_commit() -> None:
    lives = Lives(TABLES, 3)
    for sql, determined in VIEWS:
        before, _, rest = sql.rpartition("GROUP BY ")
        group, *behind = rest.split(" ", 1)
        assert lives.create(sql, f"{before}GROUP BY {group}, {determined} {' '.join(behind)}"), sql
    for _ in range(15):
        lives.commit()


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT p.id, s.x FROM {JOINED} GROUP BY p.id",
        "SELECT id + 1 AS i, name FROM p GROUP BY id + 1",
        "SELECT name, c FROM p GROUP BY name",
        "SELECT s.p, p.name FROM s LEFT JOIN p ON s.x = p.id GROUP BY s.p",
        "SELECT id, name FROM p GROUP BY ROLLUP (id)",
        "SELECT u, v FROM m GROUP BY u",
    ],
)
def test_what_is_not_determined_is_refused(sql: str) -> None:
    database = Database()
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    database.execute("CREATE TABLE m (u INT UNIQUE, v INT)")  # several rows may have no u
    with pytest.raises(UnsupportedQueryError, match="GROUP BY"):
        database.create_view("v", sql)
