"""The naive twin of aggregates: every result from all rows of its group, in exact arithmetic, rounded once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from livejoin.query.relational import Call
from livejoin.schema import SqlType

Row = tuple[Any, ...]


class Overflow(Exception):
    """A result that its type cannot hold."""


def aggregate(
    rows: Sequence[Row], types: Sequence[SqlType], groups: int, calls: Sequence[Call], is_global: bool
) -> Counter[Row]:
    """The rows of results over a multiset of rows.

    Raises:
        Overflow: A result does not fit its type.
    """
    by_group: dict[Row, list[Row]] = {(): []} if is_global else {}
    for row in rows:
        by_group.setdefault(tuple(map(canonical, row[:groups])), []).append(row)
    return Counter(
        (*key, *(canonical(result(call, types, members)) for call in calls)) for key, members in by_group.items()
    )


def canonical(value: Any) -> Any:
    """A value that is equal and hashed as SQL compares: NaN is itself, zero has no sign, lists are tuples."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else ("double", value + 0.0)
    if isinstance(value, list):
        return tuple(map(canonical, value))
    return value


def sort_key(value: Any) -> Any:
    """The order of MIN and MAX."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def result(call: Call, types: Sequence[SqlType], rows: Sequence[Row]) -> Any:
    """What a call gives over the rows of a group."""
    if call.argument is None:
        return len(rows)
    values = [row[call.argument] for row in rows]
    if call.distinct:
        values = list({canonical(value): value for value in values}.values())
    present = sorted((value for value in values if value is not None), key=sort_key)
    match call.function:
        case "count":
            return len(present)
        case "array_agg":
            return [None] * (len(values) - len(present)) + present
        case _ if not present:
            return None
        case "min":
            return present[0]
        case "max":
            return present[-1]
        case "bool_and":
            return all(present)
        case "bool_or":
            return any(present)
        case _:
            return _number(call, types[call.argument], present)


def _number(call: Call, argument: SqlType, values: list[Any]) -> Any:
    if call.function == "var_samp" and len(values) == 1:
        return None
    if argument.kind == "double" and not all(map(math.isfinite, values)):
        endless = [value for value in values if not math.isfinite(value)]
        return math.nan if call.function.startswith("var") else sum(endless)
    exact = [Fraction(value) for value in values]
    total, n = sum(exact, Fraction(0)), len(exact)
    if call.function in ("var_pop", "var_samp"):
        squares = sum((x * x for x in exact), Fraction(0))
        return nearest((n * squares - total * total) / (n * (n - (call.function == "var_samp"))))
    if call.type.kind == "integer":
        if not -(1 << 63) <= total < 1 << 63:
            raise Overflow
        return int(total)
    if call.type.kind == "double":
        return nearest(total if call.function == "sum" else total / n)
    scaled = (total if call.function == "sum" else total / n) * 10**call.type.scale
    unscaled = math.floor(abs(scaled) + Fraction(1, 2)) * (-1 if scaled < 0 else 1)
    if abs(unscaled) >= 10**call.type.precision:
        raise Overflow
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -call.type.scale))


def nearest(value: Fraction) -> float:
    """The nearest double, infinite beyond the largest one."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return math.inf if value > 0 else -math.inf
