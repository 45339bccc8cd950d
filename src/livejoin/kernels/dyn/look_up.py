"""The multiplicity of a given tuple of the result, or its annotation (DYN, Proposition 4.18).

The tuple's values determine the tuple of every node of N: that of a hyperedge is found by all its values, that of an
atom in the group of its key. If all are live, their product is that of `livejoin.kernels.dyn.odometer`.
"""

from __future__ import annotations

from livejoin.kernels.dyn.layout import (
    G_STEP_LIST,
    G_STEPS,
    K_LEN,
    K_RECORD,
    K_ROW,
    K_WEIGHT,
    N_ATOM,
    N_ROWS_DIRECTORY,
    N_ROWS_KEY,
    N_UP,
    N_VALUE,
    N_VALUE_LIST,
    N_VARIABLE_LIST,
    N_VARIABLES,
    P_OUTPUT,
    P_SCRATCH,
    SLOT_BLOCK,
    SLOT_LEN,
    STEP,
    STEP_NODE,
)
from livejoin.kernels.dyn.odometer import slot_of_step, weigh, weigh_above
from livejoin.kernels.dyn.output import level_of
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join import ring
from livejoin.kernels.join.layout import BAG, H_OVERFLOW, H_PROBES, P_FULL, P_MODE, P_WORDS, SET
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.directory import find, hash_key
from livejoin.kernels.memory.layout import REF_MASK
from livejoin.kernels.parameters import Arena, ArenaArray, Cursor, Line, Matrix, Plan


@helper
def _find_tuple(m: Arena, p: Plan, cursor: Cursor, step: int, level: int) -> bool:
    """Place a level on the node's tuple with the values looked up; False if it is not live."""
    node = p[step + STEP_NODE]
    variables = p[node + N_VARIABLE_LIST]
    width = p[node + N_VARIABLES]
    cursor[level + K_RECORD] = 0
    if p[node + N_ATOM] == 0:
        h = hash_key(m, p, p[P_SCRATCH], width, variables)
        directory = p[node + N_ROWS_DIRECTORY]
        m[H_PROBES] += 1
        row = find(m, p, directory, p[node + N_ROWS_KEY], p[P_SCRATCH], width, variables, h)
        cursor[level + K_ROW] = row
        return bool(row != 0 and m[row + p[node + N_UP]] != 0)
    slot = slot_of_step(m, p, cursor, step)
    block = m[slot + SLOT_BLOCK] & REF_MASK
    cursor[level + K_LEN] = 0
    for i in range(m[slot + SLOT_LEN]):
        row = m[block + i]
        same = True
        for k in range(width):
            if m[row + p[p[node + N_VALUE_LIST] + k]] != m[p[P_SCRATCH] + p[variables + k]]:
                same = False
                break
        if same:
            cursor[level + K_ROW] = row
            cursor[level + K_LEN] += m[row + p[node + N_VALUE]]
    return bool(cursor[level + K_LEN] > 0)


@helper
def _look_up(m: Arena, p: Plan, cursor: Cursor) -> bool:
    """Weigh the tuple whose values lie in the arena; False if it is not in the result."""
    count = p[p[P_FULL] + G_STEPS]
    spare = level_of(p, count)
    for depth in range(count):
        step = p[p[P_FULL] + G_STEP_LIST] + depth * STEP
        level = level_of(p, depth)
        if not _find_tuple(m, p, cursor, step, level):
            return False
        node = p[step + STEP_NODE]
        if p[node + N_ATOM] == 1 and p[P_MODE] == BAG:
            weigh_above(p, cursor, level, depth)
            wraps = ring.scale(cursor, p, level + K_WEIGHT, cursor[level + K_LEN])
        else:
            wraps = weigh(m, m, p, cursor, node, level, depth, spare)
        if p[P_MODE] != SET:
            m[H_OVERFLOW] |= wraps
    return True


@kernel
def look_up(arena: ArenaArray, plan: Plan, cursor_words: Cursor, values: Matrix, found: Line) -> None:
    """Look tuples of the result up.

    Args:
        arena: The arena; only scratch words and counters change.
        plan: The plan.
        cursor_words: int64, a cursor of an enumeration.
        values: int64 of shape (variables of N, n), in the order of the plan.
        found: int64 of shape (words of a multiplicity or annotation, n), written: zeros where there is no such tuple.
            Of distinct results it is 1 where there is one. Where H_OVERFLOW is not 0, one does not fit.
    """
    m = words(arena)
    p = words(plan)
    cursor = words(cursor_words)
    last = level_of(p, p[p[P_FULL] + G_STEPS] - 1)
    m[H_OVERFLOW] = 0
    for i in range(values.shape[1]):
        for k in range(p[P_OUTPUT]):
            m[p[P_SCRATCH] + k] = values[k, i]
        there = _look_up(m, p, cursor)
        for k in range(p[P_WORDS]):
            found[k, i] = 0
            if there:
                found[k, i] = 1 if p[P_MODE] == SET else cursor[last + K_WEIGHT + k]
