"""Programs: a changed tuple of one relation joined with the others, worst-case optimal, nothing kept on the way.

Attributes are bound one after the other; the relations that have the next attribute are its *participants*. The one
whose block of values is shortest is iterated over, the others are asked whether they have the value (generic join: Ngo,
Re, Rudra, Skew strikes back, SIGMOD Record 42(4), 2013). So a change costs O(N^x), where x is the fractional edge cover
number of the attributes that the tuple does not have.
"""

from __future__ import annotations

from livejoin.kernels.bag.layout import (
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
    H_DEPTH,
    H_ENTRY,
    H_FRESH,
    H_MET,
    H_NEW,
    H_OLD,
    H_OVERFLOW,
    H_SUM,
    NOTHING,
    O_VERSION,
    O_WEIGHT,
    P_BINDINGS,
    P_COLUMNS,
    P_FRAMES,
    P_SLOTS,
    PARTICIPANT,
    SUPPORT,
    X_SUPPORT,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.layout import H_OUT, H_PROBES, H_VERSION
from livejoin.kernels.memory.directory import find, hash_key
from livejoin.kernels.memory.layout import MAX_MULTIPLICITY, REF_MASK
from livejoin.kernels.parameters import Arena, Output, Plan


@helper
def _times(m: Arena, p: Plan, one: int, entry: int, weight: int) -> int:
    """A weight times what an entry contributes."""
    factor = m[entry + X_SUPPORT]
    if entry == m[H_ENTRY]:
        m[H_MET] = 1
        factor = m[H_NEW] if p[one + A_BEFORE] == 1 else m[H_OLD]
    if p[one + A_WEIGHS] == SUPPORT:
        return weight if factor > 0 else 0
    if factor != 1 and abs(float(weight) * float(factor)) > MAX_MULTIPLICITY:
        m[H_OVERFLOW] = 1
    return weight * factor  # type: ignore[no-any-return]


@inlined
def _probe(m: Arena, p: Plan, one: int) -> int:
    """The entry of a participant's node under the bindings, 0 if there is none."""
    width, offsets, bindings = p[one + A_WIDTH], p[one + A_OFFSETS], p[P_BINDINGS]
    h = hash_key(m, p, bindings, width, offsets)
    m[H_PROBES] += 1
    return find(m, p, p[one + A_DIRECTORY], p[one + A_KEY], bindings, width, offsets, h)


@helper
def begin(m: Arena, p: Plan, program: int, delta: int) -> bool:
    """Bind the changed tuple and look the other relations up; False if one of them has nothing to join."""
    m[H_FRESH] = 1
    m[H_DEPTH] = 0
    entry = m[H_ENTRY]
    start = p[program + G_START_LIST]
    for i in range(p[program + G_START]):
        m[p[P_BINDINGS] + p[start + 2 * i + 1]] = m[entry + p[start + 2 * i]]
    weight = delta
    for i in range(p[program + G_PROBES]):
        one = p[program + G_PROBE_LIST] + i * PARTICIPANT
        found = _probe(m, p, one)
        if found == 0:
            return False
        m[p[P_SLOTS] + p[one + A_SLOT]] = found
        if p[one + A_WEIGHS] != NOTHING:
            weight = _times(m, p, one, found, weight)
            if weight == 0:
                return False
    m[p[P_FRAMES] + F_WEIGHT] = weight
    return True


@helper
def _open(m: Arena, p: Plan, program: int, depth: int) -> None:
    """Begin a step: choose the participant with the shortest block."""
    step = p[program + G_STEP_LIST] + 2 * (depth - 1)
    frame = p[P_FRAMES] + depth * BAG_FRAME
    shortest = -1
    for i in range(p[step]):
        one = p[step + 1] + i * PARTICIPANT
        at = m[p[P_SLOTS] + p[one + A_FROM]] + p[one + A_BLOCK]
        if shortest < 0 or m[at] < shortest:
            shortest = m[at]
            m[frame + F_CHOICE] = one
            m[frame + F_BLOCK] = m[at + 1] & REF_MASK
    m[frame + F_LEN] = shortest
    m[frame + F_INDEX] = 0


@helper
def _advance(m: Arena, p: Plan, program: int, depth: int) -> bool:
    """The next value of a step that all participants have; False at the end."""
    step = p[program + G_STEP_LIST] + 2 * (depth - 1)
    frame = p[P_FRAMES] + depth * BAG_FRAME
    chosen = m[frame + F_CHOICE]
    above = m[frame - BAG_FRAME + F_WEIGHT]
    block = m[frame + F_BLOCK]
    bound = p[chosen + A_BOUND_LIST]
    for index in range(m[frame + F_INDEX], m[frame + F_LEN]):
        entry = m[block + index]
        for i in range(p[chosen + A_BOUND]):
            m[p[P_BINDINGS] + p[bound + 2 * i + 1]] = m[entry + p[bound + 2 * i]]
        m[p[P_SLOTS] + p[chosen + A_SLOT]] = entry
        weight = above
        if p[chosen + A_WEIGHS] != NOTHING:
            weight = _times(m, p, chosen, entry, weight)
        for i in range(p[step]):
            one = p[step + 1] + i * PARTICIPANT
            if one != chosen and weight != 0:
                found = _probe(m, p, one)
                m[p[P_SLOTS] + p[one + A_SLOT]] = found
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
def _emit(m: Arena, p: Plan, program: int, weight: int, out: Output, capacity: int) -> None:
    """Write a result, or add it to the one written last if both agree in what the bag keeps."""
    columns = p[P_COLUMNS]
    if columns == 0:
        m[H_SUM] += weight
        if abs(m[H_SUM]) > MAX_MULTIPLICITY:
            m[H_OVERFLOW] = 1
        return
    if m[H_FRESH] == 0 and m[H_OUT] > 0:
        at = (columns + O_WEIGHT) * capacity + m[H_OUT] - 1
        out[at] += weight
        if abs(out[at]) > MAX_MULTIPLICITY:
            m[H_OVERFLOW] = 1
        return
    at = m[H_OUT]
    for c in range(columns):
        out[c * capacity + at] = m[p[P_BINDINGS] + p[p[program + G_KEPT] + c]]
    out[(columns + O_WEIGHT) * capacity + at] = weight
    out[(columns + O_VERSION) * capacity + at] = m[H_VERSION]
    m[H_OUT] = at + 1
    m[H_FRESH] = 0


@helper
def run(m: Arena, p: Plan, program: int, out: Output, capacity: int) -> bool:
    """Write all results of a program that has begun; False if the output buffer is full."""
    steps = p[program + G_STEPS]
    depth = m[H_DEPTH]
    if steps == 0:
        if m[H_OUT] == capacity:
            return False
        _emit(m, p, program, m[p[P_FRAMES] + F_WEIGHT], out, capacity)
        return True
    if depth == 0:
        depth = 1
        _open(m, p, program, depth)
    while depth > 0:
        if depth == steps and m[H_OUT] == capacity:
            m[H_DEPTH] = depth
            return False
        if not _advance(m, p, program, depth):
            depth -= 1
            continue
        if depth <= p[program + G_LAST]:
            m[H_FRESH] = 1
        if depth == steps:
            _emit(m, p, program, m[p[P_FRAMES] + depth * BAG_FRAME + F_WEIGHT], out, capacity)
        else:
            depth += 1
            _open(m, p, program, depth)
    return True
