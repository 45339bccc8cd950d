"""A directory with many hash slots moves into twice as many, in pieces, while no kernel is at work on the arena.

The directory and its words in the header stay as they were until the last piece. So a caller that is cut off between
two pieces leaves the directory as it was, and whoever begins again moves all slots again.
"""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import release, words
from livejoin.kernels.memory.directory import place
from livejoin.kernels.memory.layout import CLASS_SHIFT, D_LOG, D_SLOTS, H_MOVING, H_TARGET, REF_MASK
from livejoin.kernels.parameters import ArenaArray

AT_ONCE = 1 << 16
"""Slots that one call clears or moves: some milliseconds, after which Python looks for signals."""


@kernel
def move_slots(arena: ArenaArray, done: int) -> int:
    """Clear new slots, then move what stands in the old ones.

    Args:
        arena: An arena whose H_MOVING names a directory; changed.
        done: The result of the call before, 0 to begin.

    Returns:
        How many slots were cleared and moved so far; 0 once the directory has its new slots and H_MOVING is 0.
    """
    m = words(arena)
    directory = m[H_MOVING]
    slots = m[H_TARGET] & REF_MASK
    log = m[H_TARGET] >> CLASS_SHIFT
    old = m[directory + D_SLOTS]
    before = m[directory + D_LOG]
    fresh = 1 << log
    end = min(done + AT_ONCE, fresh + (1 << before))
    for i in range(done, min(end, fresh)):
        m[slots + i] = 0
    for i in range(max(done - fresh, 0), end - fresh):
        word = m[old + i]
        if word != 0:
            place(m, slots, log, word)
    if end < fresh + (1 << before):
        return int(end)
    release(m, old, before)
    m[directory + D_SLOTS] = slots
    m[directory + D_LOG] = log
    m[H_MOVING] = 0
    return 0
