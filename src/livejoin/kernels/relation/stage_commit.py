"""An atomic set of changes of a base table, of which the net effect counts.

Insertions come before deletions, then the window moves, and the keys are looked at last: within one commit a key may be
given from a row to another one, in either order. Where there is a primary key and no window, deletions come first and
those whose rows have yet to come wait for them: that leaves the same rows, and a new row finds its key free.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.addresses import length_at
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Addresses, Line, Matrix, Touched, Values
from livejoin.kernels.relation.buffers import QUEUE_AT, TableBuffers, opened
from livejoin.kernels.relation.occurrences import arrive, is_absent, leave
from livejoin.kernels.relation.range_window import (
    RANGE_REACH,
    RANGE_ROWS,
    RANGE_TIME,
    W_BEGIN,
    begin_after,
    expire,
    has_expired,
)
from livejoin.kernels.relation.row_index import bring, hash_of_change, look_ahead, look_up
from livejoin.kernels.relation.rows import (
    ABSENT,
    K_NUMBER,
    MORE,
    OK,
    R_DOUBT,
    R_IGNORED,
    R_RING,
    R_TOTAL,
    TOUCHED,
)
from livejoin.kernels.relation.settle_keys import settle_keys
from livejoin.kernels.relation.staging import (
    AHEAD,
    AT_ONCE,
    G_CHANGE,
    G_COUNT,
    G_HASHES,
    G_MADE,
    G_NEXT,
    G_WAITING,
)
from livejoin.kernels.relation.unique import U_NUMBER
from livejoin.kernels.relation.window import add, evict, touch

_NOBODY = -1


@inlined
def _choose(weights: Line, sign: int, begin: int, end: int, progress: Line) -> tuple[int, int]:
    """Write the places of the next changes of a sign behind G_NEXT; how many, and where to look for others.

    There is no branch on the sign, which in a set of both kinds could not be foretold.
    """
    count, change = 0, begin
    while change < end and count < AHEAD:
        progress[G_NEXT + count] = change
        count += 1 if weights[change] * sign > 0 else 0
        change += 1
    return count, change


@helper
def _insert_some(
    t: TableBuffers, values: Values, n: int, weights: Line, touched: Touched, progress: Line, offset: int
) -> None:
    """Bring rows in that come, some more of the changes; ``offset`` is what G_CHANGE is when that begins."""
    if progress[G_CHANGE] == offset:
        progress[G_MADE] = t.queue[W_BEGIN]
    window_begin, count = progress[G_MADE], progress[G_COUNT]
    begin = progress[G_CHANGE] - offset
    end = min(begin + AT_ONCE, n)
    while begin < end:
        chosen, begin = _choose(weights, 1, begin, end, progress)
        look_ahead(t, values, n, chosen, progress)
        for i in range(chosen):
            change, h = progress[G_NEXT + i], progress[G_HASHES + i]
            row = bring(t, values, n, change, h, _NOBODY)
            at = row * t.stride
            count = touch(t, at, row, touched, count, change)
            add(t, at)
            if t.words[at] >> 1 > 1:
                t.header[R_DOUBT] += 1
            arrive(t, row)
            if t.window[RANGE_REACH] >= 0:
                if t.words[at + t.window[RANGE_TIME]] < window_begin:
                    t.header[R_IGNORED] += 1
                t.queue[W_BEGIN] = begin_after(t, t.words[at + t.window[RANGE_TIME]])
    progress[G_CHANGE], progress[G_COUNT] = offset + end, count


@helper
def _delete_some(
    t: TableBuffers, values: Values, n: int, weights: Line, ignore: bool, touched: Touched, progress: Line, offset: int
) -> tuple[int, int, int]:
    """Take rows out that go, some more of the changes; what `stage_commit` returns.

    Where that is done first, a deletion whose row is not there waits for the insertions.
    """
    count = progress[G_COUNT]
    begin = progress[G_CHANGE] - offset
    end = min(begin + AT_ONCE, n)
    while begin < end:
        chosen, begin = _choose(weights, -1, begin, end, progress)
        look_ahead(t, values, n, chosen, progress)
        for i in range(chosen):
            change, h = progress[G_NEXT + i], progress[G_HASHES + i]
            row = look_up(t, values, n, change, h)
            if not is_absent(t, row):
                count = leave(t, row, touched, count, change)
            elif offset == 0:
                progress[G_WAITING] += 1
                touched[TOUCHED * (n - progress[G_WAITING]) + 3] = change
            elif ignore:
                t.header[R_IGNORED] += 1
            else:
                return ABSENT, count, change
    progress[G_CHANGE], progress[G_COUNT] = offset + end, count
    return OK, count, -1


@helper
def _delete_waiting(
    t: TableBuffers, values: Values, n: int, ignore: bool, touched: Touched, progress: Line, offset: int
) -> tuple[int, int, int]:
    """Take rows out that only the insertions have brought, some of them; what `stage_commit` returns.

    Which changes say so stands in the last of n places of ``touched``, which they themselves did not need.
    """
    count = progress[G_COUNT]
    begin = progress[G_CHANGE] - offset
    end = min(begin + AT_ONCE, progress[G_WAITING])
    for place in range(begin, end):
        change = touched[TOUCHED * (n - 1 - place) + 3]
        h = hash_of_change(t, values, n, change)
        row = look_up(t, values, n, change, h)
        if not is_absent(t, row):
            count = leave(t, row, touched, count, change)
        elif ignore:
            t.header[R_IGNORED] += 1
        else:
            return ABSENT, count, change
    progress[G_CHANGE], progress[G_COUNT] = offset + end, count
    return OK, count, -1


@helper
def _move_window(t: TableBuffers, touched: Touched, progress: Line) -> bool:
    """Take rows out that the window has left behind; whether these were all."""
    count = progress[G_COUNT]
    taken = 0
    while taken < AT_ONCE and t.window[RANGE_ROWS] > 0 and t.header[R_TOTAL] > t.window[RANGE_ROWS]:
        count = evict(t, touched, count)
        taken += 1
    while taken < AT_ONCE and t.window[RANGE_REACH] >= 0 and has_expired(t):
        _, _, count = expire(t, touched, count)
        taken += 1
    progress[G_COUNT] = count
    return taken < AT_ONCE


@inlined
def stage_set(
    t: TableBuffers, values: Values, n: int, weights: Line, ignore: bool, touched: Touched, progress: Line
) -> tuple[int, int, int]:
    """As `stage_commit`, of n changes."""
    if progress[G_CHANGE] == 0:
        t.header[R_IGNORED] = 0
        t.header[R_DOUBT] = 0
    deletes_first = t.key[K_NUMBER] > 0 and t.first == 1
    inserts_at, deletes_at = (n, 0) if deletes_first else (0, n)
    while progress[G_CHANGE] < 2 * n:
        if (progress[G_CHANGE] < n) == deletes_first:
            status, count, change = _delete_some(t, values, n, weights, ignore, touched, progress, deletes_at)
            if status != OK:
                return status, count, change
        else:
            _insert_some(t, values, n, weights, touched, progress, inserts_at)
        if n > AT_ONCE:
            return MORE, progress[G_COUNT], -1
    while progress[G_CHANGE] < 2 * n + progress[G_WAITING]:
        status, count, change = _delete_waiting(t, values, n, ignore, touched, progress, 2 * n)
        if status != OK:
            return status, count, change
        if n > AT_ONCE:
            return MORE, progress[G_COUNT], -1
    if not _move_window(t, touched, progress):
        return MORE, progress[G_COUNT], -1
    if t.uniques[U_NUMBER] == 0 and (t.key[K_NUMBER] == 0 or t.header[R_DOUBT] == 0):
        return OK, progress[G_COUNT], -1
    return settle_keys(t, ignore, touched, progress)


@kernel
def stage_commit(
    table: Addresses, values: Matrix, weights: Line, ignore: bool, touched: Touched, progress: Line
) -> tuple[int, int, int]:
    """Apply an atomic set of changes: insertions and deletions, then the window, then the keys.

    A call does a piece of it; it is called with the same arguments until it does not return MORE.

    Args:
        table: The buffers of the table, with room for all insertions.
        values: int64 of shape (columns, n).
        weights: int64 +1 or -1 of each change.
        ignore: Skip conflicts and count them in R_IGNORED; a second row with a key is a conflict all the same where
            there is a window, which has moved by then. Rows that are too late for a window by range are counted there
            in any case.
        touched: int64 of shape (m, TOUCHED), m at least twice n plus the evictions; filled.
        progress: As `livejoin.kernels.relation.staging` says; changed.

    Returns:
        OK, ABSENT, DUPLICATE, TAKEN and the number of a constraint, or MORE; the number of touched rows; the change
        that broke a rule or -1.
    """
    t, n = opened(table), weights.shape[0]
    t.header[R_RING] = length_at(view(table), QUEUE_AT) - 1
    return stage_set(t, view(values), n, view(weights), ignore, view(touched), view(progress))
