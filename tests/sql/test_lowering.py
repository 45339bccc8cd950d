"""A bound query, read by the definition of a conjunctive query, gives what DuckDB gives for the SQL text."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from sql_fixtures import bag, by_definition, fill, make_catalog

from conjunctive import bind
from oracle import connect

CATALOG = make_catalog()

# Spark and DuckDB read these texts alike; DuckDB quotes names differently, so the last tests have texts of their own.
QUERIES = [
    "SELECT * FROM G",
    "SELECT dst, src, dst FROM G",
    "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d "
    "FROM G G1 JOIN G G2 ON G1.dst = G2.src JOIN G G3 ON G2.dst = G3.src WHERE G3.dst % 2 = 0",
    "SELECT * FROM G A, G B WHERE A.dst = B.src",
    "SELECT B.*, A.src FROM G A INNER JOIN G B ON (A.dst = B.src)",
    "SELECT A.src FROM G A, G B",
    "SELECT A.src, B.dst FROM G A CROSS JOIN G B WHERE A.src = 1 AND B.dst IS NULL",
    "SELECT 1 AS one FROM G A JOIN G B ON A.src = B.src",
    "SELECT 'x' AS x, A.src + B.dst AS sum, A.src FROM G A, G B WHERE A.dst = B.src AND A.src > 0",
    "SELECT src, G.dst, H.dst FROM G JOIN H USING (src)",
    "SELECT G.src, H.src, w FROM G JOIN H USING (src, dst)",
    "SELECT src, dst, w FROM G NATURAL JOIN H",
    "SELECT z, src, name, G.dst, H.dst FROM G JOIN K USING (src) JOIN H USING (src)",
    "SELECT G.src FROM G, H WHERE G.src = G.dst AND G.src = H.src AND H.dst = G.dst",
    "SELECT H.src, H.dst, G.src, G.dst FROM G, H WHERE G.src = H.src AND G.src = H.dst",
    "SELECT src FROM G WHERE (src, dst) = (dst, src)",
    "SELECT A.src FROM G A JOIN (G B JOIN H C ON B.src = C.src) ON A.dst = B.dst",
    "SELECT A.src FROM G A JOIN G B JOIN H C ON B.src = C.src ON A.dst = B.dst",
    "SELECT A.src, C.w FROM G A, G B JOIN H C ON B.src = C.src WHERE A.dst = B.dst AND TRUE",
    "SELECT A.src FROM (G A CROSS JOIN (K B)), H C WHERE A.src = B.src AND B.z = C.src",
    "SELECT src FROM G WHERE 1 = 0",
    "SELECT src FROM G WHERE NULL",
    "SELECT src FROM G WHERE src = 1 OR dst = 2 AND NOT src = 3",
    "SELECT src FROM G WHERE (src BETWEEN 1 AND 2 OR src IS NULL) AND dst IN (0, 1, 2)",
    "SELECT src FROM G WHERE src IS NOT DISTINCT FROM dst",
    "SELECT src = dst AS same, src IS NOT DISTINCT FROM dst AS alike FROM G",
    "SELECT CASE WHEN src > 1 THEN 'big' WHEN src IS NULL THEN NULL ELSE s || '!' END AS x FROM H",
    "SELECT coalesce(A.src, B.z) AS x, greatest(A.dst, B.src) AS y FROM G A JOIN K B ON A.src = B.src",
    "SELECT CAST(src AS DOUBLE) / 2 AS half, src / 2 AS quarter, src % 2 AS odd, -src AS minus FROM G",
    "SELECT CAST(src AS STRING) || '-' || s AS text, upper(s) AS up, length(s) AS n, substr(s, 2) AS tail FROM H",
    "SELECT trim(s) AS a, lower(s) AS b, replace(s, 'a', 'b') AS c, s LIKE '%t%' AS d, s = 'it''s' AS e FROM H",
    "SELECT year(d) AS y, month(d) AS m, d > DATE '2023-06-01' AS late, last_day(d) AS e FROM H",
    "SELECT t > TIMESTAMP '2022-01-01 00:00:00' AS late, CAST(t AS DATE) AS day, hour(t) AS h FROM H",
    "SELECT m * 2 AS twice, m + m AS sum, abs(m) AS a, round(w, 0) AS r, floor(w) AS f FROM H WHERE m >= 1.5",
    "SELECT b AND src > 1 AS both, NOT b AS no, b IS TRUE AS yes FROM H WHERE b OR w < 1",
    "SELECT try_cast(s AS INT) AS n, nullif(src, 1) AS z FROM H",
    "SELECT H.s FROM H JOIN K ON H.s = K.name AND H.src = K.z WHERE K.name <> ''",
    "SELECT A.w, B.m FROM H A JOIN H B ON A.w = B.w AND A.m = B.m AND A.d = B.d AND A.b = B.b",
    "SELECT g.SRC, G.Dst FROM g",
    "SELECT A.b, y FROM G A(a, b) JOIN G B(x, y) ON a = x WHERE b > 1",
    "SELECT a, src, K.name FROM G A(a, src) JOIN K USING (src)",
]


_SPARK = {
    **dict.fromkeys(("n", "y", "m", "h"), pa.int32()),  # lengths and parts of dates
    "twice": pa.decimal128(12, 2),
    "sum": pa.decimal128(11, 2),
    "f": pa.int64(),
}
_OF_SPARK = [sql for sql in QUERIES if any(call in sql for call in ("length(", "year(", "hour(", "m * 2"))]


@pytest.fixture(scope="module", params=range(3))
def filled(request: pytest.FixtureRequest) -> duckdb.DuckDBPyConnection:
    connection = connect()
    fill(connection, CATALOG, seed=request.param)
    return connection


@pytest.mark.parametrize("sql", QUERIES)
def test_same_rows_as_duckdb(sql: str, filled: duckdb.DuckDBPyConnection) -> None:
    query = bind(sql, CATALOG)
    expected = filled.sql(sql).to_arrow_table()
    assert bag(filled.sql(by_definition(query)).to_arrow_table()) == bag(expected)


@pytest.mark.parametrize("sql", QUERIES)
def test_types_are_those_of_duckdb(sql: str, filled: duckdb.DuckDBPyConnection) -> None:
    """But where Spark has another one."""
    found = bind(sql, CATALOG).schema
    expected = filled.sql(sql).to_arrow_table().schema
    spark = {field.name: _SPARK[field.name] for field in expected if field.name in _SPARK and sql in _OF_SPARK}
    assert found.types == [spark.get(field.name, field.type) for field in expected]


@pytest.mark.parametrize(
    ("spark", "duck"),
    [
        ('SELECT `a b`, `q"x` FROM Odd WHERE `select` > 1', 'SELECT "a b", "q""x" FROM Odd WHERE "select" > 1'),
        ('SELECT s FROM H WHERE s = "it\'s"', "SELECT s FROM H WHERE s = 'it''s'"),
        ("SELECT s FROM H WHERE s = 'it\\'s'", "SELECT s FROM H WHERE s = 'it''s'"),
        ("SELECT src FROM G WHERE src <=> dst", "SELECT src FROM G WHERE src IS NOT DISTINCT FROM dst"),
        ("SELECT src DIV 2 FROM G WHERE src == 3", "SELECT src // 2 FROM G WHERE src = 3"),
        ("SELECT s RLIKE 't' FROM H", "SELECT regexp_matches(s, 't') FROM H"),
        ("SELECT date_add(d, 1), date_sub(d, 1) FROM H", "SELECT (d + 1)::DATE, (d - 1)::DATE FROM H"),
        ("SELECT datediff(d, DATE '2023-01-01') FROM H", "SELECT date_diff('day', DATE '2023-01-01', d) FROM H"),
        (
            "SELECT nvl(src, 9), if(src > 1, 'a', 'b') FROM G",
            "SELECT ifnull(src, 9), CASE WHEN src > 1 THEN 'a' ELSE 'b' END FROM G",
        ),
        ("SELECT instr(s, 't') FROM H", "SELECT strpos(s, 't') FROM H"),
        ("SELECT mod(src, 2), 3 / src FROM G", "SELECT src % 2, 3 / nullif(src, 0) FROM G"),
        ("SELECT * FROM G JOIN H USING (src)", "SELECT src, G.dst, w, s, d, t, b, m, H.dst FROM G JOIN H USING (src)"),
        ("SELECT * FROM G JOIN H USING (dst)", "SELECT dst, G.src, H.src, w, s, d, t, b, m FROM G JOIN H USING (dst)"),
        ("SELECT * FROM G NATURAL JOIN H", "SELECT src, dst, w, s, d, t, b, m FROM G NATURAL JOIN H"),
        ("SELECT H.* FROM G JOIN H USING (dst)", "SELECT H.src, w, s, d, t, b, m, H.dst FROM G, H WHERE G.dst = H.dst"),
        ("FROM G SELECT src", "SELECT src FROM G"),
        ("(SELECT src FROM G)", "SELECT src FROM G"),
        ("SELECT ALL src FROM G;", "SELECT src FROM G"),
    ],
)
def test_the_spark_dialect(spark: str, duck: str, filled: duckdb.DuckDBPyConnection) -> None:
    query = bind(spark, CATALOG)
    assert bag(filled.sql(by_definition(query)).to_arrow_table()) == bag(filled.sql(duck).to_arrow_table())
