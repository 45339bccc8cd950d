"""New transitions: the next state, and what comes and goes on the way there.

The join of a change with what is there is a walk over the rows of the static join that have one of its keys. A row is
alive if the state has its other keys too; a unit comes or goes if it had, or has, no other row that is alive.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.parameters import Line, Words
from livejoin.kernels.transitions.layout import (
    CHANGE,
    E_AT,
    E_HASH,
    E_LENGTH,
    N_CHANGE_KEYS,
    N_CHANGES,
    N_CLOCK,
    N_FREE,
    N_RESULTS,
    N_STAMP,
    N_STATES,
    N_TRANSITIONS,
    N_UNITS,
    S_AT,
    S_HASH,
    S_REFS,
    S_SIZE,
    STATE,
    T_CHANGE,
    T_COME,
    T_COME_AT,
    T_FROM,
    T_GO,
    T_GO_AT,
    T_HASH,
    T_NEXT,
    T_USED,
    TRANSITION,
)
from livejoin.kernels.transitions.states import (
    bit,
    find_change,
    find_transition,
    has,
    key_hash,
    pair_hash,
    put,
    stride_of,
)

NOTHING = -1
"""The stamp that no key has: no key is turned."""


@helper
def is_alive(joined: Words, known: Words, state: int, row: int, atoms: int, stride: int, stamp: int) -> bool:
    """Whether a state has all keys of a row, where those that are marked with a stamp are turned."""
    for i in range(row * atoms, row * atoms + atoms):
        key = joined.row_keys[i]
        if has(known.states, stride, state, key) == (known.marks[key] == stamp):
            return False
    return True


@helper
def has_alive(joined: Words, known: Words, state: int, unit: int, atoms: int, stride: int, stamp: int) -> bool:
    """Whether a unit has a row that is alive."""
    for place in range(joined.unit_at[unit], joined.unit_at[unit + 1]):
        if is_alive(joined, known, state, joined.unit_rows[place], atoms, stride, stamp):
            return True
    return False


@kernel
def derive(
    joined: Words, known: Words, atoms: int, state: int, keys: Line, count: int, goes: Line, comes: Line
) -> tuple[int, int]:
    """The units that go and that come where some keys of a state are turned.

    Args:
        joined: The static join.
        known: The states.
        atoms: Dynamic atoms.
        state: The state.
        keys: int64: the keys of the change.
        count: How many they are.
        goes: int32, a place for every unit; filled.
        comes: As ``goes``.

    Returns:
        How many go, and how many come.

    Cost: O(rows of the static join with one of the keys), and for a unit with several rows up to all of these.
    """
    stride = stride_of(known)
    known.counts[N_STAMP] += 1
    stamp = known.counts[N_STAMP]
    for i in range(count):
        known.marks[keys[i]] = stamp
    going = 0
    coming = 0
    for i in range(count):
        for place in range(joined.key_at[keys[i]], joined.key_at[keys[i] + 1]):
            row = joined.key_rows[place]
            unit = joined.unit_of[row]
            if known.seen[unit] == stamp:
                continue
            before = is_alive(joined, known, state, row, atoms, stride, NOTHING)
            after = is_alive(joined, known, state, row, atoms, stride, stamp)
            if before and not after:
                known.seen[unit] = stamp
                if not has_alive(joined, known, state, unit, atoms, stride, stamp):
                    goes[going] = unit
                    going += 1
            elif after and not before:
                known.seen[unit] = stamp
                if not has_alive(joined, known, state, unit, atoms, stride, NOTHING):
                    comes[coming] = unit
                    coming += 1
    return going, coming


@kernel
def fill_result(joined: Words, known: Words, atoms: int, state: int, keeps: bool, found: Line) -> int:
    """The result of a state: the units that are alive in it, ascending.

    Args:
        joined: The static join.
        known: The states; changed: the size of the state, and its result where there is room for every unit.
        atoms: Dynamic atoms.
        state: The state.
        keeps: Whether the result is kept with the state.
        found: int32, a place for every unit; filled.

    Returns:
        How many units are alive.

    Cost: O(rows of the static join).
    """
    stride = stride_of(known)
    alive = 0
    for unit in range(joined.unit_at.shape[0] - 1):
        if has_alive(joined, known, state, unit, atoms, stride, NOTHING):
            found[alive] = unit
            alive += 1
    known.states[state * stride + S_SIZE] = alive
    if keeps:
        at = known.counts[N_RESULTS]
        for i in range(alive):
            known.results[at + i] = found[i]
        known.states[state * stride + S_AT] = at
        known.counts[N_RESULTS] = at + alive
    return alive


@helper
def find_or_add_state(known: Words, hash_: int) -> int:
    """The state whose set stands behind the last number given out; a new one if there is none with this set."""
    stride = stride_of(known)
    last = known.counts[N_STATES] * stride
    slots = known.state_slots
    mask = slots.shape[0] - 1
    i = hash_ & mask
    while slots[i] != 0:
        at = (slots[i] - 1) * stride
        if known.states[at + S_HASH] == hash_:
            same = True
            for word in range(STATE, stride):
                if known.states[at + word] != known.states[last + word]:
                    same = False
                    break
            if same:
                return int(slots[i] - 1)
        i = (i + 1) & mask
    number = known.counts[N_STATES]
    if known.counts[N_FREE] != 0:
        number = known.counts[N_FREE]  # the free ones are linked by their places for references
        known.counts[N_FREE] = known.states[number * stride + S_REFS]
        for word in range(STATE, stride):
            known.states[number * stride + word] = known.states[last + word]
    else:
        known.counts[N_STATES] += 1
    known.states[number * stride + S_HASH] = hash_
    known.states[number * stride + S_REFS] = 0
    known.states[number * stride + S_SIZE] = -1
    known.states[number * stride + S_AT] = -1
    slots[i] = number + 1
    return int(number)


@helper
def _add_transition(known: Words, state: int, change: int, following: int) -> int:
    """The place of a transition, which is made if it is not there; nothing is known of its units then."""
    number = find_transition(known.transitions, known.transition_slots, state, change)
    if number < 0:
        number = known.counts[N_TRANSITIONS]
        known.counts[N_TRANSITIONS] = number + 1
        at = number * TRANSITION
        known.transitions[at + T_HASH] = pair_hash(state, change)
        known.transitions[at + T_FROM] = state
        known.transitions[at + T_CHANGE] = change
        known.transitions[at + T_NEXT] = following
        known.transitions[at + T_GO] = -1
        put(known.transition_slots, known.transitions[at + T_HASH], number)
    known.transitions[number * TRANSITION + T_USED] = known.counts[N_CLOCK]
    return int(number * TRANSITION)


@helper
def _change_of(known: Words, key_count: int, keys: Line, count: int, hash_: int) -> int:
    """The number of a change, which is made if it is not there: a key, or behind the keys a set of them."""
    if count == 1:
        return int(keys[0])
    change = find_change(known, keys, count, hash_)
    if change < 0:
        change = known.counts[N_CHANGES]
        known.counts[N_CHANGES] = change + 1
        begin = known.counts[N_CHANGE_KEYS]
        for i in range(count):
            known.change_keys[begin + i] = keys[i]
        known.counts[N_CHANGE_KEYS] = begin + count
        known.changes[change * CHANGE + E_HASH] = hash_
        known.changes[change * CHANGE + E_AT] = begin
        known.changes[change * CHANGE + E_LENGTH] = count
        put(known.change_slots, hash_, change)
    return int(key_count + change)


@kernel
def store(
    known: Words,
    state: int,
    keys: Line,
    count: int,
    goes: Line,
    going: int,
    comes: Line,
    coming: int,
) -> int:
    """Store a transition and the one back, which a change is too, with the units that go and come.

    There is room for a state, two transitions, a change and the units.

    Args:
        known: States and transitions.
        state: Where it begins.
        keys: int64: the keys that are turned.
        count: How many they are.
        goes: int32: the units that go.
        going: How many; -1 if nobody has asked.
        comes: The units that come.
        coming: How many.

    Returns:
        The state where it ends.

    Cost: O(words of a set + keys + units).
    """
    stride = stride_of(known)
    last = known.counts[N_STATES] * stride
    begin = state * stride
    for word in range(STATE, stride):
        known.states[last + word] = known.states[begin + word]
    turned = 0
    for i in range(count):
        turned ^= key_hash(keys[i])
        known.states[last + STATE + (keys[i] >> 6)] ^= bit(keys[i])
    following = find_or_add_state(known, known.states[begin + S_HASH] ^ turned)
    change = _change_of(known, known.marks.shape[0], keys, count, turned)
    there = _add_transition(known, state, change, following)
    back = _add_transition(known, following, change, state)
    if going < 0:
        return following
    at = known.counts[N_UNITS]
    for i in range(going):
        known.units[at + i] = goes[i]
    for i in range(coming):
        known.units[at + going + i] = comes[i]
    known.counts[N_UNITS] = at + going + coming
    transitions = known.transitions
    transitions[there + T_GO_AT] = transitions[back + T_COME_AT] = at
    transitions[there + T_GO] = transitions[back + T_COME] = going
    transitions[there + T_COME_AT] = transitions[back + T_GO_AT] = at + going
    transitions[there + T_COME] = transitions[back + T_GO] = coming
    size = known.states[state * stride + S_SIZE]
    if size >= 0:
        known.states[following * stride + S_SIZE] = size + coming - going
    return following
