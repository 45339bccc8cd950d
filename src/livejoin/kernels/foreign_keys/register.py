"""Registration of rows: their key's entry, and their links to the entries of their children's keys.

A row looks up its keys once, when it comes; everything after that follows links. `prepare` does all that needs space
and may be repeated; `enroll` and `withdraw` cannot fail. An entry is there while a row has its key or waits for it.
"""

from __future__ import annotations

from livejoin.kernels.foreign_keys.follow import next_parent, previous_parent
from livejoin.kernels.foreign_keys.layout import (
    C_HEAD,
    C_KEY,
    C_KIND,
    C_LINK,
    C_NODE,
    C_QUIET,
    CHILD,
    COUNTER_BITS,
    E_HEADS,
    E_HOLDS,
    H_LIVE,
    H_LIVE_COUNT,
    H_ROOT_ROWS,
    L_ENTRY,
    L_NEIGHBOURS,
    N_CHILD_LIST,
    N_CHILDREN,
    N_DIRECTORY,
    N_ENTRY,
    N_ENTRY_KEY,
    N_FULL,
    N_KEY,
    N_OWN,
    N_PARENTS,
    N_ROOT,
    N_WIDTH,
    N_WORK,
    NOT_WANTED,
    R_PLACE,
    R_STATE,
    W_FOUND,
)
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.join.layout import H_DUPLICATES, H_PROBES, H_REGISTERED
from livejoin.kernels.memory.blocks import reserve, shrink
from livejoin.kernels.memory.directory import find_or_create, remove
from livejoin.kernels.parameters import Arena, Plan


@helper
def _entry_of(m: Arena, p: Plan, node: int, row: int, offsets: int) -> int:
    """Find or create the entry of a key of ``node`` that ``row`` has at ``offsets``; 0: no space."""
    m[H_PROBES] += 1
    key, width = p[node + N_ENTRY_KEY], p[node + N_WIDTH]
    return int(find_or_create(m, p, p[node + N_DIRECTORY], p[node + N_ENTRY], key, row, width, offsets))


@helper
def prepare(m: Arena, p: Plan, node: int, row: int) -> bool:
    """Find or create the entries of a row; may be repeated. False if there is no space."""
    if p[node + N_ROOT] == 1:
        if not reserve(m, H_LIVE, m[H_LIVE_COUNT], m[H_ROOT_ROWS] + 1):
            return False
    else:
        entry = _entry_of(m, p, node, row, p[node + N_KEY])
        if entry == 0:
            return False
        m[row + p[node + N_OWN] + R_PLACE] = entry
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        child = children + c * CHILD
        entry = _entry_of(m, p, p[child + C_NODE], row, p[child + C_KEY])
        if entry == 0:
            return False
        m[row + p[child + C_LINK] + L_ENTRY] = entry
    return True


@helper
def enroll(m: Arena, p: Plan, node: int, row: int, weight: int) -> bool:
    """Put a prepared row at the head of its children's lists of parents; returns whether all have what it wants.

    The first half of Insert (AJU, Algorithm 1, lines 3 to 6), for all children in one pass.
    """
    counter = 0
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        child = children + c * CHILD
        offset = p[child + C_LINK]
        link = row + offset
        entry = m[link + L_ENTRY]
        head = entry + p[child + C_HEAD]
        if p[child + C_QUIET] == 1:
            m[head] += 1
        else:
            first = m[head]
            m[link + L_NEIGHBOURS] = first << 32
            if first != 0:
                m[first + offset + L_NEIGHBOURS] |= row
            m[head] = row
        if p[child + C_KIND] <= NOT_WANTED:
            counter += (m[entry + E_HOLDS] >> 32) ^ p[child + C_KIND]
    own = row + p[node + N_OWN]
    m[own + R_STATE] = (weight << COUNTER_BITS) | counter
    m[H_REGISTERED] += 1
    if weight > 1:
        m[H_DUPLICATES] += 1
    if p[node + N_ROOT] == 1:
        m[H_ROOT_ROWS] += 1
    else:
        m[m[own + R_PLACE] + E_HOLDS] = row
    return bool(counter == p[node + N_FULL])


@helper
def note_found(m: Arena, p: Plan, node: int, row: int) -> None:
    """Count the rows of children that a row leads to, as it comes or leaves."""
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        child = children + c * CHILD
        if m[m[row + p[child + C_LINK] + L_ENTRY] + E_HOLDS] != 0:
            m[p[p[child + C_NODE] + N_WORK] + W_FOUND] += 1


@inlined
def _drop_unused(m: Arena, p: Plan, node: int, entry: int) -> None:
    """Remove an entry if no row has its key and none waits for it."""
    if m[entry + E_HOLDS] != 0:
        return
    for edge in range(p[node + N_PARENTS]):
        if m[entry + E_HEADS + edge] != 0:
            return
    remove(m, p[node + N_DIRECTORY], entry, p[node + N_ENTRY_KEY], p[node + N_WIDTH])


@helper
def withdraw(m: Arena, p: Plan, node: int, row: int) -> None:
    """Take a row that is not alive out of all lists; keys that nothing has or waits for are forgotten."""
    children = p[node + N_CHILD_LIST]
    for c in range(p[node + N_CHILDREN]):
        child = children + c * CHILD
        offset = p[child + C_LINK]
        link = row + offset
        entry = m[link + L_ENTRY]
        if p[child + C_QUIET] == 1:
            m[entry + p[child + C_HEAD]] -= 1
            if m[entry + p[child + C_HEAD]] == 0:
                _drop_unused(m, p, p[child + C_NODE], entry)
            continue
        following = next_parent(m, link)
        before = previous_parent(m, link)
        if before == 0:
            m[entry + p[child + C_HEAD]] = following
        else:
            m[before + offset + L_NEIGHBOURS] = (following << 32) | previous_parent(m, before + offset)
        if following != 0:
            m[following + offset + L_NEIGHBOURS] = (next_parent(m, following + offset) << 32) | before
        elif before == 0:
            _drop_unused(m, p, p[child + C_NODE], entry)
    own = row + p[node + N_OWN]
    if m[own + R_STATE] >> COUNTER_BITS > 1:
        m[H_DUPLICATES] -= 1
    m[own + R_STATE] = 0
    m[H_REGISTERED] -= 1
    if p[node + N_ROOT] == 1:
        m[H_ROOT_ROWS] -= 1
        shrink(m, H_LIVE, m[H_LIVE_COUNT], m[H_ROOT_ROWS])
    else:
        entry = m[own + R_PLACE]
        m[entry + E_HOLDS] = 0
        _drop_unused(m, p, node, entry)
