"""Segments of an output: runs of rows of equal version and sign, noted in a buffer beside the rows."""

from __future__ import annotations

from livejoin.kernels.jit import helper
from livejoin.kernels.join.layout import H_OUT, H_OVERFLOW, H_RUNS, H_SEGMENTS, H_VERSION, R_SIGN, R_START, R_VERSION
from livejoin.kernels.parameters import Arena, Segments


@helper
def begin_output(m: Arena, room: int) -> None:
    """Begin a call that writes to empty buffers, with places for so many segments."""
    m[H_OVERFLOW] = 0
    m[H_RUNS] = room
    m[H_OUT] = 0
    m[H_SEGMENTS] = 0


@helper
def open_segment(m: Arena, runs: Segments, sign: int) -> bool:
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
