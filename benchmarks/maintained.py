"""A query over the edges kept by its operators, without a database around them: arrays in, buffers or Arrow deltas out.

This leaves out what `livejoin.Database` does besides: reading Arrow, the base table and its window, predicates. One
version is one graph change, so that a delta is that of a single change.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks import recompute
from benchmarks.stream import EdgeStream
from livejoin.catalog import Catalog
from livejoin.dataflow.blocks.bag import BagBlock
from livejoin.dataflow.blocks.block import Change
from livejoin.dataflow.blocks.join import JoinBlock
from livejoin.dataflow.blocks.selected import SelectedBlock
from livejoin.dataflow.blocks.store import StoreBlock
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.deltas.arrow_delta import delta_schema
from livejoin.dataflow.deltas.repeated import repeated
from livejoin.dataflow.graph import Choices, Graph
from livejoin.dataflow.node import Node
from livejoin.families.cells.workers import Workers
from livejoin.families.events import in_order
from livejoin.kernels.join import layout as q
from livejoin.kernels.warm import ready
from livejoin.plan.query_plan import plan_query
from livejoin.schema import Column, SqlType, Table
from livejoin.search.algorithm import Algorithm
from livejoin.search.statistics import Statistics
from livejoin.sql import bind_query
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable, Staged
from livejoin.words import Words


@dataclass(frozen=True, eq=False)
class Numbered:
    """A stream as the operators take it: equal rows of a window are one row with a multiplicity.

    Args:
        stream: The stream.
        step: Edges a call.
        ids: The row of each edge. No row is given other values before the call after the one in which it died.
    """

    stream: EdgeStream
    step: int
    ids: Words

    @staticmethod
    def of(stream: EdgeStream, step: int) -> Numbered:
        """Number the rows of a stream."""
        free = deque(range(stream.window + step))
        living: dict[tuple[int, int], list[int]] = {}  # row and multiplicity
        edges = list(map(tuple, stream.edges.tolist()))
        ids = np.empty(len(edges), np.int64)
        for number, edge in enumerate(edges):
            if number >= stream.window:
                old = edges[number - stream.window]
                known = living[old]
                known[1] -= 1
                if not known[1]:
                    free.append(known[0])
                    del living[old]
            known = living.get(edge) or living.setdefault(edge, [free.popleft(), 0])
            known[1] += 1
            ids[number] = known[0]
        return Numbered(stream, step, ids)


@dataclass(frozen=True)
class Run:
    """What a run over a stream took and made.

    Args:
        seconds: Processor time in the operators; making the arrays is not counted.
        delta_rows: Rows of all deltas.
        total: What the first result and the deltas add up to; nothing where deltas were only written to buffers.
    """

    seconds: float
    delta_rows: int
    total: recompute.Fingerprint


class Maintained:
    """The operators of a query over an empty window; mutable.

    Args:
        sql: The query, over ``G (src, dst)``.
        numbered: The change stream that it will be given.
        deltas: Whether deltas are kept ready.
        algorithm: What maintains the joins.
    """

    def __init__(self, sql: str, numbered: Numbered, deltas: bool, algorithm: Algorithm = "auto") -> None:
        bigint = SqlType.integer(64)
        edges = Table("G", (Column("src", bigint), Column("dst", bigint)))
        catalog = Catalog()
        catalog.add(edges)
        query = bind_query(sql, catalog)
        ready()
        plan = plan_query(query, Statistics(), deltas, algorithm)
        self._table = BaseTable(edges)
        words = self._table.stride * (numbered.stream.window + numbered.step)
        self._table.take_over(words=np.zeros(words, np.int64))
        self.graph = Graph({"g": self._table}, Codec(), Workers(1))
        self._root = self.graph.add(plan, Choices(algorithm, False, Statistics()))
        self.graph.show(self._root, "view", deltas)
        self.graph.path(("g",))  # so that blocks know what their readers want
        self._root.load()
        self.stored = any(isinstance(node.block, StoreBlock) for node in self.graph.nodes)
        self._schema = query.schema
        self._delta_schema = delta_schema(query.schema)
        self._readers = [(node, node.block) for node in self.graph.nodes if node.reads]
        self._numbered = numbered

    def update(self) -> Run:
        """Apply the stream without enumeration; of stores above the joins, which need deltas, without their own."""
        seconds = 0.0
        for matrices in self._batches():
            start = time.process_time()
            self._apply(matrices)
            seconds += time.process_time() - start
        return Run(seconds, 0, recompute.NOTHING)

    def update_singly(self, last: int) -> list[float]:
        """Apply the stream, the last edges, in whole steps, change by change; the processor seconds of each change."""
        before = len(self._numbered.stream.edges) - last
        taken = []
        for number, matrices in enumerate(self._batches()):
            if (number + 1) * self._numbered.step <= before:
                self._apply(matrices)
                continue
            for i in range(matrices[0].shape[1]):
                single = [np.ascontiguousarray(matrix[:, i : i + 1]) for matrix in matrices]
                start = time.thread_time_ns()
                self._apply(single)
                taken.append((time.thread_time_ns() - start) / 1e9)
        return taken

    def write_deltas(self) -> Run:
        """Apply the stream and write all deltas into buffers; of a query that is one join, perhaps over bags."""
        seconds, rows = 0.0, 0
        ((node, join),) = [(node, node.join) for node in self.graph.nodes if node.join is not None]
        for matrices in self._batches():
            start = time.process_time()
            events = self._below(node, join, matrices)
            rows += sum(chunk.rows for chunk in join.join.maintain(events, emit=True))
            self._finish()
            seconds += time.process_time() - start
        return Run(seconds, rows, recompute.NOTHING)

    def arrow_deltas(self) -> Run:
        """Apply the stream and make all deltas as Arrow; they are added up beside the clock."""
        seconds, rows, total = 0.0, 0, self.result()
        with recompute.connect() as connection:
            for matrices in self._batches():
                start = time.process_time()
                change = self._apply(matrices)
                delta = None if change is None else change.shown(self._delta_schema, None).table()
                seconds += time.process_time() - start
                if delta is None:
                    continue
                rows += delta.num_rows
                total += recompute.of_delta(connection, delta)
        return Run(seconds, rows, total)

    @property
    def atom_rows(self) -> int:
        """Atom rows in the state."""
        return sum(node.registered for node in self.graph.nodes)

    @property
    def state_bytes(self) -> int:
        """Bytes that the blocks hold."""
        return sum(node.block.sizes()[0] for node in self.graph.nodes)

    def counters(self) -> dict[str, int]:
        """Work done by the joins and bags."""
        total = dict.fromkeys(("probes", "touched"), 0)
        for node in self.graph.nodes:
            for name, value in node.counters().items():
                total[name] = total.get(name, 0) + value
        return total

    def result(self) -> recompute.Fingerprint:
        """The fingerprint of the result, which is enumerated."""
        return recompute.of_result(batch for table in self._tables() for batch in table.to_batches())

    def _tables(self) -> Iterator[pa.Table]:
        for rows, weights in self._root.scan(1 << 16):
            columns = [rows.arrow(i) for i in range(len(rows.types))]
            yield from repeated(pa.table(columns, schema=self._schema), weights, 1 << 16)

    def _apply(self, matrices: list[Words]) -> Change | None:
        """Bring the events of each join through the graph; what changed at the root."""
        changes = self._changes(matrices, self.graph.nodes)
        self._finish()
        return changes.get(self._root)

    def _changes(self, matrices: list[Words], nodes: Sequence[Node]) -> dict[Node, Change]:
        """Bring the events of each join and bag into nodes, which read each other; what changed."""
        events = dict(zip((node for node, _ in self._readers), matrices, strict=True))
        changes: dict[Node, Change] = {}
        for node in nodes:
            given = {i: changes[one] for i, one in enumerate(node.inputs) if one in changes}
            block = node.block
            if isinstance(block, JoinBlock):
                change = block.apply(self._events(block, events.get(node), given), node)
            elif isinstance(block, BagBlock):
                change = block.apply(self._events(block, events.get(node), given))
            elif isinstance(block, SelectedBlock) and node in events:
                change = block.changes({"g": _table_change(events[node])}, given, node)
            else:
                change = node.apply({}, given, sum(one.rows() for one in given.values())) if given else None
            if change is not None and change.rows():
                changes[node] = change
        return changes

    def _below(self, node: Node, join: JoinBlock, matrices: list[Words]) -> Words:
        """Bring the events into all nodes below a join; the events of the join."""
        changes = self._changes(matrices, self.graph.below(node)[:-1])
        given = {i: changes[one] for i, one in enumerate(node.inputs) if one in changes}
        events = dict(zip((one for one, _ in self._readers), matrices, strict=True))
        return self._events(join, events.get(node), given)

    @staticmethod
    def _events(block: JoinBlock | BagBlock, own: Words | None, given: Mapping[int, Change]) -> Words:
        """The events of a join: of the table, if it reads it, and of the bags that it reads."""
        derived = block.source.changed({}, given, block.join)
        return derived if own is None else own if not given else in_order(np.concatenate([own, derived], axis=1))

    def _finish(self) -> None:
        for node in self.graph.nodes:
            node.block.finish()

    def _batches(self) -> Iterator[list[Words]]:
        """The events of each leaf, a batch at a time, evictions before the insertions that cause them."""
        stream, step, ids = self._numbered.stream, self._numbered.step, self._numbered.ids
        base = np.empty((stream.window + step, 2), dtype=np.int64)
        for start in range(0, len(stream.edges), step):
            added = np.arange(start, min(start + step, len(stream.edges)), dtype=np.int64)
            edges = np.stack([added - stream.window, added], axis=1).ravel()
            signs = np.tile(np.array([-1, 1], dtype=np.int64), len(added))
            signs, edges = signs[edges >= 0], edges[edges >= 0]
            values = np.ascontiguousarray(stream.edges[edges].T)
            base[ids[added]] = stream.edges[added]
            rows = self._table.words.reshape(-1, self._table.stride)
            rows[ids[added], self._table.value_offset(0) :] = stream.edges[added]
            matrices = []
            for _, block in self._readers:
                if isinstance(block, SelectedBlock):  # which reads the table's own words
                    matrices.append(self._numbers(start, ids[edges], signs))
                    continue
                assert isinstance(block, (JoinBlock, BagBlock))
                chosen = block.source.selectors["g"][0].select(values)
                factors = chosen.factors.compress(signs > 0, axis=1) if chosen.factors.shape[0] else None
                uses = block.plan.physical.tables if isinstance(block, JoinBlock) else block.plan.program.tables
                position = next(i for i, use in enumerate(uses) if use.name == "G")
                block.join.load(position, ids[added], base.ravel(), 2, 0, factors)
                events = self._numbers(start, ids[edges], signs)
                events[q.V_TABLE] = position
                events[q.V_MASK] = chosen.masks
                matrices.append(events)
            yield matrices

    @staticmethod
    def _numbers(start: int, rows: Words, signs: Words) -> Words:
        """Events without tables and masks, each of a version of its own."""
        events = np.zeros((q.EVENT_FIELDS, rows.shape[0]), dtype=np.int64)
        events[q.V_ROW] = rows
        events[q.V_WEIGHT] = signs
        events[q.V_VERSION] = 1 + 2 * start + np.arange(rows.shape[0])
        return events


def _table_change(events: Words) -> TableChange:
    """Events as changes of the table."""
    numbers = np.arange(events.shape[1])
    return TableChange(Staged(events[q.V_ROW], events[q.V_WEIGHT], numbers, 0), events[q.V_VERSION], {})
