"""Aggregates over the rows of each partition up to every row, in an order, kept up to date.

The multiset is the tree of `livejoin.kernels.ordered.order_tree`, its rows ordered by their partition, then by the
keys, then by all columns, and each row stands there once. Every entry knows the aggregates up to it, in words behind
its own: so what a run of changes does begins with those of the entry before the first one that it touched, and ends
behind the last one where they are as they were. A run costs O(log n) a change and O(1) for each row between its
changes or whose aggregates change, which is a row of the delta.

The *frame* of a row, which its aggregates are over, is the rows up to it (ROWS), or up to the last one with its keys
(RANGE), or up to so many rows behind it or before it, or from so many rows before it to so many behind. The last kind
slides over the rows whose frame has one that changed (`livejoin.kernels.ordered.sliding_frames`). All rows within a
distance of each are a frame too (`livejoin.kernels.ordered.distance_walk`), and tiles are walked as one
(`livejoin.kernels.ordered.tile_walk`).

Law: the changes written for a version are the result after it minus the result before it, as multisets.
"""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_ROOM, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.ordered.distance_walk import walk_within
from livejoin.kernels.ordered.order_nodes import COUNT, FIRST, LEAF, NEXT
from livejoin.kernels.ordered.order_tree import first_leaf
from livejoin.kernels.ordered.running_state import (
    AROUND,
    C_FRAME,
    TILES,
    UP_TO_FAR,
    UP_TO_PEERS,
    WITHIN,
)
from livejoin.kernels.ordered.running_walks import walk, walk_around, walk_far, walk_to_peers
from livejoin.kernels.ordered.runs import (
    APPLYING,
    H_CHANGE,
    H_MADE,
    H_NEEDED,
    H_STEP,
    H_TOUCHED,
    Changes,
    apply_run,
    end_run,
    first_touched,
    opened,
)
from livejoin.kernels.ordered.sliding_frames import has_room
from livejoin.kernels.ordered.tile_walk import walk_tiles
from livejoin.kernels.parameters import Addresses, Cursor, Line, Matrix, Output, Texts, Touched
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_WORDS, O_WIDTH


@kernel
def maintain(
    store: Addresses, values: Matrix, weights: Line, versions: Line, text: Texts, touched: Touched, out: Output
) -> int:
    """Apply changes of rows and write what the result gains and loses, net within each version.

    Args:
        store: The state, of which an entry has the words of the calls behind its own. A caller starts with H_CHANGE,
            H_STEP and H_TOUCHED at 0.
        values: int64 of shape (words of a row, n): the rows as order words, those of a version partition by partition.
        weights: int64, what each change adds to its row's multiplicity, which is 0 or 1 after each version.
        versions: int64, ascending.
        text: The dictionary of strings, if there are any in the rows: its heap, starts and lengths.
        touched: int64 of n places, scratch.
        out: int64 of shape (LINES + words of a row and of the calls, capacity): the changes of the result, H_MADE of
            them.

    Returns:
        DONE; MORE: take the changes written and call again; NEED_SPACE: take them, grow the arena and call again;
        OUTPUT_FULL: take them and call again with at least H_NEEDED places; NEED_ROOM: take them and call again with
        room for frames of as many rows as the last word of the ring says.

    Cost: O(log n) a change, and O(1) for each row between two changes of a partition and version, and of the delta;
    LAG over k rows, and a frame of k rows, add O(k log n) for each partition and version. What is not combined takes
    O(k) for each row whose frame has one that changed. A frame up to some rows behind or before each takes O(log n) for
    each row; one of rows within a distance O(log^2 n) for each partition and version; tiles O(log n) for each of them.
    """
    s, strings = opened(store), strings_of(text)
    m, c = s.arena, Changes(view(values), weights.shape[0], view(weights), view(versions), view(touched))
    frame = s.calls[C_FRAME]
    m[H_MADE] = 0
    change = m[H_CHANGE]
    left = AT_ONCE
    while True:
        if m[H_STEP] == APPLYING:
            if m[H_TOUCHED] == 0:
                if change == c.n:
                    return DONE
                if left <= 0:
                    m[H_CHANGE] = change
                    return MORE
            begin = change
            change = apply_run(s, c, change, strings)
            left -= change - begin
            if m[H_STEP] == APPLYING:
                m[H_CHANGE] = change
                return NEED_SPACE
        row, version = first_touched(s, c.touched, strings), c.versions[change - 1]
        needed = 0
        for emit in (False, True):
            if emit and needed > out.shape[1] - m[H_MADE]:
                m[H_NEEDED] = needed
                m[H_CHANGE] = change
                return OUTPUT_FULL
            if emit and frame == WITHIN and not has_room(s):
                m[H_CHANGE] = change
                return NEED_ROOM
            if frame == AROUND:
                needed = walk_around(s, row, version, emit, strings, out)
            elif frame == UP_TO_FAR:
                needed = walk_far(s, row, version, emit, strings, out)
            elif frame == WITHIN:
                needed = walk_within(s, row, version, emit, strings, out)
            elif frame == TILES:
                needed = walk_tiles(s, c.touched, row, version, emit, strings, out)
            elif frame == UP_TO_PEERS:
                needed = walk_to_peers(s, row, version, emit, strings, out)
            else:
                needed = walk(s, row, version, emit, strings, out)
        end_run(s, c.touched, strings)
        left -= needed


@kernel
def scan(store: Addresses, cursor: Cursor, output: Output) -> int:
    """Write the rows of the result, partition by partition, in their order.

    Args:
        store: As for `maintain`.
        cursor: int64[2], a leaf and a place in it: (-1, 0) to begin, (0, ...) at the end; changed.
        output: int64 of shape (words of a row and of the calls, capacity).

    Returns:
        The number of rows written.

    Cost: O(1) a row.
    """
    s = opened(store)
    m, width = s.arena, s.wide[O_WIDTH]
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
