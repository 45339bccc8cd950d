"""Aggregates over the rows of each partition up to every row, in an order, kept up to date.

The multiset is the tree of `livejoin.kernels.ordered.order_tree`, its rows ordered by their partition, then by the
keys, then by all columns, and each row stands there once. Every entry knows the aggregates up to it, in words behind
its own: so what a run of changes does begins with those of the entry before the first one that it touched, and ends
behind the last one where they are as they were. A run costs O(log n) a change and O(1) for each row between its
changes or whose aggregates change, which is a row of the delta.

The *frame* of a row, which its aggregates are over, is the rows up to it (ROWS), or up to the last one with its keys
(RANGE), or from so many rows before it to so many behind. With the last kind each row is computed by itself, O(rows of
a frame), if its frame has one that changed.

Law: the changes written for a version are the result after it minus the result before it, as multisets.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.ordered.order_nodes import COUNT, FIRST, LEAF, NEXT, T_LEAF, T_PLACE
from livejoin.kernels.ordered.order_tree import first_leaf, rows_before, seek, select
from livejoin.kernels.ordered.running_state import (
    AROUND,
    C_BACK,
    C_BEFORE,
    C_BEHIND,
    C_FRAME,
    C_WORDS,
    UP_TO_PEERS,
    advance,
    clear,
)
from livejoin.kernels.ordered.runs import (
    APPLYING,
    P_CHANGE,
    P_MADE,
    P_NEEDED,
    P_STEP,
    P_TOTAL,
    P_TOUCHED,
    apply_run,
    end_run,
    entry_before,
    first_touched,
)
from livejoin.kernels.parameters import Arena, ArenaArray, Cursor, Line, Matrix, Output, Plan, Texts, Touched, Words
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_WIDTH, compare

# Lines of the output, then the row's words, then those of the calls
L_WEIGHT = 0
L_VERSION = 1
LINES = 2


@helper
def _write(m: Arena, p: Plan, c: Plan, entry: int, weight: int, version: int, out: Output) -> None:
    made = m[P_MADE]
    out[L_WEIGHT, made] = weight
    out[L_VERSION, made] = version
    for i in range(p[O_WIDTH] + c[C_WORDS]):
        out[LINES + i, made] = m[entry + E_WORDS + i]
    m[P_MADE] = made + 1
    m[P_TOTAL] += weight


@helper
def _stands(m: Arena, p: Plan, c: Plan, entry: int, state: Line) -> bool:
    """Whether an entry stands in the result with these aggregates."""
    if m[entry + E_IN] == 0:
        return False
    for i in range(c[C_WORDS]):
        if m[entry + E_WORDS + p[O_WIDTH] + i] != state[i]:
            return False
    return True


@helper
def _settle(m: Arena, p: Plan, c: Plan, entry: int, state: Line, version: int, emit: bool, out: Output) -> int:
    """Write how else than before an entry stands in the result, but if not ``emit``; the number of changes."""
    is_there = m[entry + E_COUNT] >> 1 > 0
    if is_there and _stands(m, p, c, entry, state):
        return 0
    made = 0
    if m[entry + E_IN] > 0:
        made += 1
        if emit:
            _write(m, p, c, entry, -1, version, out)
            m[entry + E_IN] = 0
    if is_there:
        made += 1
        if emit:
            for i in range(c[C_WORDS]):
                m[entry + E_WORDS + p[O_WIDTH] + i] = state[i]
            m[entry + E_IN] = 1
            _write(m, p, c, entry, 1, version, out)
    return made


@helper
def _begin(
    m: Arena, p: Plan, first: Plan, prefix: Plan, c: Plan, row: int, state: Line, ring: Line, text: Texts
) -> int:
    """The aggregates before the entries from a row's place on, by some first words; how many rows ``ring`` has."""
    previous, ahead = entry_before(m, first, prefix, row, text)
    if previous == 0:
        clear(c, state)
        return 0
    for i in range(c[C_WORDS]):
        state[i] = m[previous + E_WORDS + p[O_WIDTH] + i]
    past = 1
    while past < c[C_BACK] and ahead > past:
        entry, _ = select(m, ahead - past - 1)
        if compare(m, prefix, entry, row, text) != 0:
            break
        past += 1
    for back in range(1, min(past, c[C_BACK]) + 1):
        entry, _ = select(m, ahead - back)
        ring[(past - back) % c[C_BACK]] = entry
    return past


@helper
def _next(m: Arena, prefix: Plan, row: int, leaf: int, place: int, text: Texts) -> tuple[int, int, int]:
    """The entry at a place or behind it in a row's partition, 0 if there is none; its leaf and its place."""
    while leaf != 0 and place == m[leaf + COUNT]:
        leaf = m[leaf + NEXT]
        place = 0
    if leaf == 0:
        return 0, 0, 0
    entry = m[leaf + FIRST + LEAF + place]
    return entry if compare(m, prefix, entry, row, text) == 0 else 0, leaf, place


@helper
def _walk(
    m: Arena,
    p: Plan,
    prefix: Plan,
    c: Plan,
    row: int,
    version: int,
    emit: bool,
    state: Line,
    ring: Line,
    text: Texts,
    out: Output,
) -> int:
    """Settle the entries from the first that was touched to where the result is as it was; the number of changes."""
    past = _begin(m, p, p, prefix, c, row, state, ring, text)
    is_first = past == 0
    seek(m, p, row, 0, text)
    entry, leaf, place = _next(m, prefix, row, m[T_LEAF], m[T_PLACE], text)
    waiting, since, made = m[P_TOUCHED], 0, 0
    while entry != 0:
        if m[entry + E_COUNT] >> 1 > 0:
            advance(m, c, entry, is_first, state, ring, past, text)
            is_first = False
            if c[C_BACK] > 0:
                ring[past % c[C_BACK]] = entry
            past += 1
        if m[entry + E_COUNT] & 1 == 1:
            waiting -= 1
            since = 0
        else:
            since += 1
            if waiting == 0 and since > c[C_BACK] and _stands(m, p, c, entry, state):
                return made
        made += _settle(m, p, c, entry, state, version, emit, out)
        entry, leaf, place = _next(m, prefix, row, leaf, place + 1, text)
    return made


@helper
def _walk_peers(
    m: Arena,
    p: Plan,
    prefix: Plan,
    keys: Plan,
    c: Plan,
    row: int,
    version: int,
    emit: bool,
    state: Line,
    ring: Line,
    text: Texts,
    out: Output,
) -> int:
    """The same where rows with equal keys have the same aggregates; without LAG."""
    is_first = _begin(m, p, keys, prefix, c, row, state, ring, text) == 0
    seek(m, keys, row, 0, text)
    head, leaf, place = _next(m, prefix, row, m[T_LEAF], m[T_PLACE], text)
    waiting, made = m[P_TOUCHED], 0
    while head != 0:
        entry, at, position = head, leaf, place
        while entry != 0 and compare(m, keys, entry, head, text) == 0:
            if m[entry + E_COUNT] >> 1 > 0:
                advance(m, c, entry, is_first, state, ring, 0, text)
                is_first = False
            entry, at, position = _next(m, prefix, row, at, position + 1, text)
        entry, is_same = head, False
        while entry != 0 and compare(m, keys, entry, head, text) == 0:
            if m[entry + E_COUNT] & 1 == 1:
                waiting -= 1
            elif _stands(m, p, c, entry, state):
                is_same = True
            made += _settle(m, p, c, entry, state, version, emit, out)
            entry, leaf, place = _next(m, prefix, row, leaf, place + 1, text)
        if is_same and waiting == 0:
            return made
        head = entry
    return made


@helper
def _around(m: Arena, c: Plan, number: int, last: int, size: int, state: Line, ring: Line, text: Texts) -> None:
    """The aggregates of the frame of a row with a number; ``ring`` has the rows up to the last of it."""
    clear(c, state)
    is_first = True
    for other in range(max(number - c[C_BEFORE], 0), min(number + c[C_BEHIND], last) + 1):
        advance(m, c, ring[other % size], is_first, state, ring, 0, text)
        is_first = False


@helper
def _walk_around(
    m: Arena,
    p: Plan,
    prefix: Plan,
    c: Plan,
    row: int,
    version: int,
    emit: bool,
    state: Line,
    ring: Line,
    text: Texts,
    out: Output,
) -> int:
    """Settle the entries whose frames have one that was touched; the number of changes, a bound of it if not ``emit``.

    Rows are numbered from the first one that some of these frames have. A cursor goes ahead to the last row of a frame.
    """
    far, near = max(c[C_BEFORE], 0), max(c[C_BEHIND], 0)
    size = far + near + 1
    begin, at = rows_before(m, prefix, row, text), rows_before(m, p, row, text)
    start = max(at - near, begin)
    number = start - max(start - far, begin)
    for i in range(number):
        ring[i], _ = select(m, start - number + i)
    first = row
    if start < at:
        first, _ = select(m, start)
    seek(m, p, first, 0, text)
    entry, leaf, place = _next(m, prefix, row, m[T_LEAF], m[T_PLACE], text)
    ahead, ahead_leaf, ahead_place = entry, leaf, place
    last, changed = number - 1, -1 - far
    waiting, since, made = m[P_TOUCHED], 0, 0
    while entry != 0:
        is_there, is_touched = m[entry + E_COUNT] >> 1 > 0, m[entry + E_COUNT] & 1 == 1
        while ahead != 0 and last < number + near:
            if m[ahead + E_COUNT] & 1 == 1:
                changed = last + 1
            if m[ahead + E_COUNT] >> 1 > 0:
                last += 1
                ring[last % size] = ahead
            ahead, ahead_leaf, ahead_place = _next(m, prefix, row, ahead_leaf, ahead_place + 1, text)
        if is_touched:
            waiting -= 1
            since = 0
        else:
            since += 1
            if waiting == 0 and since > far:
                return made
        if not is_there:
            made += _settle(m, p, c, entry, state, version, emit, out)
        else:
            if changed >= number - far and not emit:
                made += 2  # at most
            elif changed >= number - far:
                _around(m, c, number, last, size, state, ring, text)
                made += _settle(m, p, c, entry, state, version, emit, out)
            number += 1
        entry, leaf, place = _next(m, prefix, row, leaf, place + 1, text)
    return made


@kernel
def maintain(
    arena: ArenaArray,
    plan: Plan,
    prefix: Plan,
    keys: Plan,
    wide: Plan,
    calls: Plan,
    values: Matrix,
    weights: Line,
    versions: Line,
    heap: Words,
    starts: Words,
    lengths: Line,
    touched: Touched,
    state: Line,
    ring: Line,
    out: Output,
) -> int:
    """Apply changes of rows and write what the result gains and loses, net within each version.

    Args:
        arena: The state; changed. A caller starts with P_CHANGE, P_STEP and P_TOUCHED at 0.
        plan: int64, see O_WIDTH and the constants beside it.
        prefix, keys: The same for the first words of a row: those of the partition, and these with those of the keys.
        wide: The same with the words of the calls behind, which an entry has.
        calls: int64, see C_NUMBER and the constants beside it.
        values: int64 of shape (words of a row, n): the rows as order words, those of a version partition by partition.
        weights: int64, what each change adds to its row's multiplicity, which is 0 or 1 after each version.
        versions: int64, ascending.
        heap, starts, lengths: The dictionary of strings, if there are any in the rows.
        touched: int64 of n places, scratch.
        state: int64 of as many words as the calls have, scratch.
        ring: int64 of as many places as a LAG goes back or a frame has rows, and one, scratch.
        out: int64 of shape (LINES + words of a row and of the calls, capacity): the changes of the result, P_MADE of
            them.

    Returns:
        DONE; MORE: take the changes written and call again; NEED_SPACE: take them, grow the arena and call again;
        OUTPUT_FULL: take them and call again with at least P_NEEDED places.

    Cost: O(log n) a change, and O(1) for each row between two changes of a partition and version, and of the delta;
    LAG over k rows, and a frame of k rows, add O(k log n) for each partition and version, a frame O(k) for each row of
    which it has one that changed.
    """
    m = words(arena)
    p, of_partition, of_keys, larger, c = words(plan), words(prefix), words(keys), words(wide), words(calls)
    text = (heap, starts, lengths)
    m[P_MADE] = 0
    change = m[P_CHANGE]
    left = AT_ONCE
    while True:
        if m[P_STEP] == APPLYING:
            if m[P_TOUCHED] == 0:
                if change == weights.shape[0]:
                    return DONE
                if left <= 0:
                    m[P_CHANGE] = change
                    return MORE
            begin = change
            change = apply_run(m, p, of_partition, larger, values, weights, versions, change, touched, text)
            left -= change - begin
            if m[P_STEP] == APPLYING:
                m[P_CHANGE] = change
                return NEED_SPACE
        row, version = first_touched(m, p, touched, text), versions[change - 1]
        needed = 0
        for emit in (False, True):
            if emit and needed > out.shape[1] - m[P_MADE]:
                m[P_NEEDED] = needed
                m[P_CHANGE] = change
                return OUTPUT_FULL
            if c[C_FRAME] == AROUND:
                needed = _walk_around(m, p, of_partition, c, row, version, emit, state, ring, text, out)
            elif c[C_FRAME] == UP_TO_PEERS:
                needed = _walk_peers(m, p, of_partition, of_keys, c, row, version, emit, state, ring, text, out)
            else:
                needed = _walk(m, p, of_partition, c, row, version, emit, state, ring, text, out)
        end_run(m, p, touched, text)
        left -= needed


@kernel
def scan(arena: ArenaArray, width: int, cursor: Cursor, output: Output) -> int:
    """Write the rows of the result, partition by partition, in their order.

    Args:
        arena: As for `maintain`.
        width: Words of a row and of the calls.
        cursor: int64[2], a leaf and a place in it: (-1, 0) to begin, (0, ...) at the end; changed.
        output: int64 of shape (width, capacity).

    Returns:
        The number of rows written.

    Cost: O(1) a row.
    """
    m = words(arena)
    leaf, place = cursor[0], cursor[1]
    if leaf == -1:
        leaf = first_leaf(m)
    made = 0
    while True:
        while leaf != 0 and place == m[leaf + COUNT]:
            leaf = m[leaf + NEXT]
            place = 0
        if leaf == 0 or made == output.shape[1]:
            cursor[0], cursor[1] = leaf, place
            return made
        entry = m[leaf + FIRST + LEAF + place]
        for i in range(width):
            output[i, made] = m[entry + E_WORDS + i]
        made += 1
        place += 1
