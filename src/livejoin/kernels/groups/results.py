"""The results of a group from its accumulators: exact, rounded once at the end.

Averages of decimals are rounded half away from zero, as in Spark; doubles are the nearest ones, ties to even. Results
are words such that equal results have equal words (layout: `livejoin.kernels.groups.layout`).
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.exact_sum import class_of, first_of, window_of
from livejoin.kernels.groups.moments import moment
from livejoin.kernels.groups.ordered_index import (
    greatest,
    last_second_of_least,
    least,
    second_of_greatest,
    second_of_least,
    value_at,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.numbers.big_integer import (
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
from livejoin.kernels.parameters import Arena, Plan
from livejoin.words import CANONICAL_NAN

_INFINITY = 0x7FF << 52
_MINUS_INFINITY = -(1 << 52)
_LARGEST_HIGH = 10**38 >> 64  # of decimals of 38 digits
_EXACT = 1 << 53
_WORD_DIGITS = 16  # decimal digits that a word surely holds
_SPARE = 8  # words: 3 for two counts, 5 for twice 38 digits


@helper
def _give_wide(m: Arena, to: int, at: int, words: int) -> None:
    """An integer as a result of two words."""
    high = m[at + 1]
    fits = -_LARGEST_HIGH - 1 <= high <= _LARGEST_HIGH
    for i in range(2, words):
        if m[at + i] != high >> 63:
            fits = False
    m[to] = m[at] if fits else 0
    m[to + 1] = high if fits else g.OVERFLOW


@helper
def _give_average(m: Arena, to: int, at: int, words: int, count: int, digits: int) -> None:
    """``sum * 10**digits / count`` as a result of two words."""
    work = g.H_NUMERATOR
    negative = magnitude(m, at, words, work)
    factor = 2
    for _ in range(digits):
        factor *= 10
    times(m, work, words, factor)
    m[g.H_TERM] = count
    add(m, work, words + 1, g.H_TERM, 1)
    divide(m, work, words + 1, 2 * count)
    m[work + words + 1] = 0
    if negative:
        negate(m, work, words + 2)
    _give_wide(m, to, work, words + 2)


@helper
def _is_plain(m: Arena, p: Plan, c: int, at: int, count: int) -> bool:
    """Whether an average is that of a sum and a count that are doubles without rounding."""
    if p[c + g.C_KIND] != g.GIVE_QUOTIENT or p[c + g.C_FIRST_WORDS] != 2 or p[c + g.C_DETAIL] != 0:
        return False
    plain: bool = m[at + 1] == m[at] >> 63 and -_EXACT < m[at] < _EXACT and count < _EXACT
    return plain


@inlined
def _special(m: Arena, at: int) -> int:
    """The sum of doubles among which some are not finite; 0 if all are."""
    if m[at + 1] > 0 or (m[at + 2] > 0 and m[at + 3] > 0):
        return CANONICAL_NAN
    if m[at + 2] > 0:
        return _INFINITY
    if m[at + 3] > 0:
        return _MINUS_INFINITY
    return 0


@helper
def _deviations(m: Arena, sums: int, words: int, first: int, squares: int, more: int, second: int, count: int) -> int:
    """Write ``n * sum(x*x) - sum(x)**2`` as a magnitude.

    Args:
        m: The arena.
        sums, words, first: Magnitude of the sum, and the place of its first word in a fixed-point number.
        squares, more, second: The sum of squares, likewise.
        count: The number of values n.

    Returns:
        The place of its first word; it is written from ``H_NUMERATOR`` on, behind `_SPARE` words of space, and ends at
        ``GROUPS_HEADER``.
    """
    while words > 0 and m[sums + words - 1] == 0:
        words -= 1
    while words > 0 and m[sums] == 0:
        sums += 1
        first += 1
        words -= 1
    while more > 0 and m[squares + more - 1] == 0:
        more -= 1
    base = min(2 * first, second) if words > 0 else second
    at = g.H_NUMERATOR + _SPARE
    clear(m, at, g.GROUPS_HEADER - at)
    start = at + second - base
    for i in range(more):
        m[start + i] = m[squares + i]
    times(m, start, more, count)
    square(m, sums, words, g.H_RIGHT)
    start = at + 2 * first - base
    subtract(m, start, g.GROUPS_HEADER - start, g.H_RIGHT, 2 * words)
    return base


@helper
def _double(m: Arena, p: Plan, c: int, group: int, count: int) -> int:
    """The sum, average or variance as the nearest double."""
    kind, digits, unit = p[c + g.C_KIND], p[c + g.C_DETAIL], p[c + g.C_UNIT]
    at = group + p[c + g.C_FIRST]
    if _is_plain(m, p, c, at, count):
        return np.float64(np.float64(m[at]) / np.float64(count)).view(np.int64)  # type: ignore[return-value]
    sums, words, first = at, p[c + g.C_FIRST_WORDS], 0
    squares, more, second = group + p[c + g.C_SECOND], p[c + g.C_SECOND_WORDS], 0
    if unit > 0:
        special = _special(m, at)
        if special != 0:
            return CANONICAL_NAN if kind == g.GIVE_VARIANCE else special
        if m[at] == 0:
            return 0
        sums, words, first = window_of(m[at]), 1 << class_of(m[at]), first_of(m[at])
        if kind == g.GIVE_VARIANCE:
            link = m[squares]
            squares, more, second = window_of(link), 1 << class_of(link), first_of(link)
    negative = magnitude(m, sums, words, g.H_LEFT)
    # The spare words below take in what division leaves of the magnitude, so that 65 bits or more are there to round.
    work = g.H_NUMERATOR
    if kind == g.GIVE_VARIANCE:
        first = _deviations(m, g.H_LEFT, words, first, squares, more, second, count)
        words = g.GROUPS_HEADER - work - _SPARE
        digits *= 2
        unit *= 2
        negative = False
    else:
        for i in range(words):
            m[work + _SPARE + i] = m[g.H_LEFT + i]
    while words > 1 and m[work + _SPARE + words - 1] == 0:
        words -= 1
    below = 3 + (digits + _WORD_DIGITS - 1) // _WORD_DIGITS
    work += _SPARE - below
    clear(m, work, below)
    rest = False
    if kind != g.GIVE_DOUBLE:
        rest = divide(m, work, below + words, count)
    if kind == g.GIVE_VARIANCE and divide(m, work, below + words, count - p[c + g.C_SAMPLE]):
        rest = True
    if divide_by_power(m, work, below + words, digits):
        rest = True
    return to_double(m, work, below + words, 64 * (first - below) - unit, rest, negative)


@helper
def _value_at(m: Arena, p: Plan, c: int, link: int, count: int, rank: int) -> int:
    """The value at a rank in the order that a percentile asks for."""
    return value_at(m, link, count - 1 - rank if p[c + g.C_DESCENDING] == 1 else rank)


@helper
def _percentile(m: Arena, p: Plan, c: int, link: int, count: int) -> int:
    """One of the values, or a double between two of them, as Spark has PERCENTILE_DISC and PERCENTILE."""
    fraction = np.int64(p[c + g.C_FRACTION]).view(np.float64)
    if p[c + g.C_KIND] == g.GIVE_VALUE_AT:
        return _value_at(m, p, c, link, count, max(int(np.ceil(count * fraction)) - 1, 0))
    position = (count - 1) * fraction
    lower, upper = np.floor(position), np.ceil(position)
    low = _value_at(m, p, c, link, count, int(lower))
    high = _value_at(m, p, c, link, count, int(upper))
    if low == high:
        return low
    left, right = np.int64(low).view(np.float64), np.int64(high).view(np.float64)
    between = (upper - position) * left + (position - lower) * right + 0.0
    if np.isnan(between):
        return CANONICAL_NAN
    return np.float64(between).view(np.int64)  # type: ignore[return-value]


@helper
def _bits(m: Arena, p: Plan, c: int, at: int, count: int) -> int:
    """The bits that all, some or an odd number of integers have."""
    bits, which = p[c + g.C_FIRST_WORDS], p[c + g.C_DETAIL]
    found = 0
    for i in range(bits):
        have = m[at + i]
        is_set = have == count if which == g.BITS_AND else (have > 0 if which == g.BITS_OR else have & 1 == 1)
        if is_set:
            found |= -1 << i if i == bits - 1 else 1 << i
    return found


@helper
def render(m: Arena, p: Plan, group: int, to: int) -> None:
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
            if p[c + g.C_DETAIL] == g.SECONDS:
                nulls = 0
            m[to] = count + (min(nulls, 1) if p[c + g.C_DETAIL] == g.DISTINCT_VALUES else nulls)
            m[to + 1] = 0
        elif count <= p[c + g.C_SAMPLE]:
            m[to] = 0
            m[to + p[c + g.C_WIDTH] - 1] = g.NULL
        elif kind == g.GIVE_SUM:
            _give_wide(m, to, at, p[c + g.C_FIRST_WORDS])
        elif kind == g.GIVE_AVERAGE:
            _give_average(m, to, at, p[c + g.C_FIRST_WORDS], count, p[c + g.C_DETAIL])
        elif kind == g.GIVE_ALL:
            m[to] = 1 if m[at] == count else 0
        elif kind == g.GIVE_ANY:
            m[to] = 1 if m[at] > 0 else 0
        elif kind == g.GIVE_LEAST:
            m[to] = least(m, m[at])
        elif kind == g.GIVE_GREATEST:
            m[to] = greatest(m, m[at])
        elif kind == g.GIVE_BY_LEAST:
            m[to] = second_of_least(m, m[at])
        elif kind == g.GIVE_BY_GREATEST:
            m[to] = second_of_greatest(m, m[at])
        elif kind == g.GIVE_LAST_BY_LEAST:
            m[to] = last_second_of_least(m, m[at])
        elif kind == g.GIVE_VALUE_AT or kind == g.GIVE_BETWEEN:
            m[to] = _percentile(m, p, c, m[at], count)
        elif kind == g.GIVE_BITS:
            m[to] = _bits(m, p, c, at, count)
        elif kind == g.GIVE_MOMENT:
            special = _special(m, at)
            if special == 0 and p[c + g.C_DETAIL] == 2:
                special = _special(m, group + p[c + g.C_THIRD])
            m[to] = CANONICAL_NAN if special != 0 else moment(m, p, c, group, count)
        else:
            m[to] = _double(m, p, c, group, count)
        to += p[c + g.C_WIDTH]
