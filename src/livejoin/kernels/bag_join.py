"""The join inside a bag under changes of single rows: change propagation, worst-case optimal, nothing kept on the way.

A changed tuple t of one relation R gives the results ``t |><| (the other relations)``, each with the product of the
multiplicities. Attributes are bound one after the other; the relations that have the next attribute are its
*participants*. The one whose block of values is shortest is iterated over, the others are asked whether they have the
value (generic join: Ngo, Re, Rudra, Skew strikes back, SIGMOD Record 42(4), 2013). So a change costs O(N^x), where x is
the fractional edge cover number of the bag's other attributes.

Law: after every event, the results written so far add up to the join of the relations, projected to the attributes that
the bag keeps. One table may stand behind several relations: they change one after the other. Relations that share a
store tell the changed tuple's multiplicity before and after by whether their turn was before that of R.
"""

from __future__ import annotations

from typing import Any

from livejoin.kernels.arena import words
from livejoin.kernels.bag_index import link_tuple, prepare_tuple, unlink_tuple
from livejoin.kernels.bag_layout import (
    A_BEFORE,
    A_BLOCK,
    A_BOUND,
    A_BOUND_LIST,
    A_DIRECTORY,
    A_FROM,
    A_KEY,
    A_OFFSETS,
    A_SLOT,
    A_WEIGHS,
    A_WIDTH,
    B_BINDINGS,
    B_COLUMNS,
    B_FRAMES,
    B_SLOTS,
    BAG_FRAME,
    F_BLOCK,
    F_CHOICE,
    F_INDEX,
    F_LEN,
    F_WEIGHT,
    G_KEPT,
    G_LAST,
    G_PROBE_LIST,
    G_PROBES,
    G_START,
    G_START_LIST,
    G_STEP_LIST,
    G_STEPS,
    J_DEPTH,
    J_ENTRY,
    J_FRESH,
    J_NEW,
    J_OLD,
    J_OVERFLOW,
    MAX_MULTIPLICITY,
    NOTHING,
    O_VERSION,
    O_WEIGHT,
    PARTICIPANT,
    S_BIT,
    S_REF,
    S_RELATION_LIST,
    S_RELATIONS,
    SUPPORT,
    TOO_LARGE,
    X_SUPPORT,
)
from livejoin.kernels.directory import find, hash_key
from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.layout import (
    DONE,
    FRESH,
    H_ATOM,
    H_EVENT,
    H_OUT,
    H_PHASE,
    H_PROBES,
    H_REGISTERED,
    H_VERSION,
    NEED_SPACE,
    OUTPUT_FULL,
    P_FIRST_TABLE,
    PLAN_TABLE,
    PT_ATOM_LIST,
    PT_ATOMS,
    PT_STRIDE,
    REF_MASK,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_VERSION,
    V_WEIGHT,
)
from livejoin.kernels.records import record_of


@helper
def _times(m: Any, p: Any, one: int, entry: int, weight: int) -> int:
    """A weight times what an entry contributes."""
    factor = m[entry + X_SUPPORT]
    if entry == m[J_ENTRY]:
        factor = m[J_NEW] if p[one + A_BEFORE] == 1 else m[J_OLD]
    if p[one + A_WEIGHS] == SUPPORT:
        return weight if factor > 0 else 0
    if factor != 1 and abs(float(weight) * float(factor)) > MAX_MULTIPLICITY:
        m[J_OVERFLOW] = 1
    return weight * factor  # type: ignore[no-any-return]


@inlined
def _probe(m: Any, p: Any, one: int) -> int:
    """The entry of a participant's node under the bindings, 0 if there is none."""
    width, offsets, bindings = p[one + A_WIDTH], p[one + A_OFFSETS], p[B_BINDINGS]
    h = hash_key(m, p, bindings, width, offsets)
    m[H_PROBES] += 1
    return find(m, p, p[one + A_DIRECTORY], p[one + A_KEY], bindings, width, offsets, h)


@helper
def _begin(m: Any, p: Any, program: int, delta: int) -> bool:
    """Bind the changed tuple and look the other relations up; False if one of them has nothing to join."""
    m[J_FRESH] = 1
    m[J_DEPTH] = 0
    entry = m[J_ENTRY]
    start = p[program + G_START_LIST]
    for i in range(p[program + G_START]):
        m[p[B_BINDINGS] + p[start + 2 * i + 1]] = m[entry + p[start + 2 * i]]
    weight = delta
    for i in range(p[program + G_PROBES]):
        one = p[program + G_PROBE_LIST] + i * PARTICIPANT
        found = _probe(m, p, one)
        if found == 0:
            return False
        m[p[B_SLOTS] + p[one + A_SLOT]] = found
        if p[one + A_WEIGHS] != NOTHING:
            weight = _times(m, p, one, found, weight)
            if weight == 0:
                return False
    m[p[B_FRAMES] + F_WEIGHT] = weight
    return True


@helper
def _open(m: Any, p: Any, program: int, depth: int) -> None:
    """Begin a step: choose the participant with the shortest block."""
    step = p[program + G_STEP_LIST] + 2 * (depth - 1)
    frame = p[B_FRAMES] + depth * BAG_FRAME
    shortest = -1
    for i in range(p[step]):
        one = p[step + 1] + i * PARTICIPANT
        at = m[p[B_SLOTS] + p[one + A_FROM]] + p[one + A_BLOCK]
        if shortest < 0 or m[at] < shortest:
            shortest = m[at]
            m[frame + F_CHOICE] = one
            m[frame + F_BLOCK] = m[at + 1] & REF_MASK
    m[frame + F_LEN] = shortest
    m[frame + F_INDEX] = 0


@helper
def _advance(m: Any, p: Any, program: int, depth: int) -> bool:
    """The next value of a step that all participants have; False at the end."""
    step = p[program + G_STEP_LIST] + 2 * (depth - 1)
    frame = p[B_FRAMES] + depth * BAG_FRAME
    chosen = m[frame + F_CHOICE]
    above = m[frame - BAG_FRAME + F_WEIGHT]
    block = m[frame + F_BLOCK]
    bound = p[chosen + A_BOUND_LIST]
    for index in range(m[frame + F_INDEX], m[frame + F_LEN]):
        entry = m[block + index]
        for i in range(p[chosen + A_BOUND]):
            m[p[B_BINDINGS] + p[bound + 2 * i + 1]] = m[entry + p[bound + 2 * i]]
        m[p[B_SLOTS] + p[chosen + A_SLOT]] = entry
        weight = above
        if p[chosen + A_WEIGHS] != NOTHING:
            weight = _times(m, p, chosen, entry, weight)
        for i in range(p[step]):
            one = p[step + 1] + i * PARTICIPANT
            if one != chosen and weight != 0:
                found = _probe(m, p, one)
                m[p[B_SLOTS] + p[one + A_SLOT]] = found
                if found == 0:
                    weight = 0
                elif p[one + A_WEIGHS] != NOTHING:
                    weight = _times(m, p, one, found, weight)
        if weight != 0:
            m[frame + F_WEIGHT] = weight
            m[frame + F_INDEX] = index + 1
            return True
    return False


@inlined
def _emit(m: Any, p: Any, program: int, weight: int, out: Any, capacity: int) -> None:
    """Write a result, or add it to the one written last if both agree in what the bag keeps."""
    columns = p[B_COLUMNS]
    if m[J_FRESH] == 0 and m[H_OUT] > 0:
        at = (columns + O_WEIGHT) * capacity + m[H_OUT] - 1
        out[at] += weight
        if abs(out[at]) > MAX_MULTIPLICITY:
            m[J_OVERFLOW] = 1
        return
    at = m[H_OUT]
    for c in range(columns):
        out[c * capacity + at] = m[p[B_BINDINGS] + p[p[program + G_KEPT] + c]]
    out[(columns + O_WEIGHT) * capacity + at] = weight
    out[(columns + O_VERSION) * capacity + at] = m[H_VERSION]
    m[H_OUT] = at + 1
    m[J_FRESH] = 0


@helper
def _run(m: Any, p: Any, program: int, out: Any, capacity: int) -> bool:
    """Write all results of a program that has begun; False if the output buffer is full."""
    steps = p[program + G_STEPS]
    depth = m[J_DEPTH]
    if steps == 0:
        if m[H_OUT] == capacity:
            return False
        _emit(m, p, program, m[p[B_FRAMES] + F_WEIGHT], out, capacity)
        return True
    if depth == 0:
        depth = 1
        _open(m, p, program, depth)
    while depth > 0:
        if depth == steps and m[H_OUT] == capacity:
            m[J_DEPTH] = depth
            return False
        if not _advance(m, p, program, depth):
            depth -= 1
            continue
        if depth <= p[program + G_LAST]:
            m[J_FRESH] = 1
        if depth == steps:
            _emit(m, p, program, m[p[B_FRAMES] + depth * BAG_FRAME + F_WEIGHT], out, capacity)
        else:
            depth += 1
            _open(m, p, program, depth)
    return True


@helper
def _join(m: Any, p: Any, store: int, out: Any, capacity: int) -> bool:
    """Join the changed tuple as each relation of its store in turn; False if the output buffer is full."""
    relation = m[H_PHASE] - 1
    while relation < p[store + S_RELATIONS]:
        program = p[p[store + S_RELATION_LIST] + 2 * relation]
        delta = m[J_NEW] - m[J_OLD]
        if p[p[store + S_RELATION_LIST] + 2 * relation + 1] == 1:
            delta = (1 if m[J_NEW] > 0 else 0) - (1 if m[J_OLD] > 0 else 0)
        going = delta != 0
        if going and m[J_DEPTH] < 0:
            going = _begin(m, p, program, delta)
        if going and not _run(m, p, program, out, capacity):
            m[H_PHASE] = relation + 1
            return False
        m[J_DEPTH] = -1
        relation += 1
    m[H_PHASE] = FRESH
    return True


@helper
def _find_tuple(m: Any, p: Any, store: int, record: int, weight: int, mask: int) -> bool:
    """Begin a change of a store: its tuple is in all indexes from now on; False if there is no space.

    J_ENTRY is 0 if the row does not take part.
    """
    entry = m[record + p[store + S_REF]]
    if entry == 0 and weight > 0 and (mask >> p[store + S_BIT]) & 1:
        entry = prepare_tuple(m, p, store, record)
        if entry == 0:
            return False
        if m[entry + X_SUPPORT] == 0:
            link_tuple(m, p, store)
            m[H_REGISTERED] += 1
    m[J_ENTRY] = entry
    if entry != 0:
        m[J_OLD] = m[entry + X_SUPPORT]
        m[J_NEW] = m[J_OLD] + weight
        m[J_DEPTH] = -1
        m[H_PHASE] = 1
    return True


@kernel
def maintain(arena: Any, plan: Any, events: Any, output: Any) -> int:
    """Apply events to a bag in order, writing what its join gains and loses.

    Args:
        arena: The bag's arena; changed. The cursor of an interrupted call is in its header.
        plan: Its plan; see `livejoin.kernels.bag_layout`.
        events: int64 of shape (EVENT_FIELDS, n), as for `livejoin.kernels.maintain`; the records are loaded.
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
                if not _join(m, p, store, out, capacity):
                    m[H_EVENT] = event
                    m[H_ATOM] = place
                    return OUTPUT_FULL
                entry = m[J_ENTRY]
                m[entry + X_SUPPORT] = m[J_NEW]
                m[record + p[store + S_REF]] = 0 if m[times] + weight == 0 else entry
                if m[J_NEW] == 0:
                    unlink_tuple(m, p, store, entry)
                    m[H_REGISTERED] -= 1
                if m[J_OVERFLOW] == 1 or m[J_NEW] > MAX_MULTIPLICITY:
                    return TOO_LARGE
            place += 1
        m[times] += weight
        m[H_ATOM] = 0
        event += 1
    m[H_EVENT] = 0
    return DONE
