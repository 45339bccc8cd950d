"""Rows that come alive and die, up to the root (AJU, Algorithms 2 and 4).

A row that comes alive is one more child that each of its parents is alive on; one whose counter is full and whose paths
agree comes alive in turn, depth first (Insert-Update). A row that dies is one child less for each parent, and those
that were alive die with it (Delete-Update). Laws:

- A row is alive <=> it is alive on all of its children and its assertion keys agree (Lemma 4).
- A change makes a row alive or dead once at most: a shared descendant takes one step of a counter an edge, its first
  path kills the rows above, and the later ones only count.
- A live row of the root is one result, which is there while every row that it is made of has its entry: a result is
  read when its row of the root has come alive, or has died, and before the changed row is withdrawn.

The stack has one frame a level of the graph. All of it lies in the arena, so that the walk can stop when the output
buffer is full and go on in the next call.
"""

from __future__ import annotations

from livejoin.kernels.foreign_keys.follow import agrees, follow
from livejoin.kernels.foreign_keys.layout import (
    A_HEAD,
    A_LINK,
    A_NODE,
    ALIVE,
    COUNTER_BITS,
    COUNTER_MASK,
    E_HOLDS,
    F_EDGE,
    F_ENTRY,
    F_NODE,
    F_ROW,
    FRAME,
    H_COPIES,
    H_LIVE,
    H_LIVE_COUNT,
    H_RESULT,
    H_SIGN,
    H_SP,
    H_STACK,
    HOLDS_ALIVE,
    L_NEXT,
    N_CHILDREN,
    N_OWN,
    N_PARENT_LIST,
    N_PARENTS,
    N_ROOT,
    P_COLUMN_LIST,
    P_COLUMNS,
    PARENT,
    R_PLACE,
    R_STATE,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.columns import write_outer
from livejoin.kernels.join.layout import H_OUT, H_PROPAGATED, H_STOPPED, H_TOUCHED
from livejoin.kernels.join.segments import open_segment
from livejoin.kernels.memory.layout import REF_MASK
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan, Segments


@helper
def _push(m: Arena, node: int, entry: int) -> None:
    """Put a row on the stack, by its key's entry, so that its parents are visited next."""
    frame = H_STACK + m[H_SP] * FRAME
    m[frame + F_NODE] = node
    m[frame + F_ENTRY] = entry
    m[frame + F_EDGE] = -1
    m[frame + F_ROW] = 0
    m[H_SP] += 1


@helper
def rise(m: Arena, p: Plan, node: int, row: int, emit: bool) -> None:
    """A row comes alive: its parents are to be visited, or its result is to be written."""
    own = row + p[node + N_OWN]
    m[own + R_STATE] |= ALIVE
    m[H_PROPAGATED] += 1
    if p[node + N_ROOT] == 0:
        entry = m[own + R_PLACE]
        m[entry + E_HOLDS] |= HOLDS_ALIVE
        _push(m, node, entry)
        return
    count = m[H_LIVE_COUNT]
    m[(m[H_LIVE] & REF_MASK) + count] = row
    m[own + R_PLACE] = count
    m[H_LIVE_COUNT] = count + 1
    if emit:
        m[H_RESULT] = row
        m[H_COPIES] = m[own + R_STATE] >> COUNTER_BITS


@helper
def fall(m: Arena, p: Plan, node: int, row: int, emit: bool) -> None:
    """A row that was alive dies, as `rise`."""
    own = row + p[node + N_OWN]
    m[own + R_STATE] &= ~ALIVE
    m[H_PROPAGATED] += 1
    if p[node + N_ROOT] == 0:
        entry = m[own + R_PLACE]
        m[entry + E_HOLDS] &= ~HOLDS_ALIVE
        _push(m, node, entry)
        return
    live = m[H_LIVE] & REF_MASK
    last = m[H_LIVE_COUNT] - 1
    place = m[own + R_PLACE]
    moved = m[live + last]
    m[live + place] = moved
    m[moved + p[node + N_OWN] + R_PLACE] = place
    m[H_LIVE_COUNT] = last
    if emit:
        m[H_RESULT] = row
        m[H_COPIES] = m[own + R_STATE] >> COUNTER_BITS


@helper
def _write(m: Arena, p: Plan, cursor: Cursor, out: Output, capacity: int, runs: Segments) -> bool:
    """Write the copies of a result that wait; False if the buffer is full."""
    follow(m, p, m[H_RESULT], cursor, 0)
    while m[H_COPIES] > 0:
        at = m[H_OUT]
        if at == capacity or not open_segment(m, runs, m[H_SIGN]):
            return False
        count = min(m[H_COPIES], capacity - at)
        write_outer(m, p, p[P_COLUMN_LIST], p[P_COLUMNS], cursor, 0, 1, count, out, capacity, at)
        m[H_OUT] = at + count
        m[H_COPIES] -= count
    return True


@inlined
def _visit(m: Arena, p: Plan, node: int, row: int, emit: bool) -> bool:
    """One child of a row has come alive or died; whether the row does so with it."""
    state = row + p[node + N_OWN] + R_STATE
    m[H_TOUCHED] += 1
    if m[H_SIGN] > 0:
        m[state] += 1
        if m[state] & COUNTER_MASK != p[node + N_CHILDREN] or not agrees(m, p, node, row):
            return False
        rise(m, p, node, row, emit)
        return True
    m[state] -= 1
    if m[state] & ALIVE == 0:
        return False
    fall(m, p, node, row, emit)
    return True


@helper
def walk(m: Arena, p: Plan, cursor: Cursor, emit: bool, out: Output, capacity: int, runs: Segments) -> bool:
    """Carry on until nothing more comes alive or dies; False if the buffer is full.

    Cost: O(parents of the rows that did, and results); amortised O(lambda) a change (AJU, Lemma 7 and Theorem 8).
    """
    while True:
        if m[H_COPIES] > 0 and not _write(m, p, cursor, out, capacity, runs):
            return False
        if m[H_SP] == 0:
            return True
        frame = H_STACK + (m[H_SP] - 1) * FRAME
        node = m[frame + F_NODE]
        edge = m[frame + F_EDGE]
        row = m[frame + F_ROW]
        while row == 0:
            edge += 1
            if edge == p[node + N_PARENTS]:
                break
            row = m[m[frame + F_ENTRY] + p[p[node + N_PARENT_LIST] + edge * PARENT + A_HEAD]]
        if row == 0:
            m[H_SP] -= 1
            continue
        m[frame + F_EDGE] = edge
        parent = p[node + N_PARENT_LIST] + edge * PARENT
        above = p[parent + A_NODE]
        following = p[parent + A_LINK] + L_NEXT
        height = m[H_SP]
        while row != 0 and m[H_SP] == height and m[H_COPIES] == 0:
            if not _visit(m, p, above, row, emit):
                m[H_STOPPED] += 1
            row = m[row + following]
        m[frame + F_ROW] = row
