"""Entries of an ordered multiset by their rank."""

from __future__ import annotations

from livejoin.kernels.jit import kernel
from livejoin.kernels.memory.arena import words
from livejoin.kernels.ordered.order_tree import select
from livejoin.kernels.parameters import ArenaArray, Line, Output
from livejoin.kernels.values.row_order import E_WORDS


@kernel
def rows_at(arena: ArenaArray, ranks: Line, output: Output) -> None:
    """Write the rows at some ranks, which count multiplicities; O(log n) each.

    Args:
        arena: The state.
        ranks: int64, below the number of rows.
        output: int64 of shape (words of a row, n); written.
    """
    m = words(arena)
    for i in range(ranks.shape[0]):
        entry, _ = select(m, ranks[i])
        for k in range(output.shape[0]):
            output[k, i] = m[entry + E_WORDS + k]
