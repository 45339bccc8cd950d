"""The nodes of the tree of an ordered multiset: their layout, their words in the arena, and moves of items.

    leaf    COUNT, NEXT, 63 first words, 63 entries, sums
    inner   COUNT, NEXT, 31 first words, 31 entries, 31 children, 31 sums, sums

An *item* is one place in all arrays of a node: of a leaf an entry (`livejoin.kernels.values.row_order`), of an inner
node a child, its first entry and the sum of the multiplicities below it. Beside an entry stands its first order word,
which decides most comparisons without a look at the entry. The nodes of a level are chained. The sums at a node's end
are those of its entries' values, of T_SUMS words (`livejoin.kernels.ordered.sums`); most trees have none.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.arena import allocate_raw
from livejoin.kernels.memory.layout import ARENA_HEADER, H_BUMP, H_END
from livejoin.kernels.parameters import Arena, Plan
from livejoin.kernels.values.row_order import E_COUNT, E_WORDS, O_WIDTH

# Arena header behind the fixed one
T_ROOT = ARENA_HEADER
T_HEIGHT = ARENA_HEADER + 1  # levels of inner nodes
T_FREE_NODE = ARENA_HEADER + 2
T_FREE_ENTRY = ARENA_HEADER + 3
T_TOTAL = ARENA_HEADER + 4  # sum of all multiplicities
T_ENTRIES = ARENA_HEADER + 5
T_LEAF = ARENA_HEADER + 6  # where the last `descend` ended, and how many entries of the leaf come before the place
T_PLACE = ARENA_HEADER + 7
T_SUMS = ARENA_HEADER + 8  # words of the sums of a node, and of the values of an entry, 0 if there are none
T_CARRIED = ARENA_HEADER + 9  # bit set of the words among them that go on the number of the word before
T_VALUES = ARENA_HEADER + 10  # offset of the values in an entry
T_PATH = ARENA_HEADER + 11  # inner node and child taken on each level
MAX_HEIGHT = 12  # at a quarter's filling more than 2**32 rows
T_END = T_PATH + 2 * MAX_HEIGHT

NODE = 128
COUNT = 0
NEXT = 1
FIRST = 2  # the arrays begin
LEAF = 63  # places; distance of the arrays
INNER = 31
LEAF_ARRAYS = 2
INNER_ARRAYS = 4
CHILD = FIRST + 2 * INNER
SUM = FIRST + 3 * INNER


@inlined
def has_space(m: Arena, p: Plan) -> bool:
    """Whether one insertion finds all words it can need."""
    worst: bool = m[H_BUMP] + E_WORDS + p[O_WIDTH] + (m[T_HEIGHT] + 2) * (NODE + m[T_SUMS]) <= m[H_END]
    return worst


@helper
def new_entry(m: Arena, p: Plan) -> int:
    """Words for an entry, not cleared."""
    entry: int = m[T_FREE_ENTRY]
    if entry == 0:
        return allocate_raw(m, E_WORDS + p[O_WIDTH])
    m[T_FREE_ENTRY] = m[entry]
    return entry


@inlined
def free_entry(m: Arena, entry: int) -> None:
    """Give an entry's words back."""
    m[entry] = m[T_FREE_ENTRY]
    m[T_FREE_ENTRY] = entry


@helper
def new_node(m: Arena) -> int:
    """An empty node."""
    node: int = m[T_FREE_NODE]
    if node == 0:
        node = allocate_raw(m, NODE + m[T_SUMS])
    else:
        m[T_FREE_NODE] = m[node + NEXT]
    m[node + COUNT] = 0
    m[node + NEXT] = 0
    for i in range(m[T_SUMS]):
        m[node + NODE + i] = 0
    return node


@inlined
def free_node(m: Arena, node: int) -> None:
    """Give a node's words back."""
    m[node + NEXT] = m[T_FREE_NODE]
    m[T_FREE_NODE] = node


@helper
def open_gap(m: Arena, node: int, at: int, places: int, arrays: int) -> None:
    """Make a gap in a node that has room."""
    count = m[node + COUNT]
    for line in range(arrays):
        begin = node + FIRST + line * places
        for i in range(count, at, -1):
            m[begin + i] = m[begin + i - 1]
    m[node + COUNT] = count + 1


@helper
def close_gap(m: Arena, node: int, at: int, places: int, arrays: int) -> None:
    """Close the gap that an item leaves."""
    count = m[node + COUNT] - 1
    for line in range(arrays):
        begin = node + FIRST + line * places
        for i in range(at, count):
            m[begin + i] = m[begin + i + 1]
    m[node + COUNT] = count


@helper
def give_right(m: Arena, left: int, right: int, items: int, places: int, arrays: int) -> None:
    """Move the last items of a node to the front of its right neighbour."""
    kept = m[left + COUNT] - items
    there = m[right + COUNT]
    for line in range(arrays):
        source = left + FIRST + line * places + kept
        target = right + FIRST + line * places
        for i in range(there - 1, -1, -1):
            m[target + i + items] = m[target + i]
        for i in range(items):
            m[target + i] = m[source + i]
    m[left + COUNT] = kept
    m[right + COUNT] = there + items


@helper
def give_left(m: Arena, left: int, right: int, items: int, places: int, arrays: int) -> None:
    """Move the first items of a node to the end of its left neighbour."""
    kept = m[right + COUNT] - items
    there = m[left + COUNT]
    for line in range(arrays):
        source = right + FIRST + line * places
        target = left + FIRST + line * places + there
        for i in range(items):
            m[target + i] = m[source + i]
        for i in range(kept):
            m[source + i] = m[source + i + items]
    m[right + COUNT] = kept
    m[left + COUNT] = there + items


@helper
def sum_of(m: Arena, node: int, places: int) -> int:
    """Sum of the multiplicities below a node."""
    total = 0
    for i in range(m[node + COUNT]):
        if places == LEAF:
            total += m[m[node + FIRST + LEAF + i] + E_COUNT] >> 1
        else:
            total += m[node + SUM + i]
    return total


@inlined
def set_child(m: Arena, node: int, at: int, child: int, places: int, total: int) -> None:
    """Write an item of an inner node; the child has ``places`` places."""
    m[node + FIRST + at] = m[child + FIRST]
    m[node + FIRST + INNER + at] = m[child + FIRST + places]
    m[node + CHILD + at] = child
    m[node + SUM + at] = total


@inlined
def to_give(at: int, places: int) -> int:
    """Items that a full node gives to a new one: few if it grows at its end, so that rows in order fill their nodes."""
    return places // 4 if at == places else places // 2
