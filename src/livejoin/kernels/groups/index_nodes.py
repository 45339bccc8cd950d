"""The nodes of ordered indexes: small blocks of sorted entries in an arena, each behind one link word.

    link    reference | entries, from bit LENGTH_SHIFT on | size class of the block | levels below | whether of pairs
    block   keys, then as many words: the values' multiplicities in a leaf, the children's links in an inner node
    pairs   behind these the second words of the keys, then in an inner node the multiplicities below each child

The link of no values is 0. A node begins with two places; its block grows by doubling up to `MOST` of them and is
halved at a quarter's filling.
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
PAIRS_SHIFT = 56
FIELD = 0xFF

SMALLEST = 2  # size classes of blocks; those of pairs are one larger
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
def pairs_of(link: int) -> int:
    """1 for a node of pairs, else 0."""
    return (link >> PAIRS_SHIFT) & 1


@inlined
def places_of(link: int) -> int:
    """Entries that a node's block has space for."""
    return (1 << class_of(link)) >> (1 + pairs_of(link))


@inlined
def seconds_of(link: int) -> int:
    """Where the second words of a node of pairs begin."""
    return block_of(link) + 2 * places_of(link)


@inlined
def sums_of(link: int) -> int:
    """Where the sums below the children of an inner node of pairs begin."""
    return block_of(link) + 3 * places_of(link)


@inlined
def make_link(block: int, length: int, size_class: int, level: int, pairs: int) -> int:
    """The link of a node."""
    return (
        block | (length << LENGTH_SHIFT) | (size_class << SIZE_SHIFT) | (level << LEVEL_SHIFT) | (pairs << PAIRS_SHIFT)
    )


@helper
def total_of(m: Arena, link: int) -> int:
    """The sum of the multiplicities below a node of pairs."""
    begin = sums_of(link) if level_of(link) > 0 else block_of(link) + places_of(link)
    total = 0
    for i in range(length_of(link)):
        total += m[begin + i]
    return total


@helper
def put(m: Arena, at: int, place: int, key: int, second: int, value: int, below: int) -> None:
    """Insert an entry into a node, which has space, whose link is at ``at``."""
    link = m[at]
    places = places_of(link)
    for line in range(2 << pairs_of(link)):
        begin = block_of(link) + line * places
        i = length_of(link)
        while i > place:
            m[begin + i] = m[begin + i - 1]
            i -= 1
    m[block_of(link) + place] = key
    m[block_of(link) + places + place] = value
    if pairs_of(link) == 1:
        m[seconds_of(link) + place] = second
        m[sums_of(link) + place] = below
    m[at] = link + (1 << LENGTH_SHIFT)


@helper
def _copy(m: Arena, link: int, first: int, length: int, block: int, places: int) -> None:
    """Copy some entries of a node to the begin of another block."""
    for line in range(2 << pairs_of(link)):
        source = block_of(link) + line * places_of(link) + first
        target = block + line * places
        for i in range(length):
            m[target + i] = m[source + i]


@helper
def move(m: Arena, at: int, size_class: int) -> None:
    """Bring a node into a block of another size.

    A block that was halved in place could never be put together again: a window of growing values then leaves two words
    behind for each value that it ever held.
    """
    link = m[at]
    block = allocate(m, size_class)
    _copy(m, link, 0, length_of(link), block, (1 << size_class) >> (1 + pairs_of(link)))
    release(m, block_of(link), class_of(link))
    m[at] = make_link(block, length_of(link), size_class, level_of(link), pairs_of(link))


@helper
def split(m: Arena, at: int, kept: int) -> int:
    """Move the entries from ``kept`` on to a new node with space for one more; its link."""
    link = m[at]
    moved = length_of(link) - kept
    size_class = SMALLEST + pairs_of(link)
    while (1 << size_class) >> (1 + pairs_of(link)) < moved + 1:
        size_class += 1
    right = allocate(m, size_class)
    _copy(m, link, kept, moved, right, (1 << size_class) >> (1 + pairs_of(link)))
    m[at] = link - (moved << LENGTH_SHIFT)
    return make_link(right, moved, size_class, level_of(link), pairs_of(link))


@helper
def cut(m: Arena, at: int, place: int) -> None:
    """Remove an entry of a node that has others; a block that is mostly empty is replaced by one half its size."""
    link = m[at]
    places, length = places_of(link), length_of(link) - 1
    for line in range(2 << pairs_of(link)):
        begin = block_of(link) + line * places
        for i in range(place, length):
            m[begin + i] = m[begin + i + 1]
    m[at] = link - (1 << LENGTH_SHIFT)
    if 4 * length <= places and class_of(link) > SMALLEST + pairs_of(link):
        move(m, at, class_of(link) - 1)
