"""The kernels that Python calls: apply changes to a view, and scan its result."""

from __future__ import annotations

from livejoin.kernels.crown.ahead import AHEAD_WORDS, look_ahead
from livejoin.kernels.crown.annotate import annotate, begin_annotation, begin_self, settle
from livejoin.kernels.crown.layout import (
    ANNOTATE,
    COUNTER_BITS,
    COUNTER_MASK,
    ENTER,
    ENTER_NEXT,
    H_ENDING,
    H_NEXT,
    H_NODE,
    H_ROW,
    H_SEEN,
    H_START,
    H_STEP,
    H_WAITING,
    LEAVE,
    N_ANNOTATED,
    N_BIT,
    N_CHILDREN,
    N_CONNEX,
    N_STATE,
    N_UP,
    OVER,
    P_LIVE,
    THEN_DONE,
    THEN_ENTER,
    THEN_RESUME,
    THEN_WITHDRAW,
    WEIGH,
)
from livejoin.kernels.crown.live_views import slot_is_live
from livejoin.kernels.crown.odometer import advance, advance_annotated, start
from livejoin.kernels.crown.propagate import enter, leave, resume
from livejoin.kernels.crown.register import enroll, prepare, withdraw
from livejoin.kernels.crown.witness import enumerate_witness
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.ahead import AHEAD, BEYOND
from livejoin.kernels.join.layout import (
    BAG,
    FRESH,
    H_ATOM,
    H_DUPLICATES,
    H_EVENT,
    H_OVERFLOW,
    H_PHASE,
    H_VERSION,
    H_WEIGHED,
    P_FIRST_TABLE,
    P_FULL,
    P_HEAD,
    P_MODE,
    P_WORDS,
    PLAN_TABLE,
    PT_ATOM_LIST,
    PT_ATOMS,
    RING,
    SET,
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
from livejoin.kernels.memory.layout import DONE, MASK32, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.parameters import Arena, ArenaArray, Cursor, Matrix, Output, Plan, Segments


@helper
def _begin(m: Arena, p: Plan, node: int, row: int, weight: int, mask: int, cursor: Cursor) -> int:
    """First step of a change at one atom; returns NEED_SPACE before anything changed, else DONE with a phase set."""
    state = row + p[node + N_STATE]
    before = m[state] >> COUNTER_BITS
    annotated = p[node + N_ANNOTATED] == 1
    waiting = annotated and m[H_WAITING] != 0  # then rows that are not in V_s may have an annotation, too
    if weight > 0 and before == 0:
        if (mask >> p[node + N_BIT]) & 1 == 0:
            return DONE
        if not prepare(m, p, node, row):
            return NEED_SPACE
        if weight > 1:
            m[H_DUPLICATES] += 1
        enters = enroll(m, p, node, row, weight)
        if enters:
            m[H_NODE] = node
            m[H_ROW] = row
            m[H_PHASE] = ENTER
        if waiting or (annotated and enters):
            begin_annotation(m, p, node, row, weight)
            m[H_NEXT] = THEN_ENTER if enters else THEN_DONE
            m[H_PHASE] = ANNOTATE
        return DONE
    if before == 0:
        return DONE
    in_view = m[state] & COUNTER_MASK == p[node + N_CHILDREN]
    if before + weight == 0:
        if in_view:
            m[H_NODE] = node
            m[H_ROW] = row
            m[H_PHASE] = LEAVE
            m[H_ENDING] = 1
        elif waiting:
            begin_annotation(m, p, node, row, -before)
            m[H_NEXT] = THEN_WITHDRAW
            m[H_PHASE] = ANNOTATE
        else:
            if before > 1:
                m[H_DUPLICATES] -= 1
            withdraw(m, p, node, row)
        return DONE
    m[H_WEIGHED] += 1
    slot = (m[row + p[node + N_UP]] >> 32) & MASK32
    shown = p[P_MODE] == BAG and p[node + N_CONNEX] == 1
    if shown and in_view and p[P_LIVE] == 1 and slot_is_live(m, p, node, slot):
        start(cursor, row, abs(weight))
        m[H_NODE] = node
        m[H_PHASE] = WEIGH
    if before == 1:
        m[H_DUPLICATES] += 1
    elif before + weight == 1 and m[H_PHASE] != WEIGH:
        m[H_DUPLICATES] -= 1
    if p[P_MODE] == RING and (waiting or (in_view and (annotated or p[node + N_CONNEX] == 1))):
        m[H_PHASE] = ANNOTATE
        m[H_NEXT] = THEN_DONE
        if not annotated:
            begin_self(m)
            return DONE
        begin_annotation(m, p, node, row, weight)
    m[state] += weight << COUNTER_BITS
    return DONE


@helper
def _carry_on(
    m: Arena,
    p: Plan,
    node: int,
    row: int,
    weight: int,
    cursor: Cursor,
    emit: bool,
    out: Output,
    capacity: int,
    runs: Segments,
) -> bool:
    """Go on with a change that has begun; False if the output buffer is full."""
    if m[H_PHASE] == WEIGH:
        if emit and not enumerate_witness(m, p, node, 1 if weight > 0 else -1, cursor, out, capacity, runs):
            return False
        if weight < 0 and m[row + p[node + N_STATE]] >> COUNTER_BITS == 1:
            m[H_DUPLICATES] -= 1
        m[H_PHASE] = FRESH
        return True
    while m[H_PHASE] != FRESH:
        if m[H_PHASE] == ANNOTATE:
            if not annotate(m, p, node, row, weight, cursor, emit, out, capacity, runs):
                return False
            following = m[H_NEXT]
            m[H_PHASE] = ENTER if following == THEN_ENTER else FRESH
            if following == THEN_RESUME:
                resume(m, p)
            elif following == THEN_WITHDRAW:
                if m[row + p[node + N_STATE]] >> COUNTER_BITS > 1:
                    m[H_DUPLICATES] -= 1
                withdraw(m, p, node, row)
        elif m[H_PHASE] <= ENTER_NEXT:
            if not enter(m, p, cursor, emit, out, capacity, runs):
                return False
        elif not leave(m, p, cursor, emit, out, capacity, runs):
            return False
        if m[H_PHASE] == FRESH and m[H_ENDING] == 1:
            m[H_ENDING] = 0
            m[H_NEXT] = THEN_WITHDRAW
            m[H_PHASE] = ANNOTATE
            m[H_STEP] = OVER
            if p[node + N_ANNOTATED] == 1:
                begin_annotation(m, p, node, row, -(m[row + p[node + N_STATE]] >> COUNTER_BITS))
    return True


@kernel
def maintain(
    arena: ArenaArray, plan: Plan, events: Matrix, cursor_words: Cursor, emit: bool, output: Output, segments: Segments
) -> int:
    """Apply events to a view in order, writing the delta to the output, of annotated results net of the call.

    Args:
        arena: The view's arena; changed. The cursor of an interrupted call is in its header.
        plan: The view's plan.
        events: int64 of shape (EVENT_FIELDS, n): table, row id, weight, mask of atoms, version. A weight is the
            change of the row's multiplicity, which stays non-negative. With a line more, which is written, the work of
            each (`livejoin.kernels.join.work`).
        cursor_words: int64, the cursor of an enumeration and AHEAD_WORDS words behind it; see
            `CrownPlan.cursor_words`.
        emit: Whether deltas are enumerated; live views are kept either way if the plan says so.
        output: int64 of shape (head columns and words of an annotation, capacity): the delta's rows.
        segments: int64 of shape (RUN_FIELDS, n): first output row, version and sign (+1 or -1) of each segment of
            equal version and sign.

    Returns:
        DONE; NEED_SPACE: grow the arena and call again; OUTPUT_FULL: take the output's first ``H_OUT`` rows and
        ``H_SEGMENTS`` segments and call again. A caller starts with H_EVENT, H_ATOM, H_PHASE at 0. Where H_OVERFLOW
        is not 0, an annotation or a multiplicity does not fit: the state is of no use any more, nor is the output.
    """
    m = words(arena)
    p = words(plan)
    cursor = words(cursor_words)
    seen = words(cursor_words[cursor_words.shape[0] - AHEAD_WORDS :])
    out = words(output)
    runs = words(segments)
    capacity = output.shape[1]
    begin_output(m, segments.shape[1])
    event = m[H_EVENT]
    read = event if arena.shape[0] > BEYOND else events.shape[1]
    while event < events.shape[1]:
        if event == read:
            read = min(event + AHEAD, events.shape[1])
            m[H_SEEN] ^= look_ahead(m, p, events, event, read, seen)
        table = p[P_FIRST_TABLE] + events[V_TABLE, event] * PLAN_TABLE
        row = record_of(m, p, events[V_TABLE, event], events[V_ROW, event])
        weight = events[V_WEIGHT, event]
        if emit and m[H_VERSION] != events[V_VERSION, event] and not settle(m, p, cursor, emit, out, capacity, runs):
            m[H_EVENT] = event
            return OUTPUT_FULL
        m[H_VERSION] = events[V_VERSION, event]
        done = work_so_far(m)
        atoms = p[table + PT_ATOM_LIST]
        atom = m[H_ATOM]
        while atom < p[table + PT_ATOMS]:
            node = p[atoms + atom]
            m[H_START] = node
            if m[H_PHASE] == FRESH and _begin(m, p, node, row, weight, events[V_MASK, event], cursor) == NEED_SPACE:
                m[H_EVENT] = event
                m[H_ATOM] = atom
                note_work(m, events, event, done)
                return NEED_SPACE
            if m[H_PHASE] != FRESH and not _carry_on(m, p, node, row, weight, cursor, emit, out, capacity, runs):
                m[H_EVENT] = event
                m[H_ATOM] = atom
                note_work(m, events, event, done)
                return OUTPUT_FULL
            atom += 1
        note_work(m, events, event, done)
        m[H_ATOM] = 0
        event += 1
    if not settle(m, p, cursor, emit, out, capacity, runs):
        m[H_EVENT] = event
        return OUTPUT_FULL
    m[H_EVENT] = 0
    return DONE


@kernel
def scan(arena: ArenaArray, plan: Plan, cursor_words: Cursor, output: Output) -> tuple[bool, int]:
    """Full enumeration (CROWN, Algorithm 5) into a buffer of shape (head columns and words of an annotation, capacity).

    Without annotations the buffer may have one more line: each combination of rows is then written once, and there how
    often it stands in the result. The cursor starts at zero with a start row's weight of 1, in every component; returns
    whether it is finished and the rows written. Where H_OVERFLOW is not 0, a row's annotation or multiplicity does not
    fit.
    """
    m = words(arena)
    p = words(plan)
    m[H_OVERFLOW] = 0
    if p[P_MODE] == RING:
        return advance_annotated(m, p, p[P_FULL], words(cursor_words), words(output), output.shape[1], 0)
    plain = p[P_MODE] == SET or m[H_DUPLICATES] == 0
    columns = p[P_HEAD] + p[P_WORDS]
    weights = columns * output.shape[1] if output.shape[0] > columns else -1
    return advance(m, p, p[P_FULL], words(cursor_words), plain, weights, words(output), output.shape[1], 0)
