"""The results of a group from its accumulators: exact, rounded once at the end.

Averages of decimals are rounded half away from zero, as in Spark; doubles are the nearest ones, ties to even. Results
are words such that equal results have equal words (layout: `livejoin.kernels.group_layout`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels import group_layout as g
from livejoin.kernels.big_integer import (
    add,
    clear,
    divide,
    divide_by_power,
    magnitude,
    negate,
    square,
    subtract,
    times,
    to_double,
)
from livejoin.kernels.exact_sum import UNIT, class_of, first_of, window_of
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.ordered_index import greatest, least

CANONICAL_NAN = 0x7FF8000000000000
_INFINITY = 0x7FF << 52
_MINUS_INFINITY = -(1 << 52)
_LARGEST_HIGH = 10**38 >> 64  # of decimals of 38 digits
_EXACT = 1 << 53
_WORD_DIGITS = 16  # decimal digits that a word surely holds


@helper
def _give_wide(m: Any, to: int, at: int, words: int) -> None:
    """An integer as a result of two words."""
    high = m[at + 1]
    fits = -_LARGEST_HIGH - 1 <= high <= _LARGEST_HIGH
    for i in range(2, words):
        if m[at + i] != high >> 63:
            fits = False
    m[to] = m[at] if fits else 0
    m[to + 1] = high if fits else g.OVERFLOW


@helper
def _give_average(m: Any, to: int, at: int, words: int, count: int, digits: int) -> None:
    """``sum * 10**digits / count`` as a result of two words."""
    work = g.G_NUMERATOR
    negative = magnitude(m, at, words, work)
    factor = 2
    for _ in range(digits):
        factor *= 10
    times(m, work, words, factor)
    m[g.G_TERM] = count
    add(m, work, words + 1, g.G_TERM, 1)
    divide(m, work, words + 1, 2 * count)
    m[work + words + 1] = 0
    if negative:
        negate(m, work, words + 2)
    _give_wide(m, to, work, words + 2)


@helper
def _quotient(m: Any, at: int, words: int, count: int, digits: int, exponent: int) -> int:
    """The double nearest to ``sum * 2**exponent / count / 10**digits``."""
    if words == 2 and digits == 0 and exponent == 0 and count < _EXACT:
        low = m[at]
        if m[at + 1] == low >> 63 and -_EXACT < low < _EXACT:
            return np.float64(np.float64(low) / np.float64(count)).view(np.int64)  # type: ignore[return-value]
    below = 2 + (digits + _WORD_DIGITS - 1) // _WORD_DIGITS
    work = g.G_NUMERATOR
    clear(m, work, below)
    negative = magnitude(m, at, words, work + below)
    rest = divide(m, work, below + words, count)
    if divide_by_power(m, work, below + words, digits):
        rest = True
    return to_double(m, work, below + words, exponent - 64 * below, rest, negative)


@helper
def _variance(
    m: Any,
    at: int,
    words: int,
    first: int,
    squares: int,
    square_words: int,
    square_first: int,
    count: int,
    sample: int,
    digits: int,
    unit: int,
) -> int:
    """The double nearest to ``(n * sum(x*x) - sum(x)**2) / (n * (n - sample))``.

    Args:
        m: The arena.
        at, words, first: The sum: an integer, and the place of its first word in a fixed-point number.
        squares, square_words, square_first: The sum of squares.
        count: The number of values n.
        sample: 1 for the variance of a sample.
        digits: Decimal digits behind the point of a value.
        unit: Binary digits of a value behind the fixed-point number's word 0.
    """
    left, right, work = g.G_LEFT, g.G_RIGHT, g.G_NUMERATOR
    magnitude(m, at, words, left)
    while words > 0 and m[left + words - 1] == 0:
        words -= 1
    while words > 0 and m[left] == 0:
        left += 1
        first += 1
        words -= 1
    square(m, left, words, right)
    while square_words > 0 and m[squares + square_words - 1] == 0:
        square_words -= 1
    if square_words == 0:
        return 0
    base = square_first if words == 0 else min(2 * first, square_first)
    end = max(2 * (first + words), square_first + square_words) + 1
    below = 3 + (2 * digits + _WORD_DIGITS - 1) // _WORD_DIGITS
    length = below + end - base
    clear(m, work, length)
    start = work + below + square_first - base
    for i in range(square_words):
        m[start + i] = m[squares + i]
    times(m, start, square_words, count)
    if words > 0:
        start = work + below + 2 * first - base
        subtract(m, start, work + length - start, right, 2 * words)
    rest = divide(m, work, length, count)
    if divide(m, work, length, count - sample):
        rest = True
    if divide_by_power(m, work, length, 2 * digits):
        rest = True
    return to_double(m, work, length, 64 * (base - below) - 2 * unit, rest, False)


@inlined
def _special(m: Any, at: int) -> int:
    """The sum of doubles among which some are not finite; 0 if all are."""
    if m[at + 1] > 0 or (m[at + 2] > 0 and m[at + 3] > 0):
        return CANONICAL_NAN
    if m[at + 2] > 0:
        return _INFINITY
    if m[at + 3] > 0:
        return _MINUS_INFINITY
    return 0


@helper
def _double(m: Any, p: Any, c: int, group: int, count: int) -> int:
    """A result from sums of doubles."""
    kind = p[c + g.C_KIND]
    at = group + p[c + g.C_FIRST]
    special = _special(m, at)
    if special != 0:
        return CANONICAL_NAN if kind == g.GIVE_DOUBLE_VARIANCE else special
    if m[at] == 0:
        return 0
    sums, words, first = window_of(m[at]), 1 << class_of(m[at]), first_of(m[at])
    if kind == g.GIVE_DOUBLE_SUM:
        negative = magnitude(m, sums, words, g.G_LEFT)
        return to_double(m, g.G_LEFT, words, 64 * first - UNIT, False, negative)
    if kind == g.GIVE_DOUBLE_QUOTIENT:
        return _quotient(m, sums, words, count, 0, 64 * first - UNIT)
    link = m[group + p[c + g.C_SECOND]]
    squares, square_words = window_of(link), 1 << class_of(link)
    return _variance(m, sums, words, first, squares, square_words, first_of(link), count, p[c + g.C_SAMPLE], 0, UNIT)


@helper
def render(m: Any, p: Any, group: int, to: int) -> None:
    """Write the words of a group's results, of lists their lengths only.

    Args:
        m: The arena.
        p: The plan.
        group: Reference of the group.
        to: Reference of the plan's WORDS words.
    """
    for c in range(p[g.P_RESULTS], p[g.P_RESULTS_END], g.RESULT):
        kind = p[c + g.C_KIND]
        count = m[group + p[c + g.C_COUNT]]
        at = group + p[c + g.C_FIRST]
        if kind == g.GIVE_COUNT:
            m[to] = count
        elif kind == g.GIVE_LIST:
            nulls = m[group + g.R_ROWS] - m[group + p[c + g.C_SECOND]]
            m[to] = count + (min(nulls, 1) if p[c + g.C_DETAIL] == 1 else nulls)
            m[to + 1] = 0
        elif count <= p[c + g.C_SAMPLE]:
            m[to] = 0
            m[to + p[c + g.C_WIDTH] - 1] = g.NULL
        elif kind == g.GIVE_SUM:
            _give_wide(m, to, at, p[c + g.C_FIRST_WORDS])
        elif kind == g.GIVE_AVERAGE:
            _give_average(m, to, at, p[c + g.C_FIRST_WORDS], count, p[c + g.C_DETAIL])
        elif kind == g.GIVE_QUOTIENT:
            m[to] = _quotient(m, at, p[c + g.C_FIRST_WORDS], count, p[c + g.C_DETAIL], 0)
        elif kind == g.GIVE_VARIANCE:
            second = group + p[c + g.C_SECOND]
            words, more = p[c + g.C_FIRST_WORDS], p[c + g.C_SECOND_WORDS]
            m[to] = _variance(m, at, words, 0, second, more, 0, count, p[c + g.C_SAMPLE], p[c + g.C_DETAIL], 0)
        elif kind == g.GIVE_ALL:
            m[to] = 1 if m[at] == count else 0
        elif kind == g.GIVE_ANY:
            m[to] = 1 if m[at] > 0 else 0
        elif kind == g.GIVE_LEAST:
            m[to] = least(m, m[at])
        elif kind == g.GIVE_GREATEST:
            m[to] = greatest(m, m[at])
        else:
            m[to] = _double(m, p, c, group, count)
        to += p[c + g.C_WIDTH]
