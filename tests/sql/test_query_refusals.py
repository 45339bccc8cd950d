"""What aggregates, set operations and orders refuse: clause and exact position, names and types."""

from __future__ import annotations

import pytest
from test_refusals import CATALOG, offset_of, refusal

from livejoin.catalog import Catalog
from livejoin.errors import SqlError, SqlSyntaxError, SqlTypeError, UnknownNameError, UnsupportedQueryError
from livejoin.sql import bind_query, parse_columns, to_duckdb

QUERIES = [
    # A ^ marks the position that the error must name.
    ("SELECT src FROM G ^LIMIT 3", "LIMIT", "which rows it takes is not determined. Write ORDER BY"),
    ("SELECT limit FROM G ^LIMIT 3", "LIMIT", "not determined"),
    ("SELECT src FROM G ^OFFSET 3", "OFFSET", "not determined"),
    ("SELECT src FROM G UNION SELECT dst FROM G ^LIMIT 3", "LIMIT", "not determined"),
    ("(SELECT src FROM G ^LIMIT 3) UNION SELECT dst FROM G", "LIMIT", "not determined"),
    ("(SELECT src FROM G) ^LIMIT 3", "LIMIT", "not determined"),
    ("SELECT count(*) FROM G ^LIMIT 0", "LIMIT", "not determined"),
    ("SELECT count(*) FROM G ^LIMIT 1 OFFSET 1", "LIMIT", "not determined"),
    ("SELECT (SELECT max(dst) FROM G) AS m FROM G ^LIMIT 3", "LIMIT", "not determined"),
    ("SELECT * FROM (SELECT max(dst) AS most FROM G) JOIN H ON most = w ^LIMIT 3", "LIMIT", "not determined"),
    ("SELECT DISTINCT src FROM G ORDER BY ^dst", "ORDER BY", "does not show dst"),
    ("SELECT src FROM G GROUP BY src ORDER BY ^dst", "GROUP BY", "the column dst is neither"),
    ("SELECT src FROM G UNION SELECT dst FROM G ORDER BY ^sum(src)", "SUM", "add it to the SELECT list"),
    ("SELECT array_agg(src) AS l FROM G ORDER BY ^l", "ORDER BY", "a list"),
    ("SELECT src FROM G ORDER BY src ^LIMIT 1 + 1", "LIMIT", "a whole number"),
    ("SELECT src FROM G ORDER BY src LIMIT 1 ^OFFSET -1", "OFFSET", "a whole number"),
    ("SELECT src FROM G ORDER BY src ^FETCH FIRST 3 ROWS ONLY", "FETCH", "write LIMIT"),
    ("SELECT src FROM G ORDER BY src ^LIMIT 3 WITH TIES", "WITH TIES", "QUALIFY RANK"),
    ("SELECT src FROM G ORDER BY src ^LIMIT 3 PERCENT", "PERCENT", "a number of rows"),
    ("SELECT src FROM G ^ORDER BY dst, ALL LIMIT 3", "ORDER BY", "name the columns"),
    ("SELECT DISTINCT src FROM G ORDER BY ^dst LIMIT 3", "ORDER BY", "does not show dst"),
    ("SELECT DISTINCT src FROM G ORDER BY src + ^G.dst LIMIT 3", "ORDER BY", "does not show G.dst"),
    ("SELECT DISTINCT src FROM G GROUP BY src ORDER BY ^count(*) LIMIT 3", "COUNT", "add it to the SELECT list"),
    ("SELECT src FROM G UNION SELECT dst FROM G ORDER BY ^sum(src) LIMIT 3", "SUM", "add it to the SELECT list"),
    ("SELECT src FROM G ORDER BY ^row_number() OVER (ORDER BY src) LIMIT 3", "ROW_NUMBER", "window function"),
    ("SELECT src, count(*) FROM G GROUP BY src ^EMIT FINAL", "EMIT FINAL", "groups by no window of time"),
    ("SELECT ^src FROM G HAVING src > 1", "GROUP BY", "neither grouped (there is no GROUP BY)"),
    ("SELECT src, ^dst FROM G GROUP BY src", "GROUP BY", "the column dst is neither in GROUP BY"),
    ("SELECT src, 1 + sum(dst) AS x, ^dst FROM G GROUP BY src", "GROUP BY", "neither in GROUP BY"),
    ("SELECT ^src, 1 + sum(dst) AS x FROM G", "GROUP BY", "neither grouped"),
    ("SELECT ^* FROM G GROUP BY src", "GROUP BY", "the column dst is neither"),
    ("SELECT src FROM G GROUP BY src HAVING ^dst > 1", "GROUP BY", "the column dst is neither"),
    ("SELECT src FROM G GROUP BY src ORDER BY ^dst LIMIT 1", "GROUP BY", "the column dst is neither"),
    ("SELECT ^src + 1 FROM G GROUP BY src + 2", "GROUP BY", "the column src is neither"),
    ("SELECT ^A.dst FROM G A JOIN G B ON A.src = B.src GROUP BY B.src", "GROUP BY", "the column A.dst is neither"),
    ("SELECT sum(^count(*)) FROM G", "COUNT", "COUNT stands within SUM"),
    ("SELECT sum(src + ^max(dst)) FROM G", "MAX", "MAX stands within SUM"),
    ("SELECT sum(src) FILTER (WHERE ^sum(dst) > 1) FROM G", "SUM", "SUM stands within SUM"),
    ("SELECT src FROM G WHERE dst = 1 AND ^sum(src) > 1", "SUM", "WHERE is decided for each row"),
    ("SELECT src FROM G WHERE ^mean(src) > 1 GROUP BY src", "MEAN", "WHERE is decided for each row"),
    ("SELECT G.src FROM G JOIN H ON G.src = H.src AND ^max(w) > 1", "MAX", "ON is decided for each row"),
    ("SELECT count(*) FROM G GROUP BY ^sum(src)", "SUM", "GROUP BY is decided for each row"),
    ("SELECT src, sum(dst) AS s FROM G GROUP BY ^s", "SUM", "GROUP BY is decided for each row"),
    ("SELECT sum(dst), src FROM G GROUP BY 2, ^1", "SUM", "GROUP BY is decided for each row"),
    ("SELECT src, sum(dst) + ^dst FROM G GROUP BY ALL", "GROUP BY", "the column dst is neither in GROUP BY"),
    ("SELECT src, ^dst, count(*) FROM G GROUP BY ROLLUP (src)", "GROUP BY", "the column dst is neither in GROUP BY"),
    ("SELECT src, ^grouping(dst) FROM G GROUP BY CUBE (src)", "GROUPING", "no expression of GROUP BY"),
    (
        "SELECT src, (^SELECT max(w) FROM H) AS m FROM G GROUP BY ROLLUP (src)",
        "sub-query",
        "write the sub-queries outside",
    ),
    (
        "SELECT src FROM G WHERE src IN (SELECT w FROM H WHERE H.src = ^G.src GROUP BY ROLLUP (w))",
        "sub-query",
        "several grouping sets",
    ),
    ("SELECT src, ^grouping(src) FROM G GROUP BY src", "GROUPING", "one grouping here"),
    ("SELECT 1 FROM H ^GROUP BY CUBE (src, dst, w, m, s, d, t)", "GROUP BY", "128 grouping sets"),
    ("SELECT 1 FROM H ^GROUP BY CUBE (src, dst, w), CUBE (m, s, d, t)", "GROUP BY", "128 grouping sets"),
    ("SELECT sum(src) OVER (PARTITION BY ^dst), count(*) FROM G", "GROUP BY", "the column dst is neither grouped"),
    ("SELECT ^row_number() OVER (PARTITION BY src) FROM G", "ROW_NUMBER", "needs an order"),
    ("SELECT ^lag(src) OVER (PARTITION BY dst) FROM G", "LAG", "needs an order"),
    ("SELECT ^lag(src, dst) OVER (ORDER BY dst) FROM G", "LAG", "a whole number of rows from 0 to 10,000"),
    ("SELECT ^lag(src) OVER (ORDER BY dst ROWS 1 PRECEDING) FROM G", "LAG", "takes no frame"),
    ("SELECT sum(^lag(src) OVER (ORDER BY dst)) OVER (ORDER BY dst) FROM G", "LAG", "within another window function"),
    ("SELECT sum(src) OVER (ORDER BY ^rank() OVER (ORDER BY dst)) FROM G", "RANK", "within another window function"),
    ("SELECT ^skewness(src) OVER (ORDER BY dst) FROM G", "SKEWNESS", "a part of each partition is not supported yet"),
    ("SELECT ^count(DISTINCT src) OVER (ORDER BY dst) FROM G", "COUNT", "DISTINCT"),
    ("SELECT ^sum(s) OVER (ORDER BY dst) FROM H", "SUM", "adds up numbers, and its argument is STRING: cast it"),
    ("SELECT ^sum(src) OVER (ORDER BY dst RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING) FROM G", "SUM", "two"),
    ("SELECT ^sum(src) OVER (ORDER BY dst RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW) FROM G", "SUM", "a number that"),
    ("SELECT ^nth_value(src, 0) OVER (ORDER BY dst) FROM G", "NTH_VALUE", "from 1 to 10,000"),
    ("SELECT ^percent_rank() OVER (PARTITION BY dst) FROM G", "PERCENT_RANK", "needs an order"),
    ("SELECT ^cume_dist() OVER (ORDER BY dst ROWS 2 PRECEDING) FROM G", "CUME_DIST", "all rows of the partition"),
    ("SELECT ^sum(src) OVER (ORDER BY dst ROWS 2 PRECEDING EXCLUDE TIES) FROM G", "EXCLUDE", "nor is it by Spark"),
    ("SELECT ^sum(src) OVER (ORDER BY dst ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW) FROM G", "SUM", "this frame"),
    ("SELECT ^sum(src) OVER (ORDER BY dst ROWS 10001 PRECEDING) FROM G", "SUM", "10,000 rows before"),
    ("SELECT ^rank() OVER (ORDER BY dst ROWS UNBOUNDED PRECEDING) FROM G", "RANK", "all rows of the partition"),
    ("SELECT ^ntile(0) OVER (ORDER BY dst) FROM G", "NTILE", "from 1 to 10,000"),
    ("SELECT ^sum(src) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM G", "SUM", "needs an order"),
    ("SELECT ^sum(src) OVER (ROWS UNBOUNDED PRECEDING) FROM G", "SUM", "needs an order"),
    ("SELECT ^mad(src) OVER () FROM G", "MAD", "is not maintained"),
    ("SELECT src FROM G ^QUALIFY src > 1", "QUALIFY", "write WHERE or HAVING"),
    ("SELECT src FROM G QUALIFY rank() OVER (ORDER BY src) < (^SELECT max(w) FROM H)", "sub-query", "QUALIFY"),
    ("SELECT rank() OVER (^w ORDER BY dst) FROM G WINDOW w AS (ORDER BY src)", "WINDOW", "has ORDER BY already"),
    ("SELECT ^lag(src, 2) IGNORE NULLS OVER (ORDER BY dst) FROM G", "LAG", "takes one row"),
    ("SELECT ^last_value(src) FILTER (WHERE dst > 1) OVER (ORDER BY dst) FROM G", "LAST_VALUE", "CASE WHEN"),
    ("SELECT src, ^rank() OVER (ORDER BY dst) AS r FROM G GROUP BY src, r", "RANK", "stands in SELECT"),
    ("SELECT ^array_agg(src) OVER (PARTITION BY dst) AS r FROM G", "ARRAY_AGG", "a list"),
    ("SELECT ^mad(src) FROM G", "MAD", "keep the values with ARRAY_AGG"),
    ("SELECT src, ^geomean(src) FROM G GROUP BY src", "GEOMEAN", "EXP(AVG(LN(x)))"),
    ("SELECT ^quantile(src, 0.5) FROM G", "QUANTILE", "write PERCENTILE"),
    ("SELECT ^percentile(src, 0.5, dst) FROM G", "PERCENTILE", "one value and one percentage"),
    ("SELECT ^percentile(src, 1.5) FROM G", "PERCENTILE", "numbers from 0 to 1"),
    ("SELECT ^percentile_approx(src, array(dst)) FROM G", "PERCENTILE_APPROX", "numbers from 0 to 1"),
    ("SELECT ^percentile_cont(0.5) FROM G", "PERCENTILE_CONT", "WITHIN GROUP (ORDER BY value)"),
    ("SELECT ^min_by(src) FROM G", "MIN_BY", "1 arguments; allowed is two"),
    ("SELECT ^max_by(src, dst, 3) FROM G", "MAX_BY", "with COUNT is not supported"),
    ("SELECT ^sum(src) WITHIN GROUP (ORDER BY dst) FROM G", "WITHIN GROUP", "leave that out"),
    ("SELECT sum(src ^ORDER BY dst) FROM G", "ORDER BY", "says nothing of its result"),
    ("SELECT ^first(src, dst) FROM G", "FIRST", "it has TRUE or FALSE as the second"),
    ("SELECT listagg(s, ',') WITHIN GROUP (^ORDER BY src, dst) FROM H", "ORDER BY", "2 expressions; allowed is one"),
    ("SELECT listagg(s) WITHIN GROUP (^ORDER BY dst NULLS LAST) FROM H", "ORDER BY", "NULLS LAST is not supported"),
    ("SELECT listagg(DISTINCT s) WITHIN GROUP (ORDER BY ^dst) FROM H", "ORDER BY", "order by s"),
    ("SELECT ^listagg(s, s) FROM H", "LISTAGG", "no text in quotes"),
    ("SELECT ^try_sum(CAST(src AS DECIMAL(38, 0))) FROM G", "TRY_SUM", "CAST it to DECIMAL(28, 0)"),
    ("SELECT ^try_sum(DATE '2020-01-01' - DATE '2019-01-01') FROM G", "TRY_SUM", "not NULL. Write SUM"),
    ("SELECT ^try_avg(make_ym_interval(src, 1)) FROM G", "TRY_AVG", "not NULL. Write AVG"),
    ("SELECT array_agg(src ORDER BY ^sum(dst)) FROM G", "SUM", "SUM stands within ARRAY_AGG"),
    ("SELECT src FROM G WHERE ^sum(dst) OVER () > 1", "SUM", "SUM OVER is a window function"),
    ("SELECT src FROM G GROUP BY src HAVING ^sum(dst) OVER () > 1", "SUM", "SUM OVER is a window function"),
    ("SELECT src FROM G GROUP BY src ORDER BY ^sum(dst) OVER () LIMIT 1", "SUM", "SUM OVER is a window function"),
    ("SELECT sum(^mad(src)) FROM G", "MAD", "MAD stands within SUM"),
    ("SELECT ^mad(sum(src)) FROM G", "MAD", "is not maintained"),
    ("SELECT src FROM G UNION SELECT dst FROM G ORDER BY ^mad(src) LIMIT 3", "MAD", "is not maintained"),
    (
        "SELECT G.src FROM G JOIN H ON G.src = H.src AND ^string_agg(s, ',') = 'a'",
        "STRING_AGG",
        "ON is decided for each row",
    ),
    ("SELECT count(*) FROM G GROUP BY ^first(src)", "FIRST", "GROUP BY is decided for each row"),
    ("SELECT ^percentile(-(abs(CAST((src) AS INT))), 2) FROM G", "PERCENTILE", "numbers from 0 to 1"),
    ("SELECT ^count_min_sketch(src, 0.1, 0.2, 3) FROM G", "COUNT_MIN_SKETCH", "livejoin docs aggregates"),
    ("SELECT ^array_agg(src) IGNORE NULLS FROM G", "IGNORE NULLS", "leave that out"),
    ("SELECT sum(^*) FROM G", "*", "name the columns"),
    ("SELECT count(DISTINCT ^*) FROM G", "*", "name the columns"),
    ("SELECT count(^G.*) FROM G", "*", "name the columns"),
    ("SELECT ^max(src, dst) FROM G", "MAX", "2 arguments; allowed is one"),
    ("SELECT ^count() FROM G", "COUNT", "0 arguments"),
    ("SELECT sum(src + ^rand()) FROM G", "RAND", "volatile"),
    ("SELECT src, src + ^rand() AS x FROM G", "RAND", "volatile"),
    ("SELECT src FROM G WHERE src > ^now()", "NOW", "call db.advance"),
    ("SELECT src FROM G WHERE src = ^now()", "NOW", "volatile"),
    ("SELECT sum(src) + ^rand() FROM G", "RAND", "volatile"),
    ("SELECT src FROM G GROUP BY src HAVING sum(dst) > ^rand()", "RAND", "volatile"),
    ("SELECT ^DISTINCT array_agg(src) FROM G GROUP BY dst", "DISTINCT", "a list"),
    ("SELECT array_agg(src) AS l FROM G ^UNION SELECT array_agg(dst) FROM G", "UNION", "a list"),
    ("SELECT array_agg(src) AS l, 1 AS o FROM G ORDER BY ^o LIMIT 1", "ORDER BY", "a list"),
    ("SELECT src FROM G UNION ^BY NAME SELECT dst AS src FROM G", "BY NAME", "BY NAME"),
    ("SELECT src FROM G UNION SELECT src FROM (SELECT dst AS src FROM G ^LIMIT 2) q", "LIMIT", "not determined"),
    # Nested queries: LATERAL and correlated ones, recursion, and clauses in their own query.
    ("SELECT * FROM G, (SELECT src FROM H WHERE ^G.src = H.src) x", "sub-query", "join on them outside"),
    ("SELECT * FROM G JOIN (SELECT src FROM H WHERE H.src = ^G.src) x ON TRUE", "sub-query", "G stands beside"),
    ("SELECT * FROM (SELECT ^G.src FROM H) x, G", "sub-query", "G stands beside this sub-query"),
    ("SELECT * FROM (G JOIN K ON z = 1), (SELECT 1 FROM (SELECT ^K.z FROM H) y) x", "sub-query", "K stands beside"),
    ("WITH ^RECURSIVE x AS (SELECT src FROM G) SELECT src FROM x", "WITH RECURSIVE", "sees those before it"),
    (
        "SELECT src FROM G UNION SELECT src FROM (SELECT src FROM H) x WHERE EXISTS (SELECT 1 FROM G ^SORT BY src)",
        "SORT BY",
        "no order",
    ),
    ("SELECT x.src FROM (SELECT src FROM G WHERE dst > 1 ^LIMIT 2) x WHERE src > 1", "LIMIT", "not determined"),
    ("SELECT x.src FROM (SELECT ^dst FROM G GROUP BY src) x WHERE src > 1 GROUP BY src", "GROUP BY", "the column dst"),
    ("SELECT ^y FROM (SELECT src AS x, dst AS y FROM G GROUP BY src, dst) q GROUP BY x", "GROUP BY", "the column y"),
    ("SELECT x.src FROM (SELECT src FROM G) x ^TABLESAMPLE (10 ROWS)", "TABLESAMPLE", "hash of a column"),
    (
        "SELECT x.src FROM (SELECT src FROM G) x ASOF JOIN (SELECT src FROM H) y ON x.src >= y.src AND ^y.src > 1",
        "ASOF JOIN",
        "is no part of an ASOF JOIN",
    ),
    ("SELECT x.src FROM (SELECT src FROM G ^RIGHT SEMI JOIN H USING (src)) x", "RIGHT SEMI JOIN", "[INNER] JOIN"),
    ("SELECT 1 FROM (SELECT src FROM G) x, (SELECT src FROM H) y WHERE ^x.src < y.src", "<", "column = column"),
    ("WITH x AS (SELECT DISTINCT src FROM G) SELECT 1 FROM x, H WHERE H.b AND ^x.src + 1 > H.dst", ">", "'x' and 'H'"),
    (
        "SELECT l FROM ^(SELECT src, array_agg(dst) AS l FROM G GROUP BY src) q JOIN H USING (src)",
        "ARRAY_AGG",
        "a list",
    ),
    ("SELECT count(*) FROM (SELECT array_agg(dst) AS l FROM G) q GROUP BY ^l", "GROUP BY", "a list"),
    ("SELECT ^count(l) FROM (SELECT array_agg(dst) AS l FROM G) q", "GROUP BY", "a list"),
    ("SELECT a FROM (SELECT src, dst FROM G) AS q(^a)", "AS", "1 names for 2 columns"),
    ("WITH ^q(a) AS (SELECT src, dst FROM G) SELECT a FROM q", "AS", "1 names for 2 columns"),
    ("SELECT 1 FROM (SELECT src FROM G) AS q(^_change_type)", "AS", "reserved"),
    ("SELECT x FROM (SELECT src AS x FROM G WHERE src = ^?) q", "parameter", "write the value"),
    ("SELECT ^posexplode(array(src, dst)) AS (null, null, x) FROM G", "AS", "give it one name"),
    ("SELECT ^src AS (x) FROM G", "AS", "give it one name"),
    ("SELECT src FROM G UNION SELECT src FROM H ^SORT BY src", "SORT BY", "has no order"),
    ("SELECT src FROM G UNION SELECT H.src FROM G ^OUTER JOIN H ON G.src = H.src", "OUTER JOIN", "not supported"),
    ("SELECT src FROM G INTERSECT SELECT G.src FROM G JOIN H ON ^G.src < H.src", "<", "column = column"),
    ("SELECT src FROM G UNION SELECT ^src AS _change_type FROM H", "AS", "reserved"),
    ("SELECT ^count(*) AS _change_type FROM G", "AS", "reserved"),
    ("WITH x AS (^VALUES (1)) SELECT * FROM x", "VALUES", "write SELECT * FROM VALUES"),
    ("SELECT * FROM VALUES (1), (^2, 3) v", "VALUES", "rows of 1 and of 2 values"),
    (f"SELECT * FROM ^VALUES {', '.join(['(1)'] * 1001)} v", "VALUES", "VALUES with 1001 rows; allowed are 1000"),
    ("SELECT ^*", "*", "there is no FROM"),
    (
        "SELECT src AS x,\n  dst AS ^x FROM G",
        "AS",
        "two output columns have the name 'x', the first at line 1, column 8",
    ),
    ("SELECT src AS x, dst ^X FROM G", "AS", "two output columns have the name 'X'"),
    ("SELECT src AS dst, ^dst FROM G", "AS", "two output columns have the name 'dst'"),
    ("SELECT *, src AS ^dst FROM G", "AS", "give one of the two another"),
    ("SELECT count(*) AS c, sum(src) AS ^c FROM G", "AS", "two output columns have the name 'c'"),
    ("SELECT src AS x, dst AS ^x FROM G UNION SELECT src, dst FROM G", "AS", "two output columns"),
    ("SELECT DISTINCT ON (src) src FROM G ^QUALIFY count(*) OVER () > 1", "DISTINCT", "a query in FROM"),
    ("SELECT DISTINCT ON (^rank() OVER (ORDER BY src)) src FROM G", "RANK", "stands in SELECT and in QUALIFY"),
]

# Aggregates of Spark, DuckDB and sqlglot over BIGINTs g and x and a STRING s, and a part of what is said instead.
UNMAINTAINED = [
    ("quantile_cont(x, 0.5)", "PERCENTILE(x, 0.5) is maintained"),
    ("mad(x)", "ARRAY_AGG"),
    ("list(x)", "ARRAY_AGG"),
    ("histogram(x)", "GROUP BY the value too"),
    ("histogram_numeric(x, 5)", "GROUP BY the value too"),
    ("hll_sketch_agg(x)", "COUNT(DISTINCT ...)"),
    ("grouping(g)", "leave it out"),
    ("grouping_id()", "leave it out"),
    ("product(x)", "EXP(SUM(LN(x)))"),
    ("wavg(x, g)", "SUM(x * weight)"),
    ("sem(x)", "STDDEV(x) / SQRT(COUNT(x))"),
    ("bool_xor(x = 1)", "COUNT_IF(x) % 2 = 1"),
    ("bitmap_construct_agg(x)", "all that are maintained"),
    ("lag(x)", "without OVER"),
    ("rank()", "without OVER"),
]
PLACES = [
    "SELECT {} AS r FROM T",
    "SELECT g, {} AS r FROM T GROUP BY g",
    "SELECT g, 1 + coalesce({}, 0) AS r, count(*) FROM T GROUP BY g",
    "SELECT g FROM T GROUP BY g HAVING {} > 1",
    "SELECT g FROM T GROUP BY g ORDER BY {} LIMIT 3",
    "SELECT g FROM T WHERE x = 1 AND {} > 1",
]
# What the messages say to write instead.
REMEDIES = [
    "array_join(array_agg(s), ',')",
    "min(x)",
    "count(DISTINCT x)",
    "percentile(x, 0.5)",
    "percentile_disc(0.5) within group (order by x)",
    "kurtosis(x)",
    "exp(sum(ln(x)))",
    "exp(avg(ln(x)))",
    "sum(x * g) / sum(g)",
    "stddev(x) / sqrt(count(x))",
    "count_if(x = 1) % 2 = 1",
    "any(x = 1) = true",
]

NAMES_HERE = [
    ("SELECT src FROM G GROUP BY ^foo", "no column 'foo'"),
    ("SELECT src FROM G GROUP BY src HAVING ^foo > 1", "no column 'foo'"),
    ("SELECT src FROM G GROUP BY ^3", "positions 1 to 1"),
    ("SELECT src FROM G GROUP BY -^1", "positions 1 to 1"),
    ("SELECT src FROM G ORDER BY ^2 LIMIT 1", "positions 1 to 1"),
    ("SELECT src FROM G ORDER BY ^0 LIMIT 1", "positions 1 to 1"),
    ("SELECT src FROM G UNION SELECT dst FROM G ORDER BY ^2 LIMIT 1", "positions 1 to 1"),
    ("SELECT src FROM G ORDER BY ^foo LIMIT 1", "no column 'foo'"),
    ("SELECT src FROM G UNION SELECT dst FROM G ORDER BY ^dst LIMIT 1", "no column dst to order by; its columns: src"),
    ("SELECT src FROM G UNION SELECT dst FROM G ORDER BY ^G.src LIMIT 1", "no column G.src to order by"),
    ("SELECT src FROM G UNION SELECT ^foo FROM H", "no column 'foo' is in scope here; in scope: src, w"),
    ("SELECT sum(^foo) FROM G", "no column 'foo'"),
    ("SELECT sum(src) AS s FROM G HAVING sum(^s) > 1", "no column 's'"),
    ("SELECT count(*) FILTER (WHERE ^foo) FROM G", "no column 'foo'"),
    ("SELECT ^src, count(*) FROM G A, G B GROUP BY 1", "ambiguous"),
    ("SELECT src FROM (SELECT ^foo FROM G) q", "no column 'foo' is in scope here; in scope: src, dst"),
    ("SELECT q.^dst FROM (SELECT src FROM G) q", "'q' (a query) has no column 'dst'; it has src"),
    ("SELECT ^src FROM (SELECT src, src FROM G) q", "column 'src' is ambiguous: the query has it twice; give each"),
    ("SELECT q.^src FROM (SELECT src, src FROM G) q", "'q' has 2 columns 'src'; give each its own name with AS"),
    ("SELECT 1 FROM (SELECT src FROM G) q JOIN G ^q ON TRUE", "alias 'q' occurs twice"),
    ("WITH x AS (SELECT src FROM G), ^X AS (SELECT src FROM G) SELECT 1 FROM x", "WITH defines 'X' twice"),
    ("WITH x AS (SELECT src FROM ^y), y AS (SELECT src FROM G) SELECT 1 FROM x", "there is no table 'y'; known tables"),
    ("WITH x AS (SELECT src FROM G) SELECT 1 FROM ^z", "'M'; in WITH: 'x'"),
    ("WITH x AS (SELECT src FROM ^x) SELECT 1 FROM G", "there is no table 'x'"),
]

TYPES_HERE = [
    (
        "SELECT ^sum(s) FROM H",
        "SUM of s, which is STRING; allowed are integers, DECIMAL, DOUBLE and intervals: CAST it",
    ),
    ("SELECT src, 1 + ^avg(b) FROM H GROUP BY src", "AVG of b, which is BOOLEAN"),
    ("SELECT ^corr(src, s) FROM H", "CORR of s, which is STRING; allowed are integers, DECIMAL and DOUBLE"),
    ("SELECT ^median(d) FROM H", "MEDIAN of d, which is DATE"),
    ("SELECT ^percentile_approx(s, 0.5) FROM H", "DOUBLE, DATE and TIMESTAMP"),
    ("SELECT ^bit_and(w) FROM H", "allowed are integers: CAST it"),
    ("SELECT ^listagg(src) FROM H", "LISTAGG of src, which is INT; allowed are STRING"),
    ("SELECT ^kurtosis(t) FROM H", "KURTOSIS of t, which is TIMESTAMP"),
    ("SELECT ^variance(d) FROM H", "VARIANCE of d, which is DATE"),
    ("SELECT ^variance(s) OVER (ORDER BY t) FROM H", "VARIANCE of s, which is STRING; allowed are"),
    ("SELECT ^bool_and(src) FROM H", "BOOL_AND of src, which is INT; allowed are BOOLEAN"),
    ("SELECT count(*) FILTER (WHERE ^src) FROM H", "the condition src of COUNT has the type INT; allowed is BOOLEAN"),
    ("SELECT sum(w) FILTER (WHERE ^src) FROM H", "the condition src of SUM has the type INT"),
    ("SELECT count_if(^src) FROM H", "the argument src of COUNT_IF has the type INT"),
    ("SELECT src FROM H GROUP BY src ^HAVING sum(w)", "the condition SUM(w) has the type double"),
    ("SELECT ^foo(sum(w)) FROM H", "FOO is not supported: livejoin has no such function"),
    ("SELECT src, 1 + ^foo(w) FROM H GROUP BY src", "FOO is not supported: livejoin has no such function"),
    ("SELECT src FROM G ^UNION SELECT s FROM H", "column 1 is BIGINT (src) on the left and STRING (s) on the right"),
    ("SELECT src, dst FROM G ^EXCEPT SELECT src FROM H", "2 columns on the left and 1 on the right"),
    ("SELECT d FROM H UNION SELECT d FROM H ^INTERSECT SELECT b FROM H", "INTERSECT: column 1 is DATE (d)"),
    ("SELECT src FROM G UNION SELECT src FROM H WHERE ^src", "has the type int32; a condition is BOOLEAN"),
    ("SELECT 1 FROM (SELECT src FROM G WHERE ^src) q WHERE src > 1", "a condition is BOOLEAN"),
    ("SELECT 1 FROM (SELECT src + 1 AS a FROM G) q WHERE ^a", "a condition is BOOLEAN"),
    ("SELECT 1 FROM (SELECT src AS a FROM G) q JOIN (SELECT d AS b FROM H) r ON ^q.a = r.b", "BIGINT and DATE"),
    ("SELECT upper(a) FROM (SELECT ^b + src AS a FROM H) q", "a number is wanted, and BOOLEAN is found"),
    ("WITH x AS (SELECT src FROM G ^UNION SELECT s FROM H) SELECT 1 FROM x", "column 1 is BIGINT (src) on the left"),
]

SYNTAX_HERE = [
    ("SELECT src FROM G GROUP BY src^, HAVING src > 1", "comma without an item"),
    ("SELECT src FROM G GROUP BY src^, ORDER BY src LIMIT 1", "comma without an item"),
    ("SELECT src FROM G ORDER BY src, LIMIT ^1", "found '1', which is not expected behind 'LIMIT'"),
    ("SELECT src FROM G UNION^", "UNION lacks a query"),
    ("SELECT src FROM G UNION ^, SELECT dst FROM G", "stands in parentheses"),
    ("SELECT src FROM G ^GROUP BY", "GROUP BY lacks columns"),
    ("SELECT src FROM G GROUP BY src HAVING^", "HAVING lacks a condition"),
    ("SELECT sum(src) FILTER (WHERE ^) FROM G", "WHERE lacks a condition"),
]


# SQL texts of some size: what comes first, what is repeated, what stands in the middle, and what is repeated behind.
NESTED = [
    ("SELECT ", "(", "src", ")"),
    ("SELECT src FROM G WHERE ", "(", "src = 1", ")"),
    ("SELECT ", "abs(", "src", ")"),
    ("SELECT ", "CASE WHEN src = 1 THEN 1 ELSE ", "0", " END"),
    ("SELECT src FROM G WHERE ", "NOT ", "src = 1", ""),
    ("SELECT ", "- ", "src", ""),
    ("SELECT ", "CAST(", "src", " AS BIGINT)"),
    ("", "(", "SELECT src FROM G", ")"),
    ("SELECT src FROM ", "(SELECT src FROM ", "G", ") q"),
    ("SELECT src FROM ", "(", "G", ")"),
]
LONG = [
    ("SELECT src FROM G WHERE src <> 0", " AND src <> {}"),
    ("SELECT src FROM G WHERE src = 0", " OR src = {}"),
    ("SELECT A.src FROM G A JOIN G B ON A.src = B.src WHERE A.dst > 1", " AND A.dst <> {}"),
    ("SELECT src FROM G GROUP BY src HAVING sum(dst) > 0", " AND sum(dst) <> {}"),
]


@pytest.mark.parametrize(("marked", "clause", "message"), QUERIES)
def test_clauses_outside(marked: str, clause: str, message: str) -> None:
    error, sql, offset = refusal(marked)
    assert type(error) is UnsupportedQueryError, error
    assert (error.clause, offset_of(error), error.sql) == (clause, offset, sql), error
    assert message in error.message


@pytest.mark.parametrize(("first", "before", "middle", "behind"), NESTED)
def test_a_text_that_is_nested_too_deeply(first: str, before: str, middle: str, behind: str) -> None:
    depth = 3000
    tail = "" if "FROM" in first + before + middle else " FROM G"
    sql = first + before * depth + middle + behind * depth + tail
    with pytest.raises(UnsupportedQueryError, match="nested too deeply") as caught:
        bind_query(sql, CATALOG)
    assert caught.value.clause == "nesting"
    if before == "(":
        assert offset_of(caught.value) == len(first) + depth - 1


def test_a_long_chain_of_set_operations() -> None:
    bind_query(" UNION ALL ".join(["SELECT src FROM G"] * 150), CATALOG)
    with pytest.raises(UnsupportedQueryError, match="make views of parts of them"):
        bind_query(" UNION ALL ".join(["SELECT src FROM G"] * 2000), CATALOG)


@pytest.mark.parametrize(("first", "term"), LONG)
def test_a_long_condition_is_not_nested(first: str, term: str) -> None:
    bind_query(first + "".join(term.format(i) for i in range(1, 600)), CATALOG)


def test_a_long_list_is_not_nested() -> None:
    bind_query(f"SELECT src FROM G WHERE src IN ({', '.join(map(str, range(5000)))})", CATALOG)


@pytest.mark.parametrize(("call", "remedy"), UNMAINTAINED)
def test_aggregates_that_are_not_maintained(call: str, remedy: str) -> None:
    """The error names the function as it is written, where it is written, and what would work."""
    catalog = Catalog()
    catalog.add(parse_columns("T", "g BIGINT, x BIGINT, s STRING"))
    name = call.partition("(")[0].upper()
    for place in PLACES:
        with pytest.raises(UnsupportedQueryError) as caught:
            bind_query(place.format(call), catalog)
        assert (caught.value.clause, offset_of(caught.value)) == (name, place.index("{")), caught.value
        assert name in caught.value.message
        assert remedy in caught.value.message


@pytest.mark.parametrize("expression", REMEDIES)
def test_what_is_said_to_write_instead_is_maintained(expression: str) -> None:
    catalog = Catalog()
    catalog.add(parse_columns("T", "g BIGINT, x BIGINT, s STRING"))
    bind_query(f"SELECT g, {expression} AS r FROM T GROUP BY g", catalog)
    bind_query(f"SELECT {expression} AS r FROM T", catalog)


@pytest.mark.parametrize(
    ("cases", "kind"), [(NAMES_HERE, UnknownNameError), (TYPES_HERE, SqlTypeError), (SYNTAX_HERE, SqlSyntaxError)]
)
def test_names_types_and_syntax(cases: list[tuple[str, str]], kind: type[SqlError]) -> None:
    for marked, message in cases:
        error, sql, offset = refusal(marked)
        assert type(error) is kind, (marked, error)
        assert message in str(error)
        assert (offset_of(error), error.sql) == (offset, sql), error


def test_unknown_names_list_views() -> None:
    views = {"busy": bind_query("SELECT src FROM G", CATALOG)}
    with pytest.raises(UnknownNameError, match=r"known tables: 'G', .*; known views: 'busy'\n"):
        bind_query("SELECT 1 FROM nope", CATALOG, views)


@pytest.mark.parametrize("levels", [20, 200, 3000])
def test_deep_nesting_works_or_is_refused(levels: int) -> None:
    texts = [
        "SELECT src FROM (" * levels + "SELECT src FROM G" + ") q" * levels,
        f"SELECT {'(' * levels}src{')' * levels} FROM G",
        "(" * levels + "SELECT src FROM G" + ")" * levels,
        "WITH x AS (" * levels + "SELECT src FROM G" + ") SELECT src FROM x" * levels,
        f"SELECT src FROM G WHERE {'NOT (' * levels}src > 1{')' * levels}",
    ]
    for sql in texts:
        for translate in (bind_query, to_duckdb):
            try:
                assert translate(sql, CATALOG)
            except UnsupportedQueryError as error:
                assert "nested too deeply" in error.message
                assert (error.clause, error.sql[error.column - 1], error.line) == ("nesting", "(", 1)
                assert levels > 20


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("SELECT sum(src) OVER ^w AS s FROM G", "there is no WINDOW clause"),
        ("SELECT sum(src) OVER ^v AS s FROM G WINDOW w AS (ORDER BY dst)", "WINDOW has 'w'"),
        ("SELECT sum(src) OVER w AS s FROM G WINDOW w AS (v), v AS (^w)", "is defined by itself"),
        ("SELECT src FROM G WINDOW w AS (ORDER BY dst), ^w AS (ORDER BY src)", "defines 'w' twice"),
        ("SELECT (SELECT sum(w) OVER ^o FROM H) AS s FROM G WINDOW o AS (ORDER BY dst)", "there is no WINDOW clause"),
    ],
)
def test_names_of_windows(marked: str, message: str) -> None:
    error, _, offset = refusal(marked)
    assert isinstance(error, UnknownNameError)
    assert offset_of(error) == offset
    assert message in str(error)
