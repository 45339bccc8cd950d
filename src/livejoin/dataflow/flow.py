"""The operators of one view at work: events in at the leaves, the view's delta out at the root.

Law: after every commit, what `scan` gives is the query's result over the rows given so far, and the deltas of `apply`
add up to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from livejoin.dataflow.arrow_delta import change_table, chunk_table, delta_table, is_injective, result_columns
from livejoin.dataflow.leaf import AnnotatedLeaf, ScanLeaf, make_leaf
from livejoin.dataflow.nodes import ComputeNode, LeafNode, Node, StoreNode, UnionNode
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.stores.store import Store, make_store, used_words
from livejoin.families.cells.join import CellJoin
from livejoin.families.cells.workers import Workers
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.join import Join
from livejoin.families.join_access import RowIndexes
from livejoin.families.sizes import exactly
from livejoin.plan.operators import Annotated, Combine, Compute, First, Group, Operator, Scan, has_store
from livejoin.schema import Kind
from livejoin.state.codec import Codec
from livejoin.words import Words


class Flow:
    """All operators of a view; mutable.

    Args:
        plan: The operators' plan.
        schema: The Arrow schema of the result.
        codec: The database's codec.
        deltas: Whether the view's deltas are asked for.
        workers: The database's threads.
    """

    def __init__(self, plan: Operator, schema: pa.Schema, codec: Codec, deltas: bool, workers: Workers) -> None:
        self._schema = schema
        self._codec = codec
        self._deltas = deltas
        self._workers = workers
        self.leaves: list[ScanLeaf | AnnotatedLeaf] = []
        self._stores: list[Store] = []
        self._quiet = not deltas and not has_store(plan)
        self._root = self._make(plan)
        self._size: int | None = None  # of the result, where it is known
        self._access: Access | None = None  # to the state as it is
        self._injective = isinstance(plan, Scan) and is_injective(plan.physical.query)

    def apply(self, events: Sequence[Words]) -> pa.Table | None:
        """Apply the events of each leaf; the view's delta, None without deltas."""
        before = self._size  # kept up to date by what a delta, which is enumerated anyway, adds to it
        if any(matrix.shape[1] for matrix in events):
            self._size = self._access = None
        if self._quiet:
            for leaf, matrix in zip(self.leaves, events, strict=True):
                for _ in leaf.join.maintain(matrix, emit=False):
                    pass
            return None
        if (scan := self._plain_scan()) is not None:
            weighed = scan.join.weighed
            pieces = self._pieces(scan.join, events[0])
            if before is not None:
                self._size = before + sum(int(chunk.signs @ chunk.lengths()) for chunk, _ in pieces)
            consolidate = not self._injective or scan.join.weighed > weighed
            return delta_table(scan.join.plan.query, self._codec, pieces, consolidate)
        delta = self._root.changes(events)
        if before is not None:
            self._size = before + int(delta.weights.sum())
        return change_table(delta, self._schema) if self._deltas else None

    def load(self, events: Sequence[Words]) -> None:
        """Apply the events of each leaf to an empty state, in O(rows) of the leaves and of what stores keep."""
        for leaf, matrix in zip(self.leaves, events, strict=True):
            for _ in leaf.join.maintain(matrix, emit=False):
                pass
        self._root.fill()

    def scan(self, max_rows: int) -> Iterator[pa.Table]:
        """The result in tables of about ``max_rows`` rows; a row of multiplicity m stands there m times."""
        if (scan := self._plain_scan()) is not None:
            for words in scan.join.scan(max_rows):
                yield pa.table(result_columns(scan.join.plan.query, self._codec, words), schema=self._schema)
            return
        for rows, weights in self._root.scan(max_rows):
            columns = [rows.arrow(i) for i in range(len(rows.types))]
            yield from _repeated(pa.table(columns, schema=self._schema), weights, max_rows)

    def size(self) -> int | float:
        """Rows of the result with multiplicities; about, as a float, beyond 64 bits.

        Cost: O(1) if it was asked since the last change, or since deltas are enumerated; else as of the root.
        """
        if self._size is None:
            size = self._root.size()
            if isinstance(size, float):
                return size
            self._size = size
        return self._size

    def access(self, tables: RowIndexes) -> Access:
        """Access to the result as it is now.

        Args:
            tables: The base tables.
        """
        if self._access is None:
            self._access = self._root.access(tables)
        return self._access

    def count(self) -> int:
        """Rows of the result with multiplicities.

        Raises:
            CapacityError: They are beyond 64 bits.
        """
        return exactly(self.size())

    def arrays(self) -> dict[str, Words]:
        """The whole state as flat arrays."""
        arrays: dict[str, Words] = {}
        for i, leaf in enumerate(self.leaves):
            arrays |= {f"leaf{i}.{name}": words for name, words in leaf.join.arrays().items()}
        for i, store in enumerate(self._stores):
            arrays |= {f"store{i}.{name}": words for name, words in store.arrays().items()}
        return arrays

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of operators with the same plan."""
        self._size = self._access = None
        for i, leaf in enumerate(self.leaves):
            leaf.join.restore(_below(f"leaf{i}.", arrays))
        for i, store in enumerate(self._stores):
            store.restore(_below(f"store{i}.", arrays))

    def used_words(self, kind: Kind) -> list[Words]:
        """The words of values of a kind that stores keep, beside those of base rows."""
        return [used_words(store, kind) for store in self._stores]

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out and bytes allocated."""
        used = sum(leaf.join.sizes()[0] for leaf in self.leaves)
        capacity = sum(leaf.join.sizes()[1] for leaf in self.leaves)
        stored = sum(words.nbytes for store in self._stores for words in store.arrays().values())
        return used + stored, capacity + stored

    def counters(self) -> dict[str, int]:
        """Work done so far by the join-tree kernels."""
        total: dict[str, int] = {}
        for leaf in self.leaves:
            for name, value in leaf.join.counters().items():
                total[name] = total.get(name, 0) + value
        return total

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        assert self._size is None or self._size == self._root.size(), "the size that deltas keep up to date"
        for leaf in self.leaves:
            leaf.join._check()
        for store in self._stores:
            store._check()

    def _pieces(self, join: Join, events: Words) -> list[tuple[DeltaChunk, pa.Table]]:
        """Apply events; the delta in chunks, each with its table, which is made while its words are in the cache."""

        def finish(chunk: DeltaChunk) -> tuple[DeltaChunk, pa.Table]:
            return chunk, chunk_table(join.plan.query, self._codec, chunk)

        if isinstance(join, CellJoin):
            return join.changes(events, finish)
        return [finish(chunk) for chunk in join.maintain(events, emit=True)]

    def _plain_scan(self) -> ScanLeaf | None:
        """The root, if its rows are the kernel's results as they are."""
        if isinstance(self._root, LeafNode) and isinstance(self._root.leaf, ScanLeaf):
            leaf = self._root.leaf
            return None if leaf.join.plan.query.sums else leaf
        return None

    def _make(self, plan: Operator) -> Node:
        match plan:
            case Scan() | Annotated():
                leaf = make_leaf(plan, self._codec, self._workers)
                self.leaves.append(leaf)
                return LeafNode(leaf, len(self.leaves) - 1)
            case Compute():
                return ComputeNode(plan, self._codec, self._make(plan.input))
            case Combine() if plan.kind == "union" and plan.all:
                return UnionNode([self._make(one) for one in plan.inputs])
            case Combine():
                return self._stored(plan, [self._make(one) for one in plan.inputs])
            case Group() | First():
                return self._stored(plan, [self._make(plan.input)])

    def _stored(self, plan: Combine | Group | First, inputs: list[Node]) -> StoreNode:
        store = make_store(plan, self._codec)
        self._stores.append(store)
        return StoreNode(store, inputs)


def _below(prefix: str, arrays: Mapping[str, Words]) -> dict[str, Words]:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): words for name, words in arrays.items() if name.startswith(prefix)}


def _repeated(table: pa.Table, weights: Words, max_rows: int) -> Iterator[pa.Table]:
    """Each row as often as its weight says, in tables of at most ``max_rows`` rows."""
    if weights.size == 0 or int(weights.max()) == 1:
        yield table
        return
    ends = np.cumsum(weights)
    for begin in range(0, int(ends[-1]), max_rows):
        wanted = np.arange(begin, min(begin + max_rows, int(ends[-1])))
        yield table.take(pa.array(np.searchsorted(ends, wanted, side="right")))
