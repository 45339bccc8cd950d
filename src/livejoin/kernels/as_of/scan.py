"""The rows of an as-of join, read in the order of the left side."""

from __future__ import annotations

from livejoin.kernels.as_of.buffers import opened
from livejoin.kernels.as_of.layout import P_NULLS, P_OPTIONAL
from livejoin.kernels.as_of.matches import match_of
from livejoin.kernels.jit import kernel
from livejoin.kernels.ordered.order_nodes import T_LEAF, T_PLACE
from livejoin.kernels.ordered.order_tree import entry_here, first_leaf
from livejoin.kernels.parameters import Addresses, Cursor, Output, Texts
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, O_WIDTH


@kernel
def scan(store: Addresses, text: Texts, cursor: Cursor, output: Output) -> int:
    """Write the rows of the result with their multiplicities.

    Args:
        store, text: As for `livejoin.kernels.as_of.maintain.maintain`.
        cursor: int64[3]: 0 to begin, then 1 with a leaf and a place of a left row, -1 at the end; changed.
        output: int64 of shape (words of a left row + those of a right one + 1, capacity).

    Returns:
        The number of rows written.

    Cost: O(log n) a left row.
    """
    s, strings = opened(store), strings_of(text)
    m, other, form = s.left, s.right, s.form
    width, other_width = s.left_whole[O_WIDTH], s.right_whole[O_WIDTH]
    m[T_LEAF], m[T_PLACE] = cursor[1], cursor[2]
    if cursor[0] == 0:
        m[T_LEAF] = first_leaf(m)
        m[T_PLACE] = 0
    made = 0
    while True:
        entry = entry_here(m)
        if entry == 0:
            cursor[0] = -1
            return made
        if made == output.shape[1]:
            cursor[0], cursor[1], cursor[2] = 1, m[T_LEAF], m[T_PLACE]
            return made
        match = match_of(s, entry, strings)
        m[T_PLACE] += 1
        if match == 0 and form[P_OPTIONAL] == 0:
            continue
        for i in range(width):
            output[i, made] = m[entry + E_WORDS + i]
        for i in range(other_width):
            output[width + i, made] = other[match + E_WORDS + i] if match != 0 else form[P_NULLS + i]
        output[width + other_width, made] = m[entry + E_COUNT] >> 1
        made += 1
