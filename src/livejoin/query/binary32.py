"""The numbers that a FLOAT has: those of IEEE 754 binary32, each of which is a double too."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

_BEYOND = 2.0**128
"""What stands for infinity where the largest number is left."""


def nearest_float(exact: Decimal | Fraction) -> float:
    """The nearest number of binary32, the even one of two; infinite beyond the largest one.

    The nearest double is rounded again. That goes wrong only where this double lies in the middle of two numbers and
    the exact one does not, and then the side decides on which it lies.

    >>> nearest_float(Fraction(1, 10)), nearest_float(Decimal("1e39"))
    (0.10000000149011612, inf)
    >>> nearest_float(Decimal(1) + Decimal(2) ** -24 + Decimal(10) ** -25) > 1
    True
    """
    try:
        double = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if not math.isfinite(double):
        return double
    with np.errstate(over="ignore", under="ignore"):
        found = np.float32(double)
        other = float(np.nextafter(found, np.float32(math.copysign(math.inf, double - float(found)))))
    nearest = float(found)
    if math.isinf(nearest):
        nearest, other = math.copysign(_BEYOND, double), math.copysign(float(np.finfo(np.float32).max), double)
    side = Fraction(exact) - Fraction(double)
    if nearest != double and abs(double - nearest) == abs(other - double) and side != 0:
        nearest = max(nearest, other) if side > 0 else min(nearest, other)
    return math.copysign(math.inf, nearest) if abs(nearest) == _BEYOND else nearest
