"""How a row comes to a base table and goes, one occurrence at a time.

Changes are staged as an atomic set (`livejoin.kernels.relation.stage_commit`) or one after the other
(`livejoin.kernels.relation.stage_changes`): they are applied at once, and `livejoin.kernels.relation.settling` ends
them. Law: staging, then `undo`, then `finish_commit` leaves the table as it was.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.parameters import Header, Queue, RowWords, Touched, Window
from livejoin.kernels.relation.range_window import RANGE_REACH, RANGE_ROWS, push
from livejoin.kernels.relation.rows import R_TAIL
from livejoin.kernels.relation.window import subtract, touch

# How far a staging has come: a caller begins with zeros, and calls the kernel until it says something else than MORE.
G_CHANGE = 0  # changes done; of an atomic set first those that insert, then, counted on, those that delete
G_COUNT = 1  # rows touched
G_MADE = 2  # events made; of an atomic set where the window began
G_PLACE = 3  # touched rows gone through where an atomic set, or a version, ends
PROGRESS = 4

# What a change is: its weight, and how it finds the row that it takes out.
INSERT = 1
DELETE = -1  # of the row as it is given
UPSERT = 2  # of a row in the place of the one with its key, if there is one
DELETE_BY_KEY = -2  # of the row with the key
FORGET_BY_KEY = -3  # the same, and it is no conflict if there is none

UNTOUCHED = -1  # in the place of the id of a touched row, where there is none yet

AT_ONCE = 1 << 16
"""Changes that a kernel stages in one call: some ten milliseconds, after which Python looks for signals."""


@helper
def arrive(header: Header, words: RowWords, stride: int, queue: Queue, window: Window, row: int) -> None:
    """Note in the window that a row came."""
    if window[RANGE_ROWS] > 0:
        queue[header[R_TAIL] & (queue.shape[0] - 1)] = row
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
