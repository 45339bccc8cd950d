"""Conditions over several atoms are rewritten onto one where the joins allow it, and mean what they mean in DuckDB."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest
from relations import evaluate
from sql_fixtures import bag, by_definition, fill

from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.errors import SqlTypeError, UnsupportedQueryError
from livejoin.query.relational import Join
from livejoin.sql import bind_query, parse_columns
from oracle import connect
from strategies import seeds

TABLES = {
    "S": "a BIGINT, b BIGINT",
    "N": "a INT, b SMALLINT, s STRING",
    "W": "k DOUBLE, s STRING, i INT",
    "M": "p DECIMAL(10, 2), q DECIMAL(5, 2), d DATE, t TIMESTAMP, f BOOLEAN",
    "T": "a BIGINT, b BIGINT, c BIGINT, c32 INT",
}
CATALOG = Catalog()
for name, columns in TABLES.items():
    CATALOG.add(parse_columns(name, columns))

# The query, then the predicates of its atoms.
REWRITTEN = [
    (
        "SELECT x.a FROM S x JOIN S y USING (a) WHERE (a IS NOT NULL OR y.a IS NOT NULL)",
        {"x": "NOT a IS NULL OR NOT a IS NULL"},
    ),
    ("SELECT x.b FROM S x JOIN S y ON x.a = y.a WHERE x.a + y.a > 3", {"x": "a + a > 3"}),
    ("SELECT x.b FROM S x JOIN S y ON x.a = y.a AND y.a > x.a - 1", {"x": "a > a - 1"}),
    # y needs one column exchanged, x two
    ("SELECT x.b FROM S x JOIN S y ON x.a = y.a AND x.b = y.b WHERE y.a + y.b > x.a", {"y": "a + b > a"}),
    # x has only one of the two columns
    ("SELECT x.b FROM S x JOIN S y ON x.a = y.a WHERE x.a < y.b", {"y": "a < b"}),
    # neither S has both columns, but the one between them has
    ("SELECT 1 AS one FROM S x, T, S y WHERE x.a = T.a AND T.b = y.a AND x.a < y.a", {"T": "a < b"}),
    # equal through a third table
    ("SELECT 1 AS one FROM S x, S y, S z WHERE x.a = y.a AND y.a = z.a AND x.a <> z.a - 1", {"x": "a <> a - 1"}),
    # through two columns of one table
    (
        "SELECT 1 AS one FROM S x, T WHERE T.a = T.b AND T.b = x.a AND x.a > T.a - 1",
        {"x": "a > a - 1", "T": "a = b"},
    ),
    # two candidates in one table: the one of the same type
    (
        "SELECT 1 AS one FROM N, T WHERE N.a = T.c32 AND N.a = T.c AND N.a < T.a",
        {"T": "(c32 < a) AND (c = c32)"},
    ),
    # types that differ
    ("SELECT N.s FROM S JOIN N ON S.a = N.a WHERE N.a * N.b > S.a", {"N": "a * b > TRY_CAST(a AS BIGINT)"}),
    ("SELECT S.a FROM S JOIN N ON S.a = N.a WHERE N.a * 2 > S.b", {"S": "TRY_CAST(a AS INT) * 2 > b"}),
    (
        "SELECT x.p FROM M x JOIN M y ON x.p = y.q WHERE x.p + y.q > 2 AND y.f",
        {"x": "p + TRY_CAST(p AS DECIMAL(5, 2)) > 2", "y": "f"},
    ),
    # the table that needs no cast is better than the first one
    (
        "SELECT 1 AS one FROM N, T, S x, S y WHERE N.a = x.a AND N.b = y.b AND T.a = x.a AND T.b = y.b AND x.a < y.b",
        {"T": "a < b"},
    ),
    # an equality of types that cannot join is a condition as any other
    ("SELECT W.s FROM N JOIN W ON N.a = W.i WHERE W.k = N.a", {"W": "k = i"}),
    ("SELECT W.s FROM W JOIN S ON S.a = W.i AND S.a = W.k", {"W": "TRY_CAST(i AS BIGINT) = k"}),
    # DOUBLE, STRING, DATE, TIMESTAMP, BOOLEAN
    ("SELECT x.i FROM W x JOIN W y ON x.k = y.k WHERE x.k + y.k > 1.5", {"x": "k + k > 1.5"}),
    ("SELECT x.i FROM W x JOIN W y ON x.s = y.s WHERE x.s || y.s <> 'aa'", {"x": "s || s <> 'aa'"}),
    ("SELECT x.p FROM M x JOIN M y ON x.d = y.d WHERE x.d >= y.d", {"x": "d >= d"}),
    ("SELECT x.p FROM M x JOIN M y ON x.t = y.t AND x.f = y.f WHERE x.f OR y.t IS NULL", {"x": "f OR t IS NULL"}),
    ("SELECT x.a FROM S x JOIN S y USING (a) WHERE x.a <=> y.a", {"x": "a IS NOT DISTINCT FROM a"}),
    (
        "SELECT x.a FROM S x NATURAL JOIN T y WHERE (x.a, y.b) = (y.a, x.b)",
        {"x": "(a IS NOT DISTINCT FROM a) AND (b IS NOT DISTINCT FROM b)"},
    ),
    (
        "SELECT x.a FROM S x JOIN S y ON x.a = y.a WHERE CASE WHEN x.a > 1 THEN y.a < 3 ELSE x.b = 2 END",
        {"x": "CASE WHEN a > 1 THEN a < 3 ELSE b = 2 END"},
    ),
]


@pytest.fixture(scope="module", params=range(3))
def filled(request: pytest.FixtureRequest) -> duckdb.DuckDBPyConnection:
    connection = connect()
    fill(connection, CATALOG, seed=request.param, rows=14)
    connection.execute("INSERT INTO S VALUES (5000000000, 70000), (NULL, 5000000000)")  # what N.a cannot hold
    connection.execute("INSERT INTO M VALUES (12345678.00, 1.00, NULL, NULL, TRUE)")  # what M.q cannot hold
    return connection


@pytest.mark.parametrize(("sql", "expected"), REWRITTEN)
def test_the_predicates(sql: str, expected: dict[str, str]) -> None:
    assert {atom.alias: atom.predicate.text for atom in bind(sql, CATALOG).atoms if atom.predicate} == expected


@pytest.mark.parametrize("sql", [sql for sql, _ in REWRITTEN])
def test_same_rows_as_duckdb(sql: str, filled: duckdb.DuckDBPyConnection) -> None:
    in_duckdb = sql.replace("<=>", "IS NOT DISTINCT FROM")
    expected = bag(filled.sql(in_duckdb).to_arrow_table())
    assert bag(filled.sql(by_definition(bind(sql, CATALOG))).to_arrow_table()) == expected


_SHAPES = ["{} < {}", "{} + {} > 2", "{} IS NULL OR {} > 0", "coalesce({}, 1) <> {}", "NOT ({} = {} + 1)"]


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_random_conditions(seed: int, filled: duckdb.DuckDBPyConnection) -> None:
    """A condition is one of an atom that has all the columns, and a residual if none has."""
    generator = random.Random(seed)
    tables = [generator.choice(["S", "N", "T"]) for _ in range(3)]
    joins = ["x.a = y.a", generator.choice(["y.a = z.a", "y.b = z.b", "x.b = z.a", "y.a = z.b"])]
    left, right = (generator.choice(["x.a", "x.b", "y.a", "y.b", "z.a", "z.b", "2"]) for _ in range(2))
    where = " AND ".join([*joins, f"({generator.choice(_SHAPES).format(left, right)})"])
    sql = f"SELECT x.a, y.b, z.b FROM {tables[0]} x, {tables[1]} y, {tables[2]} z WHERE {where}"
    relation = bind_query(sql, CATALOG).root
    assert isinstance(relation, Join) == _one_table_has_both(left, right, joins), sql
    assert Counter(evaluate(relation, filled)) == Counter(filled.sql(sql).fetchall()), sql


def _one_table_has_both(left: str, right: str, joins: list[str]) -> bool:
    tables = []
    for term in (left, right):
        members = {term}
        for pair in [set(join.split(" = ")) for join in joins] * len(joins):
            members |= pair if pair & members else set()
        tables.append({"x", "y", "z"} if term == "2" else {member[0] for member in members})
    return bool(set.intersection(*tables))


def test_a_rewritten_condition_may_be_wrong_as_any_other() -> None:
    with pytest.raises(UnsupportedQueryError, match="RAND is a volatile function"):
        bind("SELECT 1 FROM S x JOIN S y USING (a) WHERE x.a + y.a > rand()", CATALOG)
    with pytest.raises(SqlTypeError, match=r"the condition x\.a \+ y\.a has the type int64"):
        bind("SELECT 1 FROM S x JOIN S y USING (a) WHERE x.a + y.a", CATALOG)
