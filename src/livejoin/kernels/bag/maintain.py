"""The join inside a bag under changes of single rows: change propagation (see `bag_program`).

Law: after every event, the results written so far add up to the join of the relations, projected to the attributes that
the bag keeps. One table may stand behind several relations: they change one after the other. Relations that share a
store tell the changed tuple's multiplicity before and after by whether their turn was before that of the changed one.
"""

from __future__ import annotations

from livejoin.kernels.bag.generic_join import begin, run
from livejoin.kernels.bag.heavy_pairs import change_views, grown, has_room
from livejoin.kernels.bag.index import link_tuple, locate_tuple, prepare_tuple, unlink_tuple
from livejoin.kernels.bag.layout import (
    BAG_RELATION,
    H_DEPTH,
    H_ENTRY,
    H_MET,
    H_NEW,
    H_OLD,
    H_OVERFLOW,
    H_STORE,
    H_SUM,
    O_VERSION,
    O_WEIGHT,
    P_COLUMNS,
    P_PAIRS,
    RL_ORBIT,
    RL_PROGRAM,
    RL_SUPPORT,
    S_BIT,
    S_REF,
    S_RELATION_LIST,
    S_RELATIONS,
    X_SUPPORT,
)
from livejoin.kernels.bag.triangle import count_pair
from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.join.layout import (
    FRESH,
    H_ATOM,
    H_EVENT,
    H_OUT,
    H_PHASE,
    H_REGISTERED,
    H_VERSION,
    P_FIRST_TABLE,
    PLAN_TABLE,
    PT_ATOM_LIST,
    PT_ATOMS,
    PT_STRIDE,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_VERSION,
    V_WEIGHT,
)
from livejoin.kernels.join.records import record_of
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import DONE, MAX_MULTIPLICITY, NEED_SPACE, OUTPUT_FULL, TOO_LARGE
from livejoin.kernels.parameters import Arena, ArenaArray, Matrix, Output, Plan


@inlined
def _delta(m: Arena, p: Plan, relation: int) -> int:
    """What a relation gains of the changed tuple."""
    if p[relation + RL_SUPPORT] == 1:
        return (1 if m[H_NEW] > 0 else 0) - (1 if m[H_OLD] > 0 else 0)
    return m[H_NEW] - m[H_OLD]  # type: ignore[no-any-return]


@helper
def _count(m: Arena, p: Plan, store: int, out: Output, capacity: int) -> bool:
    """Join the changed tuple where the bag keeps nothing: only the sum is written; False if the output buffer is full.

    As many results have the tuple at each relation of an orbit, unless they have it at two.
    """
    if m[H_OUT] == capacity:
        return False
    m[H_SUM] = 0
    number = 0
    while number < p[store + S_RELATIONS]:
        relation = p[store + S_RELATION_LIST] + number * BAG_RELATION
        delta = _delta(m, p, relation)
        before = m[H_SUM]
        m[H_MET] = 0
        program = p[relation + RL_PROGRAM]
        if delta != 0 and begin(m, p, program, delta) and not count_pair(m, p, program):
            run(m, p, program, out, capacity)
        number += 1
        if m[H_MET] == 0:
            others = p[relation + RL_ORBIT] - 1
            m[H_SUM] += others * (m[H_SUM] - before)
            number += others
    if m[H_SUM] != 0:
        at = m[H_OUT]
        out[O_WEIGHT * capacity + at] = m[H_SUM]
        out[O_VERSION * capacity + at] = m[H_VERSION]
        m[H_OUT] = at + 1
    m[H_PHASE] = FRESH
    return True


@helper
def _join(m: Arena, p: Plan, store: int, out: Output, capacity: int) -> bool:
    """Join the changed tuple as each relation of its store in turn; False if the output buffer is full."""
    number = m[H_PHASE] - 1
    while number < p[store + S_RELATIONS]:
        relation = p[store + S_RELATION_LIST] + number * BAG_RELATION
        delta = _delta(m, p, relation)
        going = delta != 0
        if going and m[H_DEPTH] < 0:
            going = begin(m, p, p[relation + RL_PROGRAM], delta)
        if going and not run(m, p, p[relation + RL_PROGRAM], out, capacity):
            m[H_PHASE] = number + 1
            return False
        m[H_DEPTH] = -1
        number += 1
    m[H_PHASE] = FRESH
    return True


@helper
def _find_tuple(m: Arena, p: Plan, store: int, record: int, weight: int, mask: int) -> bool:
    """Begin a change of a store: its tuple is in all indexes from now on; False if there is no space.

    H_ENTRY is 0 if the row does not take part.
    """
    entry = m[record + p[store + S_REF]]
    if entry == 0 and weight > 0 and (mask >> p[store + S_BIT]) & 1:
        entry = prepare_tuple(m, p, store, record)
        if entry == 0 or not has_room(m, p):
            return False
        if m[entry + X_SUPPORT] == 0:
            link_tuple(m, p, store)
            m[H_REGISTERED] += 1
        else:
            locate_tuple(m, p, store, entry)
    elif entry != 0:
        if not has_room(m, p):
            return False
        locate_tuple(m, p, store, entry)
    m[H_ENTRY] = entry
    m[H_STORE] = store
    if entry != 0:
        m[H_OLD] = m[entry + X_SUPPORT]
        m[H_NEW] = m[H_OLD] + weight
        m[H_DEPTH] = -1
        m[H_PHASE] = 1
    return True


@kernel
def maintain(arena: ArenaArray, plan: Plan, events: Matrix, output: Output) -> int:
    """Apply events to a bag in order, writing what its join gains and loses.

    Args:
        arena: The bag's arena; changed. The cursor of an interrupted call is in its header.
        plan: The bag's plan; see `livejoin.kernels.bag.layout`.
        events: int64 of shape (EVENT_FIELDS, n), as for `livejoin.kernels.crown.maintain`; the records are loaded.
        output: int64 of shape (columns + OUTPUT_FIELDS, capacity): the attributes that the bag keeps, then the change
            of their multiplicity and its version. Equal rows may stand several times.

    Returns:
        DONE; NEED_SPACE: grow the arena and call again; OUTPUT_FULL: call again. In each case the output's first
        ``H_OUT`` rows are to be taken. TOO_LARGE: a multiplicity does not fit; the state is of no use any more.
        A caller starts with H_EVENT, H_ATOM, H_PHASE at 0.
    """
    m = words(arena)
    p = words(plan)
    out = words(output)
    capacity = output.shape[1]
    m[H_OUT] = 0
    event = m[H_EVENT]
    while event < events.shape[1]:
        table = p[P_FIRST_TABLE] + events[V_TABLE, event] * PLAN_TABLE
        record = record_of(m, p, events[V_TABLE, event], events[V_ROW, event])
        times = record + p[table + PT_STRIDE] - 1
        weight = events[V_WEIGHT, event]
        m[H_VERSION] = events[V_VERSION, event]
        place = m[H_ATOM]
        while place < p[table + PT_ATOMS]:
            store = p[p[table + PT_ATOM_LIST] + place]
            if m[H_PHASE] == FRESH and not _find_tuple(m, p, store, record, weight, events[V_MASK, event]):
                m[H_EVENT] = event
                m[H_ATOM] = place
                return NEED_SPACE
            if m[H_PHASE] != FRESH:
                joined = _count(m, p, store, out, capacity) if p[P_COLUMNS] == 0 else _join(m, p, store, out, capacity)
                if not joined:
                    m[H_EVENT] = event
                    m[H_ATOM] = place
                    return OUTPUT_FULL
                entry = m[H_ENTRY]
                if p[P_PAIRS] > 0:
                    change_views(m, p, store)
                m[entry + X_SUPPORT] = m[H_NEW]
                if p[P_PAIRS] > 0 and m[H_OLD] == 0:
                    grown(m, p, store)
                m[record + p[store + S_REF]] = 0 if m[times] + weight == 0 else entry
                if m[H_NEW] == 0:
                    unlink_tuple(m, p, store)
                    m[H_REGISTERED] -= 1
                if m[H_OVERFLOW] == 1 or m[H_NEW] > MAX_MULTIPLICITY:
                    return TOO_LARGE
            place += 1
        m[times] += weight
        m[H_ATOM] = 0
        event += 1
    m[H_EVENT] = 0
    return DONE
