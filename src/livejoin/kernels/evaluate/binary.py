"""Operations of two words. Law: each gives the word that Spark's function gives, or the code of its error."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.civil import (
    DAY_MICROSECONDS,
    civil_from_days,
    days_from_civil,
    days_of_month,
    plus_months,
)
from livejoin.kernels.evaluate.doubles import double_of, word_of
from livejoin.kernels.evaluate.unary import fits
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.numbers.wide import sum_wraps

_INFINITY = np.inf
_YEARS = 999_999_999
_DAYS = ((1 << 63) - 1) // DAY_MICROSECONDS


@helper
def remainder(a: int, b: int) -> int:
    """The remainder with the sign of the dividend; the divisor is not 0."""
    if b == -1:
        return 0
    rest = a % b
    return rest - b if rest != 0 and (rest ^ a) < 0 else rest


@inlined
def _as_int(value: int) -> int:
    """The number of 32 bits that equals another modulo 2**32."""
    return ((value + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


@helper
def binary(op: int, a: int, b: int, x: int, y: int) -> tuple[int, int]:
    """Run an operation.

    Args:
        op: FIRST_BINARY to FIRST_DECIMAL - 1.
        a, b: The values.
        x, y: The instruction's numbers.

    Returns:
        The word of the result, and VALUE, NULL or the code of an error.
    """
    if op < k.DIVIDE_DOUBLE:
        return _of_integers(op, a, b, x)
    if op < k.ADD_DAYS:
        return _of_doubles(op, double_of(a), double_of(b), x)
    if op == k.ADD_DAYS:
        return _as_int(a + b), k.VALUE
    if op == k.ADD_MONTHS:
        found = plus_months(a, b)
        return found, (k.VALUE if fits(found, 32) else k.TIME_OVERFLOW)
    if op == k.DATE_DIFFERENCE:
        return _as_int(a - b), k.VALUE
    if op == k.MAKE_DATE:  # the year, and the month and day in one word
        return _make_date(a, b >> 32, _as_int(b))
    if op == k.ADD_MONTHS_TO_TIME:
        days = a // DAY_MICROSECONDS
        later = plus_months(days, b)
        if not -_DAYS <= later <= _DAYS:
            return 0, k.TIME_OVERFLOW
        return _sum(later * DAY_MICROSECONDS, a - days * DAY_MICROSECONDS)
    if op == k.ADD_TIME:
        return _sum(a, b)
    if op >= k.SHIFT_LEFT:
        return _shifted(op, a, b, x), k.VALUE
    return _units_between(a, b, x, y)


@inlined
def _sum(a: int, b: int) -> tuple[int, int]:
    total = a + b
    return total, (k.VALUE if sum_wraps(a, b, total) == 0 else k.TIME_OVERFLOW)


@inlined
def _shifted(op: int, a: int, b: int, bits: int) -> int:
    """A number of 32 or 64 bits shifted by the last 5 or 6 bits of another one, as Java does."""
    by = b & (bits - 1)
    if op == k.SHIFT_RIGHT:
        return a >> by
    if bits == 32:
        return _as_int((a & 0xFFFFFFFF) << by if op == k.SHIFT_LEFT else (a & 0xFFFFFFFF) >> by)
    if op == k.SHIFT_LEFT:
        return a << by
    return a if by == 0 else (a >> by) & ((1 << (64 - by)) - 1)


@helper
def _units_between(end: int, start: int, x: int, y: int) -> tuple[int, int]:
    """Whole units from one time to another, towards zero: X microseconds each, or Y months if X is 0."""
    if x > 0:
        size = end - start
        if sum_wraps(end, ~start, size) != 0:
            return 0, k.TIME_OVERFLOW
        return (size - remainder(size, x)) // x, k.VALUE
    last, first = end // DAY_MICROSECONDS, start // DAY_MICROSECONDS
    of_end, of_start = end - last * DAY_MICROSECONDS, start - first * DAY_MICROSECONDS
    if last > first and of_end < of_start:
        last -= 1
    elif last < first and of_end > of_start:
        last += 1
    year, month, day = civil_from_days(last)
    until = (year * 12 + month) * 32 + day
    year, month, day = civil_from_days(first)
    size = until - ((year * 12 + month) * 32 + day)
    months = (size - remainder(size, 32)) // 32
    return (months - remainder(months, y)) // y, k.VALUE


@helper
def _of_integers(op: int, a: int, b: int, x: int) -> tuple[int, int]:
    if b == 0:
        return 0, (k.DIVISION_BY_ZERO if op == k.DIVIDE else k.REMAINDER_BY_ZERO)
    if op == k.DIVIDE:
        if b == -1:
            return -a, (k.OVERFLOW if a == -(1 << 63) else k.VALUE)
        return (a - remainder(a, b)) // b, k.VALUE
    rest = remainder(a, b)
    if op == k.POSITIVE_REMAINDER and rest < 0:
        total = rest + b  # in Java's int for what has at most 32 bits, so that it wraps
        rest = remainder(_as_int(total) if x == 32 else total, b)
    return rest, k.VALUE


@helper
def _of_doubles(op: int, a: float, b: float, x: int) -> tuple[int, int]:
    """X: bits of the operands, for what is rounded on the way."""
    if op == k.POWER:
        if np.isnan(b) or (np.abs(a) == 1.0 and np.abs(b) == _INFINITY):
            return word_of(np.nan), k.VALUE  # where Java differs from C
        return word_of(np.power(a, b)), k.VALUE
    if b == 0.0:
        return 0, (k.DIVISION_BY_ZERO if op == k.DIVIDE_DOUBLE else k.REMAINDER_BY_ZERO)
    if op == k.DIVIDE_DOUBLE:
        return word_of(a / b), k.VALUE
    rest = np.fmod(a, b)
    if op == k.POSITIVE_REMAINDER_DOUBLE and rest < 0.0:
        total = rest + b
        rest = np.fmod(np.float64(np.float32(total)) if x == 32 else total, b)
    return word_of(rest), k.VALUE


@helper
def _make_date(year: int, month: int, day: int) -> tuple[int, int]:
    if not (-_YEARS <= year <= _YEARS and 1 <= month <= 12 and 1 <= day <= days_of_month(year, month)):
        return 0, k.BAD_DATE
    days = days_from_civil(year, month, day)
    return days, (k.VALUE if fits(days, 32) else k.TIME_OVERFLOW)
