"""How many words of an arena are free: below the bump pointer, and in no use."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import AT_ONCE, D_FREE, H_FREE, SIZE_CLASSES
from livejoin.kernels.parameters import ArenaArray, Cursor, Line

# Cursor of a count: the free list, those of the directories behind those of the size classes, and the next block in it
F_LIST = 0
F_AT = 1
FREE_CURSOR = 2


@kernel
def free_words(arena: ArenaArray, directories: Line, sizes: Line, cursor: Cursor) -> int:
    """Words in the free lists, or in some more of them.

    Args:
        arena: The arena.
        directories: References of directories whose free entries count too.
        sizes: Words of an entry of each.
        cursor: int64, FREE_CURSOR words, zeros to begin; changed. The count has ended where F_LIST is behind all lists.

    Returns:
        Words that were counted in this call.

    Cost: O(free blocks and entries), of which a call counts AT_ONCE at most.
    """
    m = words(arena)
    total = 0
    left = AT_ONCE
    at = cursor[F_AT]
    while cursor[F_LIST] < SIZE_CLASSES + directories.shape[0]:
        place = cursor[F_LIST] - SIZE_CLASSES
        if at == 0:
            at = m[H_FREE + SIZE_CLASSES + place] if place < 0 else m[directories[place] + D_FREE]
        size = 1 << cursor[F_LIST] if place < 0 else sizes[place]
        while at != 0:
            if left == 0:
                cursor[F_AT] = at
                return total
            total += size
            left -= 1
            at = m[at]
        cursor[F_LIST] += 1
    return total
