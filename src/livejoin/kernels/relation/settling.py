"""The end of a staging in a base table: its net events, and to undo it or finish it.

A caller may be cut off between two kernels, but not inside of one. So each of them writes as the last thing how far the
staging has come, and whoever ends it looks there what is left to do.
"""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.parameters import Header, Line, Matrix, Offsets, Queue, RowWords, Slots, Touched, Window
from livejoin.kernels.relation.range_window import RANGE_REACH, RANGE_ROWS, W_BEGIN, push
from livejoin.kernels.relation.rows import (
    R_HEAD,
    R_ROWS,
    R_TAIL,
    R_TOTAL,
    give_back,
    hash_key,
    holder,
    insert_slot,
    remove_slot,
)

# How far a staging has come.
IDLE = 0  # there is none
STAGED = 1  # it has begun; what it has touched so far is written down
UNDONE = 2  # it was taken back; the marks and the ids that it took are still there


@kernel
def undo(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    key_slots: Slots,
    key: Offsets,
    queue: Queue,
    window: Window,
    touched: Touched,
    count: int,
    phase: Line,
    head: int,
    tail: int,
) -> None:
    """Restore multiplicities, the key index and the window to what they were before the staging, which is UNDONE then.

    The heap of a window by range may keep entries of rows that the staging brought, as dead ones.
    """
    if key.shape[0] > 0:
        for t in range(count):
            row = touched[t, 0]
            at = row * stride
            h = hash_key(words, at, key)
            if touched[t, 1] == 0 and holder(words, stride, key_slots, key, row, h) == row:
                remove_slot(key_slots, h, row)
        for t in range(count):
            row = touched[t, 0]
            at = row * stride
            h = hash_key(words, at, key)
            if touched[t, 1] > 0 and holder(words, stride, key_slots, key, row, h) != row:
                insert_slot(key_slots, h, row)
    for t in range(count):
        at = touched[t, 0] * stride
        now = words[at] >> 1
        before = touched[t, 1]
        header[R_TOTAL] += before - now
        header[R_ROWS] += (1 if before > 0 else 0) - (1 if now > 0 else 0)
        words[at] = (before << 1) | 1
        if window[RANGE_ROWS] > 0:
            words[at + 1] = touched[t, 2]
        elif window[RANGE_REACH] >= 0 and touched[t, 2] > 0:
            push(words, stride, queue, window, touched[t, 0])
    if window[RANGE_REACH] >= 0:
        queue[W_BEGIN] = head
    else:
        header[R_HEAD] = head
        header[R_TAIL] = tail
    phase[0] = UNDONE


@kernel
def finish_commit(
    header: Header, words: RowWords, stride: int, first: int, slots: Slots, touched: Touched, count: int, phase: Line
) -> None:
    """End a commit, staged or undone: clear the marks and give back the ids of rows that are gone; it is IDLE then.

    A row of a window that is gone but still stands in the queue keeps its id until its last entry leaves.
    """
    for t in range(count):
        row = touched[t, 0]
        at = row * stride
        words[at] &= -2
        if words[at] == 0 and (first == 1 or words[at + 1] == 0):
            give_back(header, words, stride, first, slots, row)
    phase[0] = IDLE


@kernel
def net_events(words: RowWords, stride: int, touched: Touched, count: int, events: Matrix) -> int:
    """Net changes of multiplicity as (row id, weight, change), deletions first; returns how many."""
    made = 0
    for sign in (-1, 1):
        for t in range(count):
            weight = (words[touched[t, 0] * stride] >> 1) - touched[t, 1]
            if weight * sign > 0:
                events[made, 0] = touched[t, 0]
                events[made, 1] = weight
                events[made, 2] = touched[t, 3]
                made += 1
    return made
