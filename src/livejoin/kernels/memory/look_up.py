"""Given keys, found in a directory; nothing is changed."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.directory import finish, mix, seed
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS, MASK32
from livejoin.kernels.parameters import ArenaArray, Line, Matrix


@kernel
def find_entries(arena: ArenaArray, directory: int, key: int, values: Matrix, found: Line) -> None:
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
