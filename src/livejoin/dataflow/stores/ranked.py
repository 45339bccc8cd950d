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
from livejoin.dataflow.stores.partitioned_state import PartitionedState
from livejoin.dataflow.stores.ranked_checks import check
from livejoin.kernels.ordered import partitions as kernel
from livejoin.kernels.values.row_order import O_WIDTH
from livejoin.query.orders import RankFunction, SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import Words

_FUNCTIONS: dict[RankFunction, int] = {
    "row_number": kernel.ROW_NUMBER,
    "rank": kernel.RANK,
    "dense_rank": kernel.DENSE_RANK,
}
_UNLIMITED = 1 << 60


class RankedStore(PartitionedState):
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
        super().__init__(partition, keys, codec, types, (_FUNCTIONS[function], min(limit, _UNLIMITED)))
        self.let_entries_have(1)

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply changes of the one input; what the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.

        Cost: O(log n) a change with n rows, and O(1) for each row between two changes of a partition, and of the delta.
        """
        (delta,) = inputs
        refuse_lists(delta.rows, "OVER")
        values, weights, versions = self._by_partition(delta)
        text = self.order.text(self.codec)
        touched = np.empty(weights.shape[0], np.int64)

        def maintain(out: Words) -> int:
            return kernel.maintain(self.line, values, weights, versions, text, touched, out)

        changes = self._changes(maintain, kernel.LINES + values.shape[0])
        rows = self._decoded(changes[kernel.LINES :], changes[kernel.L_RANK])
        return Delta(rows, changes[kernel.L_WEIGHT], changes[kernel.L_VERSION])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes without asking what changed; cost and errors as for `maintain`."""
        self.maintain([delta])

    def _scanned(self, cursor: Words, capacity: int) -> Iterator[Words]:
        width = int(self.plan[O_WIDTH])
        while cursor[0] != 0:
            output = np.empty((width + 2, min(capacity, max(self.count(), 1))), np.int64)
            made = kernel.scan(self.line, self.order.text(self.codec), cursor, output)
            if made:
                yield output[:, :made]

    def _shown(self, words: Words) -> tuple[Rows, Words]:
        return self._decoded(words[:-2], words[-2]), words[-1]

    def nothing(self) -> Rows:
        return self._decoded(np.empty((int(self.plan[O_WIDTH]), 0), np.int64), np.empty(0, np.int64))

    def _decoded(self, words: Words, ranks: Words) -> Rows:
        """Rows of order words, with their ranks behind their columns."""
        rows = self.order.decode(words, self.codec)
        columns = [rows.column(i) for i in range(len(rows.types))]
        return Rows(self.codec, self.types, [*columns, np.ascontiguousarray(ranks)], words.shape[1])

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        check(self.arena.words, (self.plan, self.prefix, self.keys, self.wide), self.order.text(self.codec))
