"""A counted multiset of rows with one or two sides: the state of DISTINCT and the set operations (CROWN, section 7.2).

An entry of the arena's one directory holds, for each side, how often its row stands there, its place in the list of
the result's entries, then the row's words. The multiplicity of a row in the result is a function f of its counts l, r:

    DISTINCT, UNION   [l > 0], both sides counted together in l
    EXCEPT            [l > 0 and r = 0]        EXCEPT ALL      max(l - r, 0)
    INTERSECT         [l > 0 and r > 0]        INTERSECT ALL   min(l, r)

Law: the changes written for a version are f after it minus f before it, for every row where they differ. Between two
versions the list has the entries with f > 0, each once, so that the result is read with constant delay a row.

Inside a version counts may pass through anything, also below zero, because only its net effect counts. The first
change of a row in a version *touches* it: what f was is noted beside the entry, which is settled when the version ends.
The list has places for all entries from the moment they are made, so that settling never needs space.
"""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.jit import helper, inlined, kernel
from livejoin.kernels.join.ahead import AHEAD, BEYOND
from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.memory.blocks import reserve, shrink
from livejoin.kernels.memory.directory import create, find, finish, mix, remove, seed
from livejoin.kernels.memory.layout import (
    ARENA_HEADER,
    AT_ONCE,
    D_COUNT,
    D_LOG,
    D_SLOTS,
    DIRECTORY,
    DONE,
    H_BUMP,
    MASK32,
    MORE,
    NEED_SPACE,
    REF_MASK,
)
from livejoin.kernels.parameters import Addresses, Arena, Line, Matrix, Output, Plan, Touched

# Arena header behind the fixed one
H_DIRECTORY = ARENA_HEADER
H_TOTAL = H_DIRECTORY + DIRECTORY  # rows of the result with multiplicities
H_LIST = H_TOTAL + 1  # the block of the result's entries, how many they are
H_LISTED = H_LIST + 1
H_CHANGE = H_LISTED + 1  # cursor of an interrupted `apply`: change, rows touched in its version, changes written
H_TOUCHED = H_CHANGE + 1
H_MADE = H_CHANGE + 2
H_SETTLED = H_CHANGE + 3  # of the touched rows those that are settled
H_ROW = H_CHANGE + 4  # the row that is looked up

# Entry: the left count above the touched bit, the right count if there are two sides, behind the counts the place in
# the list plus one or 0, the row's words
LEFT = 0
RIGHT = 1


class MultisetBuffers(NamedTuple):
    """The state of a multiset, as one parameter: arrays to its owner, pointers inside of a kernel.

    Args:
        arena: The entries; changed.
        offsets: The numbers from 0 to the width of a row.
        kind: The operation.
        sides: Counts of an entry, 1 or 2.
        width: Words of a row.
    """

    arena: Arena
    offsets: Plan
    kind: int
    sides: int
    width: int


opened = opener(MultisetBuffers)
"""The state of a line of addresses."""


@inlined
def key_of(sides: int) -> int:
    """Where an entry's row begins; before it is its place in the list."""
    return sides + 1


# Touched rows: (entry, position of the change that touched it, multiplicity in the result before)
TOUCHED_FIELDS = 3

# The same places before that, for changes that are read ahead: what was read, for nobody, and the hash of the row
T_SEEN = 0
T_HASH = 2

DISTINCT = 0
EXCEPT = 1
EXCEPT_ALL = 2
INTERSECT = 3
INTERSECT_ALL = 4


@inlined
def multiplicity(s: MultisetBuffers, entry: int) -> int:
    """How often an entry's row stands in the result."""
    m, kind = s.arena, s.kind
    left = m[entry + LEFT] >> 1
    if kind == DISTINCT:
        return 1 if left > 0 else 0
    right = m[entry + RIGHT]
    if kind == EXCEPT:
        return 1 if left > 0 and right <= 0 else 0
    if kind == EXCEPT_ALL:
        return int(max(left - right, 0))
    if kind == INTERSECT:
        return 1 if left > 0 and right > 0 else 0
    return int(max(min(left, right), 0))


@helper
def _look_ahead(s: MultisetBuffers, values: Matrix, begin: int, end: int, touched: Touched) -> None:
    """Hash the rows of the next changes and read what they are looked up in (`livejoin.kernels.join.ahead`).

    The hash of a change stands in its own place of ``touched``, which no row takes before the change has come.
    """
    m = s.arena
    for change in range(begin, end):
        h = seed()
        for i in range(s.width):
            h = mix(h, values[i, change])
        touched[change, T_HASH] = finish(h)
    if m[H_BUMP] < BEYOND:
        return
    slots, shift = m[H_DIRECTORY + D_SLOTS], 32 - m[H_DIRECTORY + D_LOG]
    seen = 0
    for change in range(begin, end):
        seen ^= m[slots + (touched[change, T_HASH] >> shift)]
    for change in range(begin, end):
        h = touched[change, T_HASH]
        word = m[slots + (h >> shift)]
        if word != 0 and (word >> 32) & MASK32 == h:
            seen ^= m[(word & MASK32) + LEFT]
    touched[begin, T_SEEN] = seen


@helper
def _entry_of(s: MultisetBuffers, values: Matrix, change: int, hash32: int) -> int:
    """The entry of a change's row, made if there is none; 0 if there is no space."""
    m, p, width = s.arena, s.offsets, s.width
    for i in range(width):
        m[H_ROW + i] = values[i, change]
    key = key_of(s.sides)
    entry: int = find(m, p, H_DIRECTORY, key, H_ROW, width, 0, hash32)
    if entry == 0 and reserve(m, H_LIST, m[H_LISTED], m[H_DIRECTORY + D_COUNT] + 1):
        entry = create(m, p, H_DIRECTORY, key + width, key, H_ROW, width, 0, hash32)
    return entry


@inlined
def _list(m: Arena, place: int, entry: int) -> None:
    """Bring an entry into the result."""
    m[(m[H_LIST] & REF_MASK) + m[H_LISTED]] = entry
    m[H_LISTED] += 1
    m[entry + place] = m[H_LISTED]


@inlined
def _unlist(m: Arena, place: int, entry: int) -> None:
    """Take an entry out of the result; the last one comes to its place."""
    block = (m[H_LIST] & REF_MASK) - 1
    last = m[block + m[H_LISTED]]
    m[block + m[entry + place]] = last
    m[last + place] = m[entry + place]
    m[entry + place] = 0
    m[H_LISTED] -= 1


@helper
def _settle(s: MultisetBuffers, touched: Touched, out: Output, left: int) -> int:
    """End a version, or so many rows of it: write what changed and take out rows that stand on no side.

    Returns:
        How many more rows could have been settled. The version has ended where no row is touched any more.
    """
    m, sides = s.arena, s.sides
    made = m[H_MADE]
    begin = m[H_SETTLED]
    end = min(begin + left, m[H_TOUCHED])
    seen = 0
    for i in range(begin, end):
        if (i - begin) & (AHEAD - 1) == 0 and m[H_BUMP] >= BEYOND:
            for j in range(i, min(i + AHEAD, end)):
                seen ^= m[touched[j, 0] + LEFT]
        entry = touched[i, 0]
        m[entry + LEFT] ^= 1
        times = multiplicity(s, entry)
        gained = times - touched[i, 2]
        if gained != 0:
            if touched[i, 2] == 0:
                _list(m, sides, entry)
            elif times == 0:
                _unlist(m, sides, entry)
            out[0, made] = touched[i, 1]
            out[1, made] = gained
            made += 1
            m[H_TOTAL] += gained
        if m[entry + LEFT] == 0 and (sides == 1 or m[entry + RIGHT] == 0):
            remove(m, H_DIRECTORY, entry, key_of(sides), s.width)
            shrink(m, H_LIST, m[H_LISTED], m[H_DIRECTORY + D_COUNT])
    m[H_ROW] = seen  # for nobody, or the compiler would leave the reads out
    m[H_MADE] = made
    m[H_SETTLED] = end
    if end == m[H_TOUCHED]:
        m[H_SETTLED] = 0
        m[H_TOUCHED] = 0
    return int(left - (end - begin))


@kernel
def apply(
    multiset: Addresses, values: Matrix, weights: Line, versions: Line, on: Line, touched: Touched, out: Output
) -> int:
    """Apply changes of the sides' multiplicities and write the net change of the result in each version.

    Args:
        multiset: The state. A caller starts with H_CHANGE, H_TOUCHED, H_MADE and H_SETTLED at 0.
        values: int64 of shape (width, n): the rows.
        weights: int64, what each change adds to its row's multiplicity.
        versions: int64, ascending.
        on: int64, the side of each change, 0 or 1.
        touched: int64 of shape (n, TOUCHED_FIELDS), scratch.
        out: int64 of shape (2, n): of each change of the result the position of a change with its row and version,
            and what the row's multiplicity gains; H_MADE of them. It never needs more places than there are changes.

    Returns:
        DONE; MORE: call again; NEED_SPACE in front of a change that has not begun: grow the arena and call again.

    Cost: one probe a change, expected O(1).
    """
    s = opened(multiset)
    m = s.arena
    change = m[H_CHANGE]
    ahead = change  # up to which the rows are hashed
    left = AT_ONCE
    while True:
        ended = change == weights.shape[0] or (change > 0 and versions[change] != versions[change - 1])
        if ended and m[H_TOUCHED] > 0:
            left = _settle(s, touched, out, left)
        if change == weights.shape[0] and m[H_TOUCHED] == 0:
            m[H_CHANGE] = 0
            return DONE
        if left == 0:
            m[H_CHANGE] = change
            return MORE
        if change == ahead:
            ahead = min(change + AHEAD, weights.shape[0])
            _look_ahead(s, values, change, ahead, touched)
        entry = _entry_of(s, values, change, touched[change, T_HASH])
        if entry == 0:
            m[H_CHANGE] = change
            return NEED_SPACE
        if m[entry + LEFT] & 1 == 0:
            count = m[H_TOUCHED]
            touched[count, 0] = entry
            touched[count, 1] = change
            touched[count, 2] = multiplicity(s, entry)
            m[H_TOUCHED] = count + 1
            m[entry + LEFT] |= 1
        if on[change] == 0:
            m[entry + LEFT] += weights[change] << 1
        else:
            m[entry + RIGHT] += weights[change]
        change += 1
        left -= 1


@kernel
def scan(multiset: Addresses, begin: int, output: Output) -> int:
    """Write rows of the result, each once.

    Args:
        multiset: The state, unchanged since the scan began.
        begin: How many were written before.
        output: int64 of shape (width + 1, capacity): the rows' words, then their multiplicities.

    Returns:
        The number of rows written, fewer than the capacity only at the end.

    Cost: O(rows written).
    """
    s = opened(multiset)
    m, width = s.arena, s.width
    key = key_of(s.sides)
    block = m[H_LIST] & REF_MASK
    made = min(m[H_LISTED] - begin, output.shape[1])
    for row in range(made):
        entry = m[block + begin + row]
        for i in range(width):
            output[i, row] = m[entry + key + i]
        output[width, row] = multiplicity(s, entry)
    return made  # type: ignore[no-any-return]


@kernel
def entries(multiset: Addresses, out: Output) -> None:
    """Write the references of all entries, in no particular order; ``out`` has a place for each. Cost: O(entries)."""
    m = opened(multiset).arena
    slots = m[H_DIRECTORY + D_SLOTS]
    made = 0
    for at in range(1 << m[H_DIRECTORY + D_LOG]):
        entry = m[slots + at] & MASK32
        if entry != 0:
            out[made] = entry
            made += 1
