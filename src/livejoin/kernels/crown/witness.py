"""Enumeration of the results of one row: what a delta is made of."""

from __future__ import annotations

from livejoin.kernels.crown.annotation import annotation, multiplicity
from livejoin.kernels.crown.layout import C_WEIGHT, CURSOR_HEADER, N_PROGRAM
from livejoin.kernels.crown.odometer import advance, advance_annotated, start
from livejoin.kernels.jit import helper
from livejoin.kernels.join.layout import BAG, H_DUPLICATES, H_OUT, H_OVERFLOW, P_MODE, RING
from livejoin.kernels.join.segments import open_segment
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan, Segments


@helper
def begin_witness(m: Arena, p: Plan, node: int, row: int, cursor: Cursor) -> None:
    """Place the cursor before the results of a row, which count with its own multiplicity or annotation."""
    start(cursor, row, multiplicity(m, p, node, row) if p[P_MODE] == BAG else 1)
    if p[P_MODE] == RING:
        times = multiplicity(m, p, node, row)
        m[H_OVERFLOW] |= annotation(m, p, node, row, times, -1, cursor, CURSOR_HEADER + C_WEIGHT)


@helper
def enumerate_witness(
    m: Arena, p: Plan, node: int, sign: int, cursor: Cursor, out: Output, capacity: int, runs: Segments
) -> bool:
    """Go on with the enumeration of a row's results; False if the buffer is full."""
    if not open_segment(m, runs, sign):
        return False
    if p[P_MODE] == RING:
        done, end = advance_annotated(m, p, p[node + N_PROGRAM], cursor, out, capacity, m[H_OUT])
    else:
        plain = p[P_MODE] != BAG or m[H_DUPLICATES] == 0
        done, end = advance(m, p, p[node + N_PROGRAM], cursor, plain, -1, out, capacity, m[H_OUT])
    m[H_OUT] = end
    return bool(done)
