"""Given rows found through the indexes that the state has: directories, blocks of a key, and those of base tables.

Nothing here changes a state.
"""

from __future__ import annotations

from typing import Any

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.directory import finish, mix, seed
from livejoin.kernels.memory.layout import (
    COUNTER_BITS,
    COUNTER_MASK,
    D_LOG,
    D_SLOTS,
    MASK32,
    N_CHILDREN,
    N_STATE,
)
from livejoin.kernels.relation.rows import find_row, hash_change


@kernel
def find_entries(arena: Any, directory: int, key: int, values: Any, found: Any) -> None:
    """Look keys up in a directory.

    Args:
        arena: The arena.
        directory: Reference of the directory's header.
        key: Offset of the key's words in its entries.
        values: int64 of shape (words of a key, n).
        found: int64 of n places, written: the entries, 0 for keys that are not there.

    Cost: expected O(1) a key.
    """
    m = words(arena)
    log = m[directory + D_LOG]
    slots = m[directory + D_SLOTS]
    mask = (1 << log) - 1
    for i in range(values.shape[1]):
        h = seed()
        for k in range(values.shape[0]):
            h = mix(h, values[k, i])
        hash32 = finish(h)
        at = hash32 >> (32 - log)
        found[i] = 0
        while m[slots + at] != 0 and found[i] == 0:
            word = m[slots + at]
            if (word >> 32) & MASK32 == hash32:
                entry = word & MASK32
                same = True
                for k in range(values.shape[0]):
                    if m[entry + key + k] != values[k, i]:
                        same = False
                        break
                if same:
                    found[i] = entry
            at = (at + 1) & mask


@helper
def _is_row(m: Any, row: int, offsets: Any, values: Any, i: int) -> bool:
    """Whether a row has the given values."""
    for k in range(offsets.shape[0]):
        if m[row + offsets[k]] != values[k, i]:
            return False
    return True


@kernel
def sum_block(
    arena: Any, plan: Any, node: int, blocks: Any, lengths: Any, offsets: Any, values: Any, sums: Any
) -> None:
    """Add up the multiplicities of the rows in ``V_s`` of an atom that have given values, each among the rows of a key.

    Args:
        arena: The arena.
        plan: The plan.
        node: Offset of the atom's node.
        blocks: int64, references of blocks of its rows.
        lengths: int64, the rows of each block.
        offsets: int64, where a row has the values to be compared.
        values: int64 of shape (offsets, n).
        sums: int64 of n places; written.

    Cost: O(rows of the blocks).
    """
    m = words(arena)
    p = words(plan)
    state = p[node + N_STATE]
    for i in range(blocks.shape[0]):
        sums[i] = 0
        for k in range(lengths[i]):
            row = m[blocks[i] + k]
            word = m[row + state]
            if word & COUNTER_MASK == p[node + N_CHILDREN] and _is_row(m, row, offsets, values, i):
                sums[i] += word >> COUNTER_BITS


@kernel
def find_rows(table: Any, stride: int, first: int, slots: Any, values: Any, found: Any) -> None:
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
def find_keys(table: Any, stride: int, slots: Any, key: Any, values: Any, found: Any) -> None:
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
