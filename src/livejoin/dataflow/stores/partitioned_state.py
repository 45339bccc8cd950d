"""What stores of rows by partition have in common: a kernel goes from run to run (`livejoin.kernels.ordered.runs`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta
from livejoin.dataflow.stores.order_words import RowOrder
from livejoin.dataflow.stores.ordered_state import OrderedState
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import runs
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
        self.prefix = self.order.plan(len(dict.fromkeys(partition)), window)
        self.keys = self.order.plan(len(dict.fromkeys(key.column for key in (*own, *keys))), window)

    def let_entries_have(self, more: int, calls: Words = _NO_CALLS, reach: int = 0) -> None:
        """Let entries have so many words behind those of a row; a sub-class says it once, before anything else.

        Args:
            more: How many words.
            calls: The plan of aggregates up to each row that these are of.
            reach: How many rows beside one the kernel has in mind.
        """
        wide = self.plan.copy()
        wide[O_WIDTH] += more
        state, ring = np.empty(more, np.int64), np.empty(reach + 1, np.int64)
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

    def _by_partition(self, delta: Delta) -> tuple[Words, Words, Words]:
        """The order words, weights and versions of a delta, those of a version partition by partition."""
        values, width = self.order.encode(delta.rows), int(self.prefix[O_WIDTH])
        weights, versions = np.ascontiguousarray(delta.weights), np.ascontiguousarray(delta.versions)
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
