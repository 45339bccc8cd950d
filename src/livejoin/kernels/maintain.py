"""The kernels that Python calls: apply changes to a view, load records, scan and count its result."""

from __future__ import annotations

from typing import Any

import numpy as np

from livejoin.kernels.arena import allocate, allocate_raw, release, words
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.layout import (
    CHUNK_BITS,
    CHUNK_ROWS,
    COUNTER_BITS,
    COUNTER_MASK,
    D_LOG,
    D_SLOTS,
    DONE,
    ENTER,
    ENTER_ENUMERATE,
    ENTER_NEXT,
    FRESH,
    H_ATOM,
    H_DUPLICATES,
    H_EVENT,
    H_NODE,
    H_OUT,
    H_PHASE,
    H_ROOT,
    H_ROW,
    H_SEGMENT_KEY,
    H_SEGMENT_SIGN,
    H_SEGMENTS,
    H_WEIGHED,
    LEAVE,
    LEAVE_DETACH,
    LEAVE_ENUMERATE,
    LEAVE_NEXT,
    MASK32,
    N_ATOM,
    N_BIT,
    N_CHILDREN,
    N_DIRECTORY,
    N_INDEX,
    N_LINK,
    N_PARENT,
    N_STATE,
    N_UP,
    NEED_SPACE,
    OUTPUT_FULL,
    P_FIRST_TABLE,
    P_FULL,
    P_LIVE,
    P_NODES,
    P_POSTORDER,
    PLAN_TABLE,
    PT_ATOM_LIST,
    PT_ATOMS,
    PT_HEADER,
    PT_STRIDE,
    PT_VALUE_LIST,
    PT_VALUES,
    REF_MASK,
    S_BLOCK,
    S_LEN,
    S_WEIGHT,
    SLOT,
    T_CHUNKS,
    T_CLASS,
    T_COUNT,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_VERSION,
    V_WEIGHT,
    WEIGH,
)
from livejoin.kernels.live import slot_is_live
from livejoin.kernels.odometer import advance, start
from livejoin.kernels.propagate import enter, enumerate_witness, leave
from livejoin.kernels.register import enroll, prepare, withdraw


@helper
def _record(m: Any, p: Any, table: int, row: int) -> int:
    """Reference of the record of a base row."""
    descriptor = p[P_FIRST_TABLE] + table * PLAN_TABLE
    chunks = m[p[descriptor + PT_HEADER] + T_CHUNKS]
    record: int = m[chunks + (row >> CHUNK_BITS)] + (row & (CHUNK_ROWS - 1)) * p[descriptor + PT_STRIDE]
    return record


@kernel
def load(arena: Any, plan: Any, table: int, rows: Any, values: Any, stride: int) -> int:
    """Bring the values of base rows into their records, allocating chunks of records as needed.

    Args:
        arena: The view's arena.
        plan: Its plan.
        table: Position of the table in the plan.
        rows: int64 row ids.
        values: The base table's words, flat; row id r starts at ``r * stride``.
        stride: Words a row of the base table.

    Returns:
        DONE, or NEED_SPACE (call again after growing; repeating is harmless).
    """
    m = words(arena)
    p = words(plan)
    source = words(values)
    descriptor = p[P_FIRST_TABLE] + table * PLAN_TABLE
    header = p[descriptor + PT_HEADER]
    size = p[descriptor + PT_STRIDE]
    count = p[descriptor + PT_VALUES]
    columns = p[descriptor + PT_VALUE_LIST]
    for i in range(rows.shape[0]):
        row = rows[i]
        while row >> CHUNK_BITS >= m[header + T_COUNT]:
            used = m[header + T_COUNT]
            if used == 1 << m[header + T_CLASS]:
                larger = allocate(m, m[header + T_CLASS] + 1)
                if larger == 0:
                    return NEED_SPACE
                for k in range(used):
                    m[larger + k] = m[m[header + T_CHUNKS] + k]
                release(m, m[header + T_CHUNKS], m[header + T_CLASS])
                m[header + T_CHUNKS] = larger
                m[header + T_CLASS] += 1
            chunk = allocate_raw(m, size * CHUNK_ROWS)
            if chunk == 0:
                return NEED_SPACE
            for k in range(size * CHUNK_ROWS):
                m[chunk + k] = 0
            m[m[header + T_CHUNKS] + used] = chunk
            m[header + T_COUNT] = used + 1
        record = m[m[header + T_CHUNKS] + (row >> CHUNK_BITS)] + (row & (CHUNK_ROWS - 1)) * size
        for k in range(count):
            m[record + k] = source[row * stride + p[columns + k]]
    return DONE


@helper
def _begin(m: Any, p: Any, node: int, row: int, weight: int, mask: int, cursor: Any) -> int:
    """First step of a change at one atom; returns NEED_SPACE before anything changed, else DONE with a phase set."""
    state = row + p[node + N_STATE]
    before = m[state] >> COUNTER_BITS
    if weight > 0 and before == 0:
        if (mask >> p[node + N_BIT]) & 1 == 0:
            return DONE
        if not prepare(m, p, node, row):
            return NEED_SPACE
        if weight > 1:
            m[H_DUPLICATES] += 1
        if enroll(m, p, node, row, weight):
            m[H_NODE] = node
            m[H_ROW] = row
            m[H_PHASE] = ENTER
        return DONE
    if before == 0:
        return DONE
    in_view = m[state] & COUNTER_MASK == p[node + N_CHILDREN]
    if before + weight == 0:
        m[H_NODE] = node
        m[H_ROW] = row
        m[H_PHASE] = LEAVE if in_view else FRESH
        if not in_view:
            if before > 1:
                m[H_DUPLICATES] -= 1
            withdraw(m, p, node, row)
        return DONE
    slot = (m[row + p[node + N_UP]] >> 32) & MASK32
    if in_view and p[P_LIVE] == 1 and slot_is_live(m, p, node, slot):
        start(cursor, row, abs(weight))
        m[H_NODE] = node
        m[H_PHASE] = WEIGH
    m[H_WEIGHED] += 1
    m[state] += weight << COUNTER_BITS
    if before == 1:
        m[H_DUPLICATES] += 1
    elif before + weight == 1 and m[H_PHASE] != WEIGH:
        m[H_DUPLICATES] -= 1
    return DONE


@helper
def _carry_on(
    m: Any, p: Any, node: int, row: int, weight: int, cursor: Any, emit: bool, out: Any, capacity: int
) -> bool:
    """Go on with a change that has begun; False if the output buffer is full."""
    phase = m[H_PHASE]
    if phase == WEIGH:
        if emit and not enumerate_witness(m, p, node, cursor, out, capacity):
            return False
        if weight < 0 and m[row + p[node + N_STATE]] >> COUNTER_BITS == 1:
            m[H_DUPLICATES] -= 1
        m[H_PHASE] = FRESH
        return True
    if phase == ENTER or phase == ENTER_ENUMERATE or phase == ENTER_NEXT:
        return enter(m, p, cursor, emit, out, capacity)
    if phase == LEAVE or phase == LEAVE_ENUMERATE or phase == LEAVE_DETACH or phase == LEAVE_NEXT:
        if not leave(m, p, cursor, emit, out, capacity):
            return False
        if m[row + p[node + N_STATE]] >> COUNTER_BITS > 1:
            m[H_DUPLICATES] -= 1
        withdraw(m, p, node, row)
    return True


@kernel
def maintain(
    arena: Any,
    plan: Any,
    events: Any,
    cursor_words: Any,
    emit: bool,
    output: Any,
    starts: Any,
    versions: Any,
    signs: Any,
) -> int:
    """Apply events to a view in order, writing the delta of each to the output.

    Args:
        arena: The view's arena; changed. The cursor of an interrupted call is in its header.
        plan: Its plan.
        events: int64 of shape (EVENT_FIELDS, n): table, row id, weight, mask of atoms, version. A weight is the
            change of the row's multiplicity, which stays non-negative.
        cursor_words: int64, CURSOR_HEADER + LEVEL words a node and one more; the cursor of an enumeration.
        emit: Whether deltas are enumerated; live views are kept either way if the plan says so.
        output: int64 of shape (head columns, capacity): the delta's rows.
        starts: int64: first output row of each segment of equal version and sign.
        versions: int64: version of each segment.
        signs: int64: +1 or -1 of each segment.

    Returns:
        DONE; NEED_SPACE: grow the arena and call again; OUTPUT_FULL: take the output's first ``H_OUT`` rows and
        ``H_SEGMENTS`` segments and call again. A caller starts with H_EVENT, H_ATOM, H_PHASE at 0.
    """
    m = words(arena)
    p = words(plan)
    cursor = words(cursor_words)
    out = words(output)
    capacity = output.shape[1]
    m[H_OUT] = 0
    m[H_SEGMENTS] = 0
    event = m[H_EVENT]
    while event < events.shape[1]:
        table = p[P_FIRST_TABLE] + events[V_TABLE, event] * PLAN_TABLE
        row = _record(m, p, events[V_TABLE, event], events[V_ROW, event])
        weight = events[V_WEIGHT, event]
        atoms = p[table + PT_ATOM_LIST]
        atom = m[H_ATOM]
        while atom < p[table + PT_ATOMS]:
            node = p[atoms + atom]
            if m[H_PHASE] == FRESH and _begin(m, p, node, row, weight, events[V_MASK, event], cursor) == NEED_SPACE:
                m[H_EVENT] = event
                m[H_ATOM] = atom
                return NEED_SPACE
            if m[H_PHASE] != FRESH:
                full = False
                if emit:
                    version = events[V_VERSION, event]
                    sign = 1 if weight > 0 else -1
                    segment = m[H_SEGMENTS]
                    if segment == 0 or m[H_SEGMENT_KEY] != version or m[H_SEGMENT_SIGN] != sign:
                        if segment == starts.shape[0]:
                            full = True
                        elif segment > 0 and starts[segment - 1] == m[H_OUT]:
                            segment -= 1
                        if not full:
                            starts[segment] = m[H_OUT]
                            versions[segment] = version
                            signs[segment] = sign
                            m[H_SEGMENTS] = segment + 1
                            m[H_SEGMENT_KEY] = version
                            m[H_SEGMENT_SIGN] = sign
                if full or not _carry_on(m, p, node, row, weight, cursor, emit, out, capacity):
                    m[H_EVENT] = event
                    m[H_ATOM] = atom
                    return OUTPUT_FULL
            atom += 1
        m[H_ATOM] = 0
        event += 1
    m[H_EVENT] = 0
    return DONE


@kernel
def scan(arena: Any, plan: Any, cursor_words: Any, output: Any) -> tuple[bool, int]:
    """Full enumeration (CROWN, Algorithm 5) into a buffer of shape (head columns, capacity).

    The cursor starts at zero with a start row's weight of 1; returns whether it is finished and the rows written.
    """
    m = words(arena)
    p = words(plan)
    return advance(m, p, p[P_FULL], words(cursor_words), m[H_DUPLICATES] == 0, words(output), output.shape[1], 0)


@helper
def _weight_of(m: Any, p: Any, node: int, row: int) -> tuple[int, float]:
    """Results of the subtree below a row, as an integer that may wrap and as a float that cannot."""
    exact = 1
    rough = 1.0
    if p[node + N_ATOM] == 1:
        exact = m[row + p[node + N_STATE]] >> COUNTER_BITS
        rough = float(exact)
    for c in range(p[node + N_CHILDREN]):
        slot = row + SLOT * c
        if p[node + N_ATOM] == 1:
            slot = (m[row + p[node + N_LINK] + c] >> 32) & MASK32
        weight = m[slot + S_WEIGHT]
        exact *= weight
        rough *= float(weight)
    return exact, rough


@helper
def _weigh_slot(m: Any, p: Any, node: int, slot: int) -> float:
    """Set a slot's annotation to the sum of its rows' weights."""
    exact = 0
    rough = 0.0
    block = m[slot + S_BLOCK] & REF_MASK
    for i in range(m[slot + S_LEN] >> 32):
        one, about = _weight_of(m, p, node, m[block + i])
        exact += one
        rough += about
    m[slot + S_WEIGHT] = exact
    return rough


@kernel
def count(arena: Any, plan: Any) -> tuple[int, float]:
    """Size of the result with multiplicities, bottom-up over the tree in O(|D|); nothing is enumerated.

    Returns:
        The size modulo 2**64, and the largest intermediate size as a float, which tells whether the first is exact.
    """
    m = words(arena)
    p = words(plan)
    largest = 0.0
    for i in range(p[P_NODES]):
        node = p[p[P_POSTORDER] + i]
        parent = p[node + N_PARENT]
        if parent < 0:
            largest = max(largest, _weigh_slot(m, p, node, H_ROOT))
            continue
        directory = p[node + N_DIRECTORY]
        shift = 0
        if p[parent + N_ATOM] == 0:
            shift = SLOT * p[node + N_INDEX]
        for k in range(1 << m[directory + D_LOG]):
            entry = m[m[directory + D_SLOTS] + k] & MASK32
            if entry != 0:
                largest = max(largest, _weigh_slot(m, p, node, entry + shift))
    return np.int64(m[H_ROOT + S_WEIGHT]), largest  # type: ignore[return-value]
