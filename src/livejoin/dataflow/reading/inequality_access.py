"""Access to the rows of a join by one comparison.

By values: what leads to rows of one side leads to the pairs of these, which are a run of the other side; and so does
the key of equalities, with which the rows of both sides begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cached_property

import numpy as np

from livejoin.dataflow.batches import BATCH, Rows, stack
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.reading.same_values import compared_times, with_values
from livejoin.dataflow.stores.inequality_rows import InequalityRowsStore
from livejoin.words import Words

_AT_ONCE = 1 << 10  # pairs that are read together


class InequalityAccess:
    """The pairs of two sides. Cost: by values O(log n) a row that they lead to, and O(1) a pair; by rank O(log n), and
    O(log n) for each left row once after a change.

    Args:
        store: The ordered sides.
        sides: Access to the rows of each.
    """

    def __init__(self, store: InequalityRowsStore, sides: tuple[Access, Access]) -> None:
        self._pairs, self._sides = store, sides

    @cached_property
    def _ranks(self) -> tuple[Words, Words, Words, Words]:
        """Of each left row: its multiplicity, its rank, that of the first right row that it meets, pairs up to it."""
        times, firsts, met = self._pairs.ranks()
        return times, np.cumsum(times) - times, firsts, np.cumsum(times * met)

    def total(self) -> int:
        return self._pairs.count()

    def at(self, ranks: Words) -> Rows:
        times, lefts, firsts, ends = self._ranks
        rows = np.searchsorted(ends, ranks, side="right")
        within = ranks - np.concatenate([[0], ends])[rows]
        return self._pairs.at(lefts[rows], firsts[rows] + within // times[rows])

    def multiplicities(self, rows: Rows) -> Words:
        columns = range(len(rows.types))
        if not self.leads(frozenset(columns)):
            return compared_times(self._pairs.scan(BATCH), rows)
        times = np.zeros(rows.length, np.int64)
        _, found, places = self.rows_with(columns, rows)
        np.add.at(times, places, found)
        return times

    def leads(self, columns: Set[int]) -> bool:
        return self._leading(columns) is not None or self._key(sorted(columns)) is not None

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        nothing = np.empty(0, np.int64)
        parts = [(self._pairs.nothing(), nothing, nothing)]
        for places, rows, weights in self._found(columns, given):
            kept = with_values(rows, places, columns, given)
            parts.append((rows.take(kept), weights[kept], places[kept]))
        times, places = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        return stack([part[0] for part in parts]), times, places

    def _found(self, columns: Sequence[int], given: Rows) -> Iterator[tuple[Words, Rows, Words]]:
        """Pairs, among them all with given values, in batches: for each which of the given ones led there."""
        side = self._leading(frozenset(columns))
        if side is None:
            key = self._key(columns)
            assert key is not None, "somebody asked whether the columns lead there"
            yield from self._pairs.of_keys(given.select(key), _AT_ONCE)
            return
        own = self._own(columns, side)
        rows, times, there = self._sides[side].rows_with(list(own), given.select(list(own.values())))
        for places, pairs, weights in self._pairs.met(side, rows, times, _AT_ONCE):
            yield there[places], pairs, weights

    def _leading(self, columns: Set[int]) -> int | None:
        """The side to whose rows some columns lead; None if they lead to no side's."""
        return next((i for i in (0, 1) if self._sides[i].leads(self._own(sorted(columns), i).keys())), None)

    def _own(self, columns: Sequence[int], side: int) -> dict[int, int]:
        """The columns of a side whose values some columns have, and where each stands among these."""
        plan = self._pairs.plan
        of = [plan.columns[column] for column in columns]
        return {one.column: i for i, one in enumerate(of) if one.side == side or one.column < plan.keys}

    def _key(self, columns: Sequence[int]) -> list[int] | None:
        """Where each column of the key stands among some columns; None if one of them does not."""
        keys = range(self._pairs.plan.keys)
        found = {self._pairs.plan.columns[column].column: i for i, column in enumerate(columns)}
        return [found[key] for key in keys] if found.keys() >= set(keys) else None
