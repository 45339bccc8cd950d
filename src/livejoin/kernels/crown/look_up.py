"""Given rows of an atom, found through the blocks of a join tree; nothing is changed."""

from __future__ import annotations

from livejoin.kernels.crown.layout import COUNTER_BITS, COUNTER_MASK, N_CHILDREN, N_STATE
from livejoin.kernels.jit import helper, kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.parameters import Arena, ArenaArray, Line, Matrix, Offsets, Plan


@helper
def _is_row(m: Arena, row: int, offsets: Offsets, values: Matrix, i: int) -> bool:
    """Whether a row has the given values."""
    for k in range(offsets.shape[0]):
        if m[row + offsets[k]] != values[k, i]:
            return False
    return True


@kernel
def sum_block(
    arena: ArenaArray, plan: Plan, node: int, blocks: Line, lengths: Line, offsets: Offsets, values: Matrix, sums: Line
) -> None:
    """Add up the multiplicities of the rows in ``V_s`` of an atom that have given values, each among the rows of a key.

    Args:
        arena: The arena.
        plan: The plan.
        node: Offset of the atom's node.
        blocks: int64, references of blocks of its rows.
        lengths: int64, the rows of each block.
        offsets: int64, where a row has the values to be compared.
        values: int64 of shape (offsets, n).
        sums: int64 of n places; written.

    Cost: O(rows of the blocks).
    """
    m = words(arena)
    p = words(plan)
    state = p[node + N_STATE]
    for i in range(blocks.shape[0]):
        sums[i] = 0
        for k in range(lengths[i]):
            row = m[blocks[i] + k]
            word = m[row + state]
            if word & COUNTER_MASK == p[node + N_CHILDREN] and _is_row(m, row, offsets, values, i):
                sums[i] += word >> COUNTER_BITS
