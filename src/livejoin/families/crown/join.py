"""The multiway join operator: a conjunctive query maintained by the join-tree plan (CROWN, sections 4, 5 and 7.3).

The query is full with multiplicities, or free-connex with distinct results, or that with annotated results. Law: after
every event, what `scan` enumerates is the query's result over the rows given so far, and the deltas of
`maintain` add up to it. Cost of an event: O(enclosureness of the change sequence with respect to the tree), amortised
(Theorem 6.6); of a result row: O(1); of the state: O(rows).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from livejoin.families.arena_join import ArenaJoin
from livejoin.families.crown.access import TreeAccess
from livejoin.families.crown.checks import check
from livejoin.families.delta_chunk import DeltaChunk, chunk_limits
from livejoin.families.events import slices
from livejoin.families.join_access import RowIndexes
from livejoin.kernels.crown import count as counting
from livejoin.kernels.crown import layout as u
from livejoin.kernels.crown import maintain as kernel
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.state.budget import Budget
from livejoin.words import Words

if TYPE_CHECKING:
    from livejoin.families.crown.plan import PhysicalPlan


class MultiwayJoin(ArenaJoin["PhysicalPlan"]):
    """State and operations of one maintained join; mutable.

    Args:
        plan: The physical plan.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: PhysicalPlan, budget: Budget | None = None) -> None:
        super().__init__(plan, counting.count, budget)
        for at, word in plan.null_words.items():
            self.arena.words[at] = word
        self._cursor = np.zeros(plan.cursor_words, np.int64)
        self._output = np.empty((plan.columns, 0), np.int64)
        self._runs = np.empty((q.RUN_FIELDS, 0), np.int64)
        self._written = 0  # rows of the output buffer that have been written to; the others take no memory

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events in order; the delta comes in chunks, each a buffer of its own.

        The iterator must be run to its end; until then the state is between two events.

        Args:
            events: int64 of shape (EVENT_FIELDS, n), see `livejoin.kernels.join.layout`.
            emit: Whether to enumerate the delta; needs live views.
            capacity: Rows and segments of a chunk at most; by default as many rows as fill a few MB.

        Raises:
            CapacityError: An annotation or a multiplicity does not fit; the state is of no use any more.
        """
        rows_at_most, segments = chunk_limits(self.plan.columns, emit, capacity)
        if self._written:
            self.arena.budget.hold(8 * self.plan.columns * self._written, "deltas")
        for part in slices(events):
            status = k.NEED_SPACE
            while status != k.DONE:
                output, runs = self._buffers(rows_at_most, segments)
                arguments = (self.arena.words, self.plan.words, part, self._cursor, emit, output, runs)
                status = kernel.maintain(*arguments)
                self.refuse_overflow()
                if status == k.NEED_SPACE:
                    self.arena.grow()
                rows, used = int(self.arena.words[q.H_OUT]), int(self.arena.words[q.H_SEGMENTS])
                if rows:
                    self.arena.budget.hold(output[:, :rows].nbytes, "deltas")
                    self._written = max(self._written, rows)
                    words = output[:, :rows].copy() if 2 * rows < rows_at_most else self._hand_over(rows)
                    yield DeltaChunk(words, *runs[:, :used].copy())

    def _buffers(self, rows: int, segments: int) -> tuple[Words, Words]:
        """The output buffers of the last run if they have this size, else new ones."""
        if self._output.shape[1] != rows:
            self._output, self._written = np.empty((self.plan.columns, rows), np.int64), 0
        if self._runs.shape[1] != segments:
            self._runs = np.empty((q.RUN_FIELDS, segments), np.int64)
        return self._output, self._runs

    def _hand_over(self, rows: int) -> Words:
        """The output buffer, which now belongs to the caller."""
        words = self._output[:, :rows]
        self._output, self._written = np.empty((self.plan.columns, 0), np.int64), 0
        return words

    def scan(self, capacity: int) -> Iterator[Words]:
        """Full enumeration with constant delay, in buffers of shape (`columns`, up to ``capacity`` rows).

        Raises:
            CapacityError: An annotation or a multiplicity does not fit.
        """
        return self._enumerated(self.plan.columns, capacity)

    def combinations(self, capacity: int) -> Iterator[Words]:
        """As `livejoin.families.join.Join.combinations`; errors as `scan`."""
        return self._enumerated(self.plan.columns + 1, capacity)

    def _enumerated(self, lines: int, capacity: int) -> Iterator[Words]:
        """The result in buffers of so many lines."""
        cursor = np.zeros(self.plan.cursor_words, np.int64)
        ones = self.plan.components if self.plan.query.sums else np.zeros(1, np.int64)  # of no row, to multiply by
        cursor[u.CURSOR_HEADER + u.C_WEIGHT + ones] = 1
        done = False
        while not done:
            output = np.empty((lines, capacity), np.int64)
            done, rows = kernel.scan(self.arena.words, self.plan.words, cursor, output)
            self.refuse_overflow()
            if rows:
                yield output[:, :rows]

    def access(self, tables: RowIndexes) -> TreeAccess:
        """Access to the results as they are now; as `livejoin.families.join.Join.access`."""
        return TreeAccess(self, tables)

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        check(self.plan, self.arena.words)
