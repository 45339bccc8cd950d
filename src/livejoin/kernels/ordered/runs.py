"""Runs of changes of an ordered multiset: those of one version and one partition, which are applied together.

A kernel over partitions goes from run to run: it applies the changes of one, which notes the entries that these touch,
writes what the result gains and loses, and forgets what nothing is left of. Every entry has words of its own behind
those of its row, for what the result says of it.
"""

from __future__ import annotations

from typing import NamedTuple

from livejoin.kernels.jit import helper
from livejoin.kernels.memory.addresses import opener
from livejoin.kernels.ordered.order_nodes import FIRST, LEAF, T_END, T_LEAF, T_PLACE, free_entry, has_space, new_entry
from livejoin.kernels.ordered.order_tree import descend, insert, remove, seek, weigh
from livejoin.kernels.parameters import Arena, Line, Plan, Texts, Touched, Values
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_WIDTH, compare

# Arena header behind that of the tree
H_CHANGE = T_END  # cursor of an interrupted call: change, step
H_STEP = T_END + 1
H_TOUCHED = T_END + 2  # entries that the run touched
H_MADE = T_END + 3  # changes written by the current call
H_NEEDED = T_END + 4  # OUTPUT_FULL: places that the run needs
H_TOTAL = T_END + 5  # rows of the result
PARTITION_HEADER = T_END + 6


class PartitionBuffers(NamedTuple):
    """The state of a store of rows by partition, as one parameter: arrays to its owner, pointers inside of a kernel.

    Args:
        arena: The rows; changed.
        plan: A description of the words of a row, see O_WIDTH and the constants beside it.
        prefix, keys: The same for its first words: those of the partition, and these with those of the keys.
        wide: The same with the words that an entry has behind those of its row.
        calls: Aggregates up to each row, see C_NUMBER of `livejoin.kernels.ordered.running_state`; else one word.
        state: Scratch, as many words as the aggregates have.
        ring: Scratch, as many places as a LAG goes back or a frame has rows, and one.
    """

    arena: Arena
    plan: Plan
    prefix: Plan
    keys: Plan
    wide: Plan
    calls: Plan
    state: Line
    ring: Line


class Changes(NamedTuple):
    """What a kernel is given beside the state: n changes, and the places for entries that a run of them touches."""

    values: Values
    n: int
    weights: Line
    versions: Line
    touched: Touched


opened = opener(PartitionBuffers)
"""The state of a line of addresses."""


# Steps of a run; a new one begins with applying
APPLYING = 0
WRITING = 1


@helper
def first_touched(s: PartitionBuffers, touched: Touched, text: Texts) -> int:
    """The entry that comes first of those that the run touched."""
    m, p = s.arena, s.plan
    first: int = touched[0]
    for i in range(1, m[H_TOUCHED]):
        if compare(m, p, touched[i], first, text) < 0:
            first = touched[i]
    return first


@helper
def seek_behind(s: PartitionBuffers, first: Plan, row: int, text: Texts) -> int:
    """Find the first entry that is not before a row by some first words, as `seek` does, of rows that a run touched.

    Returns:
        The entry just before it, if that is in the row's partition; else 0. No touched entry is before it, so that
        it is there. A leaf's first entry comes before what is found in it, but where nothing comes before.
    """
    m, prefix = s.arena, s.prefix
    seek(m, first, row, 0, text)
    if m[T_PLACE] == 0:
        return 0
    entry: int = m[m[T_LEAF] + FIRST + LEAF + m[T_PLACE] - 1]
    return entry if compare(m, prefix, entry, row, text) == 0 else 0


@helper
def apply_change(s: PartitionBuffers, c: Changes, change: int, text: Texts) -> None:
    """Change the multiplicity of a row."""
    m, p, wide, weight = s.arena, s.plan, s.wide, c.weights[change]
    row = new_entry(m, wide)
    for i in range(p[O_WIDTH]):
        m[row + E_WORDS + i] = c.values[i * c.n + change]
    entry = descend(m, p, row, text)
    weigh(m, weight)
    if entry == 0:
        entry = row
        m[entry + E_COUNT] = weight << 1
        m[entry + E_IN] = 0
        for i in range(p[O_WIDTH], wide[O_WIDTH]):
            m[entry + E_WORDS + i] = 0
        insert(m, entry)
    else:
        free_entry(m, row)
        m[entry + E_COUNT] += weight << 1
    if m[entry + E_COUNT] & 1 == 0:
        m[entry + E_COUNT] |= 1
        c.touched[m[H_TOUCHED]] = entry
        m[H_TOUCHED] += 1


@helper
def is_same_run(prefix: Plan, c: Changes, one: int, other: int) -> bool:
    """Whether two changes are of one version and one partition."""
    if c.versions[one] != c.versions[other]:
        return False
    for i in range(prefix[O_WIDTH]):
        if c.values[i * c.n + one] != c.values[i * c.n + other]:
            return False
    return True


@helper
def apply_run(s: PartitionBuffers, c: Changes, change: int, text: Texts) -> int:
    """Apply the changes of a run from one on; which one is behind it. H_STEP stays APPLYING where space is needed."""
    while has_space(s.arena, s.wide):
        apply_change(s, c, change, text)
        change += 1
        if change == c.n or not is_same_run(s.prefix, c, change - 1, change):
            s.arena[H_STEP] = WRITING
            return change
    return change


@helper
def end_run(s: PartitionBuffers, touched: Touched, text: Texts) -> None:
    """Forget the entries of which nothing is left."""
    m, p = s.arena, s.plan
    for i in range(m[H_TOUCHED]):
        entry = touched[i]
        m[entry + E_COUNT] ^= 1
        if m[entry + E_COUNT] == 0:
            remove(m, p, entry, text)
    m[H_TOUCHED] = 0
    m[H_STEP] = APPLYING
