"""The window by range: rows stay while they are less than a range older than the newest time seen (event time).

The window is ``[begin, infinity)`` in the values of one column, and *begin* only ever grows. Rows lie in a binary heap
by their time, the oldest first (Williams, "Algorithm 232: Heapsort", 1964): one entry a row, whatever its multiplicity,
because equal rows have equal times. A row that is deleted explicitly leaves its entry there as a *dead* one, which is
dropped when it becomes the oldest, or when dead entries are most of the heap. So an insertion costs O(log rows), O(1)
where rows come in the order of their times, and so does a row that leaves.

The heap is one array: ``[begin, entries, (time, row)...]``. The second word of a row says whether it has an entry.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Header, Offsets, Queue, RowWords, Slots, Touched, Window
from livejoin.kernels.relation.row_index import let_go
from livejoin.kernels.relation.rows import R_ROWS, R_TOTAL
from livejoin.kernels.relation.window import touch

# The heap
W_BEGIN = 0  # the least time that is in the window
W_ENTRIES = 1
W_HEAP = 2

# What a window is: an array of these
RANGE_ROWS = 0  # rows that the table keeps, 0 without a window by rows
RANGE_REACH = 1  # the range less one, -1 without a window by range
RANGE_TIME = 2  # offset of the time in a row

_LEAST = -(1 << 63)


@helper
def begin_after(queue: Queue, window: Window, time: int) -> int:
    """Where the window begins once a time has been seen."""
    reach = window[RANGE_REACH]
    begin = time - reach if time >= _LEAST + reach else _LEAST
    return begin if begin > queue[W_BEGIN] else queue[W_BEGIN]


@helper
def _sink(queue: Queue, hole: int, time: int, row: int) -> None:
    """Put an entry into a subtree whose root is free."""
    entries = queue[W_ENTRIES]
    while 2 * hole + 1 < entries:
        child = 2 * hole + 1
        if child + 1 < entries and queue[W_HEAP + 2 * (child + 1)] < queue[W_HEAP + 2 * child]:
            child += 1
        if queue[W_HEAP + 2 * child] >= time:
            break
        queue[W_HEAP + 2 * hole] = queue[W_HEAP + 2 * child]
        queue[W_HEAP + 2 * hole + 1] = queue[W_HEAP + 2 * child + 1]
        hole = child
    queue[W_HEAP + 2 * hole] = time
    queue[W_HEAP + 2 * hole + 1] = row


@helper
def push(words: RowWords, stride: int, queue: Queue, window: Window, row: int) -> None:
    """Give a row an entry, if it has none."""
    at = row * stride
    if words[at + 1] != 0:
        return
    words[at + 1] = 1
    time = words[at + window[RANGE_TIME]]
    hole = queue[W_ENTRIES]
    queue[W_ENTRIES] = hole + 1
    while hole > 0 and queue[W_HEAP + 2 * ((hole - 1) >> 1)] > time:
        above = (hole - 1) >> 1
        queue[W_HEAP + 2 * hole] = queue[W_HEAP + 2 * above]
        queue[W_HEAP + 2 * hole + 1] = queue[W_HEAP + 2 * above + 1]
        hole = above
    queue[W_HEAP + 2 * hole] = time
    queue[W_HEAP + 2 * hole + 1] = row


@helper
def has_expired(queue: Queue) -> bool:
    """Whether the oldest row is out of the window."""
    expired: bool = queue[W_ENTRIES] > 0 and queue[W_HEAP] < queue[W_BEGIN]
    return expired


@helper
def stays(words: RowWords, stride: int, window: Window, row: int, begin: int) -> bool:
    """Whether a window that begins there leaves a row where it is."""
    inside: bool = window[RANGE_REACH] < 0 or words[row * stride + window[RANGE_TIME]] >= begin
    return inside


@helper
def expire(
    header: Header, words: RowWords, stride: int, queue: Queue, touched: Touched, count: int
) -> tuple[int, int, int]:
    """Take the oldest row out, wholly; returns its id, its multiplicity, 0 if it was dead, and the number touched."""
    row = queue[W_HEAP + 1]
    at = row * stride
    count = touch(header, words, at, row, 2, touched, count, -1)
    last = queue[W_ENTRIES] - 1
    queue[W_ENTRIES] = last
    if last > 0:
        _sink(queue, 0, queue[W_HEAP + 2 * last], queue[W_HEAP + 2 * last + 1])
    words[at + 1] = 0
    gone = words[at] >> 1
    if gone > 0:
        header[R_ROWS] -= 1
        header[R_TOTAL] -= gone
        words[at] &= 1
    return row, gone, count


@helper
def _compact_range(header: Header, words: RowWords, stride: int, slots: Slots, key: Offsets, queue: Queue) -> None:
    kept = 0
    for entry in range(queue[W_ENTRIES]):
        row = queue[W_HEAP + 2 * entry + 1]
        if words[row * stride] >> 1 == 0:
            words[row * stride + 1] = 0
            let_go(header, words, stride, 2, slots, key, row)
        else:
            queue[W_HEAP + 2 * kept] = queue[W_HEAP + 2 * entry]
            queue[W_HEAP + 2 * kept + 1] = row
            kept += 1
    queue[W_ENTRIES] = kept
    for entry in range(kept // 2 - 1, -1, -1):
        _sink(queue, entry, queue[W_HEAP + 2 * entry], queue[W_HEAP + 2 * entry + 1])


@kernel
def compact_range(header: Header, words: RowWords, stride: int, slots: Slots, key: Offsets, queue: Queue) -> None:
    """Drop all dead entries from a heap, between two commits; O(entries)."""
    _compact_range(view(header), view(words), stride, view(slots), view(key), view(queue))
