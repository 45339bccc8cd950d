"""The pairs of an inequality join: all in the order of the left side, those of a key, those of some rows, by rank."""

from __future__ import annotations

from livejoin.kernels.inequality.buffers import InequalityBuffers, opened
from livejoin.kernels.inequality.layout import (
    END,
    L_VERSION,
    L_WEIGHT,
    LINES,
    P_BOUND,
    P_HAS_HIGH,
    P_HAS_LOW,
    P_LEFT_AT,
    P_ROW,
    P_SIZE,
    WITHIN,
)
from livejoin.kernels.inequality.ranges import (
    copy_words,
    has_range,
    place_of,
    ranks_of_points,
    to_first,
)
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.layout import AT_ONCE
from livejoin.kernels.ordered.order_nodes import T_LEAF, T_PLACE
from livejoin.kernels.ordered.order_tree import entry_here, first_leaf, seek
from livejoin.kernels.parameters import Addresses, Cursor, Line, Matrix, Output, Texts
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, O_WIDTH, compare


@helper
def _write_pair(s: InequalityBuffers, left: int, right: int, weight: int, tag: int, out: Output, made: int) -> None:
    """Write a pair of rows, which are in their arenas, as a line of the output."""
    width, other_width = s.left_whole[O_WIDTH], s.right_whole[O_WIDTH]
    out[L_WEIGHT, made] = weight
    out[L_VERSION, made] = tag
    for i in range(width):
        out[LINES + i, made] = s.left[left + E_WORDS + i]
    for i in range(other_width):
        out[LINES + width + i, made] = s.right[right + E_WORDS + i]


@helper
def _take_left(s: InequalityBuffers) -> None:
    """Let the lower bound of the left row in the scratch row stand beside it where there is an upper one too."""
    m, form, row = s.left, s.form, s.form[P_ROW]
    if form[P_HAS_HIGH] == 1 and form[P_HAS_LOW] == 1:
        copy_words(m, row + E_WORDS + form[P_LEFT_AT] + form[P_SIZE], form[P_SIZE], m, form[P_BOUND])


@kernel
def scan(store: Addresses, key: Line, text: Texts, cursor: Cursor, out: Output) -> int:
    """Write the pairs with their multiplicities; both sides are in the order of what is compared.

    Args:
        store, text: As for `livejoin.kernels.inequality.maintain.maintain`.
        key: int64, the order words of the key whose pairs are asked for; empty for those of all keys.
        cursor: int64[5]: 0 to begin, then 1 with leaf and place of a left row, and of the right row that it meets next,
            a leaf of 0 where the first one is to be found; -1 at the end; changed.
        out: int64 of shape (LINES + words of a left row + those of a right one, capacity); the weight of each pair.

    Returns:
        The number of pairs written; perhaps none before the end, as a call goes through AT_ONCE left rows at most.

    Cost: O(log n) a left row, and O(1) a pair.
    """
    s, strings = opened(store), strings_of(text)
    m, other, form = s.left, s.right, s.form
    row, width = form[P_ROW], s.left_whole[O_WIDTH]
    for i in range(key.shape[0]):
        m[row + E_WORDS + i] = key[i]
    m[T_LEAF], m[T_PLACE] = cursor[1], cursor[2]
    if cursor[0] == 0 and key.shape[0] == 0:
        m[T_LEAF], m[T_PLACE] = first_leaf(m), 0
    elif cursor[0] == 0:
        seek(m, s.key, row, 0, strings)
    goes_on = cursor[0] == 1 and cursor[3] != 0
    made, left = 0, AT_ONCE
    while True:
        if left == 0:
            cursor[0], cursor[1], cursor[2], cursor[3] = 1, m[T_LEAF], m[T_PLACE], 0
            return made
        left -= 1
        entry = entry_here(m)
        if entry == 0 or (key.shape[0] > 0 and compare(m, s.key, entry, row, strings) != 0):
            cursor[0] = -1
            return made
        copy_words(m, entry + E_WORDS, width, m, row + E_WORDS)
        _take_left(s)
        copy_words(m, row + E_WORDS, s.key[O_WIDTH], other, row + E_WORDS)
        to_first(s, True, strings)
        if goes_on:
            other[T_LEAF], other[T_PLACE], goes_on = cursor[3], cursor[4], False
        point = entry_here(other)
        while place_of(s, True, point, strings) == WITHIN:
            if made == out.shape[1]:
                cursor[0], cursor[1], cursor[2] = 1, m[T_LEAF], m[T_PLACE]
                cursor[3], cursor[4] = other[T_LEAF], other[T_PLACE]
                return made
            _write_pair(s, entry, point, (m[entry + E_COUNT] >> 1) * (other[point + E_COUNT] >> 1), 0, out, made)
            made += 1
            other[T_PLACE] += 1
            point = entry_here(other)
        m[T_PLACE] += 1


@kernel
def met(store: Addresses, is_left: bool, rows: Matrix, weights: Line, text: Texts, cursor: Cursor, out: Output) -> int:
    """Write the pairs of some rows of one side with the rows of the other one that they meet.

    Args:
        store, text: As for `scan`.
        is_left: Whether they are left rows.
        rows: The order words of the rows, of shape (words, n); none has NULL in its key or in what is compared.
        weights: int64[n], the multiplicities of the rows.
        cursor: int64[3]: the row that comes next, then leaf and place of what it meets next, a leaf of 0 where the
            first one is to be found; at the end the row is n; changed.
        out: As for `scan`; in the line of versions stands which of the rows it is.

    Returns:
        The number of pairs written; perhaps none before the end, as a call goes through AT_ONCE rows at most.

    Cost: O(log n) a row, and O(1) a pair.
    """
    s, strings = opened(store), strings_of(text)
    own, other = (s.left, s.right) if is_left else (s.right, s.left)
    row = s.form[P_ROW]
    made, steps = 0, AT_ONCE
    while cursor[0] < weights.shape[0]:
        if steps <= 0:
            return made
        steps -= 1
        place = cursor[0]
        for i in range(rows.shape[0]):
            own[row + E_WORDS + i] = rows[i, place]
        copy_words(own, row + E_WORDS, s.key[O_WIDTH], other, row + E_WORDS)
        if is_left:
            _take_left(s)
            if not has_range(s, strings):
                cursor[0] = place + 1
                continue
        to_first(s, is_left, strings)
        if cursor[1] != 0:
            other[T_LEAF], other[T_PLACE] = cursor[1], cursor[2]
        entry = entry_here(other)
        stands = place_of(s, is_left, entry, strings)
        while stands != END:
            if steps <= 0 or (stands == WITHIN and made == out.shape[1]):
                cursor[1], cursor[2] = other[T_LEAF], other[T_PLACE]
                return made
            steps -= 1
            if stands == WITHIN:
                left, right = (row, entry) if is_left else (entry, row)
                _write_pair(s, left, right, weights[place] * (other[entry + E_COUNT] >> 1), place, out, made)
                made += 1
            other[T_PLACE] += 1
            entry = entry_here(other)
            stands = place_of(s, is_left, entry, strings)
        cursor[0], cursor[1] = place + 1, 0
    return made


@kernel
def ranks(store: Addresses, text: Texts, cursor: Cursor, out: Output) -> int:
    """Write between which ranks of right rows those stand that each left row meets, in the order of left rows.

    Args:
        store, text: As for `scan`.
        cursor: int64[3]: 0 to begin, then 1 with leaf and place of a left row; changed.
        out: int64 of shape (3, capacity): the multiplicity of the left row, the rank of the first right row that it
            meets and how many these are, both with multiplicities.

    Returns:
        The number of left rows written; fewer than there is room for at the end.

    Cost: O(log n) a left row.
    """
    s, strings = opened(store), strings_of(text)
    m, other, row = s.left, s.right, s.form[P_ROW]
    m[T_LEAF], m[T_PLACE] = cursor[1], cursor[2]
    if cursor[0] == 0:
        m[T_LEAF], m[T_PLACE], cursor[0] = first_leaf(m), 0, 1
    made = 0
    while made < out.shape[1]:
        entry = entry_here(m)
        if entry == 0:
            break
        copy_words(m, entry + E_WORDS, s.left_whole[O_WIDTH], m, row + E_WORDS)
        _take_left(s)
        copy_words(m, row + E_WORDS, s.key[O_WIDTH], other, row + E_WORDS)
        first, end = ranks_of_points(s, strings)
        out[0, made], out[1, made], out[2, made] = m[entry + E_COUNT] >> 1, first, end - first
        made += 1
        m[T_PLACE] += 1
    cursor[1], cursor[2] = m[T_LEAF], m[T_PLACE]
    return made
