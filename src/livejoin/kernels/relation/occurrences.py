"""How a row comes to a base table and goes, one occurrence at a time."""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.parameters import Header, Queue, RowWords, Touched, Window
from livejoin.kernels.relation.range_window import RANGE_REACH, RANGE_ROWS, push
from livejoin.kernels.relation.rows import R_RING, R_TAIL
from livejoin.kernels.relation.window import subtract, touch


@helper
def arrive(header: Header, words: RowWords, stride: int, queue: Queue, window: Window, row: int) -> None:
    """Note in the window that a row came."""
    if window[RANGE_ROWS] > 0:
        queue[header[R_TAIL] & header[R_RING]] = row
        header[R_TAIL] += 1
    elif window[RANGE_REACH] >= 0:
        push(words, stride, queue, window, row)


@helper
def is_absent(words: RowWords, stride: int, row: int) -> bool:
    """Whether a row that was looked for is not there; a window may still name it."""
    missing: bool = row < 0 or words[row * stride] >> 1 == 0
    return missing


@helper
def leave(
    header: Header,
    words: RowWords,
    stride: int,
    first: int,
    window: Window,
    row: int,
    touched: Touched,
    count: int,
    change: int,
) -> int:
    """Take one occurrence of a row out, whose entry in the queue of a window stays there dead."""
    at = row * stride
    count = touch(header, words, at, row, first, touched, count, change)
    subtract(header, words, at)
    if window[RANGE_ROWS] > 0:
        words[at + 1] += 1
    return count
