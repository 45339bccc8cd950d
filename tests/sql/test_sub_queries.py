"""Sub-queries in expressions: what a text is bound to, evaluated by its definition, gives the rows of DuckDB."""

from __future__ import annotations

import re
from collections import Counter

import duckdb
import pytest
from random_sub_queries import TABLES, Texts
from relations import evaluate
from sql_fixtures import fill

from livejoin.catalog import Catalog
from livejoin.errors import UnknownNameError, UnsupportedQueryError
from livejoin.sql import bind_query, parse_columns, to_duckdb
from oracle import connect
from strategies import IS_FUZZ, seeds

QUERIES = [
    # EXISTS, with other conditions, several tables, sub-queries within, tables of two occurrences outside.
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE S.k = R.a AND v > 1)",
    "SELECT a FROM R WHERE EXISTS (SELECT * FROM S WHERE v > 1 LIMIT 1)",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE R.x > 1 AND S.k = R.a)",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE R.x > 1)",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S, T WHERE S.k = R.a AND T.id = S.c AND T.y = b)",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE S.k = R.a AND NOT EXISTS (SELECT 1 FROM T WHERE id = c))",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND NOT EXISTS (SELECT 1 FROM T WHERE id = a))",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND NOT EXISTS (SELECT 1 FROM R q WHERE q.a = c))",
    "SELECT a, v FROM R, S WHERE a = k AND EXISTS (SELECT 1 FROM T WHERE T.id = R.a AND T.y = S.c)",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S, T WHERE S.k = R.a AND T.y = R.b AND S.c < T.id)",
    "SELECT a FROM R WHERE EXISTS (SELECT COUNT(*) FROM S WHERE k = a)",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT COUNT(*) FROM S WHERE k = a HAVING COUNT(*) < 2)",
    "SELECT a FROM R WHERE EXISTS (SELECT c FROM S WHERE k = a GROUP BY c HAVING COUNT(*) > 1)",
    "SELECT DISTINCT a FROM R LEFT JOIN T ON a = id WHERE EXISTS (SELECT 1 FROM S WHERE S.k = T.y)",
    "SELECT a, y FROM R LEFT JOIN T ON a = id WHERE NOT EXISTS (SELECT 1 FROM S WHERE S.k = T.y)",
    # One comparison besides equalities.
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE S.k = R.a AND S.c <> R.b)",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE S.k = R.a AND R.b <> S.v AND v > 0)",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE S.k = R.a AND S.c < R.b)",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE S.c >= R.b + 1)",
    "SELECT a FROM R WHERE b IN (SELECT c FROM S WHERE S.v < R.x)",
    # IN and NOT IN, with NULLs on either side, of several columns, of queries with groups, of set operations.
    "SELECT a FROM R WHERE a IN (SELECT k FROM S)",
    "SELECT a FROM R WHERE a NOT IN (SELECT k FROM S)",
    "SELECT a FROM R WHERE a NOT IN (SELECT k FROM S WHERE k IS NOT NULL)",
    "SELECT a FROM R WHERE a NOT IN (SELECT k FROM S WHERE v > 100)",
    "SELECT a FROM R WHERE a NOT IN (SELECT k FROM S WHERE S.c = R.b)",
    "SELECT a FROM R WHERE b NOT IN (SELECT c FROM S WHERE k = a)",
    "SELECT a FROM R WHERE NOT (b IN (SELECT id FROM T)) AND NOT (NOT (a IN (SELECT id FROM T)))",
    "SELECT a FROM R WHERE (a, b) IN (SELECT k, c FROM S)",
    "SELECT a FROM R WHERE (b, b) NOT IN (SELECT c, c FROM S)",
    "SELECT a FROM R WHERE a + 1 IN (SELECT k FROM S) AND 2 IN (SELECT k FROM S)",
    "SELECT a FROM R WHERE a IN (SELECT k FROM S GROUP BY k HAVING SUM(v) > 3)",
    "SELECT a FROM R WHERE a NOT IN (SELECT MAX(k) FROM S WHERE c = b GROUP BY v)",
    "SELECT a FROM R WHERE a IN (SELECT MAX(k) FROM S WHERE c = b)",
    "SELECT a FROM R WHERE a IN (SELECT k FROM S UNION SELECT id FROM T) AND x IN (SELECT DISTINCT v FROM S)",
    "SELECT a FROM R WHERE a IN (SELECT k FROM S ORDER BY v DESC NULLS LAST, k NULLS FIRST LIMIT 3)",
    "SELECT a FROM R WHERE a IN (WITH w AS (SELECT k FROM S WHERE v > 1) SELECT k FROM w)",
    "SELECT a FROM R WHERE a = ANY (SELECT k FROM S) AND b <> ALL (SELECT k FROM S WHERE k > 1)",
    "SELECT a FROM R WHERE b IN (SELECT c FROM S WHERE v > (SELECT AVG(y) FROM T WHERE T.id = S.k) AND k = R.a)",
    # Scalar sub-queries.
    "SELECT a, (SELECT MAX(v) FROM S) AS m FROM R",
    "SELECT a, (SELECT MAX(v) FROM S WHERE v > 100) AS m FROM R",
    "SELECT a, (SELECT COUNT(*) FROM S WHERE S.k = R.a) AS m FROM R",
    "SELECT a, (SELECT COUNT(v) + SUM(v) FROM S WHERE S.k = R.a AND R.x > 0) AS m FROM R",
    "SELECT a, (SELECT COUNT(v) + R.b FROM S WHERE S.k = R.a) AS m FROM R",
    "SELECT a, (SELECT SUM(v) FROM S WHERE S.k = R.a HAVING COUNT(*) > 1) AS m FROM R",
    "SELECT a FROM R WHERE x > (SELECT AVG(v) FROM S WHERE S.k = R.a)",
    "SELECT a FROM R WHERE x >= (SELECT COUNT(*) FROM S WHERE S.k = R.a AND S.c = R.b)",
    "SELECT a, (SELECT y FROM T WHERE T.id = R.a) AS m, (SELECT 1 FROM T WHERE T.id = R.a) AS n FROM R",
    "SELECT a, (SELECT MAX(v) FROM S GROUP BY k HAVING k = 1) AS m FROM R",
    "SELECT a, (SELECT k FROM S ORDER BY v NULLS FIRST, k NULLS FIRST LIMIT 1) AS m FROM R",
    "SELECT a, (SELECT DISTINCT T.y FROM S, T WHERE T.id = S.k AND S.k = R.a) AS m FROM R",
    "SELECT SUM((SELECT COUNT(*) FROM S WHERE k = a)) AS n FROM R",
    "SELECT (SELECT COUNT(*) FROM S WHERE k = a) AS n, COUNT(*) AS m FROM R"
    " GROUP BY (SELECT COUNT(*) FROM S WHERE k = a)",
    "SELECT a, (SELECT MIN(y) FROM T WHERE y > (SELECT COUNT(*) FROM S WHERE S.k = T.id)) AS n FROM R",
    "SELECT a, x FROM R ORDER BY (SELECT COUNT(*) FROM S WHERE k = a), a NULLS FIRST, x NULLS FIRST LIMIT 3",
    "WITH w AS (SELECT k, SUM(v) t FROM S GROUP BY k) SELECT k FROM w WHERE t = (SELECT MAX(t) FROM w)",
    # With a LIMIT, with window functions, and NOT IN of columns that may be NULL.
    "SELECT a, (SELECT v FROM S WHERE k = a ORDER BY c, v NULLS FIRST LIMIT 1) AS m FROM R",
    "SELECT a FROM R WHERE b IN (SELECT c FROM S WHERE k = a ORDER BY v NULLS FIRST, c LIMIT 2)",
    "SELECT a FROM R WHERE b IN (SELECT c FROM S WHERE k = a ORDER BY v DESC NULLS LAST, c LIMIT 1 OFFSET 1)",
    "SELECT a, (SELECT SUM(v) AS s FROM S WHERE k = a GROUP BY c ORDER BY s DESC NULLS LAST, c LIMIT 1) AS m FROM R",
    "SELECT a, (SELECT MAX(v) FROM S WHERE k = a ORDER BY 1 LIMIT 1) AS m FROM R",
    "SELECT a, (SELECT DISTINCT v FROM S WHERE k = a ORDER BY v NULLS FIRST LIMIT 1) AS m FROM R",
    "SELECT a FROM R WHERE EXISTS (SELECT v FROM S WHERE k = a ORDER BY c, v LIMIT 0)",
    "SELECT a FROM R WHERE EXISTS (SELECT v FROM S WHERE k = a ORDER BY c, v LIMIT 1 OFFSET 1)",
    "SELECT a FROM R WHERE x IN (SELECT SUM(v) OVER (PARTITION BY c) FROM S WHERE k = a)",
    "SELECT a FROM R WHERE x IN (SELECT SUM(v) OVER () FROM S WHERE k = a)",
    "SELECT a FROM R WHERE x IN (SELECT v FROM S WHERE k = a QUALIFY ROW_NUMBER() OVER (PARTITION BY c ORDER BY"
    " v NULLS FIRST) = 1)",
    "SELECT a, (SELECT DISTINCT ON (k) v FROM S WHERE k = a ORDER BY k, c, v NULLS FIRST) AS m FROM R",
    "SELECT a FROM R WHERE x IN (SELECT SUM(COUNT(*)) OVER () FROM S WHERE k = a GROUP BY c)",
    "SELECT a FROM R WHERE (a, x) NOT IN (SELECT k, v FROM S)",
    "SELECT a FROM R WHERE (a, b) NOT IN (SELECT k, c FROM S)",
    "SELECT a FROM R WHERE (a, b, x) NOT IN (SELECT k, c, v FROM S)",
    "SELECT a, (a, x) IN (SELECT k, v FROM S) AS m, (a, b) NOT IN (SELECT k, c FROM S) AS n FROM R",
    "SELECT a, (SELECT SUM(c) FROM (WITH w AS (SELECT k, c FROM S WHERE v > 0) SELECT c FROM w WHERE w.k = R.a) q) AS n"
    " FROM R",
    # Set operations.
    "SELECT a FROM R WHERE EXISTS (SELECT c FROM S WHERE k = R.a UNION SELECT y FROM T WHERE id = R.a)",
    "SELECT a FROM R WHERE b IN (SELECT c FROM S WHERE k = R.a UNION ALL SELECT y FROM T WHERE id = R.a)",
    "SELECT a FROM R WHERE b NOT IN (SELECT c FROM S WHERE k = R.a INTERSECT SELECT y FROM T WHERE z = R.a)",
    "SELECT a, b IN (SELECT c FROM S WHERE k = R.a EXCEPT SELECT y FROM T WHERE z = R.a) AS m FROM R",
    "SELECT a FROM R WHERE x > ALL (SELECT v FROM S WHERE k = R.a AND c = R.b EXCEPT ALL SELECT z FROM T WHERE"
    " id = R.b AND y = R.a)",
    "SELECT a FROM R WHERE x IN (SELECT SUM(v) FROM S WHERE k = R.a GROUP BY c UNION SELECT DISTINCT z FROM T"
    " WHERE y = R.a UNION ALL SELECT v FROM S WHERE k = R.a AND v > 1)",
    "SELECT a, (SELECT SUM(q.u) FROM (SELECT c AS u FROM S WHERE k = R.a UNION ALL SELECT y FROM T WHERE id ="
    " R.a) q) AS n FROM R",
    # In queries in FROM of sub-queries.
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM (SELECT k, c + 1 AS d FROM S WHERE k = R.a) s1, (SELECT id + 1"
    " AS e FROM T WHERE y = R.a) s2 WHERE s1.d = s2.e)",
    "SELECT a, (SELECT COUNT(*) FROM (SELECT k, v FROM S WHERE c = R.b) q LEFT JOIN T ON id = k) AS n FROM R",
    "SELECT a, (SELECT COUNT(y) FROM S LEFT JOIN (SELECT id, y FROM T WHERE z = R.x) q ON id = k) AS n FROM R",
    "SELECT a, (SELECT MAX(m) FROM (SELECT MAX(v) AS m FROM S WHERE k = R.a GROUP BY c) q) AS n FROM R",
    "SELECT a, (SELECT SUM(d) FROM (SELECT DISTINCT c AS d FROM S WHERE k = R.a) q) AS n FROM R",
    "SELECT a, (SELECT SUM(v) FROM (SELECT v FROM S WHERE k = R.a ORDER BY v NULLS FIRST LIMIT 2) q) AS n FROM R",
    "SELECT a, (SELECT SUM(w) FROM (SELECT SUM(v) OVER () AS w FROM S WHERE k = R.a) q) AS n FROM R",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM (SELECT DISTINCT k, c FROM S WHERE v = R.x) q WHERE q.c = R.b)",
    "SELECT a, (SELECT SUM(q.c) FROM (SELECT k, c FROM S WHERE k = R.a QUALIFY RANK() OVER (PARTITION BY v ORDER"
    " BY c) = 1) q) AS n FROM R",
    # In ON of outer, semi and anti joins: over either side, over both, in joins within joins.
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND S.c IN (SELECT id FROM T)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND S.c IN (SELECT id FROM T WHERE y = S.v)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND R.b IN (SELECT id FROM T WHERE y = R.a)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND EXISTS (SELECT 1 FROM T WHERE y = R.b AND z = S.c)",
    "SELECT R.a, S.c FROM R RIGHT JOIN S ON R.a = S.k AND R.x NOT IN (SELECT y FROM T)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND S.v NOT IN (SELECT y FROM T WHERE z = R.b)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND (S.v > (SELECT MIN(y) FROM T) OR EXISTS (SELECT 1 FROM"
    " T WHERE id = R.b))",
    "SELECT R.a FROM R SEMI JOIN S ON R.a = S.k AND S.c IN (SELECT id FROM T WHERE y = R.b)",
    "SELECT R.a FROM R ANTI JOIN S ON R.a = S.k AND S.c NOT IN (SELECT y FROM T)",
    "SELECT R.a, S.c FROM R FULL JOIN S ON R.a = S.k AND S.c IN (SELECT id FROM T)",
    "SELECT R.a, S.c FROM R FULL JOIN S ON R.a = S.k AND R.b = (SELECT MIN(z) FROM T WHERE y = S.c)",
    "SELECT R.a, S.c, T.z FROM R LEFT JOIN S ON R.a = S.k AND S.c > (SELECT COUNT(*) FROM T WHERE y = S.k) LEFT"
    " JOIN T ON T.id = S.c AND T.z IN (SELECT x FROM R R2 WHERE R2.a = S.v)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND EXISTS (SELECT 1 FROM T WHERE y > S.v) WHERE R.b IN"
    " (SELECT y FROM T) AND S.c <> ALL (SELECT z FROM T WHERE y = S.v)",
    "SELECT R.a, q.c FROM R LEFT JOIN (SELECT k, c FROM S LEFT JOIN T ON T.id = S.c AND T.y IN (SELECT a FROM R"
    " R2)) q ON R.a = q.k",
    "SELECT R.a, S.c, T.z FROM R LEFT JOIN (S LEFT JOIN T ON T.id = S.c AND T.y IN (SELECT a FROM R R2 WHERE"
    " R2.b = S.k)) ON R.a = S.k AND T.z > (SELECT COUNT(*) FROM R R3 WHERE R3.a = T.y AND R3.b = R.b)",
    "SELECT R.a, COUNT(S.c) AS n FROM R LEFT JOIN S ON R.a = S.k AND S.c NOT IN (SELECT id FROM T WHERE T.y ="
    " S.v) GROUP BY R.a",
    "SELECT R.a, S.c FROM R FULL JOIN S ON R.a = S.k AND S.c IN (SELECT id FROM T) WHERE R.a IS NOT NULL",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S LEFT JOIN T ON id = c AND z IN (SELECT v FROM S S2 WHERE S2.k"
    " = T.y) WHERE k = a)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON a = k AND EXISTS (SELECT 1 FROM T WHERE id = c AND z IN (SELECT R2.x"
    " FROM R R2 WHERE R2.a = R.b))",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON EXISTS (SELECT 1 FROM T WHERE y > 1) AND a = k AND NOT EXISTS (SELECT"
    " 1 FROM T WHERE y > 2 AND id = c)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a IN (SELECT id FROM T WHERE id = R.a)",
    "SELECT R.a, S.c FROM R FULL JOIN S ON a = k AND x >= ALL (SELECT q.z FROM (SELECT id, z FROM T WHERE z NOT IN"
    " (SELECT y FROM T p)) q WHERE q.id = S.c) WHERE R.b IS NULL OR R.b IN (SELECT id FROM T)",
    # Values that are TRUE, FALSE or NULL.
    "SELECT a FROM R WHERE a = 3 OR EXISTS (SELECT 1 FROM S WHERE S.k = R.a)",
    "SELECT a, EXISTS (SELECT 1 FROM S) AS m, NOT EXISTS (SELECT 1 FROM S WHERE k = a) AS n FROM R",
    "SELECT a, a IN (SELECT k FROM S WHERE S.c = R.b) AS m, b NOT IN (SELECT k FROM S) AS n FROM R",
    "SELECT a, a IN (SELECT k FROM S WHERE v > 100) AS m FROM R",
    "SELECT a, b IN (SELECT c FROM S WHERE k = a) AS m FROM R",
    "SELECT a, a IN (SELECT MAX(k) FROM S WHERE c = b) AS m FROM R",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM S WHERE k = a) THEN 1 ELSE 2 END AS z FROM R",
    "SELECT a FROM R WHERE NOT (a IN (SELECT k FROM S) AND b IN (SELECT id FROM T))",
    *(
        f"SELECT a, x {comparison} {quantifier} (SELECT v FROM S WHERE k = a{more}) AS m FROM R"
        for comparison in ("=", "<>", "<", "<=", ">", ">=")
        for quantifier, more in (("ANY", ""), ("ALL", " AND v IS NOT NULL"), ("ALL", ""))
    ),
    "SELECT a FROM R WHERE x > ALL (SELECT v FROM S WHERE k = a) OR b < ANY (SELECT k FROM S)",
    # In ON.
    "SELECT a, v FROM R JOIN S ON a = k AND EXISTS (SELECT 1 FROM T WHERE id = c) WHERE b IN (SELECT y FROM T)",
    "SELECT a, v FROM R JOIN S ON k = (SELECT MAX(y) FROM T WHERE id = a)",
    # In FROM of a sub-query.
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM (SELECT c FROM S WHERE k = a) q WHERE c > 1)",
    "SELECT a, (SELECT SUM(n) FROM (SELECT c, COUNT(*) AS n FROM S WHERE k = a GROUP BY c) q WHERE c >= b) AS m FROM R",
    "SELECT a, b IN (SELECT z FROM (SELECT c + R.b AS z FROM S WHERE k = a) q WHERE z > 1) AS m FROM R",
    "SELECT a, COUNT(*) AS n FROM R GROUP BY a HAVING EXISTS (SELECT 1 FROM (SELECT c FROM S WHERE k = a) q)",
    # Without FROM.
    "SELECT a FROM R WHERE EXISTS (SELECT 3) AND b < (SELECT 3) AND NOT EXISTS (SELECT 1 WHERE x = 2)",
    "SELECT a, (SELECT a + 1) AS m, (SELECT 4 WHERE x > 1) AS n, (SELECT (SELECT MAX(v) FROM S WHERE k = a)) o FROM R",
    "SELECT a, a NOT IN (SELECT 1 WHERE b < 3) AS m, (a, b) IN (SELECT 1, 1) AS n, x > ALL (SELECT 2) AS o FROM R",
    "SELECT a, x >= ANY (SELECT b WHERE a > 1) AS m, x < ALL (SELECT b WHERE a > 1) AS n FROM R",
    "SELECT a FROM R WHERE a = (SELECT MAX(k) FROM S WHERE EXISTS (SELECT 1 WHERE c = b))",
    # Over groups.
    "SELECT a, SUM(x) AS s FROM R GROUP BY a HAVING SUM(x) > (SELECT AVG(v) FROM S)",
    "SELECT a, COUNT(*) AS n FROM R GROUP BY a HAVING COUNT(*) > 1 AND EXISTS (SELECT 1 FROM T WHERE T.id = R.a)",
    "SELECT a, COUNT(*) + (SELECT COUNT(*) FROM S WHERE k = a) AS n FROM R WHERE b IN (SELECT c FROM S) GROUP BY a",
    "SELECT COUNT(*) AS n, (SELECT COUNT(*) FROM S) AS m FROM R HAVING MAX(x) IN (SELECT v FROM S)",
    "SELECT a FROM R GROUP BY a HAVING SUM(x) NOT IN (SELECT v FROM S WHERE S.k = R.a)",
    "SELECT a FROM R WHERE b IN (SELECT k FROM S GROUP BY k HAVING COUNT(*) >= (SELECT COUNT(*) FROM T WHERE id = k))",
]
# Correlated by more than equalities, with an equality beside it and without one, which is a product.
GENERAL = [
    "SELECT a, (SELECT MAX(v) FROM S WHERE S.v < R.x AND k = a) AS m FROM R",
    "SELECT a, x > ALL (SELECT v FROM S WHERE S.c <> R.b AND k = a) AS m FROM R",
    "SELECT a FROM R WHERE EXISTS (SELECT k FROM S WHERE c = b GROUP BY k HAVING MAX(v) > R.x)",
    "SELECT a, (SELECT SUM(S.v * R.x) FROM S WHERE k = a) AS m FROM R",
    "SELECT a, EXISTS (SELECT 1 FROM S WHERE k = a AND v > x AND c < b) AS n FROM R",
    "SELECT a, (SELECT MAX(S.v + R.b) FROM S WHERE k = a AND EXISTS (SELECT 1 FROM T WHERE y = c AND z = x)) m FROM R",
    "SELECT a, y FROM R LEFT JOIN T ON a = id WHERE x > (SELECT COUNT(*) FROM S WHERE k < y AND c = a)",
    "SELECT a, (SELECT v + x FROM S WHERE k = a AND v < 0) AS m FROM R",
    "SELECT a, (SELECT COUNT(*) FROM S JOIN T ON k = id AND y = R.a) AS n FROM R",
    "SELECT a, (SELECT COUNT(y) FROM S LEFT JOIN T ON k = id AND y = R.a WHERE c = b) AS n FROM R",
    "SELECT a, (SELECT SUM((SELECT y + R.b FROM T WHERE id = k)) FROM S WHERE c = b) AS n FROM R",
    "SELECT a, (SELECT COUNT(*) FROM S WHERE k = a AND c = ANY (SELECT y FROM T WHERE id > R.b)) AS n FROM R",
    "SELECT a, (SELECT SUM(s1.k) FROM (SELECT k FROM S WHERE c = R.b) s1 INNER JOIN (SELECT id FROM T WHERE y ="
    " 4 - R.a) s2 ON s1.k > s2.id) AS j FROM R",
    "SELECT a, (SELECT COUNT(*) FROM S WHERE S.v < R.x) AS m FROM R",
    "SELECT a, SUM(x) AS s FROM R GROUP BY a HAVING SUM(x) > (SELECT AVG(v) FROM S WHERE k < a)",
    "SELECT a FROM R WHERE x = (SELECT COUNT(*) FROM S q WHERE q.k BETWEEN R.a AND R.b)",
]
PRODUCTS = [
    "SELECT a, (SELECT v FROM S WHERE c > R.b ORDER BY c, v NULLS FIRST, k LIMIT 1) AS m FROM R",
    "SELECT a FROM R WHERE x IN (SELECT COUNT(*) OVER () FROM S WHERE c > R.b)",
    "SELECT R.a, S.c FROM R LEFT JOIN S ON R.a = S.k AND S.v < (SELECT MAX(z) FROM T WHERE y <> R.b AND z <>"
    " S.c) WHERE S.c IS NULL",
    "SELECT l.a, r.k FROM R l LEFT JOIN S r ON r.k = CASE WHEN l.x >= 2 THEN (SELECT MIN(y) FROM T WHERE id ="
    " l.a) ELSE NULL END",
    "SELECT l.a, r.k FROM R l LEFT JOIN S r ON r.k IS NULL OR (r.k = l.a AND l.b NOT IN (SELECT y FROM T))",
    "SELECT a, (SELECT COUNT(*) FROM S WHERE k = a AND v > (SELECT AVG(z) FROM T WHERE y < x)) AS n FROM R",
    "SELECT a, (SELECT COUNT(*) FROM S WHERE k = a OR v = x) AS n FROM R",
    "SELECT a, EXISTS (SELECT 1 FROM S WHERE k = a OR v = x) AS n FROM R",
    "SELECT a, a IN (SELECT k FROM S WHERE v > x) AS n FROM R",
    "SELECT a FROM R WHERE a NOT IN (SELECT k FROM S WHERE v > x AND c < b)",
    "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM T WHERE id = a AND 1 = (SELECT MAX(c) FROM S WHERE k = id OR v = 3))",
    "SELECT a, b + 1 IN (SELECT k + R.b FROM S) AS n FROM R",
    "SELECT a FROM R WHERE b NOT IN (SELECT k + R.b FROM S)",
]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    found = Catalog()
    for name, columns in TABLES.items():
        found.add(parse_columns(name, columns))
    return found


@pytest.fixture(scope="module")
def connections(catalog: Catalog) -> list[duckdb.DuckDBPyConnection]:
    """Databases with many rows, with few, and with none."""
    found = []
    for seed, rows in ((1, 12), (2, 5), (3, 1), (4, 0))[:: 1 if IS_FUZZ else 3]:
        connection = connect()
        fill(connection, catalog, seed, rows)
        found.append(connection)
    return found


def _check(
    sql: str, catalog: Catalog, connections: list[duckdb.DuckDBPyConnection], *, allow_product: bool = False
) -> None:
    root, written = bind_query(sql, catalog, allow_product=allow_product).root, to_duckdb(sql, catalog)
    for connection in connections:
        expected = Counter(connection.sql(sql).fetchall())
        assert Counter(evaluate(root, connection)) == expected, sql
        assert Counter(connection.sql(written).fetchall()) == expected, written


@pytest.mark.parametrize("sql", [*QUERIES, *GENERAL])
def test_same_rows_as_duckdb(sql: str, catalog: Catalog, connections: list[duckdb.DuckDBPyConnection]) -> None:
    _check(sql, catalog, connections)


@pytest.mark.parametrize("sql", PRODUCTS)
def test_same_rows_where_products_are_allowed(
    sql: str, catalog: Catalog, connections: list[duckdb.DuckDBPyConnection]
) -> None:
    with pytest.raises(UnsupportedQueryError, match="allow_product"):
        bind_query(sql, catalog)
    _check(sql, catalog, connections, allow_product=True)


# What DuckDB does not run, and the same in other words.
TUPLES = [
    (
        "SELECT a FROM R WHERE (a, x) NOT IN (SELECT k, v FROM S WHERE c = b)",
        "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE c = b AND (k = a OR k IS NULL OR a IS NULL)"
        " AND (v = x OR v IS NULL OR x IS NULL))",
    ),
    (
        "SELECT a, x, (a, x) IN (SELECT k, v FROM S WHERE c = b) AS m FROM R",
        "SELECT a, x, CASE WHEN EXISTS (SELECT 1 FROM S WHERE c = b AND k = a AND v = x) THEN TRUE WHEN EXISTS"
        " (SELECT 1 FROM S WHERE c = b AND (k = a OR k IS NULL OR a IS NULL) AND (v = x OR v IS NULL OR x IS NULL))"
        " THEN NULL ELSE FALSE END FROM R",
    ),
    (
        "SELECT a, c FROM R LEFT JOIN S ON a = k AND (a, v) NOT IN (SELECT y, z FROM T WHERE id = b)",
        "SELECT a, c FROM R LEFT JOIN S ON a = k AND NOT EXISTS (SELECT 1 FROM T WHERE id = b"
        " AND (y = a OR y IS NULL OR a IS NULL) AND (z = v OR z IS NULL OR v IS NULL))",
    ),
]


@pytest.mark.parametrize(("sql", "same"), TUPLES)
def test_correlated_not_in_of_columns_that_may_be_null(
    sql: str, same: str, catalog: Catalog, connections: list[duckdb.DuckDBPyConnection]
) -> None:
    root = bind_query(sql, catalog).root
    for connection in connections:
        assert Counter(evaluate(root, connection)) == Counter(connection.sql(same).fetchall())


# A ^ marks the position that the error must name; it is not part of the text.
REFUSED = [
    (
        "SELECT a FROM R WHERE b IN (SELECT DISTINCT c FROM S WHERE k = a ORDER BY ^v LIMIT 3)",
        "ORDER BY",
        "an expression that it does not show",
    ),
    ("SELECT a FROM R WHERE a = (SELECT MAX(k) FROM S WHERE ^S.v < R.x)", "<", "allow_product=True"),
    ("SELECT a FROM R WHERE (a, a, x, x) NOT IN (^SELECT k, v, k, v FROM S)", "NOT IN", "compares in 81 ways"),
    ("SELECT a FROM R WHERE a IN (^SELECT k, v FROM S)", "sub-query", "has 2 columns, and 1 are asked for"),
    ("SELECT (^SELECT k, v FROM S) AS z FROM R", "sub-query", "has 2 columns"),
    ("SELECT a FROM R WHERE (a, b) < ANY (^SELECT k, c FROM S)", "sub-query", "write EXISTS"),
    (
        "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM (SELECT DISTINCT k FROM S WHERE v < ^x) q)",
        "sub-query",
        "equalities",
    ),
    (
        "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM (SELECT k FROM S WHERE c > "
        "(SELECT COUNT(*) FROM T WHERE id < ^b AND y = k)) q WHERE k = 1)",
        "sub-query",
        "not right around",
    ),
    ("SELECT a FROM R WHERE EXISTS (SELECT 1 FROM (SELECT MAX(k) FROM S WHERE v = ^x) q)", "sub-query", "aggregates"),
    ("SELECT (SELECT ^SUM(R.x) FROM S) AS m FROM R", "SUM", "where it belongs"),
    ("SELECT EXISTS (SELECT k + ^MIN(R.x) FROM S) AS m FROM R", "MIN", "where it belongs"),
    ("SELECT a FROM R GROUP BY a HAVING EXISTS (SELECT 1 FROM S WHERE k = ^b)", "GROUP BY", "not in GROUP BY"),
    ("SELECT a FROM R WHERE a IN (SELECT MAX(k) FROM S WHERE c = ^b HAVING COUNT(*) > 1)", "sub-query", "HAVING"),
    (
        "SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S FULL JOIN ^T ON id = c AND z = a)",
        "FULL JOIN",
        "R.a is a column of the query around",
    ),
    ("SELECT (SELECT ^v FROM S GROUP BY k) AS m FROM R", "GROUP BY", "the column v"),
]


@pytest.mark.parametrize(("marked", "clause", "message"), REFUSED)
def test_refusals_name_clause_and_position(marked: str, clause: str, message: str, catalog: Catalog) -> None:
    sql = marked.replace("^", "")
    with pytest.raises(UnsupportedQueryError, match=re.escape(message)) as caught:
        bind_query(sql, catalog)
    assert type(caught.value) is UnsupportedQueryError
    assert (caught.value.clause, caught.value.line, caught.value.column) == (clause, 1, marked.index("^") + 1)


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE k = a AND ^z = 3)", "no column 'z'"),
        ("SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE k = ^Q.a)", "no table or alias 'Q'"),
        ("SELECT 1 FROM R, R q WHERE EXISTS (SELECT 1 FROM S WHERE k = ^a)", "ambiguous"),
        ("SELECT a FROM R WHERE EXISTS (SELECT 1 FROM S WHERE k = R.^nothing)", "has no column 'nothing'"),
    ],
)
def test_unknown_names(marked: str, message: str, catalog: Catalog) -> None:
    sql = marked.replace("^", "")
    with pytest.raises(UnknownNameError, match=message) as caught:
        bind_query(sql, catalog)
    assert caught.value.column == marked.index("^") + 1


@pytest.mark.parametrize("first", seeds(8, 64)[::8])
def test_random_texts(first: int, catalog: Catalog, connections: list[duckdb.DuckDBPyConnection]) -> None:
    bound = 0
    for seed in range(first, first + 8):
        sql = Texts(seed).query()
        try:
            bind_query(sql, catalog, allow_product=True)
        except UnsupportedQueryError:
            continue
        bound += 1
        _check(sql, catalog, connections[:2], allow_product=True)
    assert bound >= 4
