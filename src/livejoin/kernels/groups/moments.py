"""Covariances, third and fourth central moments of doubles from exact sums of products, rounded once at the end.

With ``S_k`` the sum of the k-th powers of n values, and ``S_xy`` that of the products of two arguments,

    n**2 covariance = n S_xy - S_x S_y
    n**3 m_3 = n**2 S_3 - 3 n S_1 S_2 + 2 S_1**3
    n**4 m_4 = n**3 S_4 - 4 n**2 S_1 S_3 + 6 n S_1**2 S_2 - 3 S_1**4.

All terms of a line are whole numbers of the same unit, so they are added without rounding, however far they cancel.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.exact_sum import UNIT, class_of, first_of, window_of
from livejoin.kernels.jit import helper
from livejoin.kernels.numbers.big_integer import (
    add,
    clear,
    divide,
    magnitude,
    multiply,
    subtract,
    times,
    to_double,
)
from livejoin.kernels.parameters import Arena, Plan

_SPARE = 8  # words below a moment, so that enough bits are there to round after division by n four times
_LENGTH = 192  # words of a moment


@helper
def _load(m: Arena, link: int, to: int) -> tuple[int, int, bool]:
    """Write the magnitude of a sum; the number of its words, its place in the fixed-point number, and its sign."""
    if link == 0:
        return 0, 0, False
    words, first = 1 << class_of(link), first_of(link)
    negative = magnitude(m, window_of(link), words, to)
    while words > 0 and m[to + words - 1] == 0:
        words -= 1
    zeros = 0
    while zeros < words and m[to + zeros] == 0:
        zeros += 1
    for i in range(words - zeros):
        m[to + i] = m[to + zeros + i]
    return words - zeros, first + zeros, negative


@helper
def _term(m: Arena, work: int, at: int, words: int, place: int, factor: int, count: int, power: int) -> None:
    """Add ``factor * count**power`` times a magnitude at a place of the moment; the magnitude is changed."""
    times(m, at, words, abs(factor))
    length = words + 1
    for _ in range(power):
        times(m, at, length, count)
        length += 1
    to = work + g.W_MOMENT + _SPARE + place
    if factor < 0:
        subtract(m, to, _LENGTH - place, at, length)
    else:
        add(m, to, _LENGTH - place, at, length)


@helper
def _covariance(m: Arena, p: Plan, c: int, group: int, count: int, work: int) -> int:
    """Write ``n S_xy - S_x S_y``; the place of its first word."""
    x, y, both = work + g.W_SUMS[0], work + g.W_SUMS[1], work + g.W_SUMS[2]
    of_x, first_x, minus_x = _load(m, m[group + p[c + g.C_FIRST]], x)
    of_y, first_y, minus_y = _load(m, m[group + p[c + g.C_THIRD]], y)
    of_both, first, minus = _load(m, m[group + p[c + g.C_SECOND]], both)
    base = first if of_both > 0 else first_x + first_y
    if of_x > 0 and of_y > 0:
        base = min(base, first_x + first_y)
        multiply(m, x, of_x, y, of_y, work + g.W_PRODUCT)
        _term(m, work, work + g.W_PRODUCT, of_x + of_y, first_x + first_y - base, -1 if minus_x == minus_y else 1, 0, 0)
    _term(m, work, both, of_both, first - base if of_both > 0 else 0, -1 if minus else 1, count, 1)
    return base


@helper
def _central(m: Arena, p: Plan, c: int, group: int, count: int, work: int, degree: int) -> int:
    """Write ``n**degree`` times the third or the fourth central moment; the place of its first word."""
    one, two, three, four = (
        work + g.W_SUMS[0],
        work + g.W_SUMS[1],
        work + g.W_SUMS[2],
        work + g.W_SUMS[3],
    )
    product, other = work + g.W_PRODUCT, work + g.W_OTHER
    n1, f1, minus_1 = _load(m, m[group + p[c + g.C_FIRST]], one)
    n2, f2, _ = _load(m, m[group + p[c + g.C_SECOND]], two)
    n3, f3, minus_3 = _load(m, m[group + p[c + g.C_THIRD]], three)
    n4, f4 = 0, 0
    if degree == 4:
        n4, f4, _ = _load(m, m[group + p[c + g.C_FOURTH]], four)
    if n2 == 0:
        return 0
    base = f4 if degree == 4 else f2 + f1
    if degree == 3 and n3 > 0:
        base = min(base, f3) if n1 > 0 else f3
    if n1 > 0:
        base = min(base, degree * f1)
        base = min(base, f1 + f2 if degree == 3 else 2 * f1 + f2)
        if degree == 4 and n3 > 0:
            base = min(base, f1 + f3)
    if n1 > 0:
        multiply(m, one, n1, one, n1, product)
        if degree == 3:
            multiply(m, product, 2 * n1, one, n1, other)
            _term(m, work, other, 3 * n1, 3 * f1 - base, -2 if minus_1 else 2, count, 0)
            multiply(m, one, n1, two, n2, other)
            _term(m, work, other, n1 + n2, f1 + f2 - base, 3 if minus_1 else -3, count, 1)
        else:
            multiply(m, product, 2 * n1, product, 2 * n1, other)
            _term(m, work, other, 4 * n1, 4 * f1 - base, -3, count, 0)
            multiply(m, product, 2 * n1, two, n2, other)
            _term(m, work, other, 2 * n1 + n2, 2 * f1 + f2 - base, 6, count, 1)
            if n3 > 0:
                multiply(m, one, n1, three, n3, other)
                _term(m, work, other, n1 + n3, f1 + f3 - base, -4 if minus_1 == minus_3 else 4, count, 2)
    if degree == 3 and n3 > 0:
        _term(m, work, three, n3, f3 - base, -1 if minus_3 else 1, count, 2)
    if degree == 4:
        _term(m, work, four, n4, f4 - base, 1, count, 3)
    return base


@helper
def moment(m: Arena, p: Plan, c: int, group: int, count: int) -> int:
    """The bits of a covariance or of a central moment; all arguments are finite, and there are more than C_SAMPLE.

    Cost: the words of the sums, squared; four of each where the values are of one size.
    """
    work, degree = p[g.P_WORK], p[c + g.C_DETAIL]
    at = work + g.W_MOMENT
    clear(m, at, _SPARE + _LENGTH)
    is_covariance = degree == 2
    base = _covariance(m, p, c, group, count, work) if is_covariance else _central(m, p, c, group, count, work, degree)
    length = _SPARE + _LENGTH
    negative = m[at + length - 1] < 0
    if negative:
        magnitude(m, at, length, at)
    while length > _SPARE and m[at + length - 1] == 0:
        length -= 1
    rest = False
    for i in range(degree):
        divisor = count - p[c + g.C_SAMPLE] if i == 0 else count
        if divide(m, at, length, divisor):
            rest = True
    return to_double(m, at, length, 64 * (base - _SPARE) - degree * UNIT, rest, negative)
