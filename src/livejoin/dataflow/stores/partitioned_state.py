"""What stores of rows by partition have in common: a kernel goes from run to run (`livejoin.kernels.ordered.runs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.comparable import are_known
from livejoin.dataflow.stores.order_words import RowOrder
from livejoin.dataflow.stores.ordered_state import OrderedState
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import of_partition, runs
from livejoin.kernels.values.row_order import O_WIDTH
from livejoin.query.orders import SortKey
from livejoin.schema import SqlType
from livejoin.state.addressed import Addressed
from livejoin.state.codec import Codec
from livejoin.words import Words

_CHANGES = 1024  # smallest buffer of changes
_NO_CALLS = np.zeros(1, np.int64)


class PartitionedState(OrderedState):
    """Rows in the order of their partitions and of keys within these; mutable.

    Args:
        partition: The columns that are equal in a partition.
        keys: The order within one.
        codec: The database's codec.
        types: The types of the rows' columns.
        window: Two words of the plans.

    Attributes:
        plan, prefix, keys: Descriptions of the words of a row, of its partition, and of its partition and its keys.
        partition: The columns that are equal in a partition, each once.
    """

    def __init__(
        self,
        partition: Sequence[int],
        keys: Sequence[SortKey],
        codec: Codec,
        types: Sequence[SqlType],
        window: tuple[int, int] = (0, 0),
    ) -> None:
        own = [SortKey(column, descending=False, nulls_first=True) for column in partition]
        super().__init__(RowOrder(tuple(types), (*own, *keys)), codec, runs.PARTITION_HEADER)
        self.plan = self.order.plan(len(types), window)
        self.partition = tuple(dict.fromkeys(partition))
        self.prefix = self.order.plan(len(self.partition), window)
        self.keys = self.order.plan(len(dict.fromkeys(key.column for key in (*own, *keys))), window)

    def let_entries_have(self, more: int, calls: Words = _NO_CALLS, reach: int = 0) -> None:
        """Let entries have so many words behind those of a row; a sub-class says it once, before anything else.

        Args:
            more: How many words.
            calls: The plan of aggregates up to each row that these are of.
            reach: How many words beside one the kernel has for rows beside one.
        """
        wide = self.plan.copy()
        wide[O_WIDTH] += more
        state, ring = np.empty(more, np.int64), np.zeros(reach + 1, np.int64)
        self._at = Addressed(
            runs.PartitionBuffers(self.arena.words, self.plan, self.prefix, self.keys, wide, calls, state, ring)
        )

    @property
    def line(self) -> Words:
        """What kernels take, which see the arena as it is now."""
        self._at = self._at.replaced(arena=self.arena.words)
        return self._at.line

    @property
    def wide(self) -> Words:
        """The plan of entries."""
        found: Words = self._at.buffers.wide
        return found

    def count(self) -> int:
        """Rows of the result, counted with multiplicities; O(1)."""
        return int(self.arena.words[runs.H_TOTAL])

    def nothing(self) -> Rows:
        """No rows."""
        raise NotImplementedError

    def _scanned(self, cursor: Words, capacity: int) -> Iterator[Words]:
        """The words of rows of the result from a cursor on, in batches."""
        raise NotImplementedError

    def _shown(self, words: Words) -> tuple[Rows, Words]:
        """Rows of the result and their multiplicities, of words that were scanned."""
        raise NotImplementedError

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The result, partition by partition, with multiplicities, in batches of at most ``capacity`` rows.

        The operator must not change meanwhile. Cost: O(rows of the result), O(log n) a partition.
        """
        yield from map(self._shown, self._scanned(np.array([-1, 0, 0]), capacity))

    def of_partitions(self, keys: Rows, capacity: int) -> Iterator[tuple[int, Rows, Words]]:
        """The rows of the result that are of some partitions: for each batch of them which one, rows, multiplicities.

        Args:
            keys: The values of the columns of `partition`, which need not be in any row.
            capacity: Rows of a batch at most.

        Cost: O(log n) a partition, and O(its rows in the result).
        """
        places = np.flatnonzero(are_known(keys, self.codec))
        types = tuple(self.order.types[column] for column in self.partition)
        own = RowOrder(types, tuple(SortKey(i, descending=False, nulls_first=True) for i in range(len(types))))
        asked = keys.take(places)
        known = Rows(self.codec, types, [asked.arrow(i) for i in range(len(types))], places.shape[0])
        words, text = own.encode(known), self.order.text(self.codec)
        cursor = np.zeros(3, np.int64)
        for number, place in enumerate(places.tolist()):
            key = np.ascontiguousarray(words[:, number])
            while not of_partition.begin(self.line, key, text, cursor):
                self.arena.grow()
            for found in self._scanned(cursor, capacity):
                is_of_it = (found[: key.shape[0]] == key[:, None]).all(axis=0)
                count = int(np.count_nonzero(is_of_it))  # they stand in front
                if count:
                    yield place, *self._shown(found[:, :count])
                if count < found.shape[1]:
                    break

    def _by_partition(self, delta: Delta) -> tuple[Words, Words, Words]:
        """The order words, weights and versions of a delta, those of a version partition by partition."""
        values, width = self.order.encode(delta.rows), int(self.prefix[O_WIDTH])
        # Copied, as `ones` may not be written to: a kernel would be compiled for such weights a second time.
        weights, versions = delta.weights.copy(), np.ascontiguousarray(delta.versions)
        if weights.shape[0] > 1 and width:
            order = np.lexsort((*values[:width], versions))
            values, weights, versions = np.take(values, order, axis=1), weights[order], versions[order]
        return values, weights, versions

    def _changes(self, maintain: Callable[[Words], int], lines: int) -> Words:
        """What a kernel writes until it is done, which gets buffers of so many lines."""
        self.arena.words[[runs.H_CHANGE, runs.H_STEP, runs.H_TOUCHED]] = 0
        parts = []
        capacity, status = _CHANGES, k.NEED_SPACE
        while status != k.DONE:
            out = np.empty((lines, capacity), np.int64)
            status = maintain(out)
            parts.append(out[:, : int(self.arena.words[runs.H_MADE])])
            if status == k.NEED_SPACE:
                self.arena.grow()
            elif status == k.OUTPUT_FULL:
                capacity = max(2 * capacity, int(self.arena.words[runs.H_NEEDED]))
        return np.concatenate(parts, axis=1)
