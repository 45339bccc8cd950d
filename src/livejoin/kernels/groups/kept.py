"""Groups as words that stand alone: what is kept of rows that no table keeps, and read back into a store.

A group is a column of words: its key, its rows, and its accumulators in the order of the record. The link of a window
is written as the first word of the window and its size class, and the window's words stand in a list of their own, one
window after the other. Nothing of it is an address.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.buffers import opened
from livejoin.kernels.groups.exact_sum import FIELD, FIRST_SHIFT, SIZE_SHIFT, SMALLEST, class_of, first_of, window_of
from livejoin.kernels.groups.signed import is_sound, is_window
from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import allocate
from livejoin.kernels.memory.directory import create, find, finish, mix, resize, seed
from livejoin.kernels.memory.layout import D_COUNT, D_LOG, D_SLOTS, DONE, H_BUMP, H_END, MASK32, NEED_SPACE
from livejoin.kernels.parameters import Addresses, Matrix, Output, Words

UNSOUND = -1
_LARGEST = 8
_PLACES = 1 << 8


@kernel
def write_kept(store: Addresses, slot: int, groups: Output, windows: Words) -> int:
    """Write groups as words that stand alone.

    Args:
        store: The groups; only scratch is changed.
        slot: The slot to start at, first 0.
        groups: int64 of shape (words of a key, one, and those of the accumulators, capacity); ``H_OUT`` says how many
            groups were written.
        windows: int64: the words of windows; ``H_LISTED`` says how many were written, ``H_NEED`` how many the next
            group has, which did not fit.

    Returns:
        Where to go on, -1 if all groups were written.
    """
    s = opened(store)
    m, p = s.arena, s.plan
    m[g.H_OUT] = 0
    m[g.H_LISTED] = 0
    m[g.H_NEED] = 0
    keys, made, listed = p[g.P_GROUPS], 0, 0
    slots = m[g.H_DIRECTORY + D_SLOTS]
    for i in range(slot, 1 << m[g.H_DIRECTORY + D_LOG]):
        if m[slots + i] == 0:
            continue
        if made == groups.shape[1]:
            return i
        group = m[slots + i] & MASK32
        needed = 0
        for a in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
            if is_window(p[a + g.A_KIND]) and m[group + p[a + g.A_AT]] != 0:
                needed += 1 << class_of(m[group + p[a + g.A_AT]])
        if listed + needed > windows.shape[0]:
            m[g.H_NEED] = needed
            return i
        for k in range(keys):
            groups[k, made] = m[group + p[g.P_KEY] + k]
        groups[keys, made] = m[group + g.R_ROWS]
        for k in range(g.RECORD, p[g.P_KEY]):
            groups[keys + 1 + k - g.RECORD, made] = m[group + k]
        for a in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
            link = m[group + p[a + g.A_AT]]
            if not is_window(p[a + g.A_KIND]) or link == 0:
                continue
            groups[keys + 1 + p[a + g.A_AT] - g.RECORD, made] = (first_of(link) << 8) | class_of(link)
            for k in range(1 << class_of(link)):
                windows[listed] = m[window_of(link) + k]
                listed += 1
        made += 1
        m[g.H_OUT] = made
        m[g.H_LISTED] = listed
    return -1


@kernel
def bring_kept(store: Addresses, groups: Matrix, windows: Words) -> int:
    """Bring groups that stand alone into a store that has none of them.

    Args:
        store: The groups; changed. What was brought so far is in ``H_ROW`` and ``H_LISTED``, first 0.
        groups: As from `write_kept`.
        windows: As from `write_kept`.

    Returns:
        DONE; NEED_SPACE: grow the arena and call again; UNSOUND: a group is there already, or is none of rows.
    """
    s = opened(store)
    m, p = s.arena, s.plan
    keys, key = p[g.P_GROUPS], p[g.P_ROW_KEY]
    line = groups.shape[1]
    log = m[g.H_DIRECTORY + D_LOG]
    while (line + 1) * 4 > 3 << log:
        log += 1
    # They come in the order of their hashes: in a small directory that grows they would lie in a heap.
    if log > m[g.H_DIRECTORY + D_LOG] and (m[H_BUMP] + (1 << log) > m[H_END] or not resize(m, g.H_DIRECTORY, log)):
        return NEED_SPACE
    while m[g.H_ROW] < line:
        row = m[g.H_ROW]
        state = seed()
        for k in range(keys):
            m[key + k] = groups[k, row]
            state = mix(state, groups[k, row])
        h = finish(state)
        group = find(m, p, g.H_DIRECTORY, p[g.P_KEY], key, keys, p[g.P_OFFSETS], h)
        if group != 0 and (p[g.P_GLOBAL] == 0 or m[group + g.R_ROWS] != 0):
            return UNSOUND
        needed = p[g.P_RESERVE]
        log = m[g.H_DIRECTORY + D_LOG]
        if (m[g.H_DIRECTORY + D_COUNT] + 1) * 4 > 3 << log:
            needed += 2 << log
        if m[H_BUMP] + needed > m[H_END]:
            return NEED_SPACE
        if group == 0:
            group = create(m, p, g.H_DIRECTORY, p[g.P_RECORD], p[g.P_KEY], key, keys, p[g.P_OFFSETS], h)
            if group == 0:
                return NEED_SPACE
        m[group + g.R_ROWS] = groups[keys, row]
        for k in range(g.RECORD, p[g.P_KEY]):
            m[group + k] = groups[keys + 1 + k - g.RECORD, row]
        listed = m[g.H_LISTED]
        for a in range(p[g.P_ACCUMULATORS], p[g.P_ACCUMULATORS_END], g.ACCUMULATOR):
            at = group + p[a + g.A_AT]
            if not is_window(p[a + g.A_KIND]) or m[at] == 0:
                continue
            first, size = m[at] >> 8, m[at] & FIELD
            m[at] = 0
            if first < 0 or size < SMALLEST or size > _LARGEST or first + (1 << size) > _PLACES:
                return UNSOUND
            if listed + (1 << size) > windows.shape[0]:
                return UNSOUND
            block = allocate(m, size)
            for k in range(1 << size):
                m[block + k] = windows[listed]
                listed += 1
            m[at] = block | (first << FIRST_SHIFT) | (size << SIZE_SHIFT)
        if not is_sound(m, p, group) or (m[group + g.R_ROWS] == 0 and p[g.P_GLOBAL] == 0):
            return UNSOUND
        m[g.H_LISTED] = listed
        m[g.H_ROW] = row + 1
    return DONE
