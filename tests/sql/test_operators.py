"""Operators without parentheses in views: Spark's precedences and the bits of integers, after every commit."""

from __future__ import annotations

import random

import duckdb
import pytest

import livejoin
from livejoin.errors import SqlSyntaxError
from livejoin.sql.parse.parse import parse

# Spark's text, and the same for DuckDB, in parentheses.
PAIRS = (
    ("a || 1 - 3", "CAST(CAST(a AS TEXT) || '1' AS BIGINT) - 3"),
    ("a < b IS NULL", "(a < b) IS NULL"),
    ("a = b IS NOT NULL", "NOT (a = b) IS NULL"),
    ("a ^ b & 3 | 8", "xor(a, (b & 3)) | 8"),
    ("a & b << 1 + 1", "a & (b * 4)"),
    ("3 & abs(a) - 1", "3 & (abs(a) - 1)"),
    ("~a | b", "-(1 + a) | b"),
    ("bit_count(a)", "bit_count(CAST(a AS BIGINT))"),
    ("concat_ws('-', s, upper(s), a)", "concat_ws('-', s, upper(s), a)"),
)


@pytest.mark.parametrize(("spark", "duck"), PAIRS)
def test_views_keep_what_spark_means(spark: str, duck: str) -> None:
    rng = random.Random(spark)
    database = livejoin.Database()
    database.create_table("t", "a INT, b INT, s STRING")
    view = database.create_view("v", f"SELECT {spark} AS x, a FROM t")
    rows: list[tuple[int | None, int | None, str | None]] = []
    for _ in range(6):
        gone = rng.sample(rows, len(rows) // 2)
        fresh = [
            (rng.choice([None, *range(8)]), rng.choice([None, 1, 2, 5]), rng.choice(["x", "", None])) for _ in range(5)
        ]
        for row in gone:
            rows.remove(row)
        rows += fresh
        changes = [{"a": a, "b": b, "s": s, "_change_type": "delete"} for a, b, s in gone]
        changes += [{"a": a, "b": b, "s": s, "_change_type": "insert"} for a, b, s in fresh]
        database.apply("t", changes)
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE t (a INT, b INT, s TEXT)")
            connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
            expected = connection.execute(f"SELECT {duck} AS x, a FROM t").fetchall()
        found = [(row["x"], row["a"]) for row in view.to_arrow().to_pylist()]
        assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    "text", ["a = NOT b", "a IS NULL IS NULL", "a IN (1) = b", "a < < 1", "a << < 1", "1 >>>> 2", "1 >>>"]
)
def test_what_spark_does_not_parse_is_refused(text: str) -> None:
    with pytest.raises(SqlSyntaxError):
        parse(f"SELECT {text} FROM t")
