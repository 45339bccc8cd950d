"""Runs of an ordered multiset: the rows of a key, and those of them on one side of a bound.

The *place* of a bound is in front of the rows of its key that are equal to it, or behind them, as the comparison says.
The row that is looked for, at P_ROW, has the key; the words of a bound are put behind it to find a place.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.directory import find, hash_key
from livejoin.kernels.ordered.order_tree import rows_before, seek
from livejoin.kernels.parameters import Texts
from livejoin.kernels.thresholds.buffers import ThresholdBuffers
from livejoin.kernels.thresholds.layout import (
    B_HAD,
    B_HAS,
    B_NOW,
    H_BOUNDS,
    H_HIGH,
    H_LOW,
    H_SIGN,
    P_ABOVE,
    P_AFTER,
    P_BEFORE,
    P_BOUND,
    P_KEY,
    P_OFFSETS,
    P_OPEN,
    P_RECORD_KEY,
    P_ROW,
)
from livejoin.kernels.values.row_order import E_WORDS, compare


@inlined
def is_inside(s: ThresholdBuffers, row: int, bound: int, text: Texts) -> bool:
    """Whether a row stands on the side of a bound that is in the result."""
    m, form, bounded = s.arena, s.form, s.bounded
    side = compare(m, bounded, row + form[P_BEFORE], bound - E_WORDS, text)
    inside: bool = (side < form[P_AFTER]) != (form[P_ABOVE] == 1)
    return inside


@helper
def record_of(s: ThresholdBuffers, row: int) -> int:
    """The record of a row's key, 0 if there is none."""
    m, form = s.arena, s.form
    h = hash_key(m, form, row + E_WORDS, form[P_KEY], P_OFFSETS)
    return int(find(m, form, H_BOUNDS, form[P_RECORD_KEY], row + E_WORDS, form[P_KEY], P_OFFSETS, h))


@helper
def stands(s: ThresholdBuffers, row: int, text: Texts) -> bool:
    """Whether a row is in the result, by the bound that its key has now."""
    m = s.arena
    record = record_of(s, row)
    if record == 0 or m[record + B_HAS] == 0:
        open_: bool = s.form[P_OPEN] == 1
        return open_
    inside: bool = is_inside(s, row, record + B_NOW, text)
    return inside


@helper
def set_bound(s: ThresholdBuffers, bound: int) -> None:
    """Make a bound the compared words of the row that is looked for."""
    m, form = s.arena, s.form
    at = form[P_ROW] + E_WORDS + form[P_BEFORE]
    for i in range(form[P_BOUND]):
        m[at + i] = m[bound + i]


@helper
def set_key(s: ThresholdBuffers, record: int) -> None:
    """Make the key of a record that of the row that is looked for."""
    m, form = s.arena, s.form
    for i in range(form[P_KEY]):
        m[form[P_ROW] + E_WORDS + i] = m[record + form[P_RECORD_KEY] + i]


@helper
def find_places(s: ThresholdBuffers, record: int, text: Texts) -> None:
    """Find the two places that the run of a bound that moved lies between; H_SIGN is 0 if there is none.

    A bound that comes lets the rows on its side in. Where rows without a bound stand in the result it lets the others
    out: it was at the end of these.
    """
    m, form, bounded = s.arena, s.form, s.bounded
    now, old = record + B_NOW, record + B_NOW + form[P_BOUND]
    above = form[P_ABOVE] == 1
    m[H_SIGN] = 0
    if m[record + B_HAS] == 1 and m[record + B_HAD] == 1:
        side = compare(m, bounded, old - E_WORDS, now - E_WORDS, text)
        m[H_LOW] = old if side < 0 else now
        m[H_HIGH] = now if side < 0 else old
        if side != 0:
            m[H_SIGN] = 1 if (side < 0) != above else -1
    elif m[record + B_HAS] == 1 or m[record + B_HAD] == 1:
        one = now if m[record + B_HAS] == 1 else old
        is_open = form[P_OPEN] == 1
        m[H_LOW] = one if above != is_open else 0
        m[H_HIGH] = 0 if above != is_open else one
        m[H_SIGN] = 1 if (m[record + B_HAS] == 1) != is_open else -1


@helper
def to_low(s: ThresholdBuffers, low: int, text: Texts) -> None:
    """Find the first entry behind a place, or of the key's rows where the place is 0."""
    m, key, placed, form = s.arena, s.key, s.placed, s.form
    if low == 0:
        seek(m, key, form[P_ROW], 0, text)
    else:
        set_bound(s, low)
        seek(m, placed, form[P_ROW], form[P_AFTER], text)


@helper
def count_run(s: ThresholdBuffers, text: Texts) -> int:
    """How many rows the run has."""
    m, key, placed, form = s.arena, s.key, s.placed, s.form
    if m[H_LOW] == 0:
        low = rows_before(m, key, form[P_ROW], 0, text)
    else:
        set_bound(s, m[H_LOW])
        low = rows_before(m, placed, form[P_ROW], form[P_AFTER], text)
    if m[H_HIGH] == 0:
        return int(rows_before(m, key, form[P_ROW], 1, text) - low)
    set_bound(s, m[H_HIGH])
    return int(rows_before(m, placed, form[P_ROW], form[P_AFTER], text) - low)
