"""A conjunctive query kept by kernels that apply a version as one batch: Dynamic Yannakakis and change propagation.

To its callers it is what `livejoin.families.crown.join.CrownJoin` is. The delta of a batch lies in words of its own,
which are not part of the state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from livejoin.families.arena.kernel_join import KernelJoin, KernelPlan, Kernels
from livejoin.families.delta_chunk import DeltaChunk, chunk_limits
from livejoin.families.events import slices
from livejoin.kernels.join import batch_delta as b
from livejoin.kernels.join import layout as q
from livejoin.kernels.memory import layout as k
from livejoin.state.budget import Budget
from livejoin.state.reserved import grown
from livejoin.words import Words

_LEAST_DELTA = 1 << 12  # words besides the lists
_MOST_DELTA = 1 << 20  # words that are kept between two calls


B = TypeVar("B", bound=KernelPlan)


class BatchJoin(KernelJoin[B]):
    """State and operations of one maintained join; mutable.

    Args:
        plan: The plan.
        kernels: The kernels that read it.
        budget: The memory of its database; None where it stands alone.
    """

    def __init__(self, plan: B, kernels: Kernels, budget: Budget | None = None) -> None:
        super().__init__(plan, kernels, budget)
        self._delta = np.zeros(b.D_LISTS + int(plan.words[b.P_LISTS]) + _LEAST_DELTA, np.int64)

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events, those of one version as a batch; the delta comes in chunks, each a buffer of its own.

        The iterator must be run to its end; until then the state is inside of a version.

        Args:
            events: int64 of shape (EVENT_FIELDS, n), by version, deletions before insertions within a version.
            emit: Whether to write the delta.
            capacity: Rows and segments of a chunk at most; by default as many rows as fill a few MB.

        Raises:
            CapacityError: An annotation or a multiplicity does not fit; the state is of no use any more.
        """
        rows_at_most, segments = chunk_limits(self.plan.columns, emit, capacity)
        output = np.empty((self.plan.columns, rows_at_most), np.int64)
        runs = np.empty((q.RUN_FIELDS, segments), np.int64)
        self.arena.budget.hold(self._delta.nbytes, "deltas")  # what is kept from one call to the next
        for part in slices(events):
            status = k.NEED_SPACE
            while status != k.DONE:
                arguments = (self.plan.words, part, self._cursor, emit, output, runs)
                status = self._kernels.maintain(self.arena.words, self._delta, *arguments)
                self.refuse_overflow()
                if status == k.NEED_SPACE:
                    self.arena.grow()
                elif status == b.NEED_DELTA:
                    self.arena.budget.hold(self._delta.nbytes, "deltas")
                    self._delta = grown(self._delta, 2 * self._delta.shape[0])
                rows, used = int(self.arena.words[q.H_OUT]), int(self.arena.words[q.H_SEGMENTS])
                if rows:
                    self.arena.budget.hold(output[:, :rows].nbytes, "deltas")
                    yield DeltaChunk(output[:, :rows].copy(), runs[:, :used].copy())
        if self._delta.shape[0] > _MOST_DELTA:
            self._delta = np.zeros(_MOST_DELTA, np.int64)
