"""Aggregates of a join by one comparison, without its rows: pairs are counted by the sums in front of a row.

The rows of both sides are ordered multisets with sums (`livejoin.kernels.ordered.summed_rows`), by their key, then by
their group, then by what is compared. A left row with values A, of weight w, meets right rows whose sums are B over n
rows: the group of the pair gains w * n rows, n * A and w * B. Right rows do the same with the left rows that there are
then. So each pair is counted once, by the one of its rows that came last.

    a row changes, the other side has no groups      two paths of the other tree, one line
    it has groups                                    two paths for each group of the key that has rows
    each row of the other side may be a group        a run of entries, one line for each of them

In a version left rows change first, then right rows, in either of them those that come before those that go: no
multiplicity, and no number of pairs, is negative on the way.

Law: the values written for a version add up to those of the join after it minus those before it.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.accumulators import accumulate_block
from livejoin.kernels.inequality.buffers import InequalityBuffers, opened
from livejoin.kernels.inequality.layout import (
    APPLIED,
    END,
    H_CHANGE,
    H_FULL,
    H_LEAF,
    H_MADE,
    H_OTHER,
    H_PLACE,
    H_STAGE,
    H_STEP,
    H_TOTAL,
    H_VERSION,
    L_VERSION,
    L_WEIGHT,
    LEFT,
    LINES,
    NEXT_VERSION,
    P_BOUND,
    P_COUNTS,
    P_HAS_HIGH,
    P_HAS_LOW,
    P_HIGH,
    P_KEEPS_LOW,
    P_LEFT_AT,
    P_LEFT_GROUPS,
    P_LEFT_ROWS,
    P_LOW,
    P_RIGHT_GROUPS,
    P_RIGHT_ROWS,
    P_ROW,
    P_SIZE,
    P_TERM,
    RIGHT,
    WAITING,
    WALKING,
    WITHIN,
)
from livejoin.kernels.inequality.ranges import (
    copy_words,
    has_range,
    place_of,
    points_of_row,
    rows_of_point,
    to_first,
)
from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL, TOO_LARGE
from livejoin.kernels.numbers.wide import product_wraps
from livejoin.kernels.ordered.order_nodes import T_CARRIED, T_LEAF, T_PLACE, T_SUMS, T_VALUES, has_space
from livejoin.kernels.ordered.order_tree import entry_here, plant, seek
from livejoin.kernels.ordered.summed_rows import change_row
from livejoin.kernels.ordered.sums import add_sums, clear_sums, multiply_sums
from livejoin.kernels.parameters import Addresses, Arena, ArenaArray, Changed, Line, Matrix, Output, Texts
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_WORDS, O_WIDTH, compare

_MOST = 2**63 - 1


@helper
def _write(s: InequalityBuffers, own: Arena, other: Arena, values: int, left: int, right: int, out: Output) -> int:
    """Write what the pairs of the changed row and of rows of the other side add; -1 if these are too many, else 0.

    They are counted alone if the form says so.

    Args:
        s: The state; the left arena counts what is written.
        own: The arena of the changed row, whose values are at P_TERM.
        other: The arena of the other side.
        values: The sums of the other rows in it.
        left, right: The rows of which the output has the words, in their arenas.
        out: The output.
    """
    form, m = s.form, s.left
    rows, weight = other[values + g.R_ROWS], own[form[P_TERM] + g.R_ROWS]
    if rows == 0:
        return 0
    if product_wraps(rows, weight) != 0:
        return -1
    if form[P_COUNTS] == 1:
        if weight > 0 and m[H_TOTAL] > _MOST - rows * weight:
            return -1
        m[H_TOTAL] += rows * weight
        return 0
    to, scratch = form[P_HIGH], form[P_LOW]
    copy_words(own, form[P_TERM], m[T_SUMS], own, to)
    multiply_sums(own, to, rows)
    copy_words(other, values, m[T_SUMS], own, scratch)
    multiply_sums(own, scratch, weight)
    add_sums(own, to, scratch)
    own[to + g.R_ROWS] = rows * weight
    made, width, other_width = m[H_MADE], s.left_whole[O_WIDTH], s.right_whole[O_WIDTH]
    m[H_TOTAL] += rows * weight
    out[L_WEIGHT, made] = rows * weight
    out[L_VERSION, made] = m[H_VERSION]
    for i in range(width):
        out[LINES + i, made] = m[left + E_WORDS + i]
    for i in range(other_width):
        out[LINES + width + i, made] = s.right[right + E_WORDS + i]
    for i in range(m[T_SUMS]):
        out[LINES + width + other_width + i, made] = own[to + i]
    m[H_MADE] = made + 1
    return 0


@helper
def _write_sums(s: InequalityBuffers, is_left: bool, text: Texts, out: Output) -> int:
    """Write the pairs of the changed row and of the rows within range of the key and group looked for."""
    row = s.form[P_ROW]
    if is_left:
        points_of_row(s, text)
        return int(_write(s, s.left, s.right, s.form[P_HIGH], row, row, out))
    rows_of_point(s, text)
    return int(_write(s, s.right, s.left, s.form[P_HIGH], row, row, out))


@helper
def _walk_groups(s: InequalityBuffers, is_left: bool, left: int, text: Texts, out: Output) -> int:
    """Write the pairs of the changed row, group by group of the other side, so many at most; how many more could be.

    H_STAGE is WAITING when all are written. -1 if there are too many pairs.
    """
    m, form = s.left, s.form
    row = form[P_ROW]
    other, grouped = (s.right, s.right_grouped) if is_left else (s.left, s.left_grouped)
    while left > 0 and m[H_MADE] < out.shape[1]:
        if m[H_STAGE] == APPLIED:
            seek(other, s.key, row, 0, text)
        else:
            seek(other, grouped, row, 1, text)
        m[H_STAGE] = WALKING
        entry = entry_here(other)
        if entry == 0 or compare(other, s.key, entry, row, text) != 0:
            m[H_STAGE] = WAITING
            return left
        copy_words(other, entry + E_WORDS, grouped[O_WIDTH], other, row + E_WORDS)
        if _write_sums(s, is_left, text, out) != 0:
            return -1
        left -= 1
    return left


@helper
def _walk_rows(s: InequalityBuffers, is_left: bool, left: int, text: Texts, out: Output) -> int:
    """As `_walk_groups`, row by row of the other side, which is in the order of what is compared."""
    m, form = s.left, s.form
    row = form[P_ROW]
    other = s.right if is_left else s.left
    if m[H_STAGE] == APPLIED:
        m[H_STAGE] = WALKING
        to_first(s, is_left, text)
    else:
        other[T_LEAF], other[T_PLACE] = m[H_LEAF], m[H_PLACE]
    own = s.left if is_left else s.right
    while left > 0 and m[H_MADE] < out.shape[1]:
        entry = entry_here(other)
        place = place_of(s, is_left, entry, text)
        if place == END:
            m[H_STAGE] = WAITING
            return left
        if place == WITHIN:
            pair = (row, entry) if is_left else (entry, row)
            if _write(s, own, other, entry + other[T_VALUES], pair[0], pair[1], out) != 0:
                return -1
        other[T_PLACE] += 1
        left -= 1
    m[H_LEAF], m[H_PLACE] = other[T_LEAF], other[T_PLACE]
    return left


@inlined
def _is_counted(form: Line, is_left: bool) -> bool:
    """Whether the pairs of a row are counted at once, by the sums of the other side, and none is written.

    Where left rows are kept by row, they are in no order of their lower bound if they have an upper one.
    """
    return form[P_COUNTS] == 1 and (is_left or form[P_HAS_HIGH] == 0 or form[P_HAS_LOW] == 0)


@helper
def _walk(s: InequalityBuffers, is_left: bool, left: int, text: Texts, out: Output) -> int:
    """Write the pairs of the changed row, as `_walk_groups`."""
    m, form = s.left, s.form
    by_row = form[P_RIGHT_ROWS] if is_left else form[P_LEFT_ROWS]
    has_groups = form[P_RIGHT_GROUPS] if is_left else form[P_LEFT_GROUPS]
    if by_row == 1 and not _is_counted(form, is_left):
        return int(_walk_rows(s, is_left, left, text, out))
    if has_groups == 1:
        return int(_walk_groups(s, is_left, left, text, out))
    if m[H_MADE] == out.shape[1]:
        return left
    m[H_STAGE] = WAITING
    if _write_sums(s, is_left, text, out) != 0:
        return -1
    return left - 1


@helper
def _add_up(
    s: InequalityBuffers, m: Arena, values: Matrix, line: int, weights: Matrix, change: int, weight: int
) -> None:
    """Write what the changed row adds to its group at P_TERM of its arena."""
    term = s.form[P_TERM]
    clear_sums(m, term)
    m[term + g.R_ROWS] = weight
    s.place[0] = term
    accumulate_block(m, s.summed, values, line, weights, change, s.place, 1)


@helper
def _apply_left(s: InequalityBuffers, weight: int, text: Texts) -> None:
    """Change the left row that is looked for in its tree, and in that of lower bounds."""
    m, low, form = s.left, s.low, s.form
    row, term = form[P_ROW], form[P_TERM]
    change_row(m, s.left_whole, s.left_wide, row, weight, term, text)
    if form[P_KEEPS_LOW] == 1:
        copy_words(m, row + E_WORDS, form[P_LEFT_AT], low, row + E_WORDS)
        copy_words(m, form[P_BOUND], form[P_SIZE], low, row + E_WORDS + form[P_LEFT_AT])
        copy_words(m, term, m[T_SUMS], low, term)
        change_row(low, s.left_whole, s.left_wide, row, weight, term, text)


@kernel
def prepare(arena: ArenaArray, sums: int, carried: int, values: int) -> None:
    """Make the empty tree in a fresh arena.

    Args:
        arena: The arena; changed.
        sums: Words of the values of an entry.
        carried: Which of them go on the number of the word before, a bit each.
        values: The offset of the values in an entry.
    """
    m = view(arena)
    m[T_SUMS], m[T_CARRIED], m[T_VALUES] = sums, carried, values
    plant(m)


@kernel
def maintain(
    store: Addresses,
    lefts: Changed,
    rights: Changed,
    left_values: Matrix,
    right_values: Matrix,
    text: Texts,
    out: Output,
) -> int:
    """Apply changes of both sides, and write what groups gain and lose.

    Args:
        store: The state. A caller starts with the words from H_CHANGE to H_STAGE at 0.
        lefts: The words of the changed left rows, behind them those of a lower bound where there is an upper one too,
            none with NULL in its key or in a bound, of shape (words, n); what each change adds to its row's
            multiplicity, never 0; its version, ascending. In each version the positive weights come first.
        rights: The same of the right rows, none with NULL in its key or its point.
        left_values, right_values: The values that the groups' kernel takes in for these rows.
        text: The dictionary of strings, if there are any: its heap, starts and lengths.
        out: int64 of shape (LINES + words of a left row + those of a right one + those of values, capacity of at least
            2), H_MADE of them. Of the words of rows those of the key are told, and those of groups; of the changed row
            all are.

    Returns:
        DONE; MORE, NEED_SPACE, OUTPUT_FULL: take the lines that are written, grow the arena that H_FULL says for
        NEED_SPACE, and call again. TOO_LARGE if 64 bits do not count the pairs of a row; the state is of no use.

    Cost: O(log n) a change with n rows and for each group of its key on the other side; O(log n) and O(1) for each row
    that it meets there, where rows may be groups.
    """
    s, strings = opened(store), strings_of(text)
    m, low, other, form = s.left, s.low, s.right, s.form
    words, weights, versions = lefts
    others, other_weights, other_versions = rights
    row = form[P_ROW]
    width, other_width, key = s.left_whole[O_WIDTH], s.right_whole[O_WIDTH], s.key[O_WIDTH]
    both = form[P_HAS_LOW] == 1 and form[P_HAS_HIGH] == 1
    m[H_MADE] = 0
    left = AT_ONCE
    while True:
        if left <= 0:
            return MORE
        step, change, move = m[H_STEP], m[H_CHANGE], m[H_OTHER]
        if step == NEXT_VERSION:
            if change == weights.shape[0] and move == other_weights.shape[0]:
                return DONE
            if move == other_weights.shape[0]:
                m[H_VERSION] = versions[change]
            elif change == weights.shape[0]:
                m[H_VERSION] = other_versions[move]
            else:
                m[H_VERSION] = min(versions[change], other_versions[move])
            m[H_STEP] = LEFT
        elif m[H_STAGE] != WAITING:
            if m[H_MADE] == out.shape[1]:
                return OUTPUT_FULL
            left = _walk(s, step == LEFT, left, strings, out)
            if left < 0:
                return TOO_LARGE
        elif step == LEFT:
            if change == weights.shape[0] or versions[change] != m[H_VERSION]:
                m[H_STEP] = RIGHT
                continue
            if not has_space(m, s.left_wide):
                m[H_FULL] = 0
                return NEED_SPACE
            if form[P_KEEPS_LOW] == 1 and not has_space(low, s.left_wide):
                m[H_FULL] = 1
                return NEED_SPACE
            for i in range(width):
                m[row + E_WORDS + i] = words[i, change]
            if both:
                for i in range(form[P_SIZE]):
                    m[form[P_BOUND] + i] = words[width + i, change]
            if has_range(s, strings):
                _add_up(s, m, view(left_values), weights.shape[0], view(weights), change, weights[change])
                _apply_left(s, weights[change], strings)
                copy_words(m, row + E_WORDS, key, other, row + E_WORDS)
                m[H_STAGE] = APPLIED
            m[H_CHANGE] = change + 1
            left -= 1
        else:
            if move == other_weights.shape[0] or other_versions[move] != m[H_VERSION]:
                m[H_STEP] = NEXT_VERSION
                continue
            if not has_space(other, s.right_wide):
                m[H_FULL] = 2
                return NEED_SPACE
            for i in range(other_width):
                other[row + E_WORDS + i] = others[i, move]
            _add_up(
                s, other, view(right_values), other_weights.shape[0], view(other_weights), move, other_weights[move]
            )
            change_row(other, s.right_whole, s.right_wide, row, other_weights[move], form[P_TERM], strings)
            copy_words(other, row + E_WORDS, key, m, row + E_WORDS)
            m[H_STAGE] = APPLIED
            m[H_OTHER] = move + 1
            left -= 1
