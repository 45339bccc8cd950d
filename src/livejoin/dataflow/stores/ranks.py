"""ROW_NUMBER, RANK and DENSE_RANK over deltas: the rows of each partition, all or the first ones, kept up to date.

Law: after every delta, what `scan` gives is the rows of the input whose rank within their partition is at most the
limit, each with its rank, and the deltas of `maintain` add up to it. The order is total, by the keys and then by all
columns, so that every ROW_NUMBER is determined. The state is an ordered multiset of all rows of the input: a row that
leaves a rank may let in any other of its partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.dataflow.stores.order_words import RowOrder
from livejoin.dataflow.stores.ordered_state import OrderedState
from livejoin.dataflow.stores.ranks_checks import check
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import partitions as kernel
from livejoin.kernels.ordered import runs
from livejoin.kernels.values.row_order import O_WIDTH
from livejoin.query.relational import RankFunction, SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import Words

_CHANGES = 1024  # smallest buffer of changes
_FUNCTIONS: dict[RankFunction, int] = {
    "row_number": kernel.ROW_NUMBER,
    "rank": kernel.RANK,
    "dense_rank": kernel.DENSE_RANK,
}
_UNLIMITED = 1 << 60


class RankStore(OrderedState):
    """The rows of each partition with their ranks; mutable.

    Args:
        partition: The columns that are equal in a partition.
        keys: The order within one.
        function: Which rank.
        limit: The greatest rank.
        codec: The database's codec.
        types: The types of the input's columns.
    """

    def __init__(
        self,
        partition: Sequence[int],
        keys: Sequence[SortKey],
        function: RankFunction,
        limit: int,
        codec: Codec,
        types: Sequence[SqlType],
    ) -> None:
        self.types = (*types, SqlType.integer(32))
        own = [SortKey(column, descending=False, nulls_first=True) for column in partition]
        super().__init__(RowOrder(tuple(types), (*own, *keys)), codec, runs.P_HEADER)
        window = (_FUNCTIONS[function], min(limit, _UNLIMITED))
        named = len(dict.fromkeys(key.column for key in (*own, *keys)))
        self.plan = self.order.plan(len(types), window)
        self.prefix = self.order.plan(len(dict.fromkeys(partition)), window)
        self.keys = self.order.plan(named, window)
        self.wide = self.plan.copy()
        self.wide[O_WIDTH] += 1

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply changes of the one input; what the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.

        Cost: O(log n) a change with n rows, and O(1) for each row between two changes of a partition, and of the delta.
        """
        (delta,) = inputs
        refuse_lists(delta.rows, "OVER")
        values, weights, versions = self.by_partition(delta, int(self.prefix[O_WIDTH]))
        text = self.order.text(self.codec)
        touched = np.empty(weights.shape[0], np.int64)
        self.arena.words[[runs.P_CHANGE, runs.P_STEP, runs.P_TOUCHED]] = 0
        plans = (self.plan, self.prefix, self.keys, self.wide)
        parts = []
        capacity = _CHANGES
        status = k.NEED_SPACE
        while status != k.DONE:
            out = np.empty((kernel.LINES + values.shape[0], capacity), np.int64)
            status = kernel.maintain(self.arena.words, *plans, values, weights, versions, *text, touched, out)
            parts.append(out[:, : int(self.arena.words[runs.P_MADE])])
            if status == k.NEED_SPACE:
                self.arena.grow()
            elif status == k.OUTPUT_FULL:
                capacity = max(2 * capacity, int(self.arena.words[runs.P_NEEDED]))
        changes = np.concatenate(parts, axis=1)
        rows = self._decoded(changes[kernel.LINES :], changes[kernel.L_RANK])
        return Delta(rows, changes[kernel.L_WEIGHT], changes[kernel.L_VERSION])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes without asking what changed; cost and errors as for `maintain`."""
        self.maintain([delta])

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The result, partition by partition, with multiplicities, in batches of at most ``capacity`` rows.

        The operator must not change meanwhile. Cost: O(rows of the result), O(log n) a partition.
        """
        width = int(self.plan[O_WIDTH])
        cursor = np.array([-1, 0, 0])
        while cursor[0] != 0:
            output = np.empty((width + 2, min(capacity, max(self.count(), 1))), np.int64)
            text = self.order.text(self.codec)
            made = kernel.scan(self.arena.words, self.plan, self.prefix, *text, cursor, output)
            if made:
                yield self._decoded(output[:width, :made], output[width, :made]), output[width + 1, :made]

    def nothing(self) -> Rows:
        """No rows."""
        return self._decoded(np.empty((int(self.plan[O_WIDTH]), 0), np.int64), np.empty(0, np.int64))

    def count(self) -> int:
        """Rows of the result, counted with multiplicities; O(1)."""
        return int(self.arena.words[runs.P_TOTAL])

    def _decoded(self, words: Words, ranks: Words) -> Rows:
        """Rows of order words, with their ranks behind their columns."""
        rows = self.order.decode(words, self.codec)
        columns = [rows.column(i) for i in range(len(rows.types))]
        return Rows(self.codec, self.types, [*columns, np.ascontiguousarray(ranks)], words.shape[1])

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        check(self.arena.words, (self.plan, self.prefix, self.keys, self.wide), self.order.text(self.codec))
