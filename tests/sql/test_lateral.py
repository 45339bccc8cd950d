"""LATERAL sub-queries in FROM: what a text is bound to, evaluated by its definition, gives the rows of DuckDB."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from random_sub_queries import TABLES
from relations import evaluate
from sql_fixtures import fill

from livejoin import Database
from livejoin.catalog import Catalog
from livejoin.errors import UnsupportedQueryError
from livejoin.sql import bind_query, parse_columns, to_duckdb
from oracle import connect
from sub_query_views import Lives

QUERIES = [
    "SELECT a, q.c FROM R, LATERAL (WITH w AS (SELECT k, c FROM S WHERE v > 0) SELECT c FROM w WHERE w.k = R.a) q",
    "SELECT a, q.u FROM R, LATERAL (SELECT c AS u FROM S WHERE k = R.a UNION ALL SELECT y FROM T WHERE id = R.a) q",
    "SELECT a, q.c FROM R, LATERAL (SELECT c FROM S WHERE k IN (SELECT id FROM T)) q",
    "SELECT a, q.c FROM R, LATERAL (SELECT c FROM S WHERE S.k = R.a) q",
    "SELECT a, q.c FROM R JOIN LATERAL (SELECT c, v FROM S WHERE S.k = R.a) q ON q.v > R.x",
    "SELECT a, q.c, q.v FROM R LEFT JOIN LATERAL (SELECT c, v FROM S WHERE S.k = R.a) q ON q.v > R.x",
    "SELECT a, q.n FROM R, LATERAL (SELECT COUNT(*) AS n, SUM(v) AS s FROM S WHERE S.k = R.a) q",
    "SELECT a, q.n, q.s FROM R LEFT JOIN LATERAL (SELECT COUNT(*) AS n, SUM(v) + R.b AS s FROM S WHERE S.k = R.a"
    " HAVING COUNT(*) > 1) q ON true",
    "SELECT a, q.v FROM R, LATERAL (SELECT v FROM S WHERE S.k = R.a ORDER BY c, v NULLS FIRST LIMIT 2) q",
    "SELECT a, q.v FROM R LEFT JOIN LATERAL (SELECT v, c FROM S WHERE S.k = R.a ORDER BY c, v NULLS FIRST LIMIT"
    " 1) q ON q.c > 1",
    "SELECT a, q.s FROM R, LATERAL (SELECT c, SUM(v) AS s FROM S WHERE S.k = R.a GROUP BY c) q WHERE q.c = b",
    "SELECT a, q.* FROM R, LATERAL (SELECT DISTINCT c, v FROM S WHERE S.k = R.a) q",
    "SELECT * FROM R, LATERAL (SELECT R.a + 1 AS z, b * 2) q(m, n)",
    "SELECT R.a, q.c, p.y FROM R JOIN LATERAL (SELECT c FROM S WHERE S.k = R.a) q ON true JOIN LATERAL (SELECT y"
    " FROM T WHERE T.id = q.c) p ON true",
    "SELECT R.a, q.n, p.m FROM R, LATERAL (SELECT COUNT(*) AS n FROM S WHERE S.k = R.a) q, LATERAL (SELECT"
    " MAX(z) AS m FROM T WHERE T.y = q.n) p",
    "SELECT a, q.c FROM R, LATERAL (SELECT c FROM S WHERE S.k = R.a AND EXISTS (SELECT 1 FROM T WHERE id = c)) q",
    "SELECT a, q.c FROM R, LATERAL (SELECT c FROM S WHERE S.v IN (SELECT y FROM T WHERE id = R.b)) q",
    "SELECT a, q.d FROM R, LATERAL (SELECT c AS d, ROW_NUMBER() OVER (ORDER BY c, v NULLS FIRST) AS n FROM S"
    " WHERE k = a QUALIFY n <= 1) q",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S, LATERAL (SELECT y FROM T WHERE id = S.c) q WHERE S.k = R.a)",
    "SELECT a, q.c FROM R LEFT JOIN T ON a = id, LATERAL (SELECT c FROM S WHERE S.k = T.y) q",
    "SELECT a, q.c FROM R LEFT JOIN LATERAL (SELECT c FROM S WHERE S.k <> R.a AND S.c = R.b) q ON true",
    "SELECT b, SUM(q.c) AS t FROM R, LATERAL (SELECT c FROM S WHERE S.k = R.a) q GROUP BY b",
]
_C_OF_S = "LATERAL (SELECT c FROM S WHERE S.k = R.a) q"
APPLIED = {  # as SQL Server has it, and what it means
    "SELECT a, q.c FROM R CROSS APPLY (SELECT c FROM S WHERE S.k = R.a) q": f"SELECT a, q.c FROM R, {_C_OF_S}",
    "SELECT a, q.c FROM R OUTER APPLY (SELECT c FROM S WHERE S.k = R.a) q": f"SELECT a, q.c FROM R LEFT JOIN {_C_OF_S}"
    " ON true",
    "SELECT a, q.c FROM R OUTER APPLY (SELECT c FROM S WHERE S.k = R.a) q ON q.c > 1": "SELECT a, q.c FROM R LEFT JOIN"
    f" {_C_OF_S} ON q.c > 1",
    "SELECT R.a, q.c, T.y FROM R OUTER APPLY (SELECT c FROM S WHERE S.k = R.a) AS q JOIN T ON T.id = R.b": "SELECT R.a,"
    f" q.c, T.y FROM R LEFT JOIN {_C_OF_S} ON true JOIN T ON T.id = R.b",
}
PRODUCTS = [
    "SELECT a, q.m FROM R, LATERAL (SELECT c + R.b AS m FROM S WHERE S.k < R.a) q",
    "SELECT a FROM R, LATERAL (SELECT c FROM S) q",
]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    found = Catalog()
    for name, columns in TABLES.items():
        found.add(parse_columns(name, columns))
    return found


@pytest.mark.parametrize("sql", [*QUERIES, *PRODUCTS])
def test_same_rows_as_duckdb(sql: str, catalog: Catalog) -> None:
    root, written = bind_query(sql, catalog, allow_product=sql in PRODUCTS).root, to_duckdb(sql, catalog)
    for seed, rows in ((1, 12), (3, 1), (4, 0)):
        connection = connect()
        fill(connection, catalog, seed, rows)
        expected = Counter(connection.sql(sql).fetchall())
        assert Counter(evaluate(root, connection)) == expected, sql
        assert Counter(connection.sql(written).fetchall()) == expected, written


@pytest.mark.parametrize(("sql", "meant"), APPLIED.items())
def test_apply_is_lateral(sql: str, meant: str, catalog: Catalog) -> None:
    root, written = bind_query(sql, catalog).root, to_duckdb(sql, catalog)
    connection = connect()
    fill(connection, catalog, 1, 12)
    expected = Counter(connection.sql(meant).fetchall())
    assert Counter(evaluate(root, connection)) == expected
    assert Counter(connection.sql(written).fetchall()) == expected


def test_equal_to_duckdb_after_every_commit() -> None:
    lives = Lives(TABLES, 5, threads=2)
    for sql in [*QUERIES[:9], *PRODUCTS]:
        assert lives.create(sql), sql
    for _ in range(12):
        lives.commit()


def test_a_plain_one_is_merged_into_the_join() -> None:
    database = Database()
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    sql = "SELECT a, q.c FROM R, LATERAL (SELECT c FROM S WHERE S.k = R.a) q"
    told = database.explain(sql)
    assert len(database.create_view("v", sql)._query.joins) == 1
    assert "stored" not in str(told)


# A ^ marks the position that the error must name; it is not part of the text.
REFUSED = [
    ("SELECT * FROM R, LATERAL (^VALUES (R.a), (2)) q(k)", "write LATERAL (SELECT ...)"),
    ("SELECT * FROM R, ^LATERAL explode(R.a) q", "write LATERAL (SELECT ...)"),
    ("SELECT a FROM R JOIN (S JOIN ^LATERAL (SELECT y FROM T WHERE id = S.c) q ON true) ON a = k", "in parentheses"),
    ("SELECT a FROM R RIGHT JOIN LATERAL (SELECT ^y FROM T WHERE id = R.a) q ON true", "RIGHT JOIN LATERAL"),
    (
        "SELECT a FROM R, LATERAL (SELECT y FROM T WHERE id = R.a ^UNION ALL SELECT c FROM S) q",
        "is correlated by R.a, the right one by none",
    ),
    ("SELECT a FROM R, (SELECT y FROM T WHERE id = ^R.a) q", "Write LATERAL before the query"),
    (
        "SELECT a FROM R LEFT JOIN S ON a = k AND c IN (SELECT id FROM T), ^LATERAL (SELECT y FROM T WHERE id = R.a) q",
        "with a sub-query in ON",
    ),
]


@pytest.mark.parametrize(("marked", "message"), REFUSED)
def test_refusals_name_the_position(marked: str, message: str, catalog: Catalog) -> None:
    with pytest.raises(UnsupportedQueryError, match=re.escape(message)) as caught:
        bind_query(marked.replace("^", ""), catalog)
    assert type(caught.value) is UnsupportedQueryError
    assert caught.value.column == marked.index("^") + 1
