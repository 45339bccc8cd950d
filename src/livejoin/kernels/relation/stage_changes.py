"""Changes of a base table one after the other, each with the window that it moves and the key that it takes.

A change may go by its key alone: then it takes the row out that has the key, whatever stands in the other columns. One
that brings a row equal to the one that is there changes nothing, not even the place of the row in a window.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.parameters import Header, Line, Matrix, Offsets, Queue, RowWords, Slots, Touched, Window
from livejoin.kernels.relation.range_window import (
    RANGE_REACH,
    RANGE_ROWS,
    RANGE_TIME,
    W_BEGIN,
    begin_after,
    expire,
    has_expired,
)
from livejoin.kernels.relation.rows import (
    ABSENT,
    DUPLICATE,
    MORE,
    OK,
    R_IGNORED,
    R_TOTAL,
    find_or_create,
    find_row,
    hash_change,
    hash_key,
    hash_key_of_change,
    holder,
    holder_of_change,
    insert_slot,
    remove_slot,
)
from livejoin.kernels.relation.staging import (
    AT_ONCE,
    DELETE,
    DELETE_BY_KEY,
    FORGET_BY_KEY,
    G_CHANGE,
    G_COUNT,
    G_MADE,
    UPSERT,
    arrive,
    is_absent,
    leave,
)
from livejoin.kernels.relation.window import add, evict, oldest, touch


@helper
def _note(events: Matrix, made: int, row: int, weight: int, change: int) -> int:
    """Write an event; returns how many there are."""
    events[made, 0] = row
    events[made, 1] = weight
    events[made, 2] = change
    return made + 1


@helper
def _is_taken(
    words: RowWords, stride: int, key_slots: Slots, key: Offsets, window: Window, row: int, leaving: int, begin: int
) -> bool:
    """Whether another row holds the key of a row that comes, and stays: it is not the one that leaves the window."""
    if key.shape[0] == 0:
        return False
    taken = holder(words, stride, key_slots, key, row, hash_key(words, row * stride, key))
    stays = window[RANGE_REACH] < 0 or (taken >= 0 and words[taken * stride + window[RANGE_TIME]] >= begin)
    return bool(taken >= 0 and taken != leaving and stays)


@helper
def _release_key(words: RowWords, stride: int, key_slots: Slots, key: Offsets, row: int) -> None:
    """Give the key of a row back that has left."""
    if key.shape[0] > 0:
        remove_slot(key_slots, hash_key(words, row * stride, key), row)


@helper
def _expire_some(
    header: Header,
    words: RowWords,
    stride: int,
    key_slots: Slots,
    key: Offsets,
    queue: Queue,
    touched: Touched,
    count: int,
    events: Matrix,
    made: int,
    change: int,
    left: int,
) -> tuple[int, int, int]:
    """Take rows out that a window by range has left behind, so many at most.

    Returns:
        The numbers of touched rows and of events, and how many more rows could have been taken.
    """
    while left > 0 and has_expired(queue):
        out, gone, count = expire(header, words, stride, queue, touched, count)
        if gone > 0:
            made = _note(events, made, out, -gone, change)
            _release_key(words, stride, key_slots, key, out)
        left -= 1
    return count, made, left


@inlined
def _insert_one(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    key_slots: Slots,
    key: Offsets,
    queue: Queue,
    window: Window,
    values: Matrix,
    ignore: bool,
    touched: Touched,
    count: int,
    events: Matrix,
    made: int,
    change: int,
    left: int,
) -> tuple[int, int, int, int]:
    """Bring a row in; a status, the numbers of touched rows and of events, and how many rows may still leave a window.

    MORE where the window has more to let go first: the change is to be made again, and nothing of it happens twice.
    """
    by_range = window[RANGE_REACH] >= 0
    begin = queue[W_BEGIN]
    if by_range:
        time = values[window[RANGE_TIME] - first, change]
        if time < begin:
            header[R_IGNORED] += 1
            return OK, count, made, left
        begin = begin_after(queue, window, time)
    row = find_or_create(header, words, stride, first, slots, values, change)
    at = row * stride
    count = touch(header, words, at, row, first, touched, count, change)
    leaving = -1
    if window[RANGE_ROWS] > 0 and header[R_TOTAL] == window[RANGE_ROWS]:
        leaving, count = oldest(header, words, stride, queue, touched, count)
    if _is_taken(words, stride, key_slots, key, window, row, leaving, begin):
        if not ignore:
            return DUPLICATE, count, made, left
        header[R_IGNORED] += 1
        return OK, count, made, left
    if leaving >= 0:
        count = evict(header, words, stride, queue, touched, count)
    if by_range:
        queue[W_BEGIN] = begin
        count, made, left = _expire_some(
            header, words, stride, key_slots, key, queue, touched, count, events, made, change, left
        )
        if has_expired(queue):
            return MORE, count, made, left
    arrive(header, words, stride, queue, window, row)
    add(header, words, at)
    if leaving == row:
        return OK, count, made, left
    if leaving >= 0:
        made = _note(events, made, leaving, -1, change)
        _release_key(words, stride, key_slots, key, leaving)
    made = _note(events, made, row, 1, change)
    if key.shape[0] > 0:
        insert_slot(key_slots, hash_key(words, at, key), row)
    return OK, count, made, left


@inlined
def _delete_one(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    key_slots: Slots,
    key: Offsets,
    window: Window,
    values: Matrix,
    ignore: bool,
    touched: Touched,
    count: int,
    events: Matrix,
    made: int,
    change: int,
) -> tuple[int, int, int]:
    """Take a row out; a status and the numbers of touched rows and of events."""
    h = hash_change(values, change, stride - first)
    row = find_row(words, stride, first, slots, values, change, h)
    if is_absent(words, stride, row):
        if not ignore:
            return ABSENT, count, made
        header[R_IGNORED] += 1
        return OK, count, made
    count = leave(header, words, stride, first, window, row, touched, count, change)
    made = _note(events, made, row, -1, change)
    if words[row * stride] >> 1 == 0:
        _release_key(words, stride, key_slots, key, row)
    return OK, count, made


@helper
def _holder(
    words: RowWords, stride: int, first: int, key_slots: Slots, key: Offsets, values: Matrix, change: int
) -> int:
    """Id of the row that has the key of a change, -1 if none has."""
    h = hash_key_of_change(values, change, first, key)
    row: int = holder_of_change(words, stride, first, key_slots, key, values, change, h)
    return row


@helper
def _is_row(words: RowWords, stride: int, first: int, row: int, values: Matrix, change: int) -> bool:
    """Whether a change brings a row as it is there."""
    for k in range(stride - first):
        if words[row * stride + first + k] != values[k, change]:
            return False
    return True


@helper
def _take_out(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    key_slots: Slots,
    key: Offsets,
    window: Window,
    row: int,
    touched: Touched,
    count: int,
    events: Matrix,
    made: int,
    change: int,
) -> tuple[int, int]:
    """Take a row out that a change names by its key; the numbers of touched rows and of events."""
    count = leave(header, words, stride, first, window, row, touched, count, -1)
    made = _note(events, made, row, -1, change)
    _release_key(words, stride, key_slots, key, row)
    return count, made


@kernel
def stage_changes(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    key_slots: Slots,
    key: Offsets,
    queue: Queue,
    window: Window,
    values: Matrix,
    weights: Line,
    ignore: bool,
    touched: Touched,
    progress: Line,
    events: Matrix,
) -> tuple[int, int, int, int]:
    """Apply changes one after the other; arguments as for `livejoin.kernels.relation.stage_commit.stage_commit`.

    ``events``, int64 of shape (2n and the entries of a heap, 3), is filled with (row id, weight, change). A row that
    the window evicts, or that an upsert replaces, leaves before the one that comes; where both are the same row nothing
    happens to it. ``weights`` may also say what goes by key, as `livejoin.kernels.relation.staging` names it; then
    ``touched`` has two places a change.

    Returns:
        OK, ABSENT, DUPLICATE or MORE; the numbers of touched rows and of events; the change that broke a rule or -1.
    """
    if progress[G_CHANGE] == 0:
        header[R_IGNORED] = 0
    count, made = progress[G_COUNT], progress[G_MADE]
    end = min(progress[G_CHANGE] + AT_ONCE, weights.shape[0])
    left = AT_ONCE
    for change in range(progress[G_CHANGE], end):
        kind = weights[change]
        status = OK
        row = -1
        if kind >= UPSERT or kind <= DELETE_BY_KEY:
            row = _holder(words, stride, first, key_slots, key, values, change)
        if kind == UPSERT and row >= 0:
            if _is_row(words, stride, first, row, values, change):
                continue
            is_late = window[RANGE_REACH] >= 0 and values[window[RANGE_TIME] - first, change] < queue[W_BEGIN]
            if is_late:
                row = -1
        if row >= 0:
            count, made = _take_out(
                header, words, stride, first, key_slots, key, window, row, touched, count, events, made, change
            )
        if kind > 0:
            status, count, made, left = _insert_one(
                header,
                words,
                stride,
                first,
                slots,
                key_slots,
                key,
                queue,
                window,
                values,
                ignore,
                touched,
                count,
                events,
                made,
                change,
                left,
            )
        elif kind == DELETE:
            status, count, made = _delete_one(
                header,
                words,
                stride,
                first,
                slots,
                key_slots,
                key,
                window,
                values,
                ignore,
                touched,
                count,
                events,
                made,
                change,
            )
        elif row < 0 and kind != FORGET_BY_KEY:
            if not ignore:
                status = ABSENT
            else:
                header[R_IGNORED] += 1
        if status != OK:
            progress[G_CHANGE], progress[G_COUNT], progress[G_MADE] = change, count, made
            return status, count, made, change
    progress[G_CHANGE], progress[G_COUNT], progress[G_MADE] = end, count, made
    return (MORE if end < weights.shape[0] else OK), count, made, -1
