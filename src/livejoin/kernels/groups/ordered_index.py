"""Ordered multisets of words: B+-trees of nodes in an arena (`livejoin.kernels.groups.index_nodes`), O(log n) a change.

A child's key is a lower bound of its values and, but for the first child's, above all values before. A multiplicity is
never 0; it may be negative between the changes of one version. A node is removed when it is empty, so space is linear
in the values there are and the number of levels logarithmic in the insertions since the tree was last empty
(free-at-empty: Johnson and Shasha, "B-trees with inserts and deletes: why free-at-empty is better than merge-at-half",
JCSS 47, 1993). A group with few values is one small sorted block.

An index of *pairs* orders its values by two words, NULL first in each, and knows how many values are below each child:
it finds the value at a rank in O(log n). Equal first words are told apart by the second one.
"""

from __future__ import annotations

from livejoin.kernels.groups.index_nodes import (
    LARGEST,
    MOST,
    SMALLEST,
    block_of,
    class_of,
    cut,
    length_of,
    level_of,
    make_link,
    move,
    pairs_of,
    places_of,
    put,
    seconds_of,
    split,
    sums_of,
    total_of,
)
from livejoin.kernels.groups.layout import NULL
from livejoin.kernels.jit import helper
from livejoin.kernels.memory.arena import allocate, release
from livejoin.kernels.parameters import Arena, Output, Texts
from livejoin.kernels.values.value_order import NUMBER, precedes

MAX_LEVELS = 12  # a level more takes the split of a full node below: 16**12 insertions
PATH = 2 * MAX_LEVELS + 2  # words of scratch of a change
WORST_CASE = (MAX_LEVELS + 2) << LARGEST  # words that one insertion can take
WORST_CASE_OF_PAIRS = (MAX_LEVELS + 2) << (LARGEST + 1)

Pair = tuple[int, int]
"""What is said of the first word of a pair, and of the second one."""


@helper
def _comes_first(a: int, b: int, order: int, texts: Texts) -> bool:
    """Whether one word of a pair comes before another one, which differs; NULL is first."""
    if a == NULL or b == NULL:
        return a == NULL
    return precedes(a, b, order, texts)


@helper
def _place_of_pair(m: Arena, link: int, key: int, second: int, order: int, other: int, texts: Texts) -> int:
    """As `_place`, in an index of pairs."""
    block, seconds, end = block_of(link), seconds_of(link), length_of(link)
    begin = 1 if level_of(link) > 0 else 0
    while begin < end:
        middle = (begin + end) >> 1
        if m[block + middle] != key:
            is_before = _comes_first(m[block + middle], key, order, texts)
        elif m[seconds + middle] != second:
            is_before = _comes_first(m[seconds + middle], second, other, texts)
        else:
            is_before = False
        if is_before:
            begin = middle + 1
        else:
            end = middle
    is_same = begin < length_of(link) and m[block + begin] == key and m[seconds + begin] == second
    return begin - 1 if level_of(link) > 0 and not is_same else begin


@helper
def _place(m: Arena, link: int, key: int, second: int, order: int, other: int, texts: Texts) -> int:
    """The first entry of a leaf whose key does not precede a key; of an inner node the child for the key."""
    if pairs_of(link) == 1:
        return _place_of_pair(m, link, key, second, order, other, texts)
    block, end = block_of(link), length_of(link)
    begin = 1 if level_of(link) > 0 else 0
    if order == NUMBER:
        while begin < end:
            middle = (begin + end) >> 1
            if m[block + middle] < key:
                begin = middle + 1
            else:
                end = middle
    while begin < end:
        middle = (begin + end) >> 1
        if precedes(m[block + middle], key, order, texts):
            begin = middle + 1
        else:
            end = middle
    if level_of(link) > 0 and (begin == length_of(link) or m[block + begin] != key):
        begin -= 1
    return begin


@helper
def _insert(m: Arena, at: int, place: int, key: int, second: int, value: int, depth: int, path: int) -> None:
    """Insert an entry at a place of a node; full nodes on the way up are split, the root last."""
    spare = path + 2 * MAX_LEVELS
    below = 0
    while True:
        link = m[at]
        length = length_of(link)
        if length == places_of(link) and length < MOST:
            move(m, at, class_of(link) + 1)
        elif length == MOST:
            # Appending keeps the full node full: growing keys, such as times, then fill their leaves.
            kept = length if place == length else length >> 1
            m[spare] = split(m, at, kept)
            if place >= kept:
                put(m, spare, place - kept, key, second, value, below)
            else:
                put(m, at, place, key, second, value, below)
            left, right = m[at], m[spare]
            pairs = pairs_of(right)
            key, second, value = m[block_of(right)], 0, right
            if pairs == 1:
                second, below = m[seconds_of(right)], total_of(m, right)
            if depth == 0:
                root = allocate(m, SMALLEST + pairs)
                m[at] = make_link(root, 0, SMALLEST + pairs, level_of(left) + 1, pairs)
                if pairs == 1:
                    put(m, at, 0, m[block_of(left)], m[seconds_of(left)], left, total_of(m, left))
                else:
                    put(m, at, 0, m[block_of(left)], 0, left, 0)
                put(m, at, 1, key, second, value, below)
                return
            depth -= 1
            at = m[path + 2 * depth]
            place = m[path + 2 * depth + 1]
            if pairs == 1:
                m[sums_of(m[at]) + place] -= below
            place += 1
            continue
        put(m, at, place, key, second, value, below)
        return


@helper
def _remove(m: Arena, root: int, at: int, place: int, depth: int, path: int) -> None:
    """Remove an entry of a leaf, and the nodes that are empty without it."""
    while length_of(m[at]) == 1:
        release(m, block_of(m[at]), class_of(m[at]))
        if depth == 0:
            m[at] = 0
            return
        depth -= 1
        at = m[path + 2 * depth]
        place = m[path + 2 * depth + 1]
    cut(m, at, place)
    while level_of(m[root]) > 0 and length_of(m[root]) == 1:
        link = m[root]
        m[root] = m[block_of(link) + places_of(link)]
        release(m, block_of(link), class_of(link))


@helper
def change(m: Arena, root: int, key: int, weight: int, order: int, texts: Texts, path: int) -> int:
    """Change the multiplicity of a value; the arena must have `WORST_CASE` words of space.

    Args:
        m: The arena.
        root: Where the tree's link is.
        key: The value's word.
        weight: The change, not 0.
        order: The order of the values.
        texts: The dictionaries, see `livejoin.kernels.values.dictionary_view`.
        path: Reference of `PATH` words of scratch; the last one is the multiplicity then.

    Returns:
        1 if the multiplicity became positive, -1 if it was and no longer is, else 0.
    """
    return _change(m, root, (key, 0), weight, (order, NUMBER), 0, texts, path)


@helper
def change_pair(m: Arena, root: int, pair: Pair, weight: int, orders: Pair, texts: Texts, path: int) -> int:
    """As `change`, in an index of pairs, each word of which has an order; it takes `WORST_CASE_OF_PAIRS` words."""
    return _change(m, root, pair, weight, orders, 1, texts, path)


@helper
def _change(m: Arena, root: int, pair: Pair, weight: int, orders: Pair, pairs: int, texts: Texts, path: int) -> int:
    (key, second), (order, other) = pair, orders
    if m[root] == 0:
        block = allocate(m, SMALLEST + pairs)
        m[root] = make_link(block, 0, SMALLEST + pairs, 0, pairs)
        put(m, root, 0, key, second, weight, 0)
        m[path + PATH - 1] = weight
        return 1 if weight > 0 else 0
    at = root
    depth = 0
    link = m[at]
    while level_of(link) > 0:
        place = _place(m, link, key, second, order, other, texts)
        m[path + 2 * depth] = at
        m[path + 2 * depth + 1] = place
        depth += 1
        at = block_of(link) + places_of(link) + place
        if pairs == 1:
            m[sums_of(link) + place] += weight
        link = m[at]
    place = _place(m, link, key, second, order, other, texts)
    count = block_of(link) + places_of(link) + place
    is_there = place < length_of(link) and m[block_of(link) + place] == key
    if is_there and pairs == 1:
        is_there = m[seconds_of(link) + place] == second
    before = m[count] if is_there else 0
    after = before + weight
    m[path + PATH - 1] = after
    if not is_there:
        _insert(m, at, place, key, second, weight, depth, path)
    elif after == 0:
        _remove(m, root, at, place, depth, path)
    else:
        m[count] = after
    return (1 if after > 0 else 0) - (1 if before > 0 else 0)


@helper
def least(m: Arena, link: int) -> int:
    """The least value of a tree that is not empty."""
    while level_of(link) > 0:
        link = m[block_of(link) + places_of(link)]
    value: int = m[block_of(link)]
    return value


@helper
def greatest(m: Arena, link: int) -> int:
    """The greatest value of a tree that is not empty."""
    while level_of(link) > 0:
        link = m[block_of(link) + places_of(link) + length_of(link) - 1]
    value: int = m[block_of(link) + length_of(link) - 1]
    return value


@helper
def second_of_least(m: Arena, link: int) -> int:
    """The second word of the least pair of a tree that is not empty."""
    while level_of(link) > 0:
        link = m[block_of(link) + places_of(link)]
    value: int = m[seconds_of(link)]
    return value


@helper
def second_of_greatest(m: Arena, link: int) -> int:
    """The second word of the greatest pair of a tree that is not empty."""
    while level_of(link) > 0:
        link = m[block_of(link) + places_of(link) + length_of(link) - 1]
    value: int = m[seconds_of(link) + length_of(link) - 1]
    return value


@helper
def last_second_of_least(m: Arena, link: int) -> int:
    """The greatest second word of the pairs with the least first word, a number, of a tree that is not empty.

    Cost: O(log(pairs)) for each level.
    """
    key = least(m, link)
    while level_of(link) > 0:
        child = length_of(link) - 1
        while child > 0 and m[block_of(link) + child] != key:
            child -= 1
        # The key of a child is a lower bound: what made it may have left, and then its values are greater.
        if child > 0 and least(m, m[block_of(link) + places_of(link) + child]) != key:
            child -= 1
        link = m[block_of(link) + places_of(link) + child]
    place = length_of(link) - 1
    while m[block_of(link) + place] != key:
        place -= 1
    value: int = m[seconds_of(link) + place]
    return value


@helper
def value_at(m: Arena, link: int, rank: int) -> int:
    """The first word at a rank, from 0 on, of an index of pairs with more values, none with a negative multiplicity."""
    while level_of(link) > 0:
        child = 0
        while rank >= m[sums_of(link) + child]:
            rank -= m[sums_of(link) + child]
            child += 1
        link = m[block_of(link) + places_of(link) + child]
    place = 0
    while rank >= m[block_of(link) + places_of(link) + place]:
        rank -= m[block_of(link) + places_of(link) + place]
        place += 1
    value: int = m[block_of(link) + place]
    return value


@helper
def write_seconds(m: Arena, root: int, distinct: bool, path: int, out: Output, at: int) -> int:
    """Write the second words of an index of pairs in the order of the pairs; as `write`."""
    return _write(m, root, distinct, distinct, True, path, out, at)


@helper
def write(m: Arena, root: int, distinct: bool, bounds: bool, path: int, out: Output, at: int) -> int:
    """Write the values of a tree in order.

    Args:
        m: The arena.
        root: The tree's link.
        distinct: Whether each value is written once and not as often as its multiplicity says.
        bounds: Whether the keys of inner nodes are written too, before what is below them.
        path: Reference of ``2 * MAX_LEVELS`` words of scratch.
        out: Where to, with space for all of them.
        at: The first place.

    Returns:
        The place behind the last value.
    """
    return _write(m, root, distinct, bounds, False, path, out, at)


@helper
def _write(m: Arena, root: int, distinct: bool, bounds: bool, seconds: bool, path: int, out: Output, at: int) -> int:
    if root == 0:
        return at
    m[path] = root
    m[path + 1] = 0
    depth = 0
    while depth >= 0:
        link = m[path + 2 * depth]
        child = m[path + 2 * depth + 1]
        block, length, places = block_of(link), length_of(link), places_of(link)
        words = seconds_of(link) if seconds else block
        if level_of(link) == 0:
            for i in range(length):
                copies = 1 if distinct else m[block + places + i]
                for _ in range(copies):
                    out[at] = m[words + i]
                    at += 1
            depth -= 1
        elif child == length:
            depth -= 1
        else:
            if bounds:
                out[at] = m[words + child]
                at += 1
            m[path + 2 * depth + 1] = child + 1
            depth += 1
            m[path + 2 * depth] = m[block + places + child]
            m[path + 2 * depth + 1] = 0
    return at


@helper
def words_of(m: Arena, root: int, path: int) -> int:
    """How many words `write` would write with ``distinct`` and ``bounds``."""
    if root == 0:
        return 0
    total = 0
    m[path] = root
    m[path + 1] = 0
    depth = 0
    while depth >= 0:
        link = m[path + 2 * depth]
        child = m[path + 2 * depth + 1]
        if child == 0:
            total += length_of(link)
        if level_of(link) == 0 or child == length_of(link):
            depth -= 1
        else:
            m[path + 2 * depth + 1] = child + 1
            depth += 1
            m[path + 2 * depth] = m[block_of(link) + places_of(link) + child]
            m[path + 2 * depth + 1] = 0
    return total
