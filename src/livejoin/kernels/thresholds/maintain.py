"""Rows that compare with the bound of their key, or sums over them, kept up to date (AJU, Theorems 14 and 15).

The rows are an ordered multiset, `livejoin.kernels.ordered.order_tree`: by their key, then by their group where sums
are kept, then by the word, or words, that is compared. So the rows of a key, and of a key and a group, are a run of
entries, those that stand in the result are a run at its begin or its end, and a bound that moves lets the run between
its two places in or out. The bounds are records by key: how many there are (one, but for the middle of a version), the
bound now, and that before the version.

    a row changes        one descent, one comparison with the bound of its key
    a bound moves        select: the entries between its two places. Sums: two paths for each group of the key

In a version rows go first, then bounds move, then rows come. So a row is written once, whatever becomes of its bound.

Law: the changes written for a version add up to the result after it minus the result before it. Everything that is
written is linear in the multiplicities, so that they may be negative for a while within a version.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.accumulators import accumulate_block
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.directory import create, hash_key
from livejoin.kernels.memory.directory import remove as take_away
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.ordered.order_nodes import T_CARRIED, T_LEAF, T_PLACE, T_SUMS, T_VALUES, has_space
from livejoin.kernels.ordered.order_tree import entry_here, plant, seek
from livejoin.kernels.ordered.summed_rows import change_row, sums_before
from livejoin.kernels.ordered.sums import add_sums, clear_sums, is_zero, subtract_sums
from livejoin.kernels.parameters import Addresses, Arena, ArenaArray, Changed, Matrix, Output, Texts
from livejoin.kernels.thresholds.buffers import ThresholdBuffers, opened
from livejoin.kernels.thresholds.layout import (
    B_COUNT,
    B_HAD,
    B_HAS,
    B_LISTED,
    B_NEXT,
    B_NOW,
    BINDING,
    COMING,
    GOING,
    H_BOUNDS,
    H_CHANGE,
    H_HIGH,
    H_LEAF,
    H_LOW,
    H_MADE,
    H_MOVE,
    H_MOVED,
    H_PLACE,
    H_SIGN,
    H_STAGE,
    H_STEP,
    H_TOTAL,
    H_VERSION,
    L_VERSION,
    L_WEIGHT,
    LINES,
    MOVING,
    NEXT_VERSION,
    P_AFTER,
    P_BEFORE,
    P_BOUND,
    P_HIGH,
    P_KEY,
    P_LOW,
    P_OFFSETS,
    P_RECORD,
    P_RECORD_KEY,
    P_ROW,
    P_SUMMED,
    P_TERM,
)
from livejoin.kernels.thresholds.runs import (
    count_run,
    find_places,
    record_of,
    set_bound,
    set_key,
    stands,
    to_low,
)
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, O_WIDTH, compare


@helper
def _write(m: Arena, width: int, entry: int, values: int, weight: int, sign: int, out: Output) -> None:
    """Write a change: the words of an entry, and values, all of them times a sign."""
    made = m[H_MADE]
    out[L_WEIGHT, made] = weight * sign
    out[L_VERSION, made] = m[H_VERSION]
    for i in range(width):
        out[LINES + i, made] = m[entry + E_WORDS + i]
    for i in range(m[T_SUMS]):
        out[LINES + width + i, made] = m[values + i] if values != 0 else 0
    m[H_MADE] = made + 1


@helper
def _bind(s: ThresholdBuffers, moves: Matrix, move: int, weight: int) -> bool:
    """Note that a bound comes or goes; False if there is no space."""
    m, form = s.arena, s.form
    row, size = form[P_ROW], form[P_BOUND]
    for i in range(form[P_KEY]):
        m[row + E_WORDS + i] = moves[i, move]
    record = record_of(s, row)
    if record == 0:
        h = hash_key(m, form, row + E_WORDS, form[P_KEY], P_OFFSETS)
        key, at = form[P_RECORD_KEY], row + E_WORDS
        record = create(m, form, H_BOUNDS, form[P_RECORD], key, at, form[P_KEY], P_OFFSETS, h)
        if record == 0:
            return False
    if m[record + B_LISTED] == 0:
        m[record + B_LISTED] = 1
        m[record + B_NEXT] = m[H_MOVED]
        m[H_MOVED] = record
        m[record + B_HAD] = m[record + B_HAS]
        for i in range(size):
            m[record + B_NOW + size + i] = m[record + B_NOW + i]
    m[record + B_COUNT] += weight
    if weight > 0:
        for i in range(size):
            m[record + B_NOW + i] = moves[form[P_KEY] + i, move]
    m[record + B_HAS] = 1 if m[record + B_COUNT] > 0 else 0
    return True


@helper
def _move_rows(s: ThresholdBuffers, left: int, text: Texts, out: Output) -> int:
    """Write the entries of the run, so many at most; how many more could have been. H_STAGE is 0 when it is done."""
    m, whole, key, bounded, form = s.arena, s.whole, s.key, s.bounded, s.form
    row = form[P_ROW]
    if m[H_STAGE] == 0:
        m[H_STAGE] = 1
        to_low(s, m[H_LOW], text)
    else:
        m[T_LEAF], m[T_PLACE] = m[H_LEAF], m[H_PLACE]
    high = m[H_HIGH]
    while left > 0 and m[H_MADE] < out.shape[1]:
        entry = entry_here(m)
        if entry == 0 or compare(m, key, entry, row, text) != 0:
            m[H_STAGE] = 0
            return left
        if high != 0 and compare(m, bounded, entry + form[P_BEFORE], high - E_WORDS, text) >= form[P_AFTER]:
            m[H_STAGE] = 0
            return left
        _write(m, whole[O_WIDTH], entry, 0, m[entry + E_COUNT] >> 1, m[H_SIGN], out)
        m[H_TOTAL] += m[H_SIGN] * (m[entry + E_COUNT] >> 1)
        m[T_PLACE] += 1
        left -= 1
    m[H_LEAF], m[H_PLACE] = m[T_LEAF], m[T_PLACE]
    return left


@helper
def _write_sums(s: ThresholdBuffers, values: int, out: Output) -> None:
    """Write what the sums of a group gain, or lose; the group is that of the row that is looked for."""
    m, whole, form = s.arena, s.whole, s.form
    rows, sign = m[values + g.R_ROWS], m[H_SIGN]
    if is_zero(m, values):
        return
    term = form[P_TERM]
    clear_sums(m, term)
    if sign > 0:
        add_sums(m, term, values)
    else:
        subtract_sums(m, term, values)
    if rows == 0:  # rows that only go for the time being: what is added has a row
        _write(m, whole[O_WIDTH], form[P_ROW], 0, 1, 1, out)
        rows, sign = -1, 1
    _write(m, whole[O_WIDTH], form[P_ROW], term, rows, sign, out)


@helper
def _move_sums(s: ThresholdBuffers, left: int, text: Texts, out: Output) -> int:
    """Write what is between the two places group by group, as `_move_rows`."""
    m, key, grouped, placed, form = s.arena, s.key, s.grouped, s.placed, s.form
    row = form[P_ROW]
    while left > 0 and m[H_MADE] + 2 <= out.shape[1]:
        if m[H_STAGE] == 0:
            seek(m, key, row, 0, text)
        else:
            seek(m, grouped, row, 1, text)
        entry = entry_here(m)
        if entry == 0 or compare(m, key, entry, row, text) != 0:
            m[H_STAGE] = 0
            return left
        m[H_STAGE] = 1
        for i in range(grouped[O_WIDTH]):
            m[row + E_WORDS + i] = m[entry + E_WORDS + i]
        if m[H_LOW] == 0:
            sums_before(m, grouped, row, 0, form[P_LOW], text)
        else:
            set_bound(s, m[H_LOW])
            sums_before(m, placed, row, form[P_AFTER], form[P_LOW], text)
        if m[H_HIGH] == 0:
            sums_before(m, grouped, row, 1, form[P_HIGH], text)
        else:
            set_bound(s, m[H_HIGH])
            sums_before(m, placed, row, form[P_AFTER], form[P_HIGH], text)
        subtract_sums(m, form[P_HIGH], form[P_LOW])
        _write_sums(s, form[P_HIGH], out)
        left -= 1
    return left


@helper
def _end_move(s: ThresholdBuffers, record: int) -> None:
    """Forget that a bound moved, and its record if it is gone."""
    m, form = s.arena, s.form
    m[H_MOVED] = m[record + B_NEXT]
    m[record + B_LISTED] = 0
    if m[record + B_COUNT] == 0:
        take_away(m, H_BOUNDS, record, form[P_RECORD_KEY], form[P_KEY])


@kernel
def prepare(arena: ArenaArray, sums: int, carried: int, values: int) -> None:
    """Make the empty state in a fresh arena.

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
    store: Addresses, rows: Changed, moves: Changed, arguments: Matrix, text: Texts, emit: bool, out: Output
) -> int:
    """Apply changes of rows and of bounds, and write what the result, or its sums, gain and lose.

    Args:
        store: The state. A caller starts with the words from H_CHANGE to H_STEP at 0.
        rows: The words of the changed rows, of shape (words of a row, n), none with NULL in its key or its compared
            word unless rows without a bound stand in the result; what each change adds to its row's multiplicity, never
            0; its version, ascending. In each version the negative weights come first.
        moves: The bounds that come and go: their words, of shape (words of a key and a bound, k), 1 or -1, and their
            versions, ascending.
        arguments: Where sums are kept, the values that the groups' kernel takes in for these rows.
        text: The dictionary of strings, if there are any: its heap, starts and lengths.
        emit: Whether rows of the result are written; sums are in any case.
        out: int64 of shape (LINES + words of a row + those of values, capacity of at least 2), H_MADE of them.

    Returns:
        DONE; MORE, NEED_SPACE, OUTPUT_FULL: take the changes that are written, grow the arena for NEED_SPACE, and call
        again.

    Cost: O(log n) a change with n rows; for a bound that moves besides O(1) for each row that it lets in or out, or
    O(log n) for each group of its key where sums are kept.
    """
    s, strings = opened(store), strings_of(text)
    m, form = s.arena, s.form
    words, weights, versions = rows
    bounds, move_weights, move_versions = moves
    values, by = view(arguments), view(weights)
    row, term = form[P_ROW], form[P_TERM]
    width = s.whole[O_WIDTH]
    m[H_MADE] = 0
    change, move, left = m[H_CHANGE], m[H_MOVE], AT_ONCE
    while True:
        m[H_CHANGE], m[H_MOVE] = change, move
        if left <= 0:
            return MORE
        step = m[H_STEP]
        if step == NEXT_VERSION:
            if change == weights.shape[0] and move == move_weights.shape[0]:
                return DONE
            if move == move_weights.shape[0]:
                m[H_VERSION] = versions[change]
            elif change == weights.shape[0]:
                m[H_VERSION] = move_versions[move]
            else:
                m[H_VERSION] = min(versions[change], move_versions[move])
            m[H_STEP] = GOING
        elif step == GOING or step == COMING:
            if change == weights.shape[0] or versions[change] != m[H_VERSION]:
                m[H_STEP] = BINDING if step == GOING else NEXT_VERSION
                continue
            weight = weights[change]
            if step == GOING and weight > 0:
                m[H_STEP] = BINDING
                continue
            if not has_space(m, s.wide):
                return NEED_SPACE
            if m[H_MADE] == out.shape[1]:
                return OUTPUT_FULL
            for i in range(width):
                m[row + E_WORDS + i] = words[i, change]
            if form[P_SUMMED] == 1:
                clear_sums(m, term)
                m[term + g.R_ROWS] = weight
                s.place[0] = term
                accumulate_block(m, s.summed, values, weights.shape[0], by, change, s.place, 1)
            change_row(m, s.whole, s.wide, row, weight, term, strings)
            if stands(s, row, strings):
                if form[P_SUMMED] == 0:
                    m[H_TOTAL] += weight
                if emit or form[P_SUMMED] == 1:
                    _write(m, width, row, term, weight, 1, out)
            change += 1
            left -= 1
        elif step == BINDING:
            if move == move_weights.shape[0] or move_versions[move] != m[H_VERSION]:
                m[H_STEP] = MOVING
                m[H_STAGE] = 0
                continue
            if not _bind(s, bounds, move, move_weights[move]):
                return NEED_SPACE
            move += 1
            left -= 1
        else:
            record = m[H_MOVED]
            if record == 0:
                m[H_STEP] = COMING
                continue
            if m[H_MADE] + 2 > out.shape[1]:
                return OUTPUT_FULL
            if m[H_STAGE] == 0:
                find_places(s, record, strings)
                set_key(s, record)
            if m[H_SIGN] != 0:
                if form[P_SUMMED] == 1:
                    left = _move_sums(s, left, strings, out)
                elif emit:
                    left = _move_rows(s, left, strings, out)
                else:
                    m[H_TOTAL] += m[H_SIGN] * count_run(s, strings)
                if m[H_STAGE] == 1:
                    if left > 0:
                        return OUTPUT_FULL
                    continue
            left -= 1
            _end_move(s, record)
