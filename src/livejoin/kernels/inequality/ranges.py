"""The rows of one side that stand within the range of a row of the other side: their sums, and where they begin.

A left row has a lower bound, an upper one, or both; a right row has a point. They meet if they have one key and the
point is behind the lower bound and before the upper one. The *place* of a bound among points is in front of equal ones
or behind them, as the comparisons say, so that the points of a left row are those between two places. The left rows of
a point are those whose upper bound has its place behind it, without those whose lower bound has: no range is turned
around (`livejoin.kernels.inequality.maintain`), so that the latter are among the former.

What is looked for stands in the scratch row of each arena: the key, the group where groups stand in front, the bound.
"""

from __future__ import annotations

from livejoin.kernels.inequality.buffers import InequalityBuffers
from livejoin.kernels.inequality.layout import (
    END,
    OUTSIDE,
    P_BEYOND,
    P_BOUND,
    P_HAS_HIGH,
    P_HAS_LOW,
    P_HIGH,
    P_LEFT_AT,
    P_LOW,
    P_RIGHT_AT,
    P_ROW,
    P_SIZE,
    P_SKIPS,
    P_UP_TO,
    WITHIN,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.ordered.order_nodes import T_SUMS
from livejoin.kernels.ordered.order_tree import rows_before, seek
from livejoin.kernels.ordered.summed_rows import sums_before
from livejoin.kernels.ordered.sums import subtract_sums
from livejoin.kernels.parameters import Arena, Texts
from livejoin.kernels.values.row_order import E_WORDS, compare


@inlined
def copy_words(m: Arena, at: int, words: int, other: Arena, to: int) -> None:
    """Copy some words of an arena to another one."""
    for i in range(words):
        other[to + i] = m[at + i]


@inlined
def _low_bound(s: InequalityBuffers) -> int:
    """Where the lower bound of the left row is: beside the row, or in it where it is the only one."""
    form = s.form
    if form[P_HAS_HIGH] == 1:
        return int(form[P_BOUND])
    return int(form[P_ROW] + E_WORDS + form[P_LEFT_AT])


@helper
def has_range(s: InequalityBuffers, text: Texts) -> bool:
    """Whether the lower bound of the left row has its place before that of the upper one, or they are one place."""
    form = s.form
    if form[P_HAS_HIGH] == 0 or form[P_HAS_LOW] == 0:
        return True
    high = form[P_ROW] + E_WORDS + form[P_LEFT_AT]
    side = compare(s.left, s.compared, form[P_BOUND] - E_WORDS, high - E_WORDS, text)
    return side < 0 or (side == 0 and (form[P_UP_TO] == 1 or form[P_BEYOND] == 0))


@helper
def points_of_row(s: InequalityBuffers, text: Texts) -> None:
    """Write the sums of the right rows, of the key and group looked for, in the range of the left row; at P_HIGH."""
    m, form = s.right, s.form
    row = form[P_ROW]
    to = row + E_WORDS + form[P_RIGHT_AT]
    if form[P_HAS_HIGH] == 1:
        copy_words(s.left, row + E_WORDS + form[P_LEFT_AT], form[P_SIZE], m, to)
        sums_before(m, s.right_placed, row, form[P_UP_TO], form[P_HIGH], text)
    else:
        sums_before(m, s.right_grouped, row, 1, form[P_HIGH], text)
    if form[P_HAS_LOW] == 1:
        copy_words(s.left, _low_bound(s), form[P_SIZE], m, to)
        sums_before(m, s.right_placed, row, form[P_BEYOND], form[P_LOW], text)
    else:
        sums_before(m, s.right_grouped, row, 0, form[P_LOW], text)
    subtract_sums(m, form[P_HIGH], form[P_LOW])


@helper
def rows_of_point(s: InequalityBuffers, text: Texts) -> None:
    """Write the sums of the left rows, of the key and group looked for, that have the point in range; at P_HIGH.

    Those with both bounds are the rows with a lower bound before the point, without those that end before it.
    """
    m, form = s.left, s.form
    row, at = form[P_ROW], form[P_ROW] + E_WORDS + form[P_LEFT_AT]
    copy_words(s.right, row + E_WORDS + form[P_RIGHT_AT], form[P_SIZE], m, at)
    if form[P_HAS_HIGH] == 0:
        sums_before(m, s.left_placed, row, 1 - form[P_BEYOND], form[P_HIGH], text)
        sums_before(m, s.left_grouped, row, 0, form[P_LOW], text)
    else:
        sums_before(m, s.left_placed, row, 1 - form[P_UP_TO], form[P_LOW], text)
        if form[P_HAS_LOW] == 1:
            low = s.low
            copy_words(m, row + E_WORDS, form[P_LEFT_AT] + form[P_SIZE], low, row + E_WORDS)
            sums_before(low, s.left_placed, row, 1 - form[P_BEYOND], form[P_HIGH], text)
            copy_words(low, form[P_HIGH], m[T_SUMS], m, form[P_HIGH])
        else:
            sums_before(m, s.left_grouped, row, 1, form[P_HIGH], text)
    subtract_sums(m, form[P_HIGH], form[P_LOW])


@helper
def to_points(s: InequalityBuffers, text: Texts) -> None:
    """Find the first right row in the range of the left row, where right rows are in the order of their points."""
    m, form = s.right, s.form
    row = form[P_ROW]
    if form[P_HAS_LOW] == 1:
        copy_words(s.left, _low_bound(s), form[P_SIZE], m, row + E_WORDS + form[P_RIGHT_AT])
        seek(m, s.right_placed, row, form[P_BEYOND], text)
    else:
        seek(m, s.key, row, 0, text)
    if form[P_HAS_HIGH] == 1:  # the end, for `place_of`
        copy_words(s.left, row + E_WORDS + form[P_LEFT_AT], form[P_SIZE], m, row + E_WORDS + form[P_RIGHT_AT])


@helper
def ranks_of_points(s: InequalityBuffers, text: Texts) -> tuple[int, int]:
    """The ranks among right rows, in the order of their points, between which those in the range of the left row are.

    They count multiplicities, and the second one is behind the last row.
    """
    m, form = s.right, s.form
    row = form[P_ROW]
    to = row + E_WORDS + form[P_RIGHT_AT]
    if form[P_HAS_LOW] == 1:
        copy_words(s.left, _low_bound(s), form[P_SIZE], m, to)
        first = rows_before(m, s.right_placed, row, form[P_BEYOND], text)
    else:
        first = rows_before(m, s.key, row, 0, text)
    if form[P_HAS_HIGH] == 1:
        copy_words(s.left, row + E_WORDS + form[P_LEFT_AT], form[P_SIZE], m, to)
        return first, rows_before(m, s.right_placed, row, form[P_UP_TO], text)
    return first, rows_before(m, s.key, row, 1, text)


@helper
def _at_point(s: InequalityBuffers, entry: int, text: Texts) -> int:
    """Where a right entry behind the begin of the range stands to it."""
    m, form = s.right, s.form
    if form[P_HAS_HIGH] == 1:
        return WITHIN if compare(m, s.right_placed, entry, form[P_ROW], text) < form[P_UP_TO] else END
    return WITHIN if compare(m, s.key, entry, form[P_ROW], text) == 0 else END


@helper
def to_rows(s: InequalityBuffers, text: Texts) -> None:
    """Find the first left row that has the point in range, where left rows are in the order of their bounds."""
    m, form = s.left, s.form
    row = form[P_ROW]
    copy_words(s.right, row + E_WORDS + form[P_RIGHT_AT], form[P_SIZE], m, row + E_WORDS + form[P_LEFT_AT])
    if form[P_HAS_HIGH] == 1:
        seek(m, s.left_placed, row, 1 - form[P_UP_TO], text)
    else:
        seek(m, s.key, row, 0, text)


@helper
def _at_row(s: InequalityBuffers, entry: int, text: Texts) -> int:
    """Where a left entry behind the first one that has the point in range stands to those that have.

    Where rows have both bounds the lower one stands behind the upper one in the row. As a rule they go up together.
    """
    m, form = s.left, s.form
    row = form[P_ROW]
    if form[P_HAS_HIGH] == 0:
        return WITHIN if compare(m, s.left_placed, entry, row, text) < 1 - form[P_BEYOND] else END
    if compare(m, s.key, entry, row, text) != 0:
        return END
    if form[P_HAS_LOW] == 0:
        return WITHIN
    low = entry + form[P_LEFT_AT] + form[P_SIZE]
    if compare(m, s.compared, low, row + form[P_LEFT_AT], text) < 1 - form[P_BEYOND]:
        return WITHIN
    return OUTSIDE if form[P_SKIPS] == 1 else END


@helper
def to_first(s: InequalityBuffers, is_left: bool, text: Texts) -> None:
    """Find the first row of the other side that a row, left or right, may meet."""
    if is_left:
        to_points(s, text)
    else:
        to_rows(s, text)


@helper
def place_of(s: InequalityBuffers, is_left: bool, entry: int, text: Texts) -> int:
    """Where an entry of the other side from the first one on stands to what a row meets; END behind the last one."""
    if entry == 0:
        return END
    return int(_at_point(s, entry, text) if is_left else _at_row(s, entry, text))
