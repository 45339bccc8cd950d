"""Signed integers of one and two words, in two's complement, whose arithmetic says when a result does not fit.

A number of two words lies with the low one first. Law: what adds, subtracts or multiplies returns 0 if the result is
the true one, and -1 if it is that modulo 2**64 or 2**128 only.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.parameters import Arena

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_SHORT = 1 << 31
_LEAST = -(1 << 63)


@inlined
def high_product(a: int, b: int) -> int:
    """The high word of the product of two unsigned words."""
    x, y = np.uint64(a), np.uint64(b)
    x0, x1, y0, y1 = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    middle = x1 * y0 + ((x0 * y0) >> _HALF)
    other = x0 * y1 + (middle & _LOW)
    return np.int64(x1 * y1 + (middle >> _HALF) + (other >> _HALF))  # type: ignore[return-value]


@inlined
def signed_high_product(a: int, b: int) -> int:
    """The high word of the product of two signed words, which two words always hold."""
    return high_product(a, b) - ((a >> 63) & b) - ((b >> 63) & a)


@inlined
def _are_short(a: int, b: int) -> bool:
    """Whether two signed words have 32 bits each, so that one word holds their product."""
    return ((a + _SHORT) | (b + _SHORT)) >> 32 == 0


@helper
def _long_product_wraps(a: int, b: int) -> int:
    """As `product_wraps`, of any words."""
    return 0 if signed_high_product(a, b) == (a * b) >> 63 else -1


@inlined
def product_wraps(a: int, b: int) -> int:
    """-1 if the product of two signed words does not fit one, else 0."""
    return 0 if _are_short(a, b) else _long_product_wraps(a, b)


@inlined
def sum_wraps(a: int, b: int, total: int) -> int:
    """-1 if ``total``, the sum of two signed words as the processor adds, is not their sum, else 0."""
    return ((a ^ total) & (b ^ total)) >> 63


@helper
def _wide_product_wraps(a: int, b: int, low: int, high: int) -> int:
    """-1 if the product of two integers of two words, ``(a, b)`` and ``(low, high)``, does not fit two, else 0.

    Their magnitudes are multiplied: one of them has one word, or the product has more than three.
    """
    negative = (b ^ high) < 0
    if b < 0:
        b = -b - (1 if a != 0 else 0)
        a = -a
    if high < 0:
        high = -high - (1 if low != 0 else 0)
        low = -low
    if b != 0 and high != 0:
        return -1
    upper, lower = (b, low) if b != 0 else (high, a)
    if high_product(upper, lower) != 0:
        return -1
    middle = upper * lower
    total = middle + high_product(a, low)
    if np.uint64(total) < np.uint64(middle):
        return -1
    if total < 0 and not (negative and total == _LEAST and a * low == 0):
        return -1
    return 0


@helper
def _multiply_long(m: Arena, at: int, low: int, high: int) -> int:
    """As `multiply_wide`, of any numbers."""
    a, b = m[at], m[at + 1]
    m[at] = a * low
    if b == a >> 63 and high == low >> 63:
        m[at + 1] = signed_high_product(a, low)
        return 0
    m[at + 1] = high_product(a, low) + a * high + b * low
    wraps: int = _wide_product_wraps(a, b, low, high)
    return wraps


@inlined
def multiply_wide(m: Arena, at: int, low: int, high: int) -> int:
    """Multiply the two-word number at ``at`` by a two-word number; -1 if it does not fit."""
    a = m[at]
    if _are_short(a, low) and m[at + 1] == a >> 63 and high == low >> 63:
        m[at] = a * low
        m[at + 1] = (a * low) >> 63
        return 0
    wraps: int = _multiply_long(m, at, low, high)
    return wraps


@inlined
def add_wide(m: Arena, at: int, low: int, high: int) -> int:
    """Add a two-word number to the component at ``at``; -1 if it does not fit."""
    total = m[at] + low
    carry = 1 if np.uint64(total) < np.uint64(low) else 0
    before = m[at + 1]
    m[at] = total
    m[at + 1] = before + high + carry
    return sum_wraps(before, high, m[at + 1])


@inlined
def subtract_wide(m: Arena, at: int, low: int, high: int) -> int:
    """Subtract a two-word number from the component at ``at``; -1 if it does not fit."""
    borrow = 1 if np.uint64(m[at]) < np.uint64(low) else 0
    before = m[at + 1]
    m[at] -= low
    m[at + 1] = before - high - borrow
    return sum_wraps(before, ~high, m[at + 1])


@inlined
def add_word(m: Arena, at: int, word: int) -> int:
    """Add a word to the one-word number at ``at``; -1 if it does not fit."""
    before = m[at]
    m[at] = before + word
    return sum_wraps(before, word, m[at])


@inlined
def subtract_word(m: Arena, at: int, word: int) -> int:
    """Subtract a word from the one-word number at ``at``; -1 if it does not fit."""
    before = m[at]
    m[at] = before - word
    return sum_wraps(before, ~word, m[at])


@inlined
def multiply_word(m: Arena, at: int, word: int) -> int:
    """Multiply the one-word number at ``at`` by a word; -1 if it does not fit."""
    before = m[at]
    m[at] = before * word
    return product_wraps(before, word)
