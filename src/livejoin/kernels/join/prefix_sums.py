"""How many results lie below the rows of a block, summed from its beginning: what a rank is looked up in.

The sums of all blocks lie in one array beside the arena, each at the index that its row has in the arena: the word at
the index of a block's i-th row holds the number of results below its first i + 1 rows. So they need no directory of
their own, and no page of the array is touched where the arena has no block.
"""

from __future__ import annotations

from livejoin.kernels.jit import helper, inlined
from livejoin.kernels.parameters import Sums


@inlined
def sum_before(sums: Sums, block: int, index: int) -> int:
    """Results below the rows of a block before one of them."""
    if index == 0:
        return 0
    before: int = sums[block + index - 1]
    return before


@helper
def row_of_rank(sums: Sums, block: int, length: int, rank: int) -> int:
    """The position in a block of the row below which the result at a rank lies; O(log length)."""
    low = 0
    high = length - 1
    while low < high:
        middle = (low + high) >> 1
        if sums[block + middle] > rank:
            high = middle
        else:
            low = middle + 1
    return low
