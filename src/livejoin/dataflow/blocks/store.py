"""A store of rows, groups or an order over other relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import BATCH, Batches, Delta, no_rows
from livejoin.dataflow.blocks.block import Change, InputRelation, RowChange, Wanted
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.reading.store_access import store_access
from livejoin.dataflow.stores.aggregate import AggregateStore
from livejoin.dataflow.stores.store import StoreOperator, make_store, used_words
from livejoin.dataflow.stores.top_k import TopKStore
from livejoin.dataflow.trusted import Keeper
from livejoin.dataflow.watching.group_keys import GroupKeys, group_keys
from livejoin.dataflow.watching.watch import Part
from livejoin.errors import CapacityError
from livejoin.families.sizes import whole_sum
from livejoin.kernels.values.chosen import count_positive
from livejoin.schema import Kind
from livejoin.state.codec import Codec
from livejoin.state.fullness import Fullness
from livejoin.state.kept import Kept
from livejoin.words import Words

_MOST_COPIES = 1 << 60  # that a store is loaded with; what it counts has 62 bits


class StoreBlock:
    """A store; mutable. As `livejoin.dataflow.blocks.block.Block`.

    Args:
        plan: The store's operator.
        inputs: The relations that it reads; one may stand there several times.
        codec: The database's codec.
        keeper: Where its rows come from if no table keeps them, so that its groups are all that is left of them.
    """

    def __init__(
        self, plan: StoreOperator, inputs: Sequence[InputRelation], codec: Codec, keeper: Keeper | None = None
    ) -> None:
        self._group = group_keys(plan)
        self._store = make_store(plan, codec, inputs, keeper is not None)
        self.keeper = keeper
        self._inputs = inputs
        self._codec = codec
        self._last: list[Delta] = []
        self._fullness = Fullness()
        self._held = 0  # rows that came less those that left
        self._work = 0

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        self._last = [self._given(place, inputs) for place in range(len(self._inputs))]
        change = None
        if wanted.rows or wanted.tables:
            change = RowChange(self._store.maintain(self._last))
        else:
            for side, delta in enumerate(self._last):
                self._store.load(side, delta)
        self._note(self._last, 1)
        if self.keeper is not None and isinstance(self._store, AggregateStore):
            self.keeper.check(self._store)
        if wanted.watch is not None and self._group is not None:
            wanted.watch.note_keys(self._keys(self._group, change))
        return change

    def _keys(self, keys: GroupKeys, change: RowChange | None) -> Iterator[Part]:
        """The groups or partitions of the rows that came, and of rows that changed behind them."""
        deltas = [*self._last, change.delta()] if keys.moves and change is not None else self._last
        for delta in deltas:
            if delta.weights.shape[0]:
                yield Part(keys.of, delta.rows.matrix(keys.columns), np.ones(delta.weights.shape[0], np.int64))

    def fill(self) -> None:
        if isinstance(self._store, TopKStore):
            self._store.fill(lambda capacity: self._counted(self._inputs[0].combinations(capacity)))
            self._held = self._store.rows
        else:
            if self.keeper is not None and (kept := self.keeper.kept()) is not None:
                self._groups().bring(kept)
            for side, one in enumerate(self._inputs):
                for rows, weights in self._counted(one.combinations(BATCH)):
                    self._store.load(side, Delta(rows, weights, np.zeros(weights.shape[0], np.int64)))
                    self._held += weights.shape[0]
        self._fullness.note(self._held)

    def kept(self) -> Kept:
        """The groups of rows that no table keeps. Cost: O(groups)."""
        return self._groups().kept()

    def _groups(self) -> AggregateStore:
        assert isinstance(self._store, AggregateStore), "what is kept of such rows are groups"
        return self._store

    @staticmethod
    def _counted(batches: Batches) -> Batches:
        """Rows to be loaded, not more than a store counts."""
        total = 0
        for rows, weights in batches:
            total += whole_sum(weights)
            if total > _MOST_COPIES:
                msg = (
                    f"groups, DISTINCT, a set operation or an order would be loaded with {total:,} rows, more than "
                    "they count; keep fewer equal rows, or let fewer copies of them match"
                )
                raise CapacityError(msg)
            yield rows, weights

    def scan(self, capacity: int) -> Batches:
        return self._store.scan(capacity)

    def combinations(self, capacity: int) -> Batches:
        return self.scan(capacity)

    def size(self) -> int | float:
        return self._store.count()

    def access(self) -> Access:
        return store_access(self._store, self._inputs)

    def finish(self) -> None:
        self._last = []

    def undo(self) -> None:
        for side, delta in enumerate(self._last):
            if isinstance(self._store, TopKStore):
                self._store.take_back(delta.inverse())
            else:
                self._store.load(side, delta.inverse())
        self._note(self._last, -1)
        self._last = []

    def used_words(self, kind: Kind) -> list[Words]:
        return [used_words(self._store, kind)]

    def arrays(self) -> dict[str, Words]:
        return self._store.arrays()

    def restore(self, arrays: Mapping[str, Words]) -> None:
        self._store.restore(arrays)
        self._held = self._store.count()  # at least about; what it does not know, free memory tells

    def sizes(self) -> tuple[int, int]:
        handed, capacity = self._store.sizes()
        return handed - self._store.free_bytes(), capacity

    def is_sparse(self) -> bool:
        return self._fullness.is_sparse(max(self._held, 0), self._work, self._store.sizes(), self._store.free_bytes)

    def _check(self) -> None:
        self._store._check()

    def _note(self, deltas: Sequence[Delta], sign: int) -> None:
        """Count rows that came and left; a row of many is one, so that a quarter can leave as fewer rows than came."""
        for delta in deltas:
            rows = delta.weights.shape[0]
            if rows == 1:
                self._held += sign if delta.weights[0] > 0 else -sign
            elif rows:
                self._held += sign * (2 * count_positive(delta.weights) - rows)
            self._work += rows

    def _given(self, place: int, inputs: Mapping[int, Change]) -> Delta:
        """The changes of an input, none if it did not change."""
        if place in inputs:
            return inputs[place].delta()
        nothing = np.empty(0, np.int64)
        types = self._inputs[place].types
        return Delta(no_rows(self._codec, types), nothing, nothing)
