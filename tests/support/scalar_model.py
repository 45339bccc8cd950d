"""Scalar expressions in plain Python: a naive twin of the machine, with random trees of them.

A decimal is a `Fraction`, a DATE its days and a TIMESTAMP its microseconds. An error is a `Failure`.
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from livejoin.query.scalar import Call, Constant, Field, Function, Scalar
from livejoin.schema import SqlType

BOOLEAN, DOUBLE, DATE, TIMESTAMP, STRING = (
    SqlType("boolean"),
    SqlType("double"),
    SqlType("date"),
    SqlType("timestamp"),
    SqlType("string"),
)
TINYINT, SMALLINT, INT, BIGINT = (SqlType.integer(bits) for bits in (8, 16, 32, 64))
NARROW, OTHER, WIDE = SqlType.decimal(10, 2), SqlType.decimal(18, 4), SqlType.decimal(38, 10)
TYPES = (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, DOUBLE, NARROW, OTHER, WIDE, DATE, TIMESTAMP, STRING)
EPOCH = date(1970, 1, 1)
DAY = 86_400_000_000

VALUES: dict[SqlType, tuple[Any, ...]] = {
    BOOLEAN: (True, False),
    TINYINT: (0, 1, -1, 3, 127, -128),
    SMALLINT: (0, 1, -1, 300, 32767, -32768),
    INT: (0, 1, -1, 7, -12, 2**31 - 1, -(2**31)),
    BIGINT: (0, 1, -1, 10**10, 2**63 - 1, -(2**63)),
    DOUBLE: (0.0, 1.5, -2.5, 1e300, 5e-324, math.inf, -math.inf, math.nan, 0.125, 2.0**63),
    NARROW: tuple(map(Decimal, ("0.00", "0.01", "-0.05", "1.25", "99999999.99", "-99999999.99"))),
    OTHER: tuple(map(Decimal, ("0.0000", "0.0001", "-2.5000", "99999999999999.9999"))),
    WIDE: tuple(map(Decimal, ("0", "1e-10", "-1.5", "9999999999999999999999999999.9999999999", "123456789012.5"))),
    DATE: (0, -1, 59, 18321, 19000, 12345, -25509),
    TIMESTAMP: (0, -1, 1_582_979_696_123_456, 86_399_999_999),
    STRING: ("", "a", "Abc", " ß%", "12", "-7", "1.5", "2020-02-29", "x😀y"),
}


class Failure(Exception):
    """The expression has no value."""


def value(scalar: Scalar, row: Sequence[Any]) -> Any:
    """The value of an expression for a row; None is NULL. Raises Failure where it is an error."""
    match scalar:
        case Field():
            found = row[scalar.position]
            return Fraction(found) if isinstance(found, Decimal) else found
        case Constant():
            return Fraction(scalar.value) if isinstance(scalar.value, Decimal) else scalar.value
        case Call():
            return _LAZY[scalar.function](scalar, row) if scalar.function in _LAZY else _strict(scalar, row)


def _depends(scalar: Scalar) -> bool:
    return isinstance(scalar, Field) or (isinstance(scalar, Call) and any(map(_depends, scalar.arguments)))


def _known(scalar: Scalar) -> Any:
    """The value of what depends on no row; nothing that a value is where it depends on one, or fails."""
    try:
        return _known if _depends(scalar) else value(scalar, ())
    except Failure:
        return _known


def _strict(call: Call, row: Sequence[Any]) -> Any:
    if any(_known(argument) is None for argument in call.arguments):
        return None  # as Spark, before it looks at a row
    arguments: dict[int, Any] = {}
    order = range(len(call.arguments))
    for i in reversed(order) if call.function in _DIVISIONS else order:
        arguments[i] = value(call.arguments[i], row)
        if arguments[i] is None:
            return None
    values = [arguments[i] for i in order]
    if call.function.startswith("try_"):
        try:
            return _FUNCTIONS[call.function.removeprefix("try_")](call, *values)
        except Failure:
            return None
    return _FUNCTIONS[call.function](call, *values)


_DIVISIONS = ("divide", "remainder", "integral_divide", "positive_remainder", "try_divide", "try_remainder")


def _and_or(call: Call, row: Sequence[Any]) -> Any:
    decides = call.function == "or"
    if any(_known(argument) is decides for argument in call.arguments):
        return decides  # as Spark, before it looks at a row
    null = False
    for argument in call.arguments:
        found = value(argument, row)
        if found is decides:
            return decides
        null |= found is None
    return None if null else not decides


def _case(call: Call, row: Sequence[Any]) -> Any:
    for condition, result in zip(call.arguments[:-1:2], call.arguments[1::2], strict=True):
        if value(condition, row) is True:
            return value(result, row)
    return value(call.arguments[-1], row)


def _coalesce(call: Call, row: Sequence[Any]) -> Any:
    return next((found for argument in call.arguments if (found := value(argument, row)) is not None), None)


def _in(call: Call, row: Sequence[Any]) -> Any:
    found = value(call.arguments[0], row)
    if found is None:
        return None
    candidates = [value(argument, row) for argument in call.arguments[1:]]
    if any(c is not None and _order(found, c) == 0 for c in candidates):
        return True
    return None if None in candidates else False


def _extreme(call: Call, row: Sequence[Any]) -> Any:
    values = [value(argument, row) for argument in call.arguments]
    best = None
    for found in values:
        if found is not None and (best is None or _order(found, best) == (1 if call.function == "greatest" else -1)):
            best = found
    return best


def _same(call: Call, row: Sequence[Any]) -> bool:
    left, right = (value(argument, row) for argument in call.arguments)
    return left is right if left is None or right is None else _order(left, right) == 0


_LAZY: dict[Function, Callable[[Call, Sequence[Any]], Any]] = {
    "and": _and_or,
    "or": _and_or,
    "case": _case,
    "coalesce": _coalesce,
    "in": _in,
    "greatest": _extreme,
    "least": _extreme,
    "null_safe_equal": _same,
    "is_null": lambda call, row: value(call.arguments[0], row) is None,
    "is_nan": lambda call, row: (found := value(call.arguments[0], row)) is not None and math.isnan(found),
}


def _order(a: Any, b: Any) -> int:
    """-1, 0 or 1; NaN is the greatest number, and strings go by their bytes."""
    if isinstance(a, float):
        a, b = (math.isnan(a), 0.0 if math.isnan(a) else a), (math.isnan(b), 0.0 if math.isnan(b) else b)
    if isinstance(a, str):
        a, b = a.encode(), b.encode()
    return (a > b) - (a < b)


def _fit(call: Call, found: int | float | Fraction) -> Any:
    """A result in the type of the call."""
    kind = call.type.kind
    if kind == "integer":
        found = int(found)
        if not -(1 << (call.type.bits - 1)) <= found < 1 << (call.type.bits - 1):
            raise Failure
        return found
    if kind == "decimal":
        unscaled = half_up(Fraction(found) * 10**call.type.scale)
        if abs(unscaled) >= 10**call.type.precision:
            raise Failure
        return Fraction(unscaled, 10**call.type.scale)
    return found


def half_up(number: Fraction) -> int:
    """The nearest whole number, halves away from zero."""
    size = math.floor(abs(number) + Fraction(1, 2))
    return -size if number < 0 else size


def _truncated(a: Any, b: Any) -> int:
    size = abs(a) // abs(b)
    return int(size if (a < 0) == (b < 0) else -size)


def _divide(call: Call, a: Any, b: Any) -> Any:
    if b == 0:
        raise Failure
    if call.function.endswith("integral_divide"):
        return _fit(call, _truncated(a, b))
    return a / b if isinstance(a, float) else _fit(call, a / b)


def _remainder(call: Call, a: Any, b: Any) -> Any:
    if b == 0:
        raise Failure
    if isinstance(a, float):
        rest = math.nan if math.isinf(a) or math.isnan(a) or math.isnan(b) else math.fmod(a, b)
    else:
        rest = a - b * _truncated(a, b)
    if call.function == "positive_remainder" and rest < 0:
        total = rest + b
        if call.type == INT:
            total = (total + 2**31) % 2**32 - 2**31
        elif call.type == BIGINT:
            total = (total + 2**63) % 2**64 - 2**63
        if isinstance(a, float):
            return math.fmod(total, b) if math.isfinite(total) else math.nan
        rest = total - b * _truncated(total, b)
    return rest if isinstance(rest, float) else _fit(call, rest)


def _double_product(call: Call, a: Any, b: Any) -> Any:
    return a * b if isinstance(a, float) else _fit(call, a * b)


def _cast(call: Call, found: Any) -> Any:
    of, to = call.arguments[0].type.kind, call.type.kind
    if of == to and to not in ("integer", "decimal"):
        return found
    if to == "string":
        return _text(call, found)
    if of == "string":
        if not re.fullmatch(r"[+-]?\d+" if to == "integer" else r"[+-]?(\d+\.?\d*|\.\d+)", found.strip()):
            raise Failure
        return _fit(call, Fraction(found)) if to != "double" else float(found)
    if of == "double" and to == "integer":
        most = 2.0**63 if call.type.bits == 64 else 2.0**31 - 1
        least = -(2.0**63) if call.type.bits == 64 else -(2.0**31)
        if math.isnan(found) or math.isinf(found) or not (math.floor(found) <= most and math.ceil(found) >= least):
            raise Failure
        return _fit(call, min(max(int(found), -(2**63)), 2**63 - 1))
    if of == "double" and to == "decimal":
        return None if math.isnan(found) or math.isinf(found) else _fit(call, Fraction(repr(found)))
    if to == "boolean":
        return found != 0
    if to == "double":
        return float(found)
    if (of, to) == ("date", "timestamp"):
        return found * DAY
    if (of, to) == ("timestamp", "date"):
        return found // DAY
    return _fit(call, int(found) if to == "integer" and of == "decimal" else found)


def _text(call: Call, found: Any) -> str:
    match call.arguments[0].type.kind:
        case "boolean":
            return "true" if found else "false"
        case "decimal":
            scale = call.arguments[0].type.scale
            return (
                format(Decimal(int(found * 10**scale)).scaleb(-scale, Context(prec=100)), "f")
                if found
                else f"{0:.{scale}f}"
            )
        case "date":
            return (EPOCH + timedelta(found)).isoformat()
        case _:
            return str(found)


def _rounded(call: Call, found: Any, digits: int = 0) -> Any:
    unit = Fraction(10) ** digits
    scaled = Fraction(found) * unit
    whole = {
        "round": half_up(scaled),
        "bround": round(scaled),
        "floor": math.floor(scaled),
        "ceil": math.ceil(scaled),
    }[call.function]
    return _fit(call, whole / unit)


def _day(days: int) -> date:
    return EPOCH + timedelta(days)


def _plus_months(days: int, months: int) -> int:
    day = _day(days)
    total = day.year * 12 + day.month - 1 + months
    year, month = divmod(total, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return (date(year, month + 1, min(day.day, last)) - EPOCH).days


def _like(call: Call, text: str, pattern: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace("%", ".*").replace("_", "."), text, re.DOTALL) is not None


def _substring(call: Call, text: str, start: int, length: int) -> str:
    begin = start - 1 if start > 0 else (len(text) + start if start < 0 else 0)
    return "".join(c for i, c in enumerate(text) if begin <= i < begin + length)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "not": lambda call, a: not a,
    "equal": lambda call, a, b: _order(a, b) == 0,
    "not_equal": lambda call, a, b: _order(a, b) != 0,
    "less": lambda call, a, b: _order(a, b) < 0,
    "less_equal": lambda call, a, b: _order(a, b) <= 0,
    "greater": lambda call, a, b: _order(a, b) > 0,
    "greater_equal": lambda call, a, b: _order(a, b) >= 0,
    "add": lambda call, a, b: _fit(call, a + b),
    "subtract": lambda call, a, b: _fit(call, a - b),
    "multiply": _double_product,
    "divide": _divide,
    "integral_divide": _divide,
    "remainder": _remainder,
    "positive_remainder": _remainder,
    "negate": lambda call, a: _fit(call, -a),
    "absolute": lambda call, a: _fit(call, abs(a)),
    "cast": _cast,
    "round": _rounded,
    "bround": _rounded,
    "floor": _rounded,
    "ceil": _rounded,
    "sign": lambda call, a: a if math.isnan(a) else float((a > 0) - (a < 0)),
    "square_root": lambda call, a: math.sqrt(a) if a >= 0 else math.nan,
    "year": lambda call, a: _day(a).year,
    "quarter": lambda call, a: (_day(a).month + 2) // 3,
    "month": lambda call, a: _day(a).month,
    "day": lambda call, a: _day(a).day,
    "day_of_week": lambda call, a: _day(a).isoweekday() % 7 + 1,
    "weekday": lambda call, a: _day(a).weekday(),
    "day_of_year": lambda call, a: _day(a).timetuple().tm_yday,
    "week": lambda call, a: _day(a).isocalendar()[1],
    "year_of_week": lambda call, a: _day(a).isocalendar()[0],
    "last_day": lambda call, a: a - _day(a).day + calendar.monthrange(_day(a).year, _day(a).month)[1],
    "hour": lambda call, a: a // 3_600_000_000 % 24,
    "minute": lambda call, a: a // 60_000_000 % 60,
    "second": lambda call, a: a // 1_000_000 % 60,
    "add_months": lambda call, a, b: _plus_months(a, b),
    "date_difference": lambda call, a, b: a - b,
    "length": lambda call, a: len(a),
    "byte_length": lambda call, a: len(a.encode()),
    "upper": lambda call, a: a.upper(),
    "lower": lambda call, a: a.lower(),
    "reverse": lambda call, a: a[::-1],
    "concatenate": lambda call, *texts: "".join(texts),
    "starts_with": lambda call, a, b: a.startswith(b),
    "contains": lambda call, a, b: b in a,
    "position": lambda call, a, b: a.find(b) + 1,
    "like": _like,
    "substring": _substring,
}

INTEGERS, DECIMALS = (TINYINT, SMALLINT, INT, BIGINT), (NARROW, OTHER, WIDE)
NUMBERS = (*INTEGERS, DOUBLE, *DECIMALS)
COMPARISONS: tuple[Function, ...] = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


@st.composite
def trees(draw: st.DrawFn, type: SqlType, depth: int) -> Scalar:
    """A random expression of a type over one column of each of `TYPES`."""
    if depth == 0 or draw(st.integers(0, 9)) == 0:
        if draw(st.integers(0, 3)):
            return Field(TYPES.index(type), type)
        return Constant(draw(st.sampled_from((*VALUES[type], None))), type)

    def one(of: SqlType) -> Scalar:
        return draw(trees(of, depth - 1))

    def call(functions: Sequence[Function], *arguments: Scalar) -> Scalar:
        return Call(draw(st.sampled_from(functions)), arguments, type)

    match draw(st.sampled_from(("case", "coalesce", "extreme", *["own"] * 6, "cast", "cast"))):
        case "case":
            return call(("case",), one(BOOLEAN), one(type), one(BOOLEAN), one(type), one(type))
        case "coalesce":
            return call(("coalesce",), one(type), one(type), one(type))
        case "extreme":
            return call(("greatest", "least"), one(type), one(type))
        case "cast":
            of = draw(st.sampled_from(_CASTS[type.kind]))
            return call(("cast", "try_cast"), one(of))
    match type.kind:
        case "boolean":
            return _condition(draw, one)
        case "integer":
            return _integer(draw, one, type)
        case "double":
            if draw(st.booleans()):
                return call(("negate", "absolute", "sign", "square_root"), one(type))
            names: tuple[Function, ...] = ("add", "subtract", "multiply", "divide", "remainder", "try_divide")
            return call((*names, "positive_remainder"), one(type), one(type))
        case "decimal":
            if draw(st.integers(0, 3)) == 0:
                rounds: tuple[Function, ...] = ("round", "bround", "floor", "ceil")
                argument = one(draw(st.sampled_from(DECIMALS)))
                return call(rounds, argument, Constant(draw(st.integers(-3, 5)), INT))
            if draw(st.integers(0, 3)) == 0:
                return call(("negate", "absolute"), one(type))
            left, right = (one(draw(st.sampled_from(DECIMALS))) for _ in range(2))
            kinds: tuple[Function, ...] = ("add", "subtract", "multiply", "divide", "remainder", "try_multiply")
            return call((*kinds, "positive_remainder"), left, right)
        case "date":
            if draw(st.booleans()):
                return call(("last_day",), one(DATE))
            return call(("add_months",), one(DATE), Constant(draw(st.integers(-30, 30)), INT))
        case "string":
            return _string(draw, one)
        case _:
            return Call("cast", (one(DATE),), type)


_CASTS: dict[str, tuple[SqlType, ...]] = {
    "boolean": NUMBERS,
    "integer": (*INTEGERS, DOUBLE, *DECIMALS, BOOLEAN, STRING),
    "double": (*INTEGERS, *DECIMALS, BOOLEAN),
    "decimal": (*INTEGERS, DOUBLE, *DECIMALS, BOOLEAN, STRING),
    "date": (TIMESTAMP,),
    "timestamp": (DATE,),
    "string": (BOOLEAN, *INTEGERS, *DECIMALS, DATE),
}


def _condition(draw: st.DrawFn, one: Callable[[SqlType], Scalar]) -> Scalar:
    type = draw(st.sampled_from(TYPES))
    match draw(st.integers(0, 6)):
        case 0:
            return Call(draw(st.sampled_from(("and", "or"))), (one(BOOLEAN), one(BOOLEAN), one(BOOLEAN)), BOOLEAN)
        case 1:
            return Call("not", (one(BOOLEAN),), BOOLEAN)
        case 2:
            return Call("is_null", (one(type),), BOOLEAN)
        case 3:
            values = draw(st.lists(st.sampled_from((*VALUES[type], None)), min_size=1, max_size=5))
            return Call("in", (one(type), *(Constant(v, type) for v in values)), BOOLEAN)
        case 4:
            return Call("null_safe_equal", (one(type), one(type)), BOOLEAN)
        case 5:
            pattern = draw(st.sampled_from(("a%", "%b%", "_", "%", "", "%ß%%", "A_c", "%2")))
            return Call("like", (one(STRING), Constant(pattern, STRING)), BOOLEAN)
        case _:
            return Call(draw(st.sampled_from(COMPARISONS)), (one(type), one(type)), BOOLEAN)


def _integer(draw: st.DrawFn, one: Callable[[SqlType], Scalar], type: SqlType) -> Scalar:
    if type == INT and draw(st.booleans()):
        parts: tuple[Function, ...] = ("year", "quarter", "month", "day", "day_of_week", "weekday", "day_of_year")
        match draw(st.integers(0, 3)):
            case 0:
                return Call(draw(st.sampled_from((*parts, "week", "year_of_week"))), (one(DATE),), INT)
            case 1:
                return Call(draw(st.sampled_from(("hour", "minute", "second"))), (one(TIMESTAMP),), INT)
            case 2:
                return Call("date_difference", (one(DATE), one(DATE)), INT)
            case _:
                return Call(draw(st.sampled_from(("length", "byte_length"))), (one(STRING),), INT)
    if draw(st.integers(0, 3)) == 0:
        return Call(draw(st.sampled_from(("negate", "absolute"))), (one(type),), type)
    if draw(st.integers(0, 5)) == 0:
        digits = Constant(draw(st.integers(-20, 1)), INT)
        return Call(draw(st.sampled_from(("round", "bround", "floor", "ceil"))), (one(type), digits), type)
    if type == BIGINT and draw(st.integers(0, 3)) == 0:
        of = draw(st.sampled_from((BIGINT, *DECIMALS)))
        return Call("integral_divide", (one(of), one(draw(st.sampled_from(DECIMALS)) if of != BIGINT else of)), type)
    names: tuple[Function, ...] = ("add", "subtract", "multiply", "remainder", "positive_remainder", "try_add")
    return Call(draw(st.sampled_from((*names, "try_remainder"))), (one(type), one(type)), type)


def _string(draw: st.DrawFn, one: Callable[[SqlType], Scalar]) -> Scalar:
    match draw(st.integers(0, 3)):
        case 0:
            return Call(draw(st.sampled_from(("upper", "lower", "reverse"))), (one(STRING),), STRING)
        case 1:
            start, length = (Constant(draw(st.integers(-4, 4)), INT) for _ in range(2))
            return Call("substring", (one(STRING), start, length), STRING)
        case _:
            return Call("concatenate", (one(STRING), one(STRING)), STRING)
