"""The delta of a batch brought into the T-representation, bottom-up (DYN, Algorithm 1, lines 6-10).

Afterwards every group holds the live tuples of its key, every key and tuple over nothing is gone, and no PENDING word
refers to a record any more. Nothing here needs space: blocks have been enlarged when the delta was made.
"""

from __future__ import annotations

from livejoin.kernels.dyn.delta import keys_of, note, tuples_of
from livejoin.kernels.dyn.layout import (
    N_ATOM,
    N_CHILD_LIST,
    N_CHILDREN,
    N_DIRECTORY,
    N_ENTRY_KEY,
    N_GUARDS,
    N_IS_GUARD,
    N_KEY_WIDTH,
    N_LINK,
    N_PARENT,
    N_PENDING,
    N_ROWS_DIRECTORY,
    N_ROWS_KEY,
    N_ROWS_WIDTH,
    N_UP,
    N_VALUE,
    P_SLOT,
    SLOT_BLOCK,
    SLOT_LEN,
    SLOT_PENDING,
    SLOT_VALUE,
    WAS,
    WILL,
    X_COUNT,
    X_GROUP,
    X_STATE,
    X_VALUE,
)
from livejoin.kernels.jit import helper
from livejoin.kernels.join import ring
from livejoin.kernels.join.batch_delta import X_NEXT, X_OF
from livejoin.kernels.join.layout import H_DUPLICATES, H_REGISTERED, H_TOUCHED, H_WEIGHED, P_NODES, P_POSTORDER, P_WORDS
from livejoin.kernels.memory.blocks import drop, shrink
from livejoin.kernels.memory.directory import remove
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Delta, Plan


@helper
def apply_delta(m: Arena, d: Delta, p: Plan) -> None:
    """Bring the whole delta into the T-representation."""
    for i in range(p[P_NODES]):
        node = p[p[P_POSTORDER] + i]
        keys = d[keys_of(p, node)]
        while keys != 0:
            _apply_key(m, d, p, node, keys)
            keys = d[keys + X_NEXT]
        changed = d[tuples_of(p, node)]
        while changed != 0:
            row = d[changed + X_OF]
            m[row + p[node + N_PENDING]] = 0
            if p[node + N_ATOM] == 0:
                _leave_guards(m, p, node, row)
            changed = d[changed + X_NEXT]
        if p[node + N_ATOM] == 0:
            _remove_keys(m, d, p, node)


@helper
def _apply_key(m: Arena, d: Delta, p: Plan, node: int, keys: int) -> None:
    """Bring the changed tuples of a key into its group, and the change of the key into Psi_n."""
    slot = d[keys + X_OF]
    changed = d[keys + X_GROUP]
    while changed != 0:
        _apply_tuple(m, d, p, node, slot, changed)
        changed = d[changed + X_GROUP]
    length = m[slot + SLOT_LEN]
    if length == 0:
        drop(m, slot + SLOT_BLOCK)
        for i in range(p[P_WORDS]):
            m[slot + SLOT_VALUE + i] = 0
    else:
        shrink(m, slot + SLOT_BLOCK, length, length)
        note(m, p, ring.add(m, p, slot + SLOT_VALUE, d, keys + X_VALUE))
    if p[node + N_PARENT] < 0 or p[node + N_IS_GUARD] == 1:
        m[slot + SLOT_PENDING] = 0


@helper
def _apply_tuple(m: Arena, d: Delta, p: Plan, node: int, slot: int, changed: int) -> None:
    """Bring one changed tuple into the group of a slot, or out of it, and its change into Lambda_n."""
    row = d[changed + X_OF]
    state = d[changed + X_STATE]
    up = row + p[node + N_UP]
    block = m[slot + SLOT_BLOCK] & REF_MASK
    m[H_TOUCHED] += 1
    if state == WILL:
        length = m[slot + SLOT_LEN]
        m[block + length] = row
        m[up] = (slot << 32) | length
        m[slot + SLOT_LEN] = length + 1
    elif state == WAS:
        position = m[up] & MASK32
        last = m[slot + SLOT_LEN] - 1
        m[slot + SLOT_LEN] = last
        if position != last:
            moved = m[block + last]
            m[block + position] = moved
            m[moved + p[node + N_UP]] = (slot << 32) | position
        m[up] = 0
    value = row + p[node + N_VALUE]
    if p[node + N_ATOM] == 1:
        before = m[value]
        m[value] = before + d[changed + X_COUNT]
        m[H_REGISTERED] += (1 if state == WILL else 0) - (1 if state == WAS else 0)
        m[H_DUPLICATES] += (1 if m[value] > 1 else 0) - (1 if before > 1 else 0)
        if state == WAS | WILL:
            m[H_WEIGHED] += 1
    elif state == WAS:
        for i in range(p[P_WORDS]):
            m[value + i] = 0
    else:
        note(m, p, ring.add(m, p, value, d, changed + X_VALUE))


@helper
def _leave_guards(m: Arena, p: Plan, node: int, row: int) -> None:
    """Take a tuple out of Gamma_n where a guard has lost its key, and away where all have."""
    guards = p[node + N_GUARDS]
    present = 0
    for c in range(guards):
        if m[row + p[P_SLOT] * c + SLOT_LEN] > 0:
            present += 1
    if present == guards:
        return
    children = p[node + N_CHILD_LIST]
    for c in range(guards, p[node + N_CHILDREN]):
        link = row + p[node + N_LINK] + c
        if m[link] != 0:
            entry = (m[link] >> 32) & MASK32
            _unlink(m, p, entry, m[link] & MASK32, p[node + N_LINK] + c)
            m[link] = 0
            if m[entry + SLOT_PENDING] == 0:
                _remove_entry(m, p, p[children + c], entry)
    if present == 0:
        remove(m, p[node + N_ROWS_DIRECTORY], row, p[node + N_ROWS_KEY], p[node + N_ROWS_WIDTH])


@helper
def _unlink(m: Arena, p: Plan, entry: int, position: int, offset: int) -> None:
    """Take a tuple out of an entry's block of parents; ``offset`` is that of the LINK in the tuples."""
    parents = entry + p[P_SLOT]
    last = m[parents] - 1
    m[parents] = last
    block = m[parents + 1] & REF_MASK
    if position != last:
        moved = m[block + last]
        m[block + position] = moved
        m[moved + offset] = (entry << 32) | position
    if last > 0:
        shrink(m, parents + 1, last, last)
    else:
        drop(m, parents + 1)


@helper
def _remove_keys(m: Arena, d: Delta, p: Plan, node: int) -> None:
    """End the changes of the keys of all children without guard; entries that nothing refers to go away."""
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_GUARDS], p[node + N_CHILDREN]):
        child = p[children + c]
        keys = d[keys_of(p, child)]
        while keys != 0:
            entry = d[keys + X_OF]
            m[entry + SLOT_PENDING] = 0
            _remove_entry(m, p, child, entry)
            keys = d[keys + X_NEXT]


@helper
def _remove_entry(m: Arena, p: Plan, child: int, entry: int) -> None:
    """Remove an edge entry if it has neither tuples nor parents."""
    if m[entry + SLOT_LEN] == 0 and m[entry + p[P_SLOT]] == 0:
        remove(m, p[child + N_DIRECTORY], entry, p[child + N_ENTRY_KEY], p[child + N_KEY_WIDTH])
