"""Conversions from and to strings, and those of doubles that go by their decimal text, as Spark 4 has them with ANSI.

A DATE is its days and a TIMESTAMP its microseconds since 1970-01-01 UTC, a decimal its unscaled value. What is no value
of the type is a `FailedCall`. A time without a date would be one of today: it is malformed here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from livejoin.kernels.evaluate import civil
from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.civil import DAY_MICROSECONDS
from livejoin.kernels.jit import as_written
from livejoin.query.binary32 import nearest_float
from livejoin.query.scalar import Call
from livejoin.query.texts.failed_call import FailedCall
from livejoin.query.texts.time_text import BLANKS as _BLANKS
from livejoin.query.texts.time_text import JAVA_BLANKS as _JAVA_BLANKS
from livejoin.query.texts.time_text import to_date, to_timestamp
from livejoin.schema import SqlType

_civil_from_days = as_written(civil.civil_from_days)
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"([+-]?)([0-9]*)\.?([0-9]*)(?:[eE]([+-]?[0-9]+))?")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)")
_SPECIAL = {
    "inf": float("inf"),
    "+inf": float("inf"),
    "infinity": float("inf"),
    "+infinity": float("inf"),
    "-inf": float("-inf"),
    "-infinity": float("-inf"),
    "nan": float("nan"),
}
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_WIDEST = Context(prec=800)
_DIGITS = 38
_LONG = 1 << 63
_LEAST_PLAIN, _MOST_PLAIN = 1e-3, 1e7


def conversion(call: Call) -> Callable[[Any], Any]:
    """What converts values of the argument's type to the call's."""
    of, to = call.arguments[0].type, call.type
    match of.kind, to.kind:
        case "string", "integer":
            return lambda text: to_integer(text, to.bits)
        case "string", "double":
            return to_float if to.bits else to_double
        case "string", "boolean":
            return to_boolean
        case "string", "decimal":
            return lambda text: to_decimal(text, to)
        case "string", "date":
            return to_date
        case "string", "timestamp":
            return to_timestamp
        case "binary", "string":
            return to_text
        case "boolean", "string":
            return lambda value: "true" if value else "false"
        case "integer", "string":
            return str
        case "double", "string":
            return float_text if of.bits else double_text
        case "decimal", "string":
            return lambda value: decimal_text(value, of.scale)
        case "date", "string":
            return date_text
        case "timestamp", "string":
            return timestamp_text
        case "double", "decimal":
            return lambda value: _double_to_decimal(value, to)
        case "decimal", "timestamp":
            return lambda value: _decimal_to_timestamp(value, of.scale)
        case _ if to.bits:  # decimal to float
            return lambda value: nearest_float(Fraction(value, 10**of.scale))
        case _:  # decimal to double
            return lambda value: value / 10**of.scale


def rounding(call: Call) -> Callable[..., float]:
    """What rounds doubles by their decimal text."""
    how = ROUND_HALF_UP if call.function == "round" else ROUND_HALF_EVEN
    nearest = nearest_float if call.type.bits else float
    return lambda value, digits=0: round_double(value, digits, how, nearest)


def round_double(value: float, digits: int, how: str, nearest: Callable[[Decimal], float] = float) -> float:
    """A double rounded to so many digits behind the point, and to the nearest number of its type."""
    if not math.isfinite(value):
        return value
    if digits > 400:  # beyond the last digit of every double
        return value
    if digits < -400:
        return 0.0
    return nearest(Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), how, _WIDEST))


def to_integer(text: str, bits: int) -> int:
    """An integer that is written with digits alone."""
    trimmed = text.strip(_BLANKS)
    if not _INTEGER.fullmatch(trimmed) or len(trimmed) > 4000:
        raise FailedCall(k.MALFORMED)
    value = int(trimmed)
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise FailedCall(k.MALFORMED)
    return value


def to_double(text: str) -> float:
    """A double as Java reads it."""
    trimmed = text.strip(_JAVA_BLANKS)
    special = _SPECIAL.get(trimmed.lower())
    if special is not None:
        return special
    if not _DOUBLE.fullmatch(trimmed):
        raise FailedCall(k.MALFORMED)
    return float(trimmed.rstrip("fFdD"))


def to_float(text: str) -> float:
    """A float as Java reads it: rounded once."""
    trimmed = text.strip(_JAVA_BLANKS)
    value = to_double(text)
    return nearest_float(Decimal(trimmed.rstrip("fFdD"))) if math.isfinite(value) and value else value


def to_text(data: bytes) -> str:
    """The text of which bytes are the UTF-8; Spark takes others too, and shows what is none as U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise FailedCall(k.MALFORMED) from None


def to_boolean(text: str) -> bool:
    """TRUE or FALSE by the words that Spark knows."""
    word = text.strip(_BLANKS).lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise FailedCall(k.MALFORMED)


def to_decimal(text: str, to: SqlType) -> int:
    """A decimal, rounded half up to its scale."""
    found = _NUMBER.fullmatch(text.strip(_JAVA_BLANKS))
    if found is None or not found[2] + found[3]:
        raise FailedCall(k.MALFORMED)
    sign, whole, fraction, exponent = found.groups()
    digits = (whole + fraction).lstrip("0")
    point = len(digits) - len(fraction) + (int(exponent) if exponent and len(exponent) < 12 else 0)
    if exponent and len(exponent) >= 12:
        raise FailedCall(k.MALFORMED)
    if not digits:
        return 0
    if point > _DIGITS:
        raise FailedCall(k.DECIMAL_OVERFLOW)
    kept = point + to.scale
    if kept < 0:
        return 0
    value = int((digits[:kept] + "0" * (kept - len(digits))) or "0")
    if len(digits) > kept and digits[kept] >= "5":
        value += 1
    return _fitting(-value if sign == "-" else value, to)


def _fitting(value: int, to: SqlType) -> int:
    if abs(value) >= 10**to.precision:
        raise FailedCall(k.DECIMAL_OVERFLOW)
    return value


def _double_to_decimal(value: float, to: SqlType) -> int | None:
    if not math.isfinite(value):
        return None
    scaled = Decimal(repr(value)).scaleb(to.scale, _WIDEST)
    return _fitting(int(scaled.quantize(Decimal(1), ROUND_HALF_UP, _WIDEST)), to)


def _decimal_to_timestamp(value: int, scale: int) -> int:
    """Seconds as microseconds, towards zero and modulo 2**64: Spark takes the low bits of the exact product."""
    size: int = abs(value) * 1_000_000 // 10**scale
    return (((-size if value < 0 else size) + _LONG) & (2 * _LONG - 1)) - _LONG


def double_text(value: float) -> str:
    """A double as Java writes it: the shortest digits that say which it is, of which there are two at least."""
    if math.isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0.0"
    return _number_text(value, shortest(value))


def shortest(value: float) -> Decimal:
    """The size of a finite double by the digits that Java writes.

    >>> shortest(-2.675), shortest(5e-324)
    (Decimal('2.675'), Decimal('4.9E-324'))
    """
    found = Decimal(repr(abs(value))).normalize(_WIDEST)
    return found if len(found.as_tuple().digits) > 1 else Decimal(f"{abs(value):.1e}").normalize(_WIDEST)


def float_text(value: float) -> str:
    """A FLOAT as Java writes it: the shortest digits that say which of the floats it is.

    >>> float_text(0.10000000149011612), float_text(16777216.0)
    ('0.1', '1.6777216E7')
    """
    if not math.isfinite(value) or value == 0:
        return double_text(value)
    found = Decimal(np.format_float_scientific(np.float32(abs(value)), unique=True)).normalize(_WIDEST)
    if len(found.as_tuple().digits) == 1:
        found = Decimal(f"{abs(value):.1e}").normalize(_WIDEST)
    return _number_text(value, found)


def _number_text(value: float, size: Decimal) -> str:
    """A finite number by the digits that stand for its size."""
    sign = "-" if value < 0 else ""
    _, parts, exponent = size.as_tuple()
    digits = "".join(map(str, parts))
    point = len(digits) + int(exponent)
    if not _LEAST_PLAIN <= abs(value) < _MOST_PLAIN:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"


def decimal_text(value: int, scale: int) -> str:
    """A decimal with all digits of its scale."""
    digits = str(abs(value)).rjust(scale + 1, "0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else sign + digits


def date_text(days: int) -> str:
    """A date by ISO 8601; a year beyond 9999 has its sign."""
    year, month, day = _civil_from_days(days)
    sign = "-" if year < 0 else ("+" if year > 9999 else "")
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def timestamp_text(microseconds: int) -> str:
    """Date and time, and of the fraction what is not zero."""
    days, of_day = divmod(microseconds, DAY_MICROSECONDS)
    seconds, fraction = divmod(of_day, 1_000_000)
    text = f"{date_text(days)} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}".rstrip("0") if fraction else text
