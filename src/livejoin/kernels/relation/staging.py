"""Staging of changes in a base table: they are applied at once, and `livejoin.kernels.relation.settling` ends them.

Law: staging, then `undo`, then `finish_commit` leaves the table as it was.
"""

from __future__ import annotations

from typing import Any

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.relation.range_window import (
    RANGE_REACH,
    RANGE_ROWS,
    RANGE_TIME,
    W_BEGIN,
    begin_after,
    expire,
    has_expired,
    push,
)
from livejoin.kernels.relation.rows import (
    ABSENT,
    DUPLICATE,
    OK,
    R_IGNORED,
    R_TAIL,
    R_TOTAL,
    find_or_create,
    find_row,
    hash_change,
    hash_key,
    holder,
    insert_slot,
    remove_slot,
)
from livejoin.kernels.relation.window import add, evict, oldest, subtract, touch


@helper
def _arrive(header: Any, words: Any, stride: int, queue: Any, window: Any, row: int) -> None:
    """Note in the window that a row came."""
    if window[RANGE_ROWS] > 0:
        queue[header[R_TAIL] & (queue.shape[0] - 1)] = row
        header[R_TAIL] += 1
    elif window[RANGE_REACH] >= 0:
        push(words, stride, queue, window, row)


@helper
def _note(events: Any, made: int, row: int, weight: int, change: int) -> int:
    """Write an event; returns how many there are."""
    events[made, 0] = row
    events[made, 1] = weight
    events[made, 2] = change
    return made + 1


@kernel
def stage_commit(
    header: Any,
    words: Any,
    stride: int,
    first: int,
    slots: Any,
    key_slots: Any,
    key: Any,
    queue: Any,
    window: Any,
    values: Any,
    weights: Any,
    ignore: bool,
    touched: Any,
) -> tuple[int, int, int]:
    """Apply an atomic set of changes: all insertions, then all deletions, then the window, then the unique key.

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

    Returns:
        OK, ABSENT or DUPLICATE; the number of touched rows; the change that broke a rule or -1.
    """
    header[R_IGNORED] = 0
    count = 0
    n = weights.shape[0]
    begin = queue[W_BEGIN]
    for change in range(n):
        if weights[change] > 0:
            row = find_or_create(header, words, stride, first, slots, values, change)
            at = row * stride
            count = touch(header, words, at, row, first, touched, count, change)
            add(header, words, at)
            _arrive(header, words, stride, queue, window, row)
            if window[RANGE_REACH] >= 0:
                if words[at + window[RANGE_TIME]] < begin:
                    header[R_IGNORED] += 1
                queue[W_BEGIN] = begin_after(queue, window, words[at + window[RANGE_TIME]])
    for change in range(n):
        if weights[change] < 0:
            h = hash_change(values, change, stride - first)
            row = find_row(words, stride, first, slots, values, change, h)
            if row < 0 or words[row * stride] >> 1 == 0:
                if ignore:
                    header[R_IGNORED] += 1
                    continue
                return ABSENT, count, change
            at = row * stride
            count = touch(header, words, at, row, first, touched, count, change)
            subtract(header, words, at)
            if window[RANGE_ROWS] > 0:
                words[at + 1] += 1
    while window[RANGE_ROWS] > 0 and header[R_TOTAL] > window[RANGE_ROWS]:
        count = evict(header, words, stride, queue, touched, count)
    while window[RANGE_REACH] >= 0 and has_expired(queue):
        _, _, count = expire(header, words, stride, queue, touched, count)
    if key.shape[0] > 0:
        for t in range(count):
            row = touched[t, 0]
            if touched[t, 1] > 0 and words[row * stride] >> 1 == 0:
                remove_slot(key_slots, hash_key(words, row * stride, key), row)
        for t in range(count):
            row = touched[t, 0]
            at = row * stride
            surplus = 0
            if words[at] >> 1 > 0:
                if touched[t, 1] == 0:
                    h = hash_key(words, at, key)
                    if holder(words, stride, key_slots, key, row, h) >= 0:
                        surplus = words[at] >> 1
                    else:
                        insert_slot(key_slots, h, row)
                        surplus = (words[at] >> 1) - 1
                else:
                    surplus = (words[at] >> 1) - 1
            if surplus > 0:
                if not ignore or first == 2:
                    return DUPLICATE, count, touched[t, 3]
                header[R_IGNORED] += surplus
                for _ in range(surplus):
                    subtract(header, words, at)
    return OK, count, -1


@kernel
def stage_changes(
    header: Any,
    words: Any,
    stride: int,
    first: int,
    slots: Any,
    key_slots: Any,
    key: Any,
    queue: Any,
    window: Any,
    values: Any,
    weights: Any,
    ignore: bool,
    touched: Any,
    events: Any,
) -> tuple[int, int, int, int]:
    """Apply changes one after the other; arguments as for `stage_commit`.

    ``events``, int64 of shape (2n and the entries of a heap, 3), is filled with (row id, weight, change). A row that
    the window evicts leaves before the one that comes; where both are the same row nothing happens to it.

    Returns:
        OK, ABSENT or DUPLICATE; the number of touched rows; the number of events; the change that broke a rule or -1.
    """
    header[R_IGNORED] = 0
    count = 0
    made = 0
    by_range = window[RANGE_REACH] >= 0
    begin = queue[W_BEGIN]
    for change in range(weights.shape[0]):
        if weights[change] > 0:
            if by_range:
                time = values[window[RANGE_TIME] - first, change]
                if time < queue[W_BEGIN]:
                    header[R_IGNORED] += 1
                    continue
                begin = begin_after(queue, window, time)
            row = find_or_create(header, words, stride, first, slots, values, change)
            at = row * stride
            count = touch(header, words, at, row, first, touched, count, change)
            first_out = -1
            if window[RANGE_ROWS] > 0 and header[R_TOTAL] == window[RANGE_ROWS]:
                first_out, count = oldest(header, words, stride, queue, touched, count)
            if key.shape[0] > 0:
                taken = holder(words, stride, key_slots, key, row, hash_key(words, at, key))
                stays = not by_range or (taken >= 0 and words[taken * stride + window[RANGE_TIME]] >= begin)
                if taken >= 0 and taken != first_out and stays:
                    if not ignore:
                        return DUPLICATE, count, made, change
                    header[R_IGNORED] += 1
                    continue
            if first_out >= 0:
                count = evict(header, words, stride, queue, touched, count)
            if by_range:
                queue[W_BEGIN] = begin
                while has_expired(queue):
                    out, gone, count = expire(header, words, stride, queue, touched, count)
                    if gone > 0:
                        made = _note(events, made, out, -gone, change)
                        if key.shape[0] > 0:
                            remove_slot(key_slots, hash_key(words, out * stride, key), out)
            _arrive(header, words, stride, queue, window, row)
            add(header, words, at)
            if first_out == row:
                continue
            if first_out >= 0:
                made = _note(events, made, first_out, -1, change)
                if key.shape[0] > 0:
                    remove_slot(key_slots, hash_key(words, first_out * stride, key), first_out)
            made = _note(events, made, row, 1, change)
            if key.shape[0] > 0:
                insert_slot(key_slots, hash_key(words, at, key), row)
        else:
            h = hash_change(values, change, stride - first)
            row = find_row(words, stride, first, slots, values, change, h)
            if row < 0 or words[row * stride] >> 1 == 0:
                if ignore:
                    header[R_IGNORED] += 1
                    continue
                return ABSENT, count, made, change
            at = row * stride
            count = touch(header, words, at, row, first, touched, count, change)
            subtract(header, words, at)
            if window[RANGE_ROWS] > 0:
                words[at + 1] += 1
            made = _note(events, made, row, -1, change)
            if key.shape[0] > 0 and words[at] >> 1 == 0:
                remove_slot(key_slots, hash_key(words, at, key), row)
    return OK, count, made, -1
