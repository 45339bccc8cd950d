"""A conjunctive query kept by kernels that apply a version as one batch: Dynamic Yannakakis and change propagation.

To its callers it is what `livejoin.dataflow.multiway.MultiwayJoin` is. The delta of a batch lies in words of its own,
which are not part of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from livejoin.dataflow.multiway import OUTPUT_BYTES, SEGMENTS, DeltaChunk
from livejoin.errors import CapacityError
from livejoin.kernels import batch_delta as b
from livejoin.kernels import layout as k
from livejoin.kernels import records
from livejoin.kernels.errstate import wrapping
from livejoin.plan.chain_plan import ChainPlan
from livejoin.plan.dyn_plan import DynPlan
from livejoin.state.arena import Arena

Words = npt.NDArray[np.int64]

_MAX_COUNT = 9.0e18
_LEAST_DELTA = 1 << 12  # words besides the lists
_MOST_DELTA = 1 << 20  # words that are kept between two calls


@dataclass(frozen=True)
class Kernels:
    """The kernels of an algorithm.

    Args:
        maintain: Applies events.
        scan: Writes the result.
        count: Counts it.
        check: Asserts all invariants of a state.
    """

    maintain: Callable[..., int]
    scan: Callable[..., tuple[bool, int]]
    count: Callable[..., tuple[int, float]]
    check: Callable[[Any, Words], None]


class BatchJoin:
    """State and operations of one maintained join; mutable.

    Args:
        plan: The plan.
        kernels: The kernels that read it.
    """

    def __init__(self, plan: DynPlan | ChainPlan, kernels: Kernels) -> None:
        self.plan = plan
        self._kernels = kernels
        first = int(plan.words[k.P_FIRST_TABLE])
        headers = [int(plan.words[first + t * k.PLAN_TABLE]) for t in range(len(plan.tables))]
        self.arena = Arena(plan.header_words, plan.directories, tuple(headers))
        self._cursor = np.zeros(plan.cursor_words, np.int64)
        self._delta = np.zeros(b.D_LISTS + int(plan.words[b.P_LISTS]) + _LEAST_DELTA, np.int64)

    def load(
        self,
        table: int,
        rows: Words,
        words: Words,
        stride: int,
        first: int,
        factors: Words | None = None,
        sources: Words | None = None,
    ) -> None:
        """Bring base rows' values into their records, before the events that name them.

        Args:
            table: Position of the table in the plan.
            rows: Row ids.
            words: The base table's rows, flat.
            stride: Words a base row.
            first: Offset of a base row's first value.
            factors: int64 of shape (factors, rows): the values of the table's factors, if it has any.
            sources: Where each row stands in ``words``, if not under its id.
        """
        at = rows if sources is None else sources
        while records.load(self.arena.words, self.plan.words, table, rows, at, words[first:], stride) == k.NEED_SPACE:
            self.arena.grow()
        if factors is not None and factors.shape[0]:
            records.load_factors(self.arena.words, self.plan.words, table, rows, factors)

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events, those of one version as a batch; the delta comes in chunks, each a buffer of its own.

        The iterator must be run to its end; until then the state is inside of a version.

        Args:
            events: int64 of shape (EVENT_FIELDS, n), by version, deletions before insertions within a version.
            emit: Whether to write the delta.
            capacity: Rows and segments of a chunk at most; by default as many rows as fill a few MB.
        """
        rows_at_most = capacity or max(1024, OUTPUT_BYTES // (8 * max(1, self.plan.columns)))
        segments = capacity or SEGMENTS
        if not emit:
            rows_at_most = segments = 1
        output = np.empty((self.plan.columns, rows_at_most), np.int64)
        runs = np.empty((k.RUN_FIELDS, segments), np.int64)
        status = k.NEED_SPACE
        while status != k.DONE:
            with wrapping():
                arguments = (self.plan.words, events, self._cursor, emit, output, runs)
                status = self._kernels.maintain(self.arena.words, self._delta, *arguments)
            if status == k.NEED_SPACE:
                self.arena.grow()
            elif status == b.NEED_DELTA:
                self._delta = np.concatenate([self._delta, np.zeros_like(self._delta)])
            rows, used = int(self.arena.words[k.H_OUT]), int(self.arena.words[k.H_SEGMENTS])
            if rows:
                yield DeltaChunk(output[:, :rows].copy(), *runs[:, :used].copy())
        if self._delta.shape[0] > _MOST_DELTA:
            self._delta = np.zeros(_MOST_DELTA, np.int64)

    def scan(self, capacity: int) -> Iterator[Words]:
        """The result, in buffers of shape (`columns`, up to ``capacity`` rows)."""
        cursor = np.zeros(self.plan.cursor_words, np.int64)
        done = False
        while not done:
            output = np.empty((self.plan.columns, capacity), np.int64)
            with wrapping():
                done, rows = self._kernels.scan(self.arena.words, self.plan.words, cursor, output)
            if rows:
                yield output[:, :rows]

    def count(self) -> int:
        """Size of the result with multiplicities.

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
            exact, rough = self._kernels.count(self.arena.words, self.plan.words)
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
            ``propagated``: tuples that a change reached; ``stopped``: those of them that change nothing further up,
            because they are not live or join nothing; ``touched``: changes of multiplicities in the state; ``probes``:
            look-ups of keys in directories.
        """
        header = self.arena.words
        return {
            "propagated": int(header[k.H_PROPAGATED]),
            "stopped": int(header[k.H_STOPPED]),
            "touched": int(header[k.H_TOUCHED]),
            "probes": int(header[k.H_PROBES]),
        }

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        return {"arena": self.arena.words}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a join with the same plan."""
        self.arena.words = arrays["arena"]

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out and bytes allocated."""
        return self.arena.used_bytes, self.arena.capacity_bytes

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        self._kernels.check(self.plan, self.arena.words)
