"""An atomic set of changes of a base table, of which the net effect counts.

Insertions come before deletions, then the window moves, and the unique key is looked at last: within one commit a key
may be given from a row to another one, in either order.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
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
    holder,
    insert_slot,
    remove_slot,
)
from livejoin.kernels.relation.staging import AT_ONCE, G_CHANGE, G_COUNT, G_MADE, G_PLACE, arrive, is_absent, leave
from livejoin.kernels.relation.window import add, evict, subtract, touch


@helper
def _insert_some(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    queue: Queue,
    window: Window,
    values: Matrix,
    weights: Line,
    touched: Touched,
    progress: Line,
) -> None:
    """Bring rows in that come, some more of the changes."""
    if progress[G_CHANGE] == 0:
        progress[G_MADE] = queue[W_BEGIN]
    begin, count = progress[G_MADE], progress[G_COUNT]
    end = min(progress[G_CHANGE] + AT_ONCE, weights.shape[0])
    for change in range(progress[G_CHANGE], end):
        if weights[change] > 0:
            row = find_or_create(header, words, stride, first, slots, values, change)
            at = row * stride
            count = touch(header, words, at, row, first, touched, count, change)
            add(header, words, at)
            arrive(header, words, stride, queue, window, row)
            if window[RANGE_REACH] >= 0:
                if words[at + window[RANGE_TIME]] < begin:
                    header[R_IGNORED] += 1
                queue[W_BEGIN] = begin_after(queue, window, words[at + window[RANGE_TIME]])
    progress[G_CHANGE], progress[G_COUNT] = end, count


@helper
def _delete_some(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    slots: Slots,
    window: Window,
    values: Matrix,
    weights: Line,
    ignore: bool,
    touched: Touched,
    progress: Line,
) -> tuple[int, int, int]:
    """Take rows out that go, some more of the changes; what `stage_commit` returns."""
    count = progress[G_COUNT]
    begin = progress[G_CHANGE] - weights.shape[0]
    end = min(begin + AT_ONCE, weights.shape[0])
    for change in range(begin, end):
        if weights[change] < 0:
            h = hash_change(values, change, stride - first)
            row = find_row(words, stride, first, slots, values, change, h)
            if not is_absent(words, stride, row):
                count = leave(header, words, stride, first, window, row, touched, count, change)
            elif ignore:
                header[R_IGNORED] += 1
            else:
                return ABSENT, count, change
    progress[G_CHANGE], progress[G_COUNT] = weights.shape[0] + end, count
    return OK, count, -1


@helper
def _move_window(
    header: Header, words: RowWords, stride: int, queue: Queue, window: Window, touched: Touched, progress: Line
) -> bool:
    """Take rows out that the window has left behind; whether these were all."""
    count = progress[G_COUNT]
    taken = 0
    while taken < AT_ONCE and window[RANGE_ROWS] > 0 and header[R_TOTAL] > window[RANGE_ROWS]:
        count = evict(header, words, stride, queue, touched, count)
        taken += 1
    while taken < AT_ONCE and window[RANGE_REACH] >= 0 and has_expired(queue):
        _, _, count = expire(header, words, stride, queue, touched, count)
        taken += 1
    progress[G_COUNT] = count
    return taken < AT_ONCE


@helper
def _surplus(words: RowWords, stride: int, key_slots: Slots, key: Offsets, row: int, before: int) -> int:
    """By how much a touched row stands there too often for its key; a row that takes a free key is entered there."""
    at = row * stride
    now: int = words[at] >> 1
    if now == 0:
        return 0
    if before == 0:
        h = hash_key(words, at, key)
        if holder(words, stride, key_slots, key, row, h) >= 0:
            return now
        insert_slot(key_slots, h, row)
    return now - 1


@helper
def _settle_keys(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    key_slots: Slots,
    key: Offsets,
    ignore: bool,
    touched: Touched,
    progress: Line,
) -> tuple[int, int, int]:
    """Give keys back, then out, by the net effect of the changes, some of them; what `stage_commit` returns."""
    count = progress[G_COUNT]
    begin = progress[G_PLACE]
    end = min(begin + AT_ONCE, 2 * count)
    for t in range(begin, min(end, count)):
        row = touched[t, 0]
        if touched[t, 1] > 0 and words[row * stride] >> 1 == 0:
            remove_slot(key_slots, hash_key(words, row * stride, key), row)
    for t in range(max(begin - count, 0), end - count):
        row = touched[t, 0]
        surplus = _surplus(words, stride, key_slots, key, row, touched[t, 1])
        if surplus > 0:
            if not ignore or first == 2:
                return DUPLICATE, count, touched[t, 3]
            header[R_IGNORED] += surplus
            for _ in range(surplus):
                subtract(header, words, row * stride)
    progress[G_PLACE] = end
    return MORE if end < 2 * count else OK, count, -1


@kernel
def stage_commit(
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
) -> tuple[int, int, int]:
    """Apply an atomic set of changes: all insertions, then all deletions, then the window, then the unique key.

    A call does a piece of it; it is called with the same arguments until it does not return MORE.

    Args:
        header: int64, ROWS_HEADER words; changed.
        words: Rows, flat int64; room for all insertions; changed.
        stride: Words a row.
        first: Offset of a row's first value: 2 if there is a window, else 1.
        slots: Hash index over whole rows; first word is its log2 size; room for all insertions; changed.
        key_slots: The same over the unique key, size 1 without a key; changed.
        key: Offsets of the key's words in a row; empty without a key.
        queue: Ring of row ids by arrival, a power of two, or the heap of a window by range; room for all insertions;
            changed.
        window: What the window is, see `livejoin.kernels.relation.range_window`.
        values: int64 of shape (columns, n).
        weights: int64 +1 or -1 of each change.
        ignore: Skip conflicts and count them in R_IGNORED; a second row with a key is a conflict all the same where
            there is a window, which has moved by then. Rows that are too late for a window by range are counted there
            in any case.
        touched: int64 of shape (m, TOUCHED), m at least twice n plus the evictions; filled.
        progress: As `livejoin.kernels.relation.staging` says; changed.

    Returns:
        OK, ABSENT, DUPLICATE or MORE; the number of touched rows; the change that broke a rule or -1.
    """
    changes = weights.shape[0]
    if progress[G_CHANGE] == 0:
        header[R_IGNORED] = 0
    if progress[G_CHANGE] < changes:
        _insert_some(header, words, stride, first, slots, queue, window, values, weights, touched, progress)
        if changes > AT_ONCE:
            return MORE, progress[G_COUNT], -1
    if progress[G_CHANGE] < 2 * changes:
        status, count, change = _delete_some(
            header, words, stride, first, slots, window, values, weights, ignore, touched, progress
        )
        if status != OK:
            return status, count, change
        if changes > AT_ONCE:
            return MORE, count, -1
    if not _move_window(header, words, stride, queue, window, touched, progress):
        return MORE, progress[G_COUNT], -1
    if key.shape[0] == 0:
        return OK, progress[G_COUNT], -1
    return _settle_keys(header, words, stride, first, key_slots, key, ignore, touched, progress)
