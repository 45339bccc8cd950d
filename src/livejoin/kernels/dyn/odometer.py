"""Enumeration over a connex subset N of the tree, of the result or of what a batch changes in it (DYN, Algorithm 3).

A program has one step a node of N, parents before children; each opens the group of its key below the tuple that its
parent's step stands on. Every group is non-empty, so the delay between results is constant. The multiplicity of a
result is the product of ``Lambda`` at the leaves of N and of ``Psi`` at the nodes beside N; with annotations it is a
vector.

For the changes of one atom there is a program whose first steps lead from the root down to the atom, or to the lowest
node of N above it, and go over the changed tuples of the Delta-T-representation only. All other groups on the way are
as before. If all changes have one sign, nothing cancels on the way down and the delay is constant for multiplicities
and annotations (this is DYN's Theorem 4.21, for more than one tuple of the atom); distinct results are those changed
ones in which the tuple at the lowest of these steps comes or goes.
"""

from __future__ import annotations

from livejoin.kernels.dyn.layout import (
    G_LOWEST,
    G_STEP_LIST,
    G_STEPS,
    K_BLOCK,
    K_COPIES,
    K_DEPTH,
    K_INDEX,
    K_LEN,
    K_RECORD,
    K_ROW,
    K_WEIGHT,
    N_ATOM,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_CONNEX_CHILDREN,
    N_FACTOR_LIST,
    N_FACTORS,
    N_PENDING,
    N_VALUE,
    ROOT,
    SLOT_BLOCK,
    SLOT_LEN,
    SLOT_PENDING,
    SLOT_VALUE,
    STEP,
    STEP_CHANGED,
    STEP_LINKED,
    STEP_NODE,
    STEP_OFFSET,
    STEP_SOURCE,
    WAS,
    WILL,
    X_COUNT,
    X_GROUP,
    X_STATE,
    X_VALUE,
)
from livejoin.kernels.dyn.output import level_of, write_block, write_copies, write_outer
from livejoin.kernels.dyn.slots import slot_of
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join import ring
from livejoin.kernels.join.batch_delta import D_PASS, X_OF
from livejoin.kernels.join.layout import BAG, H_OVERFLOW, P_HEAD, P_MODE, P_WORDS, RING, SET
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Cursor, Delta, Output, Plan


@helper
def start(cursor: Cursor) -> None:
    """Set a cursor before the first result."""
    cursor[K_DEPTH] = 0
    cursor[K_COPIES] = 0


@helper
def _is_wanted(d: Delta, p: Plan, changed: int, lowest: bool) -> bool:
    """Whether the enumeration goes over a changed tuple."""
    state = d[changed + X_STATE]
    if p[P_MODE] == BAG:
        return True
    if p[P_MODE] == SET and lowest:
        return bool(state == (WILL if d[D_PASS] > 0 else WAS))
    return bool(state & (WILL if d[D_PASS] > 0 else WAS))


@helper
def _settle(m: Arena, d: Delta, p: Plan, cursor: Cursor, level: int, changed: int, lowest: bool) -> bool:
    """Place a level on the first wanted one of the changed tuples from a record on; False if there is none."""
    while changed != 0 and not _is_wanted(d, p, changed, lowest):
        changed = d[changed + X_GROUP]
    cursor[level + K_RECORD] = changed
    if changed == 0:
        return False
    cursor[level + K_ROW] = d[changed + X_OF]
    return True


@inlined
def slot_of_step(m: Arena, p: Plan, cursor: Cursor, step: int) -> int:
    """The slot whose group a step opens, below the tuple that its parent's step stands on."""
    source = p[step + STEP_SOURCE]
    if source < 0:
        return ROOT
    slot: int = cursor[level_of(p, source) + K_ROW] + p[step + STEP_OFFSET]
    if p[step + STEP_LINKED] == 1:
        slot = (m[slot] >> 32) & MASK32
    return slot


@helper
def _open(m: Arena, d: Delta, p: Plan, cursor: Cursor, step: int, level: int, lowest: bool) -> bool:
    """Open the group of a step and place the level on its first tuple; False if there is none."""
    slot = slot_of_step(m, p, cursor, step)
    if p[step + STEP_CHANGED] == 1:
        pending = m[slot + SLOT_PENDING]
        return pending != 0 and _settle(m, d, p, cursor, level, d[pending + X_GROUP], lowest)
    cursor[level + K_RECORD] = 0
    cursor[level + K_LEN] = m[slot + SLOT_LEN]
    cursor[level + K_INDEX] = 0
    block = m[slot + SLOT_BLOCK] & REF_MASK
    cursor[level + K_BLOCK] = block
    if m[slot + SLOT_LEN] == 0:
        return False
    cursor[level + K_ROW] = m[block]
    return True


@helper
def _next(m: Arena, d: Delta, p: Plan, cursor: Cursor, level: int, lowest: bool) -> bool:
    """Place a level on the next tuple of its group; False if there is none."""
    changed = cursor[level + K_RECORD]
    if changed != 0:
        return bool(_settle(m, d, p, cursor, level, d[changed + X_GROUP], lowest))
    index = cursor[level + K_INDEX] + 1
    cursor[level + K_INDEX] = index
    if index == cursor[level + K_LEN]:
        return False
    cursor[level + K_ROW] = m[cursor[level + K_BLOCK] + index]
    return True


@helper
def _add_pending(m: Arena, d: Delta, p: Plan, cursor: Cursor, at: int, pending: int) -> int:
    """Add a record's change to the vector at ``cursor[at]`` if the enumeration is of what will be; -1: does not fit."""
    if pending != 0 and d[D_PASS] > 0:
        return int(ring.add(cursor, p, at, d, pending + X_VALUE))
    return 0


@helper
def _multiply_own(
    m: Arena, d: Delta, p: Plan, cursor: Cursor, node: int, row: int, changed: int, at: int, spare: int
) -> int:
    """Multiply a vector by what a tuple contributes by itself and with the nodes beside N; -1: it does not fit."""
    wraps = 0
    if p[node + N_ATOM] == 1:
        ring.set_one(cursor, p, spare)
        wraps |= ring.scale(cursor, p, spare, m[row + p[node + N_VALUE]])
        if p[P_MODE] == BAG:
            if changed != 0:
                cursor[spare] = abs(d[changed + X_COUNT])
        else:
            wraps |= ring.multiply_factors(m, p, p[node + N_FACTOR_LIST], p[node + N_FACTORS], row, cursor, spare)
            wraps |= _add_pending(m, d, p, cursor, spare, changed)
        wraps |= ring.multiply(cursor, p, at, cursor, spare)
    elif p[node + N_CONNEX_CHILDREN] == 0:
        ring.copy(cursor, spare, m, row + p[node + N_VALUE], p[P_WORDS])
        wraps |= _add_pending(m, d, p, cursor, spare, m[row + p[node + N_PENDING]])
        wraps |= ring.multiply(cursor, p, at, cursor, spare)
    elif p[node + N_CONNEX_CHILDREN] < p[node + N_CHILDREN]:
        children = p[node + N_CHILD_LIST]
        for c in range(p[node + N_CHILDREN]):
            child = p[children + c]
            if p[child + N_CONNEX] == 0:
                slot = slot_of(m, p, node, child, row)
                ring.copy(cursor, spare, m, slot + SLOT_VALUE, p[P_WORDS])
                wraps |= _add_pending(m, d, p, cursor, spare, m[slot + SLOT_PENDING])
                wraps |= ring.multiply(cursor, p, at, cursor, spare)
    return wraps


@helper
def weigh_above(p: Plan, cursor: Cursor, level: int, depth: int) -> None:
    """Set a level's weight to that of the level above."""
    if depth == 0:
        ring.set_one(cursor, p, level + K_WEIGHT)
    else:
        ring.copy(cursor, level + K_WEIGHT, cursor, level_of(p, depth - 1) + K_WEIGHT, p[P_WORDS])


@helper
def weigh(m: Arena, d: Delta, p: Plan, cursor: Cursor, node: int, level: int, depth: int, spare: int) -> int:
    """Set a level's weight: that of the level above times what its tuple contributes; -1 if it does not fit."""
    weigh_above(p, cursor, level, depth)
    return _multiply_own(
        m, d, p, cursor, node, cursor[level + K_ROW], cursor[level + K_RECORD], level + K_WEIGHT, spare
    )


@helper
def _write_group(
    m: Arena,
    d: Delta,
    p: Plan,
    program: int,
    cursor: Cursor,
    level: int,
    lowest: bool,
    plain: bool,
    weights: int,
    out: Output,
    capacity: int,
    at: int,
) -> tuple[bool, int]:
    """Write the results of the rest of the last step's group; whether it is finished, and the end of the buffer."""
    last = p[program + G_STEPS] - 1
    step = p[program + G_STEP_LIST] + last * STEP
    spare = level_of(p, last + 1)
    while True:
        if plain and cursor[level + K_RECORD] == 0:
            count = min(cursor[level + K_LEN] - cursor[level + K_INDEX], capacity - at)
            block = cursor[level + K_BLOCK] + cursor[level + K_INDEX]
            write_outer(m, p, program, cursor, count, out, capacity, at)
            write_block(m, p, program, block, count, out, capacity, at)
            if weights >= 0:
                for i in range(count):
                    out[weights + at + i] = 1
            cursor[level + K_INDEX] += count
            return cursor[level + K_INDEX] == cursor[level + K_LEN], at + count
        copies = 1
        if not plain:
            m[H_OVERFLOW] |= weigh(m, d, p, cursor, p[step + STEP_NODE], level, last, spare)
            if p[P_MODE] == BAG and weights < 0:
                copies = cursor[level + K_WEIGHT] - cursor[K_COPIES]
        count = max(0, min(copies, capacity - at))  # of copies that wrapped, none
        if weights >= 0 and count == 1:
            out[weights + at] = 1 if plain else cursor[level + K_WEIGHT]
        write_outer(m, p, program, cursor, count, out, capacity, at)
        write_copies(m, p, program, cursor[level + K_ROW], count, out, capacity, at)
        if p[P_MODE] == RING and count == 1:
            for i in range(p[P_WORDS]):
                out[(p[P_HEAD] + i) * capacity + at] = cursor[level + K_WEIGHT + i]
        at += count
        if count < copies:
            cursor[K_COPIES] += count
            return False, at
        cursor[K_COPIES] = 0
        if not _next(m, d, p, cursor, level, lowest):
            return True, at


@helper
def advance(
    m: Arena,
    d: Delta,
    p: Plan,
    program: int,
    cursor: Cursor,
    plain: bool,
    weights: int,
    out: Output,
    capacity: int,
    at: int,
) -> tuple[bool, int]:
    """Enumerate until the program is finished or the buffer full.

    Args:
        m: The arena; not changed but for `H_OVERFLOW`.
        d: The delta of the current batch.
        p: The plan.
        program: Offset of the program in the plan.
        cursor: The enumeration's state, set by `start`; changed.
        plain: Every result counts once and has no annotation.
        weights: Where the buffer has a line for multiplicities, then each combination of tuples is written once; -1:
            it is written as often as it stands in the result.
        out: Words of a buffer of shape (columns, capacity), and perhaps that line.
        capacity: Results that the buffer holds.
        at: First free place in the buffer.

    Returns:
        Whether the enumeration is finished, and the first free place then.
    """
    last = p[program + G_STEPS] - 1
    steps = p[program + G_STEP_LIST]
    lowest = p[program + G_LOWEST]
    spare = level_of(p, last + 1)
    depth = cursor[K_DEPTH] - 1
    opened = depth == last
    while True:
        while not opened:
            depth += 1
            step = steps + depth * STEP
            level = level_of(p, depth)
            if not _open(m, d, p, cursor, step, level, depth == lowest):
                break
            opened = depth == last
            if not opened and not plain:
                m[H_OVERFLOW] |= weigh(m, d, p, cursor, p[step + STEP_NODE], level, depth, spare)
        if opened:
            level = level_of(p, last)
            done, at = _write_group(m, d, p, program, cursor, level, last == lowest, plain, weights, out, capacity, at)
            if not done:
                cursor[K_DEPTH] = last + 1
                return False, at
        while True:
            depth -= 1
            if depth < 0:
                return True, at
            level = level_of(p, depth)
            if _next(m, d, p, cursor, level, depth == lowest):
                if not plain:
                    node = p[steps + depth * STEP + STEP_NODE]
                    m[H_OVERFLOW] |= weigh(m, d, p, cursor, node, level, depth, spare)
                break
        opened = False
