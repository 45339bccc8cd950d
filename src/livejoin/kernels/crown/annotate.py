"""Annotations of the views and their maintenance (CROWN, section 7.3, formulas 10 to 14).

The annotation of a key in V_p is the sum of those of the rows with this key, and that of a row the product of its own
weight with the annotations of its children outside of the connex subtree. A row without a partner in some child has a
factor zero there, so the sum may run over all registered rows, in V_s or not, and annotations do not depend on the
counters: an insertion changes the annotations first and the views then, a deletion the other way round. So every
result that is enumerated carries its final annotation. While differences wait, a row that is not in V_s may have one,
and is added and subtracted like any other.

A change outside of the connex subtree makes a difference to its slot. Where the slot is that of a linked edge, the
difference waits there (`livejoin.kernels.crown.waiting`), as one slot may have many parents and many changes of a
version may reach it. `settle` takes the slots that wait, children before their parents, and carries what has come
together upwards to all parent rows with the key. So a parent row is visited once for each slot below it that changed
in the version, and not once for each change. Until then its annotation is that of before the version, in all that is
multiplied with it: the annotations of all rows are those of one state, in which the differences have not come yet.

Where the parent is connex, its row is *touched*: the results that contain a live touched row are enumerated with their
old annotation before the first difference reaches it. It stays touched over many slots: the results with the new
annotation are due when `flush` says so. All is settled behind the last change of a version and of a call of the kernel,
and, where deltas are enumerated, before a row of the connex subtree comes to V_s or leaves it. So a group that n
changes of a version reach is written twice, and not 2 n times. The law: where no row is touched, the rows emitted with
sign +1 minus those with sign -1 are the annotated result.

Where an edge that is not inner flips (docs/decisions/0034), the slot's difference is what it is worth now less what it
was, before the parents enter V_s, and behind their leaving.
"""

from __future__ import annotations

from livejoin.kernels.crown.annotation import annotation, multiplicity, multiply_annotation
from livejoin.kernels.crown.layout import (
    ANNOTATE,
    BEGIN,
    BEGIN_SELF,
    COUNTER_BITS,
    COUNTER_MASK,
    E_PARENT_BLOCK,
    E_PARENTS,
    EDGE_EXISTS,
    EDGE_NOT_EXISTS,
    EDGE_OPTIONAL,
    ENTER,
    F_INDEX,
    F_NODE,
    F_ROW,
    F_WEIGHT,
    H_BASE,
    H_NEXT,
    H_RESTORING,
    H_ROW,
    H_SEEN,
    H_SETTLED,
    H_SETTLED_NODE,
    H_SP,
    H_STACK,
    H_START,
    H_STEP,
    H_TOUCHED_NODE,
    H_TOUCHED_ROWS,
    H_WAITING,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_EDGE,
    N_EMPTY,
    N_INDEX,
    N_INLINE,
    N_LINKED,
    N_OWN,
    N_PARENT,
    N_STATE,
    N_TOUCH,
    N_UP,
    N_WAIT,
    N_WEIGHS,
    N_WEIGHT,
    N_WORK,
    OVER,
    P_FRAME,
    P_LIVE,
    PLAN_NODE,
    S_LEN,
    SLOT,
    THEN_RESUME,
    TOUCH_END,
    TOUCH_SELF,
    W_TOUCHED,
    WALK,
    WITHDRAWING,
)
from livejoin.kernels.crown.live_views import slot_is_live
from livejoin.kernels.crown.slots import slot_below
from livejoin.kernels.crown.waiting import end_waiting, take_waiting, wait
from livejoin.kernels.crown.witness import begin_witness, enumerate_witness
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join import ring
from livejoin.kernels.join.ahead import AHEAD
from livejoin.kernels.join.layout import H_OVERFLOW, H_PHASE, H_TOUCHED, P_FIRST_NODE, P_NODES, P_WORDS
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Cursor, Output, Plan, Segments


@inlined
def _put(m: Arena, frame: int, node: int, slot: int) -> None:
    """Put the next frame on the stack, for a slot; its difference is written already."""
    m[frame + F_NODE] = node
    m[frame + F_ROW] = slot
    m[frame + F_INDEX] = 0
    m[H_SP] += 1


@helper
def _push(m: Arena, p: Plan, node: int, slot: int) -> bool:
    """Carry the difference of a slot on, which is written in the next frame; whether the frame is on the stack now.

    If not, the difference waits.
    """
    frame = H_STACK + m[H_SP] * p[P_FRAME]
    if p[node + N_WAIT] >= 0:
        wait(m, p, node, slot, frame + F_WEIGHT)
        return False
    _put(m, frame, node, slot)
    return True


@helper
def _push_row(m: Arena, p: Plan, node: int, row: int) -> bool:
    """As `_push`, for the slot of a row whose annotation changes.

    Over an optional edge parents do not see it while V_s of the slot is empty.
    """
    slot = (m[row + p[node + N_UP]] >> 32) & MASK32
    if p[node + N_EDGE] == EDGE_OPTIONAL:
        at = H_STACK + m[H_SP] * p[P_FRAME] + F_WEIGHT
        m[H_OVERFLOW] |= ring.add(m, p, slot + p[node + N_OWN], m, at)
        if m[slot + S_LEN] >> 32 == 0:
            return False
    return bool(_push(m, p, node, slot))


@helper
def begin_annotation(m: Arena, p: Plan, node: int, row: int, times: int) -> None:
    """Start the pass for a row outside of the connex subtree whose multiplicity changes by ``times``."""
    m[H_STEP] = OVER
    m[H_BASE] = m[H_SP]
    frame = H_STACK + m[H_SP] * p[P_FRAME]
    m[H_OVERFLOW] |= annotation(m, p, node, row, times, -1, m, frame + F_WEIGHT)
    if not ring.is_zero(m, p, frame + F_WEIGHT) and _push_row(m, p, node, row):
        m[H_STEP] = BEGIN


@helper
def worth(m: Arena, p: Plan, node: int, slot: int, at: int) -> int:
    """Write to ``at`` what a slot below an edge that is not inner is worth to its parents, less what an empty one is.

    Returns -1 if that does not fit, else 0.
    """
    for i in range(p[P_WORDS]):
        m[at + i] = 0
    if m[slot + S_LEN] >> 32 == 0:
        return 0
    if p[node + N_EDGE] == EDGE_EXISTS:
        ring.set_one(m, p, at)
        return 0
    if p[node + N_EDGE] == EDGE_NOT_EXISTS:
        ring.set_one(m, p, at)
        return int(ring.scale(m, p, at, -1))
    ring.set_listed(m, p, at, p[node + N_EMPTY])
    return int(ring.scale(m, p, at, -1) | ring.add(m, p, at, m, slot + p[node + N_OWN]))


@helper
def begin_flip(m: Arena, p: Plan, node: int, slot: int) -> bool:
    """Start the pass for a slot of which V_s has become empty or has ceased to be; whether it is to be carried on now.

    What the slot is worth to its parents changes: over an exists or not exists edge from 0 to 1 or from 1 to 0, over an
    optional one between what an empty slot is worth and the sum of its rows' annotations.
    """
    at = H_STACK + m[H_SP] * p[P_FRAME] + F_WEIGHT
    wraps = worth(m, p, node, slot, at)
    wraps |= ring.subtract(m, p, at, m, slot + p[node + N_WEIGHT])
    if p[node + N_WAIT] >= 0:
        wraps |= ring.subtract(m, p, at, m, slot + p[node + N_WAIT])
    m[H_OVERFLOW] |= wraps
    base = m[H_SP]
    if ring.is_zero(m, p, at) or not _push(m, p, node, slot):
        return False
    m[H_STEP] = BEGIN
    m[H_BASE] = base
    m[H_PHASE] = ANNOTATE
    m[H_NEXT] = THEN_RESUME
    return True


@helper
def has_results(m: Arena, p: Plan, node: int, row: int) -> bool:
    """Whether a row of a connex node takes part in results: it is in V_s and live."""
    if m[row + p[node + N_STATE]] & COUNTER_MASK != p[node + N_CHILDREN]:
        return False
    return bool(slot_is_live(m, p, node, (m[row + p[node + N_UP]] >> 32) & MASK32))


@helper
def touch(m: Arena, p: Plan, node: int, row: int) -> bool:
    """Put a row into the list of touched rows; whether its old results are to be enumerated now.

    A row that is about to enter V_s has none, though its counter says that it is there.
    """
    at = row + p[node + N_TOUCH]
    if m[at] != 0 or (m[H_PHASE] == ENTER and m[H_ROW] == row) or not has_results(m, p, node, row):
        return False
    m[at] = m[H_TOUCHED_ROWS] if m[H_TOUCHED_ROWS] != 0 else TOUCH_END
    m[H_TOUCHED_ROWS] = row
    m[H_TOUCHED_NODE] = node
    return True


@helper
def flush(m: Arena, p: Plan, cursor: Cursor, out: Output, capacity: int, runs: Segments) -> bool:
    """Enumerate the new results of all touched rows, none of which is touched then; False if the buffer is full."""
    while m[H_TOUCHED_ROWS] != 0:
        node = m[H_TOUCHED_NODE]
        touched = m[H_TOUCHED_ROWS]
        if m[H_RESTORING] == 0:
            begin_witness(m, p, node, touched, cursor)
            m[H_RESTORING] = 1
        if not enumerate_witness(m, p, node, 1, cursor, out, capacity, runs):
            return False
        m[H_RESTORING] = 0
        at = touched + p[node + N_TOUCH]
        m[H_TOUCHED_ROWS] = m[at] if m[at] != TOUCH_END else 0
        m[at] = 0
    return True


@helper
def _group_node(p: Plan, node: int) -> int:
    """The connex node whose rows a pass from a node outside of the connex subtree touches."""
    above: int = p[node + N_PARENT]
    while p[above + N_CONNEX] == 0:
        above = p[above + N_PARENT]
    return above


@helper
def _read_ahead(m: Arena, p: Plan, node: int, without: int, block: int, count: int) -> int:
    """Read of the next rows that a block lists what `walk` looks at; what was read, for nobody.

    Args:
        m: The arena.
        p: The plan.
        node: The node of the rows.
        without: Position of the child that the walk comes from.
        block: Where the first of the rows is listed.
        count: How many they are.
    """
    seen = 0
    for i in range(count):
        seen ^= m[m[block + i] + p[node + N_STATE]]
    for c in range(p[node + N_INLINE], p[node + N_CHILDREN]):
        child = p[p[node + N_CHILD_LIST] + c]
        if c != without and p[child + N_WEIGHS] == 1:
            for i in range(count):
                seen ^= m[slot_below(m, p, node, m[block + i], c, child) + p[child + N_WEIGHT]]
    for i in range(count):
        seen ^= m[(m[m[block + i] + p[node + N_UP]] >> 32) & MASK32]
    return seen


@helper
def walk(m: Arena, p: Plan, emit: bool) -> bool:
    """Carry differences upwards until a row is touched whose old results are due, or nothing is left (False)."""
    emit = emit and p[P_LIVE] == 1
    wraps, touched = 0, 0
    is_due = False
    while m[H_SP] > m[H_BASE] and not is_due:
        frame = H_STACK + (m[H_SP] - 1) * p[P_FRAME]
        node = m[frame + F_NODE]
        slot = m[frame + F_ROW]
        index = m[frame + F_INDEX]
        parent = p[node + N_PARENT]
        block = 0
        count = 1
        if p[node + N_LINKED] == 1:
            block = m[slot + E_PARENT_BLOCK] & REF_MASK
            count = m[slot + E_PARENTS] >> 32
        if p[parent + N_CONNEX] == 1:
            while emit and index < count and not is_due:
                above = m[block + index] if block != 0 else slot - SLOT * p[node + N_INDEX]
                index += 1
                is_due = touch(m, p, parent, above)
            if is_due:
                m[frame + F_INDEX] = index
            else:
                wraps |= ring.add(m, p, slot + p[node + N_WEIGHT], m, frame + F_WEIGHT)
                m[H_SP] -= 1
            continue
        if index == 0:
            wraps |= ring.add(m, p, slot + p[node + N_WEIGHT], m, frame + F_WEIGHT)
        following = frame + p[P_FRAME]
        pushed = False
        while index < count and not pushed:
            if index & (AHEAD - 1) == 0 and block != 0:
                m[H_SEEN] ^= _read_ahead(m, p, parent, p[node + N_INDEX], block + index, min(count - index, AHEAD))
            above = m[block + index] if block != 0 else slot - SLOT * p[node + N_INDEX]
            index += 1
            touched += 1
            m[p[parent + N_WORK] + W_TOUCHED] += 1
            times = multiplicity(m, p, parent, above)
            ring.copy(m, following + F_WEIGHT, m, frame + F_WEIGHT, p[P_WORDS])
            wraps |= multiply_annotation(m, p, parent, above, times, p[node + N_INDEX], m, following + F_WEIGHT)
            if not ring.is_zero(m, p, following + F_WEIGHT):
                pushed = _push_row(m, p, parent, above)
        m[frame + F_INDEX] = index
        if not pushed:
            m[H_SP] -= 1
    m[H_OVERFLOW] |= wraps
    m[H_TOUCHED] += touched
    return is_due


@helper
def annotate(
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
    """Carry on with an annotation pass; False if the output buffer is full.

    Args:
        m: The arena.
        p: The plan.
        node: The node of the atom whose row changes.
        row: The row.
        weight: The change of its multiplicity; used where the row is touched itself.
        cursor: The cursor of an enumeration.
        emit: Whether results are enumerated.
        out: The output buffer.
        capacity: The rows of the output buffer.
        runs: The segments of the output buffer.
    """
    while True:
        step = m[H_STEP]
        if step == BEGIN:
            if m[H_TOUCHED_ROWS] != 0 and m[H_SP] > m[H_BASE]:
                first = m[H_STACK + m[H_BASE] * p[P_FRAME] + F_NODE]
                if _group_node(p, first) != m[H_TOUCHED_NODE] and not flush(m, p, cursor, out, capacity, runs):
                    return False
            m[H_STEP] = WALK
        elif step == WALK:
            m[H_STEP] = OVER
            if walk(m, p, emit):
                begin_witness(m, p, m[H_TOUCHED_NODE], m[H_TOUCHED_ROWS], cursor)
                m[H_STEP] = WITHDRAWING
        elif step == WITHDRAWING:
            if not enumerate_witness(m, p, m[H_TOUCHED_NODE], -1, cursor, out, capacity, runs):
                return False
            m[H_STEP] = WALK if m[H_SP] > m[H_BASE] else TOUCH_SELF
        elif step == BEGIN_SELF:
            if m[H_TOUCHED_NODE] != node and not flush(m, p, cursor, out, capacity, runs):
                return False
            m[H_STEP] = TOUCH_SELF
            if emit and p[P_LIVE] == 1 and touch(m, p, node, row):
                begin_witness(m, p, node, row, cursor)
                m[H_STEP] = WITHDRAWING
        elif step == TOUCH_SELF:
            m[row + p[node + N_STATE]] += weight << COUNTER_BITS
            return True
        else:
            return True


@helper
def settle(m: Arena, p: Plan, cursor: Cursor, emit: bool, out: Output, capacity: int, runs: Segments) -> bool:
    """Bring all that waits to the parents, and `flush`; False if the output buffer is full and it is to go on later.

    Nodes are in preorder, so that from the last one on children come before their parents.
    """
    if m[H_WAITING] == 0 and m[H_SETTLED] == 0:
        return bool(flush(m, p, cursor, out, capacity, runs))
    node = p[P_FIRST_NODE] + (p[P_NODES] - 1) * PLAN_NODE
    if m[H_SETTLED] != 0:
        node = m[H_SETTLED_NODE]
    start = m[H_START]
    is_full = False
    while not is_full and (m[H_WAITING] != 0 or m[H_SETTLED] != 0):
        if m[H_SETTLED] == 0:
            frame = H_STACK + m[H_SP] * p[P_FRAME]
            slot = take_waiting(m, p, node, frame + F_WEIGHT)
            if slot == 0:
                node -= PLAN_NODE
                continue
            if ring.is_zero(m, p, frame + F_WEIGHT):
                end_waiting(m, p, node, slot)
                continue
            m[H_SETTLED] = slot
            m[H_SETTLED_NODE] = node
            m[H_BASE] = m[H_SP]
            _put(m, frame, node, slot)
            m[H_STEP] = BEGIN
        m[H_START] = node
        is_full = not annotate(m, p, node, 0, 0, cursor, emit, out, capacity, runs)
        if not is_full:
            end_waiting(m, p, node, m[H_SETTLED])
            m[H_SETTLED] = 0
    m[H_START] = start
    return not is_full and bool(flush(m, p, cursor, out, capacity, runs))


@inlined
def begin_self(m: Arena) -> None:
    """Start the pass for a row of a connex atom whose multiplicity changes."""
    m[H_STEP] = BEGIN_SELF
    m[H_BASE] = m[H_SP]
