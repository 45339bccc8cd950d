"""Functions that choose among their arguments, such as DECODE, NVL2 and GREATEST."""

from __future__ import annotations

from collections.abc import Callable

from livejoin.query.scalar import Constant, Function
from livejoin.sql.scalars.coercion import accepted
from livejoin.sql.scalars.functions import choices
from livejoin.sql.scalars.operands import BOOLEAN, DOUBLE, FLOAT, INT, STRING, Operand, call, type_of


def either(condition: Operand, value: Operand, other: Operand) -> Operand:
    return choices.case([condition], [value, other])


def decode(value: Operand, *rest: Operand) -> Operand:
    """DECODE: the result after the first equal value (NULL equals NULL); else the default.

    A missing default is a NULL of type STRING in Spark, so results of type INT become BIGINT.
    """
    default = rest[-1] if len(rest) % 2 else Constant(None, STRING)
    pairs = [(rest[i], rest[i + 1]) for i in range(0, len(rest) - 1, 2)]
    same = [choices.compared("null_safe_equal", value, search) for search, _ in pairs]
    return choices.case(same, [*(result for _, result in pairs), default])


def nvl2(value: Operand, present: Operand, absent: Operand) -> Operand:
    return choices.case([choices.inverse(choices.is_null(value))], [present, absent])


def nanvl(value: Operand, other: Operand) -> Operand:
    kind = FLOAT if type_of(value) == type_of(other) == FLOAT else DOUBLE
    one, two = accepted(value, kind), accepted(other, kind)
    return choices.case([call("is_nan", BOOLEAN, one)], [two, one])


def zero_if_null(value: Operand) -> Operand:
    return choices.first_value([value, Constant(0, INT)])


def null_if_zero(value: Operand) -> Operand:
    return choices.null_if(value, Constant(0, INT))


def comparison(function: Function) -> Callable[[Operand, Operand], Operand]:
    return lambda left, right: choices.compared(function, left, right)


def extreme_of(function: Function) -> Callable[..., Operand]:
    return lambda *values: choices.extreme(function, values)
