"""What the next events of a foreign-key join look at, read before they do (`livejoin.kernels.join.ahead`).

That is the record, the entries of its own key and of its children's, and the neighbours in their lists, whose links
change; of a row of the root that goes also the live row that takes its place.
"""

from __future__ import annotations

from livejoin.kernels.foreign_keys.follow import held, next_parent, previous_parent
from livejoin.kernels.foreign_keys.layout import (
    C_HEAD,
    C_KEY,
    C_LINK,
    C_NODE,
    C_QUIET,
    CHILD,
    COUNTER_BITS,
    E_HOLDS,
    H_LIVE,
    H_LIVE_COUNT,
    L_ENTRY,
    N_BIT,
    N_CHILD_LIST,
    N_CHILDREN,
    N_DIRECTORY,
    N_KEY,
    N_OWN,
    N_ROOT,
    N_WIDTH,
    R_PLACE,
    R_STATE,
)
from livejoin.kernels.jit import helper
from livejoin.kernels.join.ahead import first_slot
from livejoin.kernels.join.layout import (
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
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Matrix, Plan

_RECORD = 0
_SLOT = 1
_ENTRY = 2
_ROWS = 3
_STEPS = 4


@helper
def _child(m: Arena, p: Plan, child: int, row: int, known: bool, step: int) -> int:
    """Read what a step needs of the link to a child; ``known``: the row is linked already."""
    offset = p[child + C_LINK]
    link = row + offset
    if known:
        entry = m[link + L_ENTRY]
    else:
        below = p[child + C_NODE]
        slot = first_slot(m, p, p[below + N_DIRECTORY], row, p[below + N_WIDTH], p[child + C_KEY])
        if step == _SLOT:
            read: int = m[slot]
            return read
        entry = m[slot] & MASK32
    if entry == 0 or step == _SLOT:
        return 0
    if step == _ENTRY:
        return m[entry + E_HOLDS]  # type: ignore[no-any-return]
    seen = 0
    if held(m, entry) != 0:
        seen ^= m[held(m, entry)]
    if p[child + C_QUIET] == 1:
        return int(seen)
    if known:
        for other in (next_parent(m, link), previous_parent(m, link)):
            if other != 0:
                seen ^= m[other + offset]
    elif m[entry + p[child + C_HEAD]] != 0:
        seen ^= m[m[entry + p[child + C_HEAD]] + offset]
    return int(seen)


@helper
def _own(m: Arena, p: Plan, node: int, row: int, known: bool, step: int, turn: int) -> int:
    """Read what a step needs of the row's own key, or of its place among the live rows of the root."""
    if p[node + N_ROOT] == 1:
        last = m[H_LIVE_COUNT] - 1 - turn
        if not known or step != _ROWS or last < 0:
            return 0
        return m[m[(m[H_LIVE] & REF_MASK) + last] + p[node + N_OWN]]  # type: ignore[no-any-return]
    if step == _ROWS:
        return 0
    if known:
        return m[m[row + p[node + N_OWN] + R_PLACE]]  # type: ignore[no-any-return]
    word = m[first_slot(m, p, p[node + N_DIRECTORY], row, p[node + N_WIDTH], p[node + N_KEY])]
    if step == _SLOT or word & MASK32 == 0:
        return 0
    return m[word & MASK32]  # type: ignore[no-any-return]


@helper
def look_ahead(m: Arena, p: Plan, events: Matrix, begin: int, end: int) -> int:
    """Read what the next events look at; what was read, for nobody, or the compiler would leave the reads out.

    Args:
        m: The arena.
        p: The plan.
        events: As for `livejoin.kernels.foreign_keys.maintain.maintain`.
        begin: The first one that is applied next.
        end: The one behind the last.
    """
    seen = 0
    for step in range(_STEPS):
        for event in range(begin, end):
            table = p[P_FIRST_TABLE] + events[V_TABLE, event] * PLAN_TABLE
            row = record_of(m, p, events[V_TABLE, event], events[V_ROW, event])
            for atom in range(p[table + PT_ATOMS]):
                node = p[p[table + PT_ATOM_LIST] + atom]
                state = m[row + p[node + N_OWN] + R_STATE]
                if step == _RECORD:
                    seen ^= state
                    continue
                known = state >> COUNTER_BITS != 0
                if not known and (events[V_WEIGHT, event] <= 0 or (events[V_MASK, event] >> p[node + N_BIT]) & 1 == 0):
                    continue  # it looks at nothing
                seen ^= _own(m, p, node, row, known, step, event - begin)
                for c in range(p[node + N_CHILDREN]):
                    seen ^= _child(m, p, p[node + N_CHILD_LIST] + c * CHILD, row, known, step)
    return int(seen)
