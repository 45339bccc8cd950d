"""The join of a bag's relations under changes, by change propagation without materialised intermediate results.

Law: after every event, what `maintain` has given adds up to the join of the relations over the rows given so far,
projected to the attributes that the bag keeps; relations that only filter count once. Cost of an event: O(N^x), where x
is the fractional edge cover number of the attributes that the changed row does not have; of the state: O(rows).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from livejoin.families.arena.join import ArenaState
from livejoin.families.bags.checks import check
from livejoin.families.derived import RowDelta
from livejoin.families.events import slices
from livejoin.kernels.bag import layout as b
from livejoin.kernels.bag import maintain as kernel
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.state.budget import Budget
from livejoin.state.derived_rows import too_large
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.bags.bag_plan import BagJoinPlan

_OUTPUT_BYTES = 4 << 20


class BagJoin(ArenaState["BagJoinPlan"]):
    """State and operations of the join inside a bag; mutable. As `livejoin.families.derived.RowJoin`.

    Args:
        plan: The plan of the bag.
        name: The name of the bag in messages.
        budget: The memory of the database; None outside of one.
    """

    def __init__(self, plan: BagJoinPlan, name: str, budget: Budget | None = None) -> None:
        super().__init__(plan, budget)
        self._name = name

    def maintain(self, events: Words, capacity: int | None = None) -> RowDelta:
        """Apply events in order; what the bag gains and loses.

        Args:
            events: int64 of shape (EVENT_FIELDS, n), see `livejoin.kernels.join.layout`.
            capacity: Rows of an output buffer; by default as many as fill a few MB.

        Raises:
            CapacityError: A multiplicity or the state becomes too large; the state is of no use any more.
        """
        lines = self.plan.columns + b.OUTPUT_FIELDS
        output = np.empty((lines, capacity or max(1024, _OUTPUT_BYTES // (8 * lines))), np.int64)
        parts = [np.empty((lines, 0), np.int64)]
        for part in slices(events):
            status = k.NEED_SPACE
            while status != k.DONE:
                status = kernel.maintain(self.arena.words, self.plan.words, part, output)
                if status == k.TOO_LARGE:
                    raise too_large(self._name)
                if status == k.NEED_SPACE:
                    self.arena.grow()
                if rows := int(self.arena.words[q.H_OUT]):
                    self.arena.budget.hold(output[:, :rows].nbytes, "deltas")
                    parts.append(output[:, :rows].copy())
        whole = np.concatenate(parts, axis=1)
        behind = self.plan.columns
        return RowDelta(self._rows(whole[:behind]), whole[behind + b.O_WEIGHT], whole[behind + b.O_VERSION])

    def _rows(self, values: Words) -> Words:
        """Rows have at least one column: a zero if the bag keeps nothing but their number."""
        return values if values.shape[0] else np.zeros((1, values.shape[1]), np.int64)

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        check(self.plan, self.arena.words)
