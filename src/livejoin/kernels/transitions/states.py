"""States, changes and transitions by what they are: hashes, look-ups, and what is alive in a state.

The hash of a set of keys is the exclusive or of those of its keys, so that the hash of the next state follows from a
change. Sets with equal hashes are compared. A transition is found by the numbers of its state and its change, exactly.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.directory import mix, seed
from livejoin.kernels.parameters import Line, Matrix, Words
from livejoin.kernels.transitions.layout import (
    CHANGE,
    E_AT,
    E_HASH,
    E_LENGTH,
    N_STAMP,
    STATE,
    T_CHANGE,
    T_FROM,
    T_HASH,
    TRANSITION,
)

_ONE = np.uint64(1)
_BIT = np.int64(1)


@inlined
def key_hash(key: int) -> int:
    """The hash of a key, 63 bits."""
    return np.int64(mix(mix(seed(), key), 0) >> _ONE)  # type: ignore[return-value]


@inlined
def pair_hash(state: int, change: int) -> int:
    """The hash of a state and a change, 63 bits."""
    return np.int64(mix(mix(seed(), state), change) >> _ONE)  # type: ignore[return-value]


@helper
def put(slots: Line, hash_: int, number: int) -> None:
    """Put a number into the first free slot from its home on."""
    mask = slots.shape[0] - 1
    i = hash_ & mask
    while slots[i] != 0:
        i = (i + 1) & mask
    slots[i] = number + 1


@kernel
def fill_slots(slots: Line, hashes: Line, numbers: Line) -> None:
    """Put numbers into empty slots by their hashes. Cost: O(numbers) expected.

    Args:
        slots: int32, zeros, a power of two of them, more than numbers.
        hashes: int64.
        numbers: int64.
    """
    for i in range(numbers.shape[0]):
        put(slots, hashes[i], numbers[i])


@kernel
def hash_transitions(transitions: Matrix) -> None:
    """Write the hash of each transition, int64 of shape (n, TRANSITION)."""
    for i in range(transitions.shape[0]):
        transitions[i, T_HASH] = pair_hash(transitions[i, T_FROM], transitions[i, T_CHANGE])


@inlined
def stride_of(known: Words) -> int:
    """Words of a state."""
    return int(STATE + ((known.marks.shape[0] + 63) >> 6))


@inlined
def bit(key: int) -> int:
    """The bit of a key in its word of a set."""
    return _BIT << (key & 63)  # type: ignore[return-value]


@inlined
def has(states: Line, stride: int, state: int, key: int) -> bool:
    """Whether a state has a key."""
    return bool((states[state * stride + STATE + (key >> 6)] >> (key & 63)) & 1)


@helper
def find_transition(transitions: Line, slots: Line, state: int, change: int) -> int:
    """The number of the transition of a state by a change; -1 if there is none."""
    mask = slots.shape[0] - 1
    i = pair_hash(state, change) & mask
    while slots[i] != 0:
        at = (slots[i] - 1) * TRANSITION
        if transitions[at + T_FROM] == state and transitions[at + T_CHANGE] == change:
            return int(slots[i] - 1)
        i = (i + 1) & mask
    return -1


@helper
def find_change(known: Words, keys: Line, count: int, hash_: int) -> int:
    """The number of a set of keys among the changes that are sets; -1 if it is none of them. Cost: O(keys)."""
    known.counts[N_STAMP] += 1
    stamp = known.counts[N_STAMP]
    for i in range(count):
        known.marks[keys[i]] = stamp
    slots = known.change_slots
    mask = slots.shape[0] - 1
    i = hash_ & mask
    while slots[i] != 0:
        at = (slots[i] - 1) * CHANGE
        if known.changes[at + E_HASH] == hash_ and known.changes[at + E_LENGTH] == count:
            begin = known.changes[at + E_AT]
            same = True
            for place in range(begin, begin + count):
                if known.marks[known.change_keys[place]] != stamp:
                    same = False
                    break
            if same:
                return int(slots[i] - 1)
        i = (i + 1) & mask
    return -1
