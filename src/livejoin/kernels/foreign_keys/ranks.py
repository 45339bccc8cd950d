"""Direct access to the results of a foreign-key join: its rank says which live row of the root a result stands for."""

from __future__ import annotations

from livejoin.kernels.foreign_keys.follow import follow, next_parent
from livejoin.kernels.foreign_keys.layout import (
    ALIVE,
    C_HEAD,
    C_LINK,
    COUNTER_BITS,
    H_LIVE,
    H_LIVE_COUNT,
    N_OWN,
    P_STEPS,
    R_STATE,
    S_ROWS,
)
from livejoin.kernels.jit import kernel
from livejoin.kernels.join.layout import H_DUPLICATES, P_FIRST_NODE
from livejoin.kernels.join.prefix_sums import row_of_rank
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import REF_MASK
from livejoin.kernels.parameters import ArenaArray, Cursor, Line, Matrix, Offsets, Plan, Sums


@kernel
def weigh(arena: ArenaArray, plan: Plan, prefix_sums: Sums) -> float:
    """Add up the multiplicities of the live rows of the root, if not all are one; O(live rows).

    Args:
        arena: The arena.
        plan: The plan.
        prefix_sums: int64, as long as the used part of the arena; written at the indices of the list of live rows.

    Returns:
        About the number of results.
    """
    m = words(arena)
    p = words(plan)
    sums = words(prefix_sums)
    if m[H_DUPLICATES] == 0:
        return float(m[H_LIVE_COUNT])
    state = p[p[P_FIRST_NODE] + N_OWN] + R_STATE
    live = m[H_LIVE] & REF_MASK
    exact = 0
    rough = 0.0
    for i in range(m[H_LIVE_COUNT]):
        times = m[m[live + i] + state] >> COUNTER_BITS
        exact += times
        rough += float(times)
        sums[live + i] = exact
    return rough


@kernel
def total(arena: ArenaArray, plan: Plan, prefix_sums: Sums) -> int:
    """Number of results, after `weigh`; O(1)."""
    m = words(arena)
    number: int = m[H_LIVE_COUNT]
    if m[H_DUPLICATES] == 0 or number == 0:
        return number
    return int(words(prefix_sums)[(m[H_LIVE] & REF_MASK) + number - 1])


@kernel
def descend(arena: ArenaArray, plan: Plan, prefix_sums: Sums, ranks: Line, rows: Matrix, cursor_words: Cursor) -> None:
    """Find the results at some ranks of the scan, after `weigh`. Cost: O(1) a rank, O(log results) with duplicates.

    Args:
        arena: The arena; not changed.
        plan: The plan.
        prefix_sums: The sums that `weigh` wrote.
        ranks: int64 from 0 up to the number of results, in any order.
        rows: int64 of shape (steps, n), written: the rows that each result is read from.
        cursor_words: As for `livejoin.kernels.foreign_keys.maintain.scan`, overwritten.
    """
    m = words(arena)
    p = words(plan)
    sums = words(prefix_sums)
    cursor = words(cursor_words)
    live = m[H_LIVE] & REF_MASK
    for i in range(ranks.shape[0]):
        place = ranks[i]
        if m[H_DUPLICATES] != 0:
            place = row_of_rank(sums, live, m[H_LIVE_COUNT], ranks[i])
        follow(m, p, m[live + place], cursor, S_ROWS)
        for step in range(p[P_STEPS]):
            rows[step, i] = cursor[S_ROWS + step]


@kernel
def sum_parents(
    arena: ArenaArray, plan: Plan, child: int, entries: Line, offsets: Offsets, values: Matrix, first: Line, sums: Line
) -> None:
    """Add up the multiplicities of the live rows of the root that have given values, among the parents of a key.

    Args:
        arena: The arena.
        plan: The plan.
        child: Offset of the child in the plan's list of the root's children.
        entries: int64, entries of its keys, 0 for none.
        offsets: int64, where a row has the values to be compared.
        values: int64 of shape (offsets, n).
        first: int64 of n places, written: one of the rows, 0 if there is none.
        sums: int64 of n places, written.

    Cost: O(parents of the keys).
    """
    m = words(arena)
    p = words(plan)
    state = p[p[P_FIRST_NODE] + N_OWN] + R_STATE
    link = p[child + C_LINK]
    for i in range(entries.shape[0]):
        first[i] = 0
        sums[i] = 0
        row = m[entries[i] + p[child + C_HEAD]] if entries[i] != 0 else 0
        while row != 0:
            same = m[row + state] & ALIVE != 0
            for k in range(offsets.shape[0]):
                same = same and m[row + offsets[k]] == values[k, i]
            if same:
                first[i] = row
                sums[i] += m[row + state] >> COUNTER_BITS
            row = next_parent(m, row + link)


@kernel
def list_parents(arena: ArenaArray, plan: Plan, child: int, entries: Line, rows: Line, ends: Line) -> int:
    """The rows that are linked to some keys, live or not, as many as there is room for.

    Args:
        arena: The arena.
        plan: The plan.
        child: Offset of the child in the plan's list of the children of these rows; the edge is not quiet.
        entries: int64, entries of the child's keys, 0 for none.
        rows: int64, written up to its length: the rows, key by key.
        ends: int64, as long as the entries, written: the number of rows up to the end of each key's.

    Returns:
        The number of rows, whatever room there is.

    Cost: O(rows).
    """
    m = words(arena)
    p = words(plan)
    link = p[child + C_LINK]
    number = 0
    for i in range(entries.shape[0]):
        row = m[entries[i] + p[child + C_HEAD]] if entries[i] != 0 else 0
        while row != 0:
            if number < rows.shape[0]:
                rows[number] = row
            number += 1
            row = next_parent(m, row + link)
        ends[i] = number
    return number
