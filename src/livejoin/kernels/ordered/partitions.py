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
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE, OUTPUT_FULL
from livejoin.kernels.ordered.order_nodes import (
    COUNT,
    FIRST,
    LEAF,
    NEXT,
    T_END,
    T_LEAF,
    T_PLACE,
    free_entry,
    has_space,
    new_entry,
)
from livejoin.kernels.ordered.order_tree import descend, first_leaf, insert, remove, rows_before, seek, select, weigh
from livejoin.kernels.parameters import Arena, ArenaArray, Cursor, Line, Matrix, Output, Plan, Texts, Touched, Words
from livejoin.kernels.values.row_order import E_COUNT, E_IN, E_WORDS, O_LIMIT, O_OFFSET, O_WIDTH, compare

# Which rank, in the place of the plan's OFFSET
ROW_NUMBER = 0
RANK = 1
DENSE_RANK = 2

# Arena header behind that of the tree
P_CHANGE = T_END  # cursor of an interrupted `maintain`: change, begin of its run, step
P_STEP = T_END + 1
P_TOUCHED = T_END + 2  # entries that the run touched
P_MADE = T_END + 3  # changes written by the current call
P_NEEDED = T_END + 4  # OUTPUT_FULL: places that the run needs
P_TOTAL = T_END + 5  # rows of the result
P_HEADER = T_END + 6

BEGINNING = 0
APPLYING = 1
WRITING = 2

# Lines of the output, then the row's words
L_WEIGHT = 0
L_VERSION = 1
L_RANK = 2
LINES = 3


@helper
def _write(m: Arena, p: Plan, entry: int, weight: int, rank: int, version: int, out: Output) -> None:
    made = m[P_MADE]
    out[L_WEIGHT, made] = weight
    out[L_VERSION, made] = version
    out[L_RANK, made] = rank
    for i in range(p[O_WIDTH]):
        out[LINES + i, made] = m[entry + E_WORDS + i]
    m[P_MADE] = made + 1
    m[P_TOTAL] += weight


@helper
def _settle(m: Arena, p: Plan, entry: int, copies: int, first: int, version: int, emit: bool, out: Output) -> int:
    """Write how else than before an entry stands in the result, but if not ``emit``; the number of changes."""
    old, was = m[entry + E_IN], m[entry + E_WORDS + p[O_WIDTH]]
    made = 0
    if p[O_OFFSET] == ROW_NUMBER:
        for rank in range(was, was + old):
            if rank < first or rank >= first + copies:
                made += 1
                if emit:
                    _write(m, p, entry, -1, rank, version, out)
        for rank in range(first, first + copies):
            if rank < was or rank >= was + old:
                made += 1
                if emit:
                    _write(m, p, entry, 1, rank, version, out)
    elif old > 0 and copies > 0 and was == first:
        if old != copies:
            made = 1
            if emit:
                _write(m, p, entry, copies - old, first, version, out)
    else:
        if old > 0:
            made += 1
            if emit:
                _write(m, p, entry, -old, was, version, out)
        if copies > 0:
            made += 1
            if emit:
                _write(m, p, entry, copies, first, version, out)
    if emit:
        m[entry + E_IN] = copies
        m[entry + E_WORDS + p[O_WIDTH]] = first
    return made


@helper
def _first_touched(m: Arena, p: Plan, touched: Touched, text: Texts) -> int:
    """The entry that comes first of those that the run touched."""
    first: int = touched[0]
    for i in range(1, m[P_TOUCHED]):
        if compare(m, p, touched[i], first, text) < 0:
            first = touched[i]
    return first


@helper
def _before(m: Arena, p: Plan, prefix: Plan, row: int, text: Texts) -> tuple[int, int, int]:
    """The entry before another one in its partition, 0 if there is none; the rows up to it, and its rank."""
    ahead = rows_before(m, p, row, text)
    if ahead == 0:
        return 0, 0, 0
    entry, _ = select(m, ahead - 1)
    if compare(m, prefix, entry, row, text) != 0:
        return 0, 0, 0
    rank = m[entry + E_WORDS + p[O_WIDTH]]
    if p[O_OFFSET] == ROW_NUMBER:
        return entry, rank - 1 + (m[entry + E_COUNT] >> 1), rank
    return entry, ahead - rows_before(m, prefix, row, text) if p[O_OFFSET] == RANK else 0, rank


@helper
def _walk(
    m: Arena, p: Plan, prefix: Plan, keys: Plan, row: int, version: int, emit: bool, text: Texts, out: Output
) -> int:
    """Settle the entries from the first that was touched to where the result is as it was; the number of changes."""
    previous, rows, rank = _before(m, p, prefix, row, text)
    if previous != 0 and m[previous + E_IN] == 0:
        return 0
    seek(m, p, row, 0, text)
    leaf, place = m[T_LEAF], m[T_PLACE]
    limit, waiting = p[O_LIMIT], m[P_TOUCHED]
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
        made += _settle(m, p, entry, copies, first, version, emit, out)
        place += 1


@helper
def _new_row(m: Arena, p: Plan, wide: Plan, values: Matrix, change: int) -> int:
    """An entry with the words of a change."""
    row = new_entry(m, wide)
    for i in range(p[O_WIDTH]):
        m[row + E_WORDS + i] = values[i, change]
    return row


@helper
def _apply(
    m: Arena, p: Plan, wide: Plan, values: Matrix, change: int, weight: int, touched: Touched, text: Texts
) -> None:
    """Change the multiplicity of a row."""
    row = _new_row(m, p, wide, values, change)
    entry = descend(m, p, row, text)
    weigh(m, weight)
    if entry == 0:
        entry = row
        m[entry + E_COUNT] = weight << 1
        m[entry + E_IN] = 0
        m[entry + E_WORDS + p[O_WIDTH]] = 0
        insert(m, entry)
    else:
        free_entry(m, row)
        m[entry + E_COUNT] += weight << 1
    if m[entry + E_COUNT] & 1 == 0:
        m[entry + E_COUNT] |= 1
        touched[m[P_TOUCHED]] = entry
        m[P_TOUCHED] += 1


@helper
def _is_same_run(p: Plan, prefix: Plan, values: Matrix, versions: Line, one: int, other: int) -> bool:
    """Whether two changes are of one version and one partition."""
    if versions[one] != versions[other]:
        return False
    for i in range(prefix[O_WIDTH]):
        if values[i, one] != values[i, other]:
            return False
    return True


@kernel
def maintain(
    arena: ArenaArray,
    plan: Plan,
    prefix: Plan,
    keys: Plan,
    wide: Plan,
    values: Matrix,
    weights: Line,
    versions: Line,
    heap: Words,
    starts: Words,
    lengths: Line,
    touched: Touched,
    out: Output,
) -> int:
    """Apply changes of multiplicities and write what the result gains and loses, net within each version.

    Args:
        arena: The state; changed. A caller starts with P_CHANGE, P_STEP and P_TOUCHED at 0.
        plan: int64, see O_WIDTH and the constants beside it; OFFSET is which rank.
        prefix, keys: The same for the first words of a row: those of the partition, and these with those of the keys.
        wide: The same with one word more, which an entry has for its rank.
        values: int64 of shape (words of a row, n): the rows as order words, those of a version partition by partition.
        weights: int64, what each change adds to its row's multiplicity.
        versions: int64, ascending.
        heap, starts, lengths: The dictionary of strings, if there are any in the rows.
        touched: int64 of n places, scratch.
        out: int64 of shape (LINES + words of a row, capacity): the changes of the result, P_MADE of them.

    Returns:
        DONE; MORE: take the changes written and call again; NEED_SPACE: take them, grow the arena and call again;
        OUTPUT_FULL: take them and call again with at least P_NEEDED places.

    Cost: O(log n) a change, and O(1) for each row between two changes of a partition and version, and of the delta.
    """
    m = words(arena)
    p, of_partition, of_keys, larger = words(plan), words(prefix), words(keys), words(wide)
    text = (heap, starts, lengths)
    m[P_MADE] = 0
    change = m[P_CHANGE]
    left = AT_ONCE
    while True:
        if m[P_STEP] == BEGINNING:
            if change == weights.shape[0]:
                return DONE
            if left <= 0:
                m[P_CHANGE] = change
                return MORE
            m[P_STEP] = APPLYING
        if m[P_STEP] == APPLYING:
            while True:
                if not has_space(m, larger):
                    m[P_CHANGE] = change
                    return NEED_SPACE
                _apply(m, p, larger, values, change, weights[change], touched, text)
                change += 1
                left -= 1
                if change == weights.shape[0]:
                    break
                if not _is_same_run(p, of_partition, values, versions, change - 1, change):
                    break
            m[P_STEP] = WRITING
        row = _first_touched(m, p, touched, text)
        needed = _walk(m, p, of_partition, of_keys, row, versions[change - 1], False, text, out)
        if needed > out.shape[1] - m[P_MADE]:
            m[P_NEEDED] = needed
            m[P_CHANGE] = change
            return OUTPUT_FULL
        _walk(m, p, of_partition, of_keys, row, versions[change - 1], True, text, out)
        for i in range(m[P_TOUCHED]):
            entry = touched[i]
            m[entry + E_COUNT] ^= 1
            if m[entry + E_COUNT] == 0:
                remove(m, p, entry, text)
        left -= needed
        m[P_TOUCHED] = 0
        m[P_STEP] = BEGINNING


@kernel
def scan(
    arena: ArenaArray,
    plan: Plan,
    prefix: Plan,
    heap: Words,
    starts: Words,
    lengths: Line,
    cursor: Cursor,
    output: Output,
) -> int:
    """Write the rows of the result, partition by partition, in their order.

    Args:
        arena, plan, prefix, heap, starts, lengths: As for `maintain`.
        cursor: int64[3], a leaf, a place in it and copies that were written: (-1, 0, 0) to begin, (0, ...) at the end;
            changed.
        output: int64 of shape (words of a row + 2, capacity): the rows' words, their ranks, and their multiplicities.

    Returns:
        The number of rows written.

    Cost: O(1) a row and O(log n) a partition.
    """
    m = words(arena)
    p, of_partition = words(plan), words(prefix)
    text = (heap, starts, lengths)
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
            seek(m, of_partition, entry, 1, text)
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
