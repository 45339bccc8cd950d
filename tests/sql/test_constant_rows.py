"""SELECT without FROM and VALUES: constant rows, as relations that read nothing."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from relations import evaluate
from sql_fixtures import fill, make_catalog

from livejoin.errors import SqlTypeError, UnknownNameError
from livejoin.query.keys import keys
from livejoin.query.relational import Join, Numbers, Project
from livejoin.sql import bind_query, bind_views, to_duckdb
from oracle import connect

CATALOG = make_catalog()


@pytest.fixture(scope="module")
def filled() -> duckdb.DuckDBPyConnection:
    connection = connect()
    fill(connection, CATALOG, seed=7)
    return connection


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS a, 'x' AS b, CAST(NULL AS DOUBLE) AS c, DATE '2024-01-31' AS d",
        "SELECT 1 + 1 AS a WHERE 1 > 2",
        "SELECT COUNT(*) AS n, SUM(2) AS s",
        "SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT src FROM G",
        "SELECT src FROM G EXCEPT SELECT 1",
        "SELECT * FROM (VALUES (1, 'a'), (2, NULL), (NULL, 'b'), (1, 'a')) AS v(x, y)",
        "SELECT x + 1 AS z FROM (VALUES (1), (2.5), (3)) AS v(x) WHERE x > 1",
        "SELECT G.dst, v.y FROM G JOIN (VALUES (1, 'one'), (2, 'two')) AS v(k, y) ON G.src = v.k",
        "SELECT a.x, b.x AS z FROM (VALUES (1), (2)) AS a(x) JOIN (VALUES (2), (3)) AS b(x) ON a.x + 1 = b.x",
        "SELECT v.x, G.dst FROM (VALUES (0), (9)) AS v(x) LEFT JOIN G ON G.src = v.x",
        "SELECT y, COUNT(*) AS n FROM (VALUES (1, 'a'), (2, 'a'), (3, 'b')) AS v(x, y) GROUP BY y",
        "SELECT DISTINCT x FROM (VALUES (1), (1), (NULL), (NULL)) AS v(x)",
        "SELECT x FROM (VALUES (3), (1), (2)) AS v(x) ORDER BY x DESC LIMIT 2",
        "WITH v(x) AS (SELECT * FROM (VALUES (1), (2)) AS q(a)) SELECT v.x, G.src FROM v, G WHERE v.x = G.dst",
        "SELECT src FROM G WHERE EXISTS (SELECT 3) AND dst < (SELECT 3)",
        "SELECT src FROM G WHERE EXISTS (SELECT 3 WHERE 1 = 2) OR src IN (SELECT 1)",
        "SELECT (SELECT COUNT(*) FROM G) AS n, (SELECT 5) AS five",
        "SELECT src FROM G, (SELECT 1 AS one) o WHERE G.src = o.one",
        "SELECT q.a FROM (SELECT 2 AS a) q",
    ],
)
def test_same_rows_as_duckdb(sql: str, filled: duckdb.DuckDBPyConnection) -> None:
    expected = Counter(filled.sql(to_duckdb(sql, CATALOG)).fetchall())
    assert Counter(evaluate(bind_query(sql, CATALOG).root, filled)) == expected


def test_what_they_are() -> None:
    one = bind_query("SELECT 1 AS a", CATALOG).root
    assert isinstance(one, Project)
    assert (one.input, keys(one)) == (Numbers(1), (frozenset(),))
    several = bind_query("SELECT G.src FROM G JOIN VALUES (1), (2) AS v(x) ON G.src = v.x", CATALOG).root
    assert isinstance(several, Join)
    (given,) = several.inputs
    assert isinstance(given.relation, Project)
    assert given.relation.input == Numbers(2)
    assert bind_query("SELECT col1, col2 FROM VALUES (1, 2.5), (NULL, 1)", CATALOG).root.types == given_types()


def given_types() -> tuple[object, ...]:
    return bind_query("SELECT CAST(NULL AS INT) AS a, CAST(1 AS DECIMAL(11, 1)) AS b", CATALOG).root.types


def test_views_of_constants_are_read() -> None:
    views = bind_views({"one": "SELECT 1 AS a", "two": "SELECT a + 1 AS b FROM one"}, CATALOG)
    assert views["two"].tables == ()
    assert bind_query("SELECT G.dst FROM G JOIN two ON G.src = two.b", CATALOG, views).reads == ("two",)


def test_values_name_no_columns() -> None:
    with pytest.raises(UnknownNameError, match="no column 'src' is in scope here; in scope: none"):
        bind_query("SELECT 1 FROM G, VALUES (src) AS v(x)", CATALOG)
    with pytest.raises(UnknownNameError, match="no column 'x' is in scope here; in scope: none"):
        bind_query("SELECT x", CATALOG)
    with pytest.raises(SqlTypeError):
        bind_query("SELECT 1 FROM VALUES (1), (DATE '2024-01-01') AS v(x)", CATALOG)
