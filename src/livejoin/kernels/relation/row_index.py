"""The index of a base table: its rows by their primary key where it has one, else by all of their words.

Of the rows with one key, one is the *holder*: it stands in the index by the hash of the key, whose last bit is 0. The
others are rows that are gone but still have an id, and rows that only a staging under way knows. They stand there by
the hash of the whole row, whose last bit is 1. So a row is found by a look at its key and a comparison of its words,
however many rows of the key a commit brings and takes.

Law: each row that has an id stands there once, each key has at most one holder, and when a staging has ended each row
that is there holds its key. Cost of each function: O(1) expected.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.directory import finish, mix, seed
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Line, Touched, Values
from livejoin.kernels.relation.buffers import TableBuffers
from livejoin.kernels.relation.rows import (
    K_NUMBER,
    R_DOUBT,
    R_OTHERS,
    TOUCHED,
    find_or_create,
    find_row,
    free_row,
    give_back,
    hash_change,
    hash_words,
    insert_slot,
    new_row,
    remove_slot,
)
from livejoin.kernels.relation.staging import G_HASHES, G_NEXT, G_SEEN


@inlined
def _hash_key(t: TableBuffers, at: int) -> int:
    h = seed()
    for i in range(1, t.key[K_NUMBER] + 1):
        h = mix(h, t.words[at + t.key[i]])
    return finish(h) & -2


@inlined
def hash_key_of(keys: Values, n: int, place: int, columns: int) -> int:
    """The hash of one of n keys that stand by themselves."""
    return hash_change(keys, n, place, columns) & -2


@inlined
def _hash_key_of_change(t: TableBuffers, values: Values, n: int, change: int) -> int:
    h = seed()
    for i in range(1, t.key[K_NUMBER] + 1):
        h = mix(h, values[(t.key[i] - t.first) * n + change])
    return finish(h) & -2


@inlined
def hash_of_change(t: TableBuffers, values: Values, n: int, change: int) -> int:
    """By what a change is looked up first."""
    if t.key[K_NUMBER] == 0:
        return hash_change(values, n, change, t.stride - t.first)
    return _hash_key_of_change(t, values, n, change)


@inlined
def _hash_row(t: TableBuffers, row: int) -> int:
    """By what a row stands in the index that does not hold its key."""
    return hash_words(t.words, row * t.stride + t.first, t.stride - t.first) | 1


@inlined
def _place_of_change(t: TableBuffers, values: Values, n: int, change: int, h: int) -> int:
    """The place of the holder of a change's key, -1 if there is none."""
    log = t.slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = t.slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            at = ((word & MASK32) - 1) * t.stride
            same = True
            for k in range(1, t.key[K_NUMBER] + 1):
                if t.words[at + t.key[k]] != values[(t.key[k] - t.first) * n + change]:
                    same = False
                    break
            if same:
                return i  # type: ignore[no-any-return]
        i = (i + 1) & mask


@helper
def _place_of_row(t: TableBuffers, row: int, h: int) -> int:
    """The place of the holder of a row's key, -1 if there is none."""
    log = t.slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = t.slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            at = ((word & MASK32) - 1) * t.stride
            same = True
            for k in range(1, t.key[K_NUMBER] + 1):
                if t.words[at + t.key[k]] != t.words[row * t.stride + t.key[k]]:
                    same = False
                    break
            if same:
                return i  # type: ignore[no-any-return]
        i = (i + 1) & mask


@inlined
def _is_entered(t: TableBuffers, row: int, h: int) -> bool:
    """Whether a row stands in the index by a hash."""
    log = t.slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    wanted = (h << 32) | (row + 1)
    while t.slots[1 + i] != 0:
        if t.slots[1 + i] == wanted:
            return True
        i = (i + 1) & mask
    return False


@inlined
def look_ahead(t: TableBuffers, values: Values, n: int, count: int, progress: Line) -> None:
    """Hash the next changes and read what they are looked up in: memory answers for all at once, not for each in turn.

    Args:
        t: The table.
        values: Words of n changes.
        n: The number of changes.
        count: How many are looked up next, at most AHEAD; behind G_NEXT stands which.
        progress: The hash of each is written behind G_HASHES; what was read goes to G_SEEN, or the compiler would leave
            the reads out.
    """
    shift = 32 - t.slots[0]
    seen = 0
    for i in range(count):
        h = hash_of_change(t, values, n, progress[G_NEXT + i])
        progress[G_HASHES + i] = h
        seen ^= t.slots[1 + (h >> shift)]
    for i in range(count):
        h = progress[G_HASHES + i]
        word = t.slots[1 + (h >> shift)]
        if (word >> 32) & MASK32 == h and word != 0:
            seen ^= t.words[((word & MASK32) - 1) * t.stride + t.stride - 1]
    progress[G_SEEN] ^= seen


@inlined
def is_row(t: TableBuffers, row: int, values: Values, n: int, change: int) -> bool:
    """Whether a change names just this row."""
    at = row * t.stride + t.first
    for k in range(t.stride - t.first):
        if t.words[at + k] != values[k * n + change]:
            return False
    return True


@helper
def holder(t: TableBuffers, row: int) -> int:
    """Id of the row that is there and has the primary key of ``row``, -1 if none is."""
    place = _place_of_row(t, row, _hash_key(t, row * t.stride))
    if place < 0:
        return -1
    found: int = (t.slots[1 + place] & MASK32) - 1
    return found if t.words[found * t.stride] >> 1 > 0 else -1


@helper
def holder_of_change(t: TableBuffers, values: Values, n: int, change: int, h: int) -> int:
    """Id of the row that is there and has the primary key of a change, -1 if none is."""
    place = _place_of_change(t, values, n, change, h)
    if place < 0:
        return -1
    found: int = (t.slots[1 + place] & MASK32) - 1
    return found if t.words[found * t.stride] >> 1 > 0 else -1


@inlined
def look_up(t: TableBuffers, values: Values, n: int, change: int, h: int) -> int:
    """Id of the row that a change names, -1 if there is none; rows that are gone and have an id count."""
    if t.key[K_NUMBER] == 0:
        row: int = find_row(t, values, n, change, h)
        return row
    place = _place_of_change(t, values, n, change, h)
    if place >= 0:
        row = (t.slots[1 + place] & MASK32) - 1
        if is_row(t, row, values, n, change):
            return row
    if t.header[R_OTHERS] == 0:
        return -1
    of_row = hash_change(values, n, change, t.stride - t.first) | 1
    return find_row(t, values, n, change, of_row)


@inlined
def bring(t: TableBuffers, values: Values, n: int, change: int, h: int, replaced: int) -> int:
    """Id of the row that a change names, which is made if there is none; ``h`` is its hash.

    It holds its key if nobody else does who is there; ``replaced``, which may be -1, counts as gone. Else, and where
    that was not looked at, R_DOUBT grows.
    """
    if t.key[K_NUMBER] == 0:
        row: int = find_or_create(t, values, n, change, h)
        return row
    place = _place_of_change(t, values, n, change, h)
    other: int = -1
    if place >= 0:
        other = (t.slots[1 + place] & MASK32) - 1
        if is_row(t, other, values, n, change):
            return other
    if t.header[R_OTHERS] > 0:
        row = find_row(t, values, n, change, hash_change(values, n, change, t.stride - t.first) | 1)
        if row >= 0:
            t.header[R_DOUBT] += 1
            return row
    row = new_row(t, values, n, change)
    if other < 0:
        insert_slot(t.slots, h, row)
        return row
    t.header[R_OTHERS] += 1
    if other == replaced or t.words[other * t.stride] >> 1 == 0:
        t.slots[1 + place] = (h << 32) | (row + 1)
        insert_slot(t.slots, _hash_row(t, other), other)
    else:
        t.header[R_DOUBT] += 1
        insert_slot(t.slots, _hash_row(t, row), row)
    return row


@helper
def take_place(t: TableBuffers, row: int) -> None:
    """Let a row hold its key; who held it, if it was another one, is not there any more."""
    h = _hash_key(t, row * t.stride)
    place = _place_of_row(t, row, h)
    if place < 0:
        remove_slot(t.slots, _hash_row(t, row), row)
        insert_slot(t.slots, h, row)
        t.header[R_OTHERS] -= 1
        return
    other = (t.slots[1 + place] & MASK32) - 1
    if other != row:
        t.slots[1 + place] = (h << 32) | (row + 1)
        remove_slot(t.slots, _hash_row(t, row), row)
        insert_slot(t.slots, _hash_row(t, other), other)


@inlined
def rows_ahead(t: TableBuffers, touched: Touched, begin: int, end: int) -> int:
    """As `look_ahead`, for some touched rows and their places in the index."""
    shift = 32 - t.slots[0]
    seen = 0
    for place in range(begin, end):
        at = touched[TOUCHED * place] * t.stride
        seen ^= t.words[at] ^ t.words[at + t.stride - 1]
    for place in range(begin, end):
        row = touched[TOUCHED * place]
        if t.words[row * t.stride] >> 1 == 0:
            if t.key[K_NUMBER] == 0 or t.header[R_OTHERS] > 0:
                seen ^= t.slots[1 + (_hash_row(t, row) >> shift)]
            if t.key[K_NUMBER] > 0:
                seen ^= t.slots[1 + (_hash_key(t, row * t.stride) >> shift)]
    return seen


@helper
def let_go(t: TableBuffers, row: int) -> None:
    """Free the id of a row that is gone."""
    if t.key[K_NUMBER] == 0:
        give_back(t, row)
        return
    h = _hash_key(t, row * t.stride)
    if t.header[R_OTHERS] > 0 and not _is_entered(t, row, h):
        h = _hash_row(t, row)
        t.header[R_OTHERS] -= 1
    remove_slot(t.slots, h, row)
    free_row(t, row)
