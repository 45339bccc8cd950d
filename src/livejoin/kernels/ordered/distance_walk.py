"""How the result of aggregates over all rows within a distance of each changes: RANGE BETWEEN 10 PRECEDING AND ....

The frame of a row with the key o has the rows whose keys are from o + C_BEFORE to o + C_BEHIND, in the direction of
the order; that of a row whose key is NULL has the rows whose keys are. So the rows whose frames have one that was
touched are neighbours, and the ends of their frames go ahead as the rows do: two cursors, one for each end, pass every
row once.

Where all aggregates can be taken away again (numbers of rows, sums of integers and decimals), a row that a cursor
passes is added or taken away: O(1) for each row. Others are computed anew for each key whose frame has a row that was
touched: O(rows of the frame).

Law: rows with equal keys have equal results.
"""

from __future__ import annotations

import numpy as np

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.ordered.order_nodes import T_LEAF, T_PLACE, T_TOTAL
from livejoin.kernels.ordered.order_tree import rows_before, seek, select
from livejoin.kernels.ordered.running_state import (
    C_BEFORE,
    C_BEHIND,
    C_DOUBLE,
    C_DOWN,
    C_FLIP,
    C_HOLE,
    C_KEY,
    C_NULL,
    C_ROOM,
    C_SLIDES,
    advance,
    clear,
    retreat,
)
from livejoin.kernels.ordered.running_walks import next_entry, settle
from livejoin.kernels.ordered.runs import H_TOUCHED, PartitionBuffers
from livejoin.kernels.ordered.sliding_frames import need_room, slide
from livejoin.kernels.parameters import Arena, Output, Plan, Texts
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, compare
from livejoin.words import CANONICAL_NAN

_GREATEST = (1 << 63) - 1
_LEAST = -(1 << 63)


@inlined
def _key(m: Arena, c: Plan, entry: int) -> tuple[int, int]:
    """The key of an entry: 0 and a number, in the direction of the order; where it is NULL -1 or 1, its end, and 0."""
    word = m[entry + E_WORDS + c[C_KEY]]
    if word == c[C_NULL]:
        return (1 if c[C_DOWN] == 1 else -1), 0
    if c[C_DOWN] == 1:
        return 0, word + (1 if word >= c[C_HOLE] else 0)
    return 0, word - (1 if word <= c[C_HOLE] else 0)


@inlined
def _is_before(side: int, key: int, other_side: int, other: int) -> bool:
    return bool(side < other_side or (side == other_side and key < other))


@inlined
def _farther(c: Plan, side: int, key: int, distance: int) -> int:
    """A key plus a distance; the least or the greatest number where there is none."""
    if side != 0:
        return 0
    if c[C_DOUBLE] == 1:
        code = key ^ c[C_FLIP]
        if code < 0:
            code ^= _GREATEST
        value, step = np.int64(code).view(np.float64), np.int64(distance).view(np.float64)
        total = (value - step if c[C_FLIP] == -1 else value + step) + 0.0
        found = CANONICAL_NAN if np.isnan(total) else int(np.float64(total).view(np.int64))
        if found < 0:
            found ^= _GREATEST
        return int(found ^ c[C_FLIP])
    if distance > 0 and key > _GREATEST - distance:  # before it is added: what overflows is undefined to a compiler
        return _GREATEST
    if distance < 0 and key < _LEAST - distance:
        return _LEAST
    moved: int = key + distance
    return moved


@helper
def _first(s: PartitionBuffers, row: int, begin: int, end: int, far: int, side: int, key: int, text: Texts) -> int:
    """The least rank of a row's partition, from one on, whose key plus a distance is not before a key; else the end.

    Cost: O(log^2 n).
    """
    m, prefix, c = s.arena, s.prefix, s.calls
    low, high = begin, end
    while low < high:
        middle = (low + high) >> 1
        entry, _ = select(m, middle)
        own_side, own = _key(m, c, entry)
        inside = compare(m, prefix, entry, row, text) == 0
        if inside and _is_before(own_side, _farther(c, own_side, own, far), side, key):
            low = middle + 1
        else:
            high = middle
    return low


@helper
def walk_within(s: PartitionBuffers, row: int, version: int, emit: bool, text: Texts, out: Output) -> int:
    """Settle the entries whose frames have one that was touched; the changes, at most if not ``emit``."""
    m, p, prefix, c, state, ring = s.arena, s.plan, s.prefix, s.calls, s.state, s.ring
    begin, at = rows_before(m, prefix, row, 0, text), rows_before(m, p, row, 0, text)
    side, key = _key(m, c, row)
    first, opening = row, row
    rank = _first(s, row, begin, at, c[C_BEHIND], side, key, text)
    if rank < at:
        first, _ = select(m, rank)
    side, key = _key(m, c, first)
    rank = _first(s, row, begin, m[T_TOTAL], 0, side, _farther(c, side, key, c[C_BEFORE]), text)
    if rank < at:
        opening, _ = select(m, rank)
    seek(m, p, first, 0, text)
    entry, leaf, place = next_entry(s, row, m[T_LEAF], m[T_PLACE], text)
    seek(m, p, opening, 0, text)
    low, low_leaf, low_place = next_entry(s, row, m[T_LEAF], m[T_PLACE], text)
    high, high_leaf, high_place = low, low_leaf, low_place
    slides = c[C_SLIDES] == 1
    clear(c, state)
    waiting, coming, made = m[H_TOUCHED], m[H_TOUCHED], 0
    opened, passed, cut, stop = 0, 0, 0, 0  # rows that the cursors have passed, and the stacks of `slide`
    touched_side, touched = -2, 0  # of the last touched entry that the frames have come to: before all, until one is
    begun, is_computed = False, False
    from_key = key
    while entry != 0:
        own_side, own = _key(m, c, entry)
        if not begun or own_side != side or own != key:
            begun, is_computed, side, key = True, False, own_side, own
            from_key, to_key = _farther(c, side, key, c[C_BEFORE]), _farther(c, side, key, c[C_BEHIND])
            while high != 0:
                other_side, other = _key(m, c, high)
                if _is_before(side, to_key, other_side, other):
                    break
                if m[high + E_COUNT] & 1 == 1:
                    coming -= 1
                    touched_side, touched = other_side, other
                if m[high + E_COUNT] >> 1 > 0:
                    if slides and emit:
                        advance(m, c, high, False, state, ring, 0, text)
                    elif emit:
                        ring[passed % c[C_ROOM]] = high
                    passed += 1
                high, high_leaf, high_place = next_entry(s, row, high_leaf, high_place + 1, text)
            while low != high:
                other_side, other = _key(m, c, low)
                if not _is_before(other_side, other, side, from_key):
                    break
                if m[low + E_COUNT] >> 1 > 0:
                    if slides and emit:
                        retreat(m, c, low, state)
                    opened += 1
                low, low_leaf, low_place = next_entry(s, row, low_leaf, low_place + 1, text)
        is_changed = not _is_before(touched_side, touched, side, from_key)
        is_touched = m[entry + E_COUNT] & 1 == 1
        if is_touched:
            waiting -= 1
        elif waiting == 0 and coming == 0 and not is_changed:
            return made
        if m[entry + E_COUNT] >> 1 == 0:
            made += settle(s, entry, version, emit, out)
        elif (is_changed or is_touched) and not emit:
            made += 2  # at most
            if not slides:
                need_room(s, passed - opened)
        elif is_changed or is_touched:
            if not slides and not is_computed:
                cut, stop = slide(s, opened, passed, cut, stop, text)
                is_computed = True
            made += settle(s, entry, version, emit, out)
        entry, leaf, place = next_entry(s, row, leaf, place + 1, text)
    return made
