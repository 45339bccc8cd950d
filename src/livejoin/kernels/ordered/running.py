"""Aggregates over the rows of each partition up to every row, in an order, kept up to date.

The multiset is the tree of `livejoin.kernels.ordered.order_tree`, its rows ordered by their partition, then by the
keys, then by all columns, and each row stands there once. Every entry knows the aggregates up to it, in words behind
its own: so what a run of changes does begins with those of the entry before the first one that it touched, and ends
behind the last one where they are as they were. A run costs O(log n) a change and O(1) for each row between its
changes or whose aggregates change, which is a row of the delta.

The *frame* of a row, which its aggregates are over, is the rows up to it (ROWS), or up to the last one with its keys
(RANGE), or up to so many rows behind it or before it, or from so many rows before it to so many behind. With the last
kind each row is computed by itself, O(rows of a frame), if its frame has one that changed.

Law: the changes written for a version are the result after it minus the result before it, as multisets.
"""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.ordered.order_nodes import COUNT, FIRST, LEAF, NEXT
from livejoin.kernels.ordered.order_tree import first_leaf
from livejoin.kernels.ordered.running_state import (
    AROUND,
    C_FRAME,
    UP_TO_FAR,
    UP_TO_PEERS,
)
from livejoin.kernels.ordered.running_walks import walk, walk_around, walk_far, walk_to_peers
from livejoin.kernels.ordered.runs import (
    APPLYING,
    P_CHANGE,
    P_MADE,
    P_NEEDED,
    P_STEP,
    P_TOUCHED,
    apply_run,
    end_run,
    first_touched,
)
from livejoin.kernels.parameters import ArenaArray, Cursor, Line, Matrix, Output, Plan, Touched, Words
from livejoin.kernels.values.row_order import E_WORDS


@kernel
def maintain(
    arena: ArenaArray,
    plan: Plan,
    prefix: Plan,
    keys: Plan,
    wide: Plan,
    calls: Plan,
    values: Matrix,
    weights: Line,
    versions: Line,
    heap: Words,
    starts: Words,
    lengths: Line,
    touched: Touched,
    state: Line,
    ring: Line,
    out: Output,
) -> int:
    """Apply changes of rows and write what the result gains and loses, net within each version.

    Args:
        arena: The state; changed. A caller starts with P_CHANGE, P_STEP and P_TOUCHED at 0.
        plan: int64, see O_WIDTH and the constants beside it.
        prefix, keys: The same for the first words of a row: those of the partition, and these with those of the keys.
        wide: The same with the words of the calls behind, which an entry has.
        calls: int64, see C_NUMBER and the constants beside it.
        values: int64 of shape (words of a row, n): the rows as order words, those of a version partition by partition.
        weights: int64, what each change adds to its row's multiplicity, which is 0 or 1 after each version.
        versions: int64, ascending.
        heap, starts, lengths: The dictionary of strings, if there are any in the rows.
        touched: int64 of n places, scratch.
        state: int64 of as many words as the calls have, scratch.
        ring: int64 of as many places as a LAG goes back or a frame has rows, and one, scratch.
        out: int64 of shape (LINES + words of a row and of the calls, capacity): the changes of the result, P_MADE of
            them.

    Returns:
        DONE; MORE: take the changes written and call again; NEED_SPACE: take them, grow the arena and call again;
        OUTPUT_FULL: take them and call again with at least P_NEEDED places.

    Cost: O(log n) a change, and O(1) for each row between two changes of a partition and version, and of the delta;
    LAG over k rows, and a frame of k rows, add O(k log n) for each partition and version, a frame O(k) for each row of
    which it has one that changed. A frame up to some rows behind or before each takes O(log n) for each row.
    """
    m = words(arena)
    p, of_partition, of_keys, larger, c = words(plan), words(prefix), words(keys), words(wide), words(calls)
    text = (heap, starts, lengths)
    m[P_MADE] = 0
    change = m[P_CHANGE]
    left = AT_ONCE
    while True:
        if m[P_STEP] == APPLYING:
            if m[P_TOUCHED] == 0:
                if change == weights.shape[0]:
                    return DONE
                if left <= 0:
                    m[P_CHANGE] = change
                    return MORE
            begin = change
            change = apply_run(m, p, of_partition, larger, values, weights, versions, change, touched, text)
            left -= change - begin
            if m[P_STEP] == APPLYING:
                m[P_CHANGE] = change
                return NEED_SPACE
        row, version = first_touched(m, p, touched, text), versions[change - 1]
        needed = 0
        for emit in (False, True):
            if emit and needed > out.shape[1] - m[P_MADE]:
                m[P_NEEDED] = needed
                m[P_CHANGE] = change
                return OUTPUT_FULL
            if c[C_FRAME] == AROUND:
                needed = walk_around(m, p, of_partition, c, row, version, emit, state, ring, text, out)
            elif c[C_FRAME] == UP_TO_FAR:
                needed = walk_far(m, p, of_partition, c, row, version, emit, state, ring, text, out)
            elif c[C_FRAME] == UP_TO_PEERS:
                needed = walk_to_peers(m, p, of_partition, of_keys, c, row, version, emit, state, ring, text, out)
            else:
                needed = walk(m, p, of_partition, c, row, version, emit, state, ring, text, out)
        end_run(m, p, touched, text)
        left -= needed


@kernel
def scan(arena: ArenaArray, width: int, cursor: Cursor, output: Output) -> int:
    """Write the rows of the result, partition by partition, in their order.

    Args:
        arena: As for `maintain`.
        width: Words of a row and of the calls.
        cursor: int64[2], a leaf and a place in it: (-1, 0) to begin, (0, ...) at the end; changed.
        output: int64 of shape (width, capacity).

    Returns:
        The number of rows written.

    Cost: O(1) a row.
    """
    m = words(arena)
    leaf, place = cursor[0], cursor[1]
    if leaf == -1:
        leaf = first_leaf(m)
    made = 0
    while True:
        while leaf != 0 and place == m[leaf + COUNT]:
            leaf = m[leaf + NEXT]
            place = 0
        if leaf == 0 or made == output.shape[1]:
            cursor[0], cursor[1] = leaf, place
            return made
        entry = m[leaf + FIRST + LEAF + place]
        for i in range(width):
            output[i, made] = m[entry + E_WORDS + i]
        made += 1
        place += 1
