"""Edge directories: open addressing with linear probing from keys to entries in the arena.

A hash slot holds the key's 32-bit hash above the entry's 32-bit reference. The home of a key is given by the top bits
of the hash, so that resizing and the backward shift of a deletion never look at keys. Expected cost of a probe: O(1).

Slots are doubled when more than three quarters of them are taken, and halved when fewer than an eighth are: a walk over
them costs O(entries), whatever was there before. Halving needs words for the smaller half; without them the slots stay
as they are until the next removal.

Many slots are doubled by the owner of the arena, in pieces (`livejoin.kernels.memory.move_slots`): `create` takes the
words for them, notes that in the header, and returns 0, as where there is no space. Its caller does then what it does
without space: it returns NEED_SPACE in front of the change.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.arena import allocate, allocate_raw, release
from livejoin.kernels.memory.layout import (
    CLASS_SHIFT,
    D_COUNT,
    D_FREE,
    D_LOG,
    D_SLOTS,
    H_MOVING,
    H_TARGET,
    MASK32,
)
from livejoin.kernels.parameters import Arena, Plan

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(32)
_SEED = np.uint64(0x2545F4914F6CDD1D)

LEAST_LOG = 3  # a directory never has fewer than eight hash slots
MANY_LOG = 16  # so many slots are not doubled in one call

RUN_LOG = 3  # slots that `scattered` keeps together: 8
_STEP = 0x9E3779B1


@inlined
def mix(h: Any, word: int) -> Any:
    """Absorb one word into a 64-bit hash."""
    z = h ^ np.uint64(word)
    z = (z ^ (z >> _FOLD)) * _MULTIPLIER
    return z ^ (z >> _FOLD)


@inlined
def seed() -> Any:
    """The hash of the empty key."""
    return _SEED


@inlined
def finish(h: Any) -> int:
    """Fold a 64-bit hash into 32 bits; the top bits are the best mixed."""
    return np.int64((h * _MULTIPLIER) >> _FOLD)  # type: ignore[return-value]


@inlined
def hash_key(m: Arena, p: Plan, row: int, width: int, offsets: int) -> int:
    """Hash of the ``width`` words of a row whose offsets the plan lists at ``offsets``."""
    h = seed()
    for i in range(width):
        h = mix(h, m[row + p[offsets + i]])
    return finish(h)


@inlined
def same_key(m: Arena, p: Plan, key: int, row: int, width: int, offsets: int) -> bool:
    """Whether the words at ``key`` equal the row's words at the listed offsets."""
    for i in range(width):
        if m[key + i] != m[row + p[offsets + i]]:
            return False
    return True


@helper
def find(m: Arena, p: Plan, directory: int, entry_key: int, row: int, width: int, offsets: int, h: int) -> int:
    """The entry of a row's key, 0 if there is none."""
    log = m[directory + D_LOG]
    slots = m[directory + D_SLOTS]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = m[slots + i]
        if word == 0:
            return 0
        if (word >> 32) & MASK32 == h:
            entry: int = word & MASK32
            if same_key(m, p, entry + entry_key, row, width, offsets):
                return entry
        i = (i + 1) & mask


@inlined
def place(m: Arena, slots: int, log: int, word: int) -> None:
    """Put a slot word into the first free place from its home on."""
    mask = (1 << log) - 1
    i = ((word >> 32) & MASK32) >> (32 - log)
    while m[slots + i] != 0:
        i = (i + 1) & mask
    m[slots + i] = word


@inlined
def scattered(i: Any, log: int) -> Any:
    """The slot to read as number ``i`` where all ``1 << log`` are read, in an order that is none of hashes.

    What is read often goes into a directory with the same keys, and so the same hashes, in fewer slots. In the order of
    hashes all would want its first slots, and each would go by all that are there.
    """
    runs = (1 << (log - RUN_LOG)) - 1
    return (((i >> RUN_LOG) * _STEP & runs) << RUN_LOG) | (i & ((1 << RUN_LOG) - 1))


@helper
def resize(m: Arena, directory: int, log: int) -> bool:
    """Move a directory into ``1 << log`` hash slots; False if there is no space. Cost: linear."""
    before = m[directory + D_LOG]
    old = m[directory + D_SLOTS]
    slots = allocate(m, log)
    if slots == 0:
        return False
    for i in range(1 << log):
        m[slots + i] = 0
    for i in range(1 << before):
        word = m[old + i]
        if word != 0:
            place(m, slots, log, word)
    release(m, old, before)
    m[directory + D_SLOTS] = slots
    m[directory + D_LOG] = log
    return True


@inlined
def shrink_slots(m: Arena, directory: int) -> None:
    """Halve the hash slots of a directory that fills less than an eighth; amortised O(1) a removal."""
    log = m[directory + D_LOG]
    if log > LEAST_LOG and m[directory + D_COUNT] << 3 < 1 << log:
        resize(m, directory, log - 1)


@inlined
def _is_full(m: Arena, directory: int) -> bool:
    """Whether another entry needs more slots."""
    full: bool = (m[directory + D_COUNT] + 1) * 4 > 3 << m[directory + D_LOG]
    return full


@helper
def _ask_for_slots(m: Arena, directory: int) -> None:
    """Take words for twice the slots, so that the owner of the arena moves the directory; it doubles without them."""
    if m[H_MOVING] == 0:
        log = m[directory + D_LOG] + 1
        slots = allocate(m, log)
        if slots != 0:
            m[H_TARGET] = slots | (log << CLASS_SHIFT)
            m[H_MOVING] = directory


@helper
def create(
    m: Arena, p: Plan, directory: int, size: int, entry_key: int, row: int, width: int, offsets: int, h: int
) -> int:
    """Insert an entry for a row's key, which must not be there; words before the key are 0.

    Returns 0 if there is no space, or if many slots must be moved first.
    """
    if m[directory + D_LOG] >= MANY_LOG and _is_full(m, directory):
        _ask_for_slots(m, directory)
        return 0
    return create_at_once(m, p, directory, size, entry_key, row, width, offsets, h)


@helper
def create_at_once(
    m: Arena, p: Plan, directory: int, size: int, entry_key: int, row: int, width: int, offsets: int, h: int
) -> int:
    """As `create`, but however many slots must be moved, for a caller that has reckoned with the space for them."""
    if _is_full(m, directory) and not resize(m, directory, m[directory + D_LOG] + 1):
        return 0
    entry: int = m[directory + D_FREE]
    if entry != 0:
        m[directory + D_FREE] = m[entry]
    else:
        entry = allocate_raw(m, size)
        if entry == 0:
            return 0
    for i in range(entry_key):
        m[entry + i] = 0
    for i in range(width):
        m[entry + entry_key + i] = m[row + p[offsets + i]]
    place(m, m[directory + D_SLOTS], m[directory + D_LOG], (h << 32) | entry)
    m[directory + D_COUNT] += 1
    return entry


@helper
def find_or_create(
    m: Arena, p: Plan, directory: int, size: int, entry_key: int, row: int, width: int, offsets: int
) -> int:
    """The entry of a row's key, made if there is none, with zeros beside the key; 0 if there is no space."""
    h = hash_key(m, p, row, width, offsets)
    entry: int = find(m, p, directory, entry_key, row, width, offsets, h)
    if entry == 0:
        entry = create(m, p, directory, size, entry_key, row, width, offsets, h)
        if entry != 0:
            for i in range(entry_key + width, size):
                m[entry + i] = 0
    return entry


@helper
def take_out(m: Arena, directory: int, entry: int, entry_key: int, width: int) -> None:
    """Remove an entry and give its words back; the entries behind it in the cluster shift back.

    The slots stay as many as they are, for a caller that has reckoned what space they leave.
    """
    state = seed()
    for k in range(width):
        state = mix(state, m[entry + entry_key + k])
    h = finish(state)
    log = m[directory + D_LOG]
    slots = m[directory + D_SLOTS]
    mask = (1 << log) - 1
    hole = h >> (32 - log)
    while m[slots + hole] & MASK32 != entry:
        hole = (hole + 1) & mask
    j = hole
    while True:
        j = (j + 1) & mask
        word = m[slots + j]
        if word == 0:
            break
        home = ((word >> 32) & MASK32) >> (32 - log)
        if (j - home) & mask >= (j - hole) & mask:
            m[slots + hole] = word
            hole = j
    m[slots + hole] = 0
    m[directory + D_COUNT] -= 1
    m[entry] = m[directory + D_FREE]
    m[directory + D_FREE] = entry


@helper
def remove(m: Arena, directory: int, entry: int, entry_key: int, width: int) -> None:
    """Remove an entry and give its words back; halve the slots that have become too many."""
    take_out(m, directory, entry, entry_key, width)
    shrink_slots(m, directory)
