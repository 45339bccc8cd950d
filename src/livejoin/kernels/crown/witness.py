"""Enumeration of the results of one row: what a delta is made of."""

from __future__ import annotations

from typing import Any

from livejoin.kernels.crown.annotation import annotation, multiplicity
from livejoin.kernels.crown.odometer import advance, advance_annotated, start
from livejoin.kernels.jit import helper
from livejoin.kernels.memory.layout import (
    BAG,
    C_WEIGHT,
    CURSOR_HEADER,
    H_DUPLICATES,
    H_OUT,
    H_RUNS,
    H_SEGMENTS,
    H_VERSION,
    N_PROGRAM,
    P_MODE,
    R_SIGN,
    R_START,
    R_VERSION,
    RING,
)


@helper
def begin_witness(m: Any, p: Any, node: int, row: int, cursor: Any) -> None:
    """Place the cursor before the results of a row, which count with its own multiplicity or annotation."""
    start(cursor, row, multiplicity(m, p, node, row) if p[P_MODE] == BAG else 1)
    if p[P_MODE] == RING:
        annotation(m, p, node, row, multiplicity(m, p, node, row), -1, cursor, CURSOR_HEADER + C_WEIGHT)


@helper
def open_segment(m: Any, runs: Any, sign: int) -> bool:
    """Make the last segment one of the current version and this sign; False if there is no room for another one."""
    room = m[H_RUNS]
    segment = m[H_SEGMENTS]
    if segment > 0:
        last = segment - 1
        if runs[R_VERSION * room + last] == m[H_VERSION] and runs[R_SIGN * room + last] == sign:
            return True
        if runs[R_START * room + last] == m[H_OUT]:
            segment = last
    if segment == room:
        return False
    runs[R_START * room + segment] = m[H_OUT]
    runs[R_VERSION * room + segment] = m[H_VERSION]
    runs[R_SIGN * room + segment] = sign
    m[H_SEGMENTS] = segment + 1
    return True


@helper
def enumerate_witness(m: Any, p: Any, node: int, sign: int, cursor: Any, out: Any, capacity: int, runs: Any) -> bool:
    """Go on with the enumeration of a row's results; False if the buffer is full."""
    if not open_segment(m, runs, sign):
        return False
    if p[P_MODE] == RING:
        done, end = advance_annotated(m, p, p[node + N_PROGRAM], cursor, out, capacity, m[H_OUT])
    else:
        plain = p[P_MODE] != BAG or m[H_DUPLICATES] == 0
        done, end = advance(m, p, p[node + N_PROGRAM], cursor, plain, out, capacity, m[H_OUT])
    m[H_OUT] = end
    return bool(done)
