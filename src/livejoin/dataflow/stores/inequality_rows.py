"""The rows of a join by one comparison, or by a lower and an upper bound, over deltas of both of its sides.

Law: after every delta, what `scan` gives is the pairs of a left and a right row with one key of which the point is
within the bounds, and the deltas of `maintain` add up to it. No pair is kept: both sides are, in the order of what is
compared, so that the rows that a row meets are a run on the other side. NULL compares with nothing and equals no key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import Delta, Rows, no_rows
from livejoin.dataflow.stores.aggregate_plan import aggregate_plan
from livejoin.dataflow.stores.compared_sides import ComparedSides
from livejoin.dataflow.stores.inequality_checks import check
from livejoin.errors import CapacityError
from livejoin.families.sizes import exactly, whole_sum
from livejoin.kernels.inequality import layout as w
from livejoin.plan.operators import InequalityJoinOperator
from livejoin.schema import Kind
from livejoin.state.codec import Codec
from livejoin.words import Words


class InequalityRowsStore:
    """The rows of a join by one comparison; mutable.

    Args:
        plan: The operator.
        codec: The database's codec.
    """

    def __init__(self, plan: InequalityJoinOperator, codec: Codec) -> None:
        self.plan, self._codec = plan, codec
        self.sides = ComparedSides(plan, aggregate_plan((), 0, (), True), codec)

    def maintain(self, inputs: Sequence[Delta]) -> Delta:
        """Apply the changes of both sides; the pairs that come and go.

        Raises:
            CapacityError: 64 bits do not count the pairs.
            UnsupportedQueryError: A column that is compared or shown holds lists.

        Cost: O(log n) a change with n rows, and O(1) for each row that it meets.
        """
        left, right = inputs
        before = self.count()
        lines = self.sides.changed(left, right, _too_large())
        exactly(before + whole_sum(lines[w.L_WEIGHT]))
        return Delta(self._rows(lines), lines[w.L_WEIGHT], lines[w.L_VERSION])

    def load(self, side: int, delta: Delta) -> None:
        """Apply changes of one side, whose pairs nobody wants to know; errors as for `maintain`.

        Cost: O(log n) a change; where left rows have two bounds, O(1) also for each row that a right one meets.
        """
        nothing = np.empty(0, np.int64)
        types = (self.plan.left, self.plan.right)[1 - side].types
        none = Delta(no_rows(self._codec, types), nothing, nothing)
        self.sides.changed(*((delta, none) if side == 0 else (none, delta)), _too_large(), are_told=False)

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The pairs with their multiplicities, in batches of at most ``capacity``.

        Cost: O(log n) a left row, and O(1) a pair.
        """
        for lines in self.sides.scan(capacity):
            yield self._rows(lines), lines[w.L_WEIGHT]

    def of_keys(self, keys: Rows, capacity: int) -> Iterator[tuple[Words, Rows, Words]]:
        """The pairs of some keys: for each batch of them the place of each pair's key, the pairs, multiplicities.

        Cost: O(log n) a key and a left row of it, and O(1) a pair.
        """
        for place, lines in self.sides.of_keys(keys, capacity):
            yield np.full(lines.shape[1], place), self._rows(lines), lines[w.L_WEIGHT]

    def met(self, side: int, rows: Rows, weights: Words, capacity: int) -> Iterator[tuple[Words, Rows, Words]]:
        """The pairs of some rows of a side: for each batch of them the place of each pair's row, and as `of_keys`.

        Cost: O(log n) a row, and O(1) a pair.
        """
        for lines in self.sides.met(side, rows, weights, capacity):
            yield lines[w.L_VERSION], self._rows(lines), lines[w.L_WEIGHT]

    def ranks(self) -> Words:
        """As `ComparedSides.ranks`."""
        return self.sides.ranks()

    def at(self, lefts: Words, rights: Words) -> Rows:
        """The pairs of rows at some ranks of both sides, which count multiplicities; O(log n) each."""
        return self._rows(self.sides.at(lefts, rights))

    def count(self) -> int:
        """Pairs, counted with multiplicities; O(1)."""
        return int(self.sides.arenas[0].words[w.H_TOTAL])

    def nothing(self) -> Rows:
        """No rows."""
        return no_rows(self._codec, self.plan.types)

    def used_words(self, kind: Kind) -> Words:
        """The words of values of a kind that the state holds, which the codec must keep; O(state)."""
        return np.concatenate([np.empty(0, np.int64), *self.sides.used_words(kind)])

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        return self.sides.sizes()

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""
        return self.sides.free_bytes()

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays, valid until the next change."""
        return self.sides.arrays()

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a store with the same plan."""
        self.sides.restore(arrays)

    def _rows(self, lines: Words) -> Rows:
        columns = [self.sides.codes(lines, one) for one in self.plan.columns]
        return Rows(self._codec, self.plan.types, columns, lines.shape[1])

    def _check(self) -> None:
        """Assert all invariants; O(rows), for tests."""
        check(self.sides)


def _too_large() -> CapacityError:
    return CapacityError("a row meets more than 9,223,372,036,854,775,807 rows, counted with their multiplicities")
