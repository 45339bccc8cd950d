"""Live views (CROWN, section 5.2): ``V_l(e) = pi_e Q(D)``.

By Lemma 5.5 a V_s row is live iff a parent row that it joins is live, so an edge entry counts its live parents and
keeps them first in its block; a row with linked children is live iff it stands among them, a derived row has a flag.
Only the nodes of the connex subtree have live views, and none below a quiet edge: what never changes has no delta.
Liveness moves top-down over rows that the enumerated delta contains, so its cost is that of the delta.
"""

from __future__ import annotations

from livejoin.kernels.crown.layout import (
    COUNTER_BITS,
    E_PARENT_BLOCK,
    E_PARENTS,
    N_ATOM,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_INDEX,
    N_LINK,
    N_LINKED,
    N_PARENT,
    N_QUIET,
    N_STATE,
    S_BLOCK,
    S_LEN,
    SLOT,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Plan


@inlined
def slot_is_live(m: Arena, p: Plan, node: int, slot: int) -> bool:
    """Whether a row in this slot of ``node`` is live: its parent is the virtual root, or some parent row is live."""
    parent = p[node + N_PARENT]
    if parent < 0:
        return True
    if p[node + N_LINKED] == 1:
        return bool(m[slot + E_PARENTS] & MASK32 > 0)
    above = slot - SLOT * p[node + N_INDEX]
    return bool(m[above + p[parent + N_STATE]] >> COUNTER_BITS > 0)


@inlined
def swap_parents(m: Arena, entry: int, link: int, row: int, position: int, other: int) -> None:
    """Exchange a row at ``position`` of an entry's parent block with the one at ``other``; ``link`` is the offset."""
    if position != other:
        block = m[entry + E_PARENT_BLOCK] & REF_MASK
        moved = m[block + other]
        m[block + position] = moved
        m[moved + link] = (entry << 32) | position
        m[block + other] = row
        m[row + link] = (entry << 32) | other


@helper
def raise_live(m: Arena, p: Plan, node: int, row: int) -> None:
    """A row becomes live, and with it the V_s rows below that had no live parent so far."""
    children = p[node + N_CHILD_LIST]
    if p[node + N_ATOM] == 0:
        m[row + p[node + N_STATE]] += 1 << COUNTER_BITS
    for c in range(p[node + N_CHILDREN]):
        child = p[children + c]
        if p[child + N_CONNEX] == 0 or p[child + N_QUIET] == 1:
            continue
        slot = row + SLOT * c
        if p[child + N_LINKED] == 1:
            link = p[node + N_LINK] + c
            word = m[row + link]
            slot = (word >> 32) & MASK32
            live = m[slot + E_PARENTS] & MASK32
            swap_parents(m, slot, link, row, word & MASK32, live)
            m[slot + E_PARENTS] += 1
            if live > 0:
                continue
        if p[child + N_CHILDREN] > 0:
            block = m[slot + S_BLOCK] & REF_MASK
            for i in range(m[slot + S_LEN] >> 32):
                raise_live(m, p, child, m[block + i])


@helper
def lower_live(m: Arena, p: Plan, node: int, row: int) -> None:
    """A row ceases to be live, and with it the V_s rows below that have no other live parent."""
    children = p[node + N_CHILD_LIST]
    if p[node + N_ATOM] == 0:
        m[row + p[node + N_STATE]] -= 1 << COUNTER_BITS
    for c in range(p[node + N_CHILDREN]):
        child = p[children + c]
        if p[child + N_CONNEX] == 0 or p[child + N_QUIET] == 1:
            continue
        slot = row + SLOT * c
        if p[child + N_LINKED] == 1:
            link = p[node + N_LINK] + c
            word = m[row + link]
            slot = (word >> 32) & MASK32
            m[slot + E_PARENTS] -= 1
            live = m[slot + E_PARENTS] & MASK32
            swap_parents(m, slot, link, row, word & MASK32, live)
            if live > 0:
                continue
        if p[child + N_CHILDREN] > 0:
            block = m[slot + S_BLOCK] & REF_MASK
            for i in range(m[slot + S_LEN] >> 32):
                lower_live(m, p, child, m[block + i])
