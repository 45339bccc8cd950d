"""The multiway join operator: a conjunctive query maintained by the join-tree plan (CROWN, sections 4, 5 and 7.3).

The query is full with multiplicities, or free-connex with distinct results, or that with annotated results. Law: after
every event, what `scan` enumerates is the query's result over the rows given so far, and the deltas of
`maintain` add up to it. Cost of an event: O(enclosureness of the change sequence with respect to the tree), amortised
(Theorem 6.6); of a result row: O(1); of the state: O(rows). Insertions of one version into an empty join are built at
once (docs/decisions/0041).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from livejoin.families.arena.event_join import EventJoin
from livejoin.families.arena.kernel_join import Kernels
from livejoin.families.crown.access import TreeAccess
from livejoin.families.crown.build import Building
from livejoin.families.crown.checks import check
from livejoin.families.crown.nodes import node_bytes
from livejoin.families.delta_chunk import DeltaChunk, chunk_limits
from livejoin.families.events import slices
from livejoin.families.join_access import RowIndexes
from livejoin.families.nodes import COUNTED
from livejoin.kernels.crown import build as building
from livejoin.kernels.crown import count as counting
from livejoin.kernels.crown import layout as u
from livejoin.kernels.crown import maintain as kernel
from livejoin.kernels.join import layout as q
from livejoin.state.budget import Budget
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.crown.plan import CrownPlan


def _maintain(*arguments: Any) -> int:
    """The kernel as its module has it now: what is put in its place counts from then on."""
    return int(kernel.maintain(*arguments))


_KERNELS = Kernels(_maintain, kernel.scan, counting.count, check)


_MANY = 1 << 12  # events; fewer are applied one by one as fast


def _come_at_once(events: Words) -> bool:
    """Whether events are insertions of one version."""
    versions = events[q.V_VERSION]
    return bool(versions[0] == versions[-1] and events[q.V_WEIGHT].min() > 0)


class CrownJoin(EventJoin["CrownPlan"]):
    """State and operations of one maintained join; mutable.

    Args:
        plan: The physical plan.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: CrownPlan, budget: Budget | None = None) -> None:
        super().__init__(plan, _KERNELS, budget)
        for at, word in plan.null_words.items():
            self.arena.words[at] = word

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """As `livejoin.families.join.Join.maintain`; an empty join is built, with the same delta."""
        if events.shape[1] >= _MANY and not self.registered and _come_at_once(events):
            return self._first(events, emit, capacity)
        return super().maintain(events, emit, capacity)

    def _first(self, events: Words, emit: bool, capacity: int | None) -> Iterator[DeltaChunk]:
        """Build the views over the first rows; the delta is the whole result."""
        self.enlist(events)
        self.build()
        if not emit:
            return
        budget = self.arena.budget
        rows, _ = chunk_limits(self.plan.columns, emit, capacity)
        run = np.zeros((q.RUN_FIELDS, 1), np.int64)
        run[q.R_VERSION], run[q.R_SIGN] = events[q.V_VERSION, 0], 1
        for words in self.scan(rows):
            if budget.refuses:
                budget.hold(words.nbytes, "deltas")
            yield DeltaChunk(words.copy() if 2 * words.shape[1] < rows else words, run)

    def enlist(self, events: Words, *, again: bool = False) -> None:
        """As `livejoin.families.join.Join.enlist`."""
        for part in slices(events):
            building.enlist(self.arena.words, self.plan.words, part)

    def build(self, *, again: bool = False) -> None:
        """As `livejoin.families.join.Join.build`."""
        if self.registered:
            Building(self.plan, self.arena).run()
            if not again:
                self.refuse_overflow()
            self.arena.words[q.H_OVERFLOW] = 0

    def node_work(self) -> Words:
        """As `livejoin.families.nodes.CountsNodes.node_work`."""
        at, number = self.plan.work_at, len(self.plan.nodes)
        return self.arena.words[at : at + u.WORK * number].reshape(number, u.WORK).T[:COUNTED].copy()

    def node_bytes(self) -> Words:
        """As `livejoin.families.nodes.CountsNodes.node_bytes`."""
        return node_bytes(self.arena.words, self.plan.words, self.plan.nodes, self.plan.node_offsets)

    def _start(self) -> Words:
        """The cursor of a scan that begins: the product of the rows above the first one is one."""
        cursor = super()._start()
        ones = self.plan.components if self.plan.query.sums else np.zeros(1, np.int64)  # of no row, to multiply by
        cursor[u.CURSOR_HEADER + u.C_WEIGHT + ones] = 1
        return cursor

    def access(self, tables: RowIndexes) -> TreeAccess:
        """Access to the results as they are now; as `livejoin.families.join.Join.access`."""
        return TreeAccess(self, tables)
