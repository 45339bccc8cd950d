"""Access to the results of a chain of joins, which are all kept: by their place in the store, and by its index."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from livejoin.families.arena.join import ArenaJoin
from livejoin.families.join_access import Found, Values
from livejoin.families.ranks import no_annotations
from livejoin.kernels.chain import layout as j
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import look_up
from livejoin.state.exact_aggregates import bigints
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.chain.plan import ChainPlan


class ChainAccess:
    """The results of a chain of joins as they are now. Cost: O(1) by values; by rank O(results) once after a change.

    Args:
        join: The join.
    """

    def __init__(self, join: ArenaJoin[ChainPlan]) -> None:
        self._plan = join.plan
        self._join = join
        self._m = join.arena.words
        self.needed = frozenset(join.plan.stores[-1].variables)
        store = int(self._plan.words[j.P_RESULT])
        fields = self._plan.words[store : store + j.STORE].tolist()
        self._directory, self._value, self._key = fields[j.S_DIRECTORY], fields[j.S_VALUE], fields[j.S_KEY]

    @cached_property
    def _rows(self) -> Words:
        """The rows of the result in the order of the scan."""
        return self._join.arena.entries_as_read(self._directory)

    @cached_property
    def _ends(self) -> Words:
        """For each row the results up to it."""
        self._join.count()  # refuses what 64 bits do not count
        return np.cumsum(self._times(self._rows))

    def total(self) -> int:
        return int(self._ends[-1]) if self._ends.size else 0

    def results(self, ranks: Words) -> Words:
        rows = self._rows[np.searchsorted(self._ends, ranks, side="right")]
        head = len(self._plan.query.head)
        at = int(self._plan.words[j.P_OUTPUT])
        lines = [self._m[rows + offset] for offset in self._plan.words[at : at + head].tolist()]
        whole = np.array(lines, np.int64).reshape(head, ranks.shape[0])
        return np.concatenate([whole, self._annotations(rows)])

    def find(self, values: Values, length: int) -> Found:
        store = self._plan.stores[-1]
        given = np.array([values[v] for v in store.variables], np.int64).reshape(len(store.variables), length)
        rows = np.empty(length, np.int64)
        look_up.find_entries(self._m, self._directory, self._key, given, rows)
        return Found(np.where(rows != 0, self._times(rows), 0), self._annotations(rows), values)

    def _times(self, rows: Words) -> Words:
        """The multiplicities of rows of the result."""
        if self._plan.query.free is not None:
            return np.ones(rows.shape[0], np.int64)
        low: Words = self._m[rows + self._value]
        if int(self._plan.words[q.P_WORDS]) == 1:
            return low
        return bigints(low, np.where(rows != 0, self._m[rows + self._value + 1], low >> 63), "a multiplicity")

    def _annotations(self, rows: Words) -> Words:
        if not self._plan.query.sums:
            return no_annotations(rows.shape[0])
        width = int(self._plan.words[q.P_WORDS])
        return np.array([self._m[rows + self._value + i] for i in range(width)], np.int64)
