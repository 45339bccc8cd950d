"""Triangles that a changed tuple makes between two heavy values, read off a pair view.

The views are those of `livejoin.kernels.bag.heavy_pairs`.
"""

from __future__ import annotations

from livejoin.kernels.bag.heavy_pairs import make_heavy, threshold, tuple_of, view_entry
from livejoin.kernels.bag.layout import (
    A_BEFORE,
    A_BLOCK,
    A_FROM,
    F_WEIGHT,
    G_FIRST_SIDE,
    G_PAIR,
    G_STEP_LIST,
    H_ENTRY,
    H_MET,
    H_NEW,
    H_OLD,
    H_OVERFLOW,
    H_STORE,
    H_SUM,
    ND_HEAVY,
    ND_KEY,
    P_FRAMES,
    P_SLOTS,
    PARTICIPANT,
    PV_SIDES,
    SD_COLUMN,
    SD_MIDDLE_COLUMN,
    SD_NODE,
    SD_STORE,
    SD_WHOLE,
    SIDE,
    X_SUPPORT,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.layout import MAX_MULTIPLICITY
from livejoin.kernels.parameters import Arena, Plan


@helper
def count_pair(m: Arena, p: Plan, program: int) -> bool:
    """Add the triangles of a program that has begun to H_SUM by a view; False if a block is short enough to be read."""
    pair = p[program + G_PAIR]
    if pair == 0:
        return False
    first = p[p[program + G_STEP_LIST] + 1]
    second = first + PARTICIPANT
    if p[program + G_FIRST_SIDE] == 1:
        first, second = second, first
    y, x = m[p[P_SLOTS] + p[first + A_FROM]], m[p[P_SLOTS] + p[second + A_FROM]]
    if 2 * min(m[y + p[first + A_BLOCK]], m[x + p[second + A_BLOCK]]) < 3 * threshold(m, p):
        return False
    one, two = pair + PV_SIDES, pair + PV_SIDES + SIDE
    if m[y + p[p[one + SD_NODE] + ND_HEAVY]] == 0:
        make_heavy(m, p, p[one + SD_NODE], y)
    if m[x + p[p[two + SD_NODE] + ND_HEAVY]] == 0:
        make_heavy(m, p, p[two + SD_NODE], x)
    entry = view_entry(m, p, pair, y, x)
    total = 0 if entry == 0 else m[entry]
    total += _itself(m, p, pair, first, second, y, x)
    if abs(float(m[p[P_FRAMES] + F_WEIGHT]) * float(total)) > MAX_MULTIPLICITY:
        m[H_OVERFLOW] = 1
    m[H_SUM] += m[p[P_FRAMES] + F_WEIGHT] * total
    return True


@helper
def _itself(m: Arena, p: Plan, pair: int, first: int, second: int, y: int, x: int) -> int:
    """What the view's sum lacks where the changed tuple itself is one of the two: V has its old multiplicity there."""
    own = m[H_ENTRY]
    one, two = pair + PV_SIDES, pair + PV_SIDES + SIDE
    early = m[H_NEW] if p[first + A_BEFORE] == 1 else m[H_OLD]
    late = m[H_NEW] if p[second + A_BEFORE] == 1 else m[H_OLD]
    lacks = 0
    if _is_at(m, p, one, own, y):
        middle = m[own + p[p[one + SD_WHOLE] + ND_KEY] + p[one + SD_MIDDLE_COLUMN]]
        other = tuple_of(m, p, pair, two, m[x + p[p[two + SD_NODE] + ND_KEY]], middle)
        if other == own:
            lacks += early * late - m[H_OLD] * m[H_OLD]
            m[H_MET] = 1
        elif other != 0:
            lacks += (early - m[H_OLD]) * m[other + X_SUPPORT]
            m[H_MET] = 1
    if _is_at(m, p, two, own, x):
        middle = m[own + p[p[two + SD_WHOLE] + ND_KEY] + p[two + SD_MIDDLE_COLUMN]]
        other = tuple_of(m, p, pair, one, m[y + p[p[one + SD_NODE] + ND_KEY]], middle)
        if other != 0 and other != own:
            lacks += (late - m[H_OLD]) * m[other + X_SUPPORT]
            m[H_MET] = 1
    return lacks


@inlined
def _is_at(m: Arena, p: Plan, side: int, entry: int, value: int) -> bool:
    """Whether the changed tuple is one of a side's tuples with a value."""
    if p[side + SD_STORE] != m[H_STORE]:
        return False
    there = m[entry + p[p[side + SD_WHOLE] + ND_KEY] + p[side + SD_COLUMN]]
    return there == m[value + p[p[side + SD_NODE] + ND_KEY]]  # type: ignore[no-any-return]
