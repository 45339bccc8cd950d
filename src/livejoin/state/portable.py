"""Words that say what their strings and wide decimals are, so that they mean the same in every database.

A word of a string is a code of its database's dictionary. Here it is a place among the strings that come with the
words: the law is that `words_here` of `portable` are the words of the same values, in any codec.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from livejoin.errors import StateError
from livejoin.schema import SqlType
from livejoin.state.codec import Codec, is_coded
from livejoin.words import NULL_CODE, WIDE_BASE, Words

Bytes = npt.NDArray[np.uint8]

DECIMAL_BYTES = 16
_NO_BYTES = np.empty(0, np.uint8)
_NO_LENGTHS = np.empty(0, np.int32)


@dataclass(frozen=True, eq=False)
class Portable:
    """Words without a dictionary.

    Args:
        words: Of shape (columns, rows). A string is its place in ``lengths``, a wide decimal ``WIDE_BASE`` plus its
            place in ``decimals``.
        heap: The bytes of the strings, one behind the other.
        lengths: The bytes of each.
        decimals: The unscaled values of wide decimals, 16 bytes each.
    """

    words: Words
    heap: Bytes
    lengths: npt.NDArray[np.int32]
    decimals: Bytes


@dataclass(frozen=True)
class Coded:
    """Which lines of words may have codes.

    Args:
        texts: The lines of strings.
        wide: The lines of decimals.
    """

    texts: tuple[int, ...]
    wide: tuple[int, ...]

    @classmethod
    def of(cls, types: Sequence[SqlType]) -> Coded:
        """The lines of some types that may have codes."""
        texts = [place for place, type in enumerate(types) if type.word_kind == "string"]
        wide = [place for place, type in enumerate(types) if type.word_kind != "string" and is_coded(type)]
        return cls(tuple(texts), tuple(wide))


def portable(codec: Codec, words: Words, coded: Coded) -> Portable:
    """Words of a database without its dictionary. Cost: O(values log values)."""
    texts, wide = list(coded.texts), list(coded.wide)
    if not texts and not wide:
        return Portable(words, _NO_BYTES, _NO_LENGTHS, _NO_BYTES)
    words = words.copy()
    heap, lengths, decimals = _NO_BYTES, _NO_LENGTHS, _NO_BYTES
    if texts:
        codes = _renumbered(words, texts, 0, words[texts] != NULL_CODE)
        heap, ends = codec.bytes_and_ends(codes)
        lengths = np.diff(ends).astype(np.int32)
    if wide:
        lines = words[wide]
        there = (lines >= WIDE_BASE) & (lines != NULL_CODE)
        if there.any():
            decimals = codec.wide_decimals(_renumbered(words, wide, WIDE_BASE, there) - WIDE_BASE)
    return Portable(words, heap, lengths, decimals)


def _renumbered(words: Words, places: Sequence[int], base: int, coded: npt.NDArray[np.bool_]) -> Words:
    """Let the codes in some lines be places from ``base`` on; the code at each place."""
    lines = words[places]
    codes, local = np.unique(lines[coded], return_inverse=True)
    lines[coded] = local + base
    words[places] = lines
    return codes


def words_here(codec: Codec, given: Portable, coded: Coded) -> Words:
    """The words of a database for what came from another one; what is new comes into its dictionary.

    Raises:
        StateError: A word names a string or a decimal that did not come with it.
        CapacityError: As for `Codec.encode`.

    Cost: O(values + bytes).
    """
    words = given.words.copy()
    codes = _NOTHING
    if given.lengths.size:
        ends = np.zeros(given.lengths.size + 1, np.int64)
        np.cumsum(given.lengths, out=ends[1:])
        codes = codec.codes_of_bytes(given.heap, ends)
    wide = _NOTHING
    if given.decimals.size:
        pairs = given.decimals.view(np.int64).reshape(-1, 2)
        wide = codec.words_of_decimals(pairs[:, 0], pairs[:, 1])
    for place in coded.texts:
        _replace(words[place], 0, codes, words[place] != NULL_CODE)
    for place in coded.wide:
        _replace(words[place], WIDE_BASE, wide, (words[place] >= WIDE_BASE) & (words[place] != NULL_CODE))
    return words


_NOTHING = np.empty(0, np.int64)


def _replace(line: Words, base: int, codes: Words, coded: npt.NDArray[np.bool_]) -> None:
    """Let places from ``base`` on be the codes at these places."""
    places = line[coded] - base
    if places.size and not 0 <= places.min() <= places.max() < codes.size:
        msg = f"a word names number {int(places.max())} of {codes.size} strings or decimals that came with it"
        raise StateError(msg)
    line[coded] = codes[places] if places.size else places
