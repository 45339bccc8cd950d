"""Change propagation without joins: R-, S- and P-UPDATE with delta enumeration (CROWN, Algorithms 2-4 and 6).

One change at one atom is propagated depth first along the path from the atom to the root. Whenever a row enters or
leaves a semi-join view V_s and its key enters or leaves the projection view V_p with it, P-UPDATE goes on with the
parent rows; where that stops, the row is a *witness* iff it is at the root or has a live parent (Definition 5.6), and
its results are enumerated at once. So a change is a sequence of rows that enter or leave one V_s each, and the law

    Q after the row = Q before the row +/- the results enumerated at its witness

holds for every one of them; a deletion is the insertion backwards: enumerate, then lower liveness, then detach.
The stack has one frame a level of the tree. All of it lies in the arena, so that the walk can stop when the output
buffer is full and go on in the next call.
"""

from __future__ import annotations

from livejoin.kernels.crown.layout import (
    COUNTER_MASK,
    E_PARENT_BLOCK,
    E_PARENTS,
    ENTER,
    ENTER_ENUMERATE,
    ENTER_NEXT,
    F_INDEX,
    F_NODE,
    F_ROW,
    H_NODE,
    H_ROW,
    H_SP,
    H_STACK,
    LEAVE,
    LEAVE_DETACH,
    LEAVE_ENUMERATE,
    LEAVE_NEXT,
    N_CHILDREN,
    N_CONNEX,
    N_INDEX,
    N_LINKED,
    N_PARENT,
    N_STATE,
    N_UP,
    P_FRAME,
    P_LIVE,
    S_BLOCK,
    S_LEN,
    SLOT,
)
from livejoin.kernels.crown.live_views import lower_live, raise_live, slot_is_live
from livejoin.kernels.crown.witness import begin_witness, enumerate_witness
from livejoin.kernels.jit import helper
from livejoin.kernels.join.layout import FRESH, H_PHASE, H_PROPAGATED, H_STOPPED, H_TOUCHED
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan, Segments


@helper
def enter(m: Arena, p: Plan, cursor: Cursor, emit: bool, out: Output, capacity: int, runs: Segments) -> bool:
    """Carry on with a row that enters V_s of its node and with all that follows; False if the buffer is full."""
    live_views = p[P_LIVE] == 1
    while True:
        phase = m[H_PHASE]
        if phase == ENTER:
            node = m[H_NODE]
            row = m[H_ROW]
            up = row + p[node + N_UP]
            slot = (m[up] >> 32) & MASK32
            length = m[slot + S_LEN] >> 32
            m[(m[slot + S_BLOCK] & REF_MASK) + length] = row
            m[up] = (slot << 32) | length
            m[slot + S_LEN] += 1 << 32
            m[H_PROPAGATED] += 1
            parent = p[node + N_PARENT]
            m[H_PHASE] = ENTER_NEXT
            if parent >= 0 and length == 0:
                if p[node + N_LINKED] == 0:
                    above = slot - SLOT * p[node + N_INDEX]
                    m[above + p[parent + N_STATE]] += 1
                    m[H_TOUCHED] += 1
                    if m[above + p[parent + N_STATE]] & COUNTER_MASK == p[parent + N_CHILDREN]:
                        m[H_NODE] = parent
                        m[H_ROW] = above
                        m[H_PHASE] = ENTER
                        continue
                else:
                    frame = H_STACK + m[H_SP] * p[P_FRAME]
                    m[frame + F_NODE] = parent
                    m[frame + F_ROW] = slot
                    m[frame + F_INDEX] = 0
                    m[H_SP] += 1
            else:
                m[H_STOPPED] += 1
                if live_views and p[node + N_CONNEX] == 1 and slot_is_live(m, p, node, slot):
                    if emit:
                        begin_witness(m, p, node, row, cursor)
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
            if m[H_PHASE] == ENTER:
                m[frame + F_INDEX] = index
            else:
                m[H_SP] -= 1


@helper
def _detach(m: Arena, p: Plan, node: int, row: int) -> None:
    """Take a row out of its slot's block of V_s rows."""
    up = p[node + N_UP]
    word = m[row + up]
    slot = (word >> 32) & MASK32
    position = word & MASK32
    m[slot + S_LEN] -= 1 << 32
    last = m[slot + S_LEN] >> 32
    if position != last:
        block = m[slot + S_BLOCK] & REF_MASK
        moved = m[block + last]
        m[block + position] = moved
        m[moved + up] = (slot << 32) | position
    m[H_PROPAGATED] += 1


@helper
def leave(m: Arena, p: Plan, cursor: Cursor, emit: bool, out: Output, capacity: int, runs: Segments) -> bool:
    """Carry on with a row that leaves V_s of its node and with all that follows; False if the buffer is full."""
    live_views = p[P_LIVE] == 1
    while True:
        phase = m[H_PHASE]
        node = m[H_NODE]
        row = m[H_ROW]
        if phase == LEAVE:
            slot = (m[row + p[node + N_UP]] >> 32) & MASK32
            parent = p[node + N_PARENT]
            m[H_PHASE] = LEAVE_DETACH
            if parent >= 0 and m[slot + S_LEN] >> 32 == 1:
                frame = H_STACK + m[H_SP] * p[P_FRAME]
                m[frame + F_NODE] = node
                m[frame + F_ROW] = row
                m[frame + F_INDEX] = 1 if p[node + N_LINKED] == 0 else m[slot + E_PARENTS] >> 32
                m[H_SP] += 1
                m[H_PHASE] = LEAVE_NEXT
            else:
                m[H_STOPPED] += 1
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
            _detach(m, p, node, row)
            if m[H_SP] == 0:
                m[H_PHASE] = FRESH
                return True
            m[row + p[node + N_STATE]] -= 1
            m[H_TOUCHED] += 1
            m[H_PHASE] = LEAVE_NEXT
        else:
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
            if m[H_PHASE] == LEAVE:
                m[frame + F_INDEX] = index
            else:
                m[H_SP] -= 1
