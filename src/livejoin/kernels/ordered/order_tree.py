"""A B+-tree of rows in an arena, with the multiplicities below each child: search, rank, insertion, removal, O(log n).

Leaves name entries in their order. All nodes but the root are at least a quarter full, and all first entries and sums
are exact after every operation, and so are the sums of values (`livejoin.kernels.ordered.sums`) where the caller adds
what an entry gains along the path to it. A caller makes sure of space before the first write (`has_space`); nothing
here fails.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.ordered.order_nodes import (
    CHILD,
    COUNT,
    FIRST,
    INNER,
    INNER_ARRAYS,
    LEAF,
    LEAF_ARRAYS,
    NEXT,
    SUM,
    T_ENTRIES,
    T_HEIGHT,
    T_LEAF,
    T_PATH,
    T_PLACE,
    T_ROOT,
    T_SUMS,
    T_TOTAL,
    close_gap,
    free_entry,
    free_node,
    give_left,
    give_right,
    new_node,
    open_gap,
    set_child,
    sum_of,
    to_give,
)
from livejoin.kernels.ordered.sums import sum_again
from livejoin.kernels.parameters import Arena, Plan, Texts
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, compare


@helper
def plant(m: Arena) -> None:
    """The empty tree: a root that is a leaf."""
    m[T_ROOT] = new_node(m)


@helper
def first_leaf(m: Arena) -> int:
    """The leaf that the chain begins with."""
    node: int = m[T_ROOT]
    for _ in range(m[T_HEIGHT]):
        node = m[node + CHILD]
    return node


@helper
def _not_after(m: Arena, p: Plan, node: int, places: int, row: int, text: Texts) -> int:
    """How many of a node's entries are not after a row."""
    word = m[row + E_WORDS]
    low = 0
    high = m[node + COUNT]
    while low < high:
        middle = (low + high) >> 1
        other = m[node + FIRST + middle]
        if other < word or (other == word and compare(m, p, m[node + FIRST + places + middle], row, text) <= 0):
            low = middle + 1
        else:
            high = middle
    return low


@helper
def descend(m: Arena, p: Plan, row: int, text: Texts) -> int:
    """Find the place of a row; returns the entry that is equal to it, which stands just before, or 0."""
    node = m[T_ROOT]
    for level in range(m[T_HEIGHT]):
        child = max(_not_after(m, p, node, INNER, row, text) - 1, 0)
        m[T_PATH + 2 * level] = node
        m[T_PATH + 2 * level + 1] = child
        node = m[node + CHILD + child]
    place = _not_after(m, p, node, LEAF, row, text)
    m[T_LEAF] = node
    m[T_PLACE] = place
    if place == 0 or m[node + FIRST + place - 1] != m[row + E_WORDS]:
        return 0
    entry: int = m[node + FIRST + LEAF + place - 1]
    return entry if compare(m, p, entry, row, text) == 0 else 0


@helper
def before(m: Arena, prefix: Plan, node: int, places: int, row: int, least: int, text: Texts) -> int:
    """How many of a node's entries come before a row, by some first words; also equal ones where ``least`` is 1."""
    low = 0
    high = m[node + COUNT]
    while low < high:
        middle = (low + high) >> 1
        if compare(m, prefix, m[node + FIRST + places + middle], row, text) < least:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def seek(m: Arena, prefix: Plan, row: int, least: int, text: Texts) -> None:
    """Find the first entry that is not before a row, by some first words, or with ``least`` 1 that is after it.

    Its leaf and place are in T_LEAF and T_PLACE; the place may be the end of the leaf.
    """
    node = m[T_ROOT]
    for _ in range(m[T_HEIGHT]):
        node = m[node + CHILD + max(before(m, prefix, node, INNER, row, least, text) - 1, 0)]
    m[T_LEAF] = node
    m[T_PLACE] = before(m, prefix, node, LEAF, row, least, text)


@inlined
def entry_here(m: Arena) -> int:
    """The entry at T_LEAF and T_PLACE, which become those of the next leaf at a leaf's end; 0 behind the last."""
    if m[T_PLACE] == m[m[T_LEAF] + COUNT]:
        m[T_LEAF] = m[m[T_LEAF] + NEXT]
        m[T_PLACE] = 0
        if m[T_LEAF] == 0:
            return 0
    entry: int = m[m[T_LEAF] + FIRST + LEAF + m[T_PLACE]]
    return entry


@helper
def rows_before(m: Arena, prefix: Plan, row: int, least: int, text: Texts) -> int:
    """How many rows come before a row, by some first words, with their multiplicities; with ``least`` 1 equal ones."""
    node = m[T_ROOT]
    found = 0
    for _ in range(m[T_HEIGHT]):
        child = max(before(m, prefix, node, INNER, row, least, text) - 1, 0)
        for i in range(child):
            found += m[node + SUM + i]
        node = m[node + CHILD + child]
    for i in range(before(m, prefix, node, LEAF, row, least, text)):
        found += m[m[node + FIRST + LEAF + i] + E_COUNT] >> 1
    return found


@inlined
def weigh(m: Arena, weight: int) -> None:
    """Add to the multiplicities below all children of the last descent."""
    m[T_TOTAL] += weight
    for level in range(m[T_HEIGHT]):
        m[m[T_PATH + 2 * level] + SUM + m[T_PATH + 2 * level + 1]] += weight


@helper
def select(m: Arena, rank: int) -> tuple[int, int]:
    """The entry at a rank below the total, and how many rows come before it; no multiplicity may be negative."""
    node = m[T_ROOT]
    before = 0
    for _ in range(m[T_HEIGHT]):
        child = 0
        while rank >= before + m[node + SUM + child]:
            before += m[node + SUM + child]
            child += 1
        node = m[node + CHILD + child]
    place = 0
    while True:
        entry = m[node + FIRST + LEAF + place]
        times = m[entry + E_COUNT] >> 1
        if rank < before + times:
            return entry, before
        before += times
        place += 1


@helper
def _rename(m: Arena, entry: int) -> None:
    """Note the new first entry of the leaf of the last descent in the nodes above it."""
    for level in range(m[T_HEIGHT] - 1, -1, -1):
        at = m[T_PATH + 2 * level] + FIRST + m[T_PATH + 2 * level + 1]
        m[at] = m[entry + E_WORDS]
        m[at + INNER] = entry
        if m[T_PATH + 2 * level + 1] != 0:
            return


@helper
def insert(m: Arena, entry: int) -> None:
    """Put an entry at the place that the last descent found, after `weigh` with its multiplicity."""
    if m[T_PLACE] == 0:
        _rename(m, entry)
    m[T_ENTRIES] += 1
    node = m[T_LEAF]
    at = m[T_PLACE]
    places = LEAF
    arrays = LEAF_ARRAYS
    level = m[T_HEIGHT]
    word = m[entry + E_WORDS]
    first = entry
    child = 0
    total = 0
    while True:
        right = 0
        into = node
        if m[node + COUNT] == places:
            right = new_node(m)
            m[right + NEXT] = m[node + NEXT]
            m[node + NEXT] = right
            give_right(m, node, right, to_give(at, places), places, arrays)
            if at > m[node + COUNT]:
                into = right
                at -= m[node + COUNT]
        open_gap(m, into, at, places, arrays)
        m[into + FIRST + at] = word
        m[into + FIRST + places + at] = first
        if child != 0:
            m[into + CHILD + at] = child
            m[into + SUM + at] = total
        if right == 0:
            return
        if m[T_SUMS] > 0:
            sum_again(m, node, places)
            sum_again(m, right, places)
        child = right
        total = sum_of(m, right, places)
        word = m[right + FIRST]
        first = m[right + FIRST + places]
        if level == 0:
            root = new_node(m)
            m[root + COUNT] = 2
            set_child(m, root, 0, node, places, m[T_TOTAL] - total)
            set_child(m, root, 1, right, places, total)
            if m[T_SUMS] > 0:
                sum_again(m, root, INNER)
            m[T_ROOT] = root
            m[T_HEIGHT] += 1
            return
        level -= 1
        node = m[T_PATH + 2 * level]
        at = m[T_PATH + 2 * level + 1]
        m[node + SUM + at] -= total
        at += 1
        places = INNER
        arrays = INNER_ARRAYS


@helper
def _mend(m: Arena, parent: int, child: int, places: int, arrays: int) -> None:
    """Merge a child that is too empty with a neighbour, or share evenly with it."""
    at = child if child + 1 < m[parent + COUNT] else child - 1
    left = m[parent + CHILD + at]
    right = m[parent + CHILD + at + 1]
    both = m[left + COUNT] + m[right + COUNT]
    total = m[parent + SUM + at] + m[parent + SUM + at + 1]
    kept = both if 4 * both <= 3 * places else both >> 1
    if m[left + COUNT] > kept:
        give_right(m, left, right, m[left + COUNT] - kept, places, arrays)
    else:
        give_left(m, left, right, kept - m[left + COUNT], places, arrays)
    if m[T_SUMS] > 0:
        sum_again(m, left, places)
        sum_again(m, right, places)
    if kept == both:
        m[left + NEXT] = m[right + NEXT]
        m[parent + SUM + at] = total
        close_gap(m, parent, at + 1, INNER, INNER_ARRAYS)
        free_node(m, right)
        return
    moved = sum_of(m, right, places)
    m[parent + SUM + at] = total - moved
    set_child(m, parent, at + 1, right, places, moved)


@helper
def remove(m: Arena, p: Plan, entry: int, text: Texts) -> None:
    """Take out an entry of multiplicity 0 and give its words back."""
    descend(m, p, entry, text)
    node = m[T_LEAF]
    at = m[T_PLACE] - 1
    close_gap(m, node, at, LEAF, LEAF_ARRAYS)
    if at == 0 and m[node + COUNT] > 0:
        _rename(m, m[node + FIRST + LEAF])
    m[T_ENTRIES] -= 1
    free_entry(m, entry)
    places = LEAF
    arrays = LEAF_ARRAYS
    level = m[T_HEIGHT] - 1
    while level >= 0 and 4 * m[node + COUNT] < places:
        node = m[T_PATH + 2 * level]
        _mend(m, node, m[T_PATH + 2 * level + 1], places, arrays)
        places = INNER
        arrays = INNER_ARRAYS
        level -= 1
    root = m[T_ROOT]
    if m[T_HEIGHT] > 0 and m[root + COUNT] == 1:
        m[T_ROOT] = m[root + CHILD]
        m[T_HEIGHT] -= 1
        free_node(m, root)
