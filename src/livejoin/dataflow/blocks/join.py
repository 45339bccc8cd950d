"""A join, of any family: base tables and stored relations in, its results or its annotated groups out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from livejoin.dataflow.arrow_delta import chunk_table, copied_bytes, copied_columns, delta_table, is_injective
from livejoin.dataflow.batches import Delta, concatenate
from livejoin.dataflow.blocks.block import Batches, Change, Relation, RowChange, Wanted, not_stored
from livejoin.dataflow.blocks.row_source import LOADED, RowSource
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.leaf import ScanLeaf, make_leaf
from livejoin.dataflow.reading.access import Access
from livejoin.families.cells.join import CellJoin
from livejoin.families.cells.workers import Workers
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.plan.operators import Annotated, Scan
from livejoin.schema import Kind
from livejoin.state.codec import Codec
from livejoin.state.derived_rows import DerivedEvents
from livejoin.state.fullness import Fullness
from livejoin.state.table import BaseTable
from livejoin.words import Words


class JoinBlock:
    """A join; mutable. As `livejoin.dataflow.blocks.block.Block`.

    Args:
        plan: Its plan.
        tables: The base tables by name in lower case.
        inputs: The stored relations that it reads, in the order of the plan's inputs.
        codec: The database's codec.
        workers: The database's threads.
    """

    def __init__(
        self,
        plan: Scan | Annotated,
        tables: Mapping[str, BaseTable],
        inputs: Sequence[Relation],
        codec: Codec,
        workers: Workers,
    ) -> None:
        self.plan = plan
        self._codec = codec
        self._fullness = Fullness()
        self._leaf = make_leaf(plan, codec, workers)
        self.join = self._leaf.join
        self._tables = tables
        query = plan.physical.query
        factors = [factor for product in query.sums for factor in product.factors]
        self.source = RowSource(query, factors, plan.physical.tables, plan.inputs, inputs, tables, codec)
        self._injective = isinstance(plan, Scan) and is_injective(plan.physical.query)
        self._copied = copied_columns(query)

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        return self.apply(self.source.changed(tables, inputs, self.join), wanted)

    def apply(self, matrix: Words, wanted: Wanted) -> Change | None:
        """Apply events whose rows are loaded; what changed, None if nobody asks.

        Args:
            matrix: int64 of shape (EVENT_FIELDS, n), as `livejoin.families.events.view_events` orders them.
            wanted: What readers want.
        """
        if not (wanted.rows or wanted.tables):
            for _ in self.join.maintain(matrix, emit=False):
                pass
            return None
        if isinstance(self._leaf, ScanLeaf) and not self.plan.physical.query.sums:
            return self._results(self._leaf, matrix, wanted)
        return RowChange(self._leaf.changes(matrix))

    def fill(self) -> None:
        matrix = self.source.all_rows(self.join)
        with self._codec.budget.holding(matrix.nbytes, LOADED):
            for _ in self.join.maintain(matrix, emit=False):
                pass
        self._fullness.note(self.join.registered)

    def fill_again(self) -> None:
        """As `fill`, of rows that a block with the same plan has held; see `livejoin.families.join.Join.fill_again`."""
        self.join.fill_again(self.source.all_rows(self.join))
        self._fullness.note(self.join.registered)

    def scan(self, capacity: int) -> Batches:
        return self._leaf.scan(capacity)

    def size(self) -> int | float:
        return self._leaf.size()

    def access(self) -> Access:
        return self._leaf.access({**self._tables, **self.source.stored})

    def finish(self) -> None:
        self.source.finish()

    def undo(self) -> None:
        for _ in self.join.maintain(self.source.back(self.join), emit=False):
            pass

    def used_words(self, kind: Kind) -> list[Words]:
        return []

    def arrays(self) -> dict[str, Words]:
        return self.join.arrays()

    def restore(self, arrays: Mapping[str, Words]) -> None:
        self.join.restore(arrays)

    def sizes(self) -> tuple[int, int]:
        handed, capacity = self.join.sizes()
        return handed - self.join.free_bytes(), capacity

    def is_sparse(self) -> bool:
        join = self.join
        return self._fullness.is_sparse(join.registered, sum(join.counters().values()), join.sizes(), join.free_bytes)

    def _check(self) -> None:
        self.join._check()

    def _results(self, leaf: ScanLeaf, events: Words, wanted: Wanted) -> ResultChange:
        """Apply events; each piece of the delta is made a table while its words are in the cache, if one is wanted."""
        query, weighed = leaf.query, self.join.weighed

        def finish(chunk: DeltaChunk) -> tuple[DeltaChunk, pa.Table | None]:
            if not wanted.tables:
                return chunk, None
            table = chunk_table(query, self._codec, chunk)
            if self._codec.budget.refuses:
                self._codec.budget.hold(copied_bytes(chunk, table, self._copied), "deltas")
            return chunk, table

        if isinstance(self.join, CellJoin):
            pieces = self.join.changes(events, finish)
        else:
            pieces = [finish(chunk) for chunk in self.join.maintain(events, emit=True)]
        return ResultChange(leaf, self._codec, pieces, not self._injective or self.join.weighed > weighed)


class ResultChange:
    """Changes of results as a join writes them.

    Args:
        leaf: The join.
        codec: The database's codec.
        pieces: The chunks in order, each with its table if a view wants it.
        consolidate: Whether one version may delete and insert equal rows.
    """

    def __init__(
        self, leaf: ScanLeaf, codec: Codec, pieces: Sequence[tuple[DeltaChunk, pa.Table | None]], consolidate: bool
    ) -> None:
        self._leaf = leaf
        self._codec = codec
        self._pieces = pieces
        self._consolidate = consolidate

    def growth(self) -> int:
        return sum(int(chunk.signs @ chunk.lengths()) for chunk, _ in self._pieces)

    def is_empty(self) -> bool:
        return not any(chunk.rows for chunk, _ in self._pieces)

    def delta(self) -> Delta:
        parts = [self._leaf.delta_of(chunk) for chunk, _ in self._pieces]
        return concatenate(parts) if parts else self._leaf.nothing()

    def table(self, schema: pa.Schema) -> pa.Table:
        pieces = [(chunk, table) for chunk, table in self._pieces if table is not None]
        found = delta_table(self._leaf.query, self._codec, pieces, self._consolidate)
        return pa.table(found.columns, schema=schema)

    def events(self) -> DerivedEvents:
        raise not_stored()
