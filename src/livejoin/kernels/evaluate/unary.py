"""Operations of one word. Law: each gives the word that Spark's function gives, or the code of its error."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.civil import (
    DAY_MICROSECONDS,
    civil_from_days,
    days_from_civil,
    days_of_month,
    week_of,
    weekday,
)
from livejoin.kernels.evaluate.doubles import double_of, to_integer, word_of
from livejoin.kernels.jit import helper, inlined

_LARGEST = (1 << 63) - 1
_SECOND = 1_000_000
_BEYOND = 9223372036854775808.0


@inlined
def fits(value: int, bits: int) -> bool:
    """Whether an integer of 64 bits has at most so many."""
    return bits == 64 or -(1 << (bits - 1)) <= value < 1 << (bits - 1)


@helper
def unary(op: int, word: int, x: int, y: int) -> tuple[int, int]:
    """Run an operation.

    Args:
        op: FIRST_UNARY or more.
        word: The value.
        x, y: The instruction's numbers.

    Returns:
        The word of the result, and VALUE, NULL or the code of an error.
    """
    if op < k.NEGATE_DOUBLE:
        return _of_integers(op, word, x, y)
    if op < k.YEAR:
        return _of_doubles(op, double_of(word))
    if op < k.HOUR:
        return _part_of_date(op, word), k.VALUE
    if op < k.TO_FLOAT:
        return _of_times(op, word, x, y)
    if op == k.BIT_COUNT:
        return _bit_count(word), k.VALUE
    value = np.float32(double_of(word)) if op == k.TO_FLOAT else np.float32(word)
    return word_of(np.float64(value)), k.VALUE


@helper
def _bit_count(word: int) -> int:
    """How many of the 64 bits of a word are set."""
    count = 0
    while word != 0:
        word &= word - 1  # takes the lowest one away
        count += 1
    return count


@helper
def _of_integers(op: int, word: int, x: int, y: int) -> tuple[int, int]:
    """X: bits of the result; Y: the error's code."""
    if op == k.NEGATE or (op == k.ABSOLUTE and word < 0):
        return -word, (k.VALUE if word != -(1 << (x - 1)) else k.OVERFLOW)
    if op == k.ABSOLUTE:
        return word, k.VALUE
    if op == k.FIT:
        return word, (k.VALUE if fits(word, x) else k.CAST_OVERFLOW)
    if op == k.INTEGER_TO_DOUBLE:
        return word_of(np.float64(word)), k.VALUE
    if op == k.TO_BOOLEAN:
        return (1 if word != 0 else 0), k.VALUE
    if op == k.DOUBLE_TO_BOOLEAN:
        return (1 if double_of(word) != 0.0 else 0), k.VALUE
    # DOUBLE_TO_INTEGER: to 8 and 16 bits by way of 32
    value = double_of(word)
    most = _BEYOND if x == 64 else 2147483647.0
    least = -_BEYOND if x == 64 else -2147483648.0
    if not (np.floor(value) <= most and np.ceil(value) >= least):
        return 0, k.CAST_OVERFLOW
    found = to_integer(value)
    return found, (k.VALUE if fits(found, x) else k.CAST_OVERFLOW)


@helper
def _of_doubles(op: int, value: float) -> tuple[int, int]:
    if op == k.NEGATE_DOUBLE:
        return word_of(-value), k.VALUE
    if op == k.ABSOLUTE_DOUBLE:
        return word_of(np.abs(value)), k.VALUE
    if op == k.IS_NAN:
        return (1 if np.isnan(value) else 0), k.VALUE
    if op == k.FLOOR_DOUBLE or op == k.CEIL_DOUBLE:
        whole = np.floor(value) if op == k.FLOOR_DOUBLE else np.ceil(value)
        return to_integer(whole), (k.OVERFLOW if whole >= _BEYOND or whole < -_BEYOND else k.VALUE)
    if op == k.SIGN:
        if np.isnan(value):
            return word_of(value), k.VALUE
        return word_of(1.0 if value > 0.0 else (-1.0 if value < 0.0 else 0.0)), k.VALUE
    if op == k.SQUARE_ROOT:
        return word_of(np.sqrt(value)), k.VALUE
    if op == k.EXPONENTIAL:
        return word_of(np.exp(value)), k.VALUE
    if value <= 0.0:  # LOGARITHM, LOGARITHM_10; that of NaN is NaN
        return 0, k.NULL
    return word_of(np.log(value) if op == k.LOGARITHM else np.log10(value)), k.VALUE


@helper
def _part_of_date(op: int, days: int) -> int:
    if op == k.DAY_OF_WEEK:
        return (weekday(days) + 1) % 7 + 1
    if op == k.WEEKDAY:
        return weekday(days)
    if op == k.WEEK or op == k.YEAR_OF_WEEK:
        of_year, week = week_of(days)
        return week if op == k.WEEK else of_year
    year, month, day = civil_from_days(days)
    if op == k.YEAR:
        return year
    if op == k.QUARTER:
        return (month + 2) // 3
    if op == k.MONTH:
        return month
    if op == k.DAY:
        return day
    return days - days_from_civil(year, 1, 1) + 1  # DAY_OF_YEAR


@helper
def _truncated(days: int, unit: int) -> int:
    """The first day of a date's year, quarter, month or week."""
    if unit == k.UNIT_DAY:
        return days
    if unit == k.UNIT_WEEK:
        return days - weekday(days)
    year, month, _ = civil_from_days(days)
    if unit == k.UNIT_YEAR:
        month = 1
    elif unit == k.UNIT_QUARTER:
        month = (month - 1) // 3 * 3 + 1
    return days_from_civil(year, month, 1)


@helper
def _microseconds(count: int, of: int) -> tuple[int, int]:
    """A count of units in microseconds; ``of`` is the microseconds of one."""
    if -(_LARGEST // of) <= count <= _LARGEST // of:
        return count * of, k.VALUE
    return 0, k.TIME_OVERFLOW


@helper
def _of_times(op: int, word: int, x: int, y: int) -> tuple[int, int]:
    """X: the unit of what truncates, Y its microseconds; the digits of ROUND_INTEGER, Y: bits and the way to round."""
    if op == k.HOUR:
        return word // 3_600_000_000 % 24, k.VALUE
    if op == k.MINUTE:
        return word // 60_000_000 % 60, k.VALUE
    if op == k.SECOND:
        return word // _SECOND % 60, k.VALUE
    if op == k.OF_MINUTE:
        return word % (60 * _SECOND), k.VALUE
    if op == k.LAST_DAY:
        year, month, day = civil_from_days(word)
        return word - day + days_of_month(year, month), k.VALUE
    if op == k.TRUNCATE_DATE:
        return _truncated(word, x), k.VALUE
    if op == k.TRUNCATE_TIME:
        if x == k.UNIT_MICROSECONDS:
            found = word // y * y
            return found, (k.VALUE if found <= word else k.TIME_OVERFLOW)
        return _microseconds(_truncated(word // DAY_MICROSECONDS, x), DAY_MICROSECONDS)
    if op == k.DATE_TO_TIMESTAMP:
        return _microseconds(word, DAY_MICROSECONDS)
    if op == k.TIMESTAMP_TO_DATE:
        return word // DAY_MICROSECONDS, k.VALUE
    if op == k.SECONDS_TO_TIMESTAMP:  # TimeUnit.toMicros takes the nearest one that there is
        if word > _LARGEST // _SECOND:
            return _LARGEST, k.VALUE
        if word < -(_LARGEST // _SECOND):
            return -_LARGEST - 1, k.VALUE
        return word * _SECOND, k.VALUE
    if op == k.TIMESTAMP_TO_SECONDS:
        return word // _SECOND, k.VALUE
    if op == k.TIMESTAMP_TO_DOUBLE:
        return word_of(np.float64(word) / 1e6), k.VALUE
    if op == k.DOUBLE_TO_TIMESTAMP:
        value = double_of(word) * 1e6
        if not (np.floor(value) <= _BEYOND and np.ceil(value) >= -_BEYOND):
            return 0, k.CAST_OVERFLOW
        return to_integer(value), k.VALUE
    return _rounded(word, x, y & 255, y >> 8)


@helper
def _rounded(word: int, digits: int, bits: int, how: int) -> tuple[int, int]:
    """An integer rounded to so many digits in front of the point; ``digits`` is positive."""
    if digits >= 19:  # half of 10**19 has 64 bits
        if how == k.FLOOR or how == k.CEIL:
            away = (word < 0 and how == k.FLOOR) or (word > 0 and how == k.CEIL)
            return 0, (k.OVERFLOW if away else k.VALUE)
        if digits > 19:
            return 0, k.VALUE
        return 0, (k.OVERFLOW if word >= 5 * 10**18 or word <= -5 * 10**18 else k.VALUE)
    unit = 1
    for _ in range(digits):
        unit *= 10
    lower = word // unit
    rest = word - lower * unit
    up = rest > 0 and how == k.CEIL
    if how == k.HALF_UP or how == k.HALF_EVEN:
        other = unit - rest
        up = rest > other or (rest == other and (lower & 1 == 1 if how == k.HALF_EVEN else word > 0))
    if up:
        lower += 1
    limit = _LARGEST // unit
    if not -limit <= lower <= limit:
        return 0, k.OVERFLOW
    found = lower * unit
    return found, (k.VALUE if fits(found, bits) else k.OVERFLOW)
