"""Rounding: to a number of digits behind the point, half up (``round``), half to even (``bround``), down and up.

A decimal keeps as many digits as the result needs; floor and ceil of doubles and integers give BIGINT.
"""

from __future__ import annotations

from livejoin.query.scalar import Call, Constant, Function, Scalar
from livejoin.schema import SqlType
from livejoin.sql.scalars.arithmetic import number
from livejoin.sql.scalars.decimals import MOST_DIGITS, decimal_for
from livejoin.sql.scalars.operands import BIGINT, INT, Operand, Unsayable, call, cast, is_kind


def rounded(function: Function, value: Operand, *digits: Operand) -> Scalar:
    """A number rounded to some digits, or to an integer.

    Raises:
        Mismatch: The value is no number.
        Unsayable: The number of digits is no constant.
    """
    found = number(value)
    if function in ("floor", "ceil"):
        return _whole(function, found) if not digits else _rounded(function, _as_decimal(found), digits[0])
    return _rounded(function, found, digits[0] if digits else Constant(0, INT))


def _rounded(function: Function, value: Scalar, digits: Operand) -> Scalar:
    if not isinstance(digits, Constant) or not is_kind(digits.type, "integer") or not isinstance(digits.value, int):
        raise Unsayable(function.upper(), "the number of digits is a whole number, written as one")
    kind = _kept(value.type, digits.value) if value.type.kind == "decimal" else value.type
    return call(function, kind, value, Constant(digits.value, INT))


def _kept(kind: SqlType, digits: int) -> SqlType:
    """The decimal type of a rounded decimal: one more digit before the point, because rounding up may need it."""
    whole = kind.precision - kind.scale + 1
    if digits < 0:
        return SqlType.decimal(min(max(whole, 1 - digits), MOST_DIGITS), 0)
    scale = min(kind.scale, digits)
    return SqlType.decimal(min(whole + scale, MOST_DIGITS), scale)


def _whole(function: Function, value: Scalar) -> Scalar:
    if value.type.kind == "decimal":
        kind = SqlType.decimal(min(value.type.precision - value.type.scale + 1, MOST_DIGITS), 0)
        return value if value.type.scale == 0 and kind == value.type else call(function, kind, value)
    return cast(value, BIGINT) if value.type.kind == "integer" else call(function, BIGINT, value)


def _as_decimal(value: Scalar) -> Scalar:
    """The value that ``floor(x, digits)`` rounds: a DOUBLE as DECIMAL(30, 15), a FLOAT as DECIMAL(14, 7)."""
    if value.type.kind == "double":
        return Call("cast", (value,), SqlType.decimal(14, 7) if value.type.bits else SqlType.decimal(30, 15))
    return cast(value, decimal_for(value.type))
