"""Base tables: a hash multiset of rows of 64-bit words, with an optional unique key and an optional window.

A row is ``[mult << 1 | touched, (dead,) words...]``. Rows keep their id as long as they are there. Staging a commit
changes multiplicities at once and notes the first-touch value of every touched row, so that it can be undone; ids of
rows that are gone are given back only when the commit is finished, because deltas still refer to them.
"""

from __future__ import annotations

from typing import Any

from livejoin.kernels.directory import finish, mix, seed
from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.layout import MASK32

# Header
R_NEXT = 0  # ids given out so far
R_FREE = 1  # first free id plus one
R_ROWS = 2  # rows with a positive multiplicity
R_TOTAL = 3  # sum of multiplicities
R_HEAD = 4  # window queue: position of the oldest entry, position behind the newest
R_TAIL = 5
R_USED = 6  # rows in the hash index
R_IGNORED = 7  # conflicts skipped by the last staging
ROWS_HEADER = 8

# Touched rows: (row id, multiplicity before, dead before, a change that named the row or -1)
TOUCHED = 4

OK = 0
ABSENT = 1
DUPLICATE = 2


@inlined
def _hash_words(words: Any, at: int, count: int) -> int:
    h = seed()
    for i in range(count):
        h = mix(h, words[at + i])
    return finish(h)


@inlined
def _hash_change(values: Any, change: int, count: int) -> int:
    h = seed()
    for i in range(count):
        h = mix(h, values[i, change])
    return finish(h)


@inlined
def _hash_key(words: Any, at: int, key: Any) -> int:
    h = seed()
    for i in range(key.shape[0]):
        h = mix(h, words[at + key[i]])
    return finish(h)


@helper
def _find(words: Any, stride: int, first: int, slots: Any, values: Any, change: int, h: int) -> int:
    """Id of the row that a change names, -1 if there is none; zero-multiplicity rows count."""
    count = stride - first
    log = slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            row: int = (word & MASK32) - 1
            at = row * stride + first
            same = True
            for k in range(count):
                if words[at + k] != values[k, change]:
                    same = False
                    break
            if same:
                return row
        i = (i + 1) & mask


@helper
def _insert_slot(slots: Any, h: int, row: int) -> None:
    log = slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while slots[1 + i] != 0:
        i = (i + 1) & mask
    slots[1 + i] = (h << 32) | (row + 1)


@helper
def _remove_slot(slots: Any, h: int, row: int) -> None:
    """Remove a row's slot; the cluster behind it shifts back."""
    log = slots[0]
    mask = (1 << log) - 1
    hole = h >> (32 - log)
    while slots[1 + hole] & MASK32 != row + 1:
        hole = (hole + 1) & mask
    j = hole
    while True:
        j = (j + 1) & mask
        word = slots[1 + j]
        if word == 0:
            break
        home = ((word >> 32) & MASK32) >> (32 - log)
        if (j - home) & mask >= (j - hole) & mask:
            slots[1 + hole] = word
            hole = j
    slots[1 + hole] = 0


@kernel
def rehash(slots: Any, larger: Any) -> None:
    """Move all slots into a larger, cleared table whose first word is its log2 size."""
    log = larger[0]
    mask = (1 << log) - 1
    for k in range(1 << slots[0]):
        word = slots[1 + k]
        if word != 0:
            i = ((word >> 32) & MASK32) >> (32 - log)
            while larger[1 + i] != 0:
                i = (i + 1) & mask
            larger[1 + i] = word


@helper
def _touch(header: Any, words: Any, at: int, row: int, first: int, touched: Any, count: int, change: int) -> int:
    """Note a row's state before its first change in this commit; returns the number of touched rows."""
    word = words[at]
    if word & 1:
        return count
    touched[count, 0] = row
    touched[count, 1] = word >> 1
    touched[count, 2] = words[at + 1] if first == 2 else 0
    touched[count, 3] = change
    words[at] = word | 1
    return count + 1


@helper
def _find_or_create(header: Any, words: Any, stride: int, first: int, slots: Any, values: Any, change: int) -> int:
    h = _hash_change(values, change, stride - first)
    row: int = _find(words, stride, first, slots, values, change, h)
    if row >= 0:
        return row
    if header[R_FREE] != 0:
        row = header[R_FREE] - 1
        header[R_FREE] = words[row * stride + 1]
    else:
        row = header[R_NEXT]
        header[R_NEXT] = row + 1
    at = row * stride
    words[at] = 0
    words[at + 1] = 0
    for k in range(stride - first):
        words[at + first + k] = values[k, change]
    _insert_slot(slots, h, row)
    header[R_USED] += 1
    return row


@helper
def _holder(words: Any, stride: int, slots: Any, key: Any, row: int, h: int) -> int:
    """Id of the row that holds the unique key of ``row``, -1 if none does."""
    log = slots[0]
    mask = (1 << log) - 1
    i = h >> (32 - log)
    while True:
        word = slots[1 + i]
        if word == 0:
            return -1
        if (word >> 32) & MASK32 == h:
            other: int = (word & MASK32) - 1
            same = True
            for k in range(key.shape[0]):
                if words[other * stride + key[k]] != words[row * stride + key[k]]:
                    same = False
                    break
            if same:
                return other
        i = (i + 1) & mask


@helper
def _add(header: Any, words: Any, at: int) -> None:
    if words[at] >> 1 == 0:
        header[R_ROWS] += 1
    words[at] += 2
    header[R_TOTAL] += 1


@helper
def _subtract(header: Any, words: Any, at: int) -> None:
    words[at] -= 2
    header[R_TOTAL] -= 1
    if words[at] >> 1 == 0:
        header[R_ROWS] -= 1


@helper
def _oldest(header: Any, words: Any, stride: int, queue: Any, touched: Any, count: int) -> tuple[int, int]:
    """Drop dead entries from the head of the window; returns the id of the oldest row and the number touched."""
    mask = queue.shape[0] - 1
    while True:
        row = queue[header[R_HEAD] & mask]
        at = row * stride
        if words[at + 1] == 0:
            return row, count
        count = _touch(header, words, at, row, 2, touched, count, -1)
        words[at + 1] -= 1
        header[R_HEAD] += 1


@helper
def _evict(header: Any, words: Any, stride: int, queue: Any, touched: Any, count: int) -> int:
    """Take the oldest row out of the window; returns the number of touched rows."""
    row, count = _oldest(header, words, stride, queue, touched, count)
    count = _touch(header, words, row * stride, row, 2, touched, count, -1)
    header[R_HEAD] += 1
    _subtract(header, words, row * stride)
    return count


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
        ignore: Skip conflicts and count them in R_IGNORED.
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
            row = _find_or_create(header, words, stride, first, slots, values, change)
            at = row * stride
            count = _touch(header, words, at, row, first, touched, count, change)
            _add(header, words, at)
            if window > 0:
                queue[header[R_TAIL] & mask] = row
                header[R_TAIL] += 1
    for change in range(n):
        if weights[change] < 0:
            h = _hash_change(values, change, stride - first)
            row = _find(words, stride, first, slots, values, change, h)
            if row < 0 or words[row * stride] >> 1 == 0:
                if ignore:
                    header[R_IGNORED] += 1
                    continue
                return ABSENT, count, change
            at = row * stride
            count = _touch(header, words, at, row, first, touched, count, change)
            _subtract(header, words, at)
            if window > 0:
                words[at + 1] += 1
    while window > 0 and header[R_TOTAL] > window:
        count = _evict(header, words, stride, queue, touched, count)
    if key.shape[0] > 0:
        for t in range(count):
            row = touched[t, 0]
            if touched[t, 1] > 0 and words[row * stride] >> 1 == 0:
                _remove_slot(key_slots, _hash_key(words, row * stride, key), row)
        for t in range(count):
            row = touched[t, 0]
            at = row * stride
            surplus = 0
            if words[at] >> 1 > 0:
                if touched[t, 1] == 0:
                    h = _hash_key(words, at, key)
                    if _holder(words, stride, key_slots, key, row, h) >= 0:
                        surplus = words[at] >> 1
                    else:
                        _insert_slot(key_slots, h, row)
                        surplus = (words[at] >> 1) - 1
                else:
                    surplus = (words[at] >> 1) - 1
            if surplus > 0:
                if not ignore:
                    return DUPLICATE, count, touched[t, 3]
                header[R_IGNORED] += surplus
                for _ in range(surplus):
                    _subtract(header, words, at)
                if window > 0:
                    words[at + 1] += surplus
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
            row = _find_or_create(header, words, stride, first, slots, values, change)
            at = row * stride
            count = _touch(header, words, at, row, first, touched, count, change)
            oldest = -1
            if window > 0 and header[R_TOTAL] == window:
                oldest, count = _oldest(header, words, stride, queue, touched, count)
            if key.shape[0] > 0:
                holder = _holder(words, stride, key_slots, key, row, _hash_key(words, at, key))
                if holder >= 0 and holder != oldest:
                    if not ignore:
                        return DUPLICATE, count, made, change
                    header[R_IGNORED] += 1
                    continue
            if oldest >= 0:
                count = _evict(header, words, stride, queue, touched, count)
            if window > 0:
                queue[header[R_TAIL] & mask] = row
                header[R_TAIL] += 1
            _add(header, words, at)
            if oldest == row:
                continue
            if oldest >= 0:
                events[made, 0] = oldest
                events[made, 1] = -1
                events[made, 2] = change
                made += 1
                if key.shape[0] > 0:
                    _remove_slot(key_slots, _hash_key(words, oldest * stride, key), oldest)
            events[made, 0] = row
            events[made, 1] = 1
            events[made, 2] = change
            made += 1
            if key.shape[0] > 0:
                _insert_slot(key_slots, _hash_key(words, at, key), row)
        else:
            h = _hash_change(values, change, stride - first)
            row = _find(words, stride, first, slots, values, change, h)
            if row < 0 or words[row * stride] >> 1 == 0:
                if ignore:
                    header[R_IGNORED] += 1
                    continue
                return ABSENT, count, made, change
            at = row * stride
            count = _touch(header, words, at, row, first, touched, count, change)
            _subtract(header, words, at)
            if window > 0:
                words[at + 1] += 1
            events[made, 0] = row
            events[made, 1] = -1
            events[made, 2] = change
            made += 1
            if key.shape[0] > 0 and words[at] >> 1 == 0:
                _remove_slot(key_slots, _hash_key(words, at, key), row)
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
            h = _hash_key(words, at, key)
            if touched[t, 1] == 0 and _holder(words, stride, key_slots, key, row, h) == row:
                _remove_slot(key_slots, h, row)
        for t in range(count):
            row = touched[t, 0]
            at = row * stride
            h = _hash_key(words, at, key)
            if touched[t, 1] > 0 and _holder(words, stride, key_slots, key, row, h) != row:
                _insert_slot(key_slots, h, row)
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


@helper
def _give_back(header: Any, words: Any, stride: int, first: int, slots: Any, row: int) -> None:
    """Free the id of a row that is gone."""
    at = row * stride
    _remove_slot(slots, _hash_words(words, at + first, stride - first), row)
    header[R_USED] -= 1
    words[at + 1] = header[R_FREE]
    header[R_FREE] = row + 1


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
            _give_back(header, words, stride, first, slots, row)


@kernel
def compact_window(header: Any, words: Any, stride: int, slots: Any, queue: Any) -> None:
    """Drop all dead entries from a window's queue, between two commits; O(entries)."""
    mask = queue.shape[0] - 1
    end = header[R_HEAD]
    for position in range(header[R_HEAD], header[R_TAIL]):
        row = queue[position & mask]
        at = row * stride
        if words[at + 1] > 0:
            words[at + 1] -= 1
            if words[at] == 0 and words[at + 1] == 0:
                _give_back(header, words, stride, 2, slots, row)
        else:
            queue[end & mask] = row
            end += 1
    header[R_TAIL] = end


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


@kernel
def live_rows(header: Any, words: Any, stride: int, rows: Any, weights: Any) -> int:
    """List all rows with a positive multiplicity and their multiplicities; returns how many."""
    made = 0
    for row in range(header[R_NEXT]):
        mult = words[row * stride] >> 1
        if words[row * stride] & 1 == 0 and mult > 0:
            rows[made] = row
            weights[made] = mult
            made += 1
    return made
