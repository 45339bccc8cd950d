"""A relation whose rows are stored with stable ids, so that a join can read it as it reads a base table.

Law: a row has one id from its coming to its going, equal rows have one, and a row that comes in the commit in which
another one goes has another id. State: O(rows of the relation), which may be far more than the base rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from livejoin.dataflow.batches import BATCH, Batches, Delta, Rows
from livejoin.dataflow.blocks.block import Change, InputRelation, Wanted
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.deltas.view_delta import ViewDelta
from livejoin.dataflow.reading.access import Access, NoAccess
from livejoin.dataflow.trusted import Keeper
from livejoin.schema import Kind
from livejoin.state.codec import Codec
from livejoin.state.derived_rows import DerivedEvents, DerivedRows
from livejoin.state.kept import Kept
from livejoin.state.scratch import Scratch
from livejoin.words import Words


class StoredBlock:
    """A stored relation; mutable. As `livejoin.dataflow.blocks.block.Block`.

    Args:
        below: The relation; it has at least one column, none of lists.
        name: The relation's name in messages.
        codec: The database's codec.
        keeper: Where its rows come from if no table keeps them, so that they are all that is left of them.
    """

    def __init__(self, below: InputRelation, name: str, codec: Codec, keeper: Keeper | None = None) -> None:
        self.rows = DerivedRows(len(below.types), name, codec.budget)
        self._below = below
        self._codec = codec
        self._last: DerivedEvents | None = None
        self.keeper = keeper

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        self._last = self._apply(inputs[0].delta())
        if self.keeper is not None:
            self.keeper.check_rows(self.rows, self._last, self._codec, self._below.types)
            return KeptChange(self._last, self._of_ids)
        return StoredChange(self._last)

    def fill(self) -> None:
        if self.keeper is not None and (kept := self.keeper.kept()) is not None:
            self.rows.apply(kept.values, kept.beside, np.zeros(kept.beside.shape[0], np.int64))
            self.rows.finish()
        for rows, weights in self._below.combinations(BATCH):
            self._apply(Delta(rows, weights, np.zeros(weights.shape[0], np.int64)))
            self.rows.finish()

    def scan(self, capacity: int) -> Batches:
        return self._below.scan(capacity) if self.keeper is None else self._own(capacity)

    def combinations(self, capacity: int) -> Batches:
        return self._below.combinations(capacity) if self.keeper is None else self._own(capacity)

    def kept(self) -> Kept:
        """The rows, that no table keeps. Cost: O(rows log rows)."""
        ids, weights = self.rows.live_rows()
        return Kept(self.rows.values_of(ids), weights, tuple(self._below.types))

    def _own(self, capacity: int) -> Batches:
        ids, weights = self.rows.live_rows()
        for begin in range(0, ids.shape[0], capacity):
            yield self._of_ids(ids[begin : begin + capacity]), weights[begin : begin + capacity]

    def _of_ids(self, ids: Words) -> Rows:
        return Rows.of_words(self._codec, tuple(self._below.types), self.rows.values_of(ids))

    def size(self) -> int | float:
        return self.rows.total

    def access(self) -> Access:
        return self._below.access() if self.keeper is None else NoAccess("who reads these rows has them itself")

    def finish(self) -> None:
        self.rows.finish()
        self._last = None

    def undo(self) -> None:
        if self._last is not None:
            last = self._last
            values = self.rows.values_of(last.rows[::-1])
            self.rows.apply(values, np.negative(last.weights[::-1]), np.negative(last.versions[::-1]))
        self.finish()

    def used_words(self, kind: Kind) -> list[Words]:
        columns = [i for i, type_ in enumerate(self._below.types) if type_.word_kind == kind]
        return [self.rows.column_words(column) for column in columns]

    def arrays(self) -> dict[str, Words]:
        return self.rows.arrays()

    def restore(self, arrays: Mapping[str, Words]) -> None:
        self.rows.restore(arrays)

    def sizes(self) -> tuple[int, int]:
        return self.rows.sizes()

    def is_sparse(self) -> bool:
        return self.rows.is_sparse

    def _check(self) -> None:
        self.rows._check()

    def _apply(self, delta: Delta) -> DerivedEvents:
        values = delta.rows.matrix(range(len(self._below.types)))
        weights, versions = np.ascontiguousarray(delta.weights), np.ascontiguousarray(delta.versions)
        return self.rows.apply(values, weights, versions)


class StoredChange:
    """Changes of a stored relation, for the joins that read it.

    Args:
        events: The changed rows by their ids.
    """

    def __init__(self, events: DerivedEvents) -> None:
        self._events = events

    def growth(self) -> int:
        return int(self._events.weights.sum())

    def rows(self) -> int:
        return int(self._events.rows.shape[0])

    def delta(self) -> Delta:
        raise by_id_only()

    def shown(self, schema: pa.Schema, scratch: Scratch | None) -> ViewDelta:
        raise by_id_only()

    def events(self) -> DerivedEvents:
        return self._events


class KeptChange(StoredChange):
    """Changes of stored rows that no table keeps, also for stores.

    Args:
        events: The changed rows by their ids.
        of_ids: The rows with some ids.
    """

    def __init__(self, events: DerivedEvents, of_ids: Callable[[Words], Rows]) -> None:
        super().__init__(events)
        self._of_ids = of_ids

    def delta(self) -> Delta:
        events = self.events()
        return Delta(self._of_ids(events.rows), events.weights, events.versions)


def by_id_only() -> AssertionError:
    """The error for values of a stored relation's changes, which only joins read: a defect of the graph."""
    return AssertionError("joins alone read a stored relation, by the ids of its rows")
