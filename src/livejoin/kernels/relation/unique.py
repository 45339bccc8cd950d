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
from livejoin.kernels.parameters import Addresses, Line, Matrix, Values
from livejoin.kernels.relation.buffers import TableBuffers, opened
from livejoin.kernels.relation.range_window import stays
from livejoin.kernels.relation.rows import insert_slot, remove_slot
from livejoin.words import NULL_CODE

U_NUMBER = 0
U_BEGINS = 1

MOST = 64
"""Constraints of a table at most: their numbers are the last six bits of a hash."""

_HAS_NULL = -1


@inlined
def _hash(t: TableBuffers, at: int, one: int) -> int:
    """The hash of a row's entry for a constraint; -1 where it has none."""
    h = seed()
    for i in range(t.uniques[U_BEGINS + one], t.uniques[U_BEGINS + one + 1]):
        word = t.words[at + t.uniques[i]]
        if word == NULL_CODE:
            return _HAS_NULL
        h = mix(h, word)
    return (finish(h) & -MOST) | one


@helper
def _holder(t: TableBuffers, one: int, row: int, h: int) -> int:
    """Id of the row that has an entry for the values of ``row``, -1 if none has."""
    log = t.unique_slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = t.unique_slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            other: int = (word & MASK32) - 1
            same = True
            for k in range(t.uniques[U_BEGINS + one], t.uniques[U_BEGINS + one + 1]):
                if t.words[other * t.stride + t.uniques[k]] != t.words[row * t.stride + t.uniques[k]]:
                    same = False
                    break
            if same:
                return other
        i = (i + 1) & mask


@helper
def first_taken(t: TableBuffers, row: int, replaced: int, leaving: int, begin: int) -> int:
    """The first constraint whose values another row has, or this one has already; -1 if there is none.

    ``replaced``, ``leaving`` (either may be -1) and what is older than ``begin`` in a window by range do not stay.
    """
    for one in range(t.uniques[U_NUMBER]):
        h = _hash(t, row * t.stride, one)
        if h >= 0:
            other = _holder(t, one, row, h)
            if other >= 0 and other != replaced and other != leaving and stays(t, other, begin):
                return one
    return -1


@helper
def first_bound(t: TableBuffers, row: int) -> int:
    """The first constraint in whose columns a row has no NULL; -1 if there is none, so that it may be there often."""
    for one in range(t.uniques[U_NUMBER]):
        if _hash(t, row * t.stride, one) >= 0:
            return one
    return -1


@inlined
def _find_unique(t: TableBuffers, one: int, values: Values, n: int, found: Line) -> None:
    begin, width = t.uniques[U_BEGINS + one], t.uniques[U_BEGINS + one + 1] - t.uniques[U_BEGINS + one]
    log = t.unique_slots[0]
    mask = (1 << log) - 1
    for i in range(n):
        h = seed()
        for k in range(width):
            h = mix(h, values[k * n + i])
        code = (finish(h) & -MOST) | one
        at = code >> (32 - log)
        found[i] = -1
        while t.unique_slots[1 + at] != 0 and found[i] < 0:
            word = t.unique_slots[1 + at]
            row = (word & MASK32) - 1
            if (word >> 32) & MASK32 == code:
                same = True
                for k in range(width):
                    if t.words[row * t.stride + t.uniques[begin + k]] != values[k * n + i]:
                        same = False
                        break
                if same:
                    found[i] = row
            at = (at + 1) & mask


@kernel
def find_unique(table: Addresses, one: int, values: Matrix, found: Line) -> None:
    """Look rows up by the columns of a constraint.

    Args:
        table: The buffers of the table.
        one: The number of the constraint.
        values: int64 of shape (columns of the constraint, n).
        found: int64 of n places, written: row ids, -1 for rows that are not there; NULL is never found.
    """
    _find_unique(opened(table), one, view(values), values.shape[1], view(found))


@helper
def enter(t: TableBuffers, row: int) -> None:
    """Enter a row that has come."""
    for one in range(t.uniques[U_NUMBER]):
        h = _hash(t, row * t.stride, one)
        if h >= 0:
            insert_slot(t.unique_slots, h, row)


@helper
def leave(t: TableBuffers, row: int) -> None:
    """Take the entries of a row out that has left."""
    for one in range(t.uniques[U_NUMBER]):
        h = _hash(t, row * t.stride, one)
        if h >= 0:
            remove_slot(t.unique_slots, h, row)


@helper
def release(t: TableBuffers, row: int) -> None:
    """Take those entries of a row out that it has."""
    for one in range(t.uniques[U_NUMBER]):
        h = _hash(t, row * t.stride, one)
        if h >= 0 and _holder(t, one, row, h) == row:
            remove_slot(t.unique_slots, h, row)


@helper
def restore(t: TableBuffers, row: int) -> None:
    """Give a row those of its entries that it lacks."""
    for one in range(t.uniques[U_NUMBER]):
        h = _hash(t, row * t.stride, one)
        if h >= 0 and _holder(t, one, row, h) != row:
            insert_slot(t.unique_slots, h, row)
