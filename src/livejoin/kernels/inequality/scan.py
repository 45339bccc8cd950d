"""The pairs of an inequality join, read in the order of the left side."""

from __future__ import annotations

from livejoin.kernels.inequality.buffers import opened
from livejoin.kernels.inequality.layout import (
    L_VERSION,
    L_WEIGHT,
    LINES,
    P_BOUND,
    P_HAS_HIGH,
    P_HAS_LOW,
    P_LEFT_AT,
    P_ROW,
    P_SIZE,
)
from livejoin.kernels.inequality.ranges import copy_words, is_point_within, to_points
from livejoin.kernels.jit import kernel
from livejoin.kernels.ordered.order_nodes import T_LEAF, T_PLACE
from livejoin.kernels.ordered.order_tree import entry_here, first_leaf
from livejoin.kernels.parameters import Addresses, Cursor, Output, Texts
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, O_WIDTH


@kernel
def scan(store: Addresses, text: Texts, cursor: Cursor, out: Output) -> int:
    """Write the pairs with their multiplicities; both sides are in the order of what is compared.

    Args:
        store, text: As for `livejoin.kernels.inequality.maintain.maintain`.
        cursor: int64[5]: 0 to begin, then 1 with leaf and place of a left row, and of the right row that it meets next,
            a leaf of 0 where the first one is to be found; -1 at the end; changed.
        out: int64 of shape (LINES + words of a left row + those of a right one, capacity); the weight of each pair.

    Returns:
        The number of pairs written.

    Cost: O(log n) a left row, and O(1) a pair.
    """
    s, strings = opened(store), strings_of(text)
    m, other, form = s.left, s.right, s.form
    row, width, other_width = form[P_ROW], s.left_whole[O_WIDTH], s.right_whole[O_WIDTH]
    m[T_LEAF], m[T_PLACE] = cursor[1], cursor[2]
    if cursor[0] == 0:
        m[T_LEAF], m[T_PLACE] = first_leaf(m), 0
    goes_on = cursor[0] == 1 and cursor[3] != 0
    made = 0
    while True:
        entry = entry_here(m)
        if entry == 0:
            cursor[0] = -1
            return made
        copy_words(m, entry + E_WORDS, width, m, row + E_WORDS)
        if form[P_HAS_HIGH] == 1 and form[P_HAS_LOW] == 1:
            copy_words(m, entry + E_WORDS + form[P_LEFT_AT] + form[P_SIZE], form[P_SIZE], m, form[P_BOUND])
        copy_words(m, row + E_WORDS, s.key[O_WIDTH], other, row + E_WORDS)
        to_points(s, strings)
        if goes_on:
            other[T_LEAF], other[T_PLACE], goes_on = cursor[3], cursor[4], False
        point = entry_here(other)
        while point != 0 and is_point_within(s, point, strings):
            if made == out.shape[1]:
                cursor[0], cursor[1], cursor[2] = 1, m[T_LEAF], m[T_PLACE]
                cursor[3], cursor[4] = other[T_LEAF], other[T_PLACE]
                return made
            out[L_WEIGHT, made] = (m[entry + E_COUNT] >> 1) * (other[point + E_COUNT] >> 1)
            out[L_VERSION, made] = 0
            for i in range(width):
                out[LINES + i, made] = m[entry + E_WORDS + i]
            for i in range(other_width):
                out[LINES + width + i, made] = other[point + E_WORDS + i]
            made += 1
            other[T_PLACE] += 1
            point = entry_here(other)
        m[T_PLACE] += 1
