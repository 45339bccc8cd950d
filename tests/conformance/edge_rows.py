"""The rows that the corpus evaluates every expression for: columns of each type, full of edge values.

A type has one column or two, so that binary functions meet pairs. Values of a column are spread over the rows by a
seeded shuffle, each at least once where there are as many rows.
"""

from __future__ import annotations

import random
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from livejoin.schema import Column, SqlType

COUNT = 40

_INTEGERS: dict[int, tuple[int | None, ...]] = {
    8: (0, 1, -1, 2, -3, 7, 31, 100, 127, -128, None),
    16: (0, 1, -1, 2, -30, 365, 1000, 32767, -32768, None),
    32: (0, 1, -1, 2, -2, 5, -15, 25, 46341, 1000000, 2147483647, -2147483648, None),
    64: (0, 1, -1, 3, -7, 15, 3037000500, 1 << 53, 1700000000, 9223372036854775807, -9223372036854775808, None),
}
_DOUBLES = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    2.7,
    -2.7,
    3.14159,
    1e-3,
    1e7,
    123456789.125,
    1e15,
    9.2e18,
    1e22,
    1e300,
    5e-324,
    1.7976931348623157e308,
    2147483648.5,
    float("inf"),
    float("-inf"),
    float("nan"),
    None,
)
_FLOATS = (
    0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    -2.5,
    0.10000000149011612,
    2.700000047683716,
    -2.700000047683716,
    16777216.0,
    33554434.0,
    1.0000000031710769e-30,
    0.0010000000474974513,
    9999999.0,
    1e7,
    2147483648.0,
    9.223372036854775807e18,
    3.4028234663852886e38,
    -3.4028234663852886e38,
    1.401298464324817e-45,
    1.1754943508222875e-38,
    123456.7890625,
    float("inf"),
    float("-inf"),
    float("nan"),
    None,
)
_BINARIES = (
    b"",
    b"\0",
    b"\0\0",
    b"a",
    b"abc",
    b"\xff",
    b"\x7f\x80",
    b"1f",
    b" 7",
    "äß".encode(),
    bytes(range(256)),
    None,
)
_DECIMALS: dict[tuple[int, int], tuple[str | None, ...]] = {
    (10, 2): (
        "0.00",
        "0.01",
        "1.00",
        "-1.00",
        "2.50",
        "-2.50",
        "0.05",
        "127.99",
        "12345.67",
        "99999999.99",
        "-99999999.99",
        None,
    ),
    (20, 6): ("0.000000", "0.000001", "1.500000", "-3.250000", "1000000.000001", "99999999999999.999999", None),
    (38, 0): ("0", "1", "-1", "12345678901234567890", "9" * 38, "-" + "9" * 38, None),
    (38, 18): (
        "0",
        "1",
        "-0.5",
        "0.000000000000000001",
        "3.141592653589793238",
        "99999999999999999999.999999999999999999",
        None,
    ),
}
_DATES = (
    "1970-01-01",
    "1969-12-31",
    "2000-02-29",
    "2020-02-29",
    "2021-02-28",
    "1900-03-01",
    "2021-01-31",
    "2020-12-31",
    "2023-01-01",
    "2024-12-30",
    "2018-01-01",
    "1582-10-04",
    "1582-10-15",
    "0001-01-01",
    "9999-12-31",
    "2024-08-31",
    None,
)
_TIMES = (
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "2020-02-29 12:34:56.789",
    "2021-01-31 00:00:00",
    "2000-02-29 23:59:59",
    "1582-10-15 00:00:00",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
    "2023-12-31 06:07:08.000001",
    "2024-03-10 02:30:00",
    None,
)
_TEXTS = (
    "",
    " ",
    "a",
    "A",
    "abc",
    "aBc Def",
    "  pad  ",
    "xxabcxx",
    "a%b",
    "a_b",
    "a\\b",
    "100%",
    "äöü ß",
    "ÄÖÜ",
    "日本語",
    "\U0001d49c\U0001f600x",
    "e\u0301",
    "a,b,,c",
    "Hello World",
    "O'Neil",
    "\tx\n",
    "aaa",
    "İi",
    "null",
    "z" * 70,
    None,
)
_WORDS = ("", "a", "b", "abc", "ABC", "ß", "x", "xx", "語", ",", "%", None)
_NUMERALS = (
    "0",
    "1",
    "-1",
    " 12 ",
    "+5",
    "007",
    "2.7",
    "-2.5",
    "1e3",
    "1.5E-2",
    ".5",
    "5.",
    "127",
    "128",
    "2147483648",
    "9223372036854775808",
    "99999999999999999999999999999999999999",
    "NaN",
    "Infinity",
    "-inf",
    "abc",
    "",
    "1 2",
    "0x1F",
    "1d",
    "true",
    "\t3\n",
    None,
)
# No time without a date is here: its value is that of today.
_DAYS = (
    "2020-02-29",
    "2021-02-29",
    "2020-2-9",
    "2020",
    "2020-12",
    " 2020-01-01 ",
    "2020-01-01T00:00:00",
    "2020-01-01 12:34:56",
    "2020-01-01 12:34:56.123456789",
    "2020-01-01 12:34",
    "2020-01-01 12:34:56Z",
    "2020-01-01T12:34:56+02:00",
    "0001-01-01",
    "9999-12-31",
    "10000-01-01",
    "-0001-01-01",
    "20200101",
    "01/02/2020",
    "2020-13-01",
    "epoch",
    "now",
    "",
    "2020-02-29 24:00:00",
    None,
)
_FLAGS = ("true", "false", "T", "f", "yes", "NO", "1", "0", "y", "n", " true ", "tru", "on", "", None)


_COLUMNS: dict[str, tuple[SqlType, tuple[Any, ...]]] = {
    "b": (SqlType("boolean"), (True, False, None)),
    "c": (SqlType("boolean"), (True, False, None)),
    "i8": (SqlType.integer(8), _INTEGERS[8]),
    "i16": (SqlType.integer(16), _INTEGERS[16]),
    "i32": (SqlType.integer(32), _INTEGERS[32]),
    "j32": (SqlType.integer(32), _INTEGERS[32]),
    "i64": (SqlType.integer(64), _INTEGERS[64]),
    "j64": (SqlType.integer(64), _INTEGERS[64]),
    "x": (SqlType("double"), _DOUBLES),
    "y": (SqlType("double"), _DOUBLES),
    "p": (SqlType.decimal(10, 2), _DECIMALS[10, 2]),
    "q": (SqlType.decimal(20, 6), _DECIMALS[20, 6]),
    "r": (SqlType.decimal(38, 0), _DECIMALS[38, 0]),
    "v": (SqlType.decimal(38, 18), _DECIMALS[38, 18]),
    "d": (SqlType("date"), _DATES),
    "g": (SqlType("date"), _DATES),
    "k": (SqlType("timestamp"), _TIMES),
    "z": (SqlType("timestamp"), _TIMES),
    "s": (SqlType("string"), _TEXTS),
    "u": (SqlType("string"), _WORDS),
    "n": (SqlType("string"), _NUMERALS),
    "e": (SqlType("string"), _DAYS),
    "f": (SqlType("string"), _FLAGS),
    "h": (SqlType.real(), _FLOATS),
    "o": (SqlType.real(), _FLOATS),
    "w": (SqlType("binary"), _BINARIES),
    "m": (SqlType("binary"), _BINARIES),
}
COLUMNS = tuple(Column(name, kind) for name, (kind, _) in _COLUMNS.items())


def _value(kind: SqlType, value: Any) -> Any:
    match kind.kind:
        case _ if value is None:
            return None
        case "decimal":
            return Decimal(value)
        case "date":
            return date.fromisoformat(value)
        case "timestamp":
            return datetime.fromisoformat(value)
        case _:
            return value


def _spread(name: str, values: tuple[Any, ...]) -> list[Any]:
    """Each value once, then again in other orders, until there are `COUNT`."""
    chosen = random.Random(f"livejoin {name}")
    found: list[Any] = []
    while len(found) < COUNT:
        turn = list(values)
        chosen.shuffle(turn)
        found += turn
    return found[:COUNT]


def rows() -> pa.Table:
    """The rows."""
    spread = {name: [_value(kind, v) for v in _spread(name, values)] for name, (kind, values) in _COLUMNS.items()}
    return pa.table({column.name: pa.array(spread[column.name], column.type.arrow) for column in COLUMNS})
