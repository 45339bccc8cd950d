"""Aggregates over the rows that compare with the bound of their key, over deltas (AJU, Theorem 15).

Law: after every delta, what `scan` gives is the aggregates of the groups of the rows that `ThresholdStore` would give,
and the deltas of `maintain` add up to it. No row is moved for that: the rows are kept by key, group and compared column
with the sums of what they add to their group, a bound that moves adds the sums between its two places, and a store of
groups (`livejoin.dataflow.stores.aggregate`) gives the results. What is added up has no rounding: counts, and sums of
integers and decimals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta
from livejoin.dataflow.stores.aggregate import AggregateStore, lines_of
from livejoin.dataflow.stores.aggregate_plan import aggregate_plan
from livejoin.dataflow.stores.aggregate_rows import result_rows
from livejoin.dataflow.stores.bounded_rows import BoundedRows, one_sided
from livejoin.dataflow.stores.bounded_rows_checks import check
from livejoin.dataflow.stores.summed import layout_of, of_sums
from livejoin.kernels.thresholds import layout as w
from livejoin.plan.operators import ThresholdAggregateOperator
from livejoin.schema import Kind
from livejoin.state.codec import Codec
from livejoin.words import Words


class ThresholdAggregateStore(AggregateStore):
    """The groups of the rows that compare with the bound of their key; mutable.

    Args:
        plan: The operator.
        codec: The database's codec.
    """

    def __init__(self, plan: ThresholdAggregateOperator, codec: Codec) -> None:
        types, first = plan.rows.types, plan.keys + 1
        rows_plan = aggregate_plan(types[first:], plan.groups, plan.calls, plan.is_global)
        self._own = range(first, len(types))
        self._rows_plan = rows_plan
        values, carried = layout_of(rows_plan)
        own = types[: first + plan.groups]
        sums = (rows_plan.words, values, carried)
        self.bounded = BoundedRows(own, plan.keys, plan.groups, plan.comparison, codec, sums)
        super().__init__(of_sums(rows_plan, values), codec)

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of the bounds and of the rows; which rows of results go and come, net in each version.

        Raises:
            CapacityError, ChangeValueError: As `AggregateStore.maintain`.
            UnsupportedQueryError: A column of a group holds lists.

        Cost: O(log n) a change with n rows, and O(log n) for each group of a key whose bound moves.
        """
        bounds, rows = inputs
        words, lists = self._run(*self._gained(bounds, rows), emit=True)
        return Delta(result_rows(self.plan, self._codec, words[:-3], lists), words[-3], words[-2], words[-1])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes of one input without asking what changed; cost and errors as for `maintain`."""
        self._run(*self._gained(*one_sided(self.bounded, side, delta)), emit=False)

    def used_words(self, kind: Kind) -> Words:
        """The words of values of a kind that the state holds, which the codec must keep; O(state)."""
        return np.concatenate([super().used_words(kind), *self.bounded.used_words(kind)])

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        (handed, allocated), (more, others) = super().sizes(), self.bounded.sizes()
        return handed + more, allocated + others

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return super().free_bytes() + self.bounded.free_bytes()

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        return {**super().arrays(), "rows": self.bounded.arena.words}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a store with the same plan.

        Raises:
            StateError: The arrays are not those of a store.
        """
        super().restore(arrays)
        self.bounded.arena.words = arrays["rows"]

    def _gained(self, bounds: Delta, rows: Delta) -> tuple[Words, Words, Words]:
        """What groups gain: their words and sums as lines, the rows that these are of, and the versions."""
        order = self.bounded.order
        has_arguments = rows.weights.shape[0] > 0
        arguments = lines_of(self._rows_plan, rows.rows.select(self._own)) if has_arguments else None
        lines = self.bounded.maintain(bounds, rows, arguments, emit=False)
        width = len(order.kinds)
        decoded = order.decode(lines[w.LINES : w.LINES + width], self._codec)
        values = np.zeros((self.plan.line_words, decoded.length), np.int64)
        groups = self.plan.groups
        for i in range(groups):
            values[i] = decoded.codes(self.bounded.keys + 1 + i)
        values[groups:-1] = lines[w.LINES + width :]
        return values, lines[w.L_WEIGHT], lines[w.L_VERSION]

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        super()._check()
        check(self.bounded)
