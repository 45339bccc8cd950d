"""Queries over a table with CHAR columns, and rows for it: what is asked of livejoin and of a real Spark."""

from __future__ import annotations

from typing import Any

COLUMNS = "k INT, c CHAR(5), d CHAR(3), s STRING, v VARCHAR(4)"
ROWS: list[tuple[Any, ...]] = [
    (1, "ab", "ab", "ab", "ab"),
    (2, "abc", "abc", "abc  ", "abc "),
    (3, "x      ", " y", None, "x"),
    (4, None, None, "z", None),
    (5, "äö", "äöü", "äö   ", ""),
    (6, "", "", "", "ab"),
    (7, "ab\t", "ab\t", "ab ", "ab"),
]
EXPRESSIONS = [
    *("c = 'ab'", "'ab' = c", "c = 'ab      '", "c = 'ab  xyz'", "c <> 'ab'", "c <=> 'ab'", "equal_null(c, 'ab')"),
    *("c < 'ab'", "c <= 'ab'", "c > 'ab'", "c >= 'ab   '", "c < 'ab    x'", "c > 'ab   \\t'", "'ab   \\t' < c"),
    *("c = concat('a', 'b')", "c = 'a' || 'b'", "c = 'a' 'b'", "c IN (concat('a', 'b'), 'x')", "c < concat('a', 'b')"),
    *("c = 'äö'", "c = ''", "d = 'abcd'", "d < 'abcd'", "NOT c = 'ab'", "(c) = ('ab')", "c = CAST('ab' AS STRING)"),
    *("c IN ('ab', 'x')", "c NOT IN ('ab')", "c IN ('ab       ')", "c IN ('ab', NULL)", "c IN ('ab   ', NULL)"),
    *("c IN ('ab', CAST(NULL AS STRING))", "c IN (d)", "c IN (d, s)", "d IN (c, d)", "'ab' IN (c, d)"),
    *("c BETWEEN 'ab' AND 'ab'", "c NOT BETWEEN 'a' AND 'abc'", "c LIKE 'ab'", "c LIKE 'ab%'", "nullif(c, 'ab')"),
    *("c = d", "c < d", "d >= c", "c <=> d", "c = s", "d = s", "c = v", "v = 'ab'", "s = 'ab'"),
    *("CASE c WHEN 'ab' THEN 1 WHEN 'abc      ' THEN 2 ELSE 3 END", "decode(c, 'ab', 1, 'x', 2, 3)"),
    *("if(c = 'ab', 1, 0)", "CASE WHEN c = 'ab' THEN 'yes' END", "upper(c) = 'AB'", "trim(c) = 'ab'"),
    *("coalesce(NULL, c) = 'ab'", "c || '|'", "greatest(c, 'ab') || '|'", "length(c)", "CAST(c AS CHAR(2)) || '|'"),
    *("length(CAST('abcdefg' AS VARCHAR(3)))", "length(CAST('ab' AS CHAR(5)))", "CAST(c AS STRING) = 'ab'"),
]
QUERIES = [
    "SELECT a.k, b.k FROM t a JOIN t b ON a.c = b.d",
    "SELECT a.k, b.k FROM t a JOIN t b ON a.c = b.s",
    "SELECT a.k, b.k FROM t a LEFT JOIN t b ON a.c = b.d AND b.c > 'a'",
    "SELECT c = 'ab', k, j FROM t a JOIN (SELECT k AS j, d AS c FROM t) b USING (c)",
    "SELECT c = 'ab', k, j FROM t a RIGHT JOIN (SELECT k AS j, d AS c FROM t) b USING (c)",
    "SELECT c = 'ab', k, j FROM t a FULL JOIN (SELECT k AS j, d AS c FROM t) b USING (c)",
    "SELECT k FROM t WHERE c IN (SELECT d FROM t)",
    "SELECT k FROM t WHERE c NOT IN (SELECT d FROM t WHERE d IS NOT NULL)",
    "SELECT k FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.c = b.d)",
    "SELECT k FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE a.c = b.d AND a.d = 'ab')",
    "SELECT k, (SELECT count(*) FROM t b WHERE a.c = b.d) FROM t a",
    "SELECT k FROM t WHERE c = (SELECT max(d) FROM t)",
    "SELECT k, c = (SELECT 'ab') FROM t",
    "SELECT x = 'ab', k FROM (SELECT c AS x, k FROM t)",
    "SELECT x = 'ab' FROM (SELECT max(c) AS x FROM t GROUP BY d)",
    "SELECT x = 'ab', n FROM (SELECT c AS x, count(*) AS n FROM t GROUP BY c)",
    "SELECT x = 'ab' FROM (SELECT c AS x FROM t UNION ALL SELECT d FROM t)",
    "SELECT x = 'ab' FROM (SELECT d AS x FROM t UNION ALL SELECT c FROM t)",
    "SELECT x = 'ab' FROM (SELECT s AS x FROM t UNION ALL SELECT c FROM t)",
    "SELECT x = 'ab' FROM (SELECT c AS x FROM t EXCEPT SELECT d FROM t)",
    "SELECT x = 'ab' FROM (SELECT DISTINCT c AS x FROM t)",
    "SELECT x = 'ab' FROM (SELECT c AS x, row_number() OVER (ORDER BY k) AS n FROM t) WHERE n <= 2",
    "SELECT x = 'ab' FROM (SELECT c AS x FROM t ORDER BY k LIMIT 3)",
    "SELECT x = 'ab' FROM (SELECT c AS x, count(*) AS n FROM t GROUP BY ROLLUP (c))",
    "SELECT x = 'ab', y = 'ab' FROM (SELECT a.c AS x, b.d AS y FROM t a FULL JOIN t b ON a.c = b.d)",
    "SELECT c, count(*) FROM t GROUP BY c HAVING c = 'ab' OR c IN ('x', 'abc')",
    "SELECT c AS x, max(d) FROM t GROUP BY c HAVING max(d) = 'ab' OR x = 'x'",
    "SELECT count(*) FILTER (WHERE c = 'ab'), sum(CASE WHEN d = 'ab' THEN 1 ELSE 0 END) FROM t",
    "WITH w AS (SELECT c AS y, k FROM t) SELECT y = 'ab', k FROM w WHERE y < 'abc'",
]


EXPRESSIONS_AT_ONCE = f"SELECT k, {', '.join(EXPRESSIONS)} FROM t"
ASKED = [EXPRESSIONS_AT_ONCE, *(QUERIES[i] for i in (0, 5, 6, 8, 14, 17, 18, 25))]
"""What the tests ask Spark, at a second or so each; it said the same of all the others once."""
