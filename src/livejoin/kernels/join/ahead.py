"""Reading ahead: memory answers for what several events look at together, and not for each of them in turn.

A change follows references: from a record to the entries of its keys, from an entry to the rows that have the key.
Where the state is larger than the caches, each step waits for memory. So the steps of the next events are done side by
side, one step of all of them after the other. Nothing is changed, and what is read serves nobody: an event that is
applied meanwhile can only make it useless.
"""

from __future__ import annotations

from livejoin.kernels.jit import inlined
from livejoin.kernels.memory.directory import hash_key
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS
from livejoin.kernels.parameters import Arena, Plan

AHEAD = 32
"""Events that are read ahead together: as many as memory answers at once, or some more."""

BEYOND = 1 << 17
"""Words of a state that caches hold, so that nothing is read ahead of it."""


@inlined
def first_slot(m: Arena, p: Plan, directory: int, row: int, width: int, offsets: int) -> int:
    """The hash slot at which the search for a row's key begins."""
    h = hash_key(m, p, row, width, offsets)
    return m[directory + D_SLOTS] + (h >> (32 - m[directory + D_LOG]))  # type: ignore[no-any-return]
