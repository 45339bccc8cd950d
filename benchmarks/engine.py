"""The engine's join operator driven directly: changes as the kernels take them, deltas in the buffers that they fill.

This leaves out what surrounds the operator in `livejoin.Database`: reading Arrow, the window, predicates, Arrow deltas.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.stream import EdgeStream
from livejoin.families.crown.compile import compile_plan
from livejoin.families.crown.join import CrownJoin
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.kernels.join import layout as q
from livejoin.query import Atom, ColumnRef, ConjunctiveQuery, Output
from livejoin.query.scalar import Expression
from livejoin.schema import Column, SqlType, Table
from livejoin.theory.trees.join_tree import least_height_tree
from livejoin.words import Words

Row = tuple[int, ...]
COLUMNS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Operator:
    """A maintained 3-Hop and how its rows are numbered: a ring of ids, long enough that none is used twice a batch."""

    join: CrownJoin
    stream: EdgeStream
    batch: int

    @property
    def ring(self) -> int:
        """The number of row ids."""
        return self.stream.window + self.batch

    def changes(self) -> Iterator[tuple[Words, Words, Words]]:
        """Batches of changes: the new rows' ids, their values, and the events, each eviction before its insertion."""
        stream = self.stream
        for start in range(0, len(stream.edges), self.batch):
            added = np.arange(start, min(start + self.batch, len(stream.edges)), dtype=np.int64)
            evicted = added - stream.window
            both = np.stack([evicted, added], axis=1).ravel()
            signs = np.tile(np.array([-1, 1], dtype=np.int64), len(added))
            signs, both = signs[both >= 0], both[both >= 0]
            kept = (stream.edges[both, 1] % stream.modulus == 0).astype(np.int64)
            events = np.zeros((q.EVENT_FIELDS, len(both)), dtype=np.int64)
            events[q.V_ROW] = both % self.ring
            events[q.V_WEIGHT] = signs
            events[q.V_MASK] = 0b011 | (kept << 2)
            events[q.V_VERSION] = 1 + np.arange(len(both))
            yield added % self.ring, np.ascontiguousarray(stream.edges[added]).ravel(), events

    def apply(self, rows: Words, values: Words, events: Words, emit: bool) -> Iterator[DeltaChunk]:
        """Apply a batch; run the iterator to its end."""
        table = np.empty((self.ring, 2), dtype=np.int64)
        table[rows] = values.reshape(-1, 2)
        self.join.load(0, rows, table.ravel(), 2, 0)
        yield from self.join.maintain(events, emit)


def three_hop(stream: EdgeStream, batch: int, live: bool) -> Operator:
    """The operator of the benchmark's query over an empty window."""
    bigint = SqlType.integer(64)
    table = Table("G", (Column("src", bigint), Column("dst", bigint)))
    atoms = tuple(
        Atom(alias, table, (0, 1), variables, predicate)
        for alias, variables, predicate in (
            ("G1", ("a", "b"), None),
            ("G2", ("b", "c"), None),
            ("G3", ("c", "d"), Expression(f"dst % {stream.modulus} = 0", None)),
        )
    )
    head = (ColumnRef(0, 0), ColumnRef(1, 0), ColumnRef(2, 0), ColumnRef(2, 1))
    outputs = tuple(Output(name, pa.int64(), i) for i, name in enumerate(COLUMNS))
    query = ConjunctiveQuery(stream.sql, atoms, head, outputs)
    return Operator(CrownJoin(compile_plan(query, least_height_tree(query.edges), live)), stream, batch)


@dataclass(frozen=True)
class Run:
    """What a run over a stream took and made."""

    seconds: float
    delta_rows: int


def run(operator: Operator) -> Run:
    """Apply the whole stream; enumerate the deltas if the plan keeps live views. Preparing the arrays is not timed."""
    emit = operator.join.plan.live
    seconds, rows = 0.0, 0
    for batch in operator.changes():
        start = time.perf_counter()
        for chunk in operator.apply(*batch, emit):
            rows += chunk.rows
        seconds += time.perf_counter() - start
    return Run(seconds, rows)


def summed_deltas(operator: Operator) -> Counter[Row]:
    """Apply the whole stream and add up all deltas row by row: slow, for checks at a small scale."""
    total: Counter[Row] = Counter()
    for batch in operator.changes():
        for chunk in operator.apply(*batch, True):
            signs = np.repeat(chunk.signs, chunk.lengths())
            for row, sign in zip(chunk.words.T.tolist(), signs.tolist(), strict=True):
                total[tuple(row)] += sign
    return Counter({row: times for row, times in total.items() if times})


def scanned(operator: Operator, capacity: int) -> Run:
    """Enumerate the whole result into buffers of ``capacity`` rows."""
    start = time.perf_counter()
    rows = sum(buffer.shape[1] for buffer in operator.join.scan(capacity))
    return Run(time.perf_counter() - start, rows)


def as_batches(operator: Operator, capacity: int) -> Iterator[pa.RecordBatch]:
    """The whole result as Arrow."""
    for buffer in operator.join.scan(capacity):
        yield pa.record_batch(dict(zip(COLUMNS, buffer, strict=True)))
