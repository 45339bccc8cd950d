"""Access to the rows of stores: sets and multisets, groups, the first rows of an order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from typing import assert_never

import numpy as np

from livejoin.dataflow.batches import BATCH, Rows, stack
from livejoin.dataflow.reading.access import Access, Read
from livejoin.dataflow.reading.inequality_access import InequalityAccess
from livejoin.dataflow.reading.same_values import compared_times, same_rows, with_values
from livejoin.dataflow.stores.aggregate import AggregateStore
from livejoin.dataflow.stores.as_of import AsOfStore
from livejoin.dataflow.stores.inequality_rows import InequalityRowsStore
from livejoin.dataflow.stores.ranked import RankedStore
from livejoin.dataflow.stores.running import RunningStore
from livejoin.dataflow.stores.set_operation import SetOperationStore
from livejoin.dataflow.stores.store import AnyStore
from livejoin.dataflow.stores.thresholds import ThresholdStore
from livejoin.dataflow.stores.top_k import TopKStore
from livejoin.kernels.groups import layout as g
from livejoin.kernels.memory import look_up
from livejoin.kernels.ordered import ranks as rank_access
from livejoin.kernels.relation import multiset
from livejoin.kernels.values.row_order import O_OFFSET, O_WIDTH
from livejoin.words import Words

_AT_ONCE = 1 << 10  # rows of a partition that are read together


def store_access(store: AnyStore, inputs: Sequence[Read]) -> Access:
    """Access to the rows of a store.

    Args:
        store: The store.
        inputs: The relations that it reads.
    """
    match store:
        case SetOperationStore():
            return SetOperationAccess(store)
        case AggregateStore():
            return AggregateAccess(store)
        case RankedStore() | RunningStore():
            return PartitionAccess(store)
        case ThresholdStore() | AsOfStore():
            return ScannedAccess(store)
        case InequalityRowsStore():
            left, right = inputs
            return InequalityAccess(store, (left.access(), right.access()))
        case TopKStore():
            return TopKAccess(store)
        case _:
            assert_never(store)


class SetOperationAccess:
    """The rows of a set operation. Cost: O(1) by values; by rank O(1), with ALL O(rows) once after a change.

    Args:
        store: The operation.
    """

    def __init__(self, store: SetOperationStore) -> None:
        self._store = store

    @cached_property
    def _ends(self) -> Words:
        """For each row of the result the ranks up to it, in the order of the scan."""
        ends: Words = np.cumsum(self._times(self._store.listed()))
        return ends

    def total(self) -> int:
        return self._store.count()

    def at(self, ranks: Words) -> Rows:
        store = self._store
        is_bag = store.kernel_kind in (multiset.EXCEPT_ALL, multiset.INTERSECT_ALL)
        places = np.searchsorted(self._ends, ranks, side="right") if is_bag else ranks
        return Rows(store.codec, store.types, store.columns_of(store.listed()[places]), ranks.shape[0])

    def multiplicities(self, rows: Rows) -> Words:
        entries = self._store.entries_of(rows.matrix(range(len(self._store.types))))
        return np.where(entries != 0, self._times(entries), 0)

    def leads(self, columns: Set[int]) -> bool:
        return columns >= set(range(len(self._store.types)))

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        store = self._store
        whole = [given.codes(list(columns).index(column)) for column in range(len(store.types))]
        entries = store.entries_of(np.array(whole, np.int64).reshape(len(whole), given.length))
        times = np.where(entries != 0, self._times(entries), 0)
        there = np.flatnonzero(times)
        rows = Rows(store.codec, store.types, store.columns_of(entries[there]), there.shape[0])
        return rows, times[there], there

    def _times(self, entries: Words) -> Words:
        """How often the rows of entries stand in the result, as `livejoin.kernels.relation.multiset.multiplicity`."""
        left, right = self._store.counts(entries)
        times: Words
        match self._store.kernel_kind:
            case multiset.DISTINCT:
                times = (left > 0).astype(np.int64)
            case multiset.EXCEPT:
                times = ((left > 0) & (right <= 0)).astype(np.int64)
            case multiset.EXCEPT_ALL:
                times = np.maximum(left - right, 0)
            case multiset.INTERSECT:
                times = ((left > 0) & (right > 0)).astype(np.int64)
            case _:
                times = np.maximum(np.minimum(left, right), 0)
        return times


class AggregateAccess:
    """The rows of groups; a keyed access. Cost: O(1) by values; by rank O(groups) once after a change.

    Args:
        store: The groups.
    """

    def __init__(self, store: AggregateStore) -> None:
        self._store = store
        self.groups = store.plan.groups

    @cached_property
    def _index(self) -> Words:
        """The groups in the order of the scan."""
        return self._store.arena.entries_as_read(g.H_DIRECTORY)

    def total(self) -> int:
        return self._store.count()

    def at(self, ranks: Words) -> Rows:
        return self._store.rows_of(self._index[ranks])

    def rows_of(self, keys: Words) -> tuple[Rows, Words]:
        entries = np.empty(keys.shape[1], np.int64)
        key = int(self._store.plan.words[g.P_KEY])
        look_up.find_entries(self._store.arena.words, g.H_DIRECTORY, key, np.ascontiguousarray(keys), entries)
        there = np.flatnonzero(entries)
        return self._store.rows_of(entries[there]), there

    def multiplicities(self, rows: Rows) -> Words:
        found, there = self.rows_of(rows.matrix(range(self.groups)))
        times = np.zeros(rows.length, np.int64)
        times[there] = same_rows(found, rows.take(there))
        return times

    def leads(self, columns: Set[int]) -> bool:
        return columns >= set(range(self.groups))

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        found, there = self.rows_of(given.matrix([list(columns).index(group) for group in range(self.groups)]))
        kept = with_values(found, there, columns, given)
        return found.take(kept), np.ones(kept.shape[0], np.int64), there[kept]


class TopKAccess:
    """The first rows of an order, in this order. Cost: O(log n) by rank; by values O(rows of the result).

    Args:
        store: The ordered rows.
    """

    def __init__(self, store: TopKStore) -> None:
        self._store = store

    def total(self) -> int:
        return self._store.count()

    def at(self, ranks: Words) -> Rows:
        store = self._store
        output = np.empty((int(store.plan[O_WIDTH]), ranks.shape[0]), np.int64)
        rank_access.rows_at(store.arena.words, ranks + int(store.plan[O_OFFSET]), output)
        return store.order.decode(output, store.codec)

    def multiplicities(self, rows: Rows) -> Words:
        return compared_times(self._store.scan(BATCH), rows)

    def leads(self, columns: Set[int]) -> bool:
        return True  # the rows of the result are few: they are compared one by one

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        nothing = self.at(np.empty(0, np.int64)), np.empty(0, np.int64), np.empty(0, np.int64)
        return _compared(self._store.scan(BATCH), columns, given, nothing)


class ScannedAccess:
    """Rows that are a part of an order. Cost: by rank O(rows of the result) once after a change, and so by values each.

    Args:
        store: The ordered rows.
    """

    def __init__(self, store: RankedStore | RunningStore | ThresholdStore | AsOfStore) -> None:
        self._store = store

    @cached_property
    def _whole(self) -> tuple[Rows, Words]:
        """The rows of the result, and their multiplicities."""
        batches = list(self._store.scan(BATCH))
        if not batches:
            return self._store.nothing(), np.empty(0, np.int64)
        return stack([rows for rows, _ in batches]), np.concatenate([times for _, times in batches])

    def total(self) -> int:
        return self._store.count()

    def at(self, ranks: Words) -> Rows:
        rows, times = self._whole
        return rows.take(np.searchsorted(np.cumsum(times), ranks, side="right"))

    def multiplicities(self, rows: Rows) -> Words:
        return compared_times([self._whole], rows)

    def leads(self, columns: Set[int]) -> bool:
        return False

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        msg = "no index leads to rows that are a part of an order"
        raise AssertionError(msg)


class PartitionAccess(ScannedAccess):
    """Rows of partitions, with ranks or aggregates. Cost: as `ScannedAccess`; by the columns of a partition O(log n).

    Args:
        store: The rows.
    """

    def __init__(self, store: RankedStore | RunningStore) -> None:
        super().__init__(store)
        self._partitions = store

    def leads(self, columns: Set[int]) -> bool:
        partition = self._partitions.partition
        return bool(partition) and columns >= set(partition)

    def rows_with(self, columns: Sequence[int], given: Rows) -> tuple[Rows, Words, Words]:
        store, nothing = self._partitions, np.empty(0, np.int64)
        keys = given.select([list(columns).index(column) for column in store.partition])
        parts = [(store.nothing(), nothing, nothing)]
        for place, rows, weights in store.of_partitions(keys, _AT_ONCE):
            kept = with_values(rows, np.full(rows.length, place), columns, given)
            parts.append((rows.take(kept), weights[kept], np.full(kept.shape[0], place)))
        times, places = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        return stack([part[0] for part in parts]), times, places


def _compared(
    batches: Iterable[tuple[Rows, Words]], columns: Sequence[int], given: Rows, nothing: tuple[Rows, Words, Words]
) -> tuple[Rows, Words, Words]:
    """The rows of a result with given values, by comparing all with each."""
    parts = [nothing]
    for rows, weights in batches:
        for place in range(given.length):
            kept = with_values(rows, np.full(rows.length, place), columns, given)
            parts.append((rows.take(kept), weights[kept], np.full(kept.shape[0], place)))
    times, places = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    return stack([part[0] for part in parts]), times, places
