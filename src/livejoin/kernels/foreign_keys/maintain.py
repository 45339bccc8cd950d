"""The kernels that Python calls: apply changes to a foreign-key join, scan and count its results."""

from __future__ import annotations

from livejoin.kernels.foreign_keys.ahead import look_ahead
from livejoin.kernels.foreign_keys.follow import agrees, follow
from livejoin.kernels.foreign_keys.layout import (
    ALIVE,
    COUNTER_BITS,
    H_COPIES,
    H_ENDING,
    H_LIVE,
    H_LIVE_COUNT,
    H_RESULT,
    H_SEEN,
    H_SIGN,
    N_BIT,
    N_OWN,
    N_ROOT,
    N_WORK,
    P_COLUMN_LIST,
    P_COLUMNS,
    R_STATE,
    S_COPIES,
    S_LIVE,
    S_ROWS,
    W_FOUND,
    W_PASSED,
    WALK,
)
from livejoin.kernels.foreign_keys.propagate import fall, rise, walk
from livejoin.kernels.foreign_keys.register import enroll, note_found, prepare, withdraw
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.ahead import AHEAD, BEYOND
from livejoin.kernels.join.columns import write_outer
from livejoin.kernels.join.layout import (
    FRESH,
    H_ATOM,
    H_DUPLICATES,
    H_EVENT,
    H_OVERFLOW,
    H_PHASE,
    H_VERSION,
    H_WEIGHED,
    P_FIRST_NODE,
    P_FIRST_TABLE,
    PLAN_TABLE,
    PT_ATOM_LIST,
    PT_ATOMS,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_VERSION,
    V_WEIGHT,
)
from livejoin.kernels.join.records import record_of
from livejoin.kernels.join.segments import begin_output
from livejoin.kernels.join.work import note_work, work_so_far
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import DONE, NEED_SPACE, OUTPUT_FULL, REF_MASK
from livejoin.kernels.parameters import Arena, ArenaArray, Cursor, Matrix, Output, Plan, Segments


@helper
def _begin(m: Arena, p: Plan, node: int, row: int, weight: int, mask: int, emit: bool) -> int:
    """First step of a change at one atom (AJU, Algorithms 1 and 3).

    Returns NEED_SPACE before anything changed, else DONE, in the phase WALK where something has come alive or died.
    """
    state = row + p[node + N_OWN] + R_STATE
    before = m[state] >> COUNTER_BITS
    if before == 0:
        if weight <= 0 or (mask >> p[node + N_BIT]) & 1 == 0:
            return DONE
        if not prepare(m, p, node, row):
            return NEED_SPACE
        note_found(m, p, node, row)
        if enroll(m, p, node, row, weight) and agrees(m, p, node, row):
            m[H_PHASE] = WALK
            rise(m, p, node, row, emit)
        return DONE
    is_alive = m[state] & ALIVE != 0
    if before + weight == 0:
        note_found(m, p, node, row)
        if not is_alive:
            withdraw(m, p, node, row)
            return DONE
        m[H_PHASE] = WALK
        m[H_ENDING] = 1
        fall(m, p, node, row, emit)
        return DONE
    m[H_WEIGHED] += 1
    m[state] += weight << COUNTER_BITS
    if before == 1:
        m[H_DUPLICATES] += 1
    elif before + weight == 1:
        m[H_DUPLICATES] -= 1
    if emit and is_alive and p[node + N_ROOT] == 1:
        m[H_SIGN] = 1 if weight > 0 else -1
        m[H_PHASE] = WALK
        m[p[node + N_WORK] + W_PASSED] += 1
        m[p[node + N_WORK] + W_FOUND] += 1
        m[H_RESULT] = row
        m[H_COPIES] = abs(weight)
    return DONE


@kernel
def maintain(
    arena: ArenaArray, plan: Plan, events: Matrix, cursor_words: Cursor, emit: bool, output: Output, segments: Segments
) -> int:
    """Apply events to a join in order, writing the delta of each to the output.

    Args:
        arena: The join's arena; changed. The cursor of an interrupted call is in its header.
        plan: The join's plan.
        events: int64 of shape (EVENT_FIELDS, n): table, row id, weight, mask of atoms, version. A weight is the
            change of the row's multiplicity, which stays non-negative. No two rows of a child have one key at a time.
            With a line more, which is written, the work of each (`livejoin.kernels.join.work`).
        cursor_words: int64 of as many words as the plan has steps, overwritten.
        emit: Whether the delta is written.
        output: int64 of shape (head columns, capacity): the delta's rows.
        segments: int64 of shape (RUN_FIELDS, n): first output row, version and sign (+1 or -1) of each segment of
            equal version and sign.

    Returns:
        DONE; NEED_SPACE: grow the arena and call again; OUTPUT_FULL: take the output's first ``H_OUT`` rows and
        ``H_SEGMENTS`` segments and call again. A caller starts with H_EVENT, H_ATOM, H_PHASE at 0.
    """
    m = words(arena)
    p = words(plan)
    cursor = words(cursor_words)
    out = words(output)
    runs = words(segments)
    capacity = output.shape[1]
    begin_output(m, segments.shape[1])
    event = m[H_EVENT]
    read = event if arena.shape[0] > BEYOND else events.shape[1]
    while event < events.shape[1]:
        if event == read:
            read = min(event + AHEAD, events.shape[1])
            m[H_SEEN] ^= look_ahead(m, p, events, event, read)
        table = p[P_FIRST_TABLE] + events[V_TABLE, event] * PLAN_TABLE
        row = record_of(m, p, events[V_TABLE, event], events[V_ROW, event])
        weight = events[V_WEIGHT, event]
        m[H_VERSION] = events[V_VERSION, event]
        done = work_so_far(m)
        atoms = p[table + PT_ATOM_LIST]
        atom = m[H_ATOM]
        while atom < p[table + PT_ATOMS]:
            node = p[atoms + atom]
            if m[H_PHASE] == FRESH and _begin(m, p, node, row, weight, events[V_MASK, event], emit) == NEED_SPACE:
                m[H_EVENT] = event
                m[H_ATOM] = atom
                note_work(m, events, event, done)
                return NEED_SPACE
            if m[H_PHASE] == WALK:
                if not walk(m, p, cursor, emit, out, capacity, runs):
                    m[H_EVENT] = event
                    m[H_ATOM] = atom
                    note_work(m, events, event, done)
                    return OUTPUT_FULL
                m[H_PHASE] = FRESH
                if m[H_ENDING] == 1:
                    m[H_ENDING] = 0
                    withdraw(m, p, node, row)
            atom += 1
        note_work(m, events, event, done)
        m[H_ATOM] = 0
        event += 1
    m[H_EVENT] = 0
    return DONE


@kernel
def scan(arena: ArenaArray, plan: Plan, cursor_words: Cursor, output: Output) -> tuple[bool, int]:
    """Write the results from the live rows of the root, with constant delay (AJU, section 3.3).

    Args:
        arena: The join's arena.
        plan: The join's plan.
        cursor_words: int64, S_ROWS words and one a step; zeros to begin.
        output: int64 of shape (head columns, capacity). With one line more, each row of the root is written once, and
            there how often it stands in the result.

    Returns:
        Whether all is written, and the rows that were.
    """
    m = words(arena)
    p = words(plan)
    cursor = words(cursor_words)
    out = words(output)
    m[H_OVERFLOW] = 0
    capacity = output.shape[1]
    columns = p[P_COLUMNS]
    once = output.shape[0] > columns
    state = p[p[P_FIRST_NODE] + N_OWN] + R_STATE
    live = m[H_LIVE] & REF_MASK
    at = 0
    while cursor[S_LIVE] < m[H_LIVE_COUNT]:
        row = m[live + cursor[S_LIVE]]
        times = m[row + state] >> COUNTER_BITS
        if at == capacity:
            return False, at
        follow(m, p, row, cursor, S_ROWS)
        count = 1 if once else min(times - cursor[S_COPIES], capacity - at)
        write_outer(m, p, p[P_COLUMN_LIST], columns, cursor, S_ROWS, 1, count, out, capacity, at)
        if once:
            out[columns * capacity + at] = times
        at += count
        cursor[S_COPIES] += count
        if once or cursor[S_COPIES] == times:
            cursor[S_COPIES] = 0
            cursor[S_LIVE] += 1
    return True, at


@kernel
def count(arena: ArenaArray, plan: Plan) -> tuple[int, float]:
    """Number of results: the live rows of the root with their multiplicities; O(1) while all of these are one.

    Returns:
        The number modulo 2**64, and about as a float.
    """
    m = words(arena)
    p = words(plan)
    if m[H_DUPLICATES] == 0:
        return m[H_LIVE_COUNT], float(m[H_LIVE_COUNT])
    state = p[p[P_FIRST_NODE] + N_OWN] + R_STATE
    live = m[H_LIVE] & REF_MASK
    exact = 0
    rough = 0.0
    for i in range(m[H_LIVE_COUNT]):
        times = m[m[live + i] + state] >> COUNTER_BITS
        exact += times
        rough += float(times)
    return exact, rough
