"""Comparisons of a difference with a constant, with one side alone: ``t.ts - q.ts <= 5`` is ``t.ts <= q.ts + 5``.

    a - b <= c                 a <= b + c            numbers without rounding, and times
    DATEDIFF(a, b) <= c        a <= b + c            dates, by days
    ABS(a - b) <= c            a <= b + c AND a >= b - c, of all of these

Law: both forms have the same value wherever they have one. The difference may not fit its type, which the other form
does not ask for; the sum may not fit the widest type of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from livejoin.query.scalar import Call, Constant, Function, Scalar
from livejoin.schema import SqlType

TURNED: dict[str, Function] = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
"""Each comparison by order, and what it is with its sides changed over."""

_BIGINT = SqlType.integer(64)
_INT = SqlType.integer(32)
_MOST_DIGITS = 38


def taken_apart(scalar: Scalar) -> tuple[Scalar, ...]:
    """The comparisons that a condition is the conjunction of, each with one side of a difference alone if it has one.

    >>> from livejoin.query.scalar import Field
    >>> a, b = Field(0, _BIGINT), Field(1, _BIGINT)
    >>> difference, boolean = Call("subtract", (a, b), _BIGINT), SqlType("boolean")
    >>> def shown(one):
    ...     return one.function, one.arguments[0] == a, one.arguments[1].function
    >>> [shown(one) for one in taken_apart(Call("less", (difference, Constant(5, _BIGINT)), boolean))]
    [('less', True, 'add')]
    >>> both = Call("less", (Call("absolute", (difference,), _BIGINT), Constant(5, _BIGINT)), boolean)
    >>> [shown(one) for one in taken_apart(both)]
    [('less', True, 'add'), ('greater', True, 'subtract')]
    """
    if not isinstance(scalar, Call) or scalar.function not in TURNED:
        return (scalar,)
    difference, limit = scalar.arguments
    if is_constant(difference):
        scalar = replace(scalar, function=TURNED[scalar.function], arguments=(limit, difference))
        difference, limit = limit, difference
    if not is_constant(limit):
        return (scalar,)
    difference = unwidened(difference)
    if isinstance(difference, Call) and difference.function == "absolute" and scalar.function in ("less", "less_equal"):
        upper = _alone(scalar, difference.arguments[0], limit, False)
        lower = _alone(replace(scalar, function=TURNED[scalar.function]), difference.arguments[0], limit, True)
        return (upper, lower) if upper is not None and lower is not None else (scalar,)
    return (_alone(scalar, difference, limit, False) or scalar,)


def is_constant(scalar: Scalar) -> bool:
    """Whether an expression is a constant of a number or a time, maybe of another type."""
    match scalar:
        case Constant(value=value):
            return isinstance(value, (int, Decimal))
        case Call(function="cast" | "negate", arguments=(inner,)):
            return is_constant(inner)
        case _:
            return False


def unwidened(scalar: Scalar) -> Scalar:
    """An expression without casts to wider types of its kind: they keep each value, and the order.

    >>> from livejoin.query.scalar import Field
    >>> price = Field(0, SqlType.decimal(10, 2))
    >>> unwidened(Call("cast", (price,), SqlType.decimal(12, 3))) == price
    True
    """
    while isinstance(scalar, Call) and scalar.function == "cast":
        (inner,) = scalar.arguments
        if inner.type.kind not in ("integer", "decimal") or wider_number([inner.type, scalar.type]) != scalar.type:
            break
        scalar = inner
    return scalar


def wider_number(types: Sequence[SqlType]) -> SqlType | None:
    """The least type that has all values of some types, which are all integers or all decimals; None if there is none.

    >>> print(wider_number([SqlType.decimal(10, 2), SqlType.decimal(8, 3)]))
    DECIMAL(11, 3)
    """
    kinds = {one.kind for one in types}
    if kinds == {"integer"}:
        return max(types, key=lambda one: one.bits)
    if kinds != {"decimal"}:
        return None
    scale = max(one.scale for one in types)
    precision = scale + max(one.precision - one.scale for one in types)
    return SqlType("decimal", precision=precision, scale=scale) if precision <= _MOST_DIGITS else None


def _alone(comparison: Call, difference: Scalar, limit: Scalar, is_below: bool) -> Scalar | None:
    """A comparison of the first side of a difference with the second one and a limit; None if it is no difference."""
    match unwidened(difference):
        case Call(function="subtract", arguments=(one, other)):
            found = _moved(one, other, limit, unwidened(difference).type, is_below, comparison.text)
        case Call(function="date_difference", arguments=(one, other)) if isinstance(limit, Constant):
            if not isinstance(limit.value, int):
                return None
            days = Constant(-limit.value if is_below else limit.value, limit.type)
            found = one, Call("add_days", (other, days), other.type, comparison.text)
        case _:
            return None
    return None if found is None else replace(comparison, arguments=found)


def _moved(
    one: Scalar, other: Scalar, limit: Scalar, of: SqlType, is_below: bool, text: str
) -> tuple[Scalar, Scalar] | None:
    """Both sides of a difference, the second one with the limit added or taken off; a failure names the text."""
    if of.kind == "interval" and isinstance(limit, Constant) and isinstance(limit.value, int):
        nothing = Constant(0, _INT)
        moved = Constant(-limit.value if is_below else limit.value, _BIGINT)
        return one, Call("add_interval", (other, nothing, nothing, moved), other.type, text)
    if of.kind == "integer":
        wide = _BIGINT
    else:
        both = wider_number([of, limit.type])
        if both is None or both.precision == _MOST_DIGITS:
            return None
        wide = SqlType("decimal", precision=both.precision + 1, scale=both.scale)
    first, second, third = (side if side.type == wide else Call("cast", (side,), wide) for side in (one, other, limit))
    return first, Call("subtract" if is_below else "add", (second, third), wide, text)
