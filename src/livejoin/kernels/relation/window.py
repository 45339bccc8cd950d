"""Multiplicities of rows inside a commit, and the window that rows enter and leave in the order of arrival.

The queue has one entry an occurrence. A row that is deleted explicitly leaves its oldest entry there as a *dead* one,
which is dropped when it reaches the head, or when dead entries are most of the queue.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Header, Offsets, Queue, RowWords, Slots, Touched
from livejoin.kernels.relation.row_index import let_go
from livejoin.kernels.relation.rows import R_HEAD, R_RING, R_ROWS, R_TAIL, R_TOTAL, TOUCHED


@helper
def touch(
    header: Header, words: RowWords, at: int, row: int, first: int, touched: Touched, count: int, change: int
) -> int:
    """Note a row's state before its first change in this commit; returns the number of touched rows."""
    word = words[at]
    if word & 1:
        return count
    touched[TOUCHED * count] = row
    touched[TOUCHED * count + 1] = word >> 1
    touched[TOUCHED * count + 2] = words[at + 1] if first == 2 else 0
    touched[TOUCHED * count + 3] = change
    words[at] = word | 1
    return count + 1


@helper
def add(header: Header, words: RowWords, at: int) -> None:
    if words[at] >> 1 == 0:
        header[R_ROWS] += 1
    words[at] += 2
    header[R_TOTAL] += 1


@helper
def subtract(header: Header, words: RowWords, at: int) -> None:
    words[at] -= 2
    header[R_TOTAL] -= 1
    if words[at] >> 1 == 0:
        header[R_ROWS] -= 1


@helper
def oldest(header: Header, words: RowWords, stride: int, queue: Queue, touched: Touched, count: int) -> tuple[int, int]:
    """Drop dead entries from the head of the window; returns the id of the oldest row and the number touched."""
    while True:
        row = queue[header[R_HEAD] & header[R_RING]]
        at = row * stride
        if words[at + 1] == 0:
            return row, count
        count = touch(header, words, at, row, 2, touched, count, -1)
        words[at + 1] -= 1
        header[R_HEAD] += 1


@helper
def evict(header: Header, words: RowWords, stride: int, queue: Queue, touched: Touched, count: int) -> int:
    """Take the oldest row out of the window; returns the number of touched rows."""
    row, count = oldest(header, words, stride, queue, touched, count)
    count = touch(header, words, row * stride, row, 2, touched, count, -1)
    header[R_HEAD] += 1
    subtract(header, words, row * stride)
    return count


@helper
def _compact_window(
    header: Header, words: RowWords, stride: int, slots: Slots, key: Offsets, queue: Queue, mask: int
) -> None:
    end = header[R_HEAD]
    for position in range(header[R_HEAD], header[R_TAIL]):
        row = queue[position & mask]
        at = row * stride
        if words[at + 1] > 0:
            words[at + 1] -= 1
            if words[at] == 0 and words[at + 1] == 0:
                let_go(header, words, stride, 2, slots, key, row)
        else:
            queue[end & mask] = row
            end += 1
    header[R_TAIL] = end


@kernel
def compact_window(header: Header, words: RowWords, stride: int, slots: Slots, key: Offsets, queue: Queue) -> None:
    """Drop all dead entries from a window's queue, between two commits; O(entries)."""
    _compact_window(view(header), view(words), stride, view(slots), view(key), view(queue), queue.shape[0] - 1)
