"""How a row comes to a base table and goes, one occurrence at a time."""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.parameters import Touched
from livejoin.kernels.relation.buffers import TableBuffers
from livejoin.kernels.relation.range_window import RANGE_REACH, RANGE_ROWS, push
from livejoin.kernels.relation.rows import R_RING, R_TAIL
from livejoin.kernels.relation.window import subtract, touch


@helper
def arrive(t: TableBuffers, row: int) -> None:
    """Note in the window that a row came."""
    if t.window[RANGE_ROWS] > 0:
        t.queue[t.header[R_TAIL] & t.header[R_RING]] = row
        t.header[R_TAIL] += 1
    elif t.window[RANGE_REACH] >= 0:
        push(t, row)


@helper
def is_absent(t: TableBuffers, row: int) -> bool:
    """Whether a row that was looked for is not there; a window may still name it."""
    missing: bool = row < 0 or t.words[row * t.stride] >> 1 == 0
    return missing


@helper
def leave(t: TableBuffers, row: int, touched: Touched, count: int, change: int) -> int:
    """Take one occurrence of a row out, whose entry in the queue of a window stays there dead."""
    at = row * t.stride
    count = touch(t, at, row, touched, count, change)
    subtract(t, at)
    if t.window[RANGE_ROWS] > 0:
        t.words[at + 1] += 1
    return count
