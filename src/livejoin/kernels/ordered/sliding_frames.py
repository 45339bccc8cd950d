"""Aggregates of frames that slide over numbered rows, each row in O(1), by two stacks.

A frame goes from one row to a later one, and neither end of the next frame is before that of this one. The rows of a
frame are cut at a row in the middle. For each row in front of the cut there is what the rows from it up to the cut add
up to. For those behind the cut there is one sum, to which the next row is added. A frame is the two of them combined.
When no row in front is left, the rows of the frame become those in front: each row is added twice and is part of one
combination for each frame (the two-stacks algorithm of Tangwongsan, Hirzel, Schneider and Wu, "General Incremental
Sliding-Window Aggregation", PVLDB 8(7), 2015, section 2). Nothing is taken away, so that MIN and MAX are found so too.

What depends on the order of its additions, as a sum of doubles, or counts up to a row, as NTH_VALUE, is not combined.

Law: the words are those that `livejoin.kernels.ordered.running_state.advance` gives, row by row.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.ordered.running_state import (
    A_AT,
    A_FROM,
    A_KIND,
    A_ROWS,
    C_CALLS,
    C_COMBINED,
    C_NUMBER,
    C_ROOM,
    C_WORDS,
    CALL,
    FIRST_KNOWN,
    GREATEST,
    LAST_KNOWN,
    LATEST,
    LEAST,
    OPENING,
    ROWS,
    SUM,
    SUM_WIDE,
    VALUES,
    add_number,
    add_row,
    clear,
    copy,
    is_beyond,
    is_null,
)
from livejoin.kernels.ordered.runs import PartitionBuffers
from livejoin.kernels.parameters import Plan, Texts
from livejoin.kernels.values.row_order import E_WORDS

# Of the ring, which has room for so many rows of a frame: their entries, then the words of the rows from each of them
# up to the cut, then those of the rows behind it, then for how many rows room is needed. A row with a number stands at
# its remainder.


@inlined
def _behind_cut(c: Plan) -> int:
    """Where the words of the rows behind the cut stand."""
    place: int = c[C_ROOM] + c[C_ROOM] * c[C_WORDS]
    return place


@inlined
def need_room(s: PartitionBuffers, rows: int) -> None:
    """Take note that a frame has so many rows."""
    place = _behind_cut(s.calls) + s.calls[C_WORDS]
    s.ring[place] = max(s.ring[place], rows)


@inlined
def has_room(s: PartitionBuffers) -> bool:
    """Whether there is room for all frames that were taken note of."""
    return bool(s.ring[_behind_cut(s.calls) + s.calls[C_WORDS]] <= s.calls[C_ROOM])


@helper
def _add(s: PartitionBuffers, begin: int, stop: int, entry: int, is_first: bool, text: Texts) -> None:
    """Add an entry to the aggregates of some of the calls."""
    for call in range(begin, stop):
        add_row(s.arena, s.calls, C_CALLS + call * CALL, entry, is_first, s.state, text)


@helper
def _add_in_front(s: PartitionBuffers, entry: int, is_last: bool, text: Texts) -> None:
    """The aggregates of an entry and of the rows behind it, from those of these rows."""
    m, c, state = s.arena, s.calls, s.state
    for call in range(c[C_COMBINED]):
        a = C_CALLS + call * CALL
        kind, source = c[a + A_KIND], entry + E_WORDS + c[a + A_FROM]
        if kind == OPENING or (kind == FIRST_KNOWN and not is_null(c, a, m, source)):
            copy(m, c, a, source, state)
        elif kind == LATEST:
            if is_last:
                copy(m, c, a, source, state)
        elif kind == LAST_KNOWN:
            if is_null(c, a, state, c[a + A_AT]):
                copy(m, c, a, source, state)
        elif kind != FIRST_KNOWN:
            add_row(m, c, a, entry, False, state, text)


@helper
def _combine(s: PartitionBuffers, front: int, is_alone: bool, text: Texts) -> None:
    """The aggregates of rows, of which those behind the cut are known, and those in front at a place of the ring.

    Args:
        s: The state.
        front: The place.
        is_alone: Whether no row is behind the cut.
        text: The dictionary of strings.
    """
    c, state, ring = s.calls, s.state, s.ring
    for call in range(c[C_COMBINED]):
        a = C_CALLS + call * CALL
        kind, at = c[a + A_KIND], c[a + A_AT]
        source = front + at
        if kind == ROWS or kind == VALUES:
            state[at] += ring[source]
        elif kind == SUM or kind == SUM_WIDE:
            if c[a + A_ROWS] == 1:
                state[at] += ring[source]
            else:
                state[at] |= ring[source]
            add_number(state, at + 1, ring, source + 1, 2 if kind == SUM else 3)
        elif kind == OPENING or (kind == LATEST and is_alone):
            copy(ring, c, a, source, state)
        elif kind != LATEST and not is_null(c, a, ring, source):
            if kind == LEAST or kind == GREATEST:
                if is_beyond(ring, c, a, source, state, text):
                    copy(ring, c, a, source, state)
            elif kind == FIRST_KNOWN or is_null(c, a, state, at):
                copy(ring, c, a, source, state)


@helper
def _keep(s: PartitionBuffers, place: int) -> None:
    for i in range(s.calls[C_WORDS]):
        s.ring[place + i] = s.state[i]


@helper
def slide(s: PartitionBuffers, first: int, behind: int, cut: int, end: int, text: Texts) -> tuple[int, int]:
    """The aggregates of a frame; the new cut, and the first row that is not behind it yet.

    Args:
        s: The state, of which the ring has the entries of the frame.
        first: The number of the first row of the frame.
        behind: The number of the first row behind the frame.
        cut: The first number behind the cut; 0 before the first frame.
        end: The first number that is not behind it yet; 0 before the first frame.
        text: The dictionary of strings.

    Cost: O(1) amortised; O(rows of the frame) for what is not combined.
    """
    c, state, ring = s.calls, s.state, s.ring
    words, room, rest = c[C_WORDS], c[C_ROOM], _behind_cut(c)
    if first < behind and c[C_COMBINED] > 0:
        if first >= cut:
            clear(c, state)
            _keep(s, rest)
            for back in range(behind - first):
                other = behind - 1 - back
                _add_in_front(s, ring[other % room], back == 0, text)
                _keep(s, room + other % room * words)
            cut = end = behind
        for i in range(words):
            state[i] = ring[rest + i]
        if end < behind:
            for other in range(end, behind):
                _add(s, 0, c[C_COMBINED], ring[other % room], other == cut, text)
            _keep(s, rest)
            end = behind
        _combine(s, room + first % room * words, end == cut, text)
    else:
        clear(c, state)
    if c[C_COMBINED] < c[C_NUMBER]:
        for other in range(first, behind):
            _add(s, c[C_COMBINED], c[C_NUMBER], ring[other % room], other == first, text)
    return cut, end
