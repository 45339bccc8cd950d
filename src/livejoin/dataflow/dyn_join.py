"""Dynamic Yannakakis as an operator: a conjunctive query kept as a T-representation (DYN, sections 4.2 to 4.5).

The query is full with multiplicities, or free-connex with distinct results, or that with annotated results. Law: after
every version the state is the T-representation of the rows given so far, from which the result is enumerated with
constant delay. Cost of a version of u changes: O(u) for a simple tree, and only for such (Theorem 4.15), else O(rows)
(Proposition 4.16); of the state: O(rows) (Proposition 4.10). Unlike the join-tree plan there are neither counters nor
live views: every change of a multiplicity goes up to the root, as far as tuples are live.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from livejoin.dataflow.dyn_invariants import check
from livejoin.dataflow.multiway import OUTPUT_BYTES, SEGMENTS, DeltaChunk
from livejoin.errors import CapacityError
from livejoin.kernels import batch_delta as b
from livejoin.kernels import dyn as kernel
from livejoin.kernels import dyn_counting as counting
from livejoin.kernels import dyn_layout as y
from livejoin.kernels import layout as k
from livejoin.kernels import records
from livejoin.kernels.errstate import wrapping
from livejoin.plan.dyn_plan import DynPlan
from livejoin.state.arena import Arena

Words = npt.NDArray[np.int64]

_MAX_COUNT = 9.0e18
_DELTA_WORDS = 1 << 12
_MOST_DELTA_WORDS = 1 << 20  # kept between two calls


class DynJoin:
    """State and operations of one maintained join; mutable.

    Args:
        plan: The plan.
    """

    def __init__(self, plan: DynPlan) -> None:
        self.plan = plan
        first = int(plan.words[k.P_FIRST_TABLE])
        headers = [int(plan.words[first + t * k.PLAN_TABLE]) for t in range(len(plan.tables))]
        self.arena = Arena(plan.header_words, plan.directories, tuple(headers))
        self._cursor = np.zeros(plan.cursor_words, np.int64)
        least = b.D_LISTS + y.LISTS * len(plan.nodes)
        self._delta = np.zeros(least + _DELTA_WORDS, np.int64)

    def load(
        self, table: int, rows: Words, words: Words, stride: int, first: int, factors: Words | None = None
    ) -> None:
        """Bring base rows' values into their records, before the events that name them.

        Args:
            table: Position of the table in the plan.
            rows: Row ids.
            words: The base table's rows, flat.
            stride: Words a base row.
            first: Offset of a base row's first value.
            factors: int64 of shape (factors, rows): the values of the table's factors, if it has any.
        """
        while records.load(self.arena.words, self.plan.words, table, rows, words[first:], stride) == k.NEED_SPACE:
            self.arena.grow()
        if factors is not None and factors.shape[0]:
            records.load_factors(self.arena.words, self.plan.words, table, rows, factors)

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events, those of one version as a batch; the delta comes in chunks, each a buffer of its own.

        The iterator must be run to its end; until then the state is inside of a version.

        Args:
            events: int64 of shape (EVENT_FIELDS, n), by version, deletions before insertions within a version.
            emit: Whether to enumerate the delta.
            capacity: Rows and segments of a chunk at most; by default as many rows as fill a few MB.
        """
        rows_at_most = capacity or max(1024, OUTPUT_BYTES // (8 * max(1, self.plan.columns)))
        segments = capacity or SEGMENTS
        if not emit:
            rows_at_most = segments = 1
        events = np.ascontiguousarray(events)
        output = np.empty((self.plan.columns, rows_at_most), np.int64)
        runs = np.empty((k.RUN_FIELDS, segments), np.int64)
        status = k.NEED_SPACE
        while status != k.DONE:
            with wrapping():
                arguments = (self.plan.words, events, self._cursor, emit, output, runs)
                status = kernel.maintain(self.arena.words, self._delta, *arguments)
            if status == k.NEED_SPACE:
                self.arena.grow()
            elif status == y.NEED_DELTA:
                self._delta = np.zeros(2 * self._delta.shape[0], np.int64)
            rows, used = int(self.arena.words[k.H_OUT]), int(self.arena.words[k.H_SEGMENTS])
            if rows:
                yield DeltaChunk(output[:, :rows].copy(), *runs[:, :used].copy())
        if self._delta.shape[0] > _MOST_DELTA_WORDS:
            self._delta = np.zeros(_MOST_DELTA_WORDS, np.int64)

    def scan(self, capacity: int) -> Iterator[Words]:
        """Full enumeration with constant delay, in buffers of shape (`columns`, up to ``capacity`` rows)."""
        cursor = np.zeros(self.plan.cursor_words, np.int64)
        cursor[y.K_DEPTH] = -1
        done = False
        while not done:
            output = np.empty((self.plan.columns, capacity), np.int64)
            with wrapping():
                done, rows = kernel.scan(self.arena.words, self.plan.words, cursor, output)
            if rows:
                yield output[:, :rows]

    def count(self) -> int:
        """Size of the result with multiplicities, in O(rows), without enumeration.

        Raises:
            CapacityError: It is beyond 64 bits.
        """
        size = self.size()
        if isinstance(size, float):
            msg = f"the result has about {size:.3g} rows, more than 64 bits count"
            raise CapacityError(msg)
        return size

    def size(self) -> int | float:
        """As `count`, but about and as a float where the size is beyond 64 bits."""
        with wrapping():
            exact, rough = counting.count(self.arena.words, self.plan.words)
        return float(rough) if rough > _MAX_COUNT else int(exact)

    @property
    def weighed(self) -> int:
        """Changes so far of a multiplicity that stayed positive; only these let one version cancel a result row."""
        return int(self.arena.words[k.H_WEIGHED])

    @property
    def registered(self) -> int:
        """Atom rows in the state."""
        return int(self.arena.words[k.H_REGISTERED])

    def counters(self) -> dict[str, int]:
        """Work done so far.

        Returns:
            ``propagated``: tuples whose multiplicity was computed anew (line 5 of Algorithm 2); ``stopped``: those of
            them that did not change, because they are not live; ``touched``: those that did; ``probes``: look-ups of
            keys in directories.
        """
        header = self.arena.words
        return {
            "propagated": int(header[k.H_PROPAGATED]),
            "stopped": int(header[k.H_STOPPED]),
            "touched": int(header[k.H_TOUCHED]),
            "probes": int(header[k.H_PROBES]),
        }

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        check(self.plan, self.arena.words)
