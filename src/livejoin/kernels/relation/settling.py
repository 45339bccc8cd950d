"""The end of a staging in a base table: its net events, and to undo it or finish it.

A caller may be cut off between two kernels, but not inside of one. So each of them writes as the last thing how far the
staging has come, and whoever ends it looks there what is left to do. Each call does a piece, for some milliseconds.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.parameters import Header, Line, Matrix, Offsets, Queue, RowWords, Slots, Touched, Window
from livejoin.kernels.relation.range_window import RANGE_REACH, RANGE_ROWS, W_BEGIN, push
from livejoin.kernels.relation.rows import (
    MORE,
    OK,
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
from livejoin.kernels.relation.staging import AT_ONCE, G_MADE, G_PLACE

# The phase: how far a staging has come, and how far what ends it now.
PHASE = 0
PHASE_PLACE = 1
PHASE_WORDS = 2

IDLE = 0  # there is none
STAGED = 1  # it has begun; what it has touched so far is written down
UNDONE = 2  # it was taken back; the marks and the ids that it took are still there
FINISHING = 3  # it stands, or was taken back; some of the marks and of the ids are still there


@inlined
def _release_key(words: RowWords, stride: int, key_slots: Slots, key: Offsets, touched: Touched, t: int) -> None:
    """Take a key from a row that the staging brought."""
    row = touched[t, 0]
    h = hash_key(words, row * stride, key)
    if touched[t, 1] == 0 and holder(words, stride, key_slots, key, row, h) == row:
        remove_slot(key_slots, h, row)


@inlined
def _return_key(words: RowWords, stride: int, key_slots: Slots, key: Offsets, touched: Touched, t: int) -> None:
    """Give a key back to the row that had it before."""
    row = touched[t, 0]
    h = hash_key(words, row * stride, key)
    if touched[t, 1] > 0 and holder(words, stride, key_slots, key, row, h) != row:
        insert_slot(key_slots, h, row)


@helper
def _restore(
    header: Header, words: RowWords, stride: int, queue: Queue, window: Window, touched: Touched, t: int
) -> None:
    """Give a row its multiplicity of before, and its place in the window."""
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
) -> int:
    """Restore multiplicities, the key index and the window to what they were before the staging, which is UNDONE then.

    The heap of a window by range may keep entries of rows that the staging brought, as dead ones. Returns OK, or MORE:
    call again.
    """
    begin = phase[PHASE_PLACE]
    if key.shape[0] == 0:
        begin = max(begin, 2 * count)
    end = min(begin + AT_ONCE, 3 * count)
    for place in range(begin, end):
        if place < count:
            _release_key(words, stride, key_slots, key, touched, place)
        elif place < 2 * count:
            _return_key(words, stride, key_slots, key, touched, place - count)
        else:
            _restore(header, words, stride, queue, window, touched, place - 2 * count)
    phase[PHASE_PLACE] = end
    if end < 3 * count:
        return MORE
    if window[RANGE_REACH] >= 0:
        queue[W_BEGIN] = head
    else:
        header[R_HEAD] = head
        header[R_TAIL] = tail
    phase[PHASE_PLACE] = 0
    phase[PHASE] = UNDONE
    return OK


@kernel
def finish_commit(
    header: Header, words: RowWords, stride: int, first: int, slots: Slots, touched: Touched, count: int, phase: Line
) -> int:
    """End a commit, staged or undone: clear the marks and give back the ids of rows that are gone; it is IDLE then.

    A row of a window that is gone but still stands in the queue keeps its id until its last entry leaves. Returns OK,
    or MORE: call again.
    """
    if phase[PHASE] != FINISHING:
        phase[PHASE] = FINISHING
        phase[PHASE_PLACE] = 0
    end = min(phase[PHASE_PLACE] + AT_ONCE, count)
    for t in range(phase[PHASE_PLACE], end):
        row = touched[t, 0]
        at = row * stride
        words[at] &= -2
        if words[at] == 0 and (first == 1 or words[at + 1] == 0):
            give_back(header, words, stride, first, slots, row)
    phase[PHASE_PLACE] = end
    if end < count:
        return MORE
    phase[PHASE_PLACE] = 0
    phase[PHASE] = IDLE
    return OK


@kernel
def net_events(words: RowWords, stride: int, touched: Touched, count: int, events: Matrix, progress: Line) -> int:
    """Net changes of multiplicity as (row id, weight, change), deletions first, G_MADE of them.

    ``progress`` is as for a staging that begins; changed. Returns OK, or MORE: call again.
    """
    begin = progress[G_PLACE]
    end = min(begin + AT_ONCE, 2 * count)
    made = progress[G_MADE]
    for place in range(begin, end):
        t = place if place < count else place - count
        weight = (words[touched[t, 0] * stride] >> 1) - touched[t, 1]
        if (weight < 0 and place < count) or (weight > 0 and place >= count):
            events[made, 0] = touched[t, 0]
            events[made, 1] = weight
            events[made, 2] = touched[t, 3]
            made += 1
    progress[G_PLACE], progress[G_MADE] = end, made
    return MORE if end < 2 * count else OK
