"""Rows that come alive and die, up to the root (AJU, Algorithms 2 and 4).

A row that comes alive is one more child that each of its parents is alive on; one whose counter is full and whose paths
agree comes alive in turn, depth first (Insert-Update). A row that dies is one child less for each parent, and those
that were alive die with it (Delete-Update). Laws:

- A row is alive <=> it is alive on all of its children and its assertion keys agree (Lemma 4).
- A change makes a row alive or dead once at most: a shared descendant takes one step of a counter an edge, its first
  path kills the rows above, and the later ones only count.
- What is counted at each node, in `W_ENTERED` and those beside it, is for who asks where a change went.
- A live row of the root is one result, which is there while every row that it is made of has its entry: a result is
  read when its row of the root has come alive, or has died, and before the changed row is withdrawn.

Over an edge ``not exists`` the direction turns: a row that comes alive is one wish less that is granted. Over an
``optional`` edge nothing is counted: where a row comes alive or dies, the results of all live rows of the root above it
go as they were before, then come as they are after. They are found by one path: a live row of the root leads to one row
of each relation, over whichever parents.

The stack has one frame a level of the graph. All of it lies in the arena, so that the walk can stop when the output
buffer is full and go on in the next call.
"""

from __future__ import annotations

from livejoin.kernels.foreign_keys.follow import agrees, follow, next_parent
from livejoin.kernels.foreign_keys.layout import (
    A_HEAD,
    A_KIND,
    A_LINK,
    A_NODE,
    A_QUIET,
    AFTER,
    ALIVE,
    BEFORE,
    COUNTER_BITS,
    COUNTER_MASK,
    DOWN,
    E_HOLDS,
    F_EDGE,
    F_ENTRY,
    F_NODE,
    F_PASS,
    F_ROW,
    F_WAY,
    FRAME,
    H_COPIES,
    H_LIVE,
    H_LIVE_COUNT,
    H_RESULT,
    H_SIGN,
    H_SP,
    H_STACK,
    HOLDS_ALIVE,
    N_FULL,
    N_OWN,
    N_PARENT_LIST,
    N_PARENTS,
    N_ROOT,
    N_WORK,
    NOT_WANTED,
    OPTIONAL,
    OUTSIDE,
    P_COLUMN_LIST,
    P_COLUMNS,
    PARENT,
    R_PLACE,
    R_STATE,
    SAME,
    UP,
    W_ENTERED,
    W_FOUND,
    W_LEFT,
    W_LOOKED,
    W_PASSED,
    W_STOPPED,
    W_TOUCHED,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.columns import write_outer
from livejoin.kernels.join.layout import H_OUT, H_PROPAGATED, H_STOPPED, H_TOUCHED
from livejoin.kernels.join.segments import open_segment
from livejoin.kernels.memory.layout import REF_MASK
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan, Segments


@helper
def _push(m: Arena, node: int, entry: int, way: int) -> None:
    """Put a row on the stack, by its key's entry, so that its parents are visited next."""
    frame = H_STACK + m[H_SP] * FRAME
    m[frame + F_NODE] = node
    m[frame + F_ENTRY] = entry
    m[frame + F_EDGE] = -1
    m[frame + F_ROW] = 0
    m[frame + F_WAY] = way
    m[frame + F_PASS] = OUTSIDE
    m[H_SP] += 1


@inlined
def _is_again(m: Arena) -> bool:
    """Whether the results are walked over a second time, as they come after something optional has changed."""
    for level in range(m[H_SP]):
        if m[H_STACK + level * FRAME + F_PASS] == AFTER:
            return True
    return False


@inlined
def _show(m: Arena, p: Plan, node: int, row: int) -> None:
    """Let the result of a row of the root be written, as often as it stands there."""
    if m[H_SP] == 0:
        m[p[node + N_WORK] + W_FOUND] += 1
    if not _is_again(m):
        m[p[node + N_WORK] + W_PASSED] += 1
        for level in range(m[H_SP]):
            m[p[m[H_STACK + level * FRAME + F_NODE] + N_WORK] + W_PASSED] += 1
    m[H_RESULT] = row
    m[H_COPIES] = m[row + p[node + N_OWN] + R_STATE] >> COUNTER_BITS


@helper
def rise(m: Arena, p: Plan, node: int, row: int, emit: bool) -> None:
    """A row comes alive: its parents are to be visited, or its result is to be written."""
    own = row + p[node + N_OWN]
    m[own + R_STATE] |= ALIVE
    m[H_PROPAGATED] += 1
    m[p[node + N_WORK] + W_ENTERED] += 1
    if p[node + N_ROOT] == 0:
        entry = m[own + R_PLACE]
        m[entry + E_HOLDS] |= HOLDS_ALIVE
        _push(m, node, entry, UP)
        return
    count = m[H_LIVE_COUNT]
    m[(m[H_LIVE] & REF_MASK) + count] = row
    m[own + R_PLACE] = count
    m[H_LIVE_COUNT] = count + 1
    if emit:
        m[H_SIGN] = 1
        _show(m, p, node, row)


@helper
def fall(m: Arena, p: Plan, node: int, row: int, emit: bool) -> None:
    """A row that was alive dies, as `rise`."""
    own = row + p[node + N_OWN]
    m[own + R_STATE] &= ~ALIVE
    m[H_PROPAGATED] += 1
    m[p[node + N_WORK] + W_LEFT] += 1
    if p[node + N_ROOT] == 0:
        entry = m[own + R_PLACE]
        m[entry + E_HOLDS] &= ~HOLDS_ALIVE
        _push(m, node, entry, DOWN)
        return
    live = m[H_LIVE] & REF_MASK
    last = m[H_LIVE_COUNT] - 1
    place = m[own + R_PLACE]
    moved = m[live + last]
    m[live + place] = moved
    m[moved + p[node + N_OWN] + R_PLACE] = place
    m[H_LIVE_COUNT] = last
    if emit:
        m[H_SIGN] = -1
        _show(m, p, node, row)


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
def _visit(m: Arena, p: Plan, node: int, row: int, up: bool, emit: bool) -> None:
    """One more edge has what a row wants over it, or one less: the row may come alive or die."""
    state = row + p[node + N_OWN] + R_STATE
    m[H_TOUCHED] += 1
    m[p[node + N_WORK] + W_TOUCHED] += 1
    if up:
        m[state] += 1
        if m[state] & COUNTER_MASK == p[node + N_FULL] and agrees(m, p, node, row):
            rise(m, p, node, row, emit)
            return
    else:
        m[state] -= 1
        if m[state] & ALIVE != 0:
            fall(m, p, node, row, emit)
            return
    m[H_STOPPED] += 1


@inlined
def _look_through(m: Arena, p: Plan, node: int, row: int) -> None:
    """What a row leads to has changed, and not whether it is alive: the results above it are written."""
    own = row + p[node + N_OWN]
    if m[own + R_STATE] & ALIVE == 0:
        return
    if p[node + N_ROOT] == 1:
        _show(m, p, node, row)
    else:
        _push(m, node, m[own + R_PLACE], SAME)


@helper
def _next_list(m: Arena, p: Plan, frame: int, emit: bool) -> bool:
    """Let a frame stand before the next list of parents; False if there is none.

    Over an optional edge the list is walked twice, while the entry says what was before, and what is after.
    """
    node = m[frame + F_NODE]
    entry = m[frame + F_ENTRY]
    edge = m[frame + F_EDGE]
    is_first = edge == -1 and m[frame + F_WAY] != SAME
    if m[frame + F_PASS] == BEFORE:
        m[entry + E_HOLDS] ^= HOLDS_ALIVE
        m[H_SIGN] = 1
        m[frame + F_PASS] = AFTER
        m[frame + F_ROW] = m[entry + p[p[node + N_PARENT_LIST] + edge * PARENT + A_HEAD]]
        return True
    if m[frame + F_WAY] == SAME and edge == 0:
        return False
    m[frame + F_PASS] = OUTSIDE
    while edge + 1 < p[node + N_PARENTS]:
        edge += 1
        m[frame + F_EDGE] = edge
        parent = p[node + N_PARENT_LIST] + edge * PARENT
        first = m[entry + p[parent + A_HEAD]] if p[parent + A_QUIET] == 0 else 0
        if first == 0 or p[parent + A_KIND] > OPTIONAL or (p[parent + A_KIND] == OPTIONAL and not emit):
            continue
        m[frame + F_ROW] = first
        if p[parent + A_KIND] == OPTIONAL and m[frame + F_WAY] != SAME:
            m[entry + E_HOLDS] ^= HOLDS_ALIVE
            m[H_SIGN] = -1
            m[frame + F_PASS] = BEFORE
        return True
    if is_first:
        m[p[node + N_WORK] + W_STOPPED] += 1
    return False


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
        if m[frame + F_ROW] == 0 and not _next_list(m, p, frame, emit):
            m[H_SP] -= 1
            continue
        row = m[frame + F_ROW]
        parent = p[m[frame + F_NODE] + N_PARENT_LIST] + m[frame + F_EDGE] * PARENT
        above = p[parent + A_NODE]
        link = p[parent + A_LINK]
        height = m[H_SP]
        if m[frame + F_WAY] == SAME or m[frame + F_PASS] != OUTSIDE:
            looked = 0
            is_again = _is_again(m)
            while row != 0 and m[H_SP] == height and m[H_COPIES] == 0:
                _look_through(m, p, above, row)
                row = next_parent(m, row + link)
                looked += 1
            if not is_again:
                m[p[above + N_WORK] + W_LOOKED] += looked
        else:
            up = (m[frame + F_WAY] == UP) != (p[parent + A_KIND] == NOT_WANTED)
            while row != 0 and m[H_SP] == height and m[H_COPIES] == 0:
                _visit(m, p, above, row, up, emit)
                row = next_parent(m, row + link)
        m[frame + F_ROW] = row
