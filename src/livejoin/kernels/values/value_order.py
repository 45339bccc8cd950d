"""The order of values that are held as words (`livejoin.state.codec`), as SQL's MIN and MAX have it.

NULL does not take part; NaN is greater than any other double; strings are ordered by their UTF-8 bytes; decimals of
one scale by their unscaled values, the wide ones of which are in a dictionary. Two words are the same iff the values
are equal, so only different words are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.parameters import Texts, Words
from livejoin.words import WIDE_BASE

NUMBER = 0  # words compare as they are
DOUBLE = 1
TEXT = 2
DECIMAL = 3

_BYTE = np.uint64(8)
_MAGNITUDE = (1 << 63) - 1


@inlined
def double_key(word: int) -> int:
    """A word whose signed order is that of the doubles with the given bits."""
    return word ^ ((word >> 63) & _MAGNITUDE)


@inlined
def _eight(heap: Words, at: int) -> Any:
    """Eight bytes as a big-endian word, which the compiler makes one load of."""
    word = np.uint64(heap[at])
    for i in range(1, 8):
        word = (word << _BYTE) | np.uint64(heap[at + i])
    return word


@helper
def _compare_text(a: int, b: int, texts: Texts) -> int:
    heap = texts[0]
    i, j = texts[1][a], texts[1][b]
    left, right = texts[2][a], texts[2][b]
    shared = min(left, right)
    at = 0
    while at + 8 <= shared:
        x, y = _eight(heap, i + at), _eight(heap, j + at)
        if x != y:
            return -1 if x < y else 1
        at += 8
    while at < shared:
        if heap[i + at] != heap[j + at]:
            return -1 if heap[i + at] < heap[j + at] else 1
        at += 1
    return -1 if left < right else 1


@inlined
def _high(word: int, texts: Texts) -> int:
    """The high word of a decimal."""
    if word < WIDE_BASE:
        return word >> 63
    at = texts[4][word - WIDE_BASE] + 8
    value = np.int64(0)
    for i in range(8):
        value |= np.int64(texts[3][at + i]) << (8 * i)
    return value  # type: ignore[return-value]


@inlined
def _low(word: int, texts: Texts) -> int:
    if word < WIDE_BASE:
        return word
    at = texts[4][word - WIDE_BASE]
    value = np.int64(0)
    for i in range(8):
        value |= np.int64(texts[3][at + i]) << (8 * i)
    return value  # type: ignore[return-value]


@helper
def _compare_decimals(a: int, b: int, texts: Texts) -> int:
    x, y = _high(a, texts), _high(b, texts)
    if x != y:
        return -1 if x < y else 1
    return -1 if np.uint64(_low(a, texts)) < np.uint64(_low(b, texts)) else 1


@helper
def precedes(a: int, b: int, order: int, texts: Texts) -> bool:
    """Whether one value comes before another one.

    Args:
        a, b: The words of the values; not NULL.
        order: NUMBER, DOUBLE, TEXT or DECIMAL.
        texts: The dictionaries, see `livejoin.kernels.values.dictionary_view`.
    """
    if order == NUMBER:
        return a < b
    if order == DOUBLE:
        return double_key(a) < double_key(b)
    if a == b:
        return False
    return (_compare_text(a, b, texts) if order == TEXT else _compare_decimals(a, b, texts)) < 0
