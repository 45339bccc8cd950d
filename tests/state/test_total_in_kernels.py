"""What `livejoin.query.total` says cannot fail fails for no row in our kernels, with the extremes of every type in it.

Every function that SQL has is asked for over columns of every type, constants among them, as SQL binds them; so are
comparisons, connectives, CASE and casts.
"""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from livejoin.kernels.evaluate import layout as k
from livejoin.query.scalar import Call, Constant, Field, Function, Scalar
from livejoin.query.total import _OF_NUMBERS, _TOTAL, fails_on_large_numbers_only, is_total
from livejoin.schema import Column, SqlType, Table
from livejoin.sql.scalars.arithmetic import binary, negated
from livejoin.sql.scalars.functions import choices, times
from livejoin.sql.scalars.functions.by_name import converted, function_of, known_names
from livejoin.sql.scalars.operands import Mismatch, Operand, Unsayable
from livejoin.state.codec import Codec
from livejoin.state.evaluate import Program
from livejoin.words import Words

LARGEST = (1 << 63) - 1
_TEXTS = ["", " ", "a", "A%_\\", "\\", "ab" * 40, "é", "\U0001f600x", "7", "-1.5e300", "NaN", "2024-02-29", "x\0y"]
EXTREMES: dict[SqlType, list[Any]] = {
    SqlType("boolean"): [True, False],
    SqlType.integer(8): [-128, -1, 0, 1, 127],
    SqlType.integer(16): [-(1 << 15), -1, 0, 1, (1 << 15) - 1],
    SqlType.integer(32): [-(1 << 31), -1, 0, 1, 31, 63, (1 << 31) - 1],
    SqlType.integer(64): [-LARGEST - 1, -1, 0, 1, 1 << 62, -(1 << 62), LARGEST],
    SqlType.real(): [0.0, -0.5, 3.4028234663852886e38, -3.4028234663852886e38, 1e-45, math.inf, -math.inf, math.nan],
    SqlType("double"): [0.0, -0.5, 1.0, 1.7976931348623157e308, 5e-324, -1e19, math.inf, -math.inf, math.nan],
    SqlType.decimal(5, 2): [Decimal("999.99"), Decimal("-999.99"), Decimal("0.00"), Decimal("0.01")],
    SqlType.decimal(18, 4): [Decimal("9" * 14 + ".9999"), Decimal("-" + "9" * 14 + ".9999"), Decimal("0.0000")],
    SqlType.decimal(38, 0): [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0), Decimal(1)],
    SqlType.decimal(38, 10): [Decimal("9" * 28 + ".9999999999"), Decimal("-0.0000000001"), Decimal("0.0000000000")],
    SqlType("date"): [date(1, 1, 1), date(1582, 10, 4), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)],
    SqlType("timestamp"): [datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(9999, 12, 31, 23)],
    SqlType.local_time(): [datetime(1, 1, 1), datetime(1970, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)],
    SqlType("string"): _TEXTS,
    SqlType("binary"): [b"", b"\x00", b"\xff" * 70, b"a"],
    SqlType("interval"): [
        timedelta(0),
        timedelta(days=-106751991),
        timedelta(days=106751991),
        timedelta(microseconds=1),
    ],
}
COLUMNS = tuple(Column(f"c{i}", kind) for i, kind in enumerate(EXTREMES))
FIELDS: list[Operand] = [Field(i, column.type) for i, column in enumerate(COLUMNS)]
CONSTANTS: list[Operand] = [
    *(Constant(number, SqlType.integer(32)) for number in (-1, 0, 2, 256)),
    *(Constant(text, SqlType("string")) for text in ("a", "", "%a\\_", "YEAR", "yyyy")),
    Constant(None, SqlType("double")),
]
SMALL: dict[SqlType, list[Any]] = EXTREMES | {
    kind: [kind.arrow.to_pandas_dtype()(number) for number in (-3, 0, 1, 5)]
    for kind in EXTREMES
    if kind.kind in ("integer", "double")
}
SMALL |= {kind: [Decimal(number) for number in (-3, 0, 1, 5)] for kind in EXTREMES if kind.kind == "decimal"}
IS_LONG = bool(os.environ.get("LIVEJOIN_FUZZ"))
ROWS = 200 if IS_LONG else 40
MOST_OF_A_FUNCTION = 10_000 if IS_LONG else 12
BATCH = 100


def calls() -> Iterator[Scalar]:
    """Calls as SQL makes them, over columns of all types."""
    generator = random.Random(5)
    every = [*FIELDS, *CONSTANTS]
    threes = [tuple(generator.choice(every) for _ in range(3)) for _ in range(60)]
    threes += [(one, *others) for one in FIELDS for others in product(CONSTANTS[:6], repeat=2)]
    alike = [(one, one, one) for one in FIELDS]
    for name in sorted(known_names()):
        for operands in [(), *((one,) for one in FIELDS), *product(FIELDS, every), *threes, *alike]:
            yield from _made(lambda name=name, operands=operands: function_of(name, operands))
    operators: tuple[Function, ...] = ("add", "subtract", "multiply", "divide", "integral_divide", "remainder")
    comparisons: tuple[Function, ...] = (
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "null_safe_equal",
    )
    for left, right in product(FIELDS, every):
        for function in operators:
            yield from _made(lambda f=function, a=left, b=right: binary(f, a, b))
        for function in comparisons:
            yield from _made(lambda f=function, a=left, b=right: choices.compared(f, a, b))
        yield from _made(lambda a=left, b=right: choices.is_in(a, [b, a]))
        yield from _made(lambda a=left, b=right: choices.case([FIELDS[0]], [a, b]))
        for connective in ("and", "or"):
            tests = [choices.is_null(left), choices.is_null(right)]
            yield from _made(lambda f=connective, a=tests: choices.conditions(f, a))
        yield from _made(lambda a=left, b=right: choices.between(a, b, b))
    for operand, kind in product(FIELDS, EXTREMES):
        for cast in ("cast", "try_cast"):
            yield from _made(lambda f=cast, a=operand, to=kind: converted(f, a, to))
    for operand in FIELDS:
        yield from _made(lambda a=operand: negated(a))
        yield from _made(lambda a=operand: choices.inverse(choices.is_null(a)))
        for part in ("YEAROFWEEK", "SECOND"):
            yield from _made(lambda a=operand, part=part: times.extract(part, a))
        for pattern in ("999.99", "S0000D99"):
            yield from _made(lambda a=operand, p=pattern: function_of("to_char", [a, Constant(p, SqlType("string"))]))
        for pattern in ("%s", "<%d|%5x>", "%.3f"):
            text = Constant(pattern, SqlType("string"))
            yield from _made(lambda a=operand, p=text: function_of("format_string", [p, a]))


def _made(make: Any) -> Iterator[Scalar]:
    try:
        found = make()
    except (Mismatch, Unsayable):
        return
    if isinstance(found, Call):
        yield found


def words(codec: Codec, values: Mapping[SqlType, list[Any]]) -> Words:
    """Random rows of some values and NULLs."""
    generator = random.Random(7)
    table = Table("T", COLUMNS)
    drawn = [
        pa.array([generator.choice([*values[column.type], None]) for _ in range(ROWS)], column.type.arrow)
        for column in COLUMNS
    ]
    return codec.encode(pa.table(drawn, names=[column.name for column in COLUMNS]), table)


@pytest.fixture(scope="module")
def every_call() -> list[Call]:
    """Some calls of every function, drawn anew in long runs."""
    found = list(dict.fromkeys(part for one in calls() for part in _calls(one)))
    random.Random(None if IS_LONG else 3).shuffle(found)
    counts: Counter[tuple[str, bool]] = Counter()
    kept = []
    for one in found:
        kind = one.function, is_total(one)
        counts[kind] += 1
        kept += [one] if counts[kind] <= MOST_OF_A_FUNCTION else []
    return kept


def test_what_is_total_has_a_value_for_every_row(every_call: list[Call]) -> None:
    total = [one for one in every_call if is_total(one)]
    seen = {one.function for one in total}
    assert seen >= _TOTAL, _TOTAL - seen
    assert not _failing(total, EXTREMES)


def test_what_fails_on_large_numbers_only_has_a_value_for_small_ones(every_call: list[Call]) -> None:
    numbers = [one for one in every_call if fails_on_large_numbers_only(one)]
    assert {one.function for one in numbers} >= {*_TOTAL, *_OF_NUMBERS}
    assert not _failing(numbers, SMALL)


def test_what_may_fail_is_not_said_to_be_total(every_call: list[Call]) -> None:
    """The rows are extreme enough: most functions that are not total fail for one of them."""
    failing = {"add", "subtract", "multiply", "divide", "remainder", "cast", "negate", "absolute", "round"}
    others = [one for one in every_call if one.function in failing and not is_total(one)]
    assert {one.function for one in _failing(others, EXTREMES)} == failing


def _calls(scalar: Scalar) -> Iterator[Call]:
    """A call and those within it."""
    if isinstance(scalar, Call):
        yield scalar
        for argument in scalar.arguments:
            yield from _calls(argument)


def _failing(scalars: list[Call], values: Mapping[SqlType, list[Any]]) -> list[Call]:
    """Those of some calls that fail for a row."""
    codec = Codec()
    rows = np.ascontiguousarray(words(codec, values))
    found: list[Call] = []
    for start in range(0, len(scalars), BATCH):
        batch = scalars[start : start + BATCH]
        statuses = Program(batch, codec).run(rows).statuses
        found += [one for one, line in zip(batch, statuses, strict=True) if (line > k.NULL).any()]
    return found
