"""The end of a staging in a base table: its net events, and to undo it or finish it.

A caller may be cut off between two kernels, but not inside of one. So each of them writes as the last thing how far the
staging has come, and whoever ends it looks there what is left to do. Each call does a piece, for some milliseconds.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Header, Line, Matrix, Offsets, Queue, RowWords, Slots, Touched, Window
from livejoin.kernels.relation.range_window import RANGE_REACH, RANGE_ROWS, W_BEGIN, push
from livejoin.kernels.relation.row_index import let_go, rows_ahead, take_place
from livejoin.kernels.relation.rows import (
    K_NUMBER,
    MORE,
    OK,
    R_HEAD,
    R_ROWS,
    R_TAIL,
    R_TOTAL,
    TOUCHED,
)
from livejoin.kernels.relation.staging import AHEAD, AT_ONCE, G_MADE, G_PLACE
from livejoin.kernels.relation.unique import U_NUMBER, release, restore

# The phase: how far a staging has come, and how far what ends it now.
PHASE = 0
PHASE_PLACE = 1
PHASE_SEEN = 2  # what was read ahead, for nobody
PHASE_WORDS = 3

IDLE = 0  # there is none
STAGED = 1  # it has begun; what it has touched so far is written down
UNDONE = 2  # it was taken back; the marks and the ids that it took are still there
FINISHING = 3  # it stands, or was taken back; some of the marks and of the ids are still there


@helper
def _restore(
    header: Header, words: RowWords, stride: int, queue: Queue, window: Window, touched: Touched, t: int
) -> None:
    """Give a row its multiplicity of before, and its place in the window."""
    at = touched[TOUCHED * t] * stride
    now = words[at] >> 1
    before = touched[TOUCHED * t + 1]
    header[R_TOTAL] += before - now
    header[R_ROWS] += (1 if before > 0 else 0) - (1 if now > 0 else 0)
    words[at] = (before << 1) | 1
    if window[RANGE_ROWS] > 0:
        words[at + 1] = touched[TOUCHED * t + 2]
    elif window[RANGE_REACH] >= 0 and touched[TOUCHED * t + 2] > 0:
        push(words, stride, queue, window, touched[TOUCHED * t])


@inlined
def _undo(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    key: Offsets,
    unique_slots: Slots,
    uniques: Offsets,
    queue: Queue,
    window: Window,
    touched: Touched,
    count: int,
    phase: Line,
    head: int,
    tail: int,
) -> int:
    begin = phase[PHASE_PLACE]
    if uniques[U_NUMBER] == 0:
        begin = max(begin, count if key[K_NUMBER] > 0 else 2 * count)
    end = min(begin + AT_ONCE, 3 * count)
    for place in range(begin, end):
        if place < count:
            if touched[TOUCHED * place + 1] == 0:
                release(words, stride, unique_slots, uniques, touched[TOUCHED * place])
        elif place < 2 * count:
            row = touched[TOUCHED * (place - count)]
            if touched[TOUCHED * (place - count) + 1] > 0:
                restore(words, stride, unique_slots, uniques, row)
                if key[K_NUMBER] > 0:
                    take_place(header, words, stride, first, slots, key, row)
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
def undo(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    key: Offsets,
    unique_slots: Slots,
    uniques: Offsets,
    queue: Queue,
    window: Window,
    touched: Touched,
    count: int,
    phase: Line,
    head: int,
    tail: int,
) -> int:
    """Restore multiplicities, the keys and the window to what they were before the staging, which is UNDONE then.

    The heap of a window by range may keep entries of rows that the staging brought, as dead ones. Returns OK, or MORE:
    call again.
    """
    return _undo(
        view(header),
        view(words),
        stride,
        first,
        view(slots),
        view(key),
        view(unique_slots),
        view(uniques),
        view(queue),
        view(window),
        view(touched),
        count,
        view(phase),
        head,
        tail,
    )


@inlined
def _finish_commit(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    key: Offsets,
    touched: Touched,
    count: int,
    phase: Line,
) -> int:
    if phase[PHASE] != FINISHING:
        phase[PHASE] = FINISHING
        phase[PHASE_PLACE] = 0
    end = min(phase[PHASE_PLACE] + AT_ONCE, count)
    for t in range(phase[PHASE_PLACE], end):
        if (t - phase[PHASE_PLACE]) % AHEAD == 0:
            phase[PHASE_SEEN] ^= rows_ahead(header, words, stride, first, slots, key, touched, t, min(t + AHEAD, end))
        row = touched[TOUCHED * t]
        at = row * stride
        words[at] &= -2
        if words[at] == 0 and (first == 1 or words[at + 1] == 0):
            let_go(header, words, stride, first, slots, key, row)
    phase[PHASE_PLACE] = end
    if end < count:
        return MORE
    phase[PHASE_PLACE] = 0
    phase[PHASE] = IDLE
    return OK


@kernel
def finish_commit(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    key: Offsets,
    touched: Touched,
    count: int,
    phase: Line,
) -> int:
    """End a commit, staged or undone: clear the marks and give back the ids of rows that are gone; it is IDLE then.

    A row of a window that is gone but still stands in the queue keeps its id until its last entry leaves. Returns OK,
    or MORE: call again.
    """
    return _finish_commit(
        view(header), view(words), stride, first, view(slots), view(key), view(touched), count, view(phase)
    )


@inlined
def _net_events(
    words: RowWords, stride: int, touched: Touched, count: int, events: Line, room: int, progress: Line
) -> int:
    begin = progress[G_PLACE]
    end = min(begin + AT_ONCE, 2 * count)
    made = progress[G_MADE]
    for place in range(begin, end):
        t = place if place < count else place - count
        weight = (words[touched[TOUCHED * t] * stride] >> 1) - touched[TOUCHED * t + 1]
        if (weight < 0 and place < count) or (weight > 0 and place >= count):
            events[made] = touched[TOUCHED * t]
            events[room + made] = weight
            events[2 * room + made] = touched[TOUCHED * t + 3]
            made += 1
    progress[G_PLACE], progress[G_MADE] = end, made
    return MORE if end < 2 * count else OK


@kernel
def net_events(words: RowWords, stride: int, touched: Touched, count: int, events: Matrix, progress: Line) -> int:
    """Net changes of multiplicity, deletions first, G_MADE of them.

    They go to ``events``, int64 of shape (EVENT, n) with n at least ``count``: row ids, weights, and changes.
    ``progress`` is as for a staging that begins; changed. Returns OK, or MORE: call again.
    """
    return _net_events(view(words), stride, view(touched), count, view(events), events.shape[1], view(progress))
