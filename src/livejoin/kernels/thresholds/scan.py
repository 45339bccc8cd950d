"""What is kept within bounds, read: the rows of the result, the bounds."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS, MASK32
from livejoin.kernels.ordered.order_nodes import T_LEAF, T_PLACE
from livejoin.kernels.parameters import ArenaArray, Cursor, Line, Output, Plan, Words
from livejoin.kernels.thresholds.layout import B_NOW, F_ABOVE, F_BOUND, F_KEY, F_RECORD_KEY, F_ROW, K_BOUNDS
from livejoin.kernels.thresholds.runs import entry_here, is_inside, set_key, to_low
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, O_WIDTH, compare


@kernel
def scan(
    arena: ArenaArray,
    whole: Plan,
    key: Plan,
    placed: Plan,
    bounded: Plan,
    form: Plan,
    heap: Words,
    starts: Words,
    lengths: Line,
    cursor: Cursor,
    output: Output,
) -> int:
    """Write the rows of the result, key by key, where rows are selected.

    Args:
        arena, whole, key, placed, bounded, form, heap, starts, lengths: As for `maintain`.
        cursor: int64[3], a slot of the directory, and a leaf and a place, of leaf 0 if the slot has not begun: (0, 0,
            0) to begin, (-1, ...) at the end; changed.
        output: int64 of shape (words of a row + 1, capacity): the rows' words, then their multiplicities.

    Returns:
        The number of rows written.

    Cost: O(1) a row and O(log n) a key.
    """
    m = words(arena)
    al, ke, pl, bo, fo = words(whole), words(key), words(placed), words(bounded), words(form)
    text = (heap, starts, lengths)
    row = fo[F_ROW]
    made = 0
    for slot in range(cursor[0], 1 << m[K_BOUNDS + D_LOG]):
        record = m[m[K_BOUNDS + D_SLOTS] + slot] & MASK32
        if record == 0:
            continue
        set_key(m, fo, record)
        above = fo[F_ABOVE] == 1
        if cursor[1] == 0:
            to_low(m, ke, pl, fo, record + B_NOW if above else 0, text)
        else:
            m[T_LEAF], m[T_PLACE] = cursor[1], cursor[2]
        while True:
            entry = entry_here(m)
            if entry == 0 or compare(m, ke, entry, row, text) != 0:
                break
            if not above and not is_inside(m, fo, bo, entry, record + B_NOW, text):
                break
            if made == output.shape[1]:
                cursor[0], cursor[1], cursor[2] = slot, m[T_LEAF], m[T_PLACE]
                return made
            for i in range(al[O_WIDTH]):
                output[i, made] = m[entry + E_WORDS + i]
            output[al[O_WIDTH], made] = m[entry + E_COUNT] >> 1
            made += 1
            m[T_PLACE] += 1
        cursor[1] = 0
    cursor[0] = -1
    return made


@kernel
def bounds(arena: ArenaArray, form: Plan, output: Output) -> None:
    """Write the keys and the bounds of all records; ``output`` has a place for each: words of a key, of a bound."""
    m = words(arena)
    fo = words(form)
    made = 0
    for slot in range(1 << m[K_BOUNDS + D_LOG]):
        record = m[m[K_BOUNDS + D_SLOTS] + slot] & MASK32
        if record == 0:
            continue
        for i in range(fo[F_KEY]):
            output[i, made] = m[record + fo[F_RECORD_KEY] + i]
        for i in range(fo[F_BOUND]):
            output[fo[F_KEY] + i, made] = m[record + B_NOW + i]
        made += 1
