"""Maintained groups: changes of rows in, rows of results that go and come out.

The changes come in order of their versions. The first change of a version that touches a group keeps the results that
the group had in a touch block; when the version ends, each touched group gives the row that it had and the row that it
has, unless they are equal, and groups without rows are removed. Nothing is ever half applied: a row is applied when all
the words that it can need are there.
"""

from __future__ import annotations

from livejoin.kernels.groups import layout as g
from livejoin.kernels.groups.accumulators import accumulate, accumulate_block, settle
from livejoin.kernels.groups.buffers import opened
from livejoin.kernels.groups.lists import class_for, keep_lists, release_lists, words_of_lists
from livejoin.kernels.groups.ordered_index import words_of, write, write_seconds
from livejoin.kernels.groups.output import emit_group, write_results
from livejoin.kernels.groups.results import render
from livejoin.kernels.groups.signed import is_sound, settle_signed
from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.join.ahead import AHEAD, BEYOND
from livejoin.kernels.memory.arena import allocate, release, words
from livejoin.kernels.memory.directory import create, find, finish, mix, remove, scattered, seed
from livejoin.kernels.memory.layout import (
    AT_ONCE,
    D_COUNT,
    D_LOG,
    D_SLOTS,
    DONE,
    H_BUMP,
    H_END,
    MASK32,
    MORE,
    NEED_SPACE,
    OUTPUT_FULL,
    TOO_LARGE,
)
from livejoin.kernels.parameters import Addresses, Arena, Changed, Line, Output, Plan, Texts, Words
from livejoin.kernels.values.dictionary_view import pointers

_MOST_ROWS = (1 << 63) - 1


@helper
def _hash_ahead(m: Arena, p: Plan, values: Words, line: int, row: int, count: int, scratch: Line) -> None:
    """Hash the next rows' groups and read what they are looked up in (`livejoin.kernels.join.ahead`).

    Args:
        m: The arena.
        p: The plan.
        values: The rows' values.
        line: Distance of the lines.
        row: The first of the rows.
        count: How many they are, at most AHEAD.
        scratch: The hash of each is written behind S_HASHES; what was read goes to S_SEEN.
    """
    for i in range(count):
        state = seed()
        for k in range(p[g.P_GROUPS]):
            state = mix(state, values[k * line + row + i])
        scratch[g.S_HASHES + i] = finish(state)
    if m[H_BUMP] < BEYOND:
        return
    slots, shift = m[g.H_DIRECTORY + D_SLOTS], 32 - m[g.H_DIRECTORY + D_LOG]
    seen = 0
    for i in range(count):
        seen ^= m[slots + (scratch[g.S_HASHES + i] >> shift)]
    for i in range(count):
        h = scratch[g.S_HASHES + i]
        word = m[slots + (h >> shift)]
        if word != 0 and (word >> 32) & MASK32 == h:
            seen ^= m[(word & MASK32) + g.R_TOUCH] ^ m[(word & MASK32) + p[g.P_KEY]]
    scratch[g.S_SEEN] ^= seen


@helper
def _has_space(m: Arena, p: Plan, group: int) -> bool:
    """Whether the arena has all the words that a row of a group, 0 if it is not there, can need."""
    needed = p[g.P_RESERVE]
    if group == 0:
        log = m[g.H_DIRECTORY + D_LOG]
        if (m[g.H_DIRECTORY + D_COUNT] + 1) * 4 > 3 << log:
            needed += 2 << log
    elif p[g.P_LISTS] > 0 and m[group + g.R_TOUCH] == 0:
        needed += p[g.P_LISTS] << class_for(m[group + g.R_ROWS])
    enough: bool = m[H_BUMP] + needed <= m[H_END]
    return enough


@helper
def _touch(m: Arena, p: Plan, group: int, emit: bool) -> None:
    """Remember that the version touches a group, and the results that it had."""
    block = allocate(m, p[g.P_TOUCH_CLASS])
    existed = m[group + g.R_ROWS] > 0 or p[g.P_GLOBAL] == 1
    m[block + g.T_GROUP] = group
    m[block + g.T_NEXT] = 0
    m[block + g.T_EXISTED] = 1 if existed else 0
    m[group + g.R_TOUCH] = block
    if m[g.H_TOUCHED] == 0:
        m[g.H_TOUCHED] = block
    else:
        m[m[g.H_LAST] + g.T_NEXT] = block
    m[g.H_LAST] = block
    if not (emit and existed):
        return
    to = block + g.T_RESULTS
    render(m, p, group, to)
    if p[g.P_LISTS] > 0:
        keep_lists(m, p, group, to)


@helper
def _untouch(m: Arena, p: Plan, block: int, emit: bool) -> None:
    """Forget that a group was touched, and the group if it has no rows left."""
    group = m[block + g.T_GROUP]
    if emit and p[g.P_LISTS] > 0 and m[block + g.T_EXISTED] == 1:
        release_lists(m, p, block + g.T_RESULTS)
    release(m, block, p[g.P_TOUCH_CLASS])
    m[group + g.R_TOUCH] = 0
    if p[g.P_SIGNED] == 1:
        settle_signed(m, p, group)
        if not is_sound(m, p, group):
            m[g.H_UNSOUND] = group
            return
    else:
        settle(m, p, group)
    if m[group + g.R_ROWS] == 0 and p[g.P_GLOBAL] == 0:
        remove(m, g.H_DIRECTORY, group, p[g.P_KEY], p[g.P_GROUPS])


@inlined
def _touched_ahead(m: Arena, p: Plan, block: int) -> int:
    """Read of the next touched groups, from that of a touch block on, what they are emitted from; for nobody."""
    seen, count = 0, 0
    while block != 0 and count < AHEAD:
        group = m[block + g.T_GROUP]
        seen ^= m[group + g.R_ROWS] ^ m[group + p[g.P_KEY]]
        block = m[block + g.T_NEXT]
        count += 1
    return seen


@helper
def _end_version(
    m: Arena, p: Plan, version: int, emit: bool, output: Output, lists: Words, list_capacity: int, scratch: Line
) -> bool:
    """Emit all touched groups; False if the output has no space for the next one."""
    block = m[g.H_TOUCHED]
    count = 0
    while block != 0:
        if count & (AHEAD - 1) == 0 and m[H_BUMP] >= BEYOND:
            scratch[g.S_SEEN] ^= _touched_ahead(m, p, block)
        count += 1
        if emit and not emit_group(m, p, block, version, output, lists, list_capacity):
            return False
        following = m[block + g.T_NEXT]
        m[g.H_TOUCHED] = following
        _untouch(m, p, block, emit)
        block = following
    return True


@kernel
def maintain(store: Addresses, changes: Changed, texts: Texts, emit: bool, output: Output, lists: Words) -> int:
    """Apply changes of rows to a store of groups.

    Args:
        store: The groups; changed. The cursor of an interrupted call is in the arena's header.
        changes: The groups' words, then the words of the arguments, as lines; the change of each row's multiplicity;
            the versions, ascending.
        texts: The dictionaries, see `livejoin.kernels.values.dictionary_view`.
        emit: Whether to write what changed.
        output: int64 of shape (words of a group and its results + 3, capacity of at least 2): the rows that went and
            came, with their weight (-1 or 1), their version, and a number that the two rows of a group share.
        lists: int64: the values of lists, one list after the other; a list's second word says where it begins.

    Returns:
        DONE; MORE: call again; NEED_SPACE: grow the arena and call again; OUTPUT_FULL: take the output's first
        ``H_OUT`` rows and call again, with at least ``H_NEED`` words of lists; TOO_LARGE: a group has more rows,
        counted with multiplicities, than 64 bits count, and the store is of no use any more. A caller starts with
        H_ROW, H_PHASE and H_PAIR at 0.

    Cost: expected O(1) a row and aggregate, O(log(distinct values of the group)) where values are ordered or distinct;
    O(values of the group) a version and list.
    """
    s = opened(store)
    m, p, found = s.arena, s.plan, s.places
    values, weights, versions = changes
    flat = words(values)
    listed = words(lists)
    by = words(weights)
    read = pointers(texts)
    m[g.H_OUT] = 0
    m[g.H_LISTED] = 0
    rows = versions.shape[0]
    line = values.shape[1]
    key = p[g.P_ROW_KEY]
    row = m[g.H_ROW]
    pause = row + AT_ONCE
    ahead, next_hash = row, g.S_HASHES  # up to which the rows are hashed, and where the hash of the next one is
    while True:
        if m[g.H_PHASE] == g.EMIT:
            if not _end_version(m, p, versions[row - 1], emit, output, listed, lists.shape[0], found):
                return OUTPUT_FULL
            m[g.H_PHASE] = g.APPLY
        if row == rows:
            return DONE
        version = versions[row]
        first, status = row, DONE
        while row < rows and versions[row] == version:
            if row == pause:
                status = MORE
                break
            if row - first == g.BLOCK:
                accumulate_block(m, p, flat, line, by, first, found, row - first)
                first = row
            if row == ahead:
                ahead = min(row + AHEAD, rows)
                _hash_ahead(m, p, flat, line, row, ahead - row, found)
                next_hash = g.S_HASHES
            for i in range(p[g.P_GROUPS]):
                m[key + i] = flat[i * line + row]
            h = found[next_hash]
            group = find(m, p, g.H_DIRECTORY, p[g.P_KEY], key, p[g.P_GROUPS], p[g.P_OFFSETS], h)
            if not _has_space(m, p, group):
                status = NEED_SPACE
                break
            if group == 0:
                group = create(m, p, g.H_DIRECTORY, p[g.P_RECORD], p[g.P_KEY], key, p[g.P_GROUPS], p[g.P_OFFSETS], h)
                if group == 0:
                    status = NEED_SPACE
                    break
            if m[group + g.R_TOUCH] == 0:
                _touch(m, p, group, emit)
            if weights[row] > 0 and m[group + g.R_ROWS] > _MOST_ROWS - weights[row]:
                return TOO_LARGE
            m[group + g.R_ROWS] += weights[row]
            if weights[row] != 0:
                accumulate(m, p, group, flat, line, row, weights[row], read)
            found[row - first] = group
            row, next_hash = row + 1, next_hash + 1
        accumulate_block(m, p, flat, line, by, first, found, row - first)
        m[g.H_ROW] = row
        if status != DONE:
            return status
        m[g.H_PHASE] = g.EMIT


@kernel
def scan(store: Addresses, slot: int, output: Output, lists: Words) -> int:
    """Write the rows of groups, in an order that is none of hashes (`livejoin.kernels.memory.directory.scattered`).

    Args:
        store: The groups; only scratch is changed.
        slot: The slot to start at, first 0.
        output: int64 of shape (words of a group and its results, capacity); ``H_OUT`` says how many rows were written.
        lists: As for `maintain`; ``H_NEED`` says what the next group needs.

    Returns:
        Where to go on, -1 if all groups were written.
    """
    s = opened(store)
    m, p = s.arena, s.plan
    listed = words(lists)
    m[g.H_OUT] = 0
    m[g.H_LISTED] = 0
    slots, log = m[g.H_DIRECTORY + D_SLOTS], m[g.H_DIRECTORY + D_LOG]
    for i in range(slot, 1 << log):
        word = m[slots + scattered(i, log)]
        if word != 0:
            group = word & MASK32
            if m[g.H_OUT] == output.shape[1]:
                return i
            render(m, p, group, p[g.P_SCRATCH])
            if p[g.P_LISTS] > 0:
                m[g.H_NEED] = words_of_lists(m, p, p[g.P_SCRATCH])
                if m[g.H_LISTED] + m[g.H_NEED] > lists.shape[0]:
                    return i
            write_results(m, p, group, p[g.P_SCRATCH], output, False, listed)
    return -1


@kernel
def index_words(store: Addresses, slot: int, offset: int, seconds: bool, out: Output) -> int:
    """Write the words that the indexes at an offset of all groups hold.

    Args:
        store: The groups; only scratch is changed.
        slot: The slot to start at, first 0.
        offset: The offset of the index in a group.
        seconds: Whether to write the second words of pairs.
        out: The words; ``H_OUT`` says how many were written, ``H_NEED`` how many the next group needs.

    Returns:
        Where to go on, -1 if all were written.
    """
    m = opened(store).arena
    m[g.H_OUT] = 0
    slots = m[g.H_DIRECTORY + D_SLOTS]
    for i in range(slot, 1 << m[g.H_DIRECTORY + D_LOG]):
        if m[slots + i] != 0:
            root = m[(m[slots + i] & MASK32) + offset]
            m[g.H_NEED] = words_of(m, root, g.H_PATH)
            if m[g.H_OUT] + m[g.H_NEED] > out.shape[0]:
                return i
            if seconds:
                m[g.H_OUT] = write_seconds(m, root, True, g.H_PATH, words(out), m[g.H_OUT])
            else:
                m[g.H_OUT] = write(m, root, True, True, g.H_PATH, words(out), m[g.H_OUT])
    return -1
