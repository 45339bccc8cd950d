"""Exact sums of doubles and of their squares, whatever is added and taken away again.

A finite double is an integer times a power of two, so a sum of doubles is one too. It is held as a two's complement
integer in a *window* of words of the long fixed-point number that all doubles fit in (Kulisch, "Computer Arithmetic and
Validity", 2008, chapter 8): the words that are not zero or sign. The sum does not depend on the order of the terms, and
what is taken away leaves no trace; rounding happens once, when a result is asked for. Infinities and NaN are counted.

    link    reference | first word of the window, from bit FIRST_SHIFT on | size class of the block | 0: the sum is zero

Word ``i`` of the fixed-point number has the weight ``2 ** (64 * i - UNIT)`` in a sum, ``2 ** (64 * i - d * UNIT)`` in a
sum of products of d doubles, as squares are with d = 2. Values within 2**64 of each other take a window of four words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.arena import allocate, release
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.numbers.big_integer import add, clear, subtract, times
from livejoin.kernels.numbers.wide import high_product
from livejoin.kernels.parameters import Arena

UNIT = 1074
FIRST_SHIFT = 32
FIELD = 0xFF
SIZE_SHIFT = 40
SMALLEST = 2
WORST_CASE = 64 + 128  # words that a term can take: a window of a sum, and of a sum of squares
WORST_CASE_OF_POWERS = 256 + 128  # the same of a sum of fourth powers, and of the window before
POWER = 8  # words of scratch that a term of four factors takes

_FRACTION = (1 << 52) - 1
_EXPONENT = 0x7FF
_ONE = 1 << 52


@inlined
def is_finite(word: int) -> bool:
    """Whether the double with these bits is neither infinite nor NaN."""
    return (word >> 52) & _EXPONENT != _EXPONENT


@inlined
def window_of(link: int) -> int:
    """Reference of a window's words."""
    return link & MASK32


@inlined
def first_of(link: int) -> int:
    """The place of a window in the fixed-point number."""
    return (link >> FIRST_SHIFT) & FIELD


@inlined
def class_of(link: int) -> int:
    """Size class of a window; all of its words count."""
    return (link >> SIZE_SHIFT) & FIELD


@helper
def _widen(m: Arena, at: int, begin: int, end: int) -> None:
    """Move a sum to a window that covers some words too; low words are zeros, high ones repeat the sign."""
    link = m[at]
    old, first, words = window_of(link), first_of(link), 1 << class_of(link)
    begin, end = min(begin, first), max(end, first + words)
    size_class = SMALLEST
    while 1 << size_class < end - begin:
        size_class += 1
    start = max(0, begin - (((1 << size_class) - (end - begin)) >> 1))
    block = allocate(m, size_class)
    sign = m[old + words - 1] >> 63
    for i in range(1 << size_class):
        place = start + i - first
        m[block + i] = 0 if place < 0 else (m[old + place] if place < words else sign)
    release(m, old, class_of(link))
    m[at] = block | (start << FIRST_SHIFT) | (size_class << SIZE_SHIFT)


@helper
def _accumulate(m: Arena, at: int, place: int, term: int, words: int, negative: bool) -> None:
    """Add a magnitude of some words, or take it away, at a word of the fixed-point number."""
    while words > 0 and m[term + words - 1] == 0:
        words -= 1
    if words == 0:
        return
    if m[at] == 0:
        start = max(0, place - 1)
        block = allocate(m, SMALLEST)
        for i in range(1 << SMALLEST):
            m[block + i] = 0
        m[at] = block | (start << FIRST_SHIFT) | (SMALLEST << SIZE_SHIFT)
    # A term lies below the window's last word, so that only 2**62 of them could overflow it.
    link = m[at]
    if place < first_of(link) or place + words + 1 > first_of(link) + (1 << class_of(link)):
        _widen(m, at, place, place + words + 1)
        link = m[at]
    block, skipped = window_of(link), place - first_of(link)
    length = (1 << class_of(link)) - skipped
    if negative:
        subtract(m, block + skipped, length, term, words)
    else:
        add(m, block + skipped, length, term, words)


@helper
def add_double(m: Arena, at: int, word: int, squared: bool, weight: int, term: int) -> None:
    """Add a finite double, or its square, ``weight`` times to the sum whose link is at ``at``.

    Args:
        m: The arena, with `WORST_CASE` words of space.
        at: Where the link is.
        word: The double's bits.
        squared: Whether its square is added.
        weight: How often; negative takes away.
        term: Reference of four words of scratch.
    """
    exponent = (word >> 52) & _EXPONENT
    mantissa = word & _FRACTION
    if exponent > 0:
        mantissa |= _ONE
        exponent -= 1
    low, high = np.uint64(mantissa), np.uint64(0)
    negative = word < 0
    if squared:
        low, high = np.uint64(mantissa * mantissa), np.uint64(high_product(mantissa, mantissa))
        exponent *= 2
        negative = False
    shift = np.uint64(exponent & 63)
    m[term] = np.int64(low << shift)
    m[term + 1] = np.int64(high << shift)
    m[term + 2] = 0
    if exponent & 63 != 0:
        back = np.uint64(64) - shift
        m[term + 1] |= np.int64(low >> back)
        m[term + 2] = np.int64(high >> back)
    times(m, term, 3, abs(weight))
    _accumulate(m, at, exponent >> 6, term, 4, negative != (weight < 0))


@inlined
def _mantissa(word: int) -> int:
    """The mantissa of a finite double as a whole number."""
    return (word & _FRACTION) | (_ONE if (word >> 52) & _EXPONENT > 0 else 0)


@inlined
def _exponent(word: int) -> int:
    """The power of two that a finite double's mantissa has, counted from the least one."""
    return max(((word >> 52) & _EXPONENT) - 1, 0)


@helper
def add_product(m: Arena, at: int, word: int, degree: int, other: int, weight: int, term: int) -> None:
    """Add ``x**degree * y`` of finite doubles ``weight`` times to the sum of products whose link is at ``at``.

    Args:
        m: The arena, with `WORST_CASE_OF_POWERS` words of space.
        at: Where the link is.
        word: The bits of x.
        degree: From 1 to 3.
        other: The bits of y.
        weight: How often; negative takes away.
        term: Reference of `POWER` words of scratch.
    """
    clear(m, term, POWER)
    m[term] = _mantissa(other)
    exponent = _exponent(other)
    negative = (other < 0) != (weight < 0)
    length = 1
    for _ in range(degree):
        times(m, term, length, _mantissa(word))
        exponent += _exponent(word)
        negative = negative != (word < 0)
        length += 1
    shift: Any = np.int64(1) << np.int64(exponent & 63)
    times(m, term, length, shift)
    times(m, term, length + 1, abs(weight))
    _accumulate(m, at, exponent >> 6, term, length + 2, negative)


@helper
def forget(m: Arena, at: int) -> None:
    """Give the words of a sum back; it is zero then."""
    if m[at] != 0:
        release(m, window_of(m[at]), class_of(m[at]))
        m[at] = 0
