"""What the next events of a join tree look at, read before they do (`livejoin.kernels.join.ahead`).

That is the record, then the slot that the row joins and the entries of the edges below it, and behind these the other
row that changes with it: the last one of the slot's block, which takes the place of one that leaves, or a parent row,
which an annotation reaches. An event that no atom takes, as its row is neither there nor chosen, looks at nothing.
"""

from __future__ import annotations

from livejoin.kernels.crown.layout import (
    COUNTER_BITS,
    E_PARENT_BLOCK,
    E_PARENTS,
    N_BIT,
    N_CHAIN,
    N_CHAIN_LIST,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_DIRECTORY,
    N_INDEX,
    N_KEY,
    N_KEY_WIDTH,
    N_LINK,
    N_LINKED,
    N_PARENT,
    N_PARENT_KEY,
    N_QUIET,
    N_ROWS_DIRECTORY,
    N_ROWS_WIDTH,
    N_STATE,
    N_UP,
    S_BLOCK,
    S_LEN,
    SLOT,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.ahead import AHEAD, first_slot
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
from livejoin.kernels.parameters import Arena, Cursor, Matrix, Plan

_MOST = 4 * AHEAD  # places that are followed at a time
_FIELDS = 3
_AT = 0  # what is read next, 0: nothing
_NODE = 1  # the node below the edge
_KIND = 2
AHEAD_WORDS = _FIELDS * _MOST
"""Words that `look_ahead` takes for itself."""

_OWN = 1  # the edge is that above the row's node, not one below it
_KNOWN = 2  # the row is there, and has the reference of the entry


@inlined
def _note(seen: Cursor, t: int, at: int, node: int, kind: int) -> int:
    """Note a place to follow; the number of places."""
    seen[t + _AT], seen[t + _NODE], seen[t + _KIND] = at, node, kind
    return t + _FIELDS


@helper
def _first(m: Arena, p: Plan, node: int, row: int, known: int, seen: Cursor, t: int) -> int:
    """Note where a row's slot and entries are, or where the search for them begins; the number of places."""
    if p[node + N_LINKED] == 1 or p[node + N_CHAIN] > 0:
        if known:
            at = (m[row + p[node + N_UP]] >> 32) & MASK32
        elif p[node + N_LINKED] == 1:
            at = first_slot(m, p, p[node + N_DIRECTORY], row, p[node + N_KEY_WIDTH], p[node + N_KEY])
        else:
            last = p[node + N_CHAIN_LIST] + 2 * (p[node + N_CHAIN] - 1)
            above = p[last]
            at = first_slot(m, p, p[above + N_ROWS_DIRECTORY], row, p[above + N_ROWS_WIDTH], p[last + 1])
        t = _note(seen, t, at, node, known | _OWN)
    for c in range(p[node + N_CHILDREN]):
        child = p[p[node + N_CHILD_LIST] + c]
        if known:
            at = (m[row + p[node + N_LINK] + c] >> 32) & MASK32
        else:
            at = first_slot(m, p, p[child + N_DIRECTORY], row, p[child + N_KEY_WIDTH], p[child + N_PARENT_KEY])
        t = _note(seen, t, at, child, known)
    return t


@inlined
def _last(m: Arena, length: int, block: int) -> int:
    """The place of the last row that a block lists, 0 if it lists none."""
    return (m[block] & REF_MASK) + (m[length] >> 32) - 1 if m[length] >> 32 > 0 else 0


@helper
def look_ahead(m: Arena, p: Plan, events: Matrix, begin: int, end: int, seen: Cursor) -> int:
    """Read what the next events look at; what was read, for nobody, or the compiler would leave the reads out.

    Args:
        m: The arena.
        p: The plan.
        events: As for `livejoin.kernels.crown.maintain.maintain`.
        begin: The first one that is applied next.
        end: The one behind the last, at most AHEAD.
        seen: AHEAD_WORDS words, overwritten.
    """
    read = 0
    for event in range(begin, end):
        read ^= m[record_of(m, p, events[V_TABLE, event], events[V_ROW, event])]
    t = 0
    for event in range(begin, end):
        table = p[P_FIRST_TABLE] + events[V_TABLE, event] * PLAN_TABLE
        row = record_of(m, p, events[V_TABLE, event], events[V_ROW, event])
        for atom in range(p[table + PT_ATOMS]):
            node = p[p[table + PT_ATOM_LIST] + atom]
            known = m[row + p[node + N_STATE]] >> COUNTER_BITS != 0
            comes = events[V_WEIGHT, event] > 0 and (events[V_MASK, event] >> p[node + N_BIT]) & 1 == 1
            if (known or comes) and t + _FIELDS * (1 + p[node + N_CHILDREN]) <= AHEAD_WORDS:
                t = _first(m, p, node, row, _KNOWN if known else 0, seen, t)
    for i in range(0, t, _FIELDS):
        if not seen[i + _KIND] & _KNOWN:
            seen[i + _AT] = m[seen[i + _AT]] & MASK32
    for i in range(0, t, _FIELDS):
        read ^= m[seen[i + _AT]]
    for i in range(0, t, _FIELDS):
        entry, node, kind = seen[i + _AT], seen[i + _NODE], seen[i + _KIND]
        place = 0
        if entry != 0 and (kind & _OWN == 0 or p[node + N_CONNEX] == 0):
            if p[node + N_LINKED] == 1 and p[node + N_QUIET] == 0:
                place = _last(m, entry + E_PARENTS, entry + E_PARENT_BLOCK)
        elif entry != 0:
            inside = kind & _KNOWN or p[node + N_LINKED] == 1
            slot = entry if inside else entry + SLOT * p[node + N_INDEX]
            place = _last(m, slot + S_LEN, slot + S_BLOCK)
        seen[i + _AT] = place
    for i in range(0, t, _FIELDS):
        if seen[i + _AT] != 0:
            seen[i + _AT] = m[seen[i + _AT]]
    for i in range(0, t, _FIELDS):
        if seen[i + _AT] != 0:
            node, kind = seen[i + _NODE], seen[i + _KIND]
            own = kind & _OWN and p[node + N_CONNEX] == 1
            if not own:
                read ^= m[seen[i + _AT] + p[p[node + N_PARENT] + N_STATE]]
            elif kind & _KNOWN:
                read ^= m[seen[i + _AT] + p[node + N_UP]]
    return read
