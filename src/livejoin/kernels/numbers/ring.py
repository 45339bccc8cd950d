"""Annotations: vectors over rings of integers, in two's complement of 64 or 128 bits.

An annotation has a component for each aggregate that is a sum of products (CROWN, section 7.3): the first one counts,
every other one sums. A component takes one word, or two with the low one first; addition and multiplication are exact
modulo 2**64 or 2**128. Vectors lie anywhere in an arena or a cursor and are named by the index of their first word.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.layout import P_COMPONENTS, P_WIDTHS, P_WORDS
from livejoin.kernels.parameters import Arena, Plan, Words

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@inlined
def high_product(a: int, b: int) -> int:
    """The high word of the product of two unsigned words."""
    x, y = np.uint64(a), np.uint64(b)
    x0, x1, y0, y1 = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    middle = x1 * y0 + ((x0 * y0) >> _HALF)
    other = x0 * y1 + (middle & _LOW)
    return np.int64(x1 * y1 + (middle >> _HALF) + (other >> _HALF))  # type: ignore[return-value]


@inlined
def multiply_wide(m: Arena, at: int, low: int, high: int) -> None:
    """Multiply the two-word component at ``at`` by a two-word number."""
    a = m[at]
    m[at + 1] = high_product(a, low) + a * high + m[at + 1] * low
    m[at] = a * low


@inlined
def add_wide(m: Arena, at: int, low: int, high: int) -> None:
    """Add a two-word number to the component at ``at``."""
    total = m[at] + low
    carry = 1 if np.uint64(total) < np.uint64(low) else 0
    m[at] = total
    m[at + 1] += high + carry


@inlined
def copy(m: Arena, at: int, source: Words, origin: int, words: int) -> None:
    """Copy a vector."""
    for i in range(words):
        m[at + i] = source[origin + i]


@helper
def set_one(m: Arena, p: Plan, at: int) -> None:
    """Set a vector to one in every component."""
    for i in range(p[P_COMPONENTS]):
        m[at] = 1
        if p[p[P_WIDTHS] + i] == 2:
            m[at + 1] = 0
        at += p[p[P_WIDTHS] + i]


@helper
def add(m: Arena, p: Plan, at: int, source: Words, origin: int) -> None:
    """Add a vector to another one."""
    if p[P_WORDS] == 1:
        m[at] += source[origin]
        return
    for i in range(p[P_COMPONENTS]):
        width = p[p[P_WIDTHS] + i]
        if width == 1:
            m[at] += source[origin]
        else:
            add_wide(m, at, source[origin], source[origin + 1])
        at += width
        origin += width


@helper
def multiply(m: Arena, p: Plan, at: int, source: Words, origin: int) -> None:
    """Multiply a vector by another one, component by component."""
    if p[P_WORDS] == 1:
        m[at] *= source[origin]
        return
    for i in range(p[P_COMPONENTS]):
        width = p[p[P_WIDTHS] + i]
        if width == 1:
            m[at] *= source[origin]
        else:
            multiply_wide(m, at, source[origin], source[origin + 1])
        at += width
        origin += width


@helper
def scale(m: Arena, p: Plan, at: int, times: int) -> None:
    """Multiply every component by one word."""
    if times == 1:
        return
    for i in range(p[P_COMPONENTS]):
        width = p[p[P_WIDTHS] + i]
        if width == 1:
            m[at] *= times
        else:
            multiply_wide(m, at, times, times >> 63)
        at += width


@inlined
def is_zero(m: Arena, p: Plan, at: int) -> bool:
    """Whether all components are zero."""
    for i in range(p[P_WORDS]):
        if m[at + i] != 0:
            return False
    return True


@helper
def subtract(d: Words, p: Plan, at: int, source: Words, origin: int) -> None:
    """Subtract a vector from another one, component by component."""
    component = 0
    i = 0
    while i < p[P_WORDS]:
        if p[p[P_WIDTHS] + component] == 1:
            d[at + i] -= source[origin + i]
            i += 1
        else:
            low = -source[origin + i]
            high = ~source[origin + i + 1]
            if low == 0:
                high += 1
            add_wide(d, at + i, low, high)
            i += 2
        component += 1


@helper
def multiply_factors(m: Arena, p: Plan, factors: int, count: int, row: int, d: Words, at: int) -> None:
    """Multiply a vector by the factors of an atom's row, which the plan lists at ``factors`` as in `layout`."""
    for i in range(count):
        value = m[row + p[factors + 3 * i + 2]]
        target = at + p[factors + 3 * i]
        if p[factors + 3 * i + 1] == 1:
            d[target] *= value
        else:
            multiply_wide(d, target, value, value >> 63)
