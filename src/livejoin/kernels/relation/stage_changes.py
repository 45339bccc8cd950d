"""Changes of a base table one after the other, each with the window that it moves and the keys that it takes.

A change may go by its key alone: then it takes the row out that has the key, whatever stands in the other columns. One
that brings a row equal to the one that is there changes nothing, not even the place of the row in a window. One that is
a conflict and is skipped does nothing at all: it takes no row out either.
"""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.addresses import length_at
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Addresses, Line, Matrix, RowEvents, Touched, Values
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
    stays,
)
from livejoin.kernels.relation.row_index import bring, holder, holder_of_change, is_row, look_ahead, look_up, take_place
from livejoin.kernels.relation.rows import (
    ABSENT,
    DUPLICATE,
    EVENT,
    K_NUMBER,
    MORE,
    OK,
    R_IGNORED,
    R_OTHERS,
    R_RING,
    R_TOTAL,
    TAKEN,
)
from livejoin.kernels.relation.staging import (
    AHEAD,
    AT_ONCE,
    DELETE,
    DELETE_BY_KEY,
    DROP_BY_KEY,
    FORGET_BY_KEY,
    G_CHANGE,
    G_COUNT,
    G_HASHES,
    G_MADE,
    G_NEXT,
    UPSERT,
)
from livejoin.kernels.relation.unique import U_NUMBER, enter, first_taken
from livejoin.kernels.relation.unique import leave as leave_uniques
from livejoin.kernels.relation.window import add, evict, oldest, touch


class _Sequence(NamedTuple):
    """What a staging is given beside the table: n changes, and what it writes of them."""

    values: Values
    n: int
    ignore: bool
    touched: Touched
    events: RowEvents


@helper
def _note(events: RowEvents, made: int, row: int, weight: int, change: int) -> int:
    """Write an event; returns how many there are."""
    events[EVENT * made] = row
    events[EVENT * made + 1] = weight
    events[EVENT * made + 2] = change
    return made + 1


@helper
def _conflict(t: TableBuffers, row: int, replaced: int, leaving: int, begin: int) -> int:
    """Whether another row that stays has a key of a row that comes: OK, DUPLICATE, or TAKEN and a constraint's number.

    ``replaced`` and ``leaving``, which may be -1, do not stay.
    """
    if t.key[K_NUMBER] > 0:
        other = holder(t, row)
        if other >= 0 and other != replaced and other != leaving and stays(t, other, begin):
            return DUPLICATE
    one = first_taken(t, row, replaced, leaving, begin)
    return TAKEN + one if one >= 0 else OK


@helper
def _release(t: TableBuffers, row: int) -> None:
    """Give the values of a row back that has left, if it has."""
    if t.uniques[U_NUMBER] > 0 and t.words[row * t.stride] >> 1 == 0:
        leave_uniques(t, row)


@helper
def _expire_some(t: TableBuffers, s: _Sequence, count: int, made: int, change: int, left: int) -> tuple[int, int, int]:
    """Take rows out that the window has left behind, at most ``left``; how many more might have gone is third."""
    while left > 0 and has_expired(t):
        out, gone, count = expire(t, s.touched, count)
        if gone > 0:
            made = _note(s.events, made, out, -gone, change)
            _release(t, out)
        left -= 1
    return count, made, left


@helper
def _take_out(
    t: TableBuffers, s: _Sequence, row: int, count: int, made: int, change: int, named: int
) -> tuple[int, int]:
    """Take one occurrence of a row out; ``named`` is the change that names the row, -1 where only its key does.

    Returns:
        The numbers of touched rows and of events.
    """
    count = leave(t, row, s.touched, count, named)
    made = _note(s.events, made, row, -1, change)
    _release(t, row)
    return count, made


@inlined
def _insert_one(
    t: TableBuffers, s: _Sequence, count: int, made: int, change: int, h: int, replaced: int, left: int
) -> tuple[int, int, int, int]:
    """Bring a row in; a status, the numbers of touched rows and of events, and how many rows may still leave a window.

    ``replaced`` is the row that it takes out, or -1. MORE where the window has more to let go first: the change is to
    be made again, and nothing of it happens twice.
    """
    by_range = t.window[RANGE_REACH] >= 0
    begin = t.queue[W_BEGIN]
    if by_range:
        time = s.values[(t.window[RANGE_TIME] - t.first) * s.n + change]
        if time < begin:
            t.header[R_IGNORED] += 1
            return OK, count, made, left
        begin = begin_after(t, time)
    row = bring(t, s.values, s.n, change, h, replaced)
    at = row * t.stride
    count = touch(t, at, row, s.touched, count, change)
    leaving = -1
    if t.window[RANGE_ROWS] > 0 and t.header[R_TOTAL] == t.window[RANGE_ROWS] and replaced < 0:
        leaving, count = oldest(t, s.touched, count)
    status = _conflict(t, row, replaced, leaving, begin)
    if status != OK:
        if replaced >= 0:
            take_place(t, replaced)
        if not s.ignore:
            return status, count, made, left
        t.header[R_IGNORED] += 1
        return OK, count, made, left
    if replaced >= 0:
        count, made = _take_out(t, s, replaced, count, made, change, -1)
    if leaving >= 0:
        count = evict(t, s.touched, count)
    if by_range:
        t.queue[W_BEGIN] = begin
        count, made, left = _expire_some(t, s, count, made, change, left)
        if has_expired(t):
            return MORE, count, made, left
    arrive(t, row)
    add(t, at)
    if leaving == row:
        return OK, count, made, left
    if leaving >= 0:
        made = _note(s.events, made, leaving, -1, change)
        _release(t, leaving)
    made = _note(s.events, made, row, 1, change)
    if t.header[R_OTHERS] > 0:
        take_place(t, row)
    if t.uniques[U_NUMBER] > 0 and t.words[at] >> 1 == 1:
        enter(t, row)
    return OK, count, made, left


@inlined
def _stage_changes(t: TableBuffers, s: _Sequence, weights: Line, progress: Line) -> tuple[int, int, int, int]:
    values, n = s.values, s.n
    if progress[G_CHANGE] == 0:
        t.header[R_IGNORED] = 0
    count, made = progress[G_COUNT], progress[G_MADE]
    end = min(progress[G_CHANGE] + AT_ONCE, n)
    left = AT_ONCE
    begin = progress[G_CHANGE]
    for change in range(begin, end):
        if (change - begin) % AHEAD == 0:
            following = min(AHEAD, end - change)
            for i in range(following):
                progress[G_NEXT + i] = change + i
            look_ahead(t, values, n, following, progress)
        kind = weights[change]
        h = progress[G_HASHES + (change - begin) % AHEAD]
        status = OK
        row = -1
        if kind >= UPSERT or kind <= DELETE_BY_KEY:
            row = holder_of_change(t, values, n, change, h)
        elif kind == DELETE:
            row = look_up(t, values, n, change, h)
            if is_absent(t, row):
                row = -1
        if kind == UPSERT and row >= 0:
            if is_row(t, row, values, n, change):
                continue
            is_late = (
                t.window[RANGE_REACH] >= 0 and values[(t.window[RANGE_TIME] - t.first) * n + change] < t.queue[W_BEGIN]
            )
            if is_late:
                row = -1
        if kind > 0:
            status, count, made, left = _insert_one(t, s, count, made, change, h, row, left)
        elif row >= 0:
            named = change if kind == DELETE else -1
            count, made = _take_out(t, s, row, count, made, change, named)
        elif kind != FORGET_BY_KEY:
            if not s.ignore and kind != DROP_BY_KEY:
                status = ABSENT
            else:
                t.header[R_IGNORED] += 1
        if status != OK:
            progress[G_CHANGE], progress[G_COUNT], progress[G_MADE] = change, count, made
            return status, count, made, change
    progress[G_CHANGE], progress[G_COUNT], progress[G_MADE] = end, count, made
    return (MORE if end < n else OK), count, made, -1


@kernel
def stage_changes(
    table: Addresses, values: Matrix, weights: Line, ignore: bool, touched: Touched, progress: Line, events: Matrix
) -> tuple[int, int, int, int]:
    """Apply changes one after the other; arguments as for `livejoin.kernels.relation.stage_commit.stage_commit`.

    ``events``, int64 of shape (2n and the entries of a heap, 3), is filled with (row id, weight, change). A row that
    the window evicts, or that an upsert replaces, leaves before the one that comes; where both are the same row nothing
    happens to it. ``weights`` may also say what goes by key, as `livejoin.kernels.relation.staging` names it; then
    ``touched`` has two places a change.

    Returns:
        OK, ABSENT, DUPLICATE, TAKEN and the number of a constraint, or MORE; the numbers of touched rows and of events;
        the change that broke a rule or -1.
    """
    t = opened(table)
    t.header[R_RING] = length_at(view(table), QUEUE_AT) - 1
    sequence = _Sequence(view(values), weights.shape[0], ignore, view(touched), view(events))
    return _stage_changes(t, sequence, view(weights), view(progress))
