"""Columns of numbers as Arrow lays them, made words.

The columns come by Arrow's C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): the address of
a struct of 64-bit words, whose children are the columns.
"""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.foreign import half_at, word_at
from livejoin.kernels.parameters import Matrix
from livejoin.words import CANONICAL_NAN, NULL_CODE

WORDS, DOUBLES, HALVES = range(3)
"""How the values of a column lie: as 64-bit numbers that are words, as doubles, or as numbers of 32 bits."""

_NULLS, _OFFSET, _BUFFERS, _CHILDREN = 8, 16, 40, 48  # bytes from the begin of a struct
_POINTER = 8
_INFINITY = 0x7FF0000000000000  # doubles whose bits without the sign are above it are NaN
_UNSIGNED = 0x7FFFFFFFFFFFFFFF


@kernel
def read_columns(array: int, columns: Matrix, words: Matrix) -> bool:
    """Write the words of columns.

    Args:
        array: The address of an ``ArrowArray`` of a struct, valid and as long as ``words`` has rows.
        columns: For each line of ``words`` the child that it is of, and how its values lie.
        words: int64 of shape (columns, rows); written, in part if the answer is False.

    Returns:
        Whether that was all: False where a column may have NULL, or a value is the one that stands for NULL.
    """
    rows = words.shape[1]
    if word_at(array + _NULLS) != 0:
        return False
    begin, children = word_at(array + _OFFSET), word_at(array + _CHILDREN)
    for line in range(columns.shape[0]):
        child = word_at(children + _POINTER * columns[line, 0])
        buffers, offset = word_at(child + _BUFFERS), begin + word_at(child + _OFFSET)
        if word_at(child + _NULLS) != 0 and word_at(buffers) != 0:
            return False
        form, data = columns[line, 1], word_at(buffers + _POINTER)
        if form == HALVES:
            for i in range(rows):
                words[line, i] = half_at(data + 4 * (offset + i))
        elif form == DOUBLES:
            for i in range(rows):
                word = word_at(data + 8 * (offset + i))
                size = word & _UNSIGNED
                if size > _INFINITY:
                    word = CANONICAL_NAN
                elif size == 0:
                    word = 0
                words[line, i] = word
        else:
            reserved = False
            for i in range(rows):
                word = word_at(data + 8 * (offset + i))
                reserved |= word == NULL_CODE
                words[line, i] = word
            if reserved:
                return False
    return True
