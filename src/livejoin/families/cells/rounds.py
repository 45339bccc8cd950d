"""The order of the results of a join in cells: rounds, in each of which every cell gives a block of its results.

With blocks of 2 results and cells with the results ``a b c d e`` and ``x y z`` it is ``a b x y | c d z | e``. Law: the
order is that of the blocks, whose size is fixed, so that neither a reader's buffers nor the threads change it, and
`Places` says without enumeration where a result stands in it. One cell after the other would be such an order too, but
then only one thread would work unless the results of all other cells were kept meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from livejoin.words import Words

BLOCK = 1 << 16
"""Results of a block, as many as a batch has by default."""

Run = Callable[[Sequence[Callable[[], Words | None]]], list[Words | None]]


def in_rounds(cells: Sequence[Callable[[int], Iterator[Words]]], capacity: int, run: Run) -> Iterator[Words]:
    """The results of all cells in their order, in buffers of shape (columns, up to ``capacity`` results).

    Args:
        cells: The enumeration of each cell by the size of its buffers.
        capacity: Results of a buffer at most.
        run: Runs a task of each cell, side by side if that is worth it.

    Cost: the cells' enumerations, and memory for one block of each.
    """
    left = [_blocks(scan(BLOCK)) for scan in cells]
    while left:
        found = run([partial(next, one, None) for one in left])
        left = [one for one, words in zip(left, found, strict=True) if words is not None]
        for words in found:
            if words is not None:
                yield from (words[:, begin : begin + capacity] for begin in range(0, words.shape[1], capacity))


def _blocks(buffers: Iterator[Words]) -> Iterator[Words]:
    """The results in buffers of exactly `BLOCK`, but for the last one."""
    parts: list[Words] = []
    size = 0
    for words in buffers:
        parts.append(words)
        size += words.shape[1]
        if size >= BLOCK:
            whole = np.concatenate(parts, axis=1) if len(parts) > 1 else words
            yield whole[:, :BLOCK]
            parts, size = [whole[:, BLOCK:]], size - BLOCK
    if size:
        yield np.concatenate(parts, axis=1)


class Places:
    """Where results stand in the order of rounds.

    Between two rounds in which a cell ends, all rounds are alike; there are at most two such stretches a cell.

    Args:
        totals: The results of each cell; in all they are below 2**63.
    """

    def __init__(self, totals: Sequence[int]) -> None:
        sizes = np.array(totals, np.int64)
        last = sizes // BLOCK  # the round in which a cell gives its last block, perhaps an empty one
        self._rounds = np.unique(np.concatenate([[0], last, last + 1]))
        shares = np.where(
            self._rounds[:, None] < last, BLOCK, np.where(self._rounds[:, None] == last, sizes % BLOCK, 0)
        )
        self._ends = np.cumsum(shares, axis=1)  # for each stretch and cell, the results of a round up to the cell
        self._before = np.concatenate([[0], np.cumsum(np.diff(self._rounds) * self._ends[:-1, -1])])

    def of(self, ranks: Words) -> tuple[Words, Words]:
        """The cell of each rank, and its rank in this cell; O(log cells) each.

        Args:
            ranks: int64 from 0 up to the sum of the totals.
        """
        stretch = np.searchsorted(self._before, ranks, side="right") - 1
        ends = self._ends[stretch]
        turns, within = np.divmod(ranks - self._before[stretch], ends[:, -1])
        cells = (ends <= within[:, None]).sum(axis=1)
        begins = np.where(cells > 0, ends[np.arange(ranks.shape[0]), cells - 1], 0)
        return cells, (self._rounds[stretch] + turns) * BLOCK + within - begins
