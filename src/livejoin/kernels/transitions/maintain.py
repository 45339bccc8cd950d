"""Changes go from state to state: what a version turns in each instance is one step.

A version is applied to the cells; then each instance that it touches has a change, the keys that came or went in it.
The transition is looked up by the state and the change. Where there is none, the kernel returns MISS in front of it,
its caller makes it and calls again. Then what goes is written, and then what comes: the units of the transitions, each
as often as the product of how often its rows are there. Results with multiplicities also change where a row that stays
is there more or less often than before: these are looked for among the rows of the static join with its key.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.layout import (
    FRESH,
    H_ATOM,
    H_DUPLICATES,
    H_EVENT,
    H_OUT,
    H_OVERFLOW,
    H_PHASE,
    H_VERSION,
    P_FIRST_TABLE,
    P_HEAD,
    P_MODE,
    PLAN_TABLE,
    PT_ATOM_LIST,
    PT_ATOMS,
    SET,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_VERSION,
    V_WEIGHT,
)
from livejoin.kernels.join.records import record_of
from livejoin.kernels.join.segments import begin_output, open_segment
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.directory import find, hash_key
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.parameters import Addresses, Line, Matrix, Output, Plan, Segments, Words
from livejoin.kernels.transitions.buffers import Lines, TransitionBuffers, opened
from livejoin.kernels.transitions.layout import (
    APPLY,
    C_BEFORE,
    C_KEY,
    C_MARK,
    C_TIMES,
    COME,
    END,
    F_COME,
    F_COME_AT,
    F_GO,
    F_GO_AT,
    F_INSTANCE,
    F_NEXT,
    FIND,
    FOUND,
    GO,
    H_CELLS,
    H_COPIES,
    H_DOUBLED,
    H_INSTANCE,
    H_INSTANCES,
    H_LINK,
    H_PART,
    H_PLACE,
    H_TOGGLED,
    I_HEAD,
    I_KEY,
    I_STATE,
    MISS,
    N_CLOCK,
    N_HITS,
    P_ATOMS,
    P_CELLS,
    P_HEAD_LIST,
    P_IDENTITY,
    S_REFS,
    SCRATCH,
    T_COME,
    T_COME_AT,
    T_GO,
    T_GO_AT,
    T_NEXT,
    T_USED,
    TOUCHED,
    TRANSITION,
    U_CELL,
    U_NEXT,
)
from livejoin.kernels.transitions.register import apply_event, end_version
from livejoin.kernels.transitions.states import find_change, find_transition, has, key_hash, stride_of

TOO_MANY = 9.0e18


@helper
def cell_at(s: TransitionBuffers, instance: int, key: int) -> int:
    """The cell of a key for an instance; 0 if there is none."""
    m, p = s.live, s.plan
    m[SCRATCH] = instance
    m[SCRATCH + 1] = key
    h = hash_key(m, p, SCRATCH, 2, p[P_IDENTITY])
    return int(find(m, p, p[P_CELLS], C_KEY, SCRATCH, 2, p[P_IDENTITY], h))


@helper
def times_of(s: TransitionBuffers, joined: Words, instance: int, row: int, is_before: bool) -> tuple[int, float]:
    """How often a row of the static join is a result for an instance, now or before the version.

    Returns:
        The number modulo 2**64, and about as a float.
    """
    m, times = s.live, 1
    if joined.weights.shape[0] > 0:
        times = joined.weights[row]
    rough = float(times)
    atoms = s.plan[P_ATOMS]
    for i in range(row * atoms, row * atoms + atoms):
        cell = cell_at(s, instance, joined.row_keys[i])
        if cell == 0:
            return 0, 0.0
        factor = m[cell + C_BEFORE] if is_before and m[cell + C_MARK] == 1 else m[cell + C_TIMES]
        times *= factor
        rough *= float(factor)
    return times, rough


@helper
def write_unit(s: TransitionBuffers, joined: Words, instance: int, unit: int, count: int, out: Lines, at: int) -> None:
    """Write a result ``count`` times, from a place on."""
    m, p, to, size = s.live, s.plan, out.words, out.places
    shown, units = words(joined.shown), joined.shown.shape[1]
    head = p[P_HEAD_LIST]
    for column in range(p[P_HEAD]):
        source = p[head + 2 * column + 1]
        value = m[instance + I_KEY + source] if p[head + 2 * column] == 1 else shown[source * units + unit]
        for i in range(count):
            to[column * size + at + i] = value


@helper
def write_units(
    s: TransitionBuffers, joined: Words, instance: int, chosen: Line, begin: int, count: int, out: Lines, at: int
) -> None:
    """Write results, each once: so many of ``chosen``, from its place ``begin`` on."""
    m, p, to = s.live, s.plan, out.words
    shown, units = words(joined.shown), joined.shown.shape[1]
    head = p[P_HEAD_LIST]
    for column in range(p[P_HEAD]):
        source = p[head + 2 * column + 1]
        target = column * out.places + at
        if p[head + 2 * column] == 1:
            value = m[instance + I_KEY + source]
            for i in range(count):
                to[target + i] = value
        else:
            line = source * units
            for i in range(count):
                to[target + i] = shown[line + chosen[begin + i]]


@helper
def _toggled(s: TransitionBuffers, instance: int) -> int:
    """Gather the keys that came or went in an instance: how many; their hash stands behind them."""
    m, touched, keys = s.live, s.touched, s.keys
    count = 0
    h = 0
    link = m[instance + I_HEAD]
    while link != 0:
        cell = touched[(link - 1) * TOUCHED + U_CELL]
        times = m[cell + C_TIMES]
        if times > 1:
            m[H_DOUBLED] = 1
        if (times > 0) != (m[cell + C_BEFORE] > 0):
            key = m[cell + C_KEY + 1]
            keys[count] = key
            h ^= key_hash(key)
            count += 1
        link = touched[(link - 1) * TOUCHED + U_NEXT]
    keys[count] = h
    return count


@helper
def _find(s: TransitionBuffers, known: Words, place: int, emit: bool) -> bool:
    """Look up the transition of a touched instance; False if it is to be made, or what it lets come and go is."""
    m, found, keys = s.live, s.found, s.keys
    at = place * FOUND
    instance = found[at + F_INSTANCE]
    state = m[instance + I_STATE]
    count = _toggled(s, instance)
    m[H_TOGGLED] = count
    found[at + F_NEXT] = state
    found[at + F_GO] = 0
    found[at + F_COME] = 0
    if count == 0:
        return True
    change = keys[0]
    if count > 1:
        number = find_change(known, keys, count, keys[count])
        if number < 0:
            return False
        change = known.marks.shape[0] + number
    number = find_transition(known.transitions, known.transition_slots, state, change)
    if number < 0:
        return False
    transition = number * TRANSITION
    transitions = known.transitions
    if emit and transitions[transition + T_GO] < 0:
        return False
    transitions[transition + T_USED] = known.counts[N_CLOCK]
    found[at + F_NEXT] = transitions[transition + T_NEXT]
    found[at + F_GO_AT] = transitions[transition + T_GO_AT]
    found[at + F_GO] = transitions[transition + T_GO]
    found[at + F_COME_AT] = transitions[transition + T_COME_AT]
    found[at + F_COME] = transitions[transition + T_COME]
    return True


@helper
def _write_copies(
    s: TransitionBuffers, joined: Words, instance: int, unit: int, times: int, sign: int, out: Lines, runs: Segments
) -> bool:
    """Write the copies of a result that wait, of so many; False if the output is full."""
    m = s.live
    while m[H_COPIES] < times:
        room = out.places - m[H_OUT]
        if room == 0 or not open_segment(m, runs, sign):
            return False
        number = min(room, times - m[H_COPIES])
        write_unit(s, joined, instance, unit, number, out, m[H_OUT])
        m[H_OUT] += number
        m[H_COPIES] += number
    m[H_COPIES] = 0
    return True


@helper
def _write_list(
    s: TransitionBuffers, joined: Words, known: Words, place: int, sign: int, plain: bool, out: Lines, runs: Segments
) -> bool:
    """Write the units that a transition lets come or go; False if the output is full, or H_OVERFLOW is set."""
    m, found = s.live, s.found
    at = place * FOUND
    instance = found[at + F_INSTANCE]
    begin = found[at + (F_GO_AT if sign < 0 else F_COME_AT)]
    count = found[at + (F_GO if sign < 0 else F_COME)]
    while m[H_PLACE] < count:
        if plain:
            room = out.places - m[H_OUT]
            if room == 0 or not open_segment(m, runs, sign):
                return False
            number = min(room, count - m[H_PLACE])
            write_units(s, joined, instance, known.units, begin + m[H_PLACE], number, out, m[H_OUT])
            m[H_PLACE] += number
            m[H_OUT] += number
        else:
            unit = known.units[begin + m[H_PLACE]]
            times, rough = times_of(s, joined, instance, unit, sign < 0)
            if rough > TOO_MANY:
                m[H_OVERFLOW] = -1
                return False
            if not _write_copies(s, joined, instance, unit, times, sign, out, runs):
                return False
            m[H_PLACE] += 1
    m[H_PLACE] = 0
    return True


@helper
def _is_first_of_row(s: TransitionBuffers, joined: Words, instance: int, row: int, cell: int) -> bool:
    """Whether a cell is the first one of a row of the static join that is there more or less often than before."""
    m, p = s.live, s.plan
    atoms = p[P_ATOMS]
    for i in range(row * atoms, row * atoms + atoms):
        other = cell_at(s, instance, joined.row_keys[i])
        if m[other + C_MARK] == 1 and m[other + C_BEFORE] != m[other + C_TIMES]:
            return bool(other == cell)
    return False


@helper
def _stays(p: Plan, joined: Words, known: Words, state: int, following: int, row: int, stride: int) -> bool:
    """Whether a row of the static join is alive in two states."""
    atoms = p[P_ATOMS]
    for i in range(row * atoms, row * atoms + atoms):
        key = joined.row_keys[i]
        if not (has(known.states, stride, state, key) and has(known.states, stride, following, key)):
            return False
    return True


@helper
def _write_more_or_less(
    s: TransitionBuffers, joined: Words, known: Words, place: int, sign: int, out: Lines, runs: Segments
) -> bool:
    """Write the results that stay, and are there more or less often than before; False if the output is full."""
    m, p, touched, found = s.live, s.plan, s.touched, s.found
    stride = stride_of(known)
    at = place * FOUND
    instance = found[at + F_INSTANCE]
    state = m[instance + I_STATE]
    while m[H_LINK] != 0:
        cell = touched[(m[H_LINK] - 1) * TOUCHED + U_CELL]
        before = m[cell + C_BEFORE]
        if before > 0 and m[cell + C_TIMES] > 0 and before != m[cell + C_TIMES]:
            key = m[cell + C_KEY + 1]
            first = joined.key_at[key]
            while first + m[H_PLACE] < joined.key_at[key + 1]:
                row = joined.key_rows[first + m[H_PLACE]]
                if _stays(p, joined, known, state, found[at + F_NEXT], row, stride) and _is_first_of_row(
                    s, joined, instance, row, cell
                ):
                    now, rough = times_of(s, joined, instance, row, False)
                    past, _ = times_of(s, joined, instance, row, True)
                    if rough > TOO_MANY:
                        m[H_OVERFLOW] = -1
                        return False
                    times = sign * (now - past)
                    if not _write_copies(s, joined, instance, row, times, sign, out, runs):
                        return False
                m[H_PLACE] += 1
            m[H_PLACE] = 0
        m[H_LINK] = touched[(m[H_LINK] - 1) * TOUCHED + U_NEXT]
    return True


@helper
def _write(s: TransitionBuffers, joined: Words, known: Words, sign: int, out: Lines, runs: Segments) -> bool:
    """Write what goes, or what comes, of all touched instances; False if the output is full."""
    m, found = s.live, s.found
    is_set = s.plan[P_MODE] == SET
    once = m[H_DUPLICATES] == 0 and m[H_DOUBLED] == 0
    plain = is_set or (once and joined.weights.shape[0] == 0)
    while m[H_INSTANCE] < m[H_INSTANCES]:
        place = m[H_INSTANCE]
        if m[H_PART] == 0:
            if not _write_list(s, joined, known, place, sign, plain, out, runs):
                return False
            m[H_PART] = 1
            m[H_LINK] = 0 if is_set or once else m[found[place * FOUND + F_INSTANCE] + I_HEAD]
        if not _write_more_or_less(s, joined, known, place, sign, out, runs):
            return False
        m[H_PART] = 0
        m[H_INSTANCE] += 1
    m[H_INSTANCE] = 0
    return True


@helper
def _arrive(s: TransitionBuffers, known: Words) -> None:
    """Let every touched instance be in its next state."""
    m, found, stride = s.live, s.found, stride_of(known)
    for place in range(m[H_INSTANCES]):
        instance = found[place * FOUND + F_INSTANCE]
        state = m[instance + I_STATE]
        following = found[place * FOUND + F_NEXT]
        if state != following:
            known.states[state * stride + S_REFS] -= 1
            known.states[following * stride + S_REFS] += 1
            m[instance + I_STATE] = following
            known.counts[N_HITS] += 1


@kernel
def maintain(
    state: Addresses,
    events: Matrix,
    joined: Words,
    known: Words,
    emit: bool,
    output: Output,
    segments: Segments,
) -> int:
    """Apply events, those of a version in one step, and write the delta of each version to the output.

    Args:
        state: The state; changed. The cursor of an interrupted call is in the live arena's header.
        events: int64 of shape (EVENT_FIELDS, n), none of the hub.
        joined: The static join.
        known: States and transitions; changed.
        emit: Whether the delta is written.
        output: int64 of shape (head columns, capacity): the delta's rows.
        segments: int64 of shape (RUN_FIELDS, n).

    Returns:
        DONE; NEED_SPACE: grow the live arena and call again; MISS: make the transition of the instance H_INSTANCE by
        the first H_TOGGLED keys and call again; OUTPUT_FULL: take the output's first H_OUT rows and H_SEGMENTS
        segments and call again; MORE: call again. Where a multiplicity does not fit H_OVERFLOW is set, and the state is
        of no use any more.
    """
    s = opened(state)
    r, m, p = s.records, s.live, s.plan
    out = Lines(words(output), output.shape[1])
    runs = words(segments)
    begin_output(m, segments.shape[1])
    event = m[H_EVENT]
    stop = event + AT_ONCE
    while True:
        if m[H_PHASE] == FRESH:
            if event == events.shape[1]:
                m[H_EVENT] = 0
                return DONE
            m[H_VERSION] = events[V_VERSION, event]
            m[H_DOUBLED] = 0
            known.counts[N_CLOCK] += 1
            m[H_PHASE] = APPLY
        if m[H_PHASE] == APPLY:
            while event < events.shape[1] and events[V_VERSION, event] == m[H_VERSION]:
                if event >= stop:
                    m[H_EVENT] = event
                    return MORE
                table = p[P_FIRST_TABLE] + events[V_TABLE, event] * PLAN_TABLE
                record = record_of(r, p, events[V_TABLE, event], events[V_ROW, event])
                weight = events[V_WEIGHT, event]
                mask = events[V_MASK, event]
                while m[H_ATOM] < p[table + PT_ATOMS]:
                    atom = p[p[table + PT_ATOM_LIST] + m[H_ATOM]]
                    if not apply_event(s, atom, record, weight, mask):
                        m[H_EVENT] = event
                        return NEED_SPACE
                    m[H_ATOM] += 1
                m[H_ATOM] = 0
                event += 1
            m[H_EVENT] = event
            m[H_INSTANCE] = 0
            m[H_PHASE] = FIND
        if m[H_PHASE] == FIND:
            while m[H_INSTANCE] < m[H_INSTANCES]:
                if not _find(s, known, m[H_INSTANCE], emit):
                    return MISS
                m[H_INSTANCE] += 1
            m[H_INSTANCE] = 0
            m[H_PHASE] = GO if emit and m[H_CELLS] > 0 else END
        if m[H_PHASE] == GO:
            if not _write(s, joined, known, -1, out, runs):
                return OUTPUT_FULL
            m[H_PHASE] = COME
        if m[H_PHASE] == COME:
            if not _write(s, joined, known, 1, out, runs):
                return OUTPUT_FULL
            m[H_PHASE] = END
        if m[H_PHASE] == END:
            _arrive(s, known)
            end_version(s)
            m[H_PHASE] = FRESH
