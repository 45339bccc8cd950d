"""The delta of a batch, computed bottom-up: a Delta-T-representation (DYN, Algorithm 2 and Definition 4.20).

For every node the batch has the changed tuples of ``Lambda_n``, grouped by their key, and the changes of ``Psi_n``.
The law, for a hyperedge's tuple t over which a child's ``Psi_c`` changes,

    Delta Lambda_n(t) = product over children c of (Psi_c + Delta Psi_c)(t[pvar(c)])  -  Lambda_n(t)

where the product is zero unless every key is in its ``Psi_c``. Nothing of the T-representation changes here that it can
be told from: entries that are made for tuples to come are empty, and PENDING words are taken back by `forget`.
"""

from __future__ import annotations

from livejoin.kernels.dyn.layout import (
    LISTS,
    N_CHILD_LIST,
    N_CHILDREN,
    N_DIRECTORY,
    N_ENTRY,
    N_ENTRY_KEY,
    N_FACTOR_LIST,
    N_FACTORS,
    N_GUARDS,
    N_INDEX,
    N_IS_GUARD,
    N_KEY,
    N_KEY_WIDTH,
    N_LINK,
    N_NUMBER,
    N_PARENT,
    N_PARENT_KEY,
    N_PENDING,
    N_UP,
    N_VALUE,
    P_SLOT,
    ROOT,
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
from livejoin.kernels.dyn.slots import slot_of
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join import ring
from livejoin.kernels.join.batch_delta import (
    D_BUMP,
    D_LISTS,
    D_PLAIN,
    FULL,
    X_NEXT,
    X_OF,
    record,
)
from livejoin.kernels.join.layout import H_OVERFLOW, H_PROBES, H_PROPAGATED, H_STOPPED, P_MODE, P_WORDS, RING
from livejoin.kernels.memory.blocks import reserve
from livejoin.kernels.memory.directory import find_or_create
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Delta, Plan


@inlined
def keys_of(p: Plan, node: int) -> int:
    """Where the delta has the first record of a node's changed keys."""
    return D_LISTS + LISTS * p[node + N_NUMBER]  # type: ignore[no-any-return]


@inlined
def tuples_of(p: Plan, node: int) -> int:
    """Where the delta has the first record of a node's tuples."""
    return D_LISTS + LISTS * p[node + N_NUMBER] + 1  # type: ignore[no-any-return]


@inlined
def length_after(m: Arena, d: Delta, slot: int) -> int:
    """Live tuples of a slot after the batch."""
    pending = m[slot + SLOT_PENDING]
    length: int = m[slot + SLOT_LEN] if pending == 0 else d[pending + X_STATE]
    return length


@inlined
def note(m: Arena, p: Plan, wraps: int) -> None:
    """Note that an annotation does not fit, if it is one: what ``Psi`` counts without annotations may wrap."""
    if p[P_MODE] == RING:
        m[H_OVERFLOW] |= wraps


@helper
def find_slot(m: Arena, p: Plan, node: int, row: int) -> int:
    """The slot of a tuple's key, made if it is not there; 0 if there is no space."""
    if p[node + N_PARENT] < 0:
        return ROOT
    found = edge(m, p, node, row, p[node + N_KEY])
    if found != 0 and p[node + N_IS_GUARD] == 1:
        found += p[P_SLOT] * p[node + N_INDEX]
    return found


@helper
def edge(m: Arena, p: Plan, node: int, row: int, offsets: int) -> int:
    """The edge entry, or above a guard the parent's tuple, whose key a row has at ``offsets``; 0: no space."""
    m[H_PROBES] += 1
    key = p[node + N_ENTRY_KEY]
    width = p[node + N_KEY_WIDTH]
    return int(find_or_create(m, p, p[node + N_DIRECTORY], p[node + N_ENTRY], key, row, width, offsets))


@helper
def change_key(m: Arena, d: Delta, size: int, p: Plan, node: int, changed: int, slot: int) -> int:
    """Bring the record of a changed tuple into the change of its key, and into its group (Algorithm 2, line 8).

    Returns:
        1, or for want of space 0 if it is in the arena and -1 if it is in the delta.
    """
    keys = record(m, d, size, p, slot + SLOT_PENDING, slot, keys_of(p, node))
    if keys == FULL:
        return -1
    if d[keys + X_GROUP] == 0:
        d[keys + X_STATE] = m[slot + SLOT_LEN]
    if d[changed + X_STATE] == WILL:
        if not reserve(m, slot + SLOT_BLOCK, m[slot + SLOT_LEN], m[slot + SLOT_LEN] + d[keys + X_COUNT] + 1):
            return 0
        d[keys + X_COUNT] += 1
        d[keys + X_STATE] += 1
    elif d[changed + X_STATE] == WAS:
        d[keys + X_STATE] -= 1
    d[changed + X_GROUP] = d[keys + X_GROUP]
    d[keys + X_GROUP] = changed
    note(m, p, ring.add(d, p, keys + X_VALUE, d, changed + X_VALUE))
    return 1


@helper
def change_atom(m: Arena, d: Delta, size: int, p: Plan, node: int) -> int:
    """Delta Lambda and Delta Psi of an atom whose rows' changes are recorded; returns as `change_key`."""
    changed = d[tuples_of(p, node)]
    while changed != 0:
        row = d[changed + X_OF]
        times = d[changed + X_COUNT]
        if times != 0:
            before = m[row + p[node + N_VALUE]]
            slot = (m[row + p[node + N_UP]] >> 32) & MASK32
            if slot == 0:
                slot = find_slot(m, p, node, row)
                if slot == 0:
                    return 0
            d[changed + X_STATE] = (WAS if before > 0 else 0) + (WILL if before + times > 0 else 0)
            if times != 1 and times != -1:
                d[D_PLAIN] = 0
            ring.set_one(d, p, changed + X_VALUE)
            wraps = ring.scale(d, p, changed + X_VALUE, times)
            factors = p[node + N_FACTOR_LIST]
            wraps |= ring.multiply_factors(m, p, factors, p[node + N_FACTORS], row, d, changed + X_VALUE)
            note(m, p, wraps)
            m[H_PROPAGATED] += 1
            space = change_key(m, d, size, p, node, changed, slot)
            if space != 1:
                return space
        changed = d[changed + X_NEXT]
    return 1


@helper
def gather(m: Arena, d: Delta, size: int, p: Plan, node: int) -> bool:
    """The tuples U of a hyperedge on which changes of its children bear (Algorithm 2, lines 2-4); False: no space."""
    children = p[node + N_CHILD_LIST]
    head = tuples_of(p, node)
    for c in range(p[node + N_CHILDREN]):
        child = p[children + c]
        keys = d[keys_of(p, child)]
        while keys != 0:
            slot = d[keys + X_OF]
            if d[keys + X_STATE] != m[slot + SLOT_LEN] or not ring.is_zero(d, p, keys + X_VALUE):
                if p[child + N_IS_GUARD] == 1:
                    row = slot - p[P_SLOT] * c
                    if record(m, d, size, p, row + p[node + N_PENDING], row, head) == FULL:
                        return False
                else:
                    block = m[slot + p[P_SLOT] + 1] & REF_MASK
                    for i in range(m[slot + p[P_SLOT]]):
                        row = m[block + i]
                        if record(m, d, size, p, row + p[node + N_PENDING], row, head) == FULL:
                            return False
            keys = d[keys + X_NEXT]
    return True


@helper
def join_guards(m: Arena, p: Plan, node: int, row: int) -> bool:
    """Bring a tuple into Gamma_n and its indexes if it is not there (Algorithm 1, lines 9-10); False: no space.

    Only `gather` reads these indexes, and it has been here already; the tuple is in U, so that a second try finds what
    the first one did.
    """
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_GUARDS], p[node + N_CHILDREN]):
        link = row + p[node + N_LINK] + c
        if m[link] == 0:
            child = p[children + c]
            entry = edge(m, p, child, row, p[child + N_PARENT_KEY])
            if entry == 0:
                return False
            parents = entry + p[P_SLOT]
            count = m[parents]
            if not reserve(m, parents + 1, count, count + 1):
                return False
            m[(m[parents + 1] & REF_MASK) + count] = row
            m[parents] = count + 1
            m[link] = (entry << 32) | count
    return True


@helper
def change_hyperedge(m: Arena, d: Delta, size: int, p: Plan, node: int) -> int:
    """Delta Lambda and Delta Psi of a hyperedge (Algorithm 2, lines 5-8); returns as `change_key`."""
    children = p[node + N_CHILD_LIST]
    changed = d[tuples_of(p, node)]
    while changed != 0:
        row = d[changed + X_OF]
        slot = (m[row + p[node + N_UP]] >> 32) & MASK32
        was = slot != 0
        will = True
        for c in range(p[node + N_GUARDS]):
            if length_after(m, d, slot_of(m, p, node, p[children + c], row)) == 0:
                will = False
                break
        if will:
            if not join_guards(m, p, node, row):
                return 0
            for c in range(p[node + N_GUARDS], p[node + N_CHILDREN]):
                if length_after(m, d, slot_of(m, p, node, p[children + c], row)) == 0:
                    will = False
                    break
        value = changed + X_VALUE
        if will:
            ring.set_one(d, p, value)
            for c in range(p[node + N_CHILDREN]):
                multiply_key(m, d, p, slot_of(m, p, node, p[children + c], row), value)
        if was:
            note(m, p, ring.subtract(d, p, value, m, row + p[node + N_VALUE]))
        m[H_PROPAGATED] += 1
        if was != will or (was and not ring.is_zero(d, p, value)):
            if not was:
                slot = find_slot(m, p, node, row)
                if slot == 0:
                    return 0
            d[changed + X_STATE] = (WAS if was else 0) + (WILL if will else 0)
            space = change_key(m, d, size, p, node, changed, slot)
            if space != 1:
                return space
        else:
            m[H_STOPPED] += 1
        changed = d[changed + X_NEXT]
    return 1


@helper
def multiply_key(m: Arena, d: Delta, p: Plan, slot: int, at: int) -> None:
    """Multiply the vector at ``d[at]`` by Psi of a key after the batch.

    The sum is made behind the delta's last record, where `record` leaves space for one more.
    """
    pending = m[slot + SLOT_PENDING]
    if pending == 0:
        note(m, p, ring.multiply(d, p, at, m, slot + SLOT_VALUE))
        return
    spare = d[D_BUMP]
    ring.copy(d, spare, m, slot + SLOT_VALUE, p[P_WORDS])
    wraps = ring.add(d, p, spare, d, pending + X_VALUE)
    note(m, p, wraps | ring.multiply(d, p, at, d, spare))
