"""Views with sub-queries: after every commit they are what DuckDB gives, and so are the sums of their deltas."""

from __future__ import annotations

from typing import Any

import pytest

from livejoin import Database
from livejoin.errors import ExpressionError
from strategies import seeds
from sub_query_views import Lives

TABLES = {
    "R": "a INT, b INT NOT NULL, x BIGINT",
    "S": "k INT, c INT NOT NULL, v BIGINT",
    "T": "id INT PRIMARY KEY, y INT, z BIGINT",
}
VIEWS = [
    "SELECT a, x FROM R WHERE EXISTS (SELECT 1 FROM S WHERE k = a AND NOT EXISTS (SELECT 1 FROM T WHERE id = c))",
    "SELECT a, x FROM R WHERE a NOT IN (SELECT k FROM S WHERE c = b)",
    "SELECT a, (SELECT COUNT(*) FROM S WHERE k = a) AS n, (SELECT y FROM T WHERE id = a) AS y FROM R",
    "SELECT a, a IN (SELECT k FROM S WHERE c = b) AS m, x > ALL (SELECT v FROM S WHERE k = a) AS n FROM R",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE k = a AND c <> b) OR x > (SELECT AVG(v) FROM S)",
    "SELECT a, SUM(x) AS s FROM R GROUP BY a HAVING SUM(x) > (SELECT MIN(v) FROM S) AND a IN (SELECT id FROM T)",
    "SELECT a, (SELECT MAX(v) FROM S WHERE k = a LIMIT 1) AS m, (SELECT COUNT(*) FROM T LIMIT 9) AS n FROM R LIMIT ALL",
    "SELECT s, m FROM (SELECT SUM(x) AS s FROM R) p LEFT JOIN (SELECT MAX(v) AS m FROM S HAVING MIN(v) < 2) q ON s > m "
    "LIMIT 3",
    "SELECT a, y FROM R LEFT JOIN T ON a = id WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = y)",
]


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_equal_to_duckdb_after_every_commit(seed: int) -> None:
    lives = Lives(TABLES, seed, threads=seed + 1)
    for sql in VIEWS:
        assert lives.create(sql), sql
    for _ in range(12):
        lives.commit()


@pytest.mark.parametrize(
    ("sql", "where"),
    [
        (
            "SELECT a, (SELECT v FROM S WHERE k = a) AS v FROM R",
            "line 1, column 12 gives more than one row for the",
        ),
        ("SELECT a FROM R WHERE x > (SELECT v FROM S)", "line 1, column 28 gives more than one row; take MIN"),
        ("SELECT a, (SELECT v FROM S WHERE k = a GROUP BY v) AS v FROM R", "line 1, column 12 gives more than one"),
    ],
)
@pytest.mark.parametrize(("kind", "values"), [("BIGINT", (4, 5)), ("STRING", ("x", "y")), ("BOOLEAN", (True, False))])
def test_a_second_row_of_a_scalar_sub_query_refuses_the_commit(
    sql: str, where: str, kind: str, values: tuple[Any, Any]
) -> None:
    database = Database()
    database.execute(f"CREATE TABLE R (a INT, x {kind})")
    database.execute(f"CREATE TABLE S (k INT, v {kind})")
    view = database.create_view("seen", sql)
    database.apply("R", [(1, values[0])])
    database.apply("S", [(1, values[0])])
    before, version = view.to_arrow(), database.version
    with pytest.raises(ExpressionError, match=where):
        database.apply("S", [(1, values[1])])
    assert (view.to_arrow(), database.version) == (before, version)
    changes = [{"k": 1, "v": values[0], "_change_type": "delete"}, {"k": 1, "v": values[1], "_change_type": "insert"}]
    database.apply("S", changes)
    assert database.version == version + 1


FIRST_ROWS = [
    "SELECT a, (SELECT v FROM S WHERE k = a ORDER BY c, v NULLS FIRST LIMIT 1) AS m FROM R",
    "SELECT a FROM R WHERE b IN (SELECT c FROM S WHERE k = a ORDER BY v DESC NULLS LAST, c LIMIT 2 OFFSET 1)",
    "SELECT a FROM R WHERE x IN (SELECT SUM(v) OVER (PARTITION BY c) FROM S WHERE k = a)",
    "SELECT a, (SELECT DISTINCT ON (k) v FROM S WHERE k = a ORDER BY k, c, v NULLS FIRST) AS m FROM R",
    "SELECT a FROM R WHERE (a, x) NOT IN (SELECT k, v FROM S)",
    "SELECT a, (a, x) NOT IN (SELECT k, v FROM S) AS m FROM R",
]


def test_first_rows_and_windows_of_what_is_correlated() -> None:
    lives = Lives(TABLES, 8)
    for sql in FIRST_ROWS:
        assert lives.create(sql), sql
    for _ in range(12):
        lives.commit()


IN_ON = [
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND S.c IN (SELECT id FROM T WHERE y = S.v)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND EXISTS (SELECT 1 FROM T WHERE y = R.b AND z = S.c)",
    "SELECT R.a, S.c FROM R RIGHT JOIN S ON R.a = S.k AND R.x NOT IN (SELECT y FROM T)",
    "SELECT R.a FROM R ANTI JOIN S ON R.a = S.k AND S.c NOT IN (SELECT y FROM T)",
    "SELECT R.a, S.c FROM R FULL JOIN S ON R.a = S.k AND R.b = (SELECT MIN(z) FROM T WHERE y = S.c)",
    "SELECT R.a, COUNT(S.c) AS n FROM R LEFT JOIN S ON a = k AND c NOT IN (SELECT id FROM T WHERE y = v) GROUP BY R.a",
]


def test_sub_queries_in_on_are_equal_to_duckdb_after_every_commit() -> None:
    lives = Lives(TABLES, 7)
    for sql in IN_ON:
        assert lives.create(sql), sql
    for _ in range(12):
        lives.commit()
