"""Spark's hashes of values: Murmur3 of 32 bits and xxHash of 64 bits, with a seed; the value before gives the seed.

The law: they are those of Spark's ``Murmur3_x86_32`` and ``XXH64``. Murmur3 takes the bytes behind the last four one by
one, each with its sign, as Spark's ``hashUnsafeBytes`` does and others do not.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.doubles import double_of
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.parameters import Texts, Words

_HALF = 0xFFFFFFFF
_U = np.uint64
_P1, _P2, _P3 = _U(0x9E3779B185EBCA87), _U(0xC2B2AE3D27D4EB4F), _U(0x165667B19E3779F9)
_P4, _P5 = _U(0x85EBCA77C2B2AE63), _U(0x27D4EB2F165667C5)
_LANE = 32  # bytes that four accumulators of xxHash take


@inlined
def _rotated(value: int, by: int) -> int:
    """A number of 32 bits, turned to the left."""
    return ((value << by) | (value >> (32 - by))) & _HALF


@inlined
def _mixed(state: int, word: int) -> int:
    word = ((word & _HALF) * 0xCC9E2D51) & _HALF
    word = (_rotated(word, 15) * 0x1B873593) & _HALF
    return (_rotated(state ^ word, 13) * 5 + 0xE6546B64) & _HALF


@inlined
def _murmur_end(state: int, size: int) -> int:
    state ^= size
    state = ((state ^ (state >> 16)) * 0x85EBCA6B) & _HALF
    state = ((state ^ (state >> 13)) * 0xC2B2AE35) & _HALF
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


@inlined
def _turned(value: np.uint64, by: int) -> np.uint64:
    """A number of 64 bits, turned to the left."""
    return (value << _U(by)) | (value >> _U(64 - by))


@inlined
def _lane(state: np.uint64, word: np.uint64) -> np.uint64:
    return _turned(state + word * _P2, 31) * _P1


@inlined
def _with_eight(state: np.uint64, word: np.uint64) -> np.uint64:
    return _turned(state ^ (_turned(word * _P2, 31) * _P1), 27) * _P1 + _P4


@inlined
def _with_four(state: np.uint64, word: np.uint64) -> np.uint64:
    return _turned(state ^ (word * _P1), 23) * _P2 + _P3


@inlined
def _xx_end(state: np.uint64) -> int:
    state = (state ^ (state >> _U(33))) * _P2
    state = (state ^ (state >> _U(29))) * _P3
    return np.int64(state ^ (state >> _U(32)))  # type: ignore[return-value]


@inlined
def _byte(heap: Words, at: int, low: int, high: int, size: int, i: int) -> int:
    """Byte i of a text in the heap; where it stands at no place, of a number of so many bytes, the high one first."""
    if at >= 0:
        return np.int64(heap[at + i])  # type: ignore[return-value]
    j = size - 1 - i
    return (low >> (8 * j)) & 255 if j < 8 else (high >> (8 * (j - 8))) & 255


@helper
def _bytes_of(low: int, high: int) -> int:
    """The bytes that a number of two words has as Java's BigInteger: the fewest that keep its sign."""
    size = 16
    while size > 1:
        top, below = _byte_from_low(low, high, size - 1), _byte_from_low(low, high, size - 2)
        if not ((top == 0 and below < 128) or (top == 255 and below >= 128)):
            break
        size -= 1
    return size


@inlined
def _byte_from_low(low: int, high: int, j: int) -> int:
    return (low >> (8 * j)) & 255 if j < 8 else (high >> (8 * (j - 8))) & 255


@helper
def _word(heap: Words, at: int, low: int, high: int, size: int, i: int, count: int) -> int:
    """Some bytes as a word, the low one first."""
    word = np.int64(0)
    for j in range(count):
        word |= np.int64(_byte(heap, at, low, high, size, i + j)) << np.int64(8 * j)
    return word  # type: ignore[return-value]


@helper
def _murmur_bytes(heap: Words, at: int, low: int, high: int, size: int, seed: int) -> int:
    state, i = seed & _HALF, 0
    while i + 4 <= size:
        state = _mixed(state, _word(heap, at, low, high, size, i, 4))
        i += 4
    while i < size:
        byte = _byte(heap, at, low, high, size, i)
        state = _mixed(state, byte - 256 if byte > 127 else byte)
        i += 1
    return _murmur_end(state, size)


@helper
def _xx_bytes(heap: Words, at: int, low: int, high: int, size: int, seed: int) -> int:
    start, i = _U(seed), 0
    if size >= _LANE:
        one, two, three, four = start + _P1 + _P2, start + _P2, start, start - _P1
        while i + _LANE <= size:
            one = _lane(one, _U(_word(heap, at, low, high, size, i, 8)))
            two = _lane(two, _U(_word(heap, at, low, high, size, i + 8, 8)))
            three = _lane(three, _U(_word(heap, at, low, high, size, i + 16, 8)))
            four = _lane(four, _U(_word(heap, at, low, high, size, i + 24, 8)))
            i += _LANE
        state = _turned(one, 1) + _turned(two, 7) + _turned(three, 12) + _turned(four, 18)
        for each in (one, two, three, four):
            state = (state ^ _lane(_U(0), each)) * _P1 + _P4
    else:
        state = start + _P5
    state += _U(size)
    while i + 8 <= size:
        state = _with_eight(state, _U(_word(heap, at, low, high, size, i, 8)))
        i += 8
    if i + 4 <= size:
        state = _with_four(state, _U(_word(heap, at, low, high, size, i, 4)))
        i += 4
    while i < size:
        state = _turned(state ^ (_U(_byte(heap, at, low, high, size, i)) * _P5), 11) * _P1
        i += 1
    return _xx_end(state)


@helper
def hashed(how: int, low: int, high: int, seed: int, texts: Texts) -> int:
    """The hash of a value that is not NULL.

    Args:
        how: The kind of the value, and HASH_64 if xxHash is asked for.
        low, high: The value.
        seed: The seed.
        texts: The dictionaries.
    """
    kind, is_64 = how & (k.HASH_64 - 1), how & k.HASH_64 != 0
    if kind == k.HASH_TEXT or kind == k.HASH_WIDE:
        at, size = (texts[1][low], texts[2][low]) if kind == k.HASH_TEXT else (-1, _bytes_of(low, high))
        if is_64:
            return _xx_bytes(texts[0], at, low, high, size, seed)
        return _murmur_bytes(texts[0], at, low, high, size, seed)
    if kind == k.HASH_FLOAT:
        low = np.int64(np.float32(double_of(low)).view(np.int32))  # type: ignore[assignment]
    if kind == k.HASH_LONG:
        if is_64:
            return _xx_end(_with_eight(_U(seed) + _P5 + _U(8), _U(low)))
        return _murmur_end(_mixed(_mixed(seed & _HALF, low), low >> 32), 8)
    if is_64:
        return _xx_end(_with_four(_U(seed) + _P5 + _U(4), _U(low & _HALF)))
    return _murmur_end(_mixed(seed & _HALF, low), 4)
