"""The rows at ranks [offset, offset + limit) of an ordered multiset, kept up to date.

The multiset is the tree of `livejoin.kernels.ordered.order_tree`. A row of multiplicity m takes m ranks, so the
*window* is a run of entries of which the first, LOW, and the last, HIGH, may stand in it with some of their copies
only; HIGH is 0 while rows are fewer than offset + limit, LOW is 0 while the window is empty. Every entry knows its
copies there.

The tree need not have all rows: where there is a *horizon*, some first order words of a row, it has those whose first
words are not greater, and these are always offset + limit ranks or more. A change of a row behind the horizon is found
by comparing these words, and has nothing to do here. Who owns the state brings more rows, or cuts them off
(`livejoin.kernels.ordered.horizon`).

A version that changes nothing up to HIGH leaves the window alone. After any other one, two descents find the new LOW
and HIGH, and only these entries can stand there more or less often than before: those that the version touched, those
between the old and the new LOW, and those between the old and the new HIGH. The ranks between are not more than the
version's weights, so that a version costs O(log n) a change and O(1) for each such rank.

A version ends in steps, each of which can be left and taken up between two rows, so that a call does a piece of them:
all entries that the version touched are settled, then those of both runs, then rows that are gone are taken out.

Law: the changes written for a version are the window after it minus the window before it, as multisets.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.ordered.order_nodes import (
    COUNT,
    FIRST,
    LEAF,
    NEXT,
    T_END,
    T_ENTRIES,
    T_LEAF,
    T_PLACE,
    T_TOTAL,
    free_entry,
    has_space,
    new_entry,
)
from livejoin.kernels.ordered.order_tree import descend, first_leaf, insert, plant, remove, select, weigh
from livejoin.kernels.parameters import Arena, ArenaArray, Cursor, Line, Matrix, Output, Plan, Texts, Touched
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_LIMIT, O_OFFSET, O_WIDTH, compare

# Arena header behind the tree's
H_LOW = T_END
H_HIGH = T_END + 1
H_LOW_COPIES = T_END + 2  # copies of LOW and of HIGH in the window
H_HIGH_COPIES = T_END + 3
H_CHANGE = T_END + 4  # cursor of an interrupted `maintain`: change, entries touched in its version
H_TOUCHED = T_END + 5
H_MOVED = T_END + 6  # sum of the version's weights, without signs
H_CONCERNED = T_END + 7  # 1: the version changes something up to HIGH
H_MADE = T_END + 8  # changes written by the current call
H_NEEDED = T_END + 9  # OUTPUT_FULL: places that the version may need
H_STEP = T_END + 10  # the step in which the end of a version was left
H_DONE = T_END + 11  # touched rows that are done in it
H_LEAF = T_END + 12  # next place of the run that is settled, and its last entry
H_PLACE = T_END + 13
H_LAST = T_END + 14
H_OLD_HIGH = T_END + 15  # HIGH before the version
H_HORIZON = T_END + 16  # words of the horizon; 0: the tree has all rows
H_FIRST_WORDS = T_END + 17  # these words
MOST_WORDS = 4
H_ROWS = H_FIRST_WORDS + MOST_WORDS  # rows of the relation, those behind the horizon too; about
TOP_K_HEADER = H_ROWS + 1

# Steps of the end of a version
APPLYING = 0  # it has not begun
TOUCHED_ROWS = 1
LOW_RUN = 2
HIGH_RUN = 3
TAKING_OUT = 4

# Changes of the window: lines of the output, then the row's words
L_WEIGHT = 0
L_VERSION = 1
CHANGE_FIELDS = 2


@helper
def _find_window(m: Arena, p: Plan) -> None:
    """Set LOW and HIGH."""
    begin = p[O_OFFSET]
    end = begin + p[O_LIMIT]
    m[H_LOW] = 0
    m[H_HIGH] = 0
    if m[T_TOTAL] <= begin or begin == end:
        return
    low, before = select(m, begin)
    m[H_LOW] = low
    m[H_LOW_COPIES] = min(before + (m[low + E_COUNT] >> 1), end) - begin
    if m[T_TOTAL] >= end:
        high, before = select(m, end - 1)
        m[H_HIGH] = high
        m[H_HIGH_COPIES] = end - max(before, begin)


@helper
def _copies(m: Arena, p: Plan, entry: int, text: Texts) -> int:
    """How often an entry stands in the window."""
    low = m[H_LOW]
    high = m[H_HIGH]
    if entry == low:
        return int(m[H_LOW_COPIES])
    if low == 0 or compare(m, p, entry, low, text) < 0:
        return 0
    if high != 0:
        if entry == high:
            return int(m[H_HIGH_COPIES])
        if compare(m, p, entry, high, text) > 0:
            return 0
    return int(m[entry + E_COUNT] >> 1)


@helper
def _settle(m: Arena, p: Plan, entry: int, version: int, text: Texts, out: Output) -> None:
    """Write how much more often than before an entry stands in the window."""
    copies = _copies(m, p, entry, text)
    gained = copies - m[entry + E_IN]
    if gained != 0:
        made = m[H_MADE]
        out[L_WEIGHT, made] = gained
        out[L_VERSION, made] = version
        for i in range(p[O_WIDTH]):
            out[CHANGE_FIELDS + i, made] = m[entry + E_WORDS + i]
        m[H_MADE] = made + 1
        m[entry + E_IN] = copies


@helper
def _begin_run(m: Arena, p: Plan, one: int, other: int, text: Texts) -> None:
    """Begin a run from one entry to another, whichever is first; 0 stands behind the last."""
    m[H_LEAF] = 0
    if one == 0 and other == 0:
        return
    first = one
    last = other
    if one == 0 or (other != 0 and compare(m, p, other, one, text) < 0):
        first = other
        last = one
    descend(m, p, first, text)
    m[H_LEAF] = m[T_LEAF]
    m[H_PLACE] = m[T_PLACE] - 1
    m[H_LAST] = last


@helper
def _settle_run(m: Arena, p: Plan, version: int, text: Texts, out: Output, left: int) -> int:
    """Settle so many entries of a run; returns how many more could have been. H_LEAF is 0 behind the last."""
    leaf = m[H_LEAF]
    place = m[H_PLACE]
    while leaf != 0 and left > 0:
        if place == m[leaf + COUNT]:
            leaf = m[leaf + NEXT]
            place = 0
        else:
            entry = m[leaf + FIRST + LEAF + place]
            _settle(m, p, entry, version, text, out)
            leaf = 0 if entry == m[H_LAST] else leaf
            place += 1
            left -= 1
    m[H_LEAF] = leaf
    m[H_PLACE] = place
    return left


@helper
def weighted(m: Arena, p: Plan, values: Matrix, change: int, weight: int, text: Texts) -> int:
    """The entry of a row, of which there are so many more."""
    row = new_entry(m, p)
    for i in range(p[O_WIDTH]):
        m[row + E_WORDS + i] = values[i, change]
    entry = descend(m, p, row, text)
    weigh(m, weight)
    if entry == 0:
        m[row + E_COUNT] = weight << 1
        m[row + E_IN] = 0
        insert(m, row)
        return int(row)
    free_entry(m, row)
    m[entry + E_COUNT] += weight << 1
    return int(entry)


@helper
def _apply(m: Arena, p: Plan, values: Matrix, change: int, weight: int, touched: Touched, text: Texts) -> None:
    """Change the multiplicity of a row."""
    entry = weighted(m, p, values, change, weight, text)
    m[H_MOVED] += abs(weight)
    if m[entry + E_COUNT] & 1 == 0:
        m[entry + E_COUNT] |= 1
        touched[m[H_TOUCHED]] = entry
        m[H_TOUCHED] += 1
        if m[H_CONCERNED] == 0 and (m[H_HIGH] == 0 or compare(m, p, entry, m[H_HIGH], text) <= 0):
            m[H_CONCERNED] = 1


@helper
def _begin_end(m: Arena, p: Plan, text: Texts) -> None:
    """Begin the end of a version."""
    m[H_DONE] = 0
    m[H_STEP] = TAKING_OUT
    if m[H_CONCERNED] == 1:
        low = m[H_LOW]
        m[H_OLD_HIGH] = m[H_HIGH]
        _find_window(m, p)
        _begin_run(m, p, low, m[H_LOW], text)
        m[H_STEP] = TOUCHED_ROWS


@helper
def _end_version(m: Arena, p: Plan, version: int, touched: Touched, text: Texts, out: Output, left: int) -> int:
    """Write what a version did to the window, and take out rows that are gone, for so many rows.

    Returns:
        How many more could have been done. The version has ended where the step is APPLYING.
    """
    if m[H_STEP] == TOUCHED_ROWS:
        end = min(m[H_DONE] + left, m[H_TOUCHED])
        for i in range(m[H_DONE], end):
            _settle(m, p, touched[i], version, text, out)
        left -= end - m[H_DONE]
        m[H_DONE] = end
        if end == m[H_TOUCHED]:
            m[H_DONE] = 0
            m[H_STEP] = LOW_RUN
    if m[H_STEP] == LOW_RUN:
        left = _settle_run(m, p, version, text, out, left)
        if m[H_LEAF] == 0:
            _begin_run(m, p, m[H_OLD_HIGH], m[H_HIGH], text)
            m[H_STEP] = HIGH_RUN
    if m[H_STEP] == HIGH_RUN:
        left = _settle_run(m, p, version, text, out, left)
        if m[H_LEAF] == 0:
            m[H_STEP] = TAKING_OUT
    if m[H_STEP] == TAKING_OUT:
        end = min(m[H_DONE] + left, m[H_TOUCHED])
        for i in range(m[H_DONE], end):
            entry = touched[i]
            m[entry + E_COUNT] ^= 1
            if m[entry + E_COUNT] == 0:
                remove(m, p, entry, text)
        left -= end - m[H_DONE]
        m[H_DONE] = end
        if end == m[H_TOUCHED]:
            m[H_STEP] = APPLYING
            m[H_TOUCHED] = 0
            m[H_MOVED] = 0
            m[H_CONCERNED] = 0
    return left


@kernel
def prepare(arena: ArenaArray) -> None:
    """Make the empty state in a fresh arena."""
    plant(words(arena))


@kernel
def maintain(
    arena: ArenaArray,
    plan: Plan,
    values: Matrix,
    weights: Line,
    versions: Line,
    text: Texts,
    touched: Touched,
    out: Output,
) -> int:
    """Apply changes of multiplicities and write what the window gains and loses, net within each version.

    Args:
        arena: The state; changed. A caller starts with the words from H_CHANGE to H_CONCERNED and H_STEP at 0.
        plan: int64, see O_WIDTH and the constants beside it.
        values: int64 of shape (words of a row, n): the rows as order words.
        weights: int64, what each change adds to its row's multiplicity.
        versions: int64, ascending.
        text: The dictionary of strings, if there are any in the rows: its heap, starts and lengths.
        touched: int64 of n places, scratch.
        out: int64 of shape (CHANGE_FIELDS + words of a row, capacity): the changes of the window, H_MADE of them.

    Returns:
        DONE; MORE, and NEED_SPACE in front of a change that has not begun: take the changes written, for NEED_SPACE
        grow the arena, and call again with as many places; OUTPUT_FULL in front of the end of a version: take them and
        call again with at least H_NEEDED places.

    Cost: O(log n) a change, and O(1) for each rank by which an end of the window moves.
    """
    m = words(arena)
    p = words(plan)
    strings, entries = strings_of(text), words(touched)
    m[H_MADE] = 0
    change = m[H_CHANGE]
    left = AT_ONCE
    while True:
        ended = change == weights.shape[0] or (change > 0 and versions[change] != versions[change - 1])
        if ended and m[H_TOUCHED] > 0:
            if m[H_STEP] == APPLYING:
                # A row that changes its place in the window was touched, or stands at a rank that an end moved over.
                needed = min(m[H_TOUCHED] + 2 * m[H_MOVED], 2 * p[O_LIMIT], m[T_ENTRIES])
                if m[H_CONCERNED] == 1 and needed > out.shape[1] - m[H_MADE]:
                    m[H_NEEDED] = needed
                    m[H_CHANGE] = change
                    return OUTPUT_FULL
                _begin_end(m, p, strings)
            left = _end_version(m, p, versions[change - 1], entries, strings, out, left)
        if change == weights.shape[0] and m[H_STEP] == APPLYING:
            return DONE
        if left == 0:
            m[H_CHANGE] = change
            return MORE
        if not has_space(m, p):
            m[H_CHANGE] = change
            return NEED_SPACE
        _apply(m, p, values, change, weights[change], entries, strings)
        change += 1
        left -= 1


@kernel
def scan(arena: ArenaArray, plan: Plan, text: Texts, cursor: Cursor, output: Output) -> int:
    """Write the window's rows in order.

    Args:
        arena, plan, text: As for `maintain`.
        cursor: int64[2], a leaf and a place in it: (-1, 0) to begin, (0, ...) at the end; changed.
        output: int64 of shape (words of a row + 1, capacity): the rows' words, then their copies in the window.

    Returns:
        The number of rows written.
    """
    m = words(arena)
    p = words(plan)
    made = 0
    if cursor[0] == -1:
        if m[H_LOW] == 0:
            cursor[0] = 0
            return 0
        descend(m, p, m[H_LOW], strings_of(text))
        cursor[0] = m[T_LEAF]
        cursor[1] = m[T_PLACE] - 1
    leaf = cursor[0]
    place = cursor[1]
    while leaf != 0:
        while place < m[leaf + COUNT]:
            if made == output.shape[1]:
                cursor[0] = leaf
                cursor[1] = place
                return made
            entry = m[leaf + FIRST + LEAF + place]
            for i in range(p[O_WIDTH]):
                output[i, made] = m[entry + E_WORDS + i]
            output[p[O_WIDTH], made] = m[entry + E_IN]
            made += 1
            if entry == m[H_HIGH]:
                cursor[0] = 0
                return made
            place += 1
        leaf = m[leaf + NEXT]
        place = 0
    cursor[0] = 0
    return made


@kernel
def column_words(arena: ArenaArray, offset: int, out: Output) -> None:
    """Write one order word of every entry, in order; ``out`` has a place for each entry."""
    m = words(arena)
    leaf = first_leaf(m)
    made = 0
    while leaf != 0:
        for i in range(m[leaf + COUNT]):
            out[made] = m[m[leaf + FIRST + LEAF + i] + E_WORDS + offset]
            made += 1
        leaf = m[leaf + NEXT]
