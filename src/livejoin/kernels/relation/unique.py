"""UNIQUE constraints: of the rows that are there, no two have the same values in some columns, all of them not NULL.

One index serves all constraints of a table. A row that is there stands in it once for each constraint in whose columns
it has no NULL, by the hash of these columns, whose last bits are the number of the constraint. So an entry says by
itself for which constraint it stands.

What the constraints are is one array: their number, where the offsets of each begin and those of the last one end, and
the offsets. Without constraints it is ``[0]``. Cost of each function: O(1) expected for each constraint.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.directory import finish, mix, seed
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Line, Matrix, Offsets, RowWords, Slots, Window
from livejoin.kernels.relation.range_window import stays
from livejoin.kernels.relation.rows import insert_slot, remove_slot
from livejoin.words import NULL_CODE

U_NUMBER = 0
U_BEGINS = 1

MOST = 64
"""Constraints of a table at most: their numbers are the last six bits of a hash."""

_HAS_NULL = -1


@inlined
def _hash(words: RowWords, at: int, uniques: Offsets, one: int) -> int:
    """The hash of a row's entry for a constraint; -1 where it has none."""
    h = seed()
    for i in range(uniques[U_BEGINS + one], uniques[U_BEGINS + one + 1]):
        word = words[at + uniques[i]]
        if word == NULL_CODE:
            return _HAS_NULL
        h = mix(h, word)
    return (finish(h) & -MOST) | one


@helper
def _holder(words: RowWords, stride: int, slots: Slots, uniques: Offsets, one: int, row: int, h: int) -> int:
    """Id of the row that has an entry for the values of ``row``, -1 if none has."""
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
            for k in range(uniques[U_BEGINS + one], uniques[U_BEGINS + one + 1]):
                if words[other * stride + uniques[k]] != words[row * stride + uniques[k]]:
                    same = False
                    break
            if same:
                return other
        i = (i + 1) & mask


@helper
def first_taken(
    words: RowWords,
    stride: int,
    slots: Slots,
    uniques: Offsets,
    window: Window,
    row: int,
    replaced: int,
    leaving: int,
    begin: int,
) -> int:
    """The first constraint whose values another row has, or this one has already; -1 if there is none.

    ``replaced``, ``leaving`` (either may be -1) and what is older than ``begin`` in a window by range do not stay.
    """
    for one in range(uniques[U_NUMBER]):
        h = _hash(words, row * stride, uniques, one)
        if h >= 0:
            other = _holder(words, stride, slots, uniques, one, row, h)
            if other >= 0 and other != replaced and other != leaving and stays(words, stride, window, other, begin):
                return one
    return -1


@helper
def first_bound(words: RowWords, stride: int, uniques: Offsets, row: int) -> int:
    """The first constraint in whose columns a row has no NULL; -1 if there is none, so that it may be there often."""
    for one in range(uniques[U_NUMBER]):
        if _hash(words, row * stride, uniques, one) >= 0:
            return one
    return -1


@kernel
def find_unique(
    table: RowWords, stride: int, slots: Slots, uniques: Offsets, one: int, values: Matrix, found: Line
) -> None:
    """Look rows up by the columns of a constraint.

    Args:
        table: The table's words.
        stride: Words a row.
        slots: The index of the constraints.
        uniques: What these are.
        one: The number of the constraint.
        values: int64 of shape (columns of the constraint, n).
        found: int64 of n places, written: row ids, -1 for rows that are not there; NULL is never found.
    """
    t, s, u, v, n = view(table), view(slots), view(uniques), view(values), values.shape[1]
    begin, width = u[U_BEGINS + one], values.shape[0]
    log = s[0]
    mask = (1 << log) - 1
    for i in range(n):
        h = seed()
        for k in range(width):
            h = mix(h, v[k * n + i])
        code = (finish(h) & -MOST) | one
        at = code >> (32 - log)
        found[i] = -1
        while s[1 + at] != 0 and found[i] < 0:
            word = s[1 + at]
            row = (word & MASK32) - 1
            if (word >> 32) & MASK32 == code:
                same = True
                for k in range(width):
                    if t[row * stride + u[begin + k]] != v[k * n + i]:
                        same = False
                        break
                if same:
                    found[i] = row
            at = (at + 1) & mask


@helper
def enter(words: RowWords, stride: int, slots: Slots, uniques: Offsets, row: int) -> None:
    """Enter a row that has come."""
    for one in range(uniques[U_NUMBER]):
        h = _hash(words, row * stride, uniques, one)
        if h >= 0:
            insert_slot(slots, h, row)


@helper
def leave(words: RowWords, stride: int, slots: Slots, uniques: Offsets, row: int) -> None:
    """Take the entries of a row out that has left."""
    for one in range(uniques[U_NUMBER]):
        h = _hash(words, row * stride, uniques, one)
        if h >= 0:
            remove_slot(slots, h, row)


@helper
def release(words: RowWords, stride: int, slots: Slots, uniques: Offsets, row: int) -> None:
    """Take those entries of a row out that it has."""
    for one in range(uniques[U_NUMBER]):
        h = _hash(words, row * stride, uniques, one)
        if h >= 0 and _holder(words, stride, slots, uniques, one, row, h) == row:
            remove_slot(slots, h, row)


@helper
def restore(words: RowWords, stride: int, slots: Slots, uniques: Offsets, row: int) -> None:
    """Give a row those of its entries that it lacks."""
    for one in range(uniques[U_NUMBER]):
        h = _hash(words, row * stride, uniques, one)
        if h >= 0 and _holder(words, stride, slots, uniques, one, row, h) != row:
            insert_slot(slots, h, row)
