"""Results that are remembered by what they were computed from: a hash table from words to words.

A memo keeps the results of a function that the host computes, as of strings: once for each combination of arguments
that rows have, and not once a row. A run that meets a combination for the first time enters it as *asked*, and the rows
that have it are `PENDING`; the host computes what was asked for and the rows are run again. Errors are results.

The law: a line that is KNOWN holds the result of its keys. Linear probing from the mixed keys; at most half of the
lines are in use, else the memo is *full*, which the host mends.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.evaluate import layout as k
from livejoin.kernels.evaluate.doubles import double_of, word_of
from livejoin.kernels.evaluate.memory import Memory
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.parameters import Line

_MULTIPLIER = -7046029254386353131  # the golden ratio in 64 bits
_SURE = 4503599627370496.0  # 2**52
_HALF_ULP = 2.0**-51
_EXACT = 1 << 53
_DIGITS = 15


@helper
def find(a: Memory, memo: int, at: int, row: int) -> int:
    """The place of the line with the keys of a row, or of the empty one where it belongs.

    Args:
        a: The memory.
        memo: The number of the memo.
        at: Where the program names the keys' registers, from there on.
        row: The row in the block.
    """
    memos, m, w, keys = a.memos, a.registers, a.width, a.program
    header = memo * k.MEMO_HEADER
    begin, mask, count = memos[header + k.MEMO_AT], memos[header + k.MEMO_MASK], memos[header + k.MEMO_KEYS]
    width = count + k.LINE_EXTRA
    digest = np.int64(0)
    for i in range(count):
        digest = (digest ^ m[w * keys[at + i] + row]) * _MULTIPLIER
        digest ^= (digest >> 32) & 0xFFFFFFFF
    place = digest & mask
    while True:
        line = begin + place * width
        if memos[line] == k.EMPTY:
            return line  # type: ignore[no-any-return]
        same = True
        for i in range(count):
            if memos[line + 1 + i] != m[w * keys[at + i] + row]:
                same = False
        if same:
            return line  # type: ignore[no-any-return]
        place = (place + 1) & mask


@helper
def ask(a: Memory, memo: int, line: int, at: int, row: int) -> None:
    """Enter the keys of a row in an empty line, if there is space."""
    memos, m, w, keys, state = a.memos, a.registers, a.width, a.program, a.counters
    header = memo * k.MEMO_HEADER
    used = memos[header + k.MEMO_USED]
    asked = state[k.ASKED_LINES]
    if 2 * (used + 1) > memos[header + k.MEMO_MASK] + 1 or k.COUNTERS + 2 * asked + 2 > a.size:
        state[k.FULL] = 1
        return
    memos[line] = k.ASKED
    for i in range(memos[header + k.MEMO_KEYS]):
        memos[line + 1 + i] = m[w * keys[at + i] + row]
    memos[header + k.MEMO_USED] = used + 1
    state[k.COUNTERS + 2 * asked] = memo
    state[k.COUNTERS + 2 * asked + 1] = line
    state[k.ASKED_LINES] = asked + 1


@helper
def attempt(kind: int, word: int, high: int, digits: int) -> tuple[bool, int]:
    """The result where plain arithmetic is certain to give the right one, and whether it is.

    Spark rounds a double by its shortest decimal text. A product with a power of ten that is further from a half than
    the errors of that text and of the product together rounds to the same whole number, and the quotient of a whole
    number below 2**53 by a power of ten below 10**22 is the double nearest to the true one.

    Args:
        kind: The operation to try.
        word, high: The value.
        digits: Digits behind the point.
    """
    if not 0 <= digits <= _DIGITS:
        return False, 0
    unit = 1.0
    for _ in range(digits):
        unit *= 10.0
    if kind == k.TRY_TO_DOUBLE:
        if high != word >> 63 or not -_EXACT <= word <= _EXACT:
            return False, 0
        return True, word_of(np.float64(word) / unit)
    size = np.abs(double_of(word)) * unit
    if not size < _SURE:
        return False, 0
    whole = np.floor(size)
    if np.abs(size - whole - 0.5) <= size * _HALF_ULP:
        return False, 0
    if size - whole > 0.5:
        whole += 1.0
    if double_of(word) < 0.0:
        whole = -whole
    if kind == k.TRY_TO_DECIMAL:
        return True, np.int64(whole)  # type: ignore[return-value]
    return True, word_of(whole / unit)


@kernel
def move_lines(memos: Line, memo: int, larger: Line, begin: int, lines: int) -> None:
    """Enter the lines of a memo in larger space, which is empty, and let that be its space.

    Args:
        memos: The memos as they were.
        memo: The number of the memo.
        larger: The memos with the space; changed.
        begin: The begin of the space.
        lines: How many lines it has, a power of two.
    """
    header = memo * k.MEMO_HEADER
    old, mask, count = memos[header + k.MEMO_AT], memos[header + k.MEMO_MASK], memos[header + k.MEMO_KEYS]
    width = count + k.LINE_EXTRA
    for i in range(mask + 1):
        line = old + i * width
        if memos[line] == k.EMPTY:
            continue
        digest = np.int64(0)
        for j in range(count):
            digest = (digest ^ memos[line + 1 + j]) * _MULTIPLIER
            digest ^= (digest >> 32) & 0xFFFFFFFF
        place = digest & (lines - 1)
        while larger[begin + place * width] != k.EMPTY:
            place = (place + 1) & (lines - 1)
        for j in range(width):
            larger[begin + place * width + j] = memos[line + j]
    larger[header + k.MEMO_AT] = begin
    larger[header + k.MEMO_MASK] = lines - 1
