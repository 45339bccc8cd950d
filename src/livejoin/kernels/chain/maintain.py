"""The kernels of change propagation that Python calls: batches of changes, the result, its size."""

from __future__ import annotations

import numpy as np

from livejoin.kernels.chain.layout import APPLYING, EMITTING, FRESH, GATHERING, JOINING, P_RESULT
from livejoin.kernels.chain.output import count_result, emit_changes, write_result
from livejoin.kernels.chain.stages import DONE_STEP, NO_ARENA, apply_changes, gather, run_stages
from livejoin.kernels.chain.stores import changes_of
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.batch_delta import D_EVENT_END, D_PASS, D_RECORD, NEED_DELTA, batch_end, clear
from livejoin.kernels.join.layout import (
    H_EVENT,
    H_OVERFLOW,
    H_PHASE,
    H_VERSION,
    P_HEAD,
    P_MODE,
    P_WORDS,
    RING,
    V_VERSION,
    V_WEIGHT,
)
from livejoin.kernels.join.segments import begin_output
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import DONE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.parameters import ArenaArray, Cursor, Delta, Matrix, Output, Plan, Segments


@helper
def _status(space: int) -> int:
    """What the caller has to do where a step found no space."""
    return NEED_SPACE if space == NO_ARENA else NEED_DELTA


@kernel
def maintain(
    arena: ArenaArray,
    delta: Delta,
    plan: Plan,
    events: Matrix,
    cursor_words: Cursor,
    emit: bool,
    output: Output,
    segments: Segments,
) -> int:
    """Apply events to a chain of joins, a version at a time, writing the delta of each to the output.

    Args:
        arena: The arena; changed. The batch of an interrupted call is in its header, where it stopped in the delta's.
        delta: Words for the delta of a batch; kept between the calls for the same events.
        plan: The plan.
        events: int64 of shape (EVENT_FIELDS, n), by version, deletions before insertions within a version.
        cursor_words: Not used; there because all algorithms are called alike.
        emit: Whether deltas are written.
        output: int64 of shape (columns, capacity): the delta's rows.
        segments: int64 of shape (RUN_FIELDS, n): first output row, version and sign of each segment.

    Returns:
        DONE; NEED_SPACE: grow the arena; NEED_DELTA: enlarge the delta, keeping its words; OUTPUT_FULL: take the
        output's first ``H_OUT`` rows and ``H_SEGMENTS`` segments. After each of these, call again. A caller starts with
        H_EVENT and H_PHASE at 0. Where H_OVERFLOW is not 0, an annotation or a multiplicity does not fit: the state is
        of no use any more, nor is the output.
    """
    m = words(arena)
    d = words(delta)
    p = words(plan)
    out = words(output)
    runs = words(segments)
    e = words(events)
    total = events.shape[1]
    size = delta.shape[0]
    begin_output(m, segments.shape[1])
    while m[H_EVENT] < total:
        begin = m[H_EVENT]
        if m[H_PHASE] == FRESH:
            clear(d, p)
            d[D_EVENT_END] = batch_end(e, total, begin, V_VERSION * total, V_WEIGHT * total, False)
            m[H_VERSION] = e[V_VERSION * total + begin]
            m[H_PHASE] = GATHERING
        if m[H_PHASE] == GATHERING:
            space = gather(m, d, size, p, e, total, begin, d[D_EVENT_END])
            if space != DONE_STEP:
                return _status(space)
            m[H_PHASE] = JOINING
        if m[H_PHASE] == JOINING:
            space = run_stages(m, d, size, p)
            if space != DONE_STEP:
                return _status(space)
            d[D_RECORD] = d[changes_of(p, p[P_RESULT])]
            d[D_PASS] = -1
            m[H_PHASE] = EMITTING if emit and d[D_RECORD] != 0 else APPLYING
        if m[H_PHASE] == EMITTING:
            if not emit_changes(m, d, p, out, output.shape[1], runs):
                return OUTPUT_FULL
            d[D_RECORD] = d[changes_of(p, p[P_RESULT])]
            m[H_PHASE] = APPLYING
        space = apply_changes(m, d, p, p[P_RESULT])
        if space != DONE_STEP:
            return _status(space)
        m[H_PHASE] = FRESH
        m[H_EVENT] = d[D_EVENT_END]
    m[H_EVENT] = 0
    return DONE


@kernel
def scan(arena: ArenaArray, plan: Plan, cursor_words: Cursor, output: Output) -> tuple[bool, int]:
    """Write the result into a buffer of shape (columns, capacity) from a cursor on, which starts at zero.

    Without annotations the buffer may have one more line: each row is then written once, and there how often it stands
    in the result. Returns whether it is finished and the rows written. Where H_OVERFLOW is not 0, a row's multiplicity
    does not fit.
    """
    m = words(arena)
    m[H_OVERFLOW] = 0
    p = words(plan)
    columns = p[P_HEAD] + p[P_WORDS] if p[P_MODE] == RING else p[P_HEAD]
    weights = columns * output.shape[1] if output.shape[0] > columns else -1
    return write_result(m, p, words(cursor_words), weights, words(output), output.shape[1])


@kernel
def count(arena: ArenaArray, plan: Plan) -> tuple[int, float]:
    """Size of the result modulo 2**64, and about as a float, which tells whether the first is exact."""
    exact, rough = count_result(words(arena), words(plan))
    return np.int64(exact), rough  # type: ignore[return-value]
