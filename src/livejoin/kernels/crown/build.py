"""The views of a join tree built at once over rows that are there, one node after the other, children first.

A row that comes alone looks its keys up where they happen to lie: a miss of the cache for the hash slot, the entry and
the block of each of its edges. Here the rows of a node come to an edge sorted by the hash of its key. So the rows of a
key come one behind the other, entries and blocks are laid out in the order in which the rows come to them, and a block
has its final size from the begin. Nodes are taken in the postorder of CROWN's plan (4.1, Algorithm 1), so that all that
a row depends on is final before it is placed: a counter that was read is not changed again, an annotation is multiplied
once.

Law: the state is one to which some order of insertions leads, without deltas. Cost: O(rows), and that of the sorting.

`enlist` first says which rows are there. Then for each node, children first: `begin_derived` where it is derived,
`place_parents` for each linked child, `place_rows`, and `settle` where what the node is worth flips; if live views are
kept, from the root on `mark_parents` and `mark_derived`. All but the first go over a range and return where they have
stopped, before its end where the arena has no space: grow it, and go on from there.
"""

from __future__ import annotations

from livejoin.kernels.crown.annotate import has_results, worth
from livejoin.kernels.crown.annotation import annotation
from livejoin.kernels.crown.layout import (
    COUNTER_BITS,
    COUNTER_MASK,
    E_PARENT_BLOCK,
    E_PARENTS,
    EDGE_NOT_EXISTS,
    EDGE_OPTIONAL,
    F_WEIGHT,
    H_ROOT,
    H_SEEN,
    H_STACK,
    N_ANNOTATED,
    N_ATOM,
    N_BIT,
    N_CHILDREN,
    N_CONNEX,
    N_DIRECTORY,
    N_EDGE,
    N_INDEX,
    N_INLINE,
    N_KEY,
    N_KEY_WIDTH,
    N_LINK,
    N_LINKED,
    N_OWN,
    N_PARENT,
    N_PARENT_KEY,
    N_QUIET,
    N_ROWS_DIRECTORY,
    N_STATE,
    N_TABLE,
    N_UP,
    N_WEIGHT,
    N_WORK,
    S_BLOCK,
    S_LEN,
    SLOT,
    W_ENTERED,
    W_STOPPED,
)
from livejoin.kernels.crown.live_views import swap_parents
from livejoin.kernels.crown.register import derived_row, edge_entry, is_satisfied
from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.join import ring
from livejoin.kernels.join.ahead import AHEAD
from livejoin.kernels.join.layout import (
    CHUNK_BITS,
    CHUNK_ROWS,
    H_DUPLICATES,
    H_OVERFLOW,
    H_PROPAGATED,
    H_REGISTERED,
    H_STOPPED,
    P_FIRST_TABLE,
    PLAN_TABLE,
    PT_ATOM_LIST,
    PT_ATOMS,
    PT_HEADER,
    PT_STRIDE,
    T_CHUNKS,
    T_COUNT,
    V_MASK,
    V_ROW,
    V_TABLE,
    V_WEIGHT,
)
from livejoin.kernels.join.records import record_of
from livejoin.kernels.memory.arena import allocate, words
from livejoin.kernels.memory.blocks import make_room
from livejoin.kernels.memory.directory import hash_key
from livejoin.kernels.memory.layout import CLASS_SHIFT, D_LOG, D_SLOTS, H_MOVING, H_TARGET, MASK32, REF_MASK
from livejoin.kernels.parameters import Arena, ArenaArray, Line, Matrix, Plan


@kernel
def enlist(arena: ArenaArray, plan: Plan, events: Matrix) -> None:
    """Take note of rows that come, whose records are loaded, with their multiplicities.

    Args:
        arena: The arena of an empty join, or of one in which rows have been enlisted; changed.
        plan: The join's plan.
        events: As for `livejoin.kernels.crown.maintain.maintain`.
    """
    m = words(arena)
    p = words(plan)
    for event in range(events.shape[1]):
        table = p[P_FIRST_TABLE] + events[V_TABLE, event] * PLAN_TABLE
        row = record_of(m, p, events[V_TABLE, event], events[V_ROW, event])
        for atom in range(p[table + PT_ATOMS]):
            node = p[p[table + PT_ATOM_LIST] + atom]
            before = m[row + p[node + N_STATE]] >> COUNTER_BITS
            after = before + events[V_WEIGHT, event]
            if (events[V_MASK, event] >> p[node + N_BIT]) & 1:
                m[row + p[node + N_STATE]] = after << COUNTER_BITS
                m[H_REGISTERED] += 1 if before == 0 else 0
                m[H_DUPLICATES] += 1 if before <= 1 and after > 1 else 0


@kernel
def places(arena: ArenaArray, plan: Plan, node: int) -> int:
    """Where rows of a node may be: the range of `keys_of`, `begin_derived` and `mark_derived`."""
    m = words(arena)
    p = words(plan)
    if p[node + N_ATOM] == 0:
        return int(1 << m[p[node + N_ROWS_DIRECTORY] + D_LOG])
    table = p[P_FIRST_TABLE] + p[node + N_TABLE] * PLAN_TABLE
    return int(m[p[table + PT_HEADER] + T_COUNT] * CHUNK_ROWS)


@inlined
def _derived_at(m: Arena, p: Plan, node: int, place: int) -> int:
    """The row of a derived node that a hash slot has, 0 if none."""
    return m[m[p[node + N_ROWS_DIRECTORY] + D_SLOTS] + place] & MASK32  # type: ignore[no-any-return]


@inlined
def _row_at(m: Arena, p: Plan, node: int, place: int) -> int:
    """The row of a node at a place, 0 if there is none."""
    if p[node + N_ATOM] == 0:
        return _derived_at(m, p, node, place)
    table = p[P_FIRST_TABLE] + p[node + N_TABLE] * PLAN_TABLE
    chunk = m[m[p[table + PT_HEADER] + T_CHUNKS] + (place >> CHUNK_BITS)]
    row = chunk + (place & (CHUNK_ROWS - 1)) * p[table + PT_STRIDE]
    return row if m[row + p[node + N_STATE]] >> COUNTER_BITS > 0 else 0


@kernel
def keys_of(arena: ArenaArray, plan: Plan, node: int, child: int, begin: int, end: int, keys: Line) -> int:
    """Write the rows of a node in a range, each below the hash of its key of an edge.

    Args:
        arena: The arena.
        plan: The join's plan.
        node: The node.
        child: The child at whose edge the key is; the node itself for its own edge, at the root for no key.
        begin: The begin of the range.
        end: The end of the range.
        keys: int64 with room for the range: the hash in the high, the row in the low 32 bits.

    Returns:
        How many there are.
    """
    m = words(arena)
    p = words(plan)
    width = p[child + N_KEY_WIDTH]
    offsets = p[child + N_KEY] if child == node else p[child + N_PARENT_KEY]
    found = 0
    for place in range(begin, end):
        row = _row_at(m, p, node, place)
        if row != 0:
            keys[found] = (hash_key(m, p, row, width, offsets) << 32) | row
            found += 1
    return found


@kernel
def ask_for_slots(arena: ArenaArray, plan: Plan, node: int, log: int) -> bool:
    """Let the directory above a node have at least ``1 << log`` slots once it was moved (`move_slots`).

    Rows that come in the order of their hashes would fill the begin of a smaller one to the last slot.

    Returns:
        False if there is no space for them.
    """
    m = words(arena)
    p = words(plan)
    directory = p[node + N_DIRECTORY]
    if m[directory + D_LOG] < log:
        slots = allocate(m, log)
        if slots == 0:
            return False
        m[H_TARGET] = slots | (log << CLASS_SHIFT)
        m[H_MOVING] = directory
    return True


@inlined
def _read_ahead(m: Arena, keys: Line, begin: int, end: int, offset: int) -> int:
    """Read a word of each of the next rows; what was read, for nobody."""
    seen = 0
    for i in range(begin, min(begin + AHEAD, end)):
        seen ^= m[(keys[i] & MASK32) + offset]
    return seen


@inlined
def _agree(m: Arena, p: Plan, one: int, other: int, width: int, offsets: int) -> bool:
    """Whether two rows have the same key."""
    for i in range(width):
        if m[one + p[offsets + i]] != m[other + p[offsets + i]]:
            return False
    return True


@helper
def _run_of(m: Arena, p: Plan, keys: Line, begin: int, end: int, width: int, offsets: int) -> int:
    """Where the rows end that have the key of the first one, as far as they follow it."""
    first = keys[begin] & MASK32
    i = begin + 1
    while i < end and (keys[i] ^ keys[begin]) >> 32 == 0 and _agree(m, p, first, keys[i] & MASK32, width, offsets):
        i += 1
    return i


@kernel
def begin_derived(arena: ArenaArray, plan: Plan, node: int, begin: int, end: int) -> int:
    """Count for the rows of a derived node the inline children that have a row for them."""
    m = words(arena)
    p = words(plan)
    for place in range(begin, end):
        row = _derived_at(m, p, node, place)
        if row != 0:
            counter = 0
            for c in range(p[node + N_INLINE]):
                if m[row + SLOT * c + S_LEN] >> 32 > 0:
                    counter += 1
            m[row + p[node + N_STATE]] = counter
    return end


@kernel
def place_parents(arena: ArenaArray, plan: Plan, child: int, keys: Line, begin: int, end: int) -> int:
    """Link the rows of a node to their entries at the edge to a linked child, whose rows are placed.

    Args:
        arena: The arena; changed.
        plan: The join's plan.
        child: The child.
        keys: The keys of the child's edge from `keys_of`, sorted.
        begin: The first of the rows.
        end: Behind the last one.
    """
    m = words(arena)
    p = words(plan)
    width = p[child + N_KEY_WIDTH]
    offsets = p[child + N_PARENT_KEY]
    state = p[p[child + N_PARENT] + N_STATE]
    link = p[p[child + N_PARENT] + N_LINK] + p[child + N_INDEX]
    at = read = begin
    while at < end:
        if at >= read:
            m[H_SEEN] ^= _read_ahead(m, keys, at, end, link)
            read = at + AHEAD
        behind = _run_of(m, p, keys, at, end, width, offsets)
        entry = edge_entry(m, p, child, keys[at] & MASK32, offsets)
        if entry == 0:
            return at
        parents = m[entry + E_PARENTS] >> 32
        is_listed = p[child + N_QUIET] == 0
        if is_listed and not make_room(m, entry + E_PARENT_BLOCK, parents, parents + behind - at):
            return at
        satisfied = 1 if is_satisfied(m, p, child, entry) else 0
        block = m[entry + E_PARENT_BLOCK] & REF_MASK
        for i in range(at, behind):
            row = keys[i] & MASK32
            position = 0
            if is_listed:
                position = parents
                m[block + position] = row
            m[row + link] = (entry << 32) | position
            m[row + state] += satisfied
            parents += 1
        m[entry + E_PARENTS] = parents << 32
        at = behind
    return at


@helper
def _slot_of(m: Arena, p: Plan, node: int, row: int) -> int:
    """The slot of a row's key, with its entry made if there is none; 0: no space."""
    if p[node + N_PARENT] < 0:
        return H_ROOT
    if p[node + N_LINKED] == 1:
        return int(edge_entry(m, p, node, row, p[node + N_KEY]))
    above = derived_row(m, p, p[node + N_PARENT], row, p[node + N_KEY])
    return above + SLOT * p[node + N_INDEX] if above != 0 else 0


@helper
def _annotate(m: Arena, p: Plan, node: int, row: int, slot: int) -> None:
    """Add a row's annotation to that of its slot."""
    scratch = H_STACK + F_WEIGHT
    times = m[row + p[node + N_STATE]] >> COUNTER_BITS if p[node + N_ATOM] == 1 else 1
    wraps = annotation(m, p, node, row, times, -1, m, scratch)
    total = slot + (p[node + N_OWN] if p[node + N_EDGE] == EDGE_OPTIONAL else p[node + N_WEIGHT])
    m[H_OVERFLOW] |= wraps | ring.add(m, p, total, m, scratch)


@kernel
def place_rows(arena: ArenaArray, plan: Plan, node: int, keys: Line, begin: int, end: int) -> int:
    """Bring the rows of a node into V_s and V_p of its own edge; all its children are placed, and it is linked to them.

    Args:
        arena: The arena; changed.
        plan: The join's plan.
        node: The node.
        keys: The keys of the node's own edge from `keys_of`, sorted.
        begin: The first of the rows.
        end: Behind the last one.
    """
    m = words(arena)
    p = words(plan)
    is_root = p[node + N_PARENT] < 0
    connex = p[node + N_CONNEX] == 1
    state = p[node + N_STATE]
    up = p[node + N_UP]
    at = read = begin
    while at < end:
        if at >= read:
            m[H_SEEN] ^= _read_ahead(m, keys, at, end, up)
            read = at + AHEAD
        behind = end if is_root else _run_of(m, p, keys, at, end, p[node + N_KEY_WIDTH], p[node + N_KEY])
        slot = _slot_of(m, p, node, keys[at] & MASK32)
        if slot == 0:
            return at
        length = m[slot + S_LEN] >> 32
        registered = (m[slot + S_LEN] & MASK32) + behind - at
        if connex and not make_room(m, slot + S_BLOCK, length, registered):
            return at
        block = m[slot + S_BLOCK] & REF_MASK
        before = length
        for i in range(at, behind):
            row = keys[i] & MASK32
            position = 0
            if m[row + state] & COUNTER_MASK == p[node + N_CHILDREN]:
                if connex:
                    m[block + length] = row
                    position = length
                length += 1
            m[row + up] = (slot << 32) | position
            if p[node + N_ANNOTATED] == 1:
                _annotate(m, p, node, row, slot)
        m[slot + S_LEN] = (length << 32) | registered
        m[H_PROPAGATED] += length - before
        goes_up = not is_root and before == 0 and length > 0 and p[node + N_EDGE] <= EDGE_NOT_EXISTS
        m[H_STOPPED] += length - before - (1 if goes_up else 0)
        m[p[node + N_WORK] + W_ENTERED] += length - before
        m[p[node + N_WORK] + W_STOPPED] += length - before - (1 if goes_up else 0)
        at = behind
    return at


@kernel
def slots_above(arena: ArenaArray, plan: Plan, node: int) -> int:
    """Hash slots of the directory above a node: the range of `settle` and `mark_parents`."""
    return int(1 << words(arena)[words(plan)[node + N_DIRECTORY] + D_LOG])


@inlined
def _entry_at(m: Arena, p: Plan, node: int, place: int) -> int:
    """The entry of the edge above a node that a hash slot has, 0 if none."""
    return m[m[p[node + N_DIRECTORY] + D_SLOTS] + place] & MASK32  # type: ignore[no-any-return]


@kernel
def settle(arena: ArenaArray, plan: Plan, node: int, begin: int, end: int) -> int:
    """Say for the slots of a linked node what they are worth, where that depends on whether V_s has rows there."""
    m = words(arena)
    p = words(plan)
    for place in range(begin, end):
        entry = _entry_at(m, p, node, place)
        if entry != 0:
            m[H_OVERFLOW] |= worth(m, p, node, entry, entry + p[node + N_WEIGHT])
    return end


@kernel
def mark_parents(arena: ArenaArray, plan: Plan, node: int, begin: int, end: int) -> int:
    """Put the live ones among the parent rows of a linked node's entries first."""
    m = words(arena)
    p = words(plan)
    parent = p[node + N_PARENT]
    link = p[parent + N_LINK] + p[node + N_INDEX]
    for place in range(begin, end):
        entry = _entry_at(m, p, node, place)
        if entry == 0:
            continue
        block = m[entry + E_PARENT_BLOCK] & REF_MASK
        live = 0
        for i in range(m[entry + E_PARENTS] >> 32):
            row = m[block + i]
            if has_results(m, p, parent, row):
                swap_parents(m, entry, link, row, i, live)
                live += 1
        m[entry + E_PARENTS] += live
    return end


@kernel
def mark_derived(arena: ArenaArray, plan: Plan, node: int, begin: int, end: int) -> int:
    """Flag the live ones among the rows of a derived node."""
    m = words(arena)
    p = words(plan)
    for place in range(begin, end):
        row = _derived_at(m, p, node, place)
        if row != 0 and has_results(m, p, node, row):
            m[row + p[node + N_STATE]] += 1 << COUNTER_BITS
    return end
