"""``docs/functions.md``: the list of supported functions, generated from the tables that bind them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from livejoin.sql.scalars.functions.by_name import accepted_arguments

_TOPICS: Final[dict[str, tuple[str, ...]]] = {
    "Numbers": (
        *("abs", "acos", "asin", "atan", "atan2", "bround", "cbrt", "ceil", "ceiling", "cos", "cosh", "degrees", "e"),
        *("exp", "floor", "isnan", "ln", "log", "log10", "log2", "mod", "negative", "pi", "pmod", "positive", "pow"),
        *("power", "radians", "rint", "round", "sign", "signum", "sin", "sinh", "sqrt", "tan", "tanh", "try_add"),
        *("try_divide", "try_mod", "try_multiply", "try_subtract"),
    ),
    "Strings and bytes": (
        *("ascii", "base64", "bit_length", "btrim", "char_length", "character_length", "concat", "concat_ws"),
        *("contains", "crc32", "endswith", "format_string", "hex", "ilike", "initcap", "lcase", "left", "len"),
        *("length", "levenshtein", "like", "locate", "lower", "lpad", "ltrim", "md5", "octet_length", "position"),
        *("printf", "regexp", "regexp_extract", "regexp_like", "regexp_replace", "repeat", "replace", "reverse"),
        *("right", "rlike", "rpad", "rtrim", "sha", "sha1", "sha2", "space", "split()[]", "split_part"),
        *("startswith", "substr", "substring", "to_char", "to_varchar", "translate", "trim", "ucase", "unhex", "upper"),
    ),
    "Dates and times": (
        *("add_months", "convert_timezone", "date_add", "date_diff", "date_format", "date_from_unix_date", "date_part"),
        *("date_sub", "date_trunc", "datediff", "datepart", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear"),
        *("from_unixtime", "from_utc_timestamp", "hour", "last_day", "make_date", "make_ym_interval", "minute"),
        *("month", "monthname", "months_between", "next_day", "quarter", "second", "timestamp_seconds", "to_date"),
        *("to_timestamp", "to_unix_timestamp", "to_utc_timestamp", "trunc", "try_to_date", "try_to_timestamp"),
        *("unix_date", "unix_micros", "unix_millis", "unix_seconds", "unix_timestamp", "weekday", "weekofyear", "year"),
    ),
    "Choices and NULL": (
        *("coalesce", "decode", "equal_null", "greatest", "if", "ifnull", "isnotnull", "isnull", "least", "nanvl"),
        *("nullif", "nullifzero", "nvl", "nvl2", "zeroifnull"),
    ),
    "Bits and hashes": (
        *("&", "^", "bit_count", "hash", "shiftleft", "shiftright", "shiftrightunsigned", "xxhash64", "|", "~"),
    ),
    "Conversions": (
        *("bigint", "binary", "boolean", "date", "decimal", "double", "float", "int", "real", "smallint", "string"),
        *("timestamp", "tinyint"),
    ),
}
_SPELLED: Final = {
    "split()[]": "split(text, pattern)[number]",
    **{sign: f"a {sign} b" for sign in "&^|"},
    "~": "~a",
    "locate": "locate, instr",
}

AGGREGATES: Final = (
    *("any_value(x)", "approx_count_distinct(x)", "approx_percentile(x, 0.5)", "arbitrary(x)", "array_agg(x)"),
    *("avg(x)", "bit_and(i)", "bit_or(i)", "bit_xor(i)", "bool_and(b)", "bool_or(b)", "collect_list(x)"),
    *("collect_set(x)", "corr(x, y)", "count(*)", "count_if(b)", "covar_pop(x, y)", "covar_samp(x, y)", "every(b)"),
    *("first(x)", "first_value(x)", "kurtosis(x)", "last(x)", "last_value(x)"),
    "listagg(s, ',') WITHIN GROUP (ORDER BY s)",
    *("max(x)", "max_by(x, y)", "mean(x)", "median(x)", "min(x)", "min_by(x, y)", "mode(x)", "percentile(x, 0.5)"),
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)",
    "percentile_disc(0.5) WITHIN GROUP (ORDER BY x)",
    *("percentile_approx(x, 0.5)", "regr_avgx(x, y)", "regr_avgy(x, y)", "regr_count(x, y)", "regr_intercept(x, y)"),
    *("regr_r2(x, y)", "regr_slope(x, y)", "regr_sxx(x, y)", "regr_sxy(x, y)", "regr_syy(x, y)", "skewness(x)"),
    *("some(b)", "std(x)", "stddev(x)", "stddev_pop(x)", "stddev_samp(x)"),
    "string_agg(s, ',') WITHIN GROUP (ORDER BY s)",
    *("sum(x)", "try_avg(x)", "try_sum(x)", "var_pop(x)", "var_samp(x)", "variance(x)"),
)
"""A call of each aggregate; ``x`` and ``y`` are DOUBLEs, ``i`` is an INT, ``b`` a BOOLEAN, ``s`` a STRING."""

WINDOWS: Final = (
    *("row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "lag(x)", "lead(x)"),
    *("nth_value(x, 2)", "count(x)", "count_if(b)", "sum(x)", "avg(x)", "min(x)", "max(x)", "first(x)"),
    *("first_value(x)", "last(x)", "last_value(x)", "stddev(x)", "stddev_pop(x)", "stddev_samp(x)", "variance(x)"),
    *("var_pop(x)", "var_samp(x)"),
)
"""A call of each window function over a part of each partition; over a whole partition every aggregate is one."""

_HEAD = """# Functions

The functions that livejoin maintains, with the meaning that Spark 4 gives them in ANSI mode. Any other one is refused
by its name. This page is made from the tables that bind them (`src/livejoin/sql/function_list.py`).

Operators: `+ - * / % DIV`, `||`, `= <> < <= > >= <=>`, `AND OR NOT`, `BETWEEN`, `IN`, `LIKE`, `ILIKE` and `RLIKE`,
`LIKE ANY` and `ALL`, `IS [NOT] NULL`, `IS [NOT] TRUE`, `IS [NOT] DISTINCT FROM`, `<< >> >>>`, `CASE`, `CAST`,
`TRY_CAST` and `::`, `EXTRACT(field FROM time)`, `dateadd(unit, n, time)`, `datediff(unit, start, end)`, and intervals.

What stands beside a function is what it takes. Spark converts values of some other types by itself, and so does
livejoin."""


def markdown() -> str:
    """The text of ``docs/functions.md``."""
    parts = [_HEAD]
    for topic, names in _TOPICS.items():
        parts += [f"## {topic}", "\n".join(["| function | takes |", "|---|---|", *_lines(names)])]
    parts += [
        "## Aggregates",
        "With `DISTINCT`, `FILTER (WHERE ...)`, and an order where one counts. What Spark approximates is exact.",
        _called(AGGREGATES),
        "## Window functions",
        "Over whole partitions all aggregates; over a part of each partition, as `(PARTITION BY k ORDER BY t)`, these:",
        _called(WINDOWS),
    ]
    return "\n\n".join(parts) + "\n"


def listed() -> frozenset[str]:
    """The names of all scalar functions on the page."""
    return frozenset(name for names in _TOPICS.values() for name in names)


def _lines(names: tuple[str, ...]) -> Iterator[str]:
    """A line for each function, and one for all names of one function."""
    taken: dict[object, list[str]] = {}
    for name in names:
        taken.setdefault(accepted_arguments(name), []).append(name)
    for arguments, same in taken.items():
        shown = ", ".join(_code(_SPELLED.get(name, name)) for name in same)
        yield f"| {shown} | {arguments!s} |"


def _code(text: str) -> str:
    return ", ".join(f"`{part}`" for part in ([text] if "(" in text else text.split(", "))).replace("|", "\\|")


def _called(calls: tuple[str, ...]) -> str:
    return ", ".join(f"`{call}`" for call in calls) + "."
