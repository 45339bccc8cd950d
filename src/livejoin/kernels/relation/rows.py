"""A hash multiset of rows of 64-bit words: those of base tables and of derived relations.

A row is ``[mult << 1 | touched, (dead,) words...]``. Rows keep their id as long as they are there. Staging a commit
changes multiplicities at once and notes the first-touch value of every touched row, so that it can be undone; ids of
rows that are gone are given back only when the commit is finished, because deltas still refer to them.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.directory import finish, mix, seed
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import RowWords, Slots, Values
from livejoin.kernels.relation.buffers import TableBuffers

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
R_OTHERS = 10  # with a primary key: rows in the index that do not hold their key
R_RING = 11  # entries that the queue of a window has room for, less one
R_DOUBT = 12  # rows that the last atomic set brought while they were there, or another row that held their key
ROWS_HEADER = 13

# Touched rows: (row id, multiplicity before, dead before, a change that named the row or -1)
TOUCHED = 4

# Events: (row id, weight, change)
EVENT = 3

K_NUMBER = 0
"""Where the number of a primary key's columns stands; their offsets in a row follow."""

OK = 0
ABSENT = 1
DUPLICATE = 2
MORE = 3  # so far OK; the kernel is to be called again
NO_ROOM = 4  # nothing was done for lack of room
TAKEN = 5  # and on: another row has the same values in the columns of the first UNIQUE constraint, of the second, ...


@inlined
def hash_words(words: RowWords, at: int, count: int) -> int:
    h = seed()
    for i in range(count):
        h = mix(h, words[at + i])
    return finish(h)


@inlined
def hash_change(values: Values, n: int, change: int, count: int) -> int:
    h = seed()
    for i in range(count):
        h = mix(h, values[i * n + change])
    return finish(h)


@helper
def find_row(t: TableBuffers, values: Values, n: int, change: int, h: int) -> int:
    """Id of the row that a change names, -1 if there is none; zero-multiplicity rows count."""
    count = t.stride - t.first
    log = t.slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = t.slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            row: int = (word & MASK32) - 1
            at = row * t.stride + t.first
            same = True
            for k in range(count):
                if t.words[at + k] != values[k * n + change]:
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
    word = (h << 32) | (row + 1)
    while slots[1 + hole] != word:
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
def new_row(t: TableBuffers, values: Values, n: int, change: int) -> int:
    """Give the row of a change an id; it is not there yet, and the caller enters it in the index."""
    if t.header[R_FREE] != 0:
        row: int = t.header[R_FREE] - 1
        t.header[R_FREE] = t.words[row * t.stride + 1]
    else:
        row = t.header[R_NEXT]
        t.header[R_NEXT] = row + 1
    at = row * t.stride
    t.words[at] = 0
    t.words[at + 1] = 0
    for k in range(t.stride - t.first):
        t.words[at + t.first + k] = values[k * n + change]
    t.header[R_USED] += 1
    return row


@helper
def find_or_create(t: TableBuffers, values: Values, n: int, change: int, h: int) -> int:
    row: int = find_row(t, values, n, change, h)
    if row < 0:
        row = new_row(t, values, n, change)
        insert_slot(t.slots, h, row)
    return row


@helper
def give_back(t: TableBuffers, row: int) -> None:
    """Free the id of a row that is gone, of a relation without a primary key."""
    remove_slot(t.slots, hash_words(t.words, row * t.stride + t.first, t.stride - t.first), row)
    free_row(t, row)


@helper
def free_row(t: TableBuffers, row: int) -> None:
    """Free the id of a row that is in no index any more."""
    t.header[R_USED] -= 1
    t.words[row * t.stride + 1] = t.header[R_FREE]
    t.header[R_FREE] = row + 1
    t.header[R_GIVEN_BACK] += 1
