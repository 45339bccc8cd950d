"""What the next events of a join tree look at, read before they do (`livejoin.kernels.join.ahead`).

That is the record, the entries of the edges at its atom, and above it the first parent row, which an annotation
reaches.
"""

from __future__ import annotations

from livejoin.kernels.crown.layout import (
    COUNTER_BITS,
    E_PARENT_BLOCK,
    E_PARENTS,
    N_CHILD_LIST,
    N_CHILDREN,
    N_DIRECTORY,
    N_ENTRY,
    N_INLINE,
    N_KEY,
    N_KEY_WIDTH,
    N_LINK,
    N_LINKED,
    N_PARENT,
    N_PARENT_KEY,
    N_STATE,
    N_UP,
    S_LEN,
)
from livejoin.kernels.jit import helper
from livejoin.kernels.join.ahead import first_slot
from livejoin.kernels.join.layout import P_FIRST_TABLE, PLAN_TABLE, PT_ATOM_LIST, PT_ATOMS, V_ROW, V_TABLE
from livejoin.kernels.join.records import record_of
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Matrix, Plan

_RECORD = 0
_SLOT = 1
_ENTRY = 2
_BLOCK = 3
_PARENT = 4
_STEPS = 5


@helper
def _edge(m: Arena, p: Plan, edge: int, above: int, row: int, offsets: int, link: int, known: bool, step: int) -> int:
    """Read what a step needs of the entry that a row has in the directory of an edge.

    Args:
        m: The arena.
        p: The plan.
        edge: The node below the edge.
        above: The node above it.
        row: The row.
        offsets: Where the row has the key of the edge.
        link: Where it has the reference of the entry.
        known: Whether it has.
        step: The step.
    """
    if step == _SLOT and not known:
        read: int = m[first_slot(m, p, p[edge + N_DIRECTORY], row, p[edge + N_KEY_WIDTH], offsets)]
        return read
    if known:
        entry = (m[row + link] >> 32) & MASK32
    else:
        entry = m[first_slot(m, p, p[edge + N_DIRECTORY], row, p[edge + N_KEY_WIDTH], offsets)] & MASK32
    if entry == 0:
        return 0
    if step == _ENTRY or step == _SLOT:
        return m[entry + S_LEN] ^ m[entry + p[edge + N_ENTRY] - 1]  # type: ignore[no-any-return]
    if m[entry + E_PARENTS] >> 32 == 0:
        return 0
    block = m[entry + E_PARENT_BLOCK] & REF_MASK
    if step == _BLOCK:
        return m[block]  # type: ignore[no-any-return]
    return m[m[block] + p[above + N_STATE]]  # type: ignore[no-any-return]


@helper
def look_ahead(m: Arena, p: Plan, events: Matrix, begin: int, end: int) -> int:
    """Read what the next events look at; what was read, for nobody, or the compiler would leave the reads out.

    Args:
        m: The arena.
        p: The plan.
        events: As for `livejoin.kernels.crown.maintain.maintain`.
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
                state = m[row + p[node + N_STATE]]
                if step == _RECORD:
                    seen ^= state
                    continue
                known = state >> COUNTER_BITS != 0
                if p[node + N_LINKED] == 1:
                    seen ^= _edge(m, p, node, p[node + N_PARENT], row, p[node + N_KEY], p[node + N_UP], known, step)
                if step >= _BLOCK:
                    continue
                for c in range(p[node + N_INLINE], p[node + N_CHILDREN]):
                    child = p[p[node + N_CHILD_LIST] + c]
                    seen ^= _edge(m, p, child, node, row, p[child + N_PARENT_KEY], p[node + N_LINK] + c, known, step)
    return seen
