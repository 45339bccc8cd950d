"""What is kept within bounds, read: the rows of the result, the bounds."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.directory import scattered
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS, MASK32
from livejoin.kernels.ordered.order_nodes import T_LEAF, T_PLACE
from livejoin.kernels.ordered.order_tree import entry_here, first_leaf, seek
from livejoin.kernels.parameters import Addresses, Cursor, Output, Texts
from livejoin.kernels.thresholds.buffers import opened
from livejoin.kernels.thresholds.layout import B_NOW, H_BOUNDS, P_ABOVE, P_BOUND, P_KEY, P_RECORD_KEY, P_ROW
from livejoin.kernels.thresholds.runs import is_inside, record_of, set_key, to_low
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, O_WIDTH, compare


@kernel
def scan(store: Addresses, text: Texts, cursor: Cursor, output: Output) -> int:
    """Write the rows of the result, key by key, where rows are selected and those without a bound are not in it.

    Args:
        store, text: As for `maintain`.
        cursor: int64[3], a slot of the directory, and a leaf and a place, of leaf 0 if the slot has not begun: (0, 0,
            0) to begin, (-1, ...) at the end; changed.
        output: int64 of shape (words of a row + 1, capacity): the rows' words, then their multiplicities.

    Returns:
        The number of rows written.

    Cost: O(1) a row and O(log n) a key.
    """
    s, strings = opened(store), strings_of(text)
    m, form, width = s.arena, s.form, s.whole[O_WIDTH]
    row = form[P_ROW]
    made = 0
    log = m[H_BOUNDS + D_LOG]
    for slot in range(cursor[0], 1 << log):
        record = m[m[H_BOUNDS + D_SLOTS] + scattered(slot, log)] & MASK32
        if record == 0:
            continue
        set_key(s, record)
        above = form[P_ABOVE] == 1
        if cursor[1] == 0:
            to_low(s, record + B_NOW if above else 0, strings)
        else:
            m[T_LEAF], m[T_PLACE] = cursor[1], cursor[2]
        while True:
            entry = entry_here(m)
            if entry == 0 or compare(m, s.key, entry, row, strings) != 0:
                break
            if not above and not is_inside(s, entry, record + B_NOW, strings):
                break
            if made == output.shape[1]:
                cursor[0], cursor[1], cursor[2] = slot, m[T_LEAF], m[T_PLACE]
                return made
            for i in range(width):
                output[i, made] = m[entry + E_WORDS + i]
            output[width, made] = m[entry + E_COUNT] >> 1
            made += 1
            m[T_PLACE] += 1
        cursor[1] = 0
    cursor[0] = -1
    return made


@kernel
def scan_open(store: Addresses, text: Texts, cursor: Cursor, output: Output) -> int:
    """Write the rows of the result, key by key, where rows are selected and those without a bound are in it.

    Args:
        store, text: As for `maintain`.
        cursor: int64[3]: 0 to begin, then 1 with a leaf and a place of a row in the result, -1 at the end; changed.
        output: As for `scan`.

    Returns:
        The number of rows written.

    Cost: O(1) a row and O(log n) a key of the rows.
    """
    s, strings = opened(store), strings_of(text)
    m, form, width = s.arena, s.form, s.whole[O_WIDTH]
    row = form[P_ROW]
    above = form[P_ABOVE] == 1
    resumes = cursor[0] == 1
    m[T_LEAF], m[T_PLACE] = cursor[1], cursor[2]
    if not resumes:
        m[T_LEAF] = first_leaf(m)
    made, record, begun = 0, 0, False
    while True:
        entry = entry_here(m)
        if entry == 0:
            cursor[0] = -1
            return made
        if not begun or compare(m, s.key, entry, row, strings) != 0:
            begun = True
            for i in range(form[P_KEY]):
                m[row + E_WORDS + i] = m[entry + E_WORDS + i]
            record = record_of(s, row)
            if record != 0 and above and not resumes:
                to_low(s, record + B_NOW, strings)
                continue
        resumes = False
        if record != 0 and not above and not is_inside(s, entry, record + B_NOW, strings):
            seek(m, s.key, row, 1, strings)
            continue
        if made == output.shape[1]:
            cursor[0], cursor[1], cursor[2] = 1, m[T_LEAF], m[T_PLACE]
            return made
        for i in range(width):
            output[i, made] = m[entry + E_WORDS + i]
        output[width, made] = m[entry + E_COUNT] >> 1
        made += 1
        m[T_PLACE] += 1


@kernel
def bounds(store: Addresses, output: Output) -> None:
    """Write the keys and the bounds of all records; ``output`` has a place for each: words of a key, of a bound."""
    s = opened(store)
    m, form = s.arena, s.form
    made = 0
    for slot in range(1 << m[H_BOUNDS + D_LOG]):
        record = m[m[H_BOUNDS + D_SLOTS] + slot] & MASK32
        if record == 0:
            continue
        for i in range(form[P_KEY]):
            output[i, made] = m[record + form[P_RECORD_KEY] + i]
        for i in range(form[P_BOUND]):
            output[form[P_KEY] + i, made] = m[record + B_NOW + i]
        made += 1
