"""Results: for each instance the units of its state, enumerated, counted, picked by their places, and looked up.

The result of a state is a list that is made when it is first read. A kernel that comes to a state without one returns
MISS with the state in its cursor.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.join.layout import H_DUPLICATES, H_OVERFLOW, P_HEAD, P_MODE, SET
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.directory import scattered
from livejoin.kernels.memory.layout import D_LOG, D_SLOTS, DONE, MASK32, OUTPUT_FULL
from livejoin.kernels.parameters import Addresses, Cursor, Line, Matrix, Words
from livejoin.kernels.transitions.buffers import Lines, TransitionBuffers, opened
from livejoin.kernels.transitions.layout import (
    I_STATE,
    MISS,
    P_ATOMS,
    P_INSTANCES,
    S_AT,
    S_SIZE,
    SCAN_COPIES,
    SCAN_PLACE,
    SCAN_SLOT,
    SCAN_STATE,
)
from livejoin.kernels.transitions.maintain import TOO_MANY, times_of, write_unit, write_units
from livejoin.kernels.transitions.make import NOTHING, has_alive
from livejoin.kernels.transitions.states import stride_of


@helper
def _is_plain(s: TransitionBuffers, joined: Words) -> bool:
    """Whether every result is there once."""
    return bool(s.plan[P_MODE] == SET or (s.live[H_DUPLICATES] == 0 and joined.weights.shape[0] == 0))


@kernel
def scan(state: Addresses, cursor_words: Cursor, joined: Words, known: Words, output: Matrix) -> tuple[int, int]:
    """Write the results.

    Args:
        state: The state.
        cursor_words: int64, SCAN words; zeros to begin; changed.
        joined: The static join.
        known: The states.
        output: int64 of shape (head columns, capacity). With one line more, each result is written once, and there how
            often it is there.

    Returns:
        DONE, OUTPUT_FULL, or MISS: make the result of the state SCAN_STATE and call again, in each case after the
        rows that were written are taken; and how many these are. Where a multiplicity does not fit H_OVERFLOW is set.

    Cost: O(1) a result, and a look at each slot of the instances.
    """
    s = opened(state)
    m, p = s.live, s.plan
    cursor = words(cursor_words)
    capacity = output.shape[1]
    out = Lines(words(output), capacity)
    once = output.shape[0] > p[P_HEAD]
    plain = _is_plain(s, joined)
    stride = stride_of(known)
    m[H_OVERFLOW] = 0
    slots = m[p[P_INSTANCES] + D_SLOTS]
    log = m[p[P_INSTANCES] + D_LOG]
    at = 0
    while cursor[SCAN_SLOT] < 1 << log:
        instance = m[slots + scattered(cursor[SCAN_SLOT], log)] & MASK32
        if instance != 0:
            at_state = m[instance + I_STATE] * stride
            first = known.states[at_state + S_AT]
            if first < 0:
                cursor[SCAN_STATE] = m[instance + I_STATE]
                return MISS, at
            size = known.states[at_state + S_SIZE]
            while cursor[SCAN_PLACE] < size:
                room = capacity - at
                if room == 0:
                    return OUTPUT_FULL, at
                if plain:
                    count = min(room, size - cursor[SCAN_PLACE])
                    begin = first + cursor[SCAN_PLACE]
                    write_units(s, joined, instance, known.results, begin, count, out, at)
                    if once:
                        for i in range(count):
                            out.words[p[P_HEAD] * capacity + at + i] = 1
                    cursor[SCAN_PLACE] += count
                    at += count
                else:
                    unit = known.results[first + cursor[SCAN_PLACE]]
                    times, rough = times_of(s, joined, instance, unit, False)
                    if rough > TOO_MANY:
                        m[H_OVERFLOW] = -1
                        return OUTPUT_FULL, 0
                    count = 1 if once else min(room, times - cursor[SCAN_COPIES])
                    write_unit(s, joined, instance, unit, count, out, at)
                    if once:
                        out.words[p[P_HEAD] * capacity + at] = times
                    at += count
                    cursor[SCAN_COPIES] += count
                    if once or cursor[SCAN_COPIES] == times:
                        cursor[SCAN_COPIES] = 0
                        cursor[SCAN_PLACE] += 1
        cursor[SCAN_PLACE] = 0
        cursor[SCAN_SLOT] += 1
    return DONE, at


@kernel
def count(
    state: Addresses, cursor_words: Cursor, joined: Words, known: Words, instances: Line, sizes: Line
) -> tuple[int, int, float]:
    """Count the results of each instance; cost O(instances), and O(results) where some are there more than once.

    Args:
        state: The state.
        cursor_words: As of `scan`; SCAN_COPIES is the number of instances so far.
        joined: The static join.
        known: The states.
        instances: int64, a place for each instance; filled.
        sizes: int64: the results of each; filled.

    Returns:
        DONE, or MISS as of `scan`; the results that were counted in this call, modulo 2**64, and about as a float.
    """
    s = opened(state)
    m, p = s.live, s.plan
    cursor = words(cursor_words)
    stride = stride_of(known)
    plain = _is_plain(s, joined)
    m[H_OVERFLOW] = 0
    slots = m[p[P_INSTANCES] + D_SLOTS]
    log = m[p[P_INSTANCES] + D_LOG]
    exact = 0
    rough = 0.0
    while cursor[SCAN_SLOT] < 1 << log:
        instance = m[slots + scattered(cursor[SCAN_SLOT], log)] & MASK32
        if instance != 0:
            at_state = m[instance + I_STATE] * stride
            size = known.states[at_state + S_SIZE]
            if size < 0 or (not plain and known.states[at_state + S_AT] < 0):
                cursor[SCAN_STATE] = m[instance + I_STATE]
                return MISS, exact, rough
            if not plain:
                first = known.states[at_state + S_AT]
                units = size
                size = 0
                for i in range(units):
                    times, about = times_of(s, joined, instance, known.results[first + i], False)
                    size += times
                    rough += about
            else:
                rough += float(size)
            instances[cursor[SCAN_COPIES]] = instance
            sizes[cursor[SCAN_COPIES]] = size
            cursor[SCAN_COPIES] += 1
            exact += size
        cursor[SCAN_SLOT] += 1
    return DONE, exact, rough


@kernel
def pick(
    state: Addresses, joined: Words, known: Words, instances: Line, places: Line, output: Matrix
) -> tuple[int, int]:
    """Write the results at some places of instances, where every result is there once.

    Args:
        state: The state.
        joined: The static join.
        known: The states.
        instances: int64: the instance of each result.
        places: int64: its place in the result of the instance's state.
        output: int64 of shape (head columns, results).

    Returns:
        DONE and 0, or MISS and a state whose result is to be made before the next call.
    """
    s = opened(state)
    m = s.live
    out = Lines(words(output), output.shape[1])
    stride = stride_of(known)
    for i in range(places.shape[0]):
        number = m[instances[i] + I_STATE]
        first = known.states[number * stride + S_AT]
        if first < 0:
            return MISS, number
        unit = known.results[first + places[i]]
        write_unit(s, joined, instances[i], unit, 1, out, i)
    return DONE, 0


@kernel
def look_up(state: Addresses, joined: Words, known: Words, instances: Line, units: Line, times: Line) -> None:
    """How often units are results of instances.

    Args:
        state: The state.
        joined: The static join.
        known: The states.
        instances: int64, 0 for one that is not there.
        units: int64, -1 for one that is not there.
        times: int64; filled.

    Cost: O(rows of the static join of each unit).
    """
    s = opened(state)
    m, p = s.live, s.plan
    stride = stride_of(known)
    m[H_OVERFLOW] = 0
    for i in range(units.shape[0]):
        times[i] = 0
        if instances[i] != 0 and units[i] >= 0:
            number = m[instances[i] + I_STATE]
            if has_alive(joined, known, number, units[i], p[P_ATOMS], stride, NOTHING):
                times[i] = 1
                if p[P_MODE] != SET:
                    times[i], rough = times_of(s, joined, instances[i], units[i], False)
                    if rough > TOO_MANY:
                        m[H_OVERFLOW] = -1
