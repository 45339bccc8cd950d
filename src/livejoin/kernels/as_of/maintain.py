"""An as-of join, kept up to date: each left row with the last right row in front of it.

The rows of both sides are ordered multisets, `livejoin.kernels.ordered.order_tree`, by their key, then by what is
compared, then by all other columns. A change of a left row is one look-up among the right ones. A right row that comes
or goes moves the left rows between it and the next right row: these are a run, and they are the delta.

In a version left rows go first, with the matches that they had; then the right rows change, and runs move; then left
rows come, with the matches that there are. Right rows that go stay in the tree until all runs have moved, so that one
walk over those that the version touched knows what was in front of a run before it and what is behind it. A right row
that stands there several times is one match.

Law: the changes written for a version add up to the result after it minus the result before it. The multiplicities of
left rows may be negative for a while within a version, as all that is written is linear in them.
"""

from __future__ import annotations

from livejoin.kernels.as_of.buffers import AsOfBuffers, opened
from livejoin.kernels.as_of.layout import (
    APPLYING,
    COMING,
    FORGETTING,
    GOING,
    H_CHANGE,
    H_CURRENT,
    H_DONE,
    H_FULL,
    H_HIGH,
    H_LEAF,
    H_LOW,
    H_MADE,
    H_NEW,
    H_NEXT,
    H_OLD,
    H_OTHER,
    H_PLACE,
    H_STEP,
    H_TOTAL,
    H_TOUCHED,
    H_VERSION,
    L_VERSION,
    L_WEIGHT,
    LEFT_HEADER,
    LINES,
    MOVING,
    NEXT_VERSION,
    P_NULLS,
    P_OPTIONAL,
    RIGHT_HEADER,
)
from livejoin.kernels.as_of.matches import begin_run, entry_in_front, is_in_run, match_of, rows_of_run, to_run
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.ordered.order_nodes import T_LEAF, T_PLACE, has_space, new_entry
from livejoin.kernels.ordered.order_tree import descend, entry_here, insert, plant, remove, seek, weigh
from livejoin.kernels.parameters import Addresses, Arena, ArenaArray, Changed, Output, Plan, Texts, Touched
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_WIDTH, compare


@helper
def _write(s: AsOfBuffers, row: int, match: int, weight: int, emit: bool, out: Output) -> None:
    """Write a change of a left row with a match, 0 for none; nothing if rows without one are not in the result."""
    m, other, form = s.left, s.right, s.form
    if match == 0 and form[P_OPTIONAL] == 0:
        return
    m[H_TOTAL] += weight
    if not emit:
        return
    made, width = m[H_MADE], s.left_whole[O_WIDTH]
    out[L_WEIGHT, made] = weight
    out[L_VERSION, made] = m[H_VERSION]
    for i in range(width):
        out[LINES + i, made] = m[row + E_WORDS + i]
    for i in range(s.right_whole[O_WIDTH]):
        out[LINES + width + i, made] = other[match + E_WORDS + i] if match != 0 else form[P_NULLS + i]
    m[H_MADE] = made + 1


@helper
def _change(m: Arena, whole: Plan, row: int, weight: int, text: Texts) -> int:
    """Change the multiplicity of the row that is looked for; returns its entry, which may have none left."""
    entry = descend(m, whole, row, text)
    weigh(m, weight)
    if entry == 0:
        entry = new_entry(m, whole)
        m[entry + E_COUNT] = weight << 1
        m[entry + E_IN] = 0
        for i in range(whole[O_WIDTH]):
            m[entry + E_WORDS + i] = m[row + E_WORDS + i]
        insert(m, entry)
    else:
        m[entry + E_COUNT] += weight << 1
    return entry


@helper
def _is_head(s: AsOfBuffers, entry: int, text: Texts) -> bool:
    """Whether the entry before a touched one is not touched, or of another key; it becomes H_OLD and H_NEW."""
    m, other = s.left, s.right
    seek(other, s.right_whole, entry, 0, text)
    ahead = entry_in_front(other)
    if ahead != 0 and compare(other, s.key, ahead, entry, text) != 0:
        ahead = 0
    m[H_OLD], m[H_NEW] = ahead, ahead
    return ahead == 0 or other[ahead + E_COUNT] & 1 == 0


@helper
def _enter(s: AsOfBuffers, entry: int, text: Texts) -> None:
    """Begin with the run of left rows behind a touched right entry."""
    m, other = s.left, s.right
    m[H_CURRENT], m[H_LEAF] = entry, 0
    if other[entry + E_IN] == 1:
        m[H_OLD] = entry
    if other[entry + E_COUNT] >> 1 > 0:
        m[H_NEW] = entry
    begin_run(s, entry, text)


@helper
def _move_run(s: AsOfBuffers, left: int, emit: bool, text: Texts, out: Output) -> int:
    """Write the rows of the run, so many at most, with their old match and with the new one; how many more could be.

    H_CURRENT is 0 when the run is done.
    """
    m = s.left
    old, new = m[H_OLD], m[H_NEW]
    if old == new or not emit:
        if s.form[P_OPTIONAL] == 0 and (old == 0) != (new == 0):
            m[H_TOTAL] += rows_of_run(s, text) * (1 if old == 0 else -1)
        m[H_CURRENT] = 0
        return left - 1
    if m[H_LEAF] == 0:
        to_run(s, text)
    else:
        m[T_LEAF], m[T_PLACE] = m[H_LEAF], m[H_PLACE]
    while left > 0 and m[H_MADE] + 2 <= out.shape[1]:
        entry = entry_here(m)
        if entry == 0 or not is_in_run(s, entry, text):
            m[H_CURRENT] = 0
            return left - 1
        times = m[entry + E_COUNT] >> 1
        _write(s, entry, old, -times, emit, out)
        _write(s, entry, new, times, emit, out)
        m[T_PLACE] += 1
        left -= 1
    m[H_LEAF], m[H_PLACE] = m[T_LEAF], m[T_PLACE]
    return left


@kernel
def prepare(left: ArenaArray, right: ArenaArray, words: int) -> None:
    """Make the empty state in fresh arenas.

    Args:
        left, right: The arenas; changed.
        words: Words of a left row, or of what the rows of both sides begin with.
    """
    m, other = view(left), view(right)
    m[H_LOW] = LEFT_HEADER
    m[H_HIGH] = LEFT_HEADER + E_WORDS + words
    plant(m)
    plant(other)


@kernel
def maintain(
    store: Addresses, lefts: Changed, rights: Changed, touched: Touched, text: Texts, emit: bool, out: Output
) -> int:
    """Apply changes of both sides, and write what the result gains and loses.

    Args:
        store: The state. A caller starts with the words from H_CHANGE to H_TOUCHED at 0.
        lefts: The words of the changed left rows, of shape (words of a row, n); what each change adds to its row's
            multiplicity, never 0; its version, ascending. In each version the negative weights come first.
        rights: The same of the right rows, none with NULL in its key or in what is compared, in any order of weights.
        touched: Places for as many entries as there are changes of right rows.
        text: The dictionary of strings, if there are any: its heap, starts and lengths.
        emit: Whether changes are written.
        out: int64 of shape (LINES + words of a left row + those of a right one, capacity of at least 2), H_MADE of
            them.

    Returns:
        DONE; MORE, NEED_SPACE, OUTPUT_FULL: take the changes that are written, grow the arena of side H_FULL for
        NEED_SPACE, and call again.

    Cost: O(log n) a change with n rows, and O(1) for each left row whose match changes.
    """
    s, strings = opened(store), strings_of(text)
    m, other = s.left, s.right
    words, weights, versions = lefts
    others, other_weights, other_versions = rights
    row, width, other_width = m[H_LOW], s.left_whole[O_WIDTH], s.right_whole[O_WIDTH]
    probe = RIGHT_HEADER
    m[H_MADE] = 0
    left = AT_ONCE
    while True:
        if left <= 0:
            return MORE
        step = m[H_STEP]
        if step == NEXT_VERSION:
            change, move = m[H_CHANGE], m[H_OTHER]
            if change == weights.shape[0] and move == other_weights.shape[0]:
                return DONE
            if move == other_weights.shape[0]:
                m[H_VERSION] = versions[change]
            elif change == weights.shape[0]:
                m[H_VERSION] = other_versions[move]
            else:
                m[H_VERSION] = min(versions[change], other_versions[move])
            m[H_STEP] = GOING
        elif step == GOING or step == COMING:
            change = m[H_CHANGE]
            is_done = change == weights.shape[0] or versions[change] != m[H_VERSION]
            if is_done or (step == GOING and weights[change] > 0):
                m[H_STEP] = APPLYING if step == GOING else NEXT_VERSION
                continue
            if not has_space(m, s.left_whole):
                m[H_FULL] = 0
                return NEED_SPACE
            if emit and m[H_MADE] == out.shape[1]:
                return OUTPUT_FULL
            for i in range(width):
                m[row + E_WORDS + i] = words[i, change]
            _write(s, row, match_of(s, row, strings), weights[change], emit, out)
            entry = _change(m, s.left_whole, row, weights[change], strings)
            if m[entry + E_COUNT] == 0:
                remove(m, s.left_whole, entry, strings)
            m[H_CHANGE] = change + 1
            left -= 1
        elif step == APPLYING:
            move = m[H_OTHER]
            if move == other_weights.shape[0] or other_versions[move] != m[H_VERSION]:
                m[H_STEP], m[H_DONE], m[H_CURRENT] = MOVING, 0, 0
                continue
            if not has_space(other, s.right_whole):
                m[H_FULL] = 1
                return NEED_SPACE
            for i in range(other_width):
                other[probe + E_WORDS + i] = others[i, move]
            entry = _change(other, s.right_whole, probe, other_weights[move], strings)
            if other[entry + E_COUNT] & 1 == 0:
                other[entry + E_COUNT] |= 1
                touched[m[H_TOUCHED]] = entry
                m[H_TOUCHED] += 1
            m[H_OTHER] = move + 1
            left -= 1
        elif step == MOVING:
            if m[H_CURRENT] != 0:
                following = m[H_NEXT]
                if emit and m[H_MADE] + 2 > out.shape[1]:
                    return OUTPUT_FULL
                left = _move_run(s, left, emit, strings, out)
                if m[H_CURRENT] == 0 and following != 0 and other[following + E_COUNT] & 1 == 1:
                    _enter(s, following, strings)
                continue
            if m[H_DONE] == m[H_TOUCHED]:
                m[H_STEP], m[H_DONE] = FORGETTING, 0
                continue
            entry = touched[m[H_DONE]]
            m[H_DONE] += 1
            left -= 1
            if _is_head(s, entry, strings):
                _enter(s, entry, strings)
        else:
            if m[H_DONE] == m[H_TOUCHED]:
                m[H_STEP], m[H_TOUCHED] = COMING, 0
                continue
            entry = touched[m[H_DONE]]
            other[entry + E_COUNT] ^= 1
            other[entry + E_IN] = 1 if other[entry + E_COUNT] > 0 else 0
            if other[entry + E_COUNT] == 0:
                remove(other, s.right_whole, entry, strings)
            m[H_DONE] += 1
            left -= 1
