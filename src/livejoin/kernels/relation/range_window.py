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
from livejoin.kernels.parameters import Addresses, Touched
from livejoin.kernels.relation.buffers import TableBuffers, opened
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
def begin_after(t: TableBuffers, time: int) -> int:
    """Where the window begins once a time has been seen."""
    reach = t.window[RANGE_REACH]
    begin = time - reach if time >= _LEAST + reach else _LEAST
    return begin if begin > t.queue[W_BEGIN] else t.queue[W_BEGIN]


@helper
def _sink(t: TableBuffers, hole: int, time: int, row: int) -> None:
    """Put an entry into a subtree whose root is free."""
    entries = t.queue[W_ENTRIES]
    while 2 * hole + 1 < entries:
        child = 2 * hole + 1
        if child + 1 < entries and t.queue[W_HEAP + 2 * (child + 1)] < t.queue[W_HEAP + 2 * child]:
            child += 1
        if t.queue[W_HEAP + 2 * child] >= time:
            break
        t.queue[W_HEAP + 2 * hole] = t.queue[W_HEAP + 2 * child]
        t.queue[W_HEAP + 2 * hole + 1] = t.queue[W_HEAP + 2 * child + 1]
        hole = child
    t.queue[W_HEAP + 2 * hole] = time
    t.queue[W_HEAP + 2 * hole + 1] = row


@helper
def push(t: TableBuffers, row: int) -> None:
    """Give a row an entry, if it has none."""
    at = row * t.stride
    if t.words[at + 1] != 0:
        return
    t.words[at + 1] = 1
    time = t.words[at + t.window[RANGE_TIME]]
    hole = t.queue[W_ENTRIES]
    t.queue[W_ENTRIES] = hole + 1
    while hole > 0 and t.queue[W_HEAP + 2 * ((hole - 1) >> 1)] > time:
        above = (hole - 1) >> 1
        t.queue[W_HEAP + 2 * hole] = t.queue[W_HEAP + 2 * above]
        t.queue[W_HEAP + 2 * hole + 1] = t.queue[W_HEAP + 2 * above + 1]
        hole = above
    t.queue[W_HEAP + 2 * hole] = time
    t.queue[W_HEAP + 2 * hole + 1] = row


@helper
def has_expired(t: TableBuffers) -> bool:
    """Whether the oldest row is out of the window."""
    expired: bool = t.queue[W_ENTRIES] > 0 and t.queue[W_HEAP] < t.queue[W_BEGIN]
    return expired


@helper
def stays(t: TableBuffers, row: int, begin: int) -> bool:
    """Whether a window that begins there leaves a row where it is."""
    inside: bool = t.window[RANGE_REACH] < 0 or t.words[row * t.stride + t.window[RANGE_TIME]] >= begin
    return inside


@helper
def expire(t: TableBuffers, touched: Touched, count: int) -> tuple[int, int, int]:
    """Take the oldest row out, wholly; returns its id, its multiplicity, 0 if it was dead, and the number touched."""
    row = t.queue[W_HEAP + 1]
    at = row * t.stride
    count = touch(t, at, row, touched, count, -1)
    last = t.queue[W_ENTRIES] - 1
    t.queue[W_ENTRIES] = last
    if last > 0:
        _sink(t, 0, t.queue[W_HEAP + 2 * last], t.queue[W_HEAP + 2 * last + 1])
    t.words[at + 1] = 0
    gone = t.words[at] >> 1
    if gone > 0:
        t.header[R_ROWS] -= 1
        t.header[R_TOTAL] -= gone
        t.words[at] &= 1
    return row, gone, count


@helper
def _compact_range(t: TableBuffers) -> None:
    kept = 0
    for entry in range(t.queue[W_ENTRIES]):
        row = t.queue[W_HEAP + 2 * entry + 1]
        if t.words[row * t.stride] >> 1 == 0:
            t.words[row * t.stride + 1] = 0
            let_go(t, row)
        else:
            t.queue[W_HEAP + 2 * kept] = t.queue[W_HEAP + 2 * entry]
            t.queue[W_HEAP + 2 * kept + 1] = row
            kept += 1
    t.queue[W_ENTRIES] = kept
    for entry in range(kept // 2 - 1, -1, -1):
        _sink(t, entry, t.queue[W_HEAP + 2 * entry], t.queue[W_HEAP + 2 * entry + 1])


@kernel
def compact_range(table: Addresses) -> None:
    """Drop all dead entries from a heap, between two commits; O(entries)."""
    _compact_range(opened(table))
