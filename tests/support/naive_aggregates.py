"""The naive twin of aggregates: every result from all rows of its group, in exact arithmetic, rounded once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from livejoin.query.aggregates import AggregateCall
from livejoin.schema import SqlType

Row = tuple[Any, ...]


class Overflow(Exception):
    """A result that its type cannot hold."""


def aggregate(
    rows: Sequence[Row], types: Sequence[SqlType], groups: int, calls: Sequence[AggregateCall], is_global: bool
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


def result(call: AggregateCall, types: Sequence[SqlType], rows: Sequence[Row]) -> Any:
    """What a call gives over the rows of a group."""
    if call.argument is None:
        return len(rows)
    if call.function in ("min_by", "max_by", "list_by"):
        return _by_another(call, rows)
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
        case "bit_and":
            return reduce(and_, present)
        case "bit_or":
            return reduce(or_, present)
        case "bit_xor":
            return reduce(xor, present)
        case "mode":
            numbers = Counter(map(canonical, present))
            ranked = present[::-1] if call.descending else present
            return max(ranked, key=lambda value: numbers[canonical(value)])
        case "percentile_disc":
            ranked = present[::-1] if call.descending else present
            return ranked[max(math.ceil(len(ranked) * call.fraction) - 1, 0)]
        case "percentile_cont":
            return _between(present[::-1] if call.descending else present, call.fraction)
        case "covar_pop" | "covar_samp":
            return _covariance(call, rows)
        case _:
            return _number(call, types[call.argument], present)


def _by_another(call: AggregateCall, rows: Sequence[Row]) -> Any:
    """Arguments in the order of others, NULL first in both."""
    assert call.argument is not None and call.other is not None
    pairs = [(row[call.other], row[call.argument]) for row in rows]
    needed = 1 if call.function == "list_by" else 0
    pairs = [pair for pair in pairs if pair[needed] is not None]
    pairs.sort(key=lambda pair: [(value is not None, value is not None and sort_key(value)) for value in pair])
    if call.function == "list_by":
        return [value for _, value in pairs]
    if not pairs:
        return None
    return pairs[0][1] if call.function == "min_by" else pairs[-1][1]


def _between(values: list[float], fraction: float) -> float:
    """A percentile as Spark interpolates it."""
    position = (len(values) - 1) * fraction
    lower, upper = math.floor(position), math.ceil(position)
    low, high = values[lower], values[upper]
    if canonical(low) == canonical(high):
        return low
    return (upper - position) * low + (position - lower) * high


def _covariance(call: AggregateCall, rows: Sequence[Row]) -> float | None:
    assert call.argument is not None and call.other is not None
    pairs = [(row[call.argument], row[call.other]) for row in rows if row[call.argument] is not None]
    sample = call.function == "covar_samp"
    if len(pairs) <= sample:
        return None
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        return math.nan
    n, zero = len(pairs), Fraction(0)
    x, y = (sum((Fraction(pair[i]) for pair in pairs), zero) for i in (0, 1))
    both = sum((Fraction(a) * Fraction(b) for a, b in pairs), zero)
    return nearest((n * both - x * y) / (n * (n - sample)))


def _number(call: AggregateCall, argument: SqlType, values: list[Any]) -> Any:
    if call.function == "var_samp" and len(values) == 1:
        return None
    if argument.kind == "double" and not all(map(math.isfinite, values)):
        endless = [value for value in values if not math.isfinite(value)]
        return math.nan if call.function.startswith(("var", "moment")) else sum(endless)
    exact = [Fraction(value) for value in values]
    total, n = sum(exact, Fraction(0)), len(exact)
    if call.function.startswith("moment"):
        return nearest(sum(((x - total / n) ** int(call.function[-1]) for x in exact), Fraction(0)) / n)
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
