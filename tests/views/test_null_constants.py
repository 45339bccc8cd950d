"""A bare NULL has any type: where DuckDB evaluates it, so do views, before and behind groups."""

from __future__ import annotations

import duckdb
import pytest

import livejoin
from oracle import assert_same_rows

ROWS = [(1, "a"), (1, "b"), (2, None)]
QUERIES = [
    "SELECT UPPER(NULL) AS r, LENGTH(NULL) AS l, a FROM T",
    "SELECT a FROM T WHERE UPPER(NULL) = s",
    "SELECT a FROM T WHERE LENGTH(NULL) IS NULL",
    "SELECT UPPER(NULL) AS r, a, COUNT(*) AS c FROM T GROUP BY NULL, a",
    "SELECT UPPER(MAX(NULL)) AS r, LENGTH(MIN(NULL)) AS l FROM T",
    "SELECT a, COALESCE(MAX(NULL), s) AS r FROM T GROUP BY a, s",
    "SELECT BOOL_AND(NULL) AS r, COUNT(NULL) AS c FROM T",
    "SELECT COUNT(*) FILTER (WHERE NULL) AS c, SUM(a) FILTER (WHERE NULL) AS r FROM T",
    "SELECT a, COUNT(*) AS c FROM T GROUP BY a HAVING NULL",
    "SELECT s FROM T UNION SELECT UPPER(NULL) FROM T",
]


@pytest.mark.parametrize("sql", QUERIES)
def test_a_bare_null(sql: str) -> None:
    database, oracle = livejoin.Database(), duckdb.connect()
    oracle.execute("CREATE TABLE T (a BIGINT, s VARCHAR)")
    database.create_table("T", "a BIGINT, s STRING")
    view = database.create_view("v", sql)
    for row in ROWS:
        database.apply("T", [row])
        oracle.execute("INSERT INTO T VALUES (?, ?)", row)
        assert_same_rows(view.to_arrow(), oracle.sql(sql).to_arrow_table(), sql)
    database.apply("T", [{"a": 1, "s": "a", "_change_type": "delete"}])
    oracle.execute("DELETE FROM T WHERE s = 'a'")
    assert_same_rows(view.to_arrow(), oracle.sql(sql).to_arrow_table(), sql)
