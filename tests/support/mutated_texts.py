"""Good SQL texts with one to three words dropped, doubled, swapped, put in or cut off, for tests of messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

WORD = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|\d+(?:\.\d+)?|\w+|<=>|[<>!]=|<>|\|\||::|\s+|.", re.DOTALL)

TABLES = {
    "R": "k BIGINT, a INT, b INT, s STRING, x DOUBLE, m DECIMAL(9, 2), d DATE, t TIMESTAMP, p BOOLEAN",
    "S": "k BIGINT, a INT, s STRING, d DATE, v ARRAY<INT>, o STRUCT<x: INT, y: STRING>, w MAP<STRING, INT>",
}

QUERIES = (
    "SELECT a, b FROM R WHERE a > 1 AND NOT b IS NULL OR s LIKE 'a%'",
    "SELECT R.a, S.s AS name FROM R JOIN S ON R.k = S.k AND S.a <=> R.b WHERE R.x BETWEEN 1.5 AND 2e0",
    "SELECT R.k FROM R LEFT JOIN S USING (k, a) WHERE S.s IN ('x', 'it''s') AND R.p",
    "SELECT R.a FROM R CROSS JOIN (SELECT MAX(a) AS top FROM S) q WHERE R.a = q.top",
    "SELECT a, COUNT(*) AS n, SUM(x) FROM R GROUP BY a HAVING COUNT(DISTINCT b) > 1 ORDER BY n DESC NULLS LAST LIMIT 3",
    "SELECT a, b, SUM(m) FILTER (WHERE p) AS m FROM R GROUP BY GROUPING SETS ((a, b), (a), ())",
    "SELECT CASE WHEN a > 1 THEN 'big' WHEN a IS NULL THEN 'none' ELSE s END AS size FROM R",
    "SELECT CASE a WHEN 1 THEN 2 ELSE 3 END AS c, IF(p, a, b) AS i FROM R",
    "SELECT CAST(s AS INT) AS n, TRY_CAST(s AS DECIMAL(9, 2)) AS m, x::STRING AS t FROM R",
    "SELECT upper(s) || substring(s, 1, 2) AS u, concat_ws('-', s, 'x') AS w, s LIKE '%x' AS l FROM R",
    "SELECT DATE '2024-01-31' + INTERVAL '1' MONTH AS e, date_trunc('MONTH', t) AS f, extract(YEAR FROM d) AS y FROM R",
    "SELECT d - INTERVAL 3 DAYS AS e, TIMESTAMP '2020-01-01 00:00:00' AS z, t - t AS l FROM R WHERE d < DATE "
    "'2024-02-29'",
    "SELECT k FROM R WHERE a IN (SELECT a FROM S WHERE S.k = R.k) AND EXISTS (SELECT 1 FROM S q WHERE q.k = R.k)",
    "SELECT k, (SELECT MAX(a) FROM S WHERE S.k = R.k) AS top FROM R WHERE a NOT IN (1, 2)",
    "WITH q AS (SELECT k, a FROM R), r(k, b) AS (SELECT k, a + 1 FROM q) SELECT q.a, r.b FROM q JOIN r ON q.k = r.k",
    "SELECT k FROM R UNION ALL SELECT k FROM S EXCEPT SELECT 1 INTERSECT SELECT k FROM S",
    "(SELECT a FROM R ORDER BY b LIMIT 2) UNION (SELECT a FROM S ORDER BY k LIMIT 1 OFFSET 1)",
    "SELECT a, RANK() OVER (PARTITION BY k ORDER BY b DESC) AS r FROM R QUALIFY r <= 3",
    "SELECT k, SUM(a) OVER w AS s, LAG(a, 1) OVER (PARTITION BY k ORDER BY t) AS l FROM R "
    "WINDOW w AS (PARTITION BY k ORDER BY t ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
    "SELECT DISTINCT a % 2 = 0 AS even, -b, ~a, a & 3 | b ^ 1, a << 2, a DIV 2 FROM R WHERE x <> 0.5",
    "SELECT k, COLLECT_LIST(a) AS l, MAX_BY(s, a) AS m, PERCENTILE(a, 0.5) AS p FROM S GROUP BY ALL",
    "SELECT R.a FROM R, LATERAL (SELECT MAX(S.a) AS top FROM S WHERE S.k = R.k) q WHERE q.top > R.b",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t(n, s) JOIN R ON R.a = t.n",
    "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a) AS q, LISTAGG(s, ',') AS l FROM R GROUP BY k",
    "SELECT k, b FROM R NATURAL JOIN S FULL OUTER JOIN S q USING (k)",
    "SELECT n, SUM(v) AS total FROM R UNPIVOT INCLUDE NULLS (v FOR n IN (a, b AS c)) AS u GROUP BY n",
    "SELECT * FROM R UNPIVOT ((v, w) FOR n IN ((a, x), (b, x) AS c)) WHERE v IS NOT NULL",
    "SELECT * FROM (SELECT k, s, a FROM R) PIVOT (SUM(a) AS t, COUNT(*) FOR s IN ('x' AS y, 'z'))",
    "SELECT months_between(t, d, FALSE) AS m, from_unixtime(a, 'yyyy') AS y, dayname(d) AS n FROM R WHERE s RLIKE 'a+'",
)

OUTSIDE = (
    "SELECT v[0] AS first, o.x AS x, w['key'] AS y, size(v) AS n, array(1, 2) AS l FROM S",
    "SELECT transform(v, e -> e + 1) AS t, exists(v, e -> e > 1) AS e, named_struct('a', k) AS s FROM S",
    "SELECT array_contains(v, a) AS h, element_at(v, 1) AS e, slice(v, 1, 2) AS p, flatten(array(v, v)) AS f FROM S",
    "SELECT map_keys(w) AS m, array_join(transform(v, e -> CAST(e AS STRING)), ',') AS j, sort_array(v) AS o FROM S",
    "SELECT aggregate(v, 0, (x, y) -> x + y) AS g, filter(v, e -> e > 0) AS f, md5(s) AS d, soundex(s) AS n FROM S",
    "SELECT regexp_replace(s, 'a+', 'b') AS r, split(s, ',') AS p, format_number(x, 2) AS n, levenshtein(s, "
    "s) AS l FROM R",
    "SELECT * EXCEPT (b), coalesce(s, 'none') AS c, nullif(a, 0) AS n, trim(BOTH 'x' FROM s) AS t FROM R",
)
"""Texts of Spark that livejoin refuses as they are; a mutation of one has other things wrong with it."""

STATEMENTS = (
    "CREATE TABLE T (a INT NOT NULL, b DECIMAL(9, 2), c ARRAY<INT>, PRIMARY KEY (a), UNIQUE (b))",
    "CREATE TABLE T (a BIGINT PRIMARY KEY, o STRUCT<x: INT, y: MAP<STRING, INT>>, FOREIGN KEY (a) REFERENCES R (k))",
    "CREATE TABLE T (k INT, t TIMESTAMP) TBLPROPERTIES ('window_range' = 't INTERVAL 1 HOUR')",
    "CREATE TABLE IF NOT EXISTS T (a VARCHAR(10) COMMENT 'x', b CHAR(3)) USING PARQUET",
    "CREATE OR REPLACE VIEW v (x, y) AS SELECT a, b FROM R WHERE a > 1",
    "CREATE VIEW v AS SELECT k, COUNT(*) AS n FROM S GROUP BY k",
    "DROP TABLE IF EXISTS T",
    "DROP VIEW v",
)

_SIGNS = "( ) , . ; : * + - = < > [ ] ' ` \" @ # $ ? ! | & ^ ~ :: -> => /* --"
_CLAUSES = (
    "SELECT FROM WHERE AND OR NOT IN IS NULL LIKE BETWEEN CASE WHEN THEN ELSE END JOIN ON USING GROUP BY HAVING ORDER "
    "LIMIT UNION ALL DISTINCT EXISTS WITH AS CAST OVER PARTITION INTERVAL DATE FILTER WITHIN VALUES SET ROWS RANGE "
    "UNBOUNDED PRECEDING EXCEPT ANY SOME ESCAPE LATERAL PIVOT UNPIVOT INCLUDE FOR INT ARRAY STRUCT MAP TABLE"
)
_NAMES = "nothere k a s 'text' 1 0 -1 2.5 9999999999999999999999 1e 5.L .5.5 0x1F `k` é"
_OTHER_WORDS = f"{_SIGNS} {_CLAUSES} {_NAMES}".split()


def mutated(text: str, random: Random) -> str:
    """A text with one to three words changed."""
    words = [word for word in WORD.findall(text) if not word.isspace()]
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        at = random.randrange(len(words)) if words else 0
        match random.randrange(7):
            case 0:
                del words[at : at + 1]
            case 1:
                words.insert(at, words[at] if words else "SELECT")
            case 2:
                other = random.randrange(len(words) or 1)
                if words:
                    words[at], words[other] = words[other], words[at]
            case 3:
                words.insert(at, random.choice(_OTHER_WORDS))
            case 4 if words:
                words[at] = random.choice(_OTHER_WORDS)
            case 5 if words:
                words[at] = random.choice(words)
            case _:
                del words[at : at + random.choice((1, 2, 3, len(words)))]
    return " ".join(words)


def mutations(texts: tuple[str, ...], count: int, seed: int) -> Iterator[str]:
    """So many texts, of which each is made of one of some texts."""
    random = Random(seed)
    for _ in range(count):
        yield mutated(random.choice(texts), random)
