"""How many words of an arena are free: below the bump pointer, and in no use."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.memory.layout import D_FREE, H_FREE, SIZE_CLASSES
from livejoin.kernels.parameters import ArenaArray, Line


@kernel
def free_words(arena: ArenaArray, directories: Line, sizes: Line) -> int:
    """Words in the free lists.

    Args:
        arena: The arena.
        directories: References of directories whose free entries count too.
        sizes: Words of an entry of each.

    Cost: O(free blocks and entries).
    """
    m = words(arena)
    total = 0
    for size_class in range(SIZE_CLASSES):
        at = m[H_FREE + size_class]
        while at != 0:
            total += 1 << size_class
            at = m[at]
    for i in range(directories.shape[0]):
        at = m[directories[i] + D_FREE]
        while at != 0:
            total += sizes[i]
            at = m[at]
    return total
