"""Where rows of one side of an as-of join stand among those of the other one.

A right row stands *in front of* a left row of its key if it is before it by the compared words, or equal to it where
the join takes equal ones too (P_AFTER). The match of a left row is the last right row in front of it, so that the left
rows between two right rows have one match, and are a run.
"""

from __future__ import annotations

from livejoin.kernels.as_of.buffers import AsOfBuffers
from livejoin.kernels.as_of.layout import H_HIGH, H_LOW, H_NEXT, P_AFTER, RIGHT_HEADER
from livejoin.kernels.jit import helper
from livejoin.kernels.ordered.order_nodes import FIRST, LEAF, T_LEAF, T_PLACE
from livejoin.kernels.ordered.order_tree import entry_here, rows_before, seek
from livejoin.kernels.parameters import Arena, Texts
from livejoin.kernels.values.row_order import E_WORDS, O_WIDTH, compare


@helper
def entry_in_front(m: Arena) -> int:
    """The entry before the place that `seek` found, 0 at the begin of the tree."""
    if m[T_PLACE] == 0:
        return 0
    entry: int = m[m[T_LEAF] + FIRST + LEAF + m[T_PLACE] - 1]
    return entry


@helper
def match_of(s: AsOfBuffers, row: int, text: Texts) -> int:
    """The right entry that a left row is matched with, 0 if there is none. All right entries must be present."""
    m, other, width = s.left, s.right, s.placed[O_WIDTH]
    for i in range(width):
        other[RIGHT_HEADER + E_WORDS + i] = m[row + E_WORDS + i]
    seek(other, s.placed, RIGHT_HEADER, s.form[P_AFTER], text)
    entry = entry_in_front(other)
    if entry == 0 or compare(other, s.key, entry, RIGHT_HEADER, text) != 0:
        return 0
    return entry


@helper
def begin_run(s: AsOfBuffers, entry: int, text: Texts) -> None:
    """Note the key and the compared words of a right entry, and of the one behind it, which H_NEXT becomes."""
    m, other, width = s.left, s.right, s.placed[O_WIDTH]
    seek(other, s.right_whole, entry, 1, text)
    behind = entry_here(other)
    if behind != 0 and compare(other, s.key, behind, entry, text) != 0:
        behind = 0
    m[H_NEXT] = behind
    for i in range(width):
        m[m[H_LOW] + E_WORDS + i] = other[entry + E_WORDS + i]
        if behind != 0:
            m[m[H_HIGH] + E_WORDS + i] = other[behind + E_WORDS + i]


@helper
def to_run(s: AsOfBuffers, text: Texts) -> None:
    """Find the first left row behind the right entry that was noted."""
    seek(s.left, s.placed, s.left[H_LOW], 1 - s.form[P_AFTER], text)


@helper
def is_in_run(s: AsOfBuffers, entry: int, text: Texts) -> bool:
    """Whether a left entry behind the right entry that was noted has its key and is before the next right one."""
    m = s.left
    if m[H_NEXT] == 0:
        same: bool = compare(m, s.key, entry, m[H_LOW], text) == 0
        return same
    before: bool = compare(m, s.placed, entry, m[H_HIGH], text) < 1 - s.form[P_AFTER]
    return before


@helper
def rows_of_run(s: AsOfBuffers, text: Texts) -> int:
    """How many left rows are in the run."""
    m, least = s.left, 1 - s.form[P_AFTER]
    low = rows_before(m, s.placed, m[H_LOW], least, text)
    if m[H_NEXT] == 0:
        return int(rows_before(m, s.key, m[H_LOW], 1, text) - low)
    return int(rows_before(m, s.placed, m[H_HIGH], least, text) - low)
