"""What typed trees say: every conversion is a call of cast, and errors name what is wrong and where.

That the types are Spark's is tested by `tests/conformance`.
"""

from __future__ import annotations

import time
from decimal import Decimal

import pytest

from conformance.binding import bound
from livejoin.errors import SqlTypeError
from livejoin.query.scalar import Call, Constant, Field, Scalar
from livejoin.schema import SqlType
from livejoin.sql.scalars.bind import Unsaid
from livejoin.sql.scalars.operands import BIGINT, DATE, INT, STRING, TIMESTAMP


def _shown(tree: Scalar | Unsaid) -> str:
    """A tree as text, each call and constant with its type."""
    match tree:
        case Field():
            return f"${tree.position}"
        case Constant():
            return f"{tree.value}:{tree.type}"
        case Call():
            return f"{tree.function}({', '.join(map(_shown, tree.arguments))}):{tree.type}"
        case _:
            return f"unsaid {tree.what}"


# The columns of the corpus: $0 b, $2 i8, $4 i32, $6 i64, $8 x, $10 p, $11 q, $14 d, $17 z, $18 s.
@pytest.mark.parametrize(
    ("sql", "tree"),
    [
        ("i8 + i32", "add(cast($2):INT, $4):INT"),
        ("i32 / 2", "divide(cast($4):DOUBLE, cast(2:INT):DOUBLE):DOUBLE"),
        ("p * 2", "multiply($10, cast(2:INT):DECIMAL(1, 0)):DECIMAL(12, 2)"),
        ("p * i32", "multiply($10, cast($4):DECIMAL(10, 0)):DECIMAL(21, 2)"),
        ("p * CAST(2 AS INT)", "multiply($10, cast(2:INT):DECIMAL(10, 0)):DECIMAL(21, 2)"),
        ("p * int(2)", "multiply($10, cast(2:INT):DECIMAL(10, 0)):DECIMAL(21, 2)"),
        ("p * +2", "multiply($10, cast(2:INT):DECIMAL(10, 0)):DECIMAL(21, 2)"),
        ("p * -2", "multiply($10, cast(-2:INT):DECIMAL(1, 0)):DECIMAL(12, 2)"),
        ("p * -2BD", "multiply($10, -2:DECIMAL(1, 0)):DECIMAL(12, 2)"),
        ("p * 2L", "multiply($10, cast(2:BIGINT):DECIMAL(1, 0)):DECIMAL(12, 2)"),
        (
            "p * CAST(2 AS BIGINT)",
            "multiply($10, cast(cast(2:INT):BIGINT):DECIMAL(20, 0)):DECIMAL(31, 2)",
        ),
        ("p + x", "add(cast($10):DOUBLE, $8):DOUBLE"),
        ("-2147483648", "-2147483648:INT"),
        ("2147483648", "2147483648:BIGINT"),
        ("1.50", "1.50:DECIMAL(3, 2)"),
        ("i32 = '5'", "equal(cast($4):BIGINT, cast(5:STRING):BIGINT):BOOLEAN"),
        ("p < q", "less(cast($10):DECIMAL(20, 6), $11):BOOLEAN"),
        ("d = '2020-02-29'", "equal($14, cast(2020-02-29:STRING):DATE):BOOLEAN"),
        ("z > DATE'1970-01-02'", "greater($17, cast(1:DATE):TIMESTAMP):BOOLEAN"),
        ("d + INTERVAL 3 DAYS", "add_days($14, 3:INT):DATE"),
        ("d - INTERVAL '1-2' YEAR TO MONTH", "add_months($14, -14:INT):DATE"),
        ("d + INTERVAL 2 HOURS", "add_interval(cast($14):TIMESTAMP, 0:INT, 0:INT, 7200000000:BIGINT):TIMESTAMP"),
        ("z - INTERVAL 1 MONTH", "add_interval($17, -1:INT, 0:INT, 0:BIGINT):TIMESTAMP"),
        ("date_sub(d, 5)", "add_days($14, -5:INT):DATE"),
        ("dayofweek(d)", "day_of_week($14):INT"),
        ("dayofweek(z)", "day_of_week(cast($17):DATE):INT"),
        ("EXTRACT(DOW FROM d)", "day_of_week($14):INT"),
        ("weekday(d)", "weekday($14):INT"),
        ("date_trunc('Mon', z)", "truncate_time($17, month:STRING):TIMESTAMP"),
        ("date_trunc('Y', z)", "None:TIMESTAMP"),
        ("locate('a', s, 2)", "position($18, a:STRING, 2:INT):INT"),
        ("instr(s, 'a')", "position($18, a:STRING):INT"),
        ("substring(s, 0, 3)", "substring($18, 0:INT, 3:INT):STRING"),
        (r"s LIKE '%\%b%'", r"like($18, %\%b%:STRING):BOOLEAN"),
        ("s LIKE 'a#%' ESCAPE '#'", "like($18, a#%:STRING, #:STRING):BOOLEAN"),
        ("s NOT LIKE ANY ('a', 'b')", "or(not(like($18, a:STRING):BOOLEAN):BOOLEAN, "
         "not(like($18, b:STRING):BOOLEAN):BOOLEAN):BOOLEAN"),
        ("i32 || s", "concatenate(cast($4):STRING, $18):STRING"),
        ("CASE i32 WHEN 1 THEN p ELSE 0 END",
         "case(equal($4, 1:INT):BOOLEAN, cast($10):DECIMAL(12, 2), cast(0:INT):DECIMAL(12, 2)):DECIMAL(12, 2)"),
        ("decode(i32, NULL, 1, 2)", "case(null_safe_equal($4, None:INT):BOOLEAN, 1:INT, 2:INT):INT"),
        ("nullif(i32, 0)", "case(equal($4, 0:INT):BOOLEAN, None:INT, $4):INT"),
        ("coalesce(NULL, i8, 1)", "coalesce(None:INT, cast($2):INT, 1:INT):INT"),
        ("b AND 'true'", "and($0, cast(true:STRING):BOOLEAN):BOOLEAN"),
        ("b IS NOT TRUE", "not(null_safe_equal($0, True:BOOLEAN):BOOLEAN):BOOLEAN"),
        ("CAST(x AS INT)", "cast($8):INT"),
        ("TRY_CAST(s AS INT)", "try_cast($18):INT"),
        ("try_add(i32, 1)", "try_add($4, 1:INT):INT"),
        ("try_add(s, i32)", "try_add(try_cast($18):BIGINT, cast($4):BIGINT):BIGINT"),
        ("log10(x)", "logarithm_10($8):DOUBLE"),
        ("datediff(MONTH, d, z)", "difference_in_units($17, cast($14):TIMESTAMP, month:STRING):BIGINT"),
        ("+s", "cast($18):DOUBLE"),
        ("round(p, -1)", "round($10, -1:INT):DECIMAL(9, 0)"),
        ("floor(x)", "floor($8):BIGINT"),
        ("TIMESTAMP'1970-01-01 02:00:00.5+02:00'", "500000:TIMESTAMP"),
        ("current_date", "unsaid CURRENT_DATE"),
        ("DATE'today'", "unsaid DATE"),
        ("d - s", "unsaid -"),
        ("date_trunc(s, z)", "unsaid DATE_TRUNC"),
        ("CAST(s AS TIMESTAMP_NTZ)", "unsaid CAST to TIMESTAMP_NTZ"),
        ("TIMESTAMP_NTZ'1970-01-01 00:00:01'", "1000000:TIMESTAMP_NTZ"),
        ("TIMESTAMP_NTZ'1970-01-01 00:00:01Z'", "unsaid CAST to TIMESTAMP_NTZ"),
        ("CAST(s AS INTERVAL DAY)", "unsaid CAST to INTERVAL DAY"),
        ("NULL", "unsaid NULL"),
        ("sum(i32)", "unsaid SUM"),
        ("CAST(s AS DATE FORMAT 'yyyy')", "unsaid STR_TO_DATE"),
        ("i32 BETWEEN SYMMETRIC 2 AND 1", "unsaid BETWEEN with SYMMETRIC"),
        ("i32 IN (SELECT 1)", "unsaid IN with QUERY"),
        ("(SELECT 1)", "unsaid SUBQUERY"),
        ("trim(s COLLATE UTF8_LCASE)", "unsaid COLLATE"),
        ("s NOT RLIKE 'a'", "not(matches($18, a:STRING):BOOLEAN):BOOLEAN"),
        ("sum(i32) OVER ()", "unsaid WINDOW"),
        ("upper(DISTINCT s)", "unsaid DISTINCT"),
    ],
)  # fmt: skip
def test_trees_say_every_conversion(sql: str, tree: str) -> None:
    assert _shown(bound(sql)) == tree


@pytest.mark.parametrize(
    ("sql", "column", "message"),
    [
        ("i32 + d * 2", 14, "d * 2: a number is wanted, and DATE is found"),
        ("s = 'a' AND b = 1", 20, "b = 1: BOOLEAN and INT have no type in common to be compared in; cast one of them"),
        ("CASE WHEN i32 THEN 1 END", 18, "a condition is BOOLEAN, and INT is found"),
        ("CAST(d AS INT)", 13, "DATE cannot be cast to INT"),
        ("coalesce(d, i32)", 8, "DATE and INT have no type in common to be chosen from in"),
        ("d + 1.5", 8, "days are INT, SMALLINT or TINYINT, and DECIMAL(2, 1) is found; cast it to INT"),
        ("octet_length(s, 1)", 8, "octet_length takes 1 argument, and 2 are given"),
        ("d + INTERVAL 1 MONTH 1 DAY", 8, "an interval is of years and months, or of days and below"),
        ("d + INTERVAL 1 FORTNIGHT", 8, "FORTNIGHT is no unit of intervals"),
        ("d + INTERVAL 200000000 YEARS", 8, "the interval is too long"),
        ("IF(b, 1)", 8, "IF takes a condition and two values, and one value is given"),
        ("CAST(s AS DECIMAL(39, 2))", 13, "allowed are 1 to 38 digits"),
        ("300Y", 8, "300 is out of the range of TINYINT"),
        ("EXTRACT(CENTURIES FROM d)", 31, "CENTURIES is no part of a time"),
    ],
)
def test_types_that_do_not_fit_are_named_with_their_position(sql: str, column: int, message: str) -> None:
    with pytest.raises(SqlTypeError) as error:
        bound(sql)
    assert message in error.value.message
    assert (error.value.line, error.value.column) == (1, column)


def test_calls_carry_the_text_that_errors_show() -> None:
    tree = bound("i32 + CAST(s AS INT) * 2")
    assert isinstance(tree, Call)
    product = tree.arguments[1]
    assert isinstance(product, Call)
    assert (tree.text, product.text, product.arguments[0]) == (
        "i32 + CAST(s AS INT) * 2",
        "CAST(s AS INT) * 2",
        Call("cast", (Field(18, STRING),), INT, "CAST(s AS INT)"),
    )


def test_a_cast_that_sql_makes_by_itself_has_the_text_of_its_operator() -> None:
    tree = bound("d = s")
    assert isinstance(tree, Call)
    assert tree.arguments[1] == Call("cast", (Field(18, STRING),), DATE, "d = s")


@pytest.mark.parametrize("operator", ["+", "AND", "||"])
def test_chains_may_be_long(operator: str) -> None:
    """AND, OR and + are not nested for the parser, however many there are; binding takes linear time."""
    item = {"+": "i32", "AND": "b", "||": "s"}[operator]
    begin = time.process_time()
    tree = bound(f" {operator} ".join([item] * 3000))
    assert isinstance(tree, Call)
    assert time.process_time() - begin < 10


def test_next_day_is_composed() -> None:
    """Whatever the day is, the result lies 1 to 7 days ahead: 1 + (k - 1 - weekday) mod 7."""
    assert _shown(bound("next_day(d, 'Tue')")) == (
        "add_days($14, add(positive_remainder(subtract(0:INT, weekday($14):INT):INT, 7:INT):INT, 1:INT):INT):DATE"
    )


def test_decimals_of_many_digits() -> None:
    tree = bound("1234567890123456789.0123456789012345678")
    assert tree == Constant(Decimal("1234567890123456789.0123456789012345678"), SqlType.decimal(38, 19))
    assert isinstance(bound("p * p * p * p"), Call)
    assert bound("timestamp_seconds(i32)") == Call("cast", (Field(4, INT),), TIMESTAMP, "TIMESTAMP_SECONDS(i32)")
    assert bound("unix_seconds(z)") == Call("cast", (Field(17, TIMESTAMP),), BIGINT, "UNIX_SECONDS(z)")
