"""Base tables: a hash multiset of rows of 64-bit words, with an optional unique key and an optional window.

A row is ``[mult << 1 | touched, (dead,) words...]``. Rows keep their id as long as they are there. Staging a commit
changes multiplicities at once and notes the first-touch value of every touched row, so that it can be undone; ids of
rows that are gone are given back only when the commit is finished, because deltas still refer to them.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.directory import finish, mix, seed
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Header, Matrix, Offsets, RowWords, Slots

# Header
R_NEXT = 0  # ids given out so far
R_FREE = 1  # first free id plus one
R_ROWS = 2  # rows with a positive multiplicity
R_TOTAL = 3  # sum of multiplicities
R_HEAD = 4  # window queue: position of the oldest entry, position behind the newest
R_TAIL = 5
R_USED = 6  # rows in the hash index
R_IGNORED = 7  # conflicts skipped by the last staging
R_GIVEN_BACK = 8  # ids given back since the free list was last put in order, and as how many it is looked at next
R_NEXT_LOOK = 9
ROWS_HEADER = 10

# Touched rows: (row id, multiplicity before, dead before, a change that named the row or -1)
TOUCHED = 4

OK = 0
ABSENT = 1
DUPLICATE = 2
MORE = 3  # so far OK; the kernel is to be called again
NO_ROOM = 4  # nothing was done for lack of room


@inlined
def hash_words(words: RowWords, at: int, count: int) -> int:
    h = seed()
    for i in range(count):
        h = mix(h, words[at + i])
    return finish(h)


@inlined
def hash_change(values: Matrix, change: int, count: int) -> int:
    h = seed()
    for i in range(count):
        h = mix(h, values[i, change])
    return finish(h)


@inlined
def hash_key(words: RowWords, at: int, key: Offsets) -> int:
    h = seed()
    for i in range(key.shape[0]):
        h = mix(h, words[at + key[i]])
    return finish(h)


@helper
def find_row(words: RowWords, stride: int, first: int, slots: Slots, values: Matrix, change: int, h: int) -> int:
    """Id of the row that a change names, -1 if there is none; zero-multiplicity rows count."""
    count = stride - first
    log = slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            row: int = (word & MASK32) - 1
            at = row * stride + first
            same = True
            for k in range(count):
                if words[at + k] != values[k, change]:
                    same = False
                    break
            if same:
                return row
        i = (i + 1) & mask


@helper
def insert_slot(slots: Slots, h: int, row: int) -> None:
    log = slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while slots[1 + i] != 0:
        i = (i + 1) & mask
    slots[1 + i] = (h << 32) | (row + 1)


@helper
def remove_slot(slots: Slots, h: int, row: int) -> None:
    """Remove a row's slot; the cluster behind it shifts back."""
    log = slots[0]
    mask = (1 << log) - 1
    hole = h >> (32 - log)
    while slots[1 + hole] & MASK32 != row + 1:
        hole = (hole + 1) & mask
    j = hole
    while True:
        j = (j + 1) & mask
        word = slots[1 + j]
        if word == 0:
            break
        home = ((word >> 32) & MASK32) >> (32 - log)
        if (j - home) & mask >= (j - hole) & mask:
            slots[1 + hole] = word
            hole = j
    slots[1 + hole] = 0


@kernel
def rehash(slots: Slots, other: Slots, begin: int, end: int) -> None:
    """Bring the slots from ``begin`` to ``end`` into another table, which is cleared at first and has room for all."""
    log = other[0]
    mask = (1 << log) - 1
    for k in range(begin, end):
        word = slots[1 + k]
        if word != 0:
            i = ((word >> 32) & MASK32) >> (32 - log)
            while other[1 + i] != 0:
                i = (i + 1) & mask
            other[1 + i] = word


@helper
def find_or_create(
    header: Header, words: RowWords, stride: int, first: int, slots: Slots, values: Matrix, change: int
) -> int:
    h = hash_change(values, change, stride - first)
    row: int = find_row(words, stride, first, slots, values, change, h)
    if row >= 0:
        return row
    if header[R_FREE] != 0:
        row = header[R_FREE] - 1
        header[R_FREE] = words[row * stride + 1]
    else:
        row = header[R_NEXT]
        header[R_NEXT] = row + 1
    at = row * stride
    words[at] = 0
    words[at + 1] = 0
    for k in range(stride - first):
        words[at + first + k] = values[k, change]
    insert_slot(slots, h, row)
    header[R_USED] += 1
    return row


@helper
def holder(words: RowWords, stride: int, slots: Slots, key: Offsets, row: int, h: int) -> int:
    """Id of the row that holds the unique key of ``row``, -1 if none does."""
    log = slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            other: int = (word & MASK32) - 1
            same = True
            for k in range(key.shape[0]):
                if words[other * stride + key[k]] != words[row * stride + key[k]]:
                    same = False
                    break
            if same:
                return other
        i = (i + 1) & mask


@inlined
def hash_key_of_change(values: Matrix, change: int, first: int, key: Offsets) -> int:
    h = seed()
    for i in range(key.shape[0]):
        h = mix(h, values[key[i] - first, change])
    return finish(h)


@helper
def holder_of_change(
    words: RowWords, stride: int, first: int, slots: Slots, key: Offsets, values: Matrix, change: int, h: int
) -> int:
    """Id of the row that holds the unique key of a change, -1 if none does."""
    log = slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            other: int = (word & MASK32) - 1
            same = True
            for k in range(key.shape[0]):
                if words[other * stride + key[k]] != values[key[k] - first, change]:
                    same = False
                    break
            if same:
                return other
        i = (i + 1) & mask


@helper
def give_back(header: Header, words: RowWords, stride: int, first: int, slots: Slots, row: int) -> None:
    """Free the id of a row that is gone."""
    at = row * stride
    remove_slot(slots, hash_words(words, at + first, stride - first), row)
    header[R_USED] -= 1
    words[at + 1] = header[R_FREE]
    header[R_FREE] = row + 1
    header[R_GIVEN_BACK] += 1
