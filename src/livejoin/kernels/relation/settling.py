"""The end of a staging in a base table: its net events, and to undo it or finish it.

A caller may be cut off between two kernels, but not inside of one. So each of them writes as the last thing how far the
staging has come, and whoever ends it looks there what is left to do. Each call does a piece, for some milliseconds.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Addresses, Line, Matrix, Touched
from livejoin.kernels.relation.buffers import TableBuffers, opened
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
def _restore(t: TableBuffers, touched: Touched, place: int) -> None:
    """Give a row its multiplicity of before, and its place in the window."""
    at = touched[TOUCHED * place] * t.stride
    now = t.words[at] >> 1
    before = touched[TOUCHED * place + 1]
    t.header[R_TOTAL] += before - now
    t.header[R_ROWS] += (1 if before > 0 else 0) - (1 if now > 0 else 0)
    t.words[at] = (before << 1) | 1
    if t.window[RANGE_ROWS] > 0:
        t.words[at + 1] = touched[TOUCHED * place + 2]
    elif t.window[RANGE_REACH] >= 0 and touched[TOUCHED * place + 2] > 0:
        push(t, touched[TOUCHED * place])


@inlined
def _undo(t: TableBuffers, touched: Touched, count: int, head: int, tail: int) -> int:
    begin = t.phase[PHASE_PLACE]
    if t.uniques[U_NUMBER] == 0:
        begin = max(begin, count if t.key[K_NUMBER] > 0 else 2 * count)
    end = min(begin + AT_ONCE, 3 * count)
    for place in range(begin, end):
        if place < count:
            if touched[TOUCHED * place + 1] == 0:
                release(t, touched[TOUCHED * place])
        elif place < 2 * count:
            row = touched[TOUCHED * (place - count)]
            if touched[TOUCHED * (place - count) + 1] > 0:
                restore(t, row)
                if t.key[K_NUMBER] > 0:
                    take_place(t, row)
        else:
            _restore(t, touched, place - 2 * count)
    t.phase[PHASE_PLACE] = end
    if end < 3 * count:
        return MORE
    if t.window[RANGE_REACH] >= 0:
        t.queue[W_BEGIN] = head
    else:
        t.header[R_HEAD] = head
        t.header[R_TAIL] = tail
    t.phase[PHASE_PLACE] = 0
    t.phase[PHASE] = UNDONE
    return OK


@kernel
def undo(table: Addresses, touched: Touched, count: int, head: int, tail: int) -> int:
    """Restore multiplicities, the keys and the window to what they were before the staging, which is UNDONE then.

    The heap of a window by range may keep entries of rows that the staging brought, as dead ones. Returns OK, or MORE:
    call again.
    """
    return _undo(opened(table), view(touched), count, head, tail)


@inlined
def _finish_commit(t: TableBuffers, touched: Touched, count: int) -> int:
    if t.phase[PHASE] != FINISHING:
        t.phase[PHASE] = FINISHING
        t.phase[PHASE_PLACE] = 0
    begin = t.phase[PHASE_PLACE]
    end = min(begin + AT_ONCE, count)
    while begin < end:
        ahead = min(begin + AHEAD, end)
        t.phase[PHASE_SEEN] ^= rows_ahead(t, touched, begin, ahead)
        for place in range(begin, ahead):
            row = touched[TOUCHED * place]
            at = row * t.stride
            t.words[at] &= -2
            if t.words[at] == 0 and (t.first == 1 or t.words[at + 1] == 0):
                let_go(t, row)
        begin = ahead
    t.phase[PHASE_PLACE] = end
    if end < count:
        return MORE
    t.phase[PHASE_PLACE] = 0
    t.phase[PHASE] = IDLE
    return OK


@kernel
def finish_commit(table: Addresses, touched: Touched, count: int) -> int:
    """End a commit, staged or undone: clear the marks and give back the ids of rows that are gone; it is IDLE then.

    A row of a window that is gone but still stands in the queue keeps its id until its last entry leaves. Returns OK,
    or MORE: call again.
    """
    return _finish_commit(opened(table), view(touched), count)


@inlined
def write_net_events(t: TableBuffers, touched: Touched, count: int, events: Line, room: int, progress: Line) -> int:
    """As `net_events`, whose ``events`` have room for so many."""
    begin = progress[G_PLACE]
    end = min(begin + AT_ONCE, 2 * count)
    made = progress[G_MADE]
    for place in range(begin, end):
        at = TOUCHED * (place if place < count else place - count)
        weight = (t.words[touched[at] * t.stride] >> 1) - touched[at + 1]
        if (weight < 0 and place < count) or (weight > 0 and place >= count):
            events[made] = touched[at]
            events[room + made] = weight
            events[2 * room + made] = touched[at + 3]
            made += 1
    progress[G_PLACE], progress[G_MADE] = end, made
    return MORE if end < 2 * count else OK


@kernel
def net_events(table: Addresses, touched: Touched, count: int, events: Matrix, progress: Line) -> int:
    """Net changes of multiplicity, deletions first, G_MADE of them.

    They go to ``events``, int64 of shape (EVENT, n) with n at least ``count``: row ids, weights, and changes.
    ``progress`` is as for a staging that begins; changed. Returns OK, or MORE: call again.
    """
    return write_net_events(opened(table), view(touched), count, view(events), events.shape[1], view(progress))
