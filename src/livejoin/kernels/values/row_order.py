"""The order of rows that are held as order words: words whose signed order is the order of the values.

A row is compared word by word. A string has three words: its first sixteen bytes, big-endian, and its dictionary code.
Where the bytes are equal and the codes are not, the strings themselves decide, byte by byte. Only strings that share
sixteen bytes cost a look into the dictionary, four cache misses a comparison in place of one: with eight bytes, a
million names like ``customer0000000001`` took a third of the changes a second. Everything else about types, NULLs and
directions is in the words already (`livejoin.dataflow.stores.order_words`).

A *text* is the dictionary: its heap, starts and lengths, see `livejoin.kernels.values.strings`.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Arena, Line, Output, Plan, Texts, Words

# Plan: the window, words of a row, then for each word what it is
O_OFFSET = 0
O_LIMIT = 1
O_WIDTH = 2
O_KINDS = 3

VALUE = 0  # compared as it is
ASCENDING = 1  # a code, after words of equal bytes
DESCENDING = -1

# An entry of the ordered multiset: the row's multiplicity above the touched bit, how often the row stands in the
# window, the row's words
E_COUNT = 0
E_IN = 1
E_WORDS = 2

PREFIX_WORDS = 2

_SIGN = -(1 << 63)
_PREFIX_BYTES = 8 * PREFIX_WORDS


@helper
def compare_bytes(left: int, right: int, text: Texts) -> int:
    heap, starts, lengths = text
    i = starts[left]
    j = starts[right]
    shorter = min(lengths[left], lengths[right])
    for at in range(_PREFIX_BYTES if shorter > _PREFIX_BYTES else 0, shorter):
        a = np.int64(heap[i + at])
        b = np.int64(heap[j + at])
        if a != b:
            return -1 if a < b else 1
    return -1 if lengths[left] < lengths[right] else 1


@helper
def compare(m: Arena, p: Plan, a: int, b: int, text: Texts) -> int:
    """-1, 0 or 1 as entry ``a`` comes before, is equal to or comes after entry ``b``."""
    for i in range(p[O_WIDTH]):
        x = m[a + E_WORDS + i]
        y = m[b + E_WORDS + i]
        if x != y:
            kind = p[O_KINDS + i]
            # A code beyond the dictionary's is NULL, whose word before this one is an end of the order.
            if kind == VALUE:
                return -1 if x < y else 1
            if x > MASK32 or y > MASK32:
                first = m[a + E_WORDS + i - 1] == _SIGN
                return -1 if (x > MASK32) == first else 1
            return int(kind * compare_bytes(x, y, text))
    return 0


@kernel
def string_prefixes(heap: Words, starts: Words, lengths: Line, codes: Line, null: int, skip: int, out: Output) -> None:
    """Write eight bytes of each string as a word whose signed order is theirs; bytes behind the end are 0.

    Args:
        heap, starts, lengths: The dictionary.
        codes: Codes in use; ``null`` stands for no string.
        skip: Bytes before.
        out: One word a code; changed.
    """
    for row in range(codes.shape[0]):
        code = codes[row]
        word = np.int64(0)
        if code != null:
            for at in range(min(lengths[code] - skip, 8)):
                word |= np.int64(heap[starts[code] + skip + at]) << (56 - 8 * at)
        out[row] = word ^ _SIGN
