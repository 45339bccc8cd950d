"""A whole query as DuckDB text: DuckDB's result of it is that of the bound query, column by column."""

from __future__ import annotations

import duckdb
import pytest
from sql_fixtures import bag, by_definition, fill, make_catalog

from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.errors import SqlSyntaxError, UnknownNameError, UnsupportedQueryError
from livejoin.sql import parse_columns, to_duckdb
from oracle import connect

CATALOG = make_catalog()
CATALOG.add(parse_columns("Words", "`order` BIGINT, `user` BIGINT, offset STRING, src BIGINT"))

MERGED_STARS = [
    "SELECT *, src FROM G A JOIN H B USING (src)",
    "SELECT * FROM G JOIN H USING (dst)",
    "SELECT dst, * FROM H JOIN G USING (dst, src)",
    "SELECT * FROM G NATURAL JOIN H",
    "SELECT * FROM K, G A JOIN H B USING (dst)",
    "SELECT * FROM (G A JOIN K B USING (src)) JOIN H C USING (src)",
    "SELECT * FROM G A JOIN H B USING (dst) JOIN K C ON C.z = B.src",
    "SELECT * FROM g JOIN h USING (DST)",
]
OTHERS = [
    "SELECT * FROM G",
    "SELECT H.*, G.dst FROM G JOIN H USING (dst)",
    "SELECT A.src, B.dst FROM G A JOIN G B",
    "SELECT A.src FROM G A JOIN G B JOIN H C ON B.src = C.src ON A.dst = B.dst",
    "SELECT A.src FROM (G A CROSS JOIN (K B)), H C WHERE A.src = B.src AND B.z = C.src",
    "SELECT `a b`, `q\"x`, \"a'b\", 'it''s', `select` DIV 2, `a b` / 2 FROM Odd WHERE `select` > 1",
    "SELECT order, user, offset FROM Words WHERE user <=> order OR user = 1",
    "SELECT date_add(d, 1), CAST(t AS DATE), CAST(s AS TIMESTAMP) > t FROM H WHERE s IS NULL",
    "SELECT src, src, SRC FROM G WHERE src + dst > 1",
    "FROM G SELECT src",
    "(SELECT ALL src FROM G);",
]


@pytest.fixture(scope="module")
def filled() -> duckdb.DuckDBPyConnection:
    connection = connect()
    connection.execute("SET TimeZone = 'UTC'")
    fill(connection, CATALOG, seed=1)
    return connection


@pytest.mark.parametrize("sql", MERGED_STARS + OTHERS)
def test_same_columns_and_rows_as_the_bound_query(sql: str, filled: duckdb.DuckDBPyConnection) -> None:
    bound = filled.sql(by_definition(bind(sql, CATALOG))).to_arrow_table()
    transpiled = filled.sql(to_duckdb(sql, CATALOG)).to_arrow_table()
    assert bag(transpiled) == bag(bound)
    assert transpiled.schema.types == bound.schema.types


@pytest.mark.parametrize("sql", OTHERS)
def test_other_queries_need_no_catalog(sql: str) -> None:
    assert to_duckdb(sql) == to_duckdb(sql, CATALOG)


@pytest.mark.parametrize("join", ["JOIN H USING (dst)", "NATURAL JOIN H"])
def test_a_star_over_merged_columns_needs_a_catalog(join: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="name them, or give the catalog") as caught:
        to_duckdb(f"SELECT * FROM G {join}")
    assert (caught.value.clause, caught.value.line, caught.value.column) == ("*", 1, 8)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT src, sum(dst) FROM G GROUP BY src",
        "SELECT count(*) FROM G",
        "SELECT src FROM G UNION SELECT dst FROM G",
        "SELECT src FROM G ORDER BY src LIMIT 1",
    ],
)
def test_aggregates_set_operations_and_orders_need_a_catalog(sql: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="the types of its columns are not known without the tables"):
        to_duckdb(sql)
    to_duckdb(sql, CATALOG)


def test_sums_and_averages_have_the_types_of_spark() -> None:
    text = to_duckdb("SELECT sum(src), sum(m), avg(m) FROM H", CATALOG)
    rows = "SELECT 1 AS src, 2.00::DECIMAL(10, 2) AS m UNION ALL SELECT 2, 3.05 UNION ALL SELECT NULL, -6.06"
    columns = "0.5 AS w, '' AS s, DATE '2020-01-01' AS d, TIMESTAMP '2020-01-01' AS t, TRUE AS b, 1 AS dst"
    found = duckdb.sql(f"WITH H AS (SELECT *, {columns} FROM ({rows})) {text}")
    assert [str(kind) for kind in found.types] == ["BIGINT", "DECIMAL(20,2)", "DECIMAL(14,6)"]
    # -1.01 / 3 is -0.3366666..., rounded away from zero.
    assert [str(value) for value in found.fetchall()[0]] == ["3", "-1.01", "-0.336667"]


def test_refusals() -> None:
    with pytest.raises(SqlSyntaxError):
        to_duckdb("SELECT src FROM")
    with pytest.raises(UnsupportedQueryError, match="SORT BY is not supported"):
        to_duckdb("SELECT src FROM G SORT BY src")
    with pytest.raises(UnsupportedQueryError, match="dst is neither in GROUP BY"):
        to_duckdb("SELECT dst FROM G GROUP BY src", CATALOG)
    with pytest.raises(UnsupportedQueryError, match="cannot be written for DuckDB") as caught:
        to_duckdb("SELECT to_char(src, '9') FROM G")
    assert caught.value.clause == "SELECT"
    with pytest.raises(UnsupportedQueryError, match="TO_TIMESTAMP has the patterns and names of Spark"):
        to_duckdb("SELECT to_timestamp(s, 'yyyy') FROM G")
    assert to_duckdb("SELECT to_date(s) AS d FROM G") == 'SELECT CAST("s" AS DATE) AS "d" FROM "G"'
    with pytest.raises(UnknownNameError, match="no table 'G'"):
        to_duckdb("SELECT * FROM G NATURAL JOIN H", Catalog())
