"""The words of an arena that one thing holds: records of a table, a directory with its entries, blocks."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.words import Words


def entries(arena: Words, directory: int) -> Words:
    """The entries of a directory; O(slots)."""
    slots, log = int(arena[directory + k.D_SLOTS]), int(arena[directory + k.D_LOG])
    words = arena[slots : slots + (1 << log)]
    found: Words = words[words != 0] & k.MASK32
    return found


def directory_words(arena: Words, directory: int, size: int, number: int) -> int:
    """The words of the hash slots of a directory, and of a number of entries of a size."""
    return (1 << int(arena[directory + k.D_LOG])) + size * number


def block_words(arena: Words, holders: Words) -> int:
    """The words of the blocks that some words refer to."""
    held = arena[holders]
    held = held[held != 0]
    return int((np.int64(1) << (held >> k.CLASS_SHIFT)).sum())


def record_words(arena: Words, plan: Words, table: int) -> int:
    """The words of the records of a table, those for rows to come included."""
    descriptor = int(plan[q.P_FIRST_TABLE]) + table * q.PLAN_TABLE
    header, stride = int(plan[descriptor + q.PT_HEADER]), int(plan[descriptor + q.PT_STRIDE])
    return int(arena[header + q.T_COUNT]) * q.CHUNK_ROWS * stride
