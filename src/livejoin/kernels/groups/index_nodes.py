"""The nodes of ordered indexes: small blocks of sorted entries in an arena, each behind one link word.

    link    reference | entries, from bit LENGTH_SHIFT on | size class of the block | levels below; 0: no values
    block   keys, then as many words: the values' multiplicities in a leaf, the children's links in an inner node

A node begins with two places; its block grows by doubling up to `MOST` of them and is halved at a quarter's filling.
Nothing here fails: a caller makes sure of space beforehand.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.memory.arena import allocate, release
from livejoin.kernels.memory.layout import MASK32
from livejoin.kernels.parameters import Arena

LENGTH_SHIFT = 32
SIZE_SHIFT = 40
LEVEL_SHIFT = 48
FIELD = 0xFF

SMALLEST = 2
LARGEST = 6
MOST = 1 << (LARGEST - 1)


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
def make_link(block: int, length: int, size_class: int, level: int) -> int:
    """The link of a node."""
    return block | (length << LENGTH_SHIFT) | (size_class << SIZE_SHIFT) | (level << LEVEL_SHIFT)


@helper
def put(m: Arena, at: int, place: int, key: int, value: int) -> None:
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
def move(m: Arena, at: int, size_class: int) -> None:
    """Bring a node into a block of another size.

    A block that was halved in place could never be put together again: a window of growing values then leaves two words
    behind for each value that it ever held.
    """
    link = m[at]
    old, places = block_of(link), places_of(link)
    block = allocate(m, size_class)
    for i in range(length_of(link)):
        m[block + i] = m[old + i]
        m[block + ((1 << size_class) >> 1) + i] = m[old + places + i]
    release(m, old, class_of(link))
    m[at] = make_link(block, length_of(link), size_class, level_of(link))


@helper
def split(m: Arena, at: int, kept: int) -> int:
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
    return make_link(right, moved, size_class, level_of(link))


@helper
def cut(m: Arena, at: int, place: int) -> None:
    """Remove an entry of a node that has others; a block that is mostly empty is replaced by one half its size."""
    link = m[at]
    block, places, length = block_of(link), places_of(link), length_of(link) - 1
    for i in range(place, length):
        m[block + i] = m[block + i + 1]
        m[block + places + i] = m[block + places + i + 1]
    m[at] = link - (1 << LENGTH_SHIFT)
    if 4 * length <= places and class_of(link) > SMALLEST:
        move(m, at, class_of(link) - 1)
