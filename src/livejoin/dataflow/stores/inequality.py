"""Aggregates of a join by one comparison, or by a lower and an upper bound, over deltas of both of its sides.

Law: after every delta, what `scan` gives is the aggregates of the groups of all pairs of a left and a right row with
one key of which the point is within the bounds, and the deltas of `maintain` add up to it. No pair is made: both sides
are kept in order with sums of what their rows add, a row that changes adds what it makes of the sums of the other
side to their groups, and a store of groups (`livejoin.dataflow.stores.aggregate`) gives the results. What is added up
has no rounding: counts, and sums of integers and decimals. NULL compares with nothing and equals no key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, no_rows
from livejoin.dataflow.stores.aggregate import AggregateStore
from livejoin.dataflow.stores.aggregate_plan import aggregate_plan
from livejoin.dataflow.stores.aggregate_rows import result_rows
from livejoin.dataflow.stores.compared_sides import ComparedSides
from livejoin.dataflow.stores.inequality_checks import check
from livejoin.dataflow.stores.summed import layout_of, of_sums
from livejoin.kernels.inequality import layout as w
from livejoin.plan.operators import InequalityAggregateOperator
from livejoin.schema import Kind
from livejoin.state.codec import Codec
from livejoin.words import Words


class InequalityAggregateStore(AggregateStore):
    """The groups of a join by one comparison; mutable.

    Args:
        plan: The operator.
        codec: The database's codec.
    """

    def __init__(self, plan: InequalityAggregateOperator, codec: Codec) -> None:
        self._pairs = plan
        summed = aggregate_plan(plan.inputs, plan.groups, plan.calls, plan.is_global)
        self.sides = ComparedSides(plan, summed, codec)
        super().__init__(of_sums(summed, layout_of(summed)[0]), codec)

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of both sides; which rows of results go and come, net in each version.

        Raises:
            CapacityError, ChangeValueError: As `AggregateStore.maintain`.
            UnsupportedQueryError: A column of the key, of a group or one that is compared holds lists.

        Cost: O(log n) a change with n rows, for each group of its key on the other side or with each row that it meets
        there, as the operator says.
        """
        left, right = inputs
        words, lists = self._run(*self._gained(left, right), emit=True)
        return Delta(result_rows(self.plan, self._codec, words[:-3], lists), words[-3], words[-2], words[-1])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes of one input without asking what changed; cost and errors as for `maintain`."""
        nothing = np.empty(0, np.int64)
        none = Delta(no_rows(self._codec, (self._pairs.left, self._pairs.right)[1 - side].types), nothing, nothing)
        self._run(*self._gained(*((delta, none) if side == 0 else (none, delta))), emit=False)

    def used_words(self, kind: Kind) -> Words:
        """The words of values of a kind that the state holds, which the codec must keep; O(state)."""
        return np.concatenate([super().used_words(kind), *self.sides.used_words(kind)])

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        found = super().sizes(), self.sides.sizes()
        return found[0][0] + found[1][0], found[0][1] + found[1][1]

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return super().free_bytes() + self.sides.free_bytes()

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        return {**super().arrays(), **self.sides.arrays()}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a store with the same plan.

        Raises:
            StateError: The arrays are not those of a store.
        """
        super().restore(arrays)
        self.sides.restore(arrays)

    def _gained(self, left: Delta, right: Delta) -> tuple[Words, Words, Words]:
        """What groups gain: their words and sums as lines, the pairs that these are of, and the versions."""
        lines = self.sides.changed(left, right, self._too_large())
        groups = self.plan.groups
        values = np.zeros((self.plan.line_words, lines.shape[1]), np.int64)
        for place, one in enumerate(self._pairs.columns[:groups]):
            values[place] = self.sides.codes(lines, one)
        values[groups:-1] = lines[self.sides.total :]
        return values, lines[w.L_WEIGHT], lines[w.L_VERSION]

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        super()._check()
        check(self.sides)
