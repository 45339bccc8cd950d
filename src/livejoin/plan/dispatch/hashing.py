"""Hashes of values in Arrow, equal in every process for equal values of one join class (`SqlType.join_class`).

They are hashes of words as `livejoin.state.codec` has them, with bytes in place of dictionary codes: integers of any
width, decimals of any precision and equal scale, text and its UTF-8 have equal hashes where they are equal; -0.0 is
0.0, and NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from livejoin.kernels.values.decimals import narrow
from livejoin.kernels.values.hashes import hash_strings, hash_words, place_hashes
from livejoin.schema import SqlType
from livejoin.state.codec import fixed_words
from livejoin.theory.hypercube.frequencies import Hashes
from livejoin.words import NARROW_LIMIT, NULL_CODE, Words

Valid = npt.NDArray[np.bool_]


def value_hashes(column: pa.Array | pa.ChunkedArray, type: SqlType) -> tuple[Hashes, Valid | None]:
    """The hashes of values, and a mask of the values that are not NULL, None if all are; all NULLs have one hash.

    Args:
        column: The values, of the type's Arrow type or one that casts to it without loss, or a dictionary of such;
            months also as integers.
        type: The type of the values, no payload.

    Cost: O(values + bytes of strings): 1 to 2 ns a number. Of an Arrow dictionary each entry is hashed once.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    hashes, valid = np.empty(len(column), np.uint64), None
    begin = 0
    for chunk in chunks:
        end = begin + len(chunk)
        hashes[begin:end] = _hashes(chunk, type)
        if chunk.null_count:
            valid = np.ones(len(column), np.bool_) if valid is None else valid
            valid[begin:end] = chunk.is_valid().to_numpy(zero_copy_only=False)
        begin = end
    return hashes, valid


def cells_of(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[SqlType], length: int, cells: int) -> Words:
    """One cell for each row, by all of its values: rows with equal values, NULL being one, have the same cell.

    Args:
        columns: The columns; without one all rows go to cell 0.
        types: The types of the columns.
        length: The number of rows.
        cells: How many cells there are.

    >>> cells_of([pa.array([5, 5, None, None])], [SqlType.integer(64)], 4, 3).tolist()
    [2, 2, 1, 1]
    """
    if not columns:
        return np.zeros(length, np.int64)
    places = np.zeros(length, np.uint64)
    for column, type in zip(columns, types, strict=True):
        place_hashes(places ^ value_hashes(column, type)[0], np.uint64(0), places)
    found: Words = (((places >> np.uint64(32)) * np.uint64(cells)) >> np.uint64(32)).astype(np.int64)
    return found


def _hashes(chunk: pa.Array, type: SqlType) -> Hashes:
    if pa.types.is_dictionary(chunk.type):
        entries = np.append(_hashes(chunk.dictionary, type), _hash_of_null())  # the last one is for NULL
        places = chunk.indices.fill_null(len(entries) - 1) if chunk.indices.null_count else chunk.indices
        taken: Hashes = entries[places.to_numpy(zero_copy_only=False)]
        return taken
    if type.kind == "months" and pa.types.is_integer(chunk.type):
        type = SqlType.integer(32)  # so many months, as Spark sends them
    if chunk.type != type.arrow:
        chunk = chunk.cast(type.arrow)
    words = np.empty(len(chunk), np.int64)
    if not len(chunk):
        return words.view(np.uint64)
    match type.kind:
        case "string" | "binary":
            _, bounds, data = chunk.buffers()
            line = np.frombuffer(bounds, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
            hash_strings(np.frombuffer(b"" if data is None else data, np.uint8), line, words)
        case "decimal":
            _decimal_words(chunk, words)
        case _:
            fixed_words(chunk, type, words)
    if chunk.null_count:
        words[~chunk.is_valid().to_numpy(zero_copy_only=False)] = NULL_CODE
    found: Hashes = np.empty(len(chunk), np.uint64)
    hash_words(words, found)
    return found


def _decimal_words(chunk: pa.Array, words: npt.NDArray[np.int64]) -> None:
    """A word a decimal: its unscaled value, or where that has more digits than a word a hash of its two words."""
    pairs = np.frombuffer(chunk.buffers()[1], np.int64)[2 * chunk.offset : 2 * (chunk.offset + len(chunk))]
    if narrow(pairs, NARROW_LIMIT, words):
        low, high = pairs[0::2], pairs[1::2]
        wide = (high != low >> 63) | (low <= -NARROW_LIMIT) | (low >= NARROW_LIMIT)
        hashed = np.empty(int(wide.sum()), np.uint64)
        hash_words(high[wide].copy(), hashed)
        words[wide] = low[wide] ^ hashed.view(np.int64)


@cache
def _hash_of_null() -> np.uint64:
    found = np.empty(1, np.uint64)
    hash_words(np.array([NULL_CODE]), found)
    return np.uint64(found[0])
