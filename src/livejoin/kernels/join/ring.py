"""Annotations: vectors of integers in two's complement of 64 or 128 bits, whose arithmetic says when one does not fit.

An annotation has a component for each aggregate that is a sum of products (CROWN, section 7.3): the first one counts,
every other one sums. A component takes one word, or two with the low one first. Vectors lie anywhere in an arena or a
cursor and are named by the index of their first word.

Law: what adds, multiplies or subtracts returns 0 if every component is the true sum, product or difference, and -1 if
one is it modulo 2**64 or 2**128 only. So flags add up with ``|``, and a kernel that wrote no flag computed in integers.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.layout import P_COMPONENTS, P_WIDTHS, P_WORDS
from livejoin.kernels.numbers.wide import add_wide, add_word, multiply_wide, multiply_word, subtract_wide, subtract_word
from livejoin.kernels.parameters import Arena, Plan, Words


@inlined
def copy(m: Arena, at: int, source: Words, origin: int, words: int) -> None:
    """Copy a vector."""
    for i in range(words):
        m[at + i] = source[origin + i]


@inlined
def _add_one(m: Arena, p: Plan, at: int, source: Words, origin: int) -> int:
    """Add a vector of one component, as a count is."""
    if p[P_WORDS] == 1:
        return add_word(m, at, source[origin])
    return add_wide(m, at, source[origin], source[origin + 1])


@inlined
def _multiply_one(m: Arena, p: Plan, at: int, source: Words, origin: int) -> int:
    """Multiply a vector of one component by another one."""
    if p[P_WORDS] == 1:
        return multiply_word(m, at, source[origin])
    return multiply_wide(m, at, source[origin], source[origin + 1])


@helper
def set_one(m: Arena, p: Plan, at: int) -> None:
    """Set a vector to one in every component."""
    for i in range(p[P_COMPONENTS]):
        m[at] = 1
        if p[p[P_WIDTHS] + i] == 2:
            m[at + 1] = 0
        at += p[p[P_WIDTHS] + i]


@helper
def set_listed(m: Arena, p: Plan, at: int, numbers: int) -> None:
    """Set a vector to what the plan has at ``numbers``, 0 or 1 a component."""
    for i in range(p[P_COMPONENTS]):
        m[at] = p[numbers + i]
        if p[p[P_WIDTHS] + i] == 2:
            m[at + 1] = 0
        at += p[p[P_WIDTHS] + i]


@helper
def add(m: Arena, p: Plan, at: int, source: Words, origin: int) -> int:
    """Add a vector to another one; -1 if a component does not fit."""
    if p[P_COMPONENTS] == 1:
        return _add_one(m, p, at, source, origin)
    wraps = 0
    for i in range(p[P_COMPONENTS]):
        width = p[p[P_WIDTHS] + i]
        if width == 1:
            wraps |= add_word(m, at, source[origin])
        else:
            wraps |= add_wide(m, at, source[origin], source[origin + 1])
        at += width
        origin += width
    return wraps


@helper
def subtract(m: Arena, p: Plan, at: int, source: Words, origin: int) -> int:
    """Subtract a vector from another one; -1 if a component does not fit."""
    wraps = 0
    for i in range(p[P_COMPONENTS]):
        width = p[p[P_WIDTHS] + i]
        if width == 1:
            wraps |= subtract_word(m, at, source[origin])
        else:
            wraps |= subtract_wide(m, at, source[origin], source[origin + 1])
        at += width
        origin += width
    return wraps


@helper
def multiply(m: Arena, p: Plan, at: int, source: Words, origin: int) -> int:
    """Multiply a vector by another one, component by component; -1 if one does not fit."""
    if p[P_COMPONENTS] == 1:
        return _multiply_one(m, p, at, source, origin)
    wraps = 0
    for i in range(p[P_COMPONENTS]):
        width = p[p[P_WIDTHS] + i]
        if width == 1:
            wraps |= multiply_word(m, at, source[origin])
        else:
            wraps |= multiply_wide(m, at, source[origin], source[origin + 1])
        at += width
        origin += width
    return wraps


@helper
def multiply_above(m: Arena, p: Plan, at: int, source: Words, origin: int, above: int) -> int:
    """Multiply a vector by the sum of another one and what the plan has at ``above``, 0 or 1 a component.

    Returns -1 if a component does not fit.
    """
    wraps = 0
    for i in range(p[P_COMPONENTS]):
        width = p[p[P_WIDTHS] + i]
        low = source[origin] + p[above + i]
        if width == 1:
            wraps |= multiply_word(m, at, low) | (-1 if low < source[origin] else 0)
        else:
            high = source[origin + 1] + (1 if p[above + i] == 1 and low == 0 else 0)
            wraps |= multiply_wide(m, at, low, high) | (-1 if high < source[origin + 1] else 0)
        at += width
        origin += width
    return wraps


@helper
def scale(m: Arena, p: Plan, at: int, times: int) -> int:
    """Multiply every component by one word; -1 if one does not fit."""
    if times == 1:
        return 0
    wraps = 0
    for i in range(p[P_COMPONENTS]):
        width = p[p[P_WIDTHS] + i]
        if width == 1:
            wraps |= multiply_word(m, at, times)
        else:
            wraps |= multiply_wide(m, at, times, times >> 63)
        at += width
    return wraps


@inlined
def is_zero(m: Arena, p: Plan, at: int) -> bool:
    """Whether all components are zero."""
    for i in range(p[P_WORDS]):
        if m[at + i] != 0:
            return False
    return True


@helper
def multiply_factors(m: Arena, p: Plan, factors: int, count: int, row: int, d: Words, at: int) -> int:
    """Multiply a vector by the factors of an atom's row, which the plan lists at ``factors`` as in `layout`.

    Returns -1 if a component does not fit.
    """
    wraps = 0
    for i in range(count):
        value = m[row + p[factors + 3 * i + 2]]
        target = at + p[factors + 3 * i]
        if p[factors + 3 * i + 1] == 1:
            wraps |= multiply_word(d, target, value)
        else:
            wraps |= multiply_wide(d, target, value, value >> 63)
    return wraps
