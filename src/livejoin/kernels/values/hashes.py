"""A hash of values that is the same in every process, on every machine and in every version.

Rows are sent to other processes by it, and what a row's insertion was sent to, its deletion must find, perhaps after a
restart: so what is computed here never changes, and a test pins it. A dictionary's codes are those of one process, so
that strings are hashed by their bytes.

Law: equal words have equal hashes, and so have equal strings of bytes; others differ but for one pair in 2**64.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import inlined, kernel
from livejoin.kernels.parameters import Line
from livejoin.kernels.values.strings import hash_bytes

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_27 = np.uint64(27)
_30 = np.uint64(30)
_31 = np.uint64(31)
_32 = np.uint64(32)


@inlined
def scattered(word: int) -> np.uint64:
    """A word whose high half depends on all bits of another one: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).

    It has nothing in common with the hash of the directories: else all keys of a cell would have their homes in one
    part of each directory.
    """
    z = np.uint64(word)
    z = (z ^ (z >> _30)) * _FIRST
    return np.uint64((z ^ (z >> _27)) * _SECOND)


@inlined
def below(scattered: np.uint64, count: int) -> int:
    """The high half of a word as a number below a count, all of them about equally often."""
    return np.int64(((scattered >> _32) * np.uint64(count)) >> _32)  # type: ignore[return-value]


@kernel
def hash_words(words: Line, out: Line) -> None:
    """Write the hash of each word.

    Args:
        words: int64 of one dimension.
        out: uint64, as many; written.
    """
    for i in range(words.shape[0]):
        z = scattered(np.uint64(words[i]) + _STEP)  # type: ignore[arg-type]
        out[i] = z ^ (z >> _31)


@kernel
def hash_strings(data: Line, bounds: Line, words: Line) -> None:
    """Write a word for each string of bytes.

    Args:
        data: uint8: the bytes.
        bounds: int32: string i is ``data[bounds[i] : bounds[i + 1]]``.
        words: int64, one a string; written.
    """
    for i in range(words.shape[0]):
        begin = bounds[i]
        words[i] = np.int64(hash_bytes(data, np.uint64(begin), np.uint64(bounds[i + 1] - begin)))


@kernel
def place_hashes(hashes: Line, salt: np.uint64, out: Line) -> None:
    """Write of each hash the word whose high half places it along one dimension of a grid (`below`).

    Args:
        hashes: uint64 of one dimension.
        salt: A number that makes the dimension independent of the others.
        out: uint64, as many; written.
    """
    for i in range(hashes.shape[0]):
        out[i] = scattered(hashes[i] ^ salt)
