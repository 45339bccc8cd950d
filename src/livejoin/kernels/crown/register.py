"""Registration of rows in the directories of their incident tree edges.

A row looks up its entry in each incident directory once, when it is registered, and remembers it; everything after
that follows references. `prepare` does all that needs space and may be repeated; `enroll` and `withdraw` cannot fail.
A derived row, of a generalized relation or a projection, is registered as long as an atom's row is registered below
one of its inline children.
"""

from __future__ import annotations

from livejoin.kernels.crown.layout import (
    COUNTER_BITS,
    E_PARENT_BLOCK,
    E_PARENTS,
    EDGE_NOT_EXISTS,
    EDGE_OPTIONAL,
    H_ROOT,
    N_CHAIN,
    N_CHAIN_LIST,
    N_CHILD_LIST,
    N_CHILDREN,
    N_CONNEX,
    N_DIRECTORY,
    N_EDGE,
    N_ENTRY,
    N_ENTRY_KEY,
    N_INDEX,
    N_INLINE,
    N_KEY,
    N_KEY_WIDTH,
    N_LINK,
    N_LINKED,
    N_PARENT,
    N_PARENT_KEY,
    N_QUIET,
    N_ROWS_DIRECTORY,
    N_ROWS_ENTRY,
    N_ROWS_KEY,
    N_ROWS_WIDTH,
    N_STATE,
    N_UP,
    S_BLOCK,
    S_LEN,
    SLOT,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.layout import H_PROBES, H_REGISTERED
from livejoin.kernels.memory.blocks import drop, reserve, shrink
from livejoin.kernels.memory.directory import find_or_create, remove
from livejoin.kernels.memory.layout import MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, Plan


@helper
def edge_entry(m: Arena, p: Plan, node: int, row: int, offsets: int) -> int:
    """Find or create the entry of the edge above ``node`` for the key that ``row`` has at ``offsets``; 0: no space."""
    m[H_PROBES] += 1
    key = p[node + N_ENTRY_KEY]
    width = p[node + N_KEY_WIDTH]
    return int(find_or_create(m, p, p[node + N_DIRECTORY], p[node + N_ENTRY], key, row, width, offsets))


@helper
def derived_row(m: Arena, p: Plan, node: int, row: int, offsets: int) -> int:
    """Find or create the row of a derived node with the variables that ``row`` has at ``offsets``; 0: no space."""
    m[H_PROBES] += 1
    key = p[node + N_ROWS_KEY]
    width = p[node + N_ROWS_WIDTH]
    return int(find_or_create(m, p, p[node + N_ROWS_DIRECTORY], p[node + N_ROWS_ENTRY], key, row, width, offsets))


@inlined
def is_enrolled(m: Arena, p: Plan, node: int, row: int) -> bool:
    """Whether a derived row is registered: something is registered below it."""
    for c in range(p[node + N_INLINE]):
        if m[row + SLOT * c + S_LEN] != 0:
            return True
    return False


@helper
def prepare_row(m: Arena, p: Plan, node: int, row: int, above: int) -> bool:
    """Find or create the entries of one row and make room in their blocks; False if there is no space.

    Args:
        m: The arena.
        p: The plan.
        node: The row's node.
        row: The row.
        above: The derived row in which the row's slot lies, unused where the node is linked or the root.
    """
    if p[node + N_PARENT] < 0:
        slot = H_ROOT
    elif p[node + N_LINKED] == 0:
        slot = above + SLOT * p[node + N_INDEX]
    else:
        slot = edge_entry(m, p, node, row, p[node + N_KEY])
        if slot == 0:
            return False
    if p[node + N_CONNEX] == 1:
        word = m[slot + S_LEN]
        if not reserve(m, slot + S_BLOCK, word >> 32, (word & MASK32) + 1):
            return False
    m[row + p[node + N_UP]] = slot << 32
    links = row + p[node + N_LINK]
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_INLINE], p[node + N_CHILDREN]):
        child = p[children + c]
        entry = edge_entry(m, p, child, row, p[child + N_PARENT_KEY])
        if entry == 0:
            return False
        count = m[entry + E_PARENTS] >> 32
        if p[child + N_QUIET] == 0 and not reserve(m, entry + E_PARENT_BLOCK, count, count + 1):
            return False
        m[links + c] = entry << 32
    return True


@helper
def prepare(m: Arena, p: Plan, node: int, row: int) -> bool:
    """Prepare an atom's row and the derived rows above it, from the top; may be repeated. False: no space."""
    chain = p[node + N_CHAIN_LIST]
    above = 0
    for i in range(p[node + N_CHAIN]):
        ancestor = p[chain + 2 * i]
        found = derived_row(m, p, ancestor, row, p[chain + 2 * i + 1])
        if found == 0 or (not is_enrolled(m, p, ancestor, found) and not prepare_row(m, p, ancestor, found, above)):
            return False
        above = found
    return bool(prepare_row(m, p, node, row, above))


@inlined
def is_satisfied(m: Arena, p: Plan, child: int, slot: int) -> bool:
    """Whether the edge above a child is satisfied for the parents of a slot."""
    kind = p[child + N_EDGE]
    return kind == EDGE_OPTIONAL or (m[slot + S_LEN] >> 32 > 0) != (kind == EDGE_NOT_EXISTS)  # type: ignore[no-any-return]


@helper
def enroll_row(m: Arena, p: Plan, node: int, row: int) -> int:
    """Register a prepared row; returns its counter: the children whose edge is satisfied."""
    slot = (m[row + p[node + N_UP]] >> 32) & MASK32
    m[slot + S_LEN] += 1
    links = row + p[node + N_LINK]
    children = p[node + N_CHILD_LIST]
    counter = 0
    for c in range(p[node + N_INLINE], p[node + N_CHILDREN]):
        child = p[children + c]
        entry = (m[links + c] >> 32) & MASK32
        parents = m[entry + E_PARENTS]
        m[entry + E_PARENTS] = parents + (1 << 32)
        if p[child + N_QUIET] == 0:
            position = parents >> 32
            m[(m[entry + E_PARENT_BLOCK] & REF_MASK) + position] = row
            m[links + c] = (entry << 32) | position
        if is_satisfied(m, p, child, entry):
            counter += 1
    return counter


@helper
def enroll(m: Arena, p: Plan, node: int, row: int, weight: int) -> bool:
    """Register a prepared row of an atom and the derived rows above it that are new.

    The first half of R-UPDATE (CROWN, Algorithm 4). Returns whether the row belongs to V_s.
    """
    counter = 0
    current = node
    found = row
    new = True
    while new:
        new = False
        above = 0
        if p[current + N_PARENT] >= 0 and p[current + N_LINKED] == 0:
            above = ((m[found + p[current + N_UP]] >> 32) & MASK32) - SLOT * p[current + N_INDEX]
            new = not is_enrolled(m, p, p[current + N_PARENT], above)
        counted = enroll_row(m, p, current, found)
        if current == node:
            counter = counted
        else:
            m[found + p[current + N_STATE]] = counted
        found = above
        current = p[current + N_PARENT]
    m[row + p[node + N_STATE]] = (weight << COUNTER_BITS) | counter
    m[H_REGISTERED] += 1
    return bool(counter == p[node + N_CHILDREN])


@helper
def unlink(m: Arena, p: Plan, node: int, row: int) -> None:
    """Take a row out of the parent blocks of its linked children; entries that nothing refers to are removed."""
    links = row + p[node + N_LINK]
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_INLINE], p[node + N_CHILDREN]):
        child = p[children + c]
        entry = (m[links + c] >> 32) & MASK32
        m[entry + E_PARENTS] -= 1 << 32
        last = m[entry + E_PARENTS] >> 32
        if p[child + N_QUIET] == 0:
            _unlist(m, p, node, c, entry, m[links + c] & MASK32, last)
        if last == 0 and m[entry + S_LEN] == 0:
            remove(m, p[child + N_DIRECTORY], entry, p[child + N_ENTRY_KEY], p[child + N_KEY_WIDTH])


@inlined
def _unlist(m: Arena, p: Plan, node: int, child: int, entry: int, position: int, last: int) -> None:
    """Take the parent row at a position out of the block of an entry, whose last one takes its place."""
    block = m[entry + E_PARENT_BLOCK] & REF_MASK
    if position != last:
        moved = m[block + last]
        m[block + position] = moved
        m[moved + p[node + N_LINK] + child] = (entry << 32) | position
    if last > 0:
        shrink(m, entry + E_PARENT_BLOCK, last, last)
    else:
        drop(m, entry + E_PARENT_BLOCK)


@helper
def leave_slot(m: Arena, p: Plan, node: int, slot: int) -> None:
    """One registered row less below ``slot``; entries and derived rows that nothing refers to are removed."""
    while True:
        m[slot + S_LEN] -= 1
        word = m[slot + S_LEN]
        if p[node + N_CONNEX] == 1:
            shrink(m, slot + S_BLOCK, word >> 32, word & MASK32)
        parent = p[node + N_PARENT]
        if word != 0 or parent < 0:
            return
        drop(m, slot + S_BLOCK)
        if p[node + N_LINKED] == 1:
            if m[slot + E_PARENTS] == 0:
                drop(m, slot + E_PARENT_BLOCK)
                remove(m, p[node + N_DIRECTORY], slot, p[node + N_ENTRY_KEY], p[node + N_KEY_WIDTH])
            return
        above = slot - SLOT * p[node + N_INDEX]
        if is_enrolled(m, p, parent, above):
            return
        unlink(m, p, parent, above)
        slot = (m[above + p[parent + N_UP]] >> 32) & MASK32
        remove(m, p[parent + N_ROWS_DIRECTORY], above, p[parent + N_ROWS_KEY], p[parent + N_ROWS_WIDTH])
        node = parent


@helper
def withdraw(m: Arena, p: Plan, node: int, row: int) -> None:
    """Unregister an atom's row that is not in V_s and therefore not live."""
    unlink(m, p, node, row)
    leave_slot(m, p, node, (m[row + p[node + N_UP]] >> 32) & MASK32)
    m[row + p[node + N_STATE]] = 0
    m[H_REGISTERED] -= 1
