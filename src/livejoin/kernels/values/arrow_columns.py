"""Columns as Arrow lays them, made words.

The columns come by Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): the address of
a struct of 64-bit words, whose children are the columns.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.foreign import byte_at, half_at, short_at, word_at
from livejoin.kernels.parameters import Matrix
from livejoin.words import CANONICAL_NAN, NULL_CODE

WORDS, HALVES, SHORTS, BYTES, DOUBLES, FLOATS, BITS, THOUSANDTHS, DECIMALS, TEXTS, LARGE_TEXTS = range(11)
"""How the values of a column lie: as numbers of 64, 32, 16 and 8 bits, as floating-point numbers of 64 and 32, as bits,
as numbers of 64 bits of which one of a thousand is meant, as numbers of 128 bits, as strings between offsets of 32 bits
and of 64."""

CHILD, FORM, LIMIT, REQUIRED = range(4)
COLUMN_FIELDS = 4
"""What is told of a column: which child it is, how its values lie, the first number that is too large (of decimals
without their point; 0 where all that may come are small enough), and 1 where NULL is none of its values."""

LEFT = -1
"""The answer that the columns have to be read otherwise."""
HAS_NULL = 1
"""The bit of an answer that says that some value is NULL."""
HAS_OTHERS = 2
"""The bit of an answer that says that some strings are not of ASCII alone, or do not lie one behind the other."""

_NULLS, _OFFSET, _BUFFERS, _CHILDREN = 8, 16, 40, 48  # bytes from the begin of a struct; its length comes first
_POINTER = 8
_INFINITY = 0x7FF0000000000000  # doubles whose bits without the sign are above it are NaN
_UNSIGNED = 0x7FFFFFFFFFFFFFFF
_MOST_BYTES = (1 << 31) - 1  # of strings in a column
_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # of eight bytes


@inlined
def _is_there(valid: int, place: int) -> bool:
    """Whether a value is not NULL; without a bitmap none is."""
    return valid == 0 or (byte_at(valid + (place >> 3)) >> (place & 7)) & 1 == 1


@inlined
def _one_form(word: int) -> int:
    """The bits of a double with one zero and one NaN."""
    size = word & _UNSIGNED
    if size > _INFINITY:
        return CANONICAL_NAN
    return word if size != 0 else 0


@helper
def _read_numbers(form: int, data: int, offset: int, rows: int, words: Matrix, line: int, begin: int) -> None:
    """Write the words of numbers, whatever lies where a value is NULL."""
    if form == WORDS:
        for i in range(rows):
            words[line, begin + i] = word_at(data + 8 * (offset + i))
    elif form == HALVES:
        for i in range(rows):
            words[line, begin + i] = half_at(data + 4 * (offset + i))
    elif form == SHORTS:
        for i in range(rows):
            words[line, begin + i] = short_at(data + 2 * (offset + i))
    elif form == BYTES:
        for i in range(rows):
            words[line, begin + i] = byte_at(data + offset + i)
    elif form == BITS:
        for i in range(rows):
            words[line, begin + i] = (byte_at(data + ((offset + i) >> 3)) >> ((offset + i) & 7)) & 1
    elif form == DOUBLES:
        for i in range(rows):
            words[line, begin + i] = _one_form(word_at(data + 8 * (offset + i)))
    else:  # FLOATS
        for i in range(rows):
            number = np.float64(np.int32(half_at(data + 4 * (offset + i))).view(np.float32))
            words[line, begin + i] = _one_form(number.view(np.int64))  # type: ignore[arg-type]


@helper
def _read_decimals(
    data: int, valid: int, offset: int, rows: int, limit: int, out: Matrix, line: int, begin: int
) -> bool:
    """Write the words of decimals; whether one word holds each."""
    fits = True
    for i in range(rows):
        low, high = word_at(data + 16 * (offset + i)), word_at(data + 16 * (offset + i) + 8)
        out[line, begin + i] = low
        if (high != low >> 63 or low <= -limit or low >= limit) and _is_there(valid, offset + i):
            fits = False
    return fits


@helper
def _read_thousandths(data: int, valid: int, offset: int, rows: int, words: Matrix, line: int, begin: int) -> bool:
    """Write a thousandth of each number; whether these are whole."""
    fits = True
    for i in range(rows):
        number = word_at(data + 8 * (offset + i))
        words[line, begin + i] = number // 1_000
        if number % 1_000 != 0 and _is_there(valid, offset + i):
            fits = False
    return fits


@helper
def _are_below(limit: int, rows: int, words: Matrix, line: int, begin: int) -> bool:
    """Whether all integers but NULL are below a limit, negative ones not below that of theirs."""
    fits = True
    for i in range(rows):
        word = words[line, begin + i]
        fits &= (-limit <= word < limit) or word == NULL_CODE
    return fits


@helper
def _are_plain(bounds: int, data: int, is_large: bool, offset: int, rows: int) -> bool:
    """Whether strings are of ASCII alone, and lie one behind the other; the first and the last bound are sound."""
    first = last = 0
    for i in range(rows + 1):
        bound = word_at(bounds + 8 * (offset + i)) if is_large else half_at(bounds + 4 * (offset + i))
        if i == 0:
            first = last = bound
        elif bound < last:
            return False
        last = bound
    seen = 0
    at = first
    while at + 8 <= last:
        seen |= word_at(data + at)
        at += 8
    while at < last:
        seen |= byte_at(data + at)
        at += 1
    return seen & _HIGH_BITS == 0


@helper
def _write_nulls(valid: int, offset: int, rows: int, words: Matrix, line: int, begin: int) -> int:
    """Write the word of NULL where a value is; how many are."""
    found = 0
    for i in range(rows):
        if not _is_there(valid, offset + i):
            words[line, begin + i] = NULL_CODE
            found += 1
    return found


@helper
def _is_reserved(valid: int, offset: int, rows: int, words: Matrix, line: int, begin: int) -> bool:
    """Whether some value is the number that stands for NULL."""
    found = False
    for i in range(rows):
        found |= words[line, begin + i] == NULL_CODE
    if not found or valid == 0:
        return found
    for i in range(rows):
        if words[line, begin + i] == NULL_CODE and _is_there(valid, offset + i):
            return True
    return False


@kernel
def read_columns(array: int, columns: Matrix, begin: int, words: Matrix) -> int:
    """Write the words of columns, of strings 0 where one is there.

    Args:
        array: The address of an ``ArrowArray`` of a struct, whose buffers are as long as they should be, and whose
            strings end within their bytes.
        columns: int64 of shape (columns, COLUMN_FIELDS): what is told of each.
        begin: The first place to write to.
        words: int64 of shape (columns, rows); written from there on, in part if the answer is LEFT.

    Returns:
        LEFT where a column that requires values has NULL, or not as many as it says, where a number is too large, is no
        whole one, or is the one that stands for NULL, and of strings of more than 2 GiB; else bits, HAS_NULL and
        HAS_OTHERS.
    """
    found = 0
    rows = word_at(array)
    if word_at(array + _NULLS) != 0:
        return LEFT
    shift, children = word_at(array + _OFFSET), word_at(array + _CHILDREN)
    for line in range(columns.shape[0]):
        child = word_at(children + _POINTER * columns[line, CHILD])
        buffers, offset = word_at(child + _BUFFERS), shift + word_at(child + _OFFSET)
        valid, told = word_at(buffers), word_at(child + _NULLS)
        form, data = columns[line, FORM], word_at(buffers + _POINTER)
        if form == DECIMALS:
            if not _read_decimals(data, valid, offset, rows, columns[line, LIMIT], words, line, begin):
                return LEFT
        elif form == THOUSANDTHS:
            if not _read_thousandths(data, valid, offset, rows, words, line, begin):
                return LEFT
        elif form == TEXTS or form == LARGE_TEXTS:
            for i in range(rows):
                words[line, begin + i] = 0
            if form == LARGE_TEXTS and word_at(data + 8 * (offset + rows)) - word_at(data + 8 * offset) > _MOST_BYTES:
                return LEFT
            if not _are_plain(data, word_at(buffers + 2 * _POINTER), form == LARGE_TEXTS, offset, rows):
                found |= HAS_OTHERS
        else:
            _read_numbers(form, data, offset, rows, words, line, begin)
            if form == WORDS and _is_reserved(valid, offset, rows, words, line, begin):
                return LEFT
        nulls = 0 if valid == 0 else _write_nulls(valid, offset, rows, words, line, begin)
        if (told >= 0 and told != nulls) or (nulls > 0 and columns[line, REQUIRED] == 1):
            return LEFT
        if nulls > 0:
            found |= HAS_NULL
        limit = columns[line, LIMIT]
        if form <= BYTES and limit != 0 and not _are_below(limit, rows, words, line, begin):
            return LEFT
    return found
