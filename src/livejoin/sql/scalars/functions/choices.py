"""Comparisons, and choices between values: CASE, IF, COALESCE, NULLIF, IN, BETWEEN.

Two values are compared in their common type. A choice has the common type of its values.
"""

from __future__ import annotations

from collections.abc import Sequence

from livejoin.query.scalar import Constant, Function, Scalar
from livejoin.sql.scalars.coercion import to_common
from livejoin.sql.scalars.operands import (
    BOOLEAN,
    Interval,
    Mismatch,
    Operand,
    Void,
    as_value,
    call,
    cast,
    is_kind,
    type_of,
)


def compared(function: Function, left: Operand, right: Operand) -> Scalar:
    """A comparison of two values.

    Raises:
        Mismatch: The values have no common type.
    """
    one, other = _in_common([left, right], "be compared")
    return call(function, BOOLEAN, one, other)


def between(value: Operand, low: Operand, high: Operand) -> Scalar:
    """``value BETWEEN low AND high``."""
    return call("and", BOOLEAN, compared("greater_equal", value, low), compared("less_equal", value, high))


def is_in(value: Operand, items: Sequence[Operand]) -> Scalar:
    """``value IN (item, ...)``."""
    return call("in", BOOLEAN, *_in_common([value, *items], "be compared"))


def extreme(function: Function, operands: Sequence[Operand]) -> Operand:
    """GREATEST or LEAST of some values, ignoring NULLs.

    Raises:
        Mismatch: There are fewer than two, or they have no common type.
    """
    if len(operands) < 2:
        msg = f"{function} takes two values or more"
        raise Mismatch(msg)
    if len({is_kind(kind, "string") for kind in map(type_of, operands) if kind != "VOID"}) > 1:
        raise _nothing_in_common(operands, "be compared")  # here Spark reads no string as something else
    values = _in_common(operands, "be compared")
    return call(function, values[0].type, *values)


def is_null(operand: Operand) -> Scalar:
    """Whether a value is NULL."""
    match operand:
        case Void():
            return Constant(True, BOOLEAN)
        case Interval():
            return Constant(False, BOOLEAN)
        case _:
            return call("is_null", BOOLEAN, operand)


def inverse(operand: Operand) -> Scalar:
    """``NOT x``."""
    return call("not", BOOLEAN, _condition(operand, "NOT"))


def conditions(function: Function, operands: Sequence[Operand]) -> Scalar:
    """AND or OR of two operands or more, from the left.

    Raises:
        Mismatch: An operand is no BOOLEAN; a string counts as one only beside a BOOLEAN.
    """
    name = function.upper()
    if BOOLEAN not in map(type_of, operands[:2]) and any(is_kind(type_of(each), "string") for each in operands[:2]):
        msg = f"{name} takes conditions, which are BOOLEAN, and STRING is found; cast it"
        raise Mismatch(msg)
    return call(function, BOOLEAN, *(_condition(operand, name) for operand in operands))


def _condition(operand: Operand, what: str) -> Scalar:
    """An operand of AND, OR and NOT, which may be a string."""
    kind = type_of(operand)
    if kind in (BOOLEAN, "VOID") or is_kind(kind, "string"):
        return cast(operand, BOOLEAN)
    msg = f"{what} takes conditions, which are BOOLEAN, and {kind} is found"
    raise Mismatch(msg)


def case(conditions: Sequence[Operand], values: Sequence[Operand]) -> Operand:
    """The value after the first condition that is true, else the last value.

    Args:
        conditions: The conditions.
        values: A value for each, and one more.

    Raises:
        Mismatch: A condition is no BOOLEAN, or the values have no common type.
    """
    decided = []
    for each in conditions:
        kind = type_of(each)
        if kind not in (BOOLEAN, "VOID"):
            msg = f"a condition is BOOLEAN, and {kind} is found"
            raise Mismatch(msg)
        decided.append(cast(each, BOOLEAN))
    chosen = to_common(values)
    if chosen is None:
        raise _nothing_in_common(values, "be chosen from")
    typed = [value for value in chosen if not isinstance(value, Void)]
    if not typed:
        return Void()
    parts = [part for pair in zip(decided, typed[:-1], strict=True) for part in pair]
    return call("case", typed[-1].type, *parts, typed[-1])


def first_value(operands: Sequence[Operand]) -> Operand:
    """COALESCE: the first value that is not NULL."""
    chosen = to_common(operands)
    if chosen is None:
        raise _nothing_in_common(operands, "be chosen from")
    typed = [value for value in chosen if not isinstance(value, Void)]
    if not typed:
        return Void()
    return typed[0] if len(typed) == 1 else call("coalesce", typed[0].type, *typed)


def null_if(value: Operand, other: Operand) -> Operand:
    """NULLIF: NULL if two values are equal, else the first."""
    return case([compared("equal", value, other)], [Void(), value])


def _in_common(operands: Sequence[Operand], what: str) -> Sequence[Scalar]:
    """Operands in their common type; BOOLEAN if all are untyped NULLs."""
    values = to_common(operands)
    if values is None:
        raise _nothing_in_common(operands, what)
    return [cast(value, BOOLEAN) if isinstance(value, Void) else value for value in values]


def _nothing_in_common(operands: Sequence[Operand], what: str) -> Exception:
    kinds = " and ".join(dict.fromkeys(str(type_of(as_value(operand))) for operand in operands))
    return Mismatch(f"{kinds} have no type in common to {what} in; cast one of them")
