"""The rows of each partition of an ordered multiset with their ranks, all or the first ones, kept up to date.

The multiset is the tree of `livejoin.kernels.ordered.order_tree`, its rows ordered by their partition, then by the
keys, then by all columns: a partition is a run of entries, of which the first ones stand in the result. Every entry
knows its copies there and the rank of the first of them, in one word behind its own.

The changes of a version come partition by partition. A run of them is applied, and then entries are walked from the
first one that it touched, which begins where the one before it ends, to the first one behind the last touched that
stands in the result as it did, since all behind it do: so a run costs O(log n) a change and O(1) for each row between
its changes or whose rank changes, which is a row of the delta.

Law: the changes written for a version are the result after it minus the result before it, as multisets.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words as view
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.ordered.order_nodes import COUNT, FIRST, LEAF, NEXT, T_LEAF, T_PLACE
from livejoin.kernels.ordered.order_tree import first_leaf, rows_before, seek
from livejoin.kernels.ordered.runs import (
    APPLYING,
    H_CHANGE,
    H_MADE,
    H_NEEDED,
    H_STEP,
    H_TOTAL,
    H_TOUCHED,
    Changes,
    PartitionBuffers,
    apply_run,
    end_run,
    first_touched,
    opened,
    seek_behind,
)
from livejoin.kernels.parameters import Addresses, Cursor, Line, Matrix, Output, Texts, Touched
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_LIMIT, O_OFFSET, O_WIDTH, compare

# Which rank, in the place of the plan's OFFSET
ROW_NUMBER = 0
RANK = 1
DENSE_RANK = 2

# Lines of the output, then the row's words
L_WEIGHT = 0
L_VERSION = 1
L_RANK = 2
LINES = 3


@helper
def _write(s: PartitionBuffers, entry: int, weight: int, rank: int, version: int, out: Output) -> None:
    m, p = s.arena, s.plan
    made = m[H_MADE]
    out[L_WEIGHT, made] = weight
    out[L_VERSION, made] = version
    out[L_RANK, made] = rank
    for i in range(p[O_WIDTH]):
        out[LINES + i, made] = m[entry + E_WORDS + i]
    m[H_MADE] = made + 1
    m[H_TOTAL] += weight


@helper
def _settle(s: PartitionBuffers, entry: int, copies: int, first: int, version: int, emit: bool, out: Output) -> int:
    """Write how else than before an entry stands in the result, but if not ``emit``; the number of changes."""
    m, p = s.arena, s.plan
    old, was = m[entry + E_IN], m[entry + E_WORDS + p[O_WIDTH]]
    made = 0
    if p[O_OFFSET] == ROW_NUMBER:
        for rank in range(was, was + old):
            if rank < first or rank >= first + copies:
                made += 1
                if emit:
                    _write(s, entry, -1, rank, version, out)
        for rank in range(first, first + copies):
            if rank < was or rank >= was + old:
                made += 1
                if emit:
                    _write(s, entry, 1, rank, version, out)
    elif old > 0 and copies > 0 and was == first:
        if old != copies:
            made = 1
            if emit:
                _write(s, entry, copies - old, first, version, out)
    else:
        if old > 0:
            made += 1
            if emit:
                _write(s, entry, -old, was, version, out)
        if copies > 0:
            made += 1
            if emit:
                _write(s, entry, copies, first, version, out)
    if emit:
        m[entry + E_IN] = copies
        m[entry + E_WORDS + p[O_WIDTH]] = first
    return made


@helper
def _before(s: PartitionBuffers, row: int, text: Texts) -> tuple[int, int, int]:
    """The entry before another one in its partition, 0 if there is none; the rows up to it, and its rank.

    Where the other one stands is in T_LEAF and T_PLACE.
    """
    m, p, prefix = s.arena, s.plan, s.prefix
    entry = seek_behind(s, p, row, text)
    if entry == 0:
        return 0, 0, 0
    rank = m[entry + E_WORDS + p[O_WIDTH]]
    if p[O_OFFSET] == ROW_NUMBER:
        return entry, rank - 1 + (m[entry + E_COUNT] >> 1), rank
    if p[O_OFFSET] == RANK:
        return entry, rows_before(m, p, row, 0, text) - rows_before(m, prefix, row, 0, text), rank
    return entry, 0, rank


@helper
def _walk(s: PartitionBuffers, row: int, version: int, emit: bool, text: Texts, out: Output) -> int:
    """Settle the entries from the first that was touched to where the result is as it was; the number of changes."""
    m, p, prefix, keys = s.arena, s.plan, s.prefix, s.keys
    previous, rows, rank = _before(s, row, text)
    if previous != 0 and m[previous + E_IN] == 0:
        return 0
    leaf, place = m[T_LEAF], m[T_PLACE]
    limit, waiting = p[O_LIMIT], m[H_TOUCHED]
    made, gained = 0, 0
    while True:
        while leaf != 0 and place == m[leaf + COUNT]:
            leaf = m[leaf + NEXT]
            place = 0
        if leaf == 0:
            return made
        entry = m[leaf + FIRST + LEAF + place]
        if compare(m, prefix, entry, row, text) != 0:
            return made
        times, is_touched = m[entry + E_COUNT] >> 1, m[entry + E_COUNT] & 1 == 1
        copies, first = 0, 0
        if times > 0:
            if p[O_OFFSET] == ROW_NUMBER:
                rank = rows + 1
                copies = max(min(times, limit - rows), 0)
            else:
                if previous == 0 or compare(m, keys, entry, previous, text) != 0:
                    rank = rows + 1 if p[O_OFFSET] == RANK else rank + 1
                copies = times if rank <= limit else 0
            previous = entry
            rows += times
            if copies > 0:
                first = rank
        if is_touched:
            waiting -= 1
            gained += times - m[entry + E_IN]
        elif copies == m[entry + E_IN]:
            if copies == 0:
                return made
            if waiting == 0 and first == m[entry + E_WORDS + p[O_WIDTH]] and (gained == 0 or p[O_OFFSET] != RANK):
                return made
        made += _settle(s, entry, copies, first, version, emit, out)
        place += 1


@kernel
def maintain(
    store: Addresses, values: Matrix, weights: Line, versions: Line, text: Texts, touched: Touched, out: Output
) -> int:
    """Apply changes of multiplicities and write what the result gains and loses, net within each version.

    Args:
        store: The state. A caller starts with H_CHANGE, H_STEP and H_TOUCHED at 0. OFFSET of its plan is which rank,
            and an entry has one word more, for its rank.
        values: int64 of shape (words of a row, n): the rows as order words, those of a version partition by partition.
        weights: int64, what each change adds to its row's multiplicity.
        versions: int64, ascending.
        text: The dictionary of strings, if there are any in the rows: its heap, starts and lengths.
        touched: int64 of n places, scratch.
        out: int64 of shape (LINES + words of a row, capacity): the changes of the result, H_MADE of them.

    Returns:
        DONE; MORE: take the changes written and call again; NEED_SPACE: take them, grow the arena and call again;
        OUTPUT_FULL: take them and call again with at least H_NEEDED places.

    Cost: O(log n) a change, and O(1) for each row between two changes of a partition and version, and of the delta.
    """
    s, strings = opened(store), strings_of(text)
    m, c = s.arena, Changes(view(values), weights.shape[0], view(weights), view(versions), view(touched))
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
        needed = _walk(s, row, version, False, strings, out)
        if needed > out.shape[1] - m[H_MADE]:
            m[H_NEEDED] = needed
            m[H_CHANGE] = change
            return OUTPUT_FULL
        _walk(s, row, version, True, strings, out)
        end_run(s, c.touched, strings)
        left -= needed


@kernel
def scan(store: Addresses, text: Texts, cursor: Cursor, output: Output) -> int:
    """Write the rows of the result, partition by partition, in their order.

    Args:
        store, text: As for `maintain`.
        cursor: int64[3], a leaf, a place in it and copies that were written: (-1, 0, 0) to begin, (0, ...) at the end;
            changed.
        output: int64 of shape (words of a row + 2, capacity): the rows' words, their ranks, and their multiplicities.

    Returns:
        The number of rows written.

    Cost: O(1) a row and O(log n) a partition.
    """
    s, strings = opened(store), strings_of(text)
    m, p = s.arena, s.plan
    leaf, place, done = cursor[0], cursor[1], cursor[2]
    if leaf == -1:
        leaf = first_leaf(m)
    made = 0
    while True:
        while leaf != 0 and place == m[leaf + COUNT]:
            leaf = m[leaf + NEXT]
            place = 0
        if leaf == 0:
            cursor[0] = 0
            return made
        entry = m[leaf + FIRST + LEAF + place]
        copies = m[entry + E_IN]
        if copies == 0:
            seek(m, s.prefix, entry, 1, strings)
            leaf, place = m[T_LEAF], m[T_PLACE]
            continue
        while done < copies:
            if made == output.shape[1]:
                cursor[0], cursor[1], cursor[2] = leaf, place, done
                return made
            for i in range(p[O_WIDTH]):
                output[i, made] = m[entry + E_WORDS + i]
            single = p[O_OFFSET] == ROW_NUMBER
            output[p[O_WIDTH], made] = m[entry + E_WORDS + p[O_WIDTH]] + (done if single else 0)
            output[p[O_WIDTH] + 1, made] = 1 if single else copies
            made += 1
            done += 1 if single else copies
        done = 0
        place += 1
