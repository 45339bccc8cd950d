"""Magnitudes of several *digits* of base 2**31, the low digit first, one a word in a work space.

A product of two digits and a carry fit a signed word. All magnitudes have `WIDTH` digits, of which the high ones are 0.
Long division is Knuth's algorithm D (The Art of Computer Programming 2, 4.3.1).
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper
from livejoin.kernels.parameters import Words

BITS = 31
MASK = (1 << BITS) - 1
WIDTH = 16
"""Digits of a magnitude: 114 decimal digits, the dividend of a quotient of decimals, take 13."""

_BASE = 1 << BITS
DECIMAL_DIGITS = 9  # of a factor or divisor of one digit


def _powers() -> tuple[np.ndarray, np.ndarray]:
    """The low and high words of the powers of ten up to 10**38."""
    powers = [10**n for n in range(39)]
    low = np.array([power % (1 << 64) for power in powers], np.uint64).view(np.int64)
    return low, np.array([power >> 64 for power in powers], np.int64)


POWERS_LOW, POWERS_HIGH = _powers()
"""The low and the high words of the powers of ten up to 10**38."""


@helper
def put(w: Words, at: int, low: int, high: int) -> None:
    """Write the magnitude of a number as digits."""
    if high < 0:
        high = ~high + (1 if low == 0 else 0)
        low = -low
    w[at] = low & MASK
    w[at + 1] = (low >> 31) & MASK
    w[at + 2] = ((low >> 62) & 3) | ((high & ((1 << 29) - 1)) << 2)
    w[at + 3] = (high >> 29) & MASK
    w[at + 4] = (high >> 60) & 15
    for i in range(5, WIDTH):
        w[at + i] = 0


@helper
def length_of(w: Words, at: int) -> int:
    """Digits up to the highest one that is not 0."""
    length = WIDTH
    while length > 0 and w[at + length - 1] == 0:
        length -= 1
    return length


@helper
def multiply_by_digit(w: Words, at: int, factor: int) -> None:
    """Multiply by a digit."""
    carry = np.int64(0)
    for i in range(WIDTH):
        product = w[at + i] * factor + carry
        w[at + i] = product & MASK
        carry = product >> BITS


@helper
def divide_by_digit(w: Words, at: int, divisor: int) -> int:
    """Divide by a digit; the remainder."""
    rest = np.int64(0)
    length = length_of(w, at)
    for j in range(length):
        i = at + length - 1 - j
        part = (rest << BITS) | w[i]
        quotient = part // divisor
        w[i] = quotient
        rest = part - quotient * divisor
    return rest  # type: ignore[return-value]


@helper
def scale_up(w: Words, at: int, digits: int) -> None:
    while digits > 0:
        step = min(digits, DECIMAL_DIGITS)
        multiply_by_digit(w, at, POWERS_LOW[step])
        digits -= step


@helper
def add_one(w: Words, at: int) -> None:
    for i in range(WIDTH):
        w[at + i] += 1
        if w[at + i] <= MASK:
            return
        w[at + i] = 0


@helper
def multiply(w: Words, a: int, b: int, to: int) -> None:
    """Write the product of two magnitudes."""
    n, t = length_of(w, a), length_of(w, b)
    for i in range(WIDTH):
        w[to + i] = 0
    for i in range(n):
        carry = np.int64(0)
        for j in range(t):
            product = w[a + i] * w[b + j] + w[to + i + j] + carry
            w[to + i + j] = product & MASK
            carry = product >> BITS
        w[to + i + t] = carry


@helper
def divide(w: Words, u: int, v: int, q: int) -> int:
    """Divide one magnitude by another one, which is not 0; what is left lies at ``u``.

    Divisor and remainder come out multiplied by a digit, which is returned.

    Knuth's algorithm D: both are multiplied so that the divisor's highest digit is at least half the base, each digit
    of the quotient is guessed from two digits by one, and the guess is at most one too large after its correction.
    """
    for i in range(WIDTH):
        w[q + i] = 0
    n, t = length_of(w, u), length_of(w, v)
    if n < t:
        return 1
    if t == 1:
        for i in range(n):
            w[q + i] = w[u + i]
        rest = divide_by_digit(w, q, w[v])
        for i in range(n):
            w[u + i] = 0
        w[u] = rest
        return 1
    factor = _BASE // (w[v + t - 1] + 1)
    multiply_by_digit(w, u, factor)
    multiply_by_digit(w, v, factor)
    top, second = w[v + t - 1], w[v + t - 2]
    for s in range(n - t + 1):
        j = n - t - s
        high = (w[u + j + t] << BITS) | w[u + j + t - 1]
        guess = high // top
        rest = high - guess * top
        while guess >= _BASE or guess * second > ((rest << BITS) | w[u + j + t - 2]):
            guess -= 1
            rest += top
            if rest >= _BASE:
                break
        carry = borrow = np.int64(0)
        for i in range(t):
            product = guess * w[v + i] + carry
            carry = product >> BITS
            left = w[u + j + i] - (product & MASK) - borrow
            w[u + j + i] = left & MASK
            borrow = np.int64(1 if left < 0 else 0)
        left = w[u + j + t] - carry - borrow
        w[u + j + t] = left & MASK
        if left < 0:
            guess -= 1
            carry = np.int64(0)
            for i in range(t):
                total = w[u + j + i] + w[v + i] + carry
                w[u + j + i] = total & MASK
                carry = total >> BITS
            w[u + j + t] = (w[u + j + t] + carry) & MASK
        w[q + j] = guess
    return factor  # type: ignore[no-any-return]


@helper
def compare(w: Words, a: int, b: int) -> int:
    """-1, 0 or 1 as one magnitude is less than another, equal or greater."""
    for j in range(WIDTH):
        i = WIDTH - 1 - j
        if w[a + i] != w[b + i]:
            return -1 if w[a + i] < w[b + i] else 1
    return 0


@helper
def add_or_subtract(w: Words, a: int, b: int, same_sign: bool) -> bool:
    """Add two magnitudes, or subtract the less from the greater, into the first; whether the second was greater."""
    carry = np.int64(0)
    if same_sign:
        for i in range(WIDTH):
            total = w[a + i] + w[b + i] + carry
            w[a + i] = total & MASK
            carry = total >> BITS
        return False
    turned: bool = compare(w, a, b) < 0
    for i in range(WIDTH):
        left = (w[b + i] - w[a + i] if turned else w[a + i] - w[b + i]) + carry
        w[a + i] = left & MASK
        carry = left >> BITS
    return turned
