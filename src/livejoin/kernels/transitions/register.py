"""Rows of dynamic tables become cells: how often the part of a row that matters is there, for an instance.

A row looks its key up once, when it comes. Without a key it does not matter, and has no cell. A cell that a version
touches keeps what it was before, and what is there no more is forgotten when the version ends.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.layout import (
    H_ATOM,
    H_DUPLICATES,
    H_EVENT,
    H_PROBES,
    H_REGISTERED,
    P_FIRST_TABLE,
    PLAN_TABLE,
    PT_ATOM_LIST,
    PT_ATOMS,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_WEIGHT,
)
from livejoin.kernels.join.records import record_of
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.directory import find, find_or_create, hash_key, remove
from livejoin.kernels.memory.layout import D_COUNT, DONE, NEED_SPACE
from livejoin.kernels.parameters import Addresses, ArenaArray, Line, Matrix, Plan
from livejoin.kernels.transitions.buffers import TransitionBuffers, opened
from livejoin.kernels.transitions.layout import (
    A_BIT,
    A_KEYS,
    A_OWN,
    A_PLACES,
    A_SHARED,
    A_WIDTH,
    C_BEFORE,
    C_KEY,
    C_MARK,
    C_TIMES,
    CELL,
    F_INSTANCE,
    FOUND,
    H_CELLS,
    H_INSTANCES,
    I_CELLS,
    I_HEAD,
    I_KEY,
    I_MARK,
    K_ID,
    K_KEY,
    P_CELLS,
    P_HUB,
    P_HUB_BIT,
    P_HUB_OWN,
    P_IDENTITY,
    P_INSTANCES,
    P_SHARED,
    R_CELL,
    R_TIMES,
    SCRATCH,
    TOUCHED,
    U_CELL,
    U_NEXT,
)


@kernel
def enter_keys(state: Addresses, atom: int, values: Matrix, first: int) -> int:
    """Number the keys of a dynamic atom.

    Args:
        state: The state; its live arena is changed.
        atom: Offset of the atom in the plan.
        values: int64 of shape (variables, keys): the keys, each once.
        first: The number of the first one.

    Returns:
        DONE, or NEED_SPACE (call again after growing).
    """
    s = opened(state)
    m, p = s.live, s.plan
    width = p[atom + A_WIDTH]
    for i in range(values.shape[1]):
        for j in range(width):
            m[SCRATCH + j] = values[j, i]
        entry = find_or_create(m, p, p[atom + A_KEYS], K_KEY + width, K_KEY, SCRATCH, width, p[P_IDENTITY])
        if entry == 0:
            return NEED_SPACE
        m[entry + K_ID] = first + i
    return DONE


@helper
def _cell_of(s: TransitionBuffers, atom: int, record: int) -> int:
    """The cell of a row, made if there is none; 0 if the row does not matter, -1 if there is no space."""
    r, m, p = s.records, s.live, s.plan
    width = p[atom + A_WIDTH]
    places = p[atom + A_PLACES]
    identity = p[P_IDENTITY]
    for i in range(width):
        m[SCRATCH + i] = r[record + p[places + i]]
    m[H_PROBES] += 1
    h = hash_key(m, p, SCRATCH, width, identity)
    key = find(m, p, p[atom + A_KEYS], K_KEY, SCRATCH, width, identity, h)
    if key == 0:
        return 0
    shared = p[P_SHARED]
    places = p[atom + A_SHARED]
    for i in range(shared):
        m[SCRATCH + i] = r[record + p[places + i]]
    instance = find_or_create(m, p, p[P_INSTANCES], I_KEY + shared, I_KEY, SCRATCH, shared, identity)
    if instance == 0:
        return -1
    m[SCRATCH] = instance
    m[SCRATCH + 1] = m[key + K_ID]
    cells = p[P_CELLS]
    before = m[cells + D_COUNT]
    cell = find_or_create(m, p, cells, CELL, C_KEY, SCRATCH, 2, identity)
    if cell == 0:
        return -1
    m[instance + I_CELLS] += m[cells + D_COUNT] - before
    return int(cell)


@helper
def _touch(s: TransitionBuffers, cell: int, weight: int) -> None:
    """Change how often the row of a cell is there; the first change in a version notes how often it was."""
    m, touched, found = s.live, s.touched, s.found
    if m[cell + C_MARK] == 0:
        m[cell + C_MARK] = 1
        m[cell + C_BEFORE] = m[cell + C_TIMES]
        instance = m[cell + C_KEY]
        if m[instance + I_MARK] == 0:
            found[m[H_INSTANCES] * FOUND + F_INSTANCE] = instance
            m[H_INSTANCES] += 1
            m[instance + I_MARK] = m[H_INSTANCES]
            m[instance + I_HEAD] = 0
        place = m[H_CELLS]
        touched[place * TOUCHED + U_CELL] = cell
        touched[place * TOUCHED + U_NEXT] = m[instance + I_HEAD]
        m[H_CELLS] = place + 1
        m[instance + I_HEAD] = place + 1
    m[cell + C_TIMES] += weight


@helper
def apply_event(s: TransitionBuffers, atom: int, record: int, weight: int, mask: int) -> bool:
    """Apply a change of a row to a dynamic atom; False if there is no space, and nothing is changed."""
    r, p = s.records, s.plan
    own = record + p[atom + A_OWN]
    before = r[own + R_TIMES]
    if before == 0:
        if weight <= 0 or (mask >> p[atom + A_BIT]) & 1 == 0:
            return True
        cell = _cell_of(s, atom, record)
        if cell < 0:
            return False
        r[own + R_CELL] = cell
        r[H_REGISTERED] += 1
    elif before + weight == 0:
        r[H_REGISTERED] -= 1
    r[own + R_TIMES] = before + weight
    cell = r[own + R_CELL]
    if cell != 0:
        _touch(s, cell, weight)
    return True


@kernel
def note(records: ArenaArray, plan: Plan, events: Matrix) -> int:
    """Note how often rows are there, of static and dynamic tables, and nothing else.

    Args:
        records: The arena of the records; changed.
        plan: The plan.
        events: int64 of shape (EVENT_FIELDS, n).

    Returns:
        By how many more rows are there in some atom.
    """
    r = words(records)
    p = words(plan)
    more = 0
    for event in range(events.shape[1]):
        table = events[V_TABLE, event]
        record = record_of(r, p, table, events[V_ROW, event])
        descriptor = p[P_FIRST_TABLE] + table * PLAN_TABLE
        hub = 1 if table == p[P_HUB] else 0
        for place in range(p[descriptor + PT_ATOMS] + hub):
            if hub == 1:
                own = record + p[P_HUB_OWN] + R_TIMES
                bit = p[P_HUB_BIT]
            else:
                atom = p[p[descriptor + PT_ATOM_LIST] + place]
                own = record + p[atom + A_OWN] + R_TIMES
                bit = p[atom + A_BIT]
            before = r[own]
            if before == 0 and (events[V_WEIGHT, event] <= 0 or (events[V_MASK, event] >> bit) & 1 == 0):
                continue
            r[own] = before + events[V_WEIGHT, event]
            more += (1 if r[own] > 0 else 0) - (1 if before > 0 else 0)
    return more


@kernel
def register(state: Addresses, table: int, rows: Line) -> int:
    """Make the cells of rows that are noted, in a live arena that has none of them.

    Args:
        state: The state; changed. H_EVENT and H_ATOM are where an interrupted call stands, 0 to begin.
        table: Position of the table.
        rows: int64 row ids.

    Returns:
        DONE, or NEED_SPACE (call again after growing).
    """
    s = opened(state)
    r, m, p = s.records, s.live, s.plan
    descriptor = p[P_FIRST_TABLE] + table * PLAN_TABLE
    while m[H_EVENT] < rows.shape[0]:
        record = record_of(r, p, table, rows[m[H_EVENT]])
        while m[H_ATOM] < p[descriptor + PT_ATOMS]:
            atom = p[p[descriptor + PT_ATOM_LIST] + m[H_ATOM]]
            own = record + p[atom + A_OWN]
            if r[own + R_TIMES] > 0:
                cell = _cell_of(s, atom, record)
                if cell < 0:
                    return NEED_SPACE
                r[own + R_CELL] = cell
                if cell != 0:
                    _touch(s, cell, r[own + R_TIMES])
            m[H_ATOM] += 1
        m[H_ATOM] = 0
        m[H_EVENT] += 1
    m[H_EVENT] = 0
    return DONE


@helper
def end_version(s: TransitionBuffers) -> None:
    """Forget what was before a version, and what is there no more."""
    m, p, touched, found = s.live, s.plan, s.touched, s.found
    for place in range(m[H_CELLS]):
        cell = touched[place * TOUCHED + U_CELL]
        times = m[cell + C_TIMES]
        m[H_DUPLICATES] += (1 if times > 1 else 0) - (1 if m[cell + C_BEFORE] > 1 else 0)
        m[cell + C_MARK] = 0
        if times == 0:
            m[m[cell + C_KEY] + I_CELLS] -= 1
            remove(m, p[P_CELLS], cell, C_KEY, 2)
    for place in range(m[H_INSTANCES]):
        instance = found[place * FOUND + F_INSTANCE]
        m[instance + I_MARK] = 0
        if m[instance + I_CELLS] == 0:
            remove(m, p[P_INSTANCES], instance, I_KEY, p[P_SHARED])
    m[H_CELLS] = 0
    m[H_INSTANCES] = 0
