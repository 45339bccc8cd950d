"""Registration of an atom's rows in the directories of its incident tree edges.

A row looks up its entry in each incident directory once, when it is registered, and remembers it; everything after
that follows references. `prepare` does all that needs space and may be repeated; `enroll` and `withdraw` cannot fail.
"""

from __future__ import annotations

from typing import Any

from livejoin.kernels.blocks import drop, reserve, shrink
from livejoin.kernels.directory import create, find, hash_key, remove
from livejoin.kernels.jit import helper
from livejoin.kernels.layout import (
    COUNTER_BITS,
    E_PARENT_BLOCK,
    E_PARENTS,
    H_REGISTERED,
    H_ROOT,
    MASK32,
    N_ATOM,
    N_CHAIN,
    N_CHAIN_LIST,
    N_CHILD_LIST,
    N_CHILDREN,
    N_DIRECTORY,
    N_ENTRY,
    N_ENTRY_KEY,
    N_INDEX,
    N_KEY,
    N_KEY_WIDTH,
    N_LINK,
    N_PARENT,
    N_PARENT_KEY,
    N_ROWS_DIRECTORY,
    N_ROWS_ENTRY,
    N_ROWS_KEY,
    N_ROWS_WIDTH,
    N_STATE,
    N_UP,
    REF_MASK,
    S_BLOCK,
    S_LEN,
    SLOT,
)


@helper
def edge_entry(m: Any, p: Any, node: int, row: int, offsets: int) -> int:
    """Find or create the entry of the edge above ``node`` for the key that ``row`` has at ``offsets``; 0: no space."""
    directory = p[node + N_DIRECTORY]
    key = p[node + N_ENTRY_KEY]
    width = p[node + N_KEY_WIDTH]
    h = hash_key(m, p, row, width, offsets)
    entry: int = find(m, p, directory, key, row, width, offsets, h)
    if entry == 0:
        entry = create(m, p, directory, p[node + N_ENTRY], key, row, width, offsets, h)
    return entry


@helper
def reserve_slot(m: Any, slot: int) -> bool:
    """Make room for one more registered row in a slot."""
    word = m[slot + S_LEN]
    return reserve(m, slot + S_BLOCK, word >> 32, (word & MASK32) + 1)


@helper
def generalized_row(m: Any, p: Any, node: int, row: int) -> int:
    """Find or create the rows of all generalized ancestors of an atom, from the top; the lowest one, 0: no space."""
    chain = p[node + N_CHAIN_LIST]
    slot = H_ROOT
    found: int = 0
    for i in range(p[node + N_CHAIN]):
        ancestor = p[chain + 2 * i]
        offsets = p[chain + 2 * i + 1]
        directory = p[ancestor + N_ROWS_DIRECTORY]
        key = p[ancestor + N_ROWS_KEY]
        width = p[ancestor + N_ROWS_WIDTH]
        if i > 0:
            slot = found + SLOT * p[ancestor + N_INDEX]
        h = hash_key(m, p, row, width, offsets)
        found = find(m, p, directory, key, row, width, offsets, h)
        if found == 0:
            if not reserve_slot(m, slot):
                return 0
            found = create(m, p, directory, p[ancestor + N_ROWS_ENTRY], key, row, width, offsets, h)
            if found == 0:
                return 0
            m[found + p[ancestor + N_UP]] = slot << 32
            m[slot + S_LEN] += 1
    return found


@helper
def prepare(m: Any, p: Any, node: int, row: int) -> bool:
    """Find or create a row's entries and make room in their blocks; may be repeated. False if there is no space."""
    parent = p[node + N_PARENT]
    if parent < 0:
        slot = H_ROOT
    elif p[parent + N_ATOM] == 0:
        above = generalized_row(m, p, node, row)
        if above == 0:
            return False
        slot = above + SLOT * p[node + N_INDEX]
    else:
        slot = edge_entry(m, p, node, row, p[node + N_KEY])
        if slot == 0:
            return False
    if not reserve_slot(m, slot):
        return False
    m[row + p[node + N_UP]] = slot << 32
    links = row + p[node + N_LINK]
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        child = p[children + c]
        entry = edge_entry(m, p, child, row, p[child + N_PARENT_KEY])
        if entry == 0:
            return False
        count = m[entry + E_PARENTS] >> 32
        if not reserve(m, entry + E_PARENT_BLOCK, count, count + 1):
            return False
        m[links + c] = entry << 32
    return True


@helper
def enroll(m: Any, p: Any, node: int, row: int, weight: int) -> bool:
    """Register a prepared row: the first half of R-UPDATE (CROWN, Algorithm 4). Returns whether it belongs to V_s."""
    slot = (m[row + p[node + N_UP]] >> 32) & MASK32
    m[slot + S_LEN] += 1
    links = row + p[node + N_LINK]
    counter = 0
    for c in range(p[node + N_CHILDREN]):
        entry = (m[links + c] >> 32) & MASK32
        parents = m[entry + E_PARENTS]
        position = parents >> 32
        m[(m[entry + E_PARENT_BLOCK] & REF_MASK) + position] = row
        m[entry + E_PARENTS] = parents + (1 << 32)
        m[links + c] = (entry << 32) | position
        if m[entry + S_LEN] >> 32 > 0:
            counter += 1
    m[row + p[node + N_STATE]] = (weight << COUNTER_BITS) | counter
    m[H_REGISTERED] += 1
    return bool(counter == p[node + N_CHILDREN])


@helper
def leave_slot(m: Any, p: Any, node: int, slot: int) -> None:
    """One registered row less below ``slot``; entries and generalized rows that nothing refers to are removed."""
    while True:
        m[slot + S_LEN] -= 1
        word = m[slot + S_LEN]
        shrink(m, slot + S_BLOCK, word >> 32, word & MASK32)
        parent = p[node + N_PARENT]
        if word & MASK32 != 0 or parent < 0:
            return
        drop(m, slot + S_BLOCK)
        if p[parent + N_ATOM] == 1:
            if m[slot + E_PARENTS] == 0:
                drop(m, slot + E_PARENT_BLOCK)
                remove(m, p[node + N_DIRECTORY], slot, p[node + N_ENTRY_KEY], p[node + N_KEY_WIDTH])
            return
        above = slot - SLOT * p[node + N_INDEX]
        for c in range(p[parent + N_CHILDREN]):
            if m[above + SLOT * c + S_LEN] != 0:
                return
        slot = (m[above + p[parent + N_UP]] >> 32) & MASK32
        remove(m, p[parent + N_ROWS_DIRECTORY], above, p[parent + N_ROWS_KEY], p[parent + N_ROWS_WIDTH])
        node = parent


@helper
def withdraw(m: Any, p: Any, node: int, row: int) -> None:
    """Unregister a row that is not in V_s and therefore not live."""
    links = row + p[node + N_LINK]
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        entry = (m[links + c] >> 32) & MASK32
        position = m[links + c] & MASK32
        m[entry + E_PARENTS] -= 1 << 32
        parents = m[entry + E_PARENTS]
        last = parents >> 32
        block = m[entry + E_PARENT_BLOCK] & REF_MASK
        if position != last:
            moved = m[block + last]
            m[block + position] = moved
            m[moved + p[node + N_LINK] + c] = (entry << 32) | position
        if last > 0:
            shrink(m, entry + E_PARENT_BLOCK, last, last)
        elif m[entry + S_LEN] == 0:
            child = p[children + c]
            drop(m, entry + E_PARENT_BLOCK)
            remove(m, p[child + N_DIRECTORY], entry, p[child + N_ENTRY_KEY], p[child + N_KEY_WIDTH])
        else:
            drop(m, entry + E_PARENT_BLOCK)
    leave_slot(m, p, node, (m[row + p[node + N_UP]] >> 32) & MASK32)
    m[row + p[node + N_STATE]] = 0
    m[H_REGISTERED] -= 1
