"""Staging of changes in a base table: apply them, undo them or finish them.

Law: staging, then `undo`, then `finish_commit` leaves the table as it was.
"""

from __future__ import annotations

from typing import Any

from livejoin.kernels.jit import kernel
from livejoin.kernels.rows import (
    ABSENT,
    DUPLICATE,
    OK,
    R_HEAD,
    R_IGNORED,
    R_ROWS,
    R_TAIL,
    R_TOTAL,
    find_or_create,
    find_row,
    give_back,
    hash_change,
    hash_key,
    holder,
    insert_slot,
    remove_slot,
)
from livejoin.kernels.window import add, evict, oldest, subtract, touch


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
    window: int,
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
        queue: Ring of row ids by arrival, a power of two; room for all insertions; changed.
        window: Rows that the table keeps, 0 without a window.
        values: int64 of shape (columns, n).
        weights: int64 +1 or -1 of each change.
        ignore: Skip conflicts and count them in R_IGNORED; a second row with a key is a conflict all the same where
            there is a window, which has moved by then.
        touched: int64 of shape (m, TOUCHED), m at least twice n plus the evictions; filled.

    Returns:
        OK, ABSENT or DUPLICATE; the number of touched rows; the change that broke a rule or -1.
    """
    header[R_IGNORED] = 0
    count = 0
    n = weights.shape[0]
    mask = queue.shape[0] - 1
    for change in range(n):
        if weights[change] > 0:
            row = find_or_create(header, words, stride, first, slots, values, change)
            at = row * stride
            count = touch(header, words, at, row, first, touched, count, change)
            add(header, words, at)
            if window > 0:
                queue[header[R_TAIL] & mask] = row
                header[R_TAIL] += 1
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
            if window > 0:
                words[at + 1] += 1
    while window > 0 and header[R_TOTAL] > window:
        count = evict(header, words, stride, queue, touched, count)
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
                if not ignore or window > 0:
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
    window: int,
    values: Any,
    weights: Any,
    ignore: bool,
    touched: Any,
    events: Any,
) -> tuple[int, int, int, int]:
    """Apply changes one after the other; arguments as for `stage_commit`.

    ``events``, int64 of shape (2n, 3), is filled with (row id, weight, change). A row that the window evicts leaves
    before the one that comes; where both are the same row nothing happens to it.

    Returns:
        OK, ABSENT or DUPLICATE; the number of touched rows; the number of events; the change that broke a rule or -1.
    """
    header[R_IGNORED] = 0
    count = 0
    made = 0
    mask = queue.shape[0] - 1
    for change in range(weights.shape[0]):
        if weights[change] > 0:
            row = find_or_create(header, words, stride, first, slots, values, change)
            at = row * stride
            count = touch(header, words, at, row, first, touched, count, change)
            first_out = -1
            if window > 0 and header[R_TOTAL] == window:
                first_out, count = oldest(header, words, stride, queue, touched, count)
            if key.shape[0] > 0:
                taken = holder(words, stride, key_slots, key, row, hash_key(words, at, key))
                if taken >= 0 and taken != first_out:
                    if not ignore:
                        return DUPLICATE, count, made, change
                    header[R_IGNORED] += 1
                    continue
            if first_out >= 0:
                count = evict(header, words, stride, queue, touched, count)
            if window > 0:
                queue[header[R_TAIL] & mask] = row
                header[R_TAIL] += 1
            add(header, words, at)
            if first_out == row:
                continue
            if first_out >= 0:
                events[made, 0] = first_out
                events[made, 1] = -1
                events[made, 2] = change
                made += 1
                if key.shape[0] > 0:
                    remove_slot(key_slots, hash_key(words, first_out * stride, key), first_out)
            events[made, 0] = row
            events[made, 1] = 1
            events[made, 2] = change
            made += 1
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
            if window > 0:
                words[at + 1] += 1
            events[made, 0] = row
            events[made, 1] = -1
            events[made, 2] = change
            made += 1
            if key.shape[0] > 0 and words[at] >> 1 == 0:
                remove_slot(key_slots, hash_key(words, at, key), row)
    return OK, count, made, -1


@kernel
def undo(
    header: Any,
    words: Any,
    stride: int,
    first: int,
    key_slots: Any,
    key: Any,
    touched: Any,
    count: int,
    head: int,
    tail: int,
) -> None:
    """Restore multiplicities, the key index and the window to what they were before the staging."""
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
        if first == 2:
            words[at + 1] = touched[t, 2]
    header[R_HEAD] = head
    header[R_TAIL] = tail


@kernel
def finish_commit(header: Any, words: Any, stride: int, first: int, slots: Any, touched: Any, count: int) -> None:
    """End a commit, staged or undone: clear the marks and give back the ids of rows that are gone.

    A row of a window that is gone but still stands in the queue keeps its id until its last entry leaves.
    """
    for t in range(count):
        row = touched[t, 0]
        at = row * stride
        words[at] &= -2
        if words[at] == 0 and (first == 1 or words[at + 1] == 0):
            give_back(header, words, stride, first, slots, row)


@kernel
def net_events(words: Any, stride: int, touched: Any, count: int, events: Any) -> int:
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
