"""The operators of a view as nodes of a tree: changes go up from the leaves, rows are read from the root.

Law of every node: the changes that it gives add up to the rows that `scan` gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from livejoin.dataflow.batches import Delta, Rows, concatenate
from livejoin.dataflow.compute import compute, kept_rows
from livejoin.dataflow.leaf import AnnotatedLeaf, ScanLeaf
from livejoin.dataflow.reading.access import Access, UnionAccess
from livejoin.dataflow.reading.compute_access import ComputeAccess
from livejoin.dataflow.reading.store_access import store_access
from livejoin.dataflow.stores.store import Store
from livejoin.families.join_access import RowIndexes
from livejoin.plan.operators import Compute
from livejoin.state.codec import Codec
from livejoin.words import Words

Batches = Iterator[tuple[Rows, Words]]


class Node(Protocol):
    """An operator among the others of its view."""

    def changes(self, events: Sequence[Words]) -> Delta:
        """Apply the events of the leaves below; what changed."""

    def fill(self) -> None:
        """Load what stores below keep from the leaves' states."""

    def scan(self, capacity: int) -> Batches:
        """The rows with their multiplicities."""

    def size(self) -> int | float:
        """Rows with multiplicities."""

    def access(self, tables: RowIndexes) -> Access:
        """Access to the rows as they are now."""


class LeafNode:
    """A join."""

    def __init__(self, leaf: ScanLeaf | AnnotatedLeaf, position: int) -> None:
        self.leaf = leaf
        self._position = position

    def changes(self, events: Sequence[Words]) -> Delta:
        return self.leaf.changes(events[self._position])

    def fill(self) -> None:
        pass

    def scan(self, capacity: int) -> Batches:
        return self.leaf.scan(capacity)

    def size(self) -> int | float:
        return self.leaf.size()

    def access(self, tables: RowIndexes) -> Access:
        return self.leaf.access(tables)


class ComputeNode:
    """Expressions over the rows of another operator, which keep nothing."""

    def __init__(self, plan: Compute, codec: Codec, below: Node) -> None:
        self._plan = plan
        self._codec = codec
        self._below = below

    def changes(self, events: Sequence[Words]) -> Delta:
        delta = self._below.changes(events)
        rows, kept = compute(self._plan, delta.rows)
        pairs = None if delta.pairs is None else delta.pairs[kept]
        return Delta(rows, delta.weights[kept], delta.versions[kept], pairs)

    def fill(self) -> None:
        self._below.fill()

    def scan(self, capacity: int) -> Batches:
        for rows, weights in self._below.scan(capacity):
            computed, kept = compute(self._plan, rows)
            yield computed, weights[kept]

    def size(self) -> int | float:
        if self._plan.predicate is None:
            return self._below.size()
        return sum(int(weights[kept_rows(self._plan, rows)].sum()) for rows, weights in self._below.scan(1 << 16))

    def access(self, tables: RowIndexes) -> Access:
        return ComputeAccess(self._plan, self._codec, self._below.access(tables), self._below.scan)


class UnionNode:
    """UNION ALL, which keeps nothing."""

    def __init__(self, inputs: Sequence[Node]) -> None:
        self._inputs = inputs

    def changes(self, events: Sequence[Words]) -> Delta:
        parts = [one.changes(events) for one in self._inputs]
        return concatenate([Delta(part.rows, part.weights, part.versions) for part in parts])

    def fill(self) -> None:
        for one in self._inputs:
            one.fill()

    def scan(self, capacity: int) -> Batches:
        for one in self._inputs:
            yield from one.scan(capacity)

    def size(self) -> int | float:
        return sum(one.size() for one in self._inputs)

    def access(self, tables: RowIndexes) -> Access:
        return UnionAccess([one.access(tables) for one in self._inputs])


class StoreNode:
    """A store of groups, rows or an order over other operators."""

    def __init__(self, store: Store, inputs: Sequence[Node]) -> None:
        self._store = store
        self._inputs = inputs

    def changes(self, events: Sequence[Words]) -> Delta:
        return self._store.maintain([one.changes(events) for one in self._inputs])

    def fill(self) -> None:
        for side, one in enumerate(self._inputs):
            one.fill()
            for rows, weights in one.scan(1 << 16):
                self._store.load(side, Delta(rows, weights, np.zeros(weights.shape[0], np.int64)))

    def scan(self, capacity: int) -> Batches:
        return self._store.scan(capacity)

    def size(self) -> int | float:
        return self._store.count()

    def access(self, tables: RowIndexes) -> Access:
        return store_access(self._store)
