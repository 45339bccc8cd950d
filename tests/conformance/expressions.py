"""The expressions of the corpus, by group: every function over columns of every type, and what is written
by hand in ``expressions.sql``."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from conformance import formats

COLUMNS = ("b", "i8", "i16", "i32", "i64", "x", "p", "q", "r", "v", "d", "z", "s")
"""One column of each type."""

_NUMBERS = ("i8", "i16", "i32", "i64", "x", "p", "q", "r", "v")
_OTHER = {"b": "c", "i32": "j32", "i64": "j64", "x": "y", "d": "g", "z": "k", "s": "u"}
_TYPES = (
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "DOUBLE",
    "DECIMAL(10, 2)",
    "DECIMAL(5, 0)",
    "DECIMAL(38, 18)",
    "DATE",
    "TIMESTAMP",
    "STRING",
)
_IN_PAIRS = (
    "1",
    "-7",
    "3000000000",
    "0",
    "1.5",
    "0.001",
    "2e0",
    "'1'",
    "'2.5'",
    "'abc'",
    "'2020-02-29'",
    "TRUE",
    "NULL",
    "DATE'2020-02-29'",
    "TIMESTAMP'2020-02-29 12:00:00'",
)
_ARITHMETIC = ("+", "-", "*", "/", "%", "div")
_COMPARISONS = ("=", "<", "<=>")


def expressions() -> Iterator[tuple[str, str]]:
    """Each expression once, behind the name of its group: those that are made, then those that are written."""
    seen = set()
    for group, made in _MADE.items():
        for text in (*made(), *_listed(group)):
            if text not in seen:
                seen.add(text)
                yield group, text


def _listed(name: str) -> tuple[str, ...]:
    """The lines of a section of ``expressions.sql``."""
    sections = (Path(__file__).parent / "expressions.sql").read_text().split("-- ")
    found = next(section for section in sections if section.partition("\n")[0] == name)
    return tuple(found.splitlines()[1:])


def _pairs() -> Iterator[tuple[str, str]]:
    """Two columns of each two types, and a column with each literal on either side."""
    for left, right in product(COLUMNS, COLUMNS):
        yield left, _OTHER.get(right, right) if left == right else right
    for column, literal in product(COLUMNS, _IN_PAIRS):
        yield column, literal
    for column, literal in product(("i32", "p", "x", "d", "s"), _IN_PAIRS):
        yield literal, column


def _literals() -> Iterator[str]:
    yield from COLUMNS


def _arithmetic() -> Iterator[str]:
    for (left, right), operator in product(_pairs(), _ARITHMETIC):
        yield f"{left} {operator} {right}"
    for column in (*COLUMNS, "n", "NULL"):
        yield from (
            f"-{column}",
            f"+{column}",
            f"abs({column})",
            f"negative({column})",
            f"positive({column})",
            f"sign({column})",
        )
    for left, right in product(
        ("i8", "i32", "i64", "x", "p", "q", "v", "d", "n"), ("j32", "3", "0", "2.5", "y", "r", "'2'", "NULL")
    ):
        for name in ("mod", "pmod", "try_add", "try_subtract", "try_multiply", "try_divide", "try_mod"):
            yield f"{name}({left}, {right})"
    for left, right in product(("n",), ("n", "i32", "i64", "x", "p", "1", "1.5", "'1'")):
        yield from (f"{left} {operator} {right}" for operator in _ARITHMETIC)


def _comparisons() -> Iterator[str]:
    for (left, right), operator in product(_pairs(), _COMPARISONS):
        yield f"{left} {operator} {right}"
    for left, right in (
        ("i32", "j32"),
        ("x", "y"),
        ("s", "u"),
        ("p", "q"),
        ("d", "g"),
        ("z", "k"),
        ("b", "c"),
        ("r", "v"),
        ("d", "z"),
        ("x", "p"),
    ):
        for operator in ("<>", "!=", "==", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"):
            yield f"{left} {operator} {right}"
        yield from (
            f"{left} BETWEEN {right} AND {left}",
            f"{left} NOT BETWEEN {right} AND {right}",
            f"NOT {left} = {right}",
            f"equal_null({left}, {right})",
        )
    for column in COLUMNS:
        yield from (
            f"{column} IS NULL",
            f"{column} IS NOT NULL",
            f"isnull({column})",
            f"isnotnull({column})",
            f"isnan({column})",
        )
        yield from (f"{column} BETWEEN 0 AND 1", f"{column} BETWEEN '0' AND 1.5", f"{column} BETWEEN NULL AND {column}")
        yield from (
            f"{column} IN ({column})",
            f"{column} IN (1, 2, 5)",
            f"{column} IN (1, NULL)",
            f"{column} IN ('1', 'abc')",
        )
        yield from (
            f"{column} IN (1, 2.5, 100L)",
            f"{column} NOT IN (0, 1)",
            f"{column} NOT IN (NULL)",
            f"{column} IN (1, '2', 3.5)",
        )
    for name in ("n", "e", "f", "u"):
        yield from (f"{name} = {column}" for column in COLUMNS)
        yield from (f"{name} IN ({column})" for column in COLUMNS)


def _logic() -> Iterator[str]:
    for left, right in product(
        ("b", "TRUE", "FALSE", "NULL", "i32", "s", "f", "'true'", "'x'"), ("c", "TRUE", "NULL", "'f'")
    ):
        yield from (f"{left} AND {right}", f"{left} OR {right}")
    for column in (*COLUMNS, "f", "NULL", "TRUE", "'no'", "1"):
        yield from (
            f"NOT {column}",
            f"!{column}",
            f"{column} IS TRUE",
            f"{column} IS NOT TRUE",
            f"{column} IS FALSE",
            f"{column} IS NOT FALSE",
        )
        yield from (f"{column} IS UNKNOWN", f"{column} IS NOT UNKNOWN")


def _conditionals() -> Iterator[str]:
    for left, right in _pairs():
        yield from (f"coalesce({left}, {right})", f"IF(b, {left}, {right})")
    for left, right in product(COLUMNS, ("i32", "x", "p", "v", "s", "d", "1", "1.5", "'1'", "NULL")):
        yield from (
            f"greatest({left}, {right})",
            f"least({left}, {right})",
            f"nullif({left}, {right})",
            f"nvl2({left}, {left}, {right})",
        )
        yield from (f"CASE WHEN b THEN {left} WHEN c THEN {right} END", f"CASE {left} WHEN {right} THEN 1 ELSE 2 END")
        yield from (
            f"decode({left}, {right}, 'same', 'other')",
            f"decode(1, 1, {left}, {right})",
            f"nvl({left}, {right})",
            f"ifnull({left}, {right})",
        )
        yield f"CASE WHEN b THEN {left} ELSE {right} END"
    for name in COLUMNS:
        yield from (
            f"coalesce({name})",
            f"greatest({name})",
            f"IF({name}, 1, 2)",
            f"CASE WHEN {name} THEN 1 END",
            f"coalesce(NULL, {name}, NULL)",
        )
        yield from (f"zeroifnull({name})", f"nullifzero({name})", f"IF({name} IS NULL, 'none', {name})")


def _casts() -> Iterator[str]:
    for column, kind in product((*COLUMNS, "n", "e", "f", "NULL"), _TYPES):
        yield from (f"CAST({column} AS {kind})", f"TRY_CAST({column} AS {kind})")
    for name in ("boolean", "tinyint", "smallint", "int", "bigint", "double", "date", "timestamp", "string", "decimal"):
        yield from (f"{name}(s)", f"{name}(i32)", f"{name}(n)")


_PARTS = (
    "year",
    "quarter",
    "month",
    "day",
    "dayofmonth",
    "dayofweek",
    "weekday",
    "dayofyear",
    "weekofyear",
    "hour",
    "minute",
    "second",
    "last_day",
)
_FIELDS = (
    "YEAR",
    "YEARS",
    "Y",
    "QUARTER",
    "QTR",
    "MONTH",
    "MON",
    "WEEK",
    "W",
    "DAY",
    "D",
    "DAYOFWEEK",
    "DOW",
    "DAYOFWEEK_ISO",
    "DOW_ISO",
    "DOY",
    "DAYOFYEAR",
    "HOUR",
    "H",
    "MINUTE",
    "M",
    "MIN",
    "SECOND",
    "S",
    "SEC",
    "YEAROFWEEK",
    "EPOCH",
    "CENTURY",
    "MILLISECOND",
)
_UNITS = (
    "YEAR",
    "YYYY",
    "YY",
    "QUARTER",
    "MONTH",
    "MM",
    "MON",
    "WEEK",
    "DAY",
    "DD",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
    "DECADE",
    "CENTURY",
    "x",
    "",
)


def _times() -> Iterator[str]:
    for part, column in product(_PARTS, ("d", "z", "e", "i32", "x", "NULL", "'2020-02-29'")):
        yield f"{part}({column})"
    for field, column in product(_FIELDS, ("d", "z")):
        yield f"EXTRACT({field} FROM {column})"
    for field in ("year", "dow", "week", "x", "second"):
        yield from (f"date_part('{field}', z)", f"datepart('{field}', d)")
    for column, interval in product(("d", "z"), _listed("intervals")):
        yield from (f"{column} + {interval}", f"{column} - {interval}")
    for column, amount in product(
        ("d", "z", "e", "NULL"), ("1", "-1", "i8", "i16", "0", "365", "NULL", "'5'", "'x'", "1.5", "i64", "p")
    ):
        yield from (
            f"date_add({column}, {amount})",
            f"date_sub({column}, {amount})",
            f"add_months({column}, {amount})",
            f"{column} + {amount}",
            f"{column} - {amount}",
        )
    for left, right in product(("d", "z", "e", "'2020-02-29'", "NULL"), ("g", "k", "'2021-01-31'", "i32")):
        yield from (
            f"datediff({left}, {right})",
            f"date_diff({left}, {right})",
            f"{left} - {right}",
            f"months_between({left}, {right})",
        )
    for unit in ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"):
        yield from (
            f"dateadd({unit}, 1, d)",
            f"date_add({unit}, -13, z)",
            f"timestampadd({unit}, 5, z)",
            f"dateadd({unit}, i8, d)",
            f"timestampadd({unit}, i8, z)",
        )
        yield from (
            f"datediff({unit}, d, g)",
            f"datediff({unit}, z, k)",
            f"timestampdiff({unit}, d, z)",
            f"date_diff({unit}, z, d)",
        )
    for unit in _UNITS:
        yield from (
            f"trunc(d, '{unit}')",
            f"trunc(z, '{unit}')",
            f"date_trunc('{unit}', d)",
            f"date_trunc('{unit}', z)",
        )
    for y, m, d in product(("2020", "0", "-1", "10000", "i16", "NULL"), ("2", "13", "0"), ("29", "31", "0", "i8")):
        yield f"make_date({y}, {m}, {d})"
    for name in (
        "to_date",
        "to_timestamp",
        "date",
        "timestamp",
        "unix_date",
        "unix_micros",
        "unix_millis",
        "unix_seconds",
        "unix_timestamp",
        "try_to_timestamp",
        "try_to_date",
        "monthname",
        "dayname",
        "to_unix_timestamp",
        "date_from_unix_date",
        "timestamp_seconds",
        "timestamp_millis",
        "timestamp_micros",
        "from_unixtime",
        "to_timestamp_ntz",
    ):
        yield from (f"{name}({column})" for column in ("d", "z", "e", "i8", "i32", "i64", "x", "p"))


def _mathematics() -> Iterator[str]:
    for name, column in product(
        (
            "round",
            "bround",
            "floor",
            "ceil",
            "ceiling",
            "sqrt",
            "exp",
            "ln",
            "log",
            "log10",
            "log2",
            "signum",
            "cbrt",
            "sin",
            "rint",
        ),
        (*_NUMBERS, "n", "b", "d", "NULL"),
    ):
        if not (name == "sin" and column != "x"):
            yield f"{name}({column})"
    for name, column, digits in product(
        ("round", "bround"), (*_NUMBERS, "n"), ("0", "1", "2", "-1", "-2", "5", "-10", "20", "40")
    ):
        yield f"{name}({column}, {digits})"
    for name, column, digits in product(
        ("floor", "ceil"), ("x", "p", "q", "v", "i32", "i64", "r"), ("0", "1", "-1", "-3", "3")
    ):
        yield f"{name}({column}, {digits})"
    for left, right in product(("x", "i32", "p", "0", "2", "-8"), ("y", "2", "0.5", "-1", "0", "NULL")):
        yield from (f"power({left}, {right})", f"pow({left}, {right})", f"log({left}, {right})")


_UNARY = (
    "length",
    "len",
    "char_length",
    "character_length",
    "octet_length",
    "bit_length",
    "upper",
    "ucase",
    "lower",
    "lcase",
    "trim",
    "ltrim",
    "rtrim",
    "btrim",
    "reverse",
    "initcap",
    "ascii",
    "md5",
)


def _strings() -> Iterator[str]:
    for name, column in product(_UNARY, ("s", "u", "i32", "x", "p", "d", "b", "z", "NULL", "'Äb c'")):
        yield f"{name}({column})"
    starts = ("0", "1", "2", "-1", "-3", "5", "-100", "100", "i8")
    for start in starts:
        yield from (
            f"substring(s, {start})",
            f"substr(s, {start}, 2)",
            f"left(s, {start})",
            f"right(s, {start})",
            f"repeat(u, {start})",
        )
        yield from (f"substring(s, {start}, {count})" for count in ("0", "1", "3", "-1", "100", "2147483647", "NULL"))
        yield from (
            f"lpad(s, {start}, '*')",
            f"rpad(s, {start}, 'ab')",
            f"lpad(s, {start}, '')",
            f"rpad(s, {start})",
            f"split_part('a,b,,c', ',', {start})",
            f"split_part(s, 'b', {start})",
        )
        yield f"locate('a', s, {start})"
    for pattern, operator in product(_listed("patterns"), ("LIKE", "NOT LIKE", "ILIKE")):
        yield f"s {operator} {pattern}"
    for name in ("startswith", "endswith", "contains", "instr", "concat", "replace", "levenshtein", "strpos"):
        yield from (f"{name}(s, {text})" for text in ("'a'", "''", "'bc'", "u", "NULL", "'ö'", "i8"))
    for name in ("position", "locate", "charindex"):
        yield from (f"{name}({text}, s)" for text in ("'a'", "''", "'bc'", "u", "NULL", "'本'"))
    for text in ("'a'", "'ab'", "''", "u", "NULL", "' '", "'ax'"):
        yield from (
            f"trim({text} FROM s)",
            f"trim(BOTH {text} FROM s)",
            f"trim(LEADING {text} FROM s)",
            f"trim(TRAILING {text} FROM s)",
            f"ltrim({text}, s)",
            f"rtrim({text}, s)",
            f"btrim(s, {text})",
        )
    for old, new in product(("'a'", "''", "'bc'", "u", "'ö'", "'aa'"), ("'x'", "''", "'aa'", "u", "NULL")):
        yield from (f"replace(s, {old}, {new})", f"translate(s, {old}, {new})")
    for left, right in product(COLUMNS, ("s", "'-'", "i32", "NULL")):
        yield from (f"{left} || {right}", f"concat({left}, {right})")


def _floats() -> Iterator[str]:
    """FLOAT beside itself, beside every other type, and under every function of numbers."""
    yield "h"
    others = ("o", "i8", "i32", "i64", "x", "p", "r", "n", "b", "d", "z", "1", "2.5", "1.5F", "2e0", "'1.1'", "NULL")
    for other, operator in product(others, (*_ARITHMETIC, *_COMPARISONS)):
        yield from (f"h {operator} {other}", f"{other} {operator} h")
    for name in ("mod", "pmod", "try_add", "try_subtract", "try_multiply", "try_divide", "try_mod", "nanvl", "power"):
        yield from (f"{name}(h, {other})" for other in ("o", "i32", "x", "p", "0", "3"))
    for name in ("coalesce", "greatest", "least", "nullif", "nvl2"):
        more = ", NULL" if name == "nvl2" else ""
        yield from (f"{name}(h, {other}{more})" for other in ("o", "i8", "i64", "x", "p", "n", "1", "NULL"))
    for other in ("o", "i32", "x", "p", "'a'"):
        yield from (f"if(b, h, {other})", f"CASE WHEN b THEN h ELSE {other} END")
    for name in ("abs", "negative", "positive", "sign", "sqrt", "floor", "ceil", "isnan", "isnull", "rint", "exp"):
        yield f"{name}(h)"
    for name, digits in product(("round", "bround", "floor", "ceil"), ("0", "1", "2", "-1", "7", "40", "-40")):
        yield f"{name}(h, {digits})"
    yield from (f"CAST(h AS {kind})" for kind in (*_TYPES, "FLOAT"))
    yield from (f"TRY_CAST(h AS {kind})" for kind in (*_TYPES, "FLOAT"))
    yield from (f"CAST({column} AS FLOAT)" for column in (*COLUMNS, "n", "o", "NULL"))
    yield from (f"TRY_CAST({column} AS FLOAT)" for column in (*COLUMNS, "n"))
    yield from (f"CAST(CAST({column} AS FLOAT) AS STRING)" for column in ("x", "i32", "v", "n"))
    yield from ("h IN (1, 1.5F)", "h IN (0.1, 2.5)", "h IN ('1', '2.7')", "h BETWEEN 0 AND o", "h BETWEEN 0F AND 2F")


def _binaries() -> Iterator[str]:
    """BINARY beside itself, beside strings and other types, and under the functions that take it."""
    yield "w"
    others = ("m", "s", "n", "u", "i32", "x", "h", "d", "b", "X'61'", "X'F'", "X''", "'abc'", "1", "NULL")
    for other, operator in product(others, (*_COMPARISONS, "<>", ">=", "||", "+")):
        yield from (f"w {operator} {other}", f"{other} {operator} w")
    for name in ("length", "octet_length", "bit_length", "hex", "char_length", "isnull", "upper", "abs", "isnan"):
        yield f"{name}(w)"
    yield from (f"hex({column})" for column in ("s", "i8", "i32", "i64", "NULL", "p", "x", "d", "b"))
    yield from (f"unhex({column})" for column in ("n", "s", "u", "w", "i32", "hex(w)", "'1fF'", "'g'", "NULL"))
    for name in ("coalesce", "greatest", "least", "nullif", "concat", "equal_null", "startswith", "contains"):
        yield from (f"{name}(w, {other})" for other in ("m", "s", "X'61'", "NULL", "i32"))
    yield from (f"CAST(w AS {kind})" for kind in (*_TYPES, "FLOAT", "BINARY"))
    yield from (f"TRY_CAST(w AS {kind})" for kind in (*_TYPES, "BINARY"))
    yield from (f"CAST({column} AS BINARY)" for column in (*COLUMNS, "n", "w", "h", "NULL"))
    for begin in ("0", "1", "2", "-1", "-3", "5", "i8"):
        yield from (f"substring(w, {begin})", f"substring(w, {begin}, 2)", f"left(w, {begin})", f"right(w, {begin})")


def _spans() -> Iterator[str]:
    """Differences of times, and what is done with intervals of days and time."""
    times = ("k", "g", "TIMESTAMP'2020-01-01 00:00:00'", "DATE'2020-01-01'")
    for left, right in product(("z", "d", "NULL", "e"), times):
        yield from (f"{left} - {right}", f"{right} - {left}")
    spans = ("(z - k)", "(d - g)", "INTERVAL 1 DAY", "INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL -90 MINUTES")
    for one, other in product(spans, spans):
        yield from (f"{one} {operator} {other}" for operator in ("+", "-", *_COMPARISONS, "<>", ">="))
    for one in spans:
        yield from (one, f"-{one}", f"{one} IS NULL", f"{one} = NULL", f"{one} + 1", f"{one} = 1", f"{one} = '1'")
        yield from (f"z + {one}", f"z - {one}", f"{one} + z", f"{one} - z", f"NOT {one}")
        yield from (f"{one} * i8", f"i32 * {one}", f"{one} * 1000000", f"nullif({one}, {one})")
        yield from (
            f"coalesce({one}, z - z)",
            f"greatest({one}, z - k)",
            f"least(z - k, {one})",
            f"if(b, {one}, z - k)",
        )
        yield from (f"{one} IN ({one}, INTERVAL 0 DAYS)", f"{one} BETWEEN INTERVAL 0 DAYS AND INTERVAL 1 DAY")
    yield from ("INTERVAL 1 MONTH", "(z - k) + INTERVAL 1 MONTH", "INTERVAL '1' SECOND = INTERVAL 1000 MILLISECONDS")
    yield "-(z - k) < z - k"


def _precedence() -> Iterator[str]:
    """Each operator beside each other one, and random expressions, without a pair of parentheses."""
    binary = ("+", "-", "*", "/", "%", "div", "||", "&", "|", "^", "<<", ">>", ">>>", "=", "<", ">=", "<>", "<=>")
    for first, second in product(binary, binary):
        yield f"j32 {first} 2 {second} 3"
        yield f"'7' {first} i32 {second} 5"
    for operator in binary:
        yield from (f"-i32 {operator} ~j32", f"- - 2 {operator} -1::STRING", f"-i32::STRING {operator} 3")
        yield from (f"NOT i32 {operator} 2 IS NULL", f"b {operator} c IS NOT TRUE", f"NOT b {operator} c AND NOT c")
        yield from (f"s LIKE '1' {operator} '2'", f"i32 {operator} 2 BETWEEN 1 AND 2 {operator} 3")
        yield from (f"i32 {operator} 2 IN (4, 2)", f"b OR c AND b {operator} c", f"s {operator} u IS DISTINCT FROM s")
        yield f"CASE WHEN b THEN i32 ELSE 2 END {operator} 3 {operator} split(s, 'b')[0]"
    chosen = random.Random(29)
    operands = ("i32", "j32", "i64", "i8", "s", "u", "b", "c", "'12'", "'b'", "3", "7L", "TRUE", "NULL", "n", "p")
    operands += ("-1::STRING", "-i32", "~i8", "- -2", "-7", "abs(i32)", "i32::BIGINT", "-s", "CASE WHEN b THEN 1 END")
    predicates = ("IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT FALSE", "IN (1, 2)", "NOT IN (1, 7)", "BETWEEN 0 AND 7")
    predicates += ("NOT BETWEEN 3 AND i64", "LIKE '1%' || 'a'", "NOT LIKE u", "BETWEEN b AND 3 = 3", "<=> 2")
    predicates += ("IS DISTINCT FROM 2 | 1", "LIKE ANY ('1%', '%b')", "LIKE 'a/_' ESCAPE '/'", "", "", "", "", "")
    words = ("AND", "OR", "AND NOT", "OR NOT")
    for _ in range(1500):
        text = ""
        for part in range(chosen.choice((1, 1, 1, 2, 3))):
            value = chosen.choice(operands)
            for _ in range(chosen.randint(0 if part else 1, 4)):
                value += f" {chosen.choice(binary)} {chosen.choice(operands)}"
            text += f" {chosen.choice(words)} " if part else chosen.choice(("", "", "NOT ", "! "))
            text += f"{value} {chosen.choice(predicates)}".strip()
        yield text


def _bits() -> Iterator[str]:
    for (left, right), operator in product(_pairs(), ("&", "|", "^")):
        yield f"{left} {operator} {right}"
    for column in (*COLUMNS, "n", "NULL"):
        yield from (f"~{column}", f"bit_count({column})")
        yield from (f"{column} {operator} j32" for operator in ("<<", ">>", ">>>"))
        yield from (f"i64 {operator} {column}" for operator in ("<<", ">>", ">>>"))
        yield from (f"{name}(i32, {column})" for name in ("shiftleft", "shiftright", "shiftrightunsigned"))


def _joins() -> Iterator[str]:
    """concat_ws of values and expressions, with a separator that is a column, NULL or empty."""
    for separator in ("'-'", "''", "NULL", "u", "', '", "1"):
        yield from (f"concat_ws({separator})", f"concat_ws({separator}, s, upper(u))")
        yield from (f"concat_ws({separator}, {column}, u, {column})" for column in (*COLUMNS, "w", "NULL"))
        yield f"concat_ws({separator}, u, NULL, s, '', nullif(u, 'a'))"


def _hashes() -> Iterator[str]:
    columns = (*COLUMNS, "n", "e", "f", "h", "o", "w", "m", "NULL", "1", "1.5", "'abc'", "2e0", "INTERVAL '3' DAY")
    for name in ("hash", "xxhash64"):
        for column in columns:
            yield from (f"{name}({column})", f"{name}(i32, {column})", f"{name}({column}, s, {column})")
        yield from (
            f"{name}()",
            f"{name}({', '.join(COLUMNS)})",
            f"{name}(upper(s), i32 + 0L)",
            f"{name}(repeat(s, 9))",
        )


_MADE = {
    "literals": _literals,
    "arithmetic": _arithmetic,
    "comparisons": _comparisons,
    "logic": _logic,
    "conditionals": _conditionals,
    "casts": _casts,
    "times": _times,
    "mathematics": _mathematics,
    "strings": _strings,
    "floats": _floats,
    "binaries": _binaries,
    "host": tuple,
    "spans": _spans,
    "precedence": _precedence,
    "bits": _bits,
    "hashes": _hashes,
    "joins": _joins,
    "formats": formats.expressions,
}
GROUPS = tuple(_MADE)
