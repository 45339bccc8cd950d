"""Functions of doubles that the host computes, as Spark 4 has them: Java's, which may differ in the last digit.

Where one is not defined it is NaN, and beyond the largest double it is infinite; none of them fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from livejoin.query.scalar import Function


def nearest_whole(number: float) -> float:
    """The whole number nearest to one, the even one of two.

    >>> nearest_whole(2.5), nearest_whole(-0.4), nearest_whole(float("-inf"))
    (2.0, 0.0, -inf)
    """
    return float(round(number)) + 0.0 if math.isfinite(number) else number


def hyperbolic_sine(number: float) -> float:
    """The hyperbolic sine.

    >>> hyperbolic_sine(-1000.0)
    -inf
    """
    try:
        return math.sinh(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def hyperbolic_cosine(number: float) -> float:
    """The hyperbolic cosine.

    >>> hyperbolic_cosine(-1000.0)
    inf
    """
    try:
        return math.cosh(number)
    except OverflowError:
        return math.inf


def _or_nan(function: Callable[[float], float]) -> Callable[[float], float]:
    """A function that is NaN where it is not defined."""

    def found(number: float) -> float:
        try:
            return function(number)
        except ValueError:
            return math.nan

    return found


NUMBER_FUNCTIONS: dict[Function, Callable[..., float]] = {
    "cube_root": math.cbrt,
    "nearest_whole": nearest_whole,
    "sine": _or_nan(math.sin),
    "cosine": _or_nan(math.cos),
    "tangent": _or_nan(math.tan),
    "arc_sine": _or_nan(math.asin),
    "arc_cosine": _or_nan(math.acos),
    "arc_tangent": math.atan,
    "arc_tangent_2": math.atan2,
    "hyperbolic_sine": hyperbolic_sine,
    "hyperbolic_cosine": hyperbolic_cosine,
    "hyperbolic_tangent": math.tanh,
    "degrees": math.degrees,
    "radians": math.radians,
}
"""The function of each call."""
