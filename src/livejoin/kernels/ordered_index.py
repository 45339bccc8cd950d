"""Ordered multisets of words: B+-trees in an arena, each behind one link word. Insertion, removal, least: O(log n).

    link    reference | entries, from bit LENGTH_SHIFT on | size class of the block | levels below; 0: no values
    block   keys, then as many words: the values' multiplicities in a leaf, the children's links in an inner node

A node begins with two places and its block grows by doubling up to `MOST` of them, so that a group with few values is
one small sorted block. A child's key is a lower bound of its values and, but for the first child's, above all values
before. A multiplicity is never 0; it may be negative between the changes of one version. A node is removed when it is
empty and its block is halved at a quarter's filling, so space is linear in the values there are; the number of levels
is logarithmic in the insertions since the tree was last empty (free-at-empty: Johnson and Shasha, "B-trees with inserts
and deletes: why free-at-empty is better than merge-at-half", JCSS 47, 1993).
"""

from __future__ import annotations

from typing import Any

from livejoin.kernels.arena import allocate, release
from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.layout import MASK32
from livejoin.kernels.value_order import NUMBER, precedes

LENGTH_SHIFT = 32
SIZE_SHIFT = 40
LEVEL_SHIFT = 48
FIELD = 0xFF

SMALLEST = 2
LARGEST = 6
MOST = 1 << (LARGEST - 1)

MAX_LEVELS = 12  # a level more takes the split of a full node below: 16**12 insertions
WORST_CASE = (MAX_LEVELS + 2) << LARGEST  # words that one insertion can take


@inlined
def block_of(link: int) -> int:
    """Reference of a node's block."""
    return link & MASK32


@inlined
def length_of(link: int) -> int:
    """Entries of a node."""
    return (link >> LENGTH_SHIFT) & FIELD


@inlined
def class_of(link: int) -> int:
    """Size class of a node's block."""
    return (link >> SIZE_SHIFT) & FIELD


@inlined
def level_of(link: int) -> int:
    """Levels below a node; 0 for a leaf."""
    return (link >> LEVEL_SHIFT) & FIELD


@inlined
def places_of(link: int) -> int:
    """Entries that a node's block has space for."""
    return (1 << class_of(link)) >> 1


@inlined
def _link(block: int, length: int, size_class: int, level: int) -> int:
    return block | (length << LENGTH_SHIFT) | (size_class << SIZE_SHIFT) | (level << LEVEL_SHIFT)


@helper
def _place(m: Any, block: int, begin: int, end: int, key: int, order: int, texts: Any) -> int:
    """The first of some sorted keys that does not precede a key; ``end`` if all do."""
    if order == NUMBER:
        while begin < end:
            middle = (begin + end) >> 1
            if m[block + middle] < key:
                begin = middle + 1
            else:
                end = middle
        return begin
    while begin < end:
        middle = (begin + end) >> 1
        if precedes(m[block + middle], key, order, texts):
            begin = middle + 1
        else:
            end = middle
    return begin


@helper
def _put(m: Any, at: int, place: int, key: int, value: int) -> None:
    """Insert an entry into a node, which has space, whose link is at ``at``."""
    link = m[at]
    block, places = block_of(link), places_of(link)
    i = length_of(link)
    while i > place:
        m[block + i] = m[block + i - 1]
        m[block + places + i] = m[block + places + i - 1]
        i -= 1
    m[block + place] = key
    m[block + places + place] = value
    m[at] = link + (1 << LENGTH_SHIFT)


@helper
def _enlarge(m: Any, at: int) -> None:
    link = m[at]
    size_class, places = class_of(link), places_of(link)
    old = block_of(link)
    block = allocate(m, size_class + 1)
    for i in range(length_of(link)):
        m[block + i] = m[old + i]
        m[block + 2 * places + i] = m[old + places + i]
    release(m, old, size_class)
    m[at] = _link(block, length_of(link), size_class + 1, level_of(link))


@helper
def _split(m: Any, at: int, kept: int) -> int:
    """Move the entries from ``kept`` on to a new node with space for one more; its link."""
    link = m[at]
    block, moved, places = block_of(link), length_of(link) - kept, places_of(link)
    size_class = SMALLEST
    while (1 << size_class) >> 1 < moved + 1:
        size_class += 1
    right = allocate(m, size_class)
    for i in range(moved):
        m[right + i] = m[block + kept + i]
        m[right + ((1 << size_class) >> 1) + i] = m[block + places + kept + i]
    m[at] = link - (moved << LENGTH_SHIFT)
    return _link(right, moved, size_class, level_of(link))


@helper
def _insert(m: Any, at: int, place: int, key: int, value: int, depth: int, path: int, spare: int) -> None:
    """Insert an entry at a place of a node; full nodes on the way up are split, the root last."""
    while True:
        link = m[at]
        length = length_of(link)
        if length == places_of(link) and length < MOST:
            _enlarge(m, at)
        elif length == MOST:
            # Appending keeps the full node full: growing keys, such as times, then fill their leaves.
            kept = length if place == length else length >> 1
            m[spare] = _split(m, at, kept)
            if place >= kept:
                _put(m, spare, place - kept, key, value)
            else:
                _put(m, at, place, key, value)
            right = m[spare]
            if depth == 0:
                left = m[at]
                root = allocate(m, SMALLEST)
                m[at] = _link(root, 2, SMALLEST, level_of(left) + 1)
                m[root], m[root + 1] = m[block_of(left)], m[block_of(right)]
                m[root + 2], m[root + 3] = left, right
                return
            depth -= 1
            at = m[path + 2 * depth]
            place = m[path + 2 * depth + 1] + 1
            key, value = m[block_of(right)], right
            continue
        _put(m, at, place, key, value)
        return


@helper
def _cut(m: Any, at: int, place: int) -> None:
    """Remove an entry of a node that has others, and give back half of a block that is mostly empty."""
    link = m[at]
    block, places, length = block_of(link), places_of(link), length_of(link) - 1
    for i in range(place, length):
        m[block + i] = m[block + i + 1]
        m[block + places + i] = m[block + places + i + 1]
    size_class = class_of(link)
    if 4 * length <= places and size_class > SMALLEST:
        for i in range(length):
            m[block + (places >> 1) + i] = m[block + places + i]
        size_class -= 1
        release(m, block + (1 << size_class), size_class)
    m[at] = _link(block, length, size_class, level_of(link))


@helper
def _remove(m: Any, root: int, at: int, place: int, depth: int, path: int) -> None:
    """Remove an entry of a leaf, and the nodes that are empty without it."""
    while length_of(m[at]) == 1:
        release(m, block_of(m[at]), class_of(m[at]))
        if depth == 0:
            m[at] = 0
            return
        depth -= 1
        at = m[path + 2 * depth]
        place = m[path + 2 * depth + 1]
    _cut(m, at, place)
    while level_of(m[root]) > 0 and length_of(m[root]) == 1:
        link = m[root]
        m[root] = m[block_of(link) + places_of(link)]
        release(m, block_of(link), class_of(link))


@helper
def change(m: Any, root: int, key: int, weight: int, order: int, texts: Any, path: int) -> int:
    """Change the multiplicity of a value; the arena must have `WORST_CASE` words of space.

    Args:
        m: The arena.
        root: Where the tree's link is.
        key: The value's word.
        weight: The change, not 0.
        order: The order of the values.
        texts: The dictionaries, see `livejoin.kernels.value_order.precedes`.
        path: Reference of ``2 * MAX_LEVELS + 1`` words of scratch.

    Returns:
        1 if the multiplicity became positive, -1 if it was and no longer is, else 0.
    """
    if m[root] == 0:
        block = allocate(m, SMALLEST)
        m[block] = key
        m[block + 2] = weight
        m[root] = _link(block, 1, SMALLEST, 0)
        return 1 if weight > 0 else 0
    at = root
    depth = 0
    link = m[at]
    while level_of(link) > 0:
        block, length = block_of(link), length_of(link)
        child = _place(m, block, 1, length, key, order, texts)
        if child == length or m[block + child] != key:
            child -= 1
        m[path + 2 * depth] = at
        m[path + 2 * depth + 1] = child
        depth += 1
        at = block + places_of(link) + child
        link = m[at]
    block, length = block_of(link), length_of(link)
    place = _place(m, block, 0, length, key, order, texts)
    if place == length or m[block + place] != key:
        _insert(m, at, place, key, weight, depth, path, path + 2 * MAX_LEVELS)
        return 1 if weight > 0 else 0
    count = block + places_of(link) + place
    before = m[count]
    after = before + weight
    if after == 0:
        _remove(m, root, at, place, depth, path)
    else:
        m[count] = after
    return (1 if after > 0 else 0) - (1 if before > 0 else 0)


@helper
def least(m: Any, link: int) -> int:
    """The least value of a tree that is not empty."""
    while level_of(link) > 0:
        link = m[block_of(link) + places_of(link)]
    value: int = m[block_of(link)]
    return value


@helper
def greatest(m: Any, link: int) -> int:
    """The greatest value of a tree that is not empty."""
    while level_of(link) > 0:
        link = m[block_of(link) + places_of(link) + length_of(link) - 1]
    value: int = m[block_of(link) + length_of(link) - 1]
    return value


@helper
def write(m: Any, root: int, distinct: bool, bounds: bool, path: int, out: Any, at: int) -> int:
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
def words_of(m: Any, root: int, path: int) -> int:
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
