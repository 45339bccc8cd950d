"""Given rows of a table, found through its indexes; nothing is changed."""

from __future__ import annotations

from livejoin.kernels.jit import inlined, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Addresses, Line, Matrix, Values
from livejoin.kernels.relation.buffers import TableBuffers, opened
from livejoin.kernels.relation.row_index import hash_key_of, hash_of_change, holder_of_change, is_row
from livejoin.kernels.relation.rows import K_NUMBER, find_row


@inlined
def _find_rows(t: TableBuffers, values: Values, n: int, found: Line) -> None:
    for i in range(n):
        h = hash_of_change(t, values, n, i)
        if t.key[K_NUMBER] == 0:
            found[i] = find_row(t, values, n, i, h)
        else:
            row = holder_of_change(t, values, n, i, h)
            found[i] = row if row >= 0 and is_row(t, row, values, n, i) else -1


@kernel
def find_rows(table: Addresses, values: Matrix, found: Line) -> None:
    """Look rows up in the index of a table.

    Args:
        table: The buffers of the table. With a primary key only rows that hold theirs are found, which all do that are
            there when a staging has ended.
        values: int64 of shape (columns, n).
        found: int64 of n places, written: row ids, -1 for rows that are not there.

    Cost: expected O(1) a row.
    """
    _find_rows(opened(table), view(values), values.shape[1], view(found))


@inlined
def _find_keys(t: TableBuffers, values: Values, n: int, found: Line) -> None:
    log = t.slots[0]
    mask = (1 << log) - 1
    for i in range(n):
        h = hash_key_of(values, n, i, t.key[K_NUMBER])
        at = h >> (32 - log)
        found[i] = -1
        while t.slots[1 + at] != 0 and found[i] < 0:
            word = t.slots[1 + at]
            row = (word & MASK32) - 1
            if (word >> 32) & MASK32 == h:
                same = True
                for k in range(t.key[K_NUMBER]):
                    if t.words[row * t.stride + t.key[1 + k]] != values[k * n + i]:
                        same = False
                        break
                if same:
                    found[i] = row
            at = (at + 1) & mask


@kernel
def find_keys(table: Addresses, values: Matrix, found: Line) -> None:
    """Look rows up by their primary key.

    Args:
        table: The buffers of a table with a primary key.
        values: int64 of shape (columns of the key, n).
        found: As for `find_rows`.
    """
    _find_keys(opened(table), view(values), values.shape[1], view(found))
