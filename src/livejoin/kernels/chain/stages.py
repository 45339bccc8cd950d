"""One batch through a chain of binary joins: standard change propagation.

For a join V = L |><| R and changes of both sides, with products of multiplicities or annotations,

    Delta V = L |><| Delta R  +  Delta L |><| (R + Delta R)

so the changes on the right are joined with the old left side and applied, then those on the left with the new right
side. Supports change in the same way: a pair of rows counts while both are there. Every step ends or stops between two
atomic parts; where it stopped is in the header of the delta, so that it goes on there once there is more space.
"""

from __future__ import annotations

from livejoin.kernels.chain.layout import (
    A_BIT,
    A_FACTOR_LIST,
    A_FACTORS,
    A_MULTIPLICITY,
    A_OFFSETS,
    A_ROW,
    A_STORE,
    A_TABLE,
    APPLY_LEFT,
    APPLY_RIGHT,
    ENTRY_BLOCK,
    ENTRY_LEN,
    J_LEFT,
    J_RESULT,
    J_RIGHT,
    J_VALUES,
    JOIN_LEFT,
    JOIN_RIGHT,
    P_ATOM_LIST,
    P_ATOMS,
    P_STAGE_LIST,
    P_STAGES,
    ROW_PENDING,
    S_INDEX_OFFSETS,
    S_VALUE,
    S_WIDTH,
    SCRATCH,
    X_SUPPORT,
    X_VALUE,
)
from livejoin.kernels.chain.stores import apply_change, change_row, changes_of, index_entry, is_change, presence
from livejoin.kernels.jit import helper
from livejoin.kernels.join import ring
from livejoin.kernels.join.batch_delta import (
    D_BUMP,
    D_INDEX,
    D_RECORD,
    D_STAGE,
    D_STEP,
    FULL,
    X_NEXT,
    X_OF,
    record,
)
from livejoin.kernels.join.layout import (
    H_OVERFLOW,
    H_PROPAGATED,
    H_REGISTERED,
    H_STOPPED,
    H_WEIGHED,
    P_WORDS,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_WEIGHT,
)
from livejoin.kernels.join.records import record_of
from livejoin.kernels.memory.layout import REF_MASK
from livejoin.kernels.parameters import Arena, Delta, Events, Plan

DONE_STEP = 0  # what a step returns: it has ended; the arena or the delta have no space
NO_ARENA = -1
NO_DELTA = -2


@helper
def gather(m: Arena, d: Delta, size: int, p: Plan, e: Events, total: int, begin: int, end: int) -> int:
    """Turn the events of a batch into changes of the atoms' stores; D_STAGE is the atom, D_INDEX the event."""
    while d[D_STAGE] < p[P_ATOMS]:
        atom = p[p[P_ATOM_LIST] + d[D_STAGE]]
        while begin + d[D_INDEX] < end:
            event = begin + d[D_INDEX]
            if e[V_TABLE * total + event] == p[atom + A_TABLE]:
                row = record_of(m, p, p[atom + A_TABLE], e[V_ROW * total + event])
                takes_part = (e[V_MASK * total + event] >> p[atom + A_BIT]) & 1 == 1
                space = _gather_row(m, d, size, p, atom, row, e[V_WEIGHT * total + event], takes_part)
                if space != DONE_STEP:
                    return space
            d[D_INDEX] += 1
        d[D_INDEX] = 0
        d[D_STAGE] += 1
    d[D_STAGE] = 0
    begin_stage(d, p)
    return DONE_STEP


@helper
def _gather_row(m: Arena, d: Delta, size: int, p: Plan, atom: int, row: int, weight: int, takes_part: bool) -> int:
    """Change the multiplicity of a base row in an atom."""
    store = p[atom + A_STORE]
    before = m[row + p[atom + A_MULTIPLICITY]]
    if before == 0 and (weight < 0 or not takes_part):
        return DONE_STEP
    if before == 0:
        for i in range(p[store + S_WIDTH]):
            m[SCRATCH + i] = m[row + p[p[atom + A_OFFSETS] + i]]
        changed = change_row(m, d, size, p, store)
        if changed == -1:
            return NO_ARENA
    else:
        of = m[row + p[atom + A_ROW]]
        changed = record(m, d, size, p, of + ROW_PENDING, of, changes_of(p, store))
    if changed == FULL:
        return NO_DELTA
    after = before + weight
    m[row + p[atom + A_MULTIPLICITY]] = after
    m[row + p[atom + A_ROW]] = d[changed + X_OF] if after > 0 else 0
    spare = d[D_BUMP]
    ring.set_one(d, p, spare)
    wraps = ring.scale(d, p, spare, weight)
    wraps |= ring.multiply_factors(m, p, p[atom + A_FACTOR_LIST], p[atom + A_FACTORS], row, d, spare)
    m[H_OVERFLOW] |= wraps | ring.add(d, p, changed + X_VALUE, d, spare)
    if before == 0:
        d[changed + X_SUPPORT] += 1
        m[H_REGISTERED] += 1
    elif after == 0:
        d[changed + X_SUPPORT] -= 1
        m[H_REGISTERED] -= 1
    else:
        m[H_WEIGHED] += 1
    return DONE_STEP


@helper
def join(m: Arena, d: Delta, size: int, p: Plan, stage: int, from_right: bool) -> int:
    """Join the changes of one side with the rows of the other side."""
    changing = p[stage + J_RIGHT] if from_right else p[stage + J_LEFT]
    other = p[stage + J_LEFT] if from_right else p[stage + J_RIGHT]
    while d[D_RECORD] != 0:
        changed = d[D_RECORD]
        if is_change(m, d, p, changed):
            row = d[changed + X_OF]
            entry = index_entry(m, p, other, row, p[changing + S_INDEX_OFFSETS])
            if d[D_INDEX] == 0:
                m[H_PROPAGATED] += 1
                m[H_STOPPED] += 1 if entry == 0 else 0
            if entry != 0:
                block = m[entry + ENTRY_BLOCK] & REF_MASK
                while d[D_INDEX] < m[entry + ENTRY_LEN]:
                    space = _pair(m, d, size, p, stage, other, changed, m[block + d[D_INDEX]], from_right)
                    if space != DONE_STEP:
                        return space
                    d[D_INDEX] += 1
                d[D_INDEX] = 0
        d[D_RECORD] = d[changed + X_NEXT]
    return DONE_STEP


@helper
def _pair(
    m: Arena, d: Delta, size: int, p: Plan, stage: int, other: int, changed: int, row: int, from_right: bool
) -> int:
    """Add what a change and a row of the other side make to the change of the result."""
    result = p[stage + J_RESULT]
    values = p[stage + J_VALUES]
    for i in range(p[result + S_WIDTH]):
        on_right = p[values + 2 * i] == 1
        source = d[changed + X_OF] if on_right == from_right else row
        m[SCRATCH + i] = m[source + p[values + 2 * i + 1]]
    target = change_row(m, d, size, p, result)
    if target == -1:
        return NO_ARENA
    if target == FULL:
        return NO_DELTA
    spare = d[D_BUMP]
    ring.copy(d, spare, d, changed + X_VALUE, p[P_WORDS])
    wraps = ring.multiply(d, p, spare, m, row + p[other + S_VALUE])
    m[H_OVERFLOW] |= wraps | ring.add(d, p, target + X_VALUE, d, spare)
    d[target + X_SUPPORT] += presence(m, d, changed)
    return DONE_STEP


@helper
def apply_changes(m: Arena, d: Delta, p: Plan, store: int) -> int:
    """Bring the changes of a store into it."""
    while d[D_RECORD] != 0:
        changed = d[D_RECORD]
        following = d[changed + X_NEXT]
        if not apply_change(m, d, p, store, changed):
            return NO_ARENA
        d[D_RECORD] = following
    return DONE_STEP


@helper
def _begin(d: Delta, p: Plan, step: int, store: int) -> None:
    """Begin a step over the changes of a store."""
    d[D_STEP] = step
    d[D_RECORD] = d[changes_of(p, store)]


@helper
def begin_stage(d: Delta, p: Plan) -> None:
    """Begin the stage that D_STAGE says, if there is one."""
    if d[D_STAGE] < p[P_STAGES]:
        _begin(d, p, JOIN_RIGHT, p[p[p[P_STAGE_LIST] + d[D_STAGE]] + J_RIGHT])


@helper
def run_stages(m: Arena, d: Delta, size: int, p: Plan) -> int:
    """Propagate the changes of the atoms through all joins, up to the changes of the result."""
    while d[D_STAGE] < p[P_STAGES]:
        stage = p[p[P_STAGE_LIST] + d[D_STAGE]]
        left = p[stage + J_LEFT]
        right = p[stage + J_RIGHT]
        if d[D_STEP] == JOIN_RIGHT:
            space = join(m, d, size, p, stage, True)
            if space != DONE_STEP:
                return space
            _begin(d, p, APPLY_RIGHT, right)
        if d[D_STEP] == APPLY_RIGHT:
            space = apply_changes(m, d, p, right)
            if space != DONE_STEP:
                return space
            _begin(d, p, JOIN_LEFT, left)
        if d[D_STEP] == JOIN_LEFT:
            space = join(m, d, size, p, stage, False)
            if space != DONE_STEP:
                return space
            _begin(d, p, APPLY_LEFT, left)
        space = apply_changes(m, d, p, left)
        if space != DONE_STEP:
            return space
        d[D_STAGE] += 1
        begin_stage(d, p)
    return DONE_STEP
