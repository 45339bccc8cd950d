"""Access to rows that stand there several times, with numbers: all with number 0, then all with number 1, and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

import numpy as np

from livejoin.dataflow.batches import Rows
from livejoin.dataflow.reading.access import Access
from livejoin.families.sizes import exactly
from livejoin.words import Words


class RepeatedAccess:
    """The rows; as `livejoin.dataflow.reading.access.Access`. Cost: that below.

    Args:
        below: The rows below.
        count: How often each stands there.
        width: The columns of the rows below; that of the number is behind them.
        numbered: Puts a number behind the columns of each row.
    """

    def __init__(self, below: Access, count: int, width: int, numbered: Callable[[Rows, Words], Rows]) -> None:
        self._below = below
        self._count = count
        self._number = width
        self._numbered = numbered

    def total(self) -> int:
        return exactly(self._count * self._below.total())

    def at(self, ranks: Words) -> Rows:
        self.total()  # refuses what 64 bits do not count
        numbers, own = np.divmod(ranks, self._below.total())
        return self._numbered(self._below.at(own), numbers)

    def multiplicities(self, rows: Rows) -> Words:
        numbers = rows.codes(self._number)
        times = self._below.multiplicities(rows.select(list(range(self._number))))
        return np.where((numbers >= 0) & (numbers < self._count), times, 0)

    def leads(self, columns: Set[int]) -> bool:
        return self._below.leads({column for column in columns if column != self._number})

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        number = self._number
        own = [column for column in columns if column != number]
        rows, times, there = self._below.rows_with(own, given.select([list(columns).index(c) for c in own]))
        several = np.repeat(np.arange(rows.length), self._count)
        numbers = np.tile(np.arange(self._count), rows.length)
        if number in columns:
            asked = given.codes(list(columns).index(number))[there[several]]
            several, numbers = several[numbers == asked], numbers[numbers == asked]
        return self._numbered(rows.take(several), numbers), times[several], there[several]
