"""The leaves of a view's operators: conjunctive queries kept by the join-tree kernel, as rows with multiplicities."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from livejoin.dataflow.annotated_groups import empty_group, group_rows, net_changes
from livejoin.dataflow.batches import Delta, Rows, concatenate, ones
from livejoin.dataflow.reading.leaf_access import AnnotatedAccess, LeafAccess
from livejoin.dataflow.reading.row_search import Relations
from livejoin.dataflow.results import Results
from livejoin.families.cells.added import AddedJoin
from livejoin.families.cells.join import CellJoin
from livejoin.families.cells.workers import Workers
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.join import WholeJoin
from livejoin.families.join_access import RowIndexes
from livejoin.families.sizes import MAX_COUNT
from livejoin.plan.operators import AnnotatedOperator, AnyJoin, JoinOperator
from livejoin.state.budget import Budget
from livejoin.state.codec import Codec
from livejoin.state.exact_aggregates import bigints
from livejoin.words import Words


class JoinLeaf:
    """`JoinOperator` at work.

    Args:
        plan: The plan.
        codec: The database's codec.
        workers: The database's threads.
    """

    def __init__(self, plan: JoinOperator, codec: Codec, workers: Workers) -> None:
        self._plan = plan
        self._codec = codec
        self.join = make_leaf_join(plan, workers, codec.budget)
        self.results = Results(plan.query, plan.types, codec)

    def changes(self, events: Words) -> Delta:
        """Apply events and give what changed; not net."""
        parts = [self.delta_of(chunk) for chunk in self.join.maintain(events, emit=True)]
        return concatenate(parts) if parts else self.nothing()

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The rows with their multiplicities, in batches of at most ``capacity`` rows."""
        for words in self.join.scan(capacity):
            yield self.rows(words), self._multiplicities(words)

    def combinations(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """As `scan`, but each combination of the tables' rows once, however often these are there; in any order."""
        if self._plan.physical.query.sums:
            yield from self.scan(capacity)
            return
        for words in self.join.combinations(capacity):
            yield self.rows(words[:-1]), words[-1]

    def size(self) -> int | float:
        """Number of rows, counted with their multiplicities; about, as a float, beyond 64 bits."""
        if not self._plan.physical.query.sums:
            return self.join.size()
        exact, rough = 0, 0.0
        for _, weights in self.scan(1 << 16):
            rough += float(weights.sum(dtype=np.float64))
            exact += int(weights.sum())
        return rough if rough > MAX_COUNT else exact

    def delta_of(self, chunk: DeltaChunk) -> Delta:
        """The changed rows of a chunk."""
        lengths = chunk.lengths()
        weights = self._multiplicities(chunk.words) * np.repeat(chunk.signs, lengths)
        return Delta(self.rows(chunk.words), weights, np.repeat(chunk.versions, lengths))

    def nothing(self) -> Delta:
        """No changed rows."""
        nothing = np.empty((self._plan.physical.columns, 0), np.int64)
        return Delta(self.rows(nothing), nothing[0] if nothing.size else np.empty(0, np.int64), np.empty(0, np.int64))

    def access(self, tables: RowIndexes, relations: Relations) -> LeafAccess:
        """Access to the rows as they are now."""
        return LeafAccess(self._plan, self.join.access(tables), self.results, relations)

    def rows(self, words: Words) -> Rows:
        """The rows of results as the join's scan writes them."""
        return self.results.rows(words)

    def _multiplicities(self, words: Words) -> Words:
        physical = self._plan.physical
        if not physical.query.sums:
            return ones(words.shape[1])
        count = words[len(physical.query.head) :]
        return bigints(count[0], count[1], "a multiplicity") if physical.query.sums[0].wide else count[0]


class AnnotatedLeaf:
    """`AnnotatedOperator` at work.

    Args:
        plan: The plan.
        codec: The database's codec.
        workers: The database's threads.
    """

    def __init__(self, plan: AnnotatedOperator, codec: Codec, workers: Workers) -> None:
        self._plan = plan
        self._codec = codec
        self.join = make_leaf_join(plan, workers, codec.budget)

    def changes(self, events: Words) -> Delta:
        """Apply events and give the net change of every group."""
        chunks = list(self.join.maintain(events, emit=True))
        if len(chunks) == 1:
            words, signs, versions = _results(chunks[0])
        else:
            nothing = np.empty(0, np.int64)
            none = (np.empty((self._plan.physical.columns, 0), np.int64), nothing, nothing)
            parts = [none, *map(_results, chunks)]
            words, signs, versions = (np.concatenate([part[i] for part in parts], axis=-1) for i in range(3))
        return net_changes(self._plan, self._codec, words, signs, versions)

    def scan(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """The groups, in batches of at most ``capacity`` rows."""
        nothing = self._plan.is_global
        for words in self.join.scan(capacity):
            nothing = False
            yield group_rows(self._plan, self._codec, words), ones(words.shape[1])
        if nothing:
            yield empty_group(self._plan, self._codec), np.ones(1, np.int64)

    def combinations(self, capacity: int) -> Iterator[tuple[Rows, Words]]:
        """As `JoinLeaf.combinations`; groups are there once."""
        return self.scan(capacity)

    def access(self, tables: RowIndexes, relations: Relations) -> AnnotatedAccess:
        """Access to the groups as they are now."""
        return AnnotatedAccess(self._plan, self._codec, self.join.access(tables), relations)

    def size(self) -> int | float:
        """Number of groups."""
        return max(self.join.size(), int(self._plan.is_global))


def _results(chunk: DeltaChunk) -> tuple[Words, Words, Words]:
    """The words of a chunk's rows, the sign and the version of each."""
    lengths = chunk.lengths()
    return np.ascontiguousarray(chunk.words), chunk.signs.repeat(lengths), chunk.versions.repeat(lengths)


def make_leaf(plan: AnyJoin, codec: Codec, workers: Workers) -> JoinLeaf | AnnotatedLeaf:
    """The leaf for a plan."""
    return JoinLeaf(plan, codec, workers) if isinstance(plan, JoinOperator) else AnnotatedLeaf(plan, codec, workers)


def make_leaf_join(plan: AnyJoin, workers: Workers, budget: Budget | None = None) -> WholeJoin | CellJoin:
    """The join of a leaf, in cells if it is split."""
    if plan.partition is None:
        return plan.physical.open(budget)
    kind = AddedJoin if plan.partition.added else CellJoin
    return kind(plan.physical, plan.partition, workers, budget)
