"""Change propagation without joins: R-, S- and P-UPDATE with delta enumeration (CROWN, Algorithms 2-4 and 6).

One change at one atom is propagated depth first along the path from the atom to the root. Whenever a row enters or
leaves a semi-join view V_s and its key enters or leaves the projection view V_p with it, P-UPDATE goes on with the
parent rows; where that stops, the row is a *witness* iff it is at the root or has a live parent (Definition 5.6), and
its results are enumerated at once. So a change is a sequence of rows that enter or leave one V_s each, and the law

    Q after the row = Q before the row +/- the results enumerated at its witness

holds for every one of them; a deletion is the insertion backwards: enumerate, then lower liveness, then detach.
The stack has one frame a level of the tree. All of it lies in the arena, so that the walk can stop when the output
buffer is full and go on in the next call.

Over an edge ``not exists`` the direction flips: where a key enters V_p, the parent rows leave V_s, and where it leaves
they enter (docs/decisions/0034). The child's row is attached or detached before; it is in no result. Over an
``optional`` edge parents depend on nothing, so that the child's row is the witness; where it is the first or the last
one with its key, the NULL row in whose place it is has results too, those of the live parents of the slot.
"""

from __future__ import annotations

from livejoin.kernels.crown.annotate import begin_flip, settle
from livejoin.kernels.crown.layout import (
    COUNTER_MASK,
    E_PARENT_BLOCK,
    E_PARENTS,
    EDGE_EXISTS,
    EDGE_NOT_EXISTS,
    EDGE_OPTIONAL,
    ENTER,
    ENTER_ENUMERATE,
    ENTER_NEXT,
    ENTER_NULL,
    F_INDEX,
    F_NODE,
    F_PHASE,
    F_ROW,
    FLIP_NEXT,
    H_NODE,
    H_ROW,
    H_SP,
    H_STACK,
    LEAVE,
    LEAVE_DETACH,
    LEAVE_DONE,
    LEAVE_ENUMERATE,
    LEAVE_NEXT,
    LEAVE_NULL,
    N_CHILDREN,
    N_CONNEX,
    N_EDGE,
    N_FLIPS,
    N_INDEX,
    N_LINKED,
    N_NULL,
    N_PARENT,
    N_STATE,
    N_UP,
    N_WORK,
    P_FRAME,
    P_LIVE,
    S_BLOCK,
    S_LEN,
    SLOT,
    W_ENTERED,
    W_LEFT,
    W_STOPPED,
    W_TOUCHED,
)
from livejoin.kernels.crown.live_views import lower_live, raise_live, slot_is_live
from livejoin.kernels.crown.witness import begin_witness, enumerate_witness
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.layout import FRESH, H_PHASE, H_PROPAGATED, H_STOPPED, H_TOUCHED
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan, Segments


@inlined
def resume(m: Arena, p: Plan) -> None:
    """Go on with what is on top of the stack; the walk is done if nothing is."""
    m[H_PHASE] = FRESH
    if m[H_SP] > 0:
        m[H_PHASE] = m[H_STACK + (m[H_SP] - 1) * p[P_FRAME] + F_PHASE]


@inlined
def _push(m: Arena, p: Plan, node: int, row: int, index: int, phase: int) -> None:
    """Put a frame on the stack, and go on with it."""
    frame = H_STACK + m[H_SP] * p[P_FRAME]
    m[frame + F_NODE] = node
    m[frame + F_ROW] = row
    m[frame + F_INDEX] = index
    m[frame + F_PHASE] = phase
    m[H_SP] += 1
    m[H_PHASE] = phase


@helper
def _begin_null(m: Arena, p: Plan, node: int, slot: int, cursor: Cursor) -> None:
    """Place the cursor before the results of the NULL row below the live parents of an empty slot."""
    null = p[node + N_NULL]
    m[null + p[node + N_UP]] = slot << 32
    begin_witness(m, p, node, null, cursor)


@helper
def enter(m: Arena, p: Plan, cursor: Cursor, emit: bool, out: Output, capacity: int, runs: Segments) -> bool:
    """Carry on with a row that enters V_s of its node and with all that follows; False if the buffer is full.

    Returns True in a phase of `leave`, in `ANNOTATE`, or in `FRESH` where all is done.
    """
    live_views = p[P_LIVE] == 1
    while True:
        phase = m[H_PHASE]
        if phase == ENTER:
            node = m[H_NODE]
            row = m[H_ROW]
            up = row + p[node + N_UP]
            slot = (m[up] >> 32) & MASK32
            length = m[slot + S_LEN] >> 32
            if p[node + N_CONNEX] == 1:
                if emit and live_views and not settle(m, p, cursor, emit, out, capacity, runs):
                    return False
                m[(m[slot + S_BLOCK] & REF_MASK) + length] = row
                m[up] = (slot << 32) | length
            m[slot + S_LEN] += 1 << 32
            m[H_PROPAGATED] += 1
            m[p[node + N_WORK] + W_ENTERED] += 1
            parent = p[node + N_PARENT]
            kind = p[node + N_EDGE]
            if parent >= 0 and length == 0 and kind <= EDGE_NOT_EXISTS:
                if kind == EDGE_NOT_EXISTS:
                    _push(m, p, node, slot, 0, FLIP_NEXT)
                    return True
                if p[node + N_FLIPS] == 1:
                    _push(m, p, parent, slot, 0, ENTER_NEXT)
                    if begin_flip(m, p, node, slot):
                        return True
                elif p[node + N_LINKED] == 0:
                    m[H_PHASE] = ENTER_NEXT
                    above = slot - SLOT * p[node + N_INDEX]
                    m[above + p[parent + N_STATE]] += 1
                    m[H_TOUCHED] += 1
                    m[p[parent + N_WORK] + W_TOUCHED] += 1
                    if m[above + p[parent + N_STATE]] & COUNTER_MASK == p[parent + N_CHILDREN]:
                        m[H_NODE] = parent
                        m[H_ROW] = above
                        m[H_PHASE] = ENTER
                        continue
                else:
                    _push(m, p, parent, slot, 0, ENTER_NEXT)
            else:
                m[H_STOPPED] += 1
                m[p[node + N_WORK] + W_STOPPED] += 1
                m[H_PHASE] = ENTER_NEXT
                if live_views and p[node + N_CONNEX] == 1 and slot_is_live(m, p, node, slot):
                    m[H_PHASE] = ENTER_ENUMERATE
                    if emit and kind == EDGE_OPTIONAL and length == 0:
                        _begin_null(m, p, node, slot, cursor)
                        m[H_PHASE] = ENTER_NULL
                    elif emit:
                        begin_witness(m, p, node, row, cursor)
                elif length == 0 and p[node + N_FLIPS] == 1:
                    resume(m, p)
                    if begin_flip(m, p, node, slot):
                        return True
        elif phase == ENTER_NULL:
            if not enumerate_witness(m, p, m[H_NODE], -1, cursor, out, capacity, runs):
                return False
            begin_witness(m, p, m[H_NODE], m[H_ROW], cursor)
            m[H_PHASE] = ENTER_ENUMERATE
        elif phase == ENTER_ENUMERATE:
            node = m[H_NODE]
            if emit and not enumerate_witness(m, p, node, 1, cursor, out, capacity, runs):
                return False
            raise_live(m, p, node, m[H_ROW])
            m[H_PHASE] = ENTER_NEXT
        else:
            if m[H_SP] == 0:
                m[H_PHASE] = FRESH
                return True
            frame = H_STACK + (m[H_SP] - 1) * p[P_FRAME]
            if m[frame + F_PHASE] != ENTER_NEXT:
                m[H_PHASE] = m[frame + F_PHASE]
                return True
            parent = m[frame + F_NODE]
            slot = m[frame + F_ROW]
            full = p[parent + N_CHILDREN]
            state = p[parent + N_STATE]
            block = m[slot + E_PARENT_BLOCK] & REF_MASK
            first = m[frame + F_INDEX]
            index = first
            length = m[slot + E_PARENTS] >> 32
            while index < length:
                above = m[block + index]
                index += 1
                m[above + state] += 1
                if m[above + state] & COUNTER_MASK == full:
                    m[H_NODE] = parent
                    m[H_ROW] = above
                    m[H_PHASE] = ENTER
                    break
            m[H_TOUCHED] += index - first
            m[p[parent + N_WORK] + W_TOUCHED] += index - first
            if m[H_PHASE] == ENTER:
                m[frame + F_INDEX] = index
            else:
                m[H_SP] -= 1


@helper
def _detach(m: Arena, p: Plan, node: int, row: int) -> int:
    """Take a row out of V_s, and out of the block of its slot if there is one; returns the slot."""
    up = p[node + N_UP]
    word = m[row + up]
    slot = (word >> 32) & MASK32
    position = word & MASK32
    m[slot + S_LEN] -= 1 << 32
    last = m[slot + S_LEN] >> 32
    if p[node + N_CONNEX] == 1 and position != last:
        block = m[slot + S_BLOCK] & REF_MASK
        moved = m[block + last]
        m[block + position] = moved
        m[moved + up] = (slot << 32) | position
    m[H_PROPAGATED] += 1
    m[p[node + N_WORK] + W_LEFT] += 1
    return int(slot)


@helper
def leave(m: Arena, p: Plan, cursor: Cursor, emit: bool, out: Output, capacity: int, runs: Segments) -> bool:
    """Carry on with a row that leaves V_s of its node and with all that follows; False if the buffer is full.

    Returns True in a phase of `enter`, in `ANNOTATE`, or in `FRESH` where all is done.
    """
    live_views = p[P_LIVE] == 1
    while True:
        phase = m[H_PHASE]
        node = m[H_NODE]
        row = m[H_ROW]
        if phase == LEAVE:
            is_shown = emit and live_views and p[node + N_CONNEX] == 1
            if is_shown and not settle(m, p, cursor, emit, out, capacity, runs):
                return False
            slot = (m[row + p[node + N_UP]] >> 32) & MASK32
            if p[node + N_PARENT] >= 0 and m[slot + S_LEN] >> 32 == 1 and p[node + N_EDGE] <= EDGE_EXISTS:
                _push(m, p, node, row, 1 if p[node + N_LINKED] == 0 else m[slot + E_PARENTS] >> 32, LEAVE_NEXT)
            else:
                m[H_STOPPED] += 1
                m[p[node + N_WORK] + W_STOPPED] += 1
                m[H_PHASE] = LEAVE_DETACH
                if live_views and p[node + N_CONNEX] == 1 and slot_is_live(m, p, node, slot):
                    if emit:
                        begin_witness(m, p, node, row, cursor)
                    m[H_PHASE] = LEAVE_ENUMERATE
        elif phase == LEAVE_ENUMERATE:
            if emit and not enumerate_witness(m, p, node, -1, cursor, out, capacity, runs):
                return False
            lower_live(m, p, node, row)
            m[H_PHASE] = LEAVE_DETACH
        elif phase == LEAVE_DETACH:
            slot = _detach(m, p, node, row)
            m[H_PHASE] = LEAVE_DONE
            is_empty = p[node + N_EDGE] == EDGE_OPTIONAL and m[slot + S_LEN] >> 32 == 0
            if is_empty and emit and live_views and slot_is_live(m, p, node, slot):
                _begin_null(m, p, node, slot, cursor)
                m[H_PHASE] = LEAVE_NULL
        elif phase == LEAVE_NULL:
            if not enumerate_witness(m, p, node, 1, cursor, out, capacity, runs):
                return False
            m[H_PHASE] = LEAVE_DONE
        elif phase == LEAVE_DONE:
            if m[H_SP] > 0:
                m[row + p[node + N_STATE]] -= 1
                m[H_TOUCHED] += 1
                m[p[node + N_WORK] + W_TOUCHED] += 1
            slot = (m[row + p[node + N_UP]] >> 32) & MASK32
            if p[node + N_EDGE] == EDGE_NOT_EXISTS and m[slot + S_LEN] >> 32 == 0:
                _push(m, p, p[node + N_PARENT], slot, 0, ENTER_NEXT)
            else:
                resume(m, p)
            if p[node + N_FLIPS] == 1 and m[slot + S_LEN] >> 32 == 0 and begin_flip(m, p, node, slot):
                return True
            if m[H_PHASE] <= ENTER_NEXT:
                return True
        elif phase == LEAVE_NEXT:
            frame = H_STACK + (m[H_SP] - 1) * p[P_FRAME]
            child = m[frame + F_NODE]
            below = m[frame + F_ROW]
            slot = (m[below + p[child + N_UP]] >> 32) & MASK32
            parent = p[child + N_PARENT]
            full = p[parent + N_CHILDREN]
            state = p[parent + N_STATE]
            index = m[frame + F_INDEX]
            m[H_NODE] = child
            m[H_ROW] = below
            m[H_PHASE] = LEAVE_DETACH
            while index > 0:
                index -= 1
                if p[child + N_LINKED] == 0:
                    above = slot - SLOT * p[child + N_INDEX]
                else:
                    above = m[(m[slot + E_PARENT_BLOCK] & REF_MASK) + index]
                if m[above + state] & COUNTER_MASK == full:
                    m[H_NODE] = parent
                    m[H_ROW] = above
                    m[H_PHASE] = LEAVE
                    break
                m[above + state] -= 1
                m[H_TOUCHED] += 1
                m[p[parent + N_WORK] + W_TOUCHED] += 1
            if m[H_PHASE] == LEAVE:
                m[frame + F_INDEX] = index
            else:
                m[H_SP] -= 1
        else:
            frame = H_STACK + (m[H_SP] - 1) * p[P_FRAME]
            child = m[frame + F_NODE]
            slot = m[frame + F_ROW]
            parent = p[child + N_PARENT]
            full = p[parent + N_CHILDREN]
            state = p[parent + N_STATE]
            block = m[slot + E_PARENT_BLOCK] & REF_MASK
            length = m[slot + E_PARENTS] >> 32
            index = m[frame + F_INDEX]
            while index < length:
                above = m[block + index]
                index += 1
                if m[above + state] & COUNTER_MASK == full:
                    m[H_NODE] = parent
                    m[H_ROW] = above
                    m[H_PHASE] = LEAVE
                    break
                m[above + state] -= 1
                m[H_TOUCHED] += 1
                m[p[parent + N_WORK] + W_TOUCHED] += 1
            m[frame + F_INDEX] = index
            if m[H_PHASE] != LEAVE:
                m[H_SP] -= 1
                resume(m, p)
                if p[child + N_FLIPS] == 1 and begin_flip(m, p, child, slot):
                    return True
                if m[H_PHASE] <= ENTER_NEXT:
                    return True
