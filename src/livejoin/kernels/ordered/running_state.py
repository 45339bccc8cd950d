"""Aggregates of the rows of a frame while these are gone through: their plan, their words, and what a row adds.

The arguments are read off the order words of the rows (`livejoin.dataflow.stores.order_words`), in which a NULL, the
direction of an order and the sign of a double are encoded.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.parameters import Arena, Line, Plan, Texts, Words
from livejoin.kernels.values.row_order import E_WORDS, VALUE, compare_bytes
from livejoin.words import CANONICAL_NAN, NULL_CODE

# Which frames there are
UP_TO = 0
UP_TO_PEERS = 1
AROUND = 2
UP_TO_FAR = 3
WITHIN = 4
TILES = 5

# What a call is; the words that it has in an entry stand behind it
ROWS = 0  # rows
VALUES = 1  # rows whose argument is not NULL
SUM = 2  # VALUES, or 1 if there are any, then the sum, two words
SUM_WIDE = 3  # the same, then the sum of arguments of two words, three words
SUM_DOUBLE = 4  # the same, then the sum as a double, added up in the order of the rows
MOMENTS = 5  # VALUES, then the mean of the arguments and the sum of their squared distances from it, doubles
LEAST = 6  # the argument's words, by their own order
GREATEST = 7
OPENING = 8  # those of the first row of the frame
LATEST = 9  # those of the last one
OPENING_PEER = 10  # those of the first row with the row's keys
FIRST_KNOWN = 11  # those of the first row of the frame that are not NULL
LAST_KNOWN = 12
LAG = 13  # those of the row so many rows before
NTH = 14  # those of the row so many from the first one, then how many there are, up to that
NTH_KNOWN = 15  # the same among the rows whose argument is not NULL

# Plan: the number of calls, the words of all, the most rows that a LAG goes back, which frame it is and of AROUND how
# many rows before and behind (below 0 it begins behind the row, or ends before it), of UP_TO_FAR how many behind (below
# 0 it ends before the row), of TILES how many there are, of WITHIN what is added to a row's key for the first row and
# for the last one, then how that key is read, as an argument is, and whether all calls can be taken away again; how
# many calls, which stand first, can be combined (`livejoin.kernels.ordered.sliding_frames`), and for how many rows of a
# frame there is room for that; then for each call
C_NUMBER = 0
C_WORDS = 1
C_BACK = 2
C_FRAME = 3
C_BEFORE = 4
C_BEHIND = 5
C_KEY = 6
C_NULL = 7
C_HOLE = 8
C_DOWN = 9
C_FLIP = 10
C_DOUBLE = 11
C_SLIDES = 12
C_COMBINED = 13
C_ROOM = 14
C_CALLS = 15
A_KIND = 0
A_FROM = 1  # the argument's first word among the row's
A_WIDTH = 2  # its words
A_LAST = 3  # what the last of these is, see `livejoin.kernels.values.row_order`
A_AT = 4  # the call's first word among those behind the row's
A_NULL = 5  # the argument's first word where it is NULL
A_HOLE = 6  # the word that words were moved away from, towards which side
A_DOWN = 7  # 1 where they were moved down, those above it
A_FLIP = 8  # -1 where bits are inverted, else 0
A_DOUBLE = 9  # 1 of a double, whose bits below the sign are inverted where it is set
A_ROWS = 10  # of LAG and NTH: how many; of a sum: whether its values are counted
CALL = 11

_SIGN = -(1 << 63)
_GREATEST = (1 << 63) - 1


@inlined
def _code(c: Plan, a: int, word: int) -> int:
    """The word of a value from its order word (`livejoin.dataflow.stores.order_words`)."""
    code: int
    if c[a + A_DOWN] == 1:
        code = word + (1 if word >= c[a + A_HOLE] else 0)
    else:
        code = word - (1 if word <= c[a + A_HOLE] else 0)
    code ^= c[a + A_FLIP]
    if c[a + A_DOUBLE] == 1 and code < 0:
        code ^= _GREATEST
    return code


@helper
def _add(state: Line, at: int, low: int, high: int, words_of_sum: int) -> None:
    """Add a number of two words to one of two or three."""
    total = state[at] + low
    carry = 1 if np.uint64(total) < np.uint64(low) else 0
    state[at] = total
    for i in range(1, words_of_sum):
        term = high if i == 1 else high >> 63
        had = state[at + i]
        total = had + term
        over = 1 if np.uint64(total) < np.uint64(term) else 0
        total += carry
        if carry == 1 and total == 0:
            over = 1
        state[at + i] = total
        carry = over


@helper
def add_number(state: Line, at: int, line: Words, source: int, words: int) -> None:
    """Add a number of so many words to another one."""
    carry = 0
    for i in range(words):
        term = line[source + i]
        total = state[at + i] + term
        over = 1 if np.uint64(total) < np.uint64(term) else 0
        total += carry
        if carry == 1 and total == 0:
            over = 1
        state[at + i] = total
        carry = over


@helper
def _add_double(state: Line, at: int, word: int) -> None:
    total = np.int64(state[at]).view(np.float64) + np.int64(word).view(np.float64)
    state[at] = np.float64(total).view(np.int64) if not np.isnan(total) else CANONICAL_NAN


@helper
def _add_moment(state: Line, at: int, word: int) -> None:
    """Count a double among those that a mean and squared distances are of, as Spark and Welford do."""
    value = np.int64(word).view(np.float64)
    mean, squares = np.int64(state[at + 1]).view(np.float64), np.int64(state[at + 2]).view(np.float64)
    state[at] += 1
    distance = value - mean
    step = distance / state[at]
    state[at + 1] = np.float64(mean + step).view(np.int64)
    state[at + 2] = np.float64(squares + distance * (distance - step)).view(np.int64)


@inlined
def copy(line: Words, c: Plan, a: int, source: int, state: Line) -> None:
    """Note the words of an argument."""
    for i in range(c[a + A_WIDTH]):
        state[c[a + A_AT] + i] = line[source + i]


@inlined
def is_null(c: Plan, a: int, line: Words, at: int) -> bool:
    """Whether an argument is NULL, which of a text only its code says: the empty one has the same first words."""
    if c[a + A_LAST] != VALUE:
        return bool(line[at + c[a + A_WIDTH] - 1] == NULL_CODE)
    return bool(line[at] == c[a + A_NULL])


@helper
def is_beyond(line: Words, c: Plan, a: int, at: int, state: Line, text: Texts) -> bool:
    """Whether an argument is less than the one noted, or greater for GREATEST."""
    sign, width = -1 if c[a + A_KIND] == LEAST else 1, c[a + A_WIDTH]
    if is_null(c, a, state, c[a + A_AT]):
        return True
    is_text = c[a + A_LAST] != VALUE
    for i in range(width - (1 if is_text else 0)):
        x, y = line[at + i], state[c[a + A_AT] + i]
        if x != y:
            return bool((x > y) == (sign > 0))
    if not is_text:
        return False
    x, y = line[at + width - 1], state[c[a + A_AT] + width - 1]
    return bool(x != y and c[a + A_LAST] * compare_bytes(x, y, text) == sign)


@inlined
def _count_to(m: Arena, c: Plan, a: int, source: int, state: Line) -> None:
    """Count a row of those up to the one that is asked for, and note the argument of that one."""
    counted, asked = c[a + A_AT] + c[a + A_WIDTH], c[a + A_ROWS]
    if state[counted] < asked:
        state[counted] += 1
        if state[counted] == asked:
            copy(m, c, a, source, state)


@helper
def clear(c: Plan, state: Line) -> None:
    """The aggregates of no rows."""
    for i in range(c[C_WORDS]):
        state[i] = 0
    for call in range(c[C_NUMBER]):
        a = C_CALLS + call * CALL
        if c[a + A_KIND] >= LEAST:
            state[c[a + A_AT]] = c[a + A_NULL]
            if c[a + A_LAST] != VALUE:
                for i in range(1, c[a + A_WIDTH] - 1):
                    state[c[a + A_AT] + i] = c[a + A_NULL]
                state[c[a + A_AT] + c[a + A_WIDTH] - 1] = NULL_CODE


@helper
def add_row(m: Arena, c: Plan, a: int, entry: int, is_first: bool, state: Line, text: Texts) -> None:
    """Add a row behind others to what one call makes of them, which looks neither at peers nor at rows before these."""
    kind, at = c[a + A_KIND], c[a + A_AT]
    source = entry + E_WORDS + c[a + A_FROM]
    if kind == ROWS:
        state[at] += 1
    elif kind == NTH:
        _count_to(m, c, a, source, state)
    elif kind == LATEST or (kind == OPENING and is_first):
        copy(m, c, a, source, state)
    elif kind != OPENING and not is_null(c, a, m, source):
        if kind == LEAST or kind == GREATEST:
            if is_beyond(m, c, a, source, state, text):
                copy(m, c, a, source, state)
        elif kind == NTH_KNOWN:
            _count_to(m, c, a, source, state)
        elif kind == LAST_KNOWN or (kind == FIRST_KNOWN and is_null(c, a, state, at)):
            copy(m, c, a, source, state)
        elif kind == MOMENTS:
            _add_moment(state, at, _code(c, a, m[source]))
        elif kind != FIRST_KNOWN:
            state[at] = state[at] + 1 if kind == VALUES or c[a + A_ROWS] == 1 else 1
            if kind == SUM:
                code = _code(c, a, m[source])
                _add(state, at + 1, code, code >> 63, 2)
            elif kind == SUM_WIDE:
                low = m[source + 1] ^ _SIGN ^ c[a + A_FLIP]
                _add(state, at + 1, low, m[source] ^ c[a + A_FLIP], 3)
            elif kind == SUM_DOUBLE:
                _add_double(state, at + 1, _code(c, a, m[source]))


@helper
def advance(m: Arena, c: Plan, entry: int, is_first: bool, state: Line, ring: Line, past: int, text: Texts) -> None:
    """The aggregates up to an entry from those up to the one before it.

    ``ring`` has that and ``past`` - 1 others; in a frame that ends with peers ``past`` counts those before the entry.
    """
    for call in range(c[C_NUMBER]):
        a = C_CALLS + call * CALL
        kind = c[a + A_KIND]
        if kind == LAG:
            if past >= c[a + A_ROWS]:
                before = ring[(past - c[a + A_ROWS]) % c[C_BACK]]
                copy(m, c, a, before + E_WORDS + c[a + A_FROM], state)
        elif kind != OPENING_PEER:
            add_row(m, c, a, entry, is_first, state, text)
        elif past == 0:
            copy(m, c, a, entry + E_WORDS + c[a + A_FROM], state)


@helper
def retreat(m: Arena, c: Plan, entry: int, state: Line) -> None:
    """Take a row away from aggregates that are numbers of rows, and sums of integers and decimals with such numbers."""
    for call in range(c[C_NUMBER]):
        a = C_CALLS + call * CALL
        kind, at = c[a + A_KIND], c[a + A_AT]
        source = entry + E_WORDS + c[a + A_FROM]
        if kind != ROWS and is_null(c, a, m, source):
            continue
        state[at] -= 1
        if kind == SUM:
            code = -_code(c, a, m[source])
            _add(state, at + 1, code, code >> 63, 2)
        elif kind == SUM_WIDE:
            low, high = m[source + 1] ^ _SIGN ^ c[a + A_FLIP], m[source] ^ c[a + A_FLIP]
            _add(state, at + 1, -low, ~high + (1 if low == 0 else 0), 3)
