"""The kernels of Dynamic Yannakakis that Python calls: batches of changes and enumeration.

The events of one version are a batch. Where its delta is to be enumerated, the batch is taken apart by atom and sign,
deletions first: how to enumerate the delta of a batch with several atoms with constant delay is an open problem (DYN,
section 4.5), while a part with one atom and one sign has no results that cancel.
"""

from __future__ import annotations

from livejoin.kernels.dyn.apply import apply_delta
from livejoin.kernels.dyn.delta import change_atom, change_hyperedge, gather, keys_of, tuples_of
from livejoin.kernels.dyn.layout import (
    APPLY,
    ENUMERATE,
    N_ATOM,
    N_BIT,
    N_PENDING,
    N_PROGRAM,
    N_TABLE,
    N_TREE_PATH,
    N_TREE_PATH_LIST,
    N_VALUE,
    P_ATOM_LIST,
    P_ATOMS,
    PROPAGATE,
    X_COUNT,
)
from livejoin.kernels.dyn.odometer import advance, start
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.batch_delta import (
    D_EVENT_END,
    D_PASS,
    D_PLAIN,
    FULL,
    NEED_DELTA,
    batch_end,
    clear,
    forget,
    record,
)
from livejoin.kernels.join.layout import (
    BAG,
    H_ATOM,
    H_DUPLICATES,
    H_EVENT,
    H_OUT,
    H_OVERFLOW,
    H_PHASE,
    H_VERSION,
    P_FIRST_NODE,
    P_FULL,
    P_HEAD,
    P_MODE,
    P_NODES,
    P_POSTORDER,
    P_WORDS,
    RING,
    SET,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_VERSION,
    V_WEIGHT,
)
from livejoin.kernels.join.records import record_of
from livejoin.kernels.join.segments import begin_output, open_segment
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import DONE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.parameters import Arena, ArenaArray, Cursor, Delta, Events, Matrix, Output, Plan, Segments


@helper
def _record_atom(
    m: Arena, d: Delta, size: int, p: Plan, node: int, e: Events, total: int, begin: int, end: int
) -> bool:
    """Record what a batch does to the rows of an atom; False if the delta has no space."""
    for event in range(begin, end):
        if e[V_TABLE * total + event] != p[node + N_TABLE]:
            continue
        row = record_of(m, p, p[node + N_TABLE], e[V_ROW * total + event])
        weight = e[V_WEIGHT * total + event]
        pending = m[row + p[node + N_PENDING]]
        present = m[row + p[node + N_VALUE]]
        if pending != 0:
            present += d[pending + X_COUNT]
        if present == 0 and (weight < 0 or (e[V_MASK * total + event] >> p[node + N_BIT]) & 1 == 0):
            continue
        changed = record(m, d, size, p, row + p[node + N_PENDING], row, tuples_of(p, node))
        if changed == FULL:
            return False
        d[changed + X_COUNT] += weight
    return True


@helper
def _propagate(m: Arena, d: Delta, size: int, p: Plan, node: int, e: Events, total: int, begin: int, end: int) -> int:
    """The delta of one node from those of its children; DONE, or what needs space."""
    if p[node + N_ATOM] == 1:
        if not _record_atom(m, d, size, p, node, e, total, begin, end):
            return NEED_DELTA
        space = change_atom(m, d, size, p, node)
    else:
        if not gather(m, d, size, p, node):
            return NEED_DELTA
        space = change_hyperedge(m, d, size, p, node)
    if space == 1:
        return DONE
    return NEED_SPACE if space == 0 else NEED_DELTA


@helper
def _propagate_batch(
    m: Arena, d: Delta, size: int, p: Plan, atom: int, e: Events, total: int, begin: int, end: int
) -> int:
    """The delta of a batch, of all atoms for ``atom`` -1; nothing has changed if it needs space."""
    clear(d, p)
    count = p[P_NODES]
    nodes = p[P_POSTORDER]
    if atom >= 0:
        node = p[p[P_ATOM_LIST] + atom]
        count = p[node + N_TREE_PATH]
        nodes = p[node + N_TREE_PATH_LIST]
    for i in range(count):
        status = _propagate(m, d, size, p, p[nodes + i], e, total, begin, end)
        if status != DONE:
            forget(m, d, p)
            return status
    return DONE


@helper
def _enumerate(
    m: Arena, d: Delta, p: Plan, node: int, cursor: Cursor, out: Output, capacity: int, runs: Segments
) -> bool:
    """Go on with the enumeration of a delta; False if the buffer is full."""
    plain = p[P_MODE] == SET or (p[P_MODE] == BAG and m[H_DUPLICATES] == 0 and d[D_PLAIN] == 1)
    while True:
        if not open_segment(m, runs, d[D_PASS]):
            return False
        done, end = advance(m, d, p, p[node + N_PROGRAM], cursor, plain, -1, out, capacity, m[H_OUT])
        m[H_OUT] = end
        if not done:
            return False
        if p[P_MODE] != RING or d[D_PASS] > 0:
            return True
        d[D_PASS] = 1
        start(cursor)


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
    """Apply events to a T-representation, a version at a time, writing the delta of each to the output.

    Args:
        arena: The arena; changed. The cursor of an interrupted call is in its header.
        delta: Words for the delta of a batch; kept between the calls for the same events.
        plan: The plan.
        events: int64 of shape (EVENT_FIELDS, n), by version, deletions before insertions within a version.
        cursor_words: int64, the cursor of an enumeration.
        emit: Whether deltas are enumerated.
        output: int64 of shape (columns, capacity): the delta's rows.
        segments: int64 of shape (RUN_FIELDS, n): first output row, version and sign of each segment.

    Returns:
        DONE; NEED_SPACE: grow the arena; NEED_DELTA: enlarge the delta; OUTPUT_FULL: take the output's first ``H_OUT``
        rows and ``H_SEGMENTS`` segments. After each of these, call again. A caller starts with H_EVENT, H_ATOM and
        H_PHASE at 0. Where H_OVERFLOW is not 0, an annotation or a multiplicity does not fit: the state is of no use
        any more, nor is the output.
    """
    m = words(arena)
    d = words(delta)
    p = words(plan)
    cursor = words(cursor_words)
    out = words(output)
    runs = words(segments)
    e = words(events)
    total = events.shape[1]
    begin_output(m, segments.shape[1])
    while m[H_EVENT] < total:
        begin = m[H_EVENT]
        if m[H_PHASE] == PROPAGATE:
            end = batch_end(e, total, begin, V_VERSION * total, V_WEIGHT * total, emit)
            m[H_VERSION] = e[V_VERSION * total + begin]
            atom = m[H_ATOM] if emit else -1
            status = _propagate_batch(m, d, delta.shape[0], p, atom, e, total, begin, end)
            if status != DONE:
                return status
            d[D_EVENT_END] = end
            sign = 1 if e[V_WEIGHT * total + begin] > 0 else -1
            d[D_PASS] = -1 if p[P_MODE] == RING else sign
            start(cursor)
            m[H_PHASE] = ENUMERATE if emit and d[keys_of(p, p[P_FIRST_NODE])] != 0 else APPLY
        if m[H_PHASE] == ENUMERATE:
            node = p[p[P_ATOM_LIST] + m[H_ATOM]]
            if not _enumerate(m, d, p, node, cursor, out, output.shape[1], runs):
                return OUTPUT_FULL
        apply_delta(m, d, p)
        m[H_PHASE] = PROPAGATE
        m[H_ATOM] += 1
        if not emit or m[H_ATOM] == p[P_ATOMS]:
            m[H_ATOM] = 0
            m[H_EVENT] = d[D_EVENT_END]
    m[H_EVENT] = 0
    return DONE


@kernel
def scan(arena: ArenaArray, plan: Plan, cursor_words: Cursor, output: Output) -> tuple[bool, int]:
    """Enumerate the result into a buffer of shape (columns, capacity) (DYN, Algorithm 3).

    Without annotations the buffer may have one more line: each combination of tuples is then written once, and there
    how often it stands in the result. The cursor starts at zero; returns whether it is finished and the rows written.
    Where H_OVERFLOW is not 0, a row's annotation or multiplicity does not fit.
    """
    m = words(arena)
    p = words(plan)
    m[H_OVERFLOW] = 0
    plain = p[P_MODE] == SET or (p[P_MODE] == BAG and m[H_DUPLICATES] == 0)
    columns = p[P_HEAD] + p[P_WORDS] if p[P_MODE] == RING else p[P_HEAD]
    weights = columns * output.shape[1] if output.shape[0] > columns else -1
    return advance(m, m, p, p[P_FULL], words(cursor_words), plain, weights, words(output), output.shape[1], 0)
