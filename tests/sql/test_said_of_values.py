"""What is said of types, constants, patterns, counts and names that cannot stand: what, where, and a remedy."""

from __future__ import annotations

import pytest

from livejoin.catalog import Catalog
from livejoin.errors import LivejoinError, SqlError
from livejoin.sql import bind_query, parse_columns, parse_create_table

CATALOG = Catalog()
CATALOG.add(
    parse_columns("T", "k INT, s STRING, d DATE, t TIMESTAMP, o STRUCT<x: INT>, l ARRAY<INT>, m MAP<STRING, INT>")
)

# The offending part stands behind the ^.
SAID = [
    # Types
    ("SELECT CAST(k AS ^FOO) FROM T", "'FOO' is no type that a value is cast to; allowed are BOOLEAN, TINYINT"),
    ("SELECT TRY_CAST(k AS ^FOO) FROM T", "'FOO' is no type that a value is cast to"),
    ("SELECT k::^FOO FROM T", "'FOO' is no type that a value is cast to"),
    ("SELECT CAST(^k AS TIME) FROM T", "CAST to TIME is not supported: livejoin casts to BOOLEAN"),
    ("SELECT ^k::Uuid AS u FROM T", "CAST to Uuid is not supported"),
    ("SELECT CAST(^k AS Array<INT>) FROM T", "CAST to Array<INT> is not supported"),
    ("SELECT TIME ^'10:00:00' FROM T", "CAST to TIME is not supported"),
    # Constants
    (
        "SELECT DATE ^'2024-13-01' FROM T",
        "DATE '2024-13-01': there is no such day; it is written as year-month-day, as in",
    ),
    ("SELECT k FROM T WHERE d > date ^'tomorrow 1'", "DATE 'tomorrow 1': there is no such day"),
    (
        "SELECT TIMESTAMP ^'2024-01-01 25:00:00' FROM T",
        "TIMESTAMP '2024-01-01 25:00:00': there is no such time; it is written as year-month-day hour:minute:second",
    ),
    ("SELECT TIMESTAMP_NTZ ^'x' FROM T", "TIMESTAMP_NTZ 'x': there is no such time"),
    ("SELECT TIMESTAMP_LTZ ^'2024-00-01' FROM T", "TIMESTAMP_LTZ '2024-00-01': there is no such time"),
    ("SELECT ^300Y FROM T", "300Y: 300 is out of the range of TINYINT"),
    ("SELECT ^1e999 FROM T", "1e999 is out of the range of DOUBLE"),
    ("SELECT ^1e999F FROM T", "1e999F: 1e999 is out of the range of FLOAT"),
    ("SELECT ^X'1g' FROM T", "X'1g' has 'g', which is no hexadecimal digit; bytes are written as X'1FA0'"),
    ("SELECT INTERVAL ^'x' DAY FROM T", "INTERVAL 'x' DAY has no number; write INTERVAL 3 DAYS"),
    ("SELECT k FROM T WHERE k = ^1e", "1e is no number; numbers are written as 1, 1.5 and 1.5e3"),
    ("SELECT -^1.5e AS x FROM T", "-1.5e: 1.5e is no number; numbers are written as 1, 1.5 and 1.5e3"),
    ("SELECT ^.5.5 AS x FROM T", "0.5.5 is no number; numbers are written as 1, 1.5 and 1.5e3"),
    ("SELECT ^5.L AS x FROM T", "5.L: 5. is no whole number, behind which the letter of its type would stand"),
    ("SELECT ^1e5S AS x FROM T", "1e5S: 1e5 is no whole number, behind which the letter of its type would stand"),
    ("SELECT ^0x1F AS x FROM T", "0x1F is no constant; write the number, or X'1F' for bytes"),
    # Patterns
    (
        "SELECT k FROM T WHERE ^s RLIKE '('",
        "s RLIKE '(': the regular expression '(' is malformed: missing ); a sign that",
    ),
    ("SELECT k FROM T WHERE ^s RLIKE 'a**'", "the regular expression 'a**' is malformed: bad repetition operator"),
    (
        "SELECT k FROM T WHERE ^s RLIKE '(?<=a)b'",
        "has the group '(?<=', which livejoin does not evaluate as Spark does",
    ),
    ("SELECT k FROM T WHERE ^s RLIKE s", "s RLIKE s: a pattern is written into the query, as a constant"),
    ("SELECT ^regexp_replace(s, '[', 'x') AS x FROM T", "the regular expression '[' has a class without its end"),
    ("SELECT ^regexp_extract(s, '(a)', 2) AS x FROM T", "has 1 groups, and no group 2"),
    ("SELECT ^split(s, ')')[0] AS x FROM T", "the regular expression ')' is malformed: unexpected )"),
    ("SELECT ^s LIKE 'a\\\\' AS x FROM T", "has the escape character '\\\\' at its end"),
    (
        "SELECT ^date_format(d, 'uuuu') AS x FROM T",
        "the pattern 'uuuu' has 'uuuu', which date_format does not show here",
    ),
    ("SELECT ^to_date(s, 'foo') AS x FROM T", "the pattern 'foo' has 'f', by which no text is read here"),
    (
        "SELECT ^from_utc_timestamp(t, 'Mars') AS x FROM T",
        "there is no time zone 'Mars'; write one as America/New_York",
    ),
    ("SELECT 1 + ^unix_timestamp(s, 'E') AS x FROM T", "the pattern 'E' has 'E', by which no text is read here"),
    # Counts
    ("SELECT k FROM T ^LIMIT -1", "LIMIT -1 is not supported; allowed is a whole number from 0 on, written as one"),
    ("SELECT k FROM T ORDER BY k ^LIMIT 1.5", "LIMIT 1.5 is not supported; allowed is a whole number from 0 on"),
    ("SELECT k FROM T ^LIMIT 'a'", "LIMIT 'a' is not supported; allowed is a whole number"),
    ("SELECT k FROM T ORDER BY k LIMIT 2 ^OFFSET -2", "OFFSET -2 is not supported; allowed is a whole number"),
    ("SELECT k FROM (SELECT k FROM T ^LIMIT NULL) q", "LIMIT NULL is not supported; allowed is a whole number"),
    # Functions
    (
        "SELECT ^soundex(s) AS x FROM T",
        "SOUNDEX is not supported: livejoin has no such function; those that it has: livejoin docs functions",
    ),
    (
        "SELECT ^split(s, ',') AS x FROM T",
        "SPLIT is not supported: it is read by an index alone, as SPLIT(text, pattern)[0]",
    ),
    ("SELECT ^to_hex(k) AS x FROM T", "TO_HEX is not supported: livejoin has no such function"),
    ("SELECT ^safe_add(k, 1) AS x FROM T", "SAFE_ADD is not supported: livejoin has no such function"),
    ("SELECT ^trunc(d, s) AS x FROM T", "TRUNC is not supported: its unit or pattern is written into the query, as a"),
    (
        "SELECT ^lag(k, -1) OVER (ORDER BY k) AS x FROM T",
        "a whole number of rows from 0 to 10,000, written as one, and -1",
    ),
    (
        "SELECT ^sum(k) OVER (ORDER BY k ROWS BETWEEN CURRENT ROW AND 3 PRECEDING) AS x FROM T",
        "SUM OVER this frame, ROWS BETWEEN CURRENT ROW AND 3 PRECEDING, is not supported: it ends before it begins",
    ),
    (
        "SELECT ^sum(k) OVER (ORDER BY k RANGE BETWEEN UNBOUNDED PRECEDING AND 5 PRECEDING) AS x FROM T",
        "SUM OVER this frame, RANGE BETWEEN UNBOUNDED PRECEDING AND 5 PRECEDING, is not supported: a RANGE frame has a "
        "distance at both of its ends, or at none. In place of UNBOUNDED write a distance that no two rows have "
        "between them, as 1000000000 PRECEDING",
    ),
    (
        "SELECT ^sum(k) OVER (ORDER BY d RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND UNBOUNDED FOLLOWING) AS x FROM T",
        "In place of UNBOUNDED write a distance that no two rows have between them, as INTERVAL '36500' DAY FOLLOWING",
    ),
    (
        "SELECT ^sum(k) OVER (ORDER BY k GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW) AS x FROM T",
        "RANGE may go from the first row to the current one, from the current one to the last, over all rows",
    ),
    (
        "SELECT ^round(k, 1.5) AS x FROM T",
        "ROUND is not supported: the number of digits is a whole number, written as one",
    ),
    ("SELECT ^DATETIME(k) AS x FROM T", "DATETIME is not supported: livejoin has no such function"),
    ("SELECT ^timestamp_add(d, k) AS x FROM T", "TIMESTAMP_ADD is not supported: livejoin has no such function"),
    ("SELECT ^year() AS x FROM T", "YEAR lacks an argument; it takes 1 argument, and 0 are given"),
    # Names
    ("SELECT ^o.x FROM T", "o is a column here and no table; it is STRUCT<x: INT>, of which no part is read"),
    ("SELECT k FROM T WHERE ^T.o.x = 1", "T.o is a column here and no table; it is STRUCT<x: INT>, of which no part"),
    ("SELECT a.k FROM T a JOIN T b ON ^b.o.x = a.k", "b.o is a column here and no table"),
    ("SELECT ^o.* FROM T", "o is a column here and no table"),
    ("SELECT ^k.x FROM T", "k is a column here and no table; it is INT, which has no parts"),
    ("SELECT ^nothere.x FROM T", "no table or alias 'nothere' is in scope here"),
    # Reserved words
    ("SELECT where ^FROM T", "where is a reserved word: as a name it stands in backticks, `where`"),
    ("SELECT k^, where FROM T", "where is a reserved word: as a name it stands in backticks, `where`"),
    ("SELECT k FROM T WHERE ^where > 1", "where is a reserved word: as a name it stands in backticks, `where`"),
    ("SELECT ^and FROM T", "and is a reserved word: as a name it stands in backticks, `and`"),
    ("SELECT k ^FROM where", "where is a reserved word: as a name it stands in backticks, `where`"),
]


@pytest.mark.parametrize(("marked", "message"), SAID)
def test_what_is_wrong_where_and_what_would_work(marked: str, message: str) -> None:
    sql = marked.replace("^", "")
    with pytest.raises(SqlError) as caught:
        bind_query(sql, CATALOG)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, marked.index("^") + 1)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("CREATE TABLE u (a ARRAY<FOO>)", "'FOO', within a type, is not a known type; allowed are BOOLEAN"),
        ("CREATE TABLE u (a MAP<INT, FOO>)", "'FOO', within a type, is not a known type"),
        ("CREATE TABLE where (a INT)", "where is a reserved word: as a name it stands in backticks, `where`"),
        ("CREATE TABLE u (a INT, where)", "where is a reserved word: as a name it stands in backticks"),
        ("CREATE TABLE u (a INT, PRIMARY KY (a))", "'PRIMARY KY' is no part of a table (did you mean 'PRIMARY KEY'?)"),
        ("CREATE TABLE u (a INT, PRIMRY KEY (a))", "'PRIMRY KEY' is no part of a table (did you mean 'PRIMARY KEY'?)"),
        ("CREATE TABLE u (a INT PRIMARY KY)", "(did you mean 'PRIMARY KEY'?)"),
        ("CREATE TABLE u (a INT NOT NUL)", "(did you mean 'NOT NULL'?)"),
        ("CREATE TABLE u (a INT DEFALT 3)", "(did you mean 'DEFAULT'?)"),
    ],
)
def test_what_is_wrong_with_a_declaration(sql: str, message: str) -> None:
    with pytest.raises(LivejoinError) as caught:
        parse_create_table(sql)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "sql", ["SELECT CAST('x' AS DATE) AS d FROM T", "SELECT TRY_CAST('2024-13-01' AS DATE) AS d FROM T"]
)
def test_a_cast_of_a_text_is_no_constant_of_a_type(sql: str) -> None:
    """It is an error, or NULL, of the row that needs it."""
    assert bind_query(sql, CATALOG).schema.names == ["d"]


def test_a_pattern_that_is_computed_from_constants_alone_is_one() -> None:
    bind_query("SELECT k FROM T WHERE s RLIKE concat('a', '+')", CATALOG)
    with pytest.raises(SqlError, match="a pattern is written into the query"):
        bind_query("SELECT k FROM T WHERE s RLIKE CASE WHEN k > 0 THEN 'a' END", CATALOG)
