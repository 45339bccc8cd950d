"""Multiplicities of rows inside a commit, and the window that rows enter and leave in the order of arrival.

The queue has one entry an occurrence. A row that is deleted explicitly leaves its oldest entry there as a *dead* one,
which is dropped when it reaches the head, or when dead entries are most of the queue.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.addresses import length_at
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.parameters import Addresses, Touched
from livejoin.kernels.relation.buffers import QUEUE_AT, TableBuffers, opened
from livejoin.kernels.relation.row_index import let_go
from livejoin.kernels.relation.rows import R_HEAD, R_RING, R_ROWS, R_TAIL, R_TOTAL, TOUCHED


@helper
def touch(t: TableBuffers, at: int, row: int, touched: Touched, count: int, change: int) -> int:
    """Note a row's state before its first change in this commit; returns the number of touched rows."""
    word = t.words[at]
    if word & 1:
        return count
    touched[TOUCHED * count] = row
    touched[TOUCHED * count + 1] = word >> 1
    touched[TOUCHED * count + 2] = t.words[at + 1] if t.first == 2 else 0
    touched[TOUCHED * count + 3] = change
    t.words[at] = word | 1
    return count + 1


@helper
def add(t: TableBuffers, at: int) -> None:
    if t.words[at] >> 1 == 0:
        t.header[R_ROWS] += 1
    t.words[at] += 2
    t.header[R_TOTAL] += 1


@helper
def subtract(t: TableBuffers, at: int) -> None:
    t.words[at] -= 2
    t.header[R_TOTAL] -= 1
    if t.words[at] >> 1 == 0:
        t.header[R_ROWS] -= 1


@helper
def oldest(t: TableBuffers, touched: Touched, count: int) -> tuple[int, int]:
    """Drop dead entries from the head of the window; returns the id of the oldest row and the number touched."""
    while True:
        row = t.queue[t.header[R_HEAD] & t.header[R_RING]]
        at = row * t.stride
        if t.words[at + 1] == 0:
            return row, count
        count = touch(t, at, row, touched, count, -1)
        t.words[at + 1] -= 1
        t.header[R_HEAD] += 1


@helper
def evict(t: TableBuffers, touched: Touched, count: int) -> int:
    """Take the oldest row out of the window; returns the number of touched rows."""
    row, count = oldest(t, touched, count)
    count = touch(t, row * t.stride, row, touched, count, -1)
    t.header[R_HEAD] += 1
    subtract(t, row * t.stride)
    return count


@helper
def _compact_window(t: TableBuffers, mask: int) -> None:
    end = t.header[R_HEAD]
    for position in range(t.header[R_HEAD], t.header[R_TAIL]):
        row = t.queue[position & mask]
        at = row * t.stride
        if t.words[at + 1] > 0:
            t.words[at + 1] -= 1
            if t.words[at] == 0 and t.words[at + 1] == 0:
                let_go(t, row)
        else:
            t.queue[end & mask] = row
            end += 1
    t.header[R_TAIL] = end


@kernel
def compact_window(table: Addresses) -> None:
    """Drop all dead entries from a window's queue, between two commits; O(entries)."""
    _compact_window(opened(table), length_at(view(table), QUEUE_AT) - 1)
