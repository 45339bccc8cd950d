"""Precision and scale of decimal results, as in Spark when it may lose digits after the point (its default).

The exact result of two decimals may have more than 38 digits. Then digits after the point are dropped, down to 6 of
them. A value that still does not fit is an error of the row.
"""

from __future__ import annotations

from decimal import Decimal

from livejoin.query.scalar import Constant, Function, Scalar
from livejoin.schema import SqlType

MOST_DIGITS = 38
_KEPT_SCALE = 6
_DIGITS_OF_INTEGER = {8: 3, 16: 5, 32: 10, 64: 20}


def decimal_for(kind: SqlType) -> SqlType:
    """The decimal that holds every value of an integer type; a decimal type stays as it is.

    >>> str(decimal_for(SqlType.integer(32)))
    'DECIMAL(10, 0)'
    """
    return kind if kind.kind == "decimal" else SqlType.decimal(_DIGITS_OF_INTEGER[kind.bits], 0)


def decimal_of(operand: Scalar) -> SqlType:
    """The decimal type of an integer operand beside a decimal: a literal has no more digits than it needs.

    ``CAST(1 AS INT)`` and ``+1`` are no literals, nor is the column of a nested query with ``1 AS x``.

    >>> str(decimal_of(Constant(-12, SqlType.integer(32))))
    'DECIMAL(2, 0)'
    """
    is_literal = isinstance(operand, Constant) and operand.is_literal
    if isinstance(operand, Constant) and is_literal and operand.type.kind == "integer" and operand.value is not None:
        return SqlType.decimal(len(str(abs(int(operand.value)))), 0)
    return decimal_for(operand.type)


def adjusted(precision: int, scale: int) -> SqlType:
    """A decimal of at most 38 digits for an exact result with more (Spark's ``adjustPrecisionScale``).

    >>> str(adjusted(39, 20)), str(adjusted(77, 38))
    ('DECIMAL(38, 19)', 'DECIMAL(38, 6)')
    """
    if precision <= MOST_DIGITS:
        return SqlType.decimal(precision, scale)
    whole = precision - scale
    return SqlType.decimal(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, _KEPT_SCALE)))


def wider(left: SqlType, right: SqlType) -> SqlType:
    """The decimal in which two decimals are compared; if 38 digits are too few, those before the point are kept.

    >>> (
    ...     str(wider(SqlType.decimal(10, 2), SqlType.decimal(20, 6))),
    ...     str(wider(SqlType.decimal(38, 0), SqlType.decimal(38, 18))),
    ... )
    ('DECIMAL(20, 6)', 'DECIMAL(38, 0)')
    """
    scale = max(left.scale, right.scale)
    precision = max(left.precision - left.scale, right.precision - right.scale) + scale
    over = max(0, precision - MOST_DIGITS)
    return SqlType.decimal(precision - over, max(0, scale - over))


def result(function: Function, left: SqlType, right: SqlType) -> SqlType:
    """The decimal type of an operation on two decimals.

    >>> str(result("multiply", SqlType.decimal(10, 2), SqlType.decimal(10, 2)))
    'DECIMAL(21, 4)'
    """
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match function.removeprefix("try_"):
        case "add" | "subtract":
            scale = max(s1, s2)
            return adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "multiply":
            return adjusted(p1 + p2 + 1, s1 + s2)
        case "divide":
            scale = max(_KEPT_SCALE, s1 + p2 + 1)
            return adjusted(p1 - s1 + s2 + scale, scale)
        case _:
            scale = max(s1, s2)
            return adjusted(min(p1 - s1, p2 - s2) + scale, scale)


def literal(text: str) -> Constant:
    """The constant of digits with a point; it has as many digits as are written.

    Raises:
        ValueError: There are more than 38 digits.

    >>> str(literal("00.50").type), str(literal("12.5").type)
    ('DECIMAL(2, 2)', 'DECIMAL(3, 1)')
    """
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale)
    if precision > MOST_DIGITS:
        msg = f"{text} has {precision} digits; a decimal has at most {MOST_DIGITS}"
        raise ValueError(msg)
    return Constant(value, SqlType.decimal(precision, scale))
