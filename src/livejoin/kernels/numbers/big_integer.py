"""Integers of any number of words, the low one first: exact sums and what is computed from them.

A *magnitude* is unsigned, an *integer* is in two's complement; both are named by the index of their first word in an
arena and by their length. Nothing is allocated: callers own the words, results included.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.numbers.wide import high_product
from livejoin.kernels.parameters import Arena

DIGITS = 9  # decimal digits that one division takes off

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_SIGN = -(1 << 63)
_INFINITY = 0x7FF << 52
_FRACTION = 52
_BIAS = 1023
_MANY = 1 << 32


@inlined
def below(a: int, b: int) -> bool:
    """Whether one unsigned word is less than another."""
    return bool(np.uint64(a) < np.uint64(b))


@helper
def clear(m: Arena, at: int, length: int) -> None:
    """Set to zero."""
    for i in range(length):
        m[at + i] = 0


@helper
def negate(m: Arena, at: int, length: int) -> None:
    """Change the sign of an integer."""
    carry = 1
    for i in range(length):
        m[at + i] = ~m[at + i] + carry
        if m[at + i] != 0:
            carry = 0


@helper
def add(m: Arena, at: int, length: int, term: int, words: int) -> None:
    """Add a magnitude to an integer, modulo its length."""
    carry = 0
    for i in range(length):
        if i >= words and carry == 0:
            return
        old = m[at + i]
        total = old + carry
        if i < words:
            total += m[term + i]
        carry = 1 if below(total, old) or (carry == 1 and total == old) else 0
        m[at + i] = total


@helper
def subtract(m: Arena, at: int, length: int, term: int, words: int) -> None:
    """Subtract a magnitude from an integer, modulo its length."""
    borrow = 0
    for i in range(length):
        if i >= words and borrow == 0:
            return
        old = m[at + i]
        total = old - borrow
        if i < words:
            total -= m[term + i]
        borrow = 1 if below(old, total) or (borrow == 1 and total == old) else 0
        m[at + i] = total


@helper
def times(m: Arena, at: int, length: int, factor: int) -> None:
    """Multiply a magnitude by an unsigned word; it becomes one word longer."""
    carry = 0
    for i in range(length):
        word = m[at + i]
        low = word * factor + carry
        high = high_product(word, factor) + (1 if below(low, carry) else 0)
        m[at + i] = low
        carry = high
    m[at + length] = carry


@helper
def multiply(m: Arena, at: int, length: int, other: int, words: int, to: int) -> None:
    """Write the product of two magnitudes, as long as both, elsewhere."""
    clear(m, to, length + words)
    for i in range(length):
        carry = 0
        for j in range(words):
            low = m[at + i] * m[other + j]
            high = high_product(m[at + i], m[other + j])
            low += carry
            if below(low, carry):
                high += 1
            total = m[to + i + j] + low
            if below(total, low):
                high += 1
            m[to + i + j] = total
            carry = high
        m[to + i + words] = carry


@helper
def square(m: Arena, at: int, length: int, to: int) -> None:
    """Write the square of a magnitude, twice as long, elsewhere."""
    multiply(m, at, length, at, length, to)


@helper
def divide(m: Arena, at: int, length: int, divisor: int) -> bool:
    """Divide a magnitude by a positive word, rounding down; whether there was a remainder.

    Cost: two divisions a word, or 64 steps a word for divisors of more than 32 bits.
    """
    rest = np.uint64(0)
    by = np.uint64(divisor)
    for k in range(length):
        i = at + length - 1 - k
        word = np.uint64(m[i])
        if divisor < _MANY:
            part = (rest << _HALF) | (word >> _HALF)
            upper = part // by
            part = ((part - upper * by) << _HALF) | (word & _LOW)
            lower = part // by
            rest = part - lower * by
            m[i] = np.int64((upper << _HALF) | lower)
        else:
            quotient = np.uint64(0)
            for b in range(64):
                rest = (rest << _ONE) | ((word >> np.uint64(63 - b)) & _ONE)
                quotient <<= _ONE
                if rest >= by:
                    rest -= by
                    quotient |= _ONE
            m[i] = np.int64(quotient)
    return bool(rest != 0)


@helper
def divide_by_power(m: Arena, at: int, length: int, digits: int) -> bool:
    """Divide a magnitude by a power of ten, rounding down; whether there was a remainder."""
    inexact = False
    while digits > 0:
        step = min(digits, DIGITS)
        divisor = 1
        for _ in range(step):
            divisor *= 10
        if divide(m, at, length, divisor):
            inexact = True
        digits -= step
    return inexact


@helper
def magnitude(m: Arena, at: int, length: int, to: int) -> bool:
    """Write the magnitude of an integer elsewhere; whether it is negative."""
    for i in range(length):
        m[to + i] = m[at + i]
    negative = length > 0 and m[at + length - 1] < 0
    if negative:
        negate(m, to, length)
    return negative


@inlined
def _bits_from(m: Arena, at: int, length: int, position: int) -> Any:
    """The 64 bits of a magnitude from a position on."""
    i, shift = position >> 6, np.uint64(position & 63)
    bits = np.uint64(m[at + i]) >> shift
    if position & 63 != 0 and i + 1 < length:
        bits |= np.uint64(m[at + i + 1]) << (np.uint64(64) - shift)
    return bits


@helper
def to_double(m: Arena, at: int, length: int, exponent: int, inexact: bool, negative: bool) -> int:
    """The bits of the double nearest to ``magnitude * 2**exponent``, ties to even; zero has no sign.

    Args:
        m: The arena.
        at, length: The magnitude.
        exponent: The power of two.
        inexact: Whether the true value is greater by less than one unit of the magnitude, which then has 55 bits or
            more.
        negative: Whether the value is negative.
    """
    while length > 0 and m[at + length - 1] == 0:
        length -= 1
    if length == 0:
        return 0
    top = np.uint64(m[at + length - 1])
    bits = 64 * (length - 1)
    while top != 0:
        top >>= _ONE
        bits += 1
    leading = bits - 1 + exponent  # exponent of the leading bit
    sign = _SIGN if negative else 0
    if leading > _BIAS:
        return _INFINITY | sign
    kept = _FRACTION + 1
    if leading < 1 - _BIAS:
        kept += leading - (1 - _BIAS)  # subnormal
    if kept < 0:
        return 0
    dropped = bits - kept
    if dropped <= 0:
        fraction = np.int64(np.uint64(m[at]) << np.uint64(-dropped))
    else:
        fraction = np.int64(0)
        if kept > 0:
            fraction = np.int64(_bits_from(m, at, length, dropped) & ((_ONE << np.uint64(kept)) - _ONE))
        half = (m[at + ((dropped - 1) >> 6)] >> ((dropped - 1) & 63)) & 1
        if half == 1:
            rest = inexact or fraction & 1 == 1
            whole = (dropped - 1) >> 6
            for i in range(whole):
                if m[at + i] != 0:
                    rest = True
            if (dropped - 1) & 63 != 0 and m[at + whole] & ((1 << ((dropped - 1) & 63)) - 1) != 0:
                rest = True
            if rest:
                fraction += 1
    if fraction == 0:
        return 0
    if kept == _FRACTION + 1:
        fraction += (leading + _BIAS - 1) << _FRACTION  # a carry into the exponent is right, up to infinity
    return fraction | sign  # type: ignore[return-value]
