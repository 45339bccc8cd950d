"""A join in cells whose annotations are added up: a count or a sum over all results, split by any variable.

With cells C and annotations in a ring, the sum over the join's results is the sum over C of the sums over the cells'
results, as each result is in one cell. Law: what `AddedJoin` gives is what the join in one piece gives; a sum that does
not fit its words is refused after the events that made it so.

There is one result or none, so that nothing is kept beside the cells: what it was is what it is, less what came since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from livejoin.families.cells.join import CellJoin
from livejoin.families.cells.limbs import LIMBS, carried, fit, limbs_of, words_of
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.join_access import Found, JoinAccess, RowIndexes, Values
from livejoin.families.sizes import too_many
from livejoin.query import ConjunctiveQuery
from livejoin.words import Words


class AddedJoin(CellJoin):
    """State and operations of a join with one annotated result, maintained in cells; mutable."""

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events in order; of each version that changes the result what it was and what it became.

        Raises:
            CapacityError: A cell becomes too large, or the sum does; the state is of no use any more.
        """
        loads = self._loads()
        tasks = [partial(cell.maintain, loads, events, emit, capacity) for cell in self.cells]
        parts = self._run(tasks, events.shape[1])
        total = self._total()
        if emit and (steps := [_steps(self.plan.query, part) for part in parts if part]):
            yield _chunk(self.plan.query, total, steps)

    def scan(self, capacity: int) -> Iterator[Words]:
        """The result, if there is one."""
        total = self._total()
        if total.there:
            yield words_of(self.plan.query, total.limbs)

    def size(self) -> int:
        """The number of results: one or none."""
        return int(any(cell.join.size() for cell in self.cells))

    def access(self, tables: RowIndexes) -> JoinAccess:
        """Access to the result; as `livejoin.families.join.Join.access`."""
        return AddedAccess(self)

    def _total(self) -> Total:
        """The sum of the cells' annotations. Cost: O(cells).

        Raises:
            CapacityError: The sum does not fit.
        """
        query = self.plan.query
        limbs, there = np.zeros((len(query.sums), LIMBS, 1), np.int64), 0
        for cell in self.cells:
            for words in cell.join.scan(1):
                limbs += limbs_of(query, words)
                there += words.shape[1]
        limbs = carried(limbs)
        if not fit(query, limbs).all():
            raise too_many(query)
        return Total(limbs, there)


@dataclass(frozen=True, eq=False)
class Total:
    """The sum of an annotation over the cells.

    Args:
        limbs: The sum, of shape (components, LIMBS, 1).
        there: The cells that have a result.
    """

    limbs: Words
    there: int


class AddedAccess(JoinAccess):
    """The one result of a join in cells, or none.

    Args:
        join: The join.
    """

    def __init__(self, join: AddedJoin) -> None:
        self.needed = frozenset[str]()
        self._words = next(join.scan(1), None)
        self._lines = join.plan.columns

    def total(self) -> int:
        return int(self._words is not None)

    def results(self, ranks: Words) -> Words:
        return self._line(ranks.shape[0])

    def find(self, values: Values, length: int) -> Found:
        return Found(np.full(length, self.total()), self._line(length), values)

    def _line(self, length: int) -> Words:
        """The result so often."""
        words = np.zeros((self._lines, 1), np.int64) if self._words is None else self._words
        return np.repeat(words, length, axis=1)


def _steps(query: ConjunctiveQuery, chunks: Sequence[DeltaChunk]) -> tuple[Words, Words, Words]:
    """By what each version changes a cell's annotation: the versions, the limbs, and whether the result comes or goes.

    The result of a cell alternates between what it was and what it became, so that of a version the first row counts if
    it takes away and the last one if it adds.
    """
    words = np.concatenate([chunk.words for chunk in chunks], axis=1)
    signs = np.concatenate([np.repeat(chunk.signs, chunk.lengths()) for chunk in chunks])
    versions = np.concatenate([np.repeat(chunk.versions, chunk.lengths()) for chunk in chunks])
    fresh = versions[1:] != versions[:-1]
    first = np.flatnonzero(np.concatenate([[True], fresh]))
    last = np.flatnonzero(np.concatenate([fresh, [True]]))
    went, came = signs[first] < 0, signs[last] > 0
    limbs = limbs_of(query, words[:, last]) * came - limbs_of(query, words[:, first]) * went
    return versions[first], limbs, came.astype(np.int64) - went


def _chunk(query: ConjunctiveQuery, total: Total, steps: Sequence[tuple[Words, Words, Words]]) -> DeltaChunk:
    """The result before and after each version, from the present result and the changes of the cells.

    Raises:
        CapacityError: A result in between did not fit.
    """
    versions, limbs, there = (np.concatenate([step[i] for step in steps], axis=-1) for i in range(3))
    order = np.argsort(versions, kind="stable")
    versions = versions[order]
    first = np.flatnonzero(np.concatenate([[True], versions[1:] != versions[:-1]]))
    grown = np.cumsum(np.add.reduceat(limbs[:, :, order], first, axis=2), axis=2)
    gained = np.cumsum(np.add.reduceat(there[order], first))
    count = first.shape[0]
    states = np.empty((len(query.sums), LIMBS, count + 1), np.int64)  # before each version, and after the last one
    states[:, :, 0] = total.limbs[:, :, 0] - grown[:, :, -1]
    states[:, :, 1:] = states[:, :, :1] + grown
    states = carried(states)
    present = total.there - gained[-1] + np.concatenate([[0], gained]) > 0
    if not fit(query, states)[present].all():
        raise too_many(query)
    at = np.array([np.arange(count), np.arange(count) + 1]).T.reshape(-1)  # each version: before it, after it
    shown = np.flatnonzero(present[at])
    signs = np.where(np.arange(2 * count) & 1, 1, -1)
    words = words_of(query, states)[:, at[shown]]
    return DeltaChunk(words, (np.arange(shown.shape[0]), np.repeat(versions[first], 2)[shown], signs[shown]))
