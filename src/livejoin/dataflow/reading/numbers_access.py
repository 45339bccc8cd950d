"""Access to the whole numbers from 0 on, below a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

import numpy as np

from livejoin.dataflow.batches import Rows
from livejoin.words import Words


class NumbersAccess:
    """The numbers; as `livejoin.dataflow.reading.access.Access`. Cost: O(1) a number.

    Args:
        count: How many.
        rows: Makes rows of numbers.
    """

    def __init__(self, count: int, rows: Callable[[Words], Rows]) -> None:
        self._count = count
        self._rows = rows

    def total(self) -> int:
        return self._count

    def at(self, ranks: Words) -> Rows:
        return self._rows(ranks)

    def multiplicities(self, rows: Rows) -> Words:
        asked = rows.codes(0)
        return np.where((asked >= 0) & (asked < self._count), 1, 0)

    def leads(self, columns: Set[int]) -> bool:
        return bool(columns)

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        there = np.flatnonzero(self.multiplicities(given))
        return self._rows(given.codes(0)[there]), np.ones(there.shape[0], np.int64), there
