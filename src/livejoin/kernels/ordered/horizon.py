"""The horizon of the rows of `livejoin.kernels.ordered.top_k`: which rows are behind it, and how it moves.

The horizon is some first order words of a row. Rows whose first words are not greater are in the tree, the others are
not. Who calls `bring` sets the horizon behind it; `cut_off` goes by the one that `place_horizon` has set.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import AT_ONCE, DONE, MORE, NEED_SPACE
from livejoin.kernels.ordered.order_nodes import (
    CHILD,
    COUNT,
    FIRST,
    LEAF,
    NEXT,
    T_HEIGHT,
    T_ROOT,
    free_entry,
    has_space,
    new_entry,
)
from livejoin.kernels.ordered.order_tree import descend, first_leaf, remove, weigh
from livejoin.kernels.ordered.top_k import H_CHANGE, H_FIRST_WORDS, H_HORIZON, weighted
from livejoin.kernels.parameters import Arena, ArenaArray, Line, Matrix, Plan, Texts
from livejoin.kernels.values.dictionary_view import strings_of
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, O_WIDTH


@helper
def _is_behind(values: Matrix, row: int, bound: Line) -> bool:
    """Whether a row comes behind all rows with some first words; no row does where there are none."""
    for i in range(bound.shape[0]):
        if values[i, row] != bound[i]:
            return bool(values[i, row] > bound[i])
    return False


@kernel
def between(values: Matrix, weights: Line, low: Line, high: Line, places: Line) -> tuple[int, int]:
    """Find the changes of rows that are behind one horizon, and not behind another one.

    Args:
        values: int64 of shape (words of a row, n): the rows as order words.
        weights: int64, what each change adds to its row's multiplicity.
        low: int64, the words of the first horizon; none: all rows are behind it.
        high: int64, those of the second one; none: no row is behind it.
        places: int64 of n places: the positions of what is found.

    Returns:
        How many there are, and the sum of their negative weights, as a positive number.
    """
    found, going = 0, 0
    for row in range(weights.shape[0]):
        if (low.shape[0] == 0 or _is_behind(values, row, low)) and not _is_behind(values, row, high):
            places[found] = row
            found += 1
            going -= min(weights[row], 0)
    return found, going


@kernel
def bring(arena: ArenaArray, plan: Plan, values: Matrix, weights: Line, text: Texts) -> int:
    """Put rows that were behind the horizon into the tree; multiplicities may be negative until all are there.

    Args:
        arena, plan, text: As for `maintain`. A caller starts with H_CHANGE at 0.
        values: int64 of shape (words of a row, n): the rows as order words.
        weights: int64, their multiplicities, or what is to be added to these.

    Returns:
        DONE; MORE: call again; NEED_SPACE: grow the arena and call again.

    Cost: O(log n) a row.
    """
    m = words(arena)
    p = words(plan)
    strings = strings_of(text)
    end = min(m[H_CHANGE] + AT_ONCE, weights.shape[0])
    for change in range(m[H_CHANGE], end):
        if not has_space(m, p):
            m[H_CHANGE] = change
            return NEED_SPACE
        weighted(m, p, values, change, weights[change], strings)
    m[H_CHANGE] = end
    return DONE if end == weights.shape[0] else MORE


@kernel
def drop_absent(arena: ArenaArray, plan: Plan, values: Matrix, text: Texts) -> int:
    """Take out those of some rows of which there are none; as `bring`."""
    m = words(arena)
    p = words(plan)
    strings = strings_of(text)
    end = min(m[H_CHANGE] + AT_ONCE, values.shape[1])
    for change in range(m[H_CHANGE], end):
        if not has_space(m, p):
            m[H_CHANGE] = change
            return NEED_SPACE
        row = new_entry(m, p)
        for i in range(p[O_WIDTH]):
            m[row + E_WORDS + i] = values[i, change]
        entry = descend(m, p, row, strings)
        free_entry(m, row)
        if entry != 0 and m[entry + E_COUNT] == 0:
            remove(m, p, entry, strings)
    m[H_CHANGE] = end
    return DONE if end == values.shape[1] else MORE


@kernel
def place_horizon(arena: ArenaArray, entries: int, width: int) -> None:
    """Let the horizon be the first words of an entry, of the one with so many before it and fewer than all.

    Cost: O(entries / 16).
    """
    m = words(arena)
    leaf = first_leaf(m)
    while entries >= m[leaf + COUNT]:
        entries -= m[leaf + COUNT]
        leaf = m[leaf + NEXT]
    entry = m[leaf + FIRST + LEAF + entries]
    for i in range(width):
        m[H_FIRST_WORDS + i] = m[entry + E_WORDS + i]
    m[H_HORIZON] = width


@helper
def _last_entry(m: Arena) -> int:
    """The last entry of a tree that has one."""
    node = m[T_ROOT]
    for _ in range(m[T_HEIGHT]):
        node = m[node + CHILD + m[node + COUNT] - 1]
    last: int = m[node + FIRST + LEAF + m[node + COUNT] - 1]
    return last


@kernel
def cut_off(arena: ArenaArray, plan: Plan, text: Texts) -> int:
    """Take out the entries behind the horizon; at least one is not.

    Returns:
        DONE, or MORE: call again.

    Cost: O(log n) an entry that goes.
    """
    m = words(arena)
    p = words(plan)
    strings = strings_of(text)
    for _ in range(AT_ONCE):
        entry = _last_entry(m)
        i = 0
        while i < m[H_HORIZON] and m[entry + E_WORDS + i] == m[H_FIRST_WORDS + i]:
            i += 1
        if i == m[H_HORIZON] or m[entry + E_WORDS + i] < m[H_FIRST_WORDS + i]:
            return DONE
        descend(m, p, entry, strings)
        weigh(m, -(m[entry + E_COUNT] >> 1))
        m[entry + E_COUNT] = 0
        remove(m, p, entry, strings)
    return MORE
