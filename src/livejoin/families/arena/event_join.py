"""A conjunctive query kept by kernels that apply one change after the other: join trees and foreign-key graphs.

To its callers it is what `livejoin.families.arena.batch_join.BatchJoin` is; the delta of a change is written as the
change goes on, so that nothing of a version waits beside the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from livejoin.families.arena.kernel_join import KernelJoin, KernelPlan, Kernels
from livejoin.families.delta_chunk import DeltaChunk, chunk_limits
from livejoin.families.events import slices
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.state.budget import Budget
from livejoin.words import Words

E = TypeVar("E", bound=KernelPlan)


class EventJoin(KernelJoin[E]):
    """State and operations of one maintained join; mutable.

    Args:
        plan: The plan.
        kernels: The kernels that read it.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: E, kernels: Kernels, budget: Budget | None = None) -> None:
        super().__init__(plan, kernels, budget)
        self._columns = plan.columns
        self._limits = {emit: chunk_limits(plan.columns, emit, None) for emit in (False, True)}
        self._output = np.empty((plan.columns, 0), np.int64)
        self._runs = np.empty((q.RUN_FIELDS, 0), np.int64)
        self._written = 0  # rows of the output buffer that have been written to; the others take no memory

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events in order; the delta comes in chunks, each a buffer of its own.

        The iterator must be run to its end; until then the state is between two events.

        Args:
            events: int64 of shape (EVENT_FIELDS, n), see `livejoin.kernels.join.layout`.
            emit: Whether to enumerate the delta; a join tree needs live views for it.
            capacity: Rows and segments of a chunk at most; by default as many rows as fill a few MB.

        Raises:
            CapacityError: An annotation or a multiplicity does not fit; the state is of no use any more.
        """
        limits = self._limits[emit] if capacity is None else chunk_limits(self._columns, emit, capacity)
        arena, plan, budget = self.arena, self.plan.words, self.arena.budget
        if self._written and budget.refuses:
            budget.hold(8 * self._columns * self._written, "deltas")
        kernel = self._kernels.maintain
        for part in slices(events):
            status = k.NEED_SPACE
            while status != k.DONE:
                output, runs = self._buffers(*limits)
                status = kernel(arena.words, plan, part, self._cursor, emit, output, runs)
                header = arena.words
                rows, segments = int(header[q.H_OUT]), int(header[q.H_SEGMENTS])
                self.refuse_overflow()
                if status == k.NEED_SPACE:
                    arena.grow()  # which may take another array
                if rows:
                    if budget.refuses:
                        budget.hold(output[:, :rows].nbytes, "deltas")
                    self._written = max(self._written, rows)
                    words = output[:, :rows].copy() if 2 * rows < limits[0] else self._hand_over(rows)
                    yield DeltaChunk(words, runs[:, :segments].copy())

    def _buffers(self, rows: int, segments: int) -> tuple[Words, Words]:
        """The output buffers of the last run if they have this size, else new ones."""
        if self._output.shape[1] != rows:
            self._output, self._written = np.empty((self._columns, rows), np.int64), 0
        if self._runs.shape[1] != segments:
            self._runs = np.empty((q.RUN_FIELDS, segments), np.int64)
        return self._output, self._runs

    def _hand_over(self, rows: int) -> Words:
        """The output buffer, which now belongs to the caller."""
        words = self._output[:, :rows]
        self._output, self._written = np.empty((self._columns, 0), np.int64), 0
        return words
