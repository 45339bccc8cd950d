"""The result of a chain of joins and its changes, written to buffers."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.chain.layout import (
    K_COPIES,
    K_SLOT,
    P_OUTPUT,
    P_RESULT,
    ROW_SUPPORT,
    S_DIRECTORY,
    S_VALUE,
    X_SUPPORT,
    X_VALUE,
)
from livejoin.kernels.chain.stores import changes_of, is_change
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join import ring
from livejoin.kernels.join.batch_delta import D_BUMP, D_INDEX, D_PASS, D_RECORD, X_NEXT, X_OF
from livejoin.kernels.join.layout import BAG, H_OUT, H_OVERFLOW, P_HEAD, P_MODE, P_WORDS, RING
from livejoin.kernels.join.segments import open_segment
from livejoin.kernels.memory.directory import scattered
from livejoin.kernels.memory.layout import D_COUNT, D_LOG, D_SLOTS, MASK32
from livejoin.kernels.parameters import Arena, Cursor, Delta, Output, Plan, Segments, Words


@helper
def write_row(m: Arena, p: Plan, row: int, count: int, out: Output, capacity: int, at: int) -> None:
    """Write the head columns of a result row ``count`` times."""
    for i in range(p[P_HEAD]):
        value = m[row + p[p[P_OUTPUT] + i]]
        target = i * capacity + at
        for k in range(count):
            out[target + k] = value


@helper
def write_annotation(p: Plan, source: Words, origin: int, out: Output, capacity: int, at: int) -> None:
    """Write an annotation behind the head columns."""
    for i in range(p[P_WORDS]):
        out[(p[P_HEAD] + i) * capacity + at] = source[origin + i]


@inlined
def _one_word(m: Arena, p: Plan, source: Words, at: int) -> int:
    """A multiplicity, or a change of one; 0 if it does not fit one word, which is noted."""
    word: int = source[at]
    if p[P_WORDS] == 2 and source[at + 1] != word >> 63:
        m[H_OVERFLOW] = -1
        return 0
    return word


@helper
def _copies(m: Arena, d: Delta, p: Plan, changed: int) -> int:
    """How often the row of a changed result is in what goes (D_PASS -1) or in what comes (1); not at all below 1."""
    if p[P_MODE] == BAG:
        return int(_one_word(m, p, d, changed + X_VALUE) * d[D_PASS])
    if not is_change(m, d, p, changed):
        return 0
    there = m[d[changed + X_OF] + ROW_SUPPORT]
    if d[D_PASS] > 0:
        there += d[changed + X_SUPPORT]
    return 1 if there > 0 else 0


@helper
def emit_changes(m: Arena, d: Delta, p: Plan, out: Output, capacity: int, runs: Segments) -> bool:
    """Write the changes of the result, first what goes; D_INDEX counts copies. False if the buffer is full."""
    result = p[P_RESULT]
    value = p[result + S_VALUE]
    while True:
        if not open_segment(m, runs, d[D_PASS]):
            return False
        while d[D_RECORD] != 0:
            changed = d[D_RECORD]
            row = d[changed + X_OF]
            copies = max(0, _copies(m, d, p, changed)) - d[D_INDEX]
            at = m[H_OUT]
            count = min(copies, capacity - at)
            if count < copies and count == 0:
                return False
            write_row(m, p, row, count, out, capacity, at)
            if p[P_MODE] == RING and count == 1:
                spare = d[D_BUMP]
                ring.copy(d, spare, m, row + value, p[P_WORDS])
                if d[D_PASS] > 0:
                    m[H_OVERFLOW] |= ring.add(d, p, spare, d, changed + X_VALUE)
                write_annotation(p, d, spare, out, capacity, at)
            m[H_OUT] = at + count
            d[D_INDEX] += count
            if count < copies:
                return False
            d[D_INDEX] = 0
            d[D_RECORD] = d[changed + X_NEXT]
        if d[D_PASS] > 0:
            return True
        d[D_PASS] = 1
        d[D_RECORD] = d[changes_of(p, result)]


@helper
def write_result(m: Arena, p: Plan, cursor: Cursor, weights: int, out: Output, capacity: int) -> tuple[bool, int]:
    """Write the rows of the result from a cursor on; whether all are written, and how many.

    ``weights`` is where the buffer has a line for multiplicities, then each row is written once; -1: as often as it
    stands there.
    """
    result = p[P_RESULT]
    directory = p[result + S_DIRECTORY]
    slots, log = m[directory + D_SLOTS], m[directory + D_LOG]
    at = 0
    while cursor[K_SLOT] < 1 << log:
        row = m[slots + scattered(cursor[K_SLOT], log)] & MASK32
        if row != 0:
            copies = 1
            if p[P_MODE] == BAG:
                copies = _one_word(m, p, m, row + p[result + S_VALUE]) - cursor[K_COPIES]
            if weights >= 0:
                if at < capacity:
                    out[weights + at] = copies
                copies = 1
            count = min(copies, capacity - at)
            if count < copies and count == 0:
                return False, at
            write_row(m, p, row, count, out, capacity, at)
            if p[P_MODE] == RING:
                write_annotation(p, m, row + p[result + S_VALUE], out, capacity, at)
            at += count
            if count < copies:
                cursor[K_COPIES] += count
                return False, at
            cursor[K_COPIES] = 0
        cursor[K_SLOT] += 1
    return True, at


@helper
def count_result(m: Arena, p: Plan) -> tuple[int, float]:
    """The size of the result modulo 2**64, and about as a float."""
    result = p[P_RESULT]
    directory = p[result + S_DIRECTORY]
    if p[P_MODE] != BAG:
        rows = m[directory + D_COUNT]
        return rows, float(rows)
    exact = 0
    rough = 0.0
    for k in range(1 << m[directory + D_LOG]):
        row = m[m[directory + D_SLOTS] + k] & MASK32
        if row != 0:
            value = row + p[result + S_VALUE]
            exact += m[value]
            rough += float(np.uint64(m[value]))
            if p[P_WORDS] == 2:
                rough += float(m[value + 1]) * 18446744073709551616.0
    return exact, rough
