"""Constants with Spark's types: numbers, strings, X'...', DATE'...' and TIMESTAMP'...'.

An integer is an INT if it fits, else a BIGINT, else a decimal. A number with a point is a decimal of the written
digits, one with an exponent is a DOUBLE.
"""

from __future__ import annotations

import math
import re
from datetime import date, time
from fractions import Fraction

from sqlglot import exp

from livejoin.query.binary32 import nearest_float
from livejoin.query.scalar import Constant
from livejoin.query.texts.failed_call import FailedCall
from livejoin.query.texts.time_text import to_date, to_timestamp
from livejoin.schema import SqlType
from livejoin.sql.scalars.decimals import literal
from livejoin.sql.scalars.operands import BIGINT, BINARY, DATE, DOUBLE, FLOAT, INT, STRING, Mismatch

_DATE = r"\s*(?P<year>[+]?\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2})%s)?)?\s*"
_DAY = re.compile(_DATE % r"(?:[ T].*)?", re.DOTALL)
_TIME = re.compile(
    _DATE % r"(?:[ T](?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d{0,9}))?)?"
    r"\s*(?:(?P<utc>Z|UTC|GMT)|(?P<sign>[+-])(?P<hours>\d{1,2}):(?P<minutes>\d{2}))?)?"
)
_DIGITS = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_EPOCH = date(1970, 1, 1)


def number(node: exp.Literal, sign: str = "") -> Constant:
    """The constant of a number with its sign.

    Raises:
        Mismatch: The number is out of range, or none, as ``1e``, which sqlglot accepts.
    """
    _check_digits(node.name)
    text = f"{sign}{node.name}"
    if "e" in text.lower():
        return Constant(_double(text), DOUBLE)
    if "." in text:
        return _decimal(text)
    value = int(text)
    if -(1 << 31) <= value < 1 << 31:
        return Constant(value, INT)
    return Constant(value, BIGINT) if -(1 << 63) <= value < 1 << 63 else _decimal(text)


def _check_digits(text: str) -> None:
    if not _DIGITS.fullmatch(text):
        msg = f"{text} is no number; numbers are written as 1, 1.5 and 1.5e3"
        raise Mismatch(msg)


def suffixed(node: exp.Expr, sign: str = "") -> Constant | None:
    """The constant of a number with a type suffix, as ``1L``; None for other nodes.

    sqlglot reads ``1L`` as a cast of a literal, which is longer in the text than its digits.

    Raises:
        Mismatch: The number is out of range.
    """
    if not (isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal)):
        return None
    digits, kind = node.this, node.to.this
    is_suffixed = not digits.is_string and digits.meta.get("end", 0) - digits.meta.get("start", 0) >= len(digits.name)
    if is_suffixed:
        _check_digits(digits.name)
    if kind == exp.DType.DECIMAL and digits.is_string and "start" not in digits.meta:
        return _decimal(f"{sign}{digits.name}")
    if not is_suffixed:
        return None
    if kind == exp.DType.DOUBLE:
        return Constant(_double(f"{sign}{digits.name}"), DOUBLE)
    if kind == exp.DType.FLOAT:
        return Constant(_float(f"{sign}{digits.name}"), FLOAT)
    bits = {exp.DType.TINYINT: 8, exp.DType.SMALLINT: 16, exp.DType.BIGINT: 64}.get(kind)
    if bits is None:
        return None
    if not digits.name.isdecimal():
        msg = f"{digits.name} is no whole number, behind which the letter of its type would stand"
        raise Mismatch(msg)
    value, found = int(f"{sign}{digits.name}"), SqlType.integer(bits)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        msg = f"{value} is out of the range of {found}"
        raise Mismatch(msg)
    return Constant(value, found)


def typed_text(text: str, kind: SqlType) -> Constant | None:
    """The constant of DATE'...' or TIMESTAMP'...'; None if the text is none, or names a zone other than UTC.

    >>> typed_text("2020-02-29", DATE), typed_text("2020-02-30", DATE)
    (Constant(value=18321, type=SqlType(kind='date', bits=0, precision=0, scale=0)), None)
    """
    found = (_DAY if kind == DATE else _TIME).fullmatch(text)
    if found is None:
        return None
    parts = {name: int(value) for name, value in found.groupdict("1").items() if name in ("year", "month", "day")}
    try:
        days = (date(**parts) - _EPOCH).days
        if kind == DATE:
            return Constant(days, DATE)
        hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
        clock = time(hour, minute, second)
    except ValueError:
        return None
    fraction = int(((found["fraction"] or "") + "000000")[:6])
    zone = (int(found["hours"] or 0) * 60 + int(found["minutes"] or 0)) * (-1 if found["sign"] == "-" else 1)
    seconds = ((days * 24 + clock.hour) * 60 + clock.minute - zone) * 60 + clock.second
    return Constant(seconds * 1_000_000 + fraction, kind)


_TYPED = re.compile(r"\b(DATE|TIMESTAMP(?:_NTZ|_LTZ)?|TIME)\s*\Z", re.IGNORECASE)
_BEFORE = 40  # characters before a constant, in which its type stands


def type_before(sql: str, start: int) -> str:
    """The type word right before a constant at an offset, as in DATE '2024-02-29'; empty if there is none.

    >>> type_before("SELECT date '2024-02-29'", 12), type_before("CAST('x' AS DATE)", 5)
    ('DATE', '')
    """
    found = _TYPED.search(sql[max(0, start - _BEFORE) : start])
    return found[1].upper() if found else ""


def check_time(text: str, kind: SqlType) -> None:
    """Check the text of a constant such as DATE'...'.

    Raises:
        Mismatch: There is no such day or time.
    """
    try:
        (to_date if kind == DATE else to_timestamp)(text)
    except FailedCall:
        form, example = "year-month-day", "2024-02-29"
        if kind != DATE:
            form, example = f"{form} hour:minute:second", f"{example} 12:30:00"
        what = "day" if kind == DATE else "time"
        msg = f"there is no such {what}; it is written as {form}, as in {kind} '{example}'"
        raise Mismatch(msg) from None


def names_zone(text: str) -> bool:
    """Whether the text of a timestamp names a time zone.

    >>> names_zone("2020-02-29 12:00:00+02:00"), names_zone("2020-02-29")
    (True, False)
    """
    found = _TIME.fullmatch(text)
    return found is not None and (found["utc"] or found["sign"]) is not None


def hexadecimal(digits: str) -> Constant:
    """The constant of X'...'; an odd number of digits has a 0 before it.

    >>> hexadecimal("1ff").value
    b'\\x01\\xff'
    """
    return Constant(bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0")), BINARY)


def text(value: str) -> Constant:
    """A string."""
    return Constant(value, STRING)


def _double(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        msg = f"{text} is out of the range of DOUBLE"
        raise Mismatch(msg)
    return value


def _float(text: str) -> float:
    value = nearest_float(Fraction(text))
    if math.isinf(value):
        msg = f"{text} is out of the range of FLOAT"
        raise Mismatch(msg)
    return value


def _decimal(text: str) -> Constant:
    try:
        return literal(text)
    except ValueError as error:
        raise Mismatch(str(error)) from error
