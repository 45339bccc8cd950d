"""ORDER BY ... LIMIT over deltas: the first rows of an order, kept up to date (DYN, section 5.1).

Law: after every delta, what `scan` gives is the rows at ranks [offset, offset + limit) of the input in the order, where
a row of multiplicity m takes m ranks, and the deltas of `maintain` add up to it. The order is total, by the keys and
then by all columns, so that the result is determined. The state is an ordered multiset of all rows of the input,
`livejoin.kernels.ordered.top_k`: a row that leaves the window may let in any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, Rows
from livejoin.dataflow.stores.comparable import refuse_lists
from livejoin.dataflow.stores.order_words import RowOrder
from livejoin.dataflow.stores.ordered_state import OrderedState
from livejoin.dataflow.stores.top_k_checks import check
from livejoin.kernels.memory import layout as k
from livejoin.kernels.ordered import order_nodes as nodes
from livejoin.kernels.ordered import top_k as kernel
from livejoin.kernels.values import row_order
from livejoin.query.orders import SortKey
from livejoin.schema import SqlType
from livejoin.state.codec import Codec
from livejoin.words import Words

_UNLIMITED = 1 << 60
_CHANGES = 1024  # smallest buffer of changes
_WORTH_SORTING = 1024  # changes of one version, whose order is free; in order they find the tree's nodes in the cache
_AT_ONCE = 1 << 16  # rows that are sorted in one call: some ten milliseconds, after which Python looks for signals


class TopKStore(OrderedState):
    """The first rows in an order; mutable.

    Args:
        keys: The order; rows that the keys do not tell apart are ordered by their other columns, ascending, NULL first.
        limit: Largest number of rows.
        offset: Rows skipped before.
        codec: The database's codec.
        types: The columns' types.

    >>> first = TopKStore([SortKey(0, True, False)], 2, 0, Codec(), [SqlType.integer(64)])
    >>> rows = Rows(first.codec, first.types, [np.array([3, 9, 5])], 3)
    >>> delta = first.maintain([Delta(rows, np.array([1, 1, 1]), np.array([0, 0, 1]))])
    >>> list(zip(delta.versions.tolist(), delta.rows.codes(0).tolist(), delta.weights.tolist()))
    [(0, 3, 1), (0, 9, 1), (1, 5, 1), (1, 3, -1)]
    >>> [rows.codes(0).tolist() for rows, _ in first.scan(100)]
    [[9, 5]]
    """

    def __init__(
        self, keys: Sequence[SortKey], limit: int, offset: int, codec: Codec, types: Sequence[SqlType]
    ) -> None:
        self.types = tuple(types)
        super().__init__(RowOrder(self.types, tuple(keys)), codec, kernel.TOP_K_HEADER)
        kinds = self.order.kinds
        window = (min(offset, _UNLIMITED), min(limit, _UNLIMITED))
        self.plan = np.array([*window, len(kinds), *kinds], np.int64)

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply changes.

        Args:
            inputs: The changes of the one input.

        Returns:
            What the result gains and loses, net within each version.

        Raises:
            UnsupportedQueryError: A column holds lists.
            ChangeValueError: A value that livejoin reserves.

        Cost: O(log n) a change with n rows, and O(1) for each rank by which the result moves.
        """
        (delta,) = inputs
        refuse_lists(delta.rows, "ORDER BY ... LIMIT")
        values = self.order.encode(delta.rows)
        weights, versions = np.ascontiguousarray(delta.weights), np.ascontiguousarray(delta.versions)
        if weights.shape[0] >= _WORTH_SORTING and versions[0] == versions[-1]:
            order = _nearly_sorted(values)
            values, weights = np.take(values, order, axis=1), weights[order]
        text = self.order.text(self.codec)
        touched = np.empty(weights.shape[0], np.int64)
        self.arena.words[kernel.H_CHANGE : kernel.H_CONCERNED + 1] = 0
        self.arena.words[kernel.H_STEP] = kernel.APPLYING
        parts = []
        capacity = _CHANGES
        status = k.NEED_SPACE
        while status != k.DONE:
            out = np.empty((kernel.CHANGE_FIELDS + values.shape[0], capacity), np.int64)
            status = kernel.maintain(self.arena.words, self.plan, values, weights, versions, text, touched, out)
            parts.append(out[:, : int(self.arena.words[kernel.H_MADE])])
            if status == k.NEED_SPACE:
                self.arena.grow()
            elif status == k.OUTPUT_FULL:
                capacity = max(2 * capacity, int(self.arena.words[kernel.H_NEEDED]))
        changes = np.concatenate(parts, axis=1)
        rows = self.order.decode(changes[kernel.CHANGE_FIELDS :], self.codec)
        return Delta(rows, changes[kernel.L_WEIGHT], changes[kernel.L_VERSION])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes without asking what changed; cost and errors as for `maintain`."""
        self.maintain([delta])

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The result in its order, equal rows once with their multiplicity, in batches of at most ``capacity`` rows.

        The operator must not change meanwhile. Cost: O(rows of the result).
        """
        width = int(self.plan[row_order.O_WIDTH])
        cursor = np.array([-1, 0])
        while cursor[0] != 0:
            output = np.empty((width + 1, min(capacity, max(self.count(), 1))), np.int64)
            made = kernel.scan(self.arena.words, self.plan, self.order.text(self.codec), cursor, output)
            if made:
                yield self.order.decode(output[:width, :made], self.codec), output[width, :made]

    def count(self) -> int:
        """Rows of the result, counted with multiplicities; O(1)."""
        total = int(self.arena.words[nodes.T_TOTAL])
        return min(max(total - int(self.plan[row_order.O_OFFSET]), 0), int(self.plan[row_order.O_LIMIT]))

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        check(self.arena.words, self.plan, self.order.text(self.codec))


def _nearly_sorted(values: Words) -> Words:
    """An order of rows in which most neighbours are near each other."""
    begins = range(0, values.shape[1], _AT_ONCE)
    return np.concatenate([begin + np.lexsort(values[::-1, begin : begin + _AT_ONCE]) for begin in begins])
