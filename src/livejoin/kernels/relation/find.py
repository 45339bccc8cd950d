"""Given rows of a table, found through its indexes; nothing is changed."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Line, Matrix, Offsets, RowWords, Slots
from livejoin.kernels.relation.row_index import hash_key_of, hash_of_change, holder_of_change, is_row
from livejoin.kernels.relation.rows import K_NUMBER, find_row


@kernel
def find_rows(
    table: RowWords, stride: int, first: int, slots: Slots, key: Offsets, values: Matrix, found: Line
) -> None:
    """Look rows up in the index of a table.

    Args:
        table: The table's words.
        stride: Words a row.
        first: Offset of a row's first value.
        slots: The index.
        key: int64, number and offsets of the primary key's columns in a row. With a key only rows that hold theirs
            are found, which all do that are there when a staging has ended.
        values: int64 of shape (columns, n).
        found: int64 of n places, written: row ids, -1 for rows that are not there.

    Cost: expected O(1) a row.
    """
    t, s, k, v, n = view(table), view(slots), view(key), view(values), values.shape[1]
    for i in range(n):
        h = hash_of_change(v, n, i, stride, first, k)
        if k[K_NUMBER] == 0:
            found[i] = find_row(t, stride, first, s, v, n, i, h)
        else:
            row = holder_of_change(t, stride, first, s, k, v, n, i, h)
            found[i] = row if row >= 0 and is_row(t, stride, first, row, v, n, i) else -1


@kernel
def find_keys(table: RowWords, stride: int, slots: Slots, key: Offsets, values: Matrix, found: Line) -> None:
    """Look rows up by their primary key.

    Args:
        table: The table's words.
        stride: Words a row.
        slots: The index, which is by the key.
        key: int64, number and offsets of the key's columns in a row.
        values: int64 of shape (columns of the key, n).
        found: As for `find_rows`.
    """
    t, v, n = view(table), view(values), values.shape[1]
    log = slots[0]
    mask = (1 << log) - 1
    for i in range(n):
        h = hash_key_of(v, n, i, values.shape[0])
        at = h >> (32 - log)
        found[i] = -1
        while slots[1 + at] != 0 and found[i] < 0:
            word = slots[1 + at]
            row = (word & MASK32) - 1
            if (word >> 32) & MASK32 == h:
                same = True
                for k in range(values.shape[0]):
                    if t[row * stride + key[1 + k]] != v[k * n + i]:
                        same = False
                        break
                if same:
                    found[i] = row
            at = (at + 1) & mask
