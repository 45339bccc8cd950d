"""Arithmetic and the types of its results: integers, decimals, doubles, and strings that stand for numbers.

Integers give the wider of their types and never a wider one: an overflow is an error of the row. ``/`` divides integers
as doubles, ``div`` gives a BIGINT. A decimal with an integer gives a decimal, with a double a double. Two FLOATs give a
FLOAT, except for their quotient; a FLOAT with any other number gives a DOUBLE.
"""

from __future__ import annotations

from livejoin.query.scalar import Function, Scalar
from livejoin.schema import SqlType
from livejoin.sql.scalars.coercion import common_type
from livejoin.sql.scalars.decimals import decimal_of, result
from livejoin.sql.scalars.operands import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INTERVALS,
    Mismatch,
    Operand,
    Unsayable,
    Void,
    as_value,
    call,
    cast,
    is_kind,
    is_number,
    type_of,
)

_NO_NUMBERS = "numbers are wanted, and {} and {} are found; cast a string to a number"


def binary(function: Function, left: Operand, right: Operand) -> Scalar:
    """An operation on two numbers.

    Raises:
        Mismatch: An operand is no number.
    """
    if function == "divide" and type_of(left) == "VOID" and is_number(type_of(right)):
        left = cast(left, DOUBLE)
    left, right = numbers(left, right)
    if function == "integral_divide":
        return _integral_divide(left, right)
    if is_kind(left.type, "integer") and is_kind(right.type, "integer"):
        if function in ("divide", "try_divide"):
            return call(function, DOUBLE, cast(left, DOUBLE), cast(right, DOUBLE))
        kind = SqlType.integer(max(left.type.bits, right.type.bits))
        return call(function, kind, cast(left, kind), cast(right, kind))
    if is_kind(left.type, "double") or is_kind(right.type, "double"):
        kind = FLOAT if left.type == right.type == FLOAT and function not in ("divide", "try_divide") else DOUBLE
        return call(function, kind, cast(left, kind), cast(right, kind))
    one, other = decimal_of(left), decimal_of(right)
    return call(function, result(function, one, other), cast(left, one), cast(right, other))


def negated(operand: Operand) -> Scalar:
    """``-x``."""
    value = number(operand)
    return call("negate", value.type, value)


def absolute(operand: Operand) -> Scalar:
    """``abs(x)``, also for an interval."""
    value = as_value(operand)
    value = cast(value, value.type) if not isinstance(value, Void) and value.type in INTERVALS else number(operand)
    return call("absolute", value.type, value)


def number(operand: Operand) -> Scalar:
    """An operand as a number; a string or an untyped NULL becomes a double.

    Raises:
        Mismatch: The operand is no number.
        Unsayable: The operand is an interval.
    """
    kind = type_of(operand)
    if kind == "INTERVAL":
        raise Unsayable("INTERVAL", "an interval is only added to a time")
    if kind == "VOID" or is_kind(kind, "string"):
        return cast(operand, DOUBLE)
    if not is_number(kind):
        msg = f"a number is wanted, and {kind} is found"
        raise Mismatch(msg)
    return cast(operand, kind) if isinstance(kind, SqlType) else cast(operand, DOUBLE)


def numbers(left: Operand, right: Operand) -> tuple[Scalar, Scalar]:
    """Two operands as numbers; a string or an untyped NULL takes the type of the other operand."""
    one, other = type_of(left), type_of(right)
    if "INTERVAL" in (one, other):
        raise Unsayable("INTERVAL", "an interval is only added to a time")
    if is_kind(one, "string") and (other == "VOID" or is_kind(other, "string")):
        raise Mismatch(_NO_NUMBERS.format(one, other))
    if is_kind(other, "string") and one == "VOID":
        raise Mismatch(_NO_NUMBERS.format(one, other))
    for first, second in ((one, other), (other, one)):
        if (first == "VOID" or is_kind(first, "string")) and is_number(second):
            kind = common_type(one, other)
            if isinstance(kind, SqlType):
                return cast(left, kind), cast(right, kind)
    return number(left), number(right)


def _integral_divide(left: Scalar, right: Scalar) -> Scalar:
    for kind in (left.type, right.type):
        if is_kind(kind, "double"):
            msg = f"div takes integers and decimals, and {kind} is found; divide with / and take floor or ceil"
            raise Mismatch(msg)
    if is_kind(left.type, "integer") and is_kind(right.type, "integer"):
        return call("integral_divide", BIGINT, cast(left, BIGINT), cast(right, BIGINT))
    return call("integral_divide", BIGINT, cast(left, decimal_of(left)), cast(right, decimal_of(right)))
