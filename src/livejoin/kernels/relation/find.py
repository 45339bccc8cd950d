"""Given rows of a table, found through its indexes; nothing is changed."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Line, Matrix, Offsets, RowWords, Slots
from livejoin.kernels.relation.rows import find_row, hash_change


@kernel
def find_rows(table: RowWords, stride: int, first: int, slots: Slots, values: Matrix, found: Line) -> None:
    """Look rows up in the index of a table.

    Args:
        table: The table's words.
        stride: Words a row.
        first: Offset of a row's first value.
        slots: The index.
        values: int64 of shape (columns, n).
        found: int64 of n places, written: row ids, -1 for rows that are not there.

    Cost: expected O(1) a row.
    """
    for i in range(values.shape[1]):
        h = hash_change(values, i, values.shape[0])
        found[i] = find_row(table, stride, first, slots, values, i, h)


@kernel
def find_keys(table: RowWords, stride: int, slots: Slots, key: Offsets, values: Matrix, found: Line) -> None:
    """Look rows up by their primary key.

    Args:
        table: The table's words.
        stride: Words a row.
        slots: The key's index.
        key: int64, offsets of the key's columns in a row.
        values: int64 of shape (columns of the key, n).
        found: As for `find_rows`.
    """
    log = slots[0]
    mask = (1 << log) - 1
    for i in range(values.shape[1]):
        h = hash_change(values, i, values.shape[0])
        at = h >> (32 - log)
        found[i] = -1
        while slots[1 + at] != 0 and found[i] < 0:
            word = slots[1 + at]
            row = (word & MASK32) - 1
            if (word >> 32) & MASK32 == h:
                same = True
                for k in range(key.shape[0]):
                    if table[row * stride + key[k]] != values[k, i]:
                        same = False
                        break
                if same:
                    found[i] = row
            at = (at + 1) & mask
