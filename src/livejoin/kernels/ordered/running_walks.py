"""How the result of running aggregates changes behind a run of changes: the rows of a partition are walked.

A walk begins at the first entry whose frame has one that was touched, with the aggregates of the entry before it, and
ends behind the last one where they are as they were. Walks differ in the frames: up to each row, up to its peers, up to
some rows behind or before it, and some rows around it.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.ordered.order_nodes import COUNT, FIRST, LEAF, NEXT, T_LEAF, T_PLACE, T_TOTAL
from livejoin.kernels.ordered.order_tree import rows_before, seek, select
from livejoin.kernels.ordered.running_state import (
    C_BACK,
    C_BEFORE,
    C_BEHIND,
    C_WORDS,
    advance,
    clear,
)
from livejoin.kernels.ordered.runs import (
    H_MADE,
    H_TOTAL,
    H_TOUCHED,
    PartitionBuffers,
    seek_behind,
)
from livejoin.kernels.ordered.sliding_frames import slide
from livejoin.kernels.parameters import Output, Plan, Texts
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_WIDTH, compare

# Lines of the output, then the row's words, then those of the calls
L_WEIGHT = 0
L_VERSION = 1
LINES = 2


@helper
def _write(s: PartitionBuffers, entry: int, weight: int, version: int, out: Output) -> None:
    m, p, c = s.arena, s.plan, s.calls
    made = m[H_MADE]
    out[L_WEIGHT, made] = weight
    out[L_VERSION, made] = version
    for i in range(p[O_WIDTH] + c[C_WORDS]):
        out[LINES + i, made] = m[entry + E_WORDS + i]
    m[H_MADE] = made + 1
    m[H_TOTAL] += weight


@helper
def _stands(s: PartitionBuffers, entry: int) -> bool:
    """Whether an entry stands in the result with these aggregates."""
    m, p, c, state = s.arena, s.plan, s.calls, s.state
    if m[entry + E_IN] == 0:
        return False
    for i in range(c[C_WORDS]):
        if m[entry + E_WORDS + p[O_WIDTH] + i] != state[i]:
            return False
    return True


@helper
def settle(s: PartitionBuffers, entry: int, version: int, emit: bool, out: Output) -> int:
    """Write how else than before an entry stands in the result, but if not ``emit``; the number of changes."""
    m, p, c, state = s.arena, s.plan, s.calls, s.state
    is_there = m[entry + E_COUNT] >> 1 > 0
    if is_there and _stands(s, entry):
        return 0
    made = 0
    if m[entry + E_IN] > 0:
        made += 1
        if emit:
            _write(s, entry, -1, version, out)
            m[entry + E_IN] = 0
    if is_there:
        made += 1
        if emit:
            for i in range(c[C_WORDS]):
                m[entry + E_WORDS + p[O_WIDTH] + i] = state[i]
            m[entry + E_IN] = 1
            _write(s, entry, 1, version, out)
    return made


@helper
def _begin(s: PartitionBuffers, first: Plan, row: int, text: Texts) -> int:
    """The aggregates before the entries from a row's place on, by some first words; how many rows ``ring`` has.

    The place is in T_LEAF and T_PLACE.
    """
    m, p, prefix, c, state, ring = s.arena, s.plan, s.prefix, s.calls, s.state, s.ring
    previous = seek_behind(s, first, row, text)
    if previous == 0:
        clear(c, state)
        return 0
    for i in range(c[C_WORDS]):
        state[i] = m[previous + E_WORDS + p[O_WIDTH] + i]
    if c[C_BACK] == 0:
        return 1
    past, ahead = 1, rows_before(m, first, row, 0, text)
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
def next_entry(s: PartitionBuffers, row: int, leaf: int, place: int, text: Texts) -> tuple[int, int, int]:
    """The entry at a place or behind it in a row's partition, 0 if there is none; its leaf and its place."""
    m, prefix = s.arena, s.prefix
    while leaf != 0 and place == m[leaf + COUNT]:
        leaf = m[leaf + NEXT]
        place = 0
    if leaf == 0:
        return 0, 0, 0
    entry = m[leaf + FIRST + LEAF + place]
    return entry if compare(m, prefix, entry, row, text) == 0 else 0, leaf, place


@helper
def walk(s: PartitionBuffers, row: int, version: int, emit: bool, text: Texts, out: Output) -> int:
    """Settle the entries from the first that was touched to where the result is as it was; the number of changes."""
    m, p, c, state, ring = s.arena, s.plan, s.calls, s.state, s.ring
    past = _begin(s, p, row, text)
    is_first = past == 0
    entry, leaf, place = next_entry(s, row, m[T_LEAF], m[T_PLACE], text)
    waiting, since, made = m[H_TOUCHED], 0, 0
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
            if waiting == 0 and since > c[C_BACK] and _stands(s, entry):
                return made
        made += settle(s, entry, version, emit, out)
        entry, leaf, place = next_entry(s, row, leaf, place + 1, text)
    return made


@helper
def walk_to_peers(s: PartitionBuffers, row: int, version: int, emit: bool, text: Texts, out: Output) -> int:
    """The same where rows with equal keys have the same aggregates; without LAG."""
    m, keys, c, state, ring = s.arena, s.keys, s.calls, s.state, s.ring
    is_first = _begin(s, keys, row, text) == 0
    head, leaf, place = next_entry(s, row, m[T_LEAF], m[T_PLACE], text)
    waiting, made = m[H_TOUCHED], 0
    while head != 0:
        entry, at, position, peers = head, leaf, place, 0
        while entry != 0 and compare(m, keys, entry, head, text) == 0:
            if m[entry + E_COUNT] >> 1 > 0:
                advance(m, c, entry, is_first, state, ring, peers, text)
                is_first = False
                peers += 1
            entry, at, position = next_entry(s, row, at, position + 1, text)
        entry, is_same = head, False
        while entry != 0 and compare(m, keys, entry, head, text) == 0:
            if m[entry + E_COUNT] & 1 == 1:
                waiting -= 1
            elif _stands(s, entry):
                is_same = True
            made += settle(s, entry, version, emit, out)
            entry, leaf, place = next_entry(s, row, leaf, place + 1, text)
        if is_same and waiting == 0:
            return made
        head = entry
    return made


@helper
def walk_around(s: PartitionBuffers, row: int, version: int, emit: bool, text: Texts, out: Output) -> int:
    """Settle the entries whose frames have one that was touched; the number of changes, a bound of it if not ``emit``.

    Rows are numbered from the first one that some of these frames have. A cursor goes ahead to the last row of a frame.
    """
    m, p, prefix, c, ring = s.arena, s.plan, s.prefix, s.calls, s.ring
    cut = end = 0
    far, near = max(c[C_BEFORE], 0), max(c[C_BEHIND], 0)
    size = far + near + 1
    begin, at = rows_before(m, prefix, row, 0, text), rows_before(m, p, row, 0, text)
    start = max(at - near, begin)
    number = start - max(start - far, begin)
    for i in range(number):
        ring[i], _ = select(m, start - number + i)
    first = row
    if start < at:
        first, _ = select(m, start)
    seek(m, p, first, 0, text)
    entry, leaf, place = next_entry(s, row, m[T_LEAF], m[T_PLACE], text)
    ahead, ahead_leaf, ahead_place = entry, leaf, place
    last, changed = number - 1, -1 - far
    waiting, since, made = m[H_TOUCHED], 0, 0
    while entry != 0:
        is_there, is_touched = m[entry + E_COUNT] >> 1 > 0, m[entry + E_COUNT] & 1 == 1
        while ahead != 0 and last < number + near:
            if m[ahead + E_COUNT] & 1 == 1:
                changed = last + 1
            if m[ahead + E_COUNT] >> 1 > 0:
                last += 1
                ring[last % size] = ahead
            ahead, ahead_leaf, ahead_place = next_entry(s, row, ahead_leaf, ahead_place + 1, text)
        if is_touched:
            waiting -= 1
            since = 0
        else:
            since += 1
            if waiting == 0 and since > far:
                return made
        if not is_there:
            made += settle(s, entry, version, emit, out)
        else:
            if changed >= number - far and not emit:
                made += 2  # at most
            elif changed >= number - far:
                opening, behind = max(number - c[C_BEFORE], 0), min(number + c[C_BEHIND], last) + 1
                cut, end = slide(s, opening, behind, cut, end, text)
                made += settle(s, entry, version, emit, out)
            number += 1
        entry, leaf, place = next_entry(s, row, leaf, place + 1, text)
    return made


@helper
def _reach(s: PartitionBuffers, row: int, rank: int, begin: int, text: Texts) -> None:
    """Add the row at a rank to the aggregates, if it is in the partition that begins at a rank; O(log n)."""
    m, prefix, c, state, ring = s.arena, s.prefix, s.calls, s.state, s.ring
    if begin <= rank < m[T_TOTAL]:
        entry, _ = select(m, rank)
        if compare(m, prefix, entry, row, text) == 0:
            advance(m, c, entry, rank == begin, state, ring, 0, text)


@helper
def walk_far(s: PartitionBuffers, row: int, version: int, emit: bool, text: Texts, out: Output) -> int:
    """Settle the entries from the first whose frame has one that was touched to where the result is as it was."""
    m, p, prefix, c, state = s.arena, s.plan, s.prefix, s.calls, s.state
    far = c[C_BEHIND]
    begin, at = rows_before(m, prefix, row, 0, text), rows_before(m, p, row, 0, text)
    rank = max(at - max(far, 0), begin)
    first = row
    if rank < at:
        first, _ = select(m, rank)
    if rank == begin:
        clear(c, state)
        for other in range(begin, begin + far):
            _reach(s, row, other, begin, text)
    else:
        previous, _ = select(m, rank - 1)
        for i in range(c[C_WORDS]):
            state[i] = m[previous + E_WORDS + p[O_WIDTH] + i]
    seek(m, p, first, 0, text)
    entry, leaf, place = next_entry(s, row, m[T_LEAF], m[T_PLACE], text)
    waiting, since, made = m[H_TOUCHED], 0, 0
    while entry != 0:
        if m[entry + E_COUNT] >> 1 > 0:
            _reach(s, row, rank + far, begin, text)
            rank += 1
        if m[entry + E_COUNT] & 1 == 1:
            waiting -= 1
            since = 0
        else:
            since += 1
            if waiting == 0 and since > max(-far, 0) and _stands(s, entry):
                return made
        made += settle(s, entry, version, emit, out)
        entry, leaf, place = next_entry(s, row, leaf, place + 1, text)
    return made
