"""Ordered multisets of words: B+-trees of nodes in an arena (`livejoin.kernels.groups.index_nodes`), O(log n) a change.

A child's key is a lower bound of its values and, but for the first child's, above all values before. A multiplicity is
never 0; it may be negative between the changes of one version. A node is removed when it is empty, so space is linear
in the values there are and the number of levels logarithmic in the insertions since the tree was last empty
(free-at-empty: Johnson and Shasha, "B-trees with inserts and deletes: why free-at-empty is better than merge-at-half",
JCSS 47, 1993). A group with few values is one small sorted block.
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
    places_of,
    put,
    split,
)
from livejoin.kernels.jit import helper
from livejoin.kernels.memory.arena import allocate, release
from livejoin.kernels.parameters import Arena, Output, Texts
from livejoin.kernels.values.value_order import NUMBER, precedes

MAX_LEVELS = 12  # a level more takes the split of a full node below: 16**12 insertions
WORST_CASE = (MAX_LEVELS + 2) << LARGEST  # words that one insertion can take


@helper
def _place(m: Arena, link: int, key: int, order: int, texts: Texts) -> int:
    """The first entry of a leaf whose key does not precede a key; of an inner node the child for the key."""
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
def _insert(m: Arena, at: int, place: int, key: int, value: int, depth: int, path: int, spare: int) -> None:
    """Insert an entry at a place of a node; full nodes on the way up are split, the root last."""
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
                put(m, spare, place - kept, key, value)
            else:
                put(m, at, place, key, value)
            right = m[spare]
            if depth == 0:
                left = m[at]
                root = allocate(m, SMALLEST)
                m[at] = make_link(root, 2, SMALLEST, level_of(left) + 1)
                m[root], m[root + 1] = m[block_of(left)], m[block_of(right)]
                m[root + 2], m[root + 3] = left, right
                return
            depth -= 1
            at = m[path + 2 * depth]
            place = m[path + 2 * depth + 1] + 1
            key, value = m[block_of(right)], right
            continue
        put(m, at, place, key, value)
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
        path: Reference of ``2 * MAX_LEVELS + 1`` words of scratch.

    Returns:
        1 if the multiplicity became positive, -1 if it was and no longer is, else 0.
    """
    if m[root] == 0:
        block = allocate(m, SMALLEST)
        m[block] = key
        m[block + 2] = weight
        m[root] = make_link(block, 1, SMALLEST, 0)
        return 1 if weight > 0 else 0
    at = root
    depth = 0
    link = m[at]
    while level_of(link) > 0:
        place = _place(m, link, key, order, texts)
        m[path + 2 * depth] = at
        m[path + 2 * depth + 1] = place
        depth += 1
        at = block_of(link) + places_of(link) + place
        link = m[at]
    place = _place(m, link, key, order, texts)
    if place == length_of(link) or m[block_of(link) + place] != key:
        _insert(m, at, place, key, weight, depth, path, path + 2 * MAX_LEVELS)
        return 1 if weight > 0 else 0
    count = block_of(link) + places_of(link) + place
    before = m[count]
    after = before + weight
    if after == 0:
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
    if root == 0:
        return at
    m[path] = root
    m[path + 1] = 0
    depth = 0
    while depth >= 0:
        link = m[path + 2 * depth]
        child = m[path + 2 * depth + 1]
        block, length, places = block_of(link), length_of(link), places_of(link)
        if level_of(link) == 0:
            for i in range(length):
                copies = 1 if distinct else m[block + places + i]
                for _ in range(copies):
                    out[at] = m[block + i]
                    at += 1
            depth -= 1
        elif child == length:
            depth -= 1
        else:
            if bounds:
                out[at] = m[block + child]
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
