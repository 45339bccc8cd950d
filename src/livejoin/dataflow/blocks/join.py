"""A join, of any family: base tables and stored relations in, its results or its annotated groups out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from livejoin.dataflow.batches import Batches, Delta, concatenate
from livejoin.dataflow.blocks.block import Change, InputRelation, RowChange, Wanted, not_stored
from livejoin.dataflow.blocks.leaf import JoinLeaf, make_leaf
from livejoin.dataflow.blocks.row_source import Loads, RowSource
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.deltas.arrow_delta import ChunkRows, copied_bytes, copied_columns, is_injective, net_pieces
from livejoin.dataflow.deltas.extents import DeltaWriter, Extent, stored_schema
from livejoin.dataflow.deltas.netting import net
from livejoin.dataflow.deltas.spilled import Gathering, Piece, chunk_of, piece_bytes
from livejoin.dataflow.deltas.view_delta import FileDelta, MemoryDelta, ViewDelta
from livejoin.dataflow.moving.spreading import shows
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.reading.row_search import Relations
from livejoin.dataflow.static_rows import NumberedRows, leaves_out
from livejoin.dataflow.watching.watch import spread, work_of
from livejoin.families.cells.join import CellJoin
from livejoin.families.cells.workers import Workers
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.events import with_work
from livejoin.kernels.join.layout import V_WORK
from livejoin.plan.operators import AnyJoin, JoinOperator
from livejoin.schema import Kind
from livejoin.state.budget import Budget
from livejoin.state.codec import Codec
from livejoin.state.derived_rows import DerivedEvents
from livejoin.state.fullness import Fullness
from livejoin.state.scratch import Scratch
from livejoin.state.table import BaseTable
from livejoin.words import Words

_KEPT = "kept"  # and the table's position: an array of a snapshot


class JoinBlock:
    """A join; mutable. As `livejoin.dataflow.blocks.block.Block`.

    Args:
        plan: The join's operator.
        tables: The base tables by name in lower case.
        inputs: The stored relations that it reads, in the order of the plan's inputs.
        codec: The database's codec.
        workers: The database's threads.
        scratch: Where results are written that take too much memory; None if all are to be in memory.

    Attributes:
        done: Of the last commit the events, the rows of the delta in memory, and whether what cancels was looked for.
    """

    def __init__(
        self,
        plan: AnyJoin,
        tables: Mapping[str, BaseTable],
        inputs: Sequence[InputRelation],
        codec: Codec,
        workers: Workers,
        scratch: Scratch | None = None,
    ) -> None:
        self.plan = plan
        self._scratch = scratch
        self._codec = codec
        self._fullness = Fullness()
        self._leaf = make_leaf(plan, codec, workers)
        self.join = self._leaf.join
        self._tables = tables
        query = plan.physical.query
        self.source = RowSource(query, plan.physical.tables, plan.inputs, inputs, tables, codec)
        # Over other edges than inner ones what comes to one side may take rows and bring rows in one version.
        self._injective = isinstance(plan, JoinOperator) and not query.branches and is_injective(query)
        self._copied = copied_columns(query)
        self.done = (0, 0, False)
        self._nothing = ResultChange(self._leaf, codec, (), 0, False) if isinstance(self._leaf, JoinLeaf) else None
        self._counted = bool(query.sums)
        self._shows_cells = plan.partition is not None and shows(query, plan.partition.variable)

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        return self.apply(self.source.changed(tables, inputs, self.join), wanted)

    def apply(self, matrix: Words, wanted: Wanted) -> Change | None:
        """Apply events whose rows are loaded; what changed, None if nobody asks.

        Args:
            matrix: int64 of shape (EVENT_FIELDS, n), as `livejoin.families.events.view_events` orders them.
            wanted: The needs of the readers.
        """
        watch = wanted.watch
        if watch is None:
            return self._apply(matrix, wanted)
        told, before = with_work(matrix), work_of(self.join.counters())
        change = self._apply(told, wanted)
        whole = work_of(self.join.counters()) - before + (0 if change is None else change.rows())
        watch.note_keys(self.source.keys(told, 1 + spread(told[V_WORK], whole)))
        for of, seen, passed in self.source.passed():
            watch.note_passing(*of, seen, passed)
        return change

    def _apply(self, matrix: Words, wanted: Wanted) -> Change | None:
        """As `apply`, of which the events may have a line for work."""
        rows, tables = wanted.rows, wanted.tables
        self.done = (matrix.shape[1], 0, False)
        if not (rows or tables):
            for _ in self.join.maintain(matrix, emit=False):
                pass
            return None
        if isinstance(self._leaf, JoinLeaf):
            scratch = None if rows or wanted.told else self._scratch
            return self._results(self._leaf, matrix, wanted, scratch)
        return RowChange(self._leaf.changes(matrix))

    def fill(self, *, again: bool = False) -> None:
        """As `livejoin.dataflow.blocks.block.Block.fill`.

        Args:
            again: Whether a block with the same plan has held the rows; see `livejoin.families.join.Join.enlist`.
        """
        for matrix in self.source.all_rows(self._loads(), self.plan.physical.load_order):
            self.join.enlist(matrix, again=again)
        self.join.build(again=again)
        self._fullness.note(self.join.registered)

    def _loads(self) -> Loads:
        """The join as rows are brought into it; rows that can be part of no result are left out from here on."""
        if not leaves_out(self.plan.physical):
            return self.join
        self.source.reduce(numbers=not isinstance(self.join, CellJoin))
        return self.join if isinstance(self.join, CellJoin) else NumberedRows(self.join, self.source.kept)

    def scan(self, capacity: int) -> Batches:
        return self._leaf.scan(capacity)

    def combinations(self, capacity: int) -> Batches:
        return self._leaf.combinations(capacity)

    def size(self) -> int | float:
        return self._leaf.size()

    def access(self) -> Access:
        found = {one.table.name.lower(): self.source.given(one.table.name) for one in self.plan.inputs}
        return self._leaf.access(self.source.indexes, Relations(self._codec, self._tables, found))

    def finish(self) -> None:
        self.source.finish()

    def undo(self) -> None:
        for _ in self.join.maintain(self.source.back(self.join), emit=False):
            pass

    def used_words(self, kind: Kind) -> list[Words]:
        return []

    def arrays(self) -> dict[str, Words]:
        kept = {f"{_KEPT}{place}": one.ids for place, one in self.source.kept.items()}
        return {**self.join.arrays(), **kept}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        self.source.restore({int(n.removeprefix(_KEPT)): ids for n, ids in arrays.items() if n.startswith(_KEPT)})
        self.join.restore({name: words for name, words in arrays.items() if not name.startswith(_KEPT)})

    def sizes(self) -> tuple[int, int]:
        handed, capacity = self.join.sizes()
        kept = sum(one.nbytes for one in self.source.kept.values())
        return handed - self.join.free_bytes() + kept, capacity + kept

    def is_sparse(self) -> bool:
        join = self.join
        return self._fullness.is_sparse(join.registered, sum(join.counters().values()), join.sizes(), join.free_bytes)

    def _check(self) -> None:
        self.join._check()

    def _results(self, leaf: JoinLeaf, events: Words, wanted: Wanted, scratch: Scratch | None) -> Change:
        """Apply events; what is computed of each piece of the delta is so while its words are in the cache.

        What nobody but a view wants goes to a file, piece by piece, where it takes too much memory. Where a row is made
        in one cell alone, what cancels is found by the thread of the cell.
        """
        results, join, budget, tables = leaf.results, self.join, self._codec.budget, wanted.tables
        counted, weighed = self._counted, join.weighed if self._injective else 0
        shown = results if results.holds_values else results.detached
        # What cancels is not turned into values, nor what has no codes.
        keeps = results.has_codes and (self._injective or budget.refuses)

        def finish(chunk: DeltaChunk) -> Piece:
            if counted or not tables:
                return chunk
            piece = ChunkRows(chunk, shown)
            if keeps:
                piece.keep_values()
            if budget.refuses:
                budget.hold(copied_bytes(piece, self._copied), "deltas")
            return piece

        gathering = None
        if scratch is not None:
            types = results.query.schema.types
            gathering = Gathering(scratch, types, budget, leaf.delta_of, finish, self._copied)
        take = finish if gathering is None else gathering.take
        settled = False
        if isinstance(join, CellJoin) and not counted:
            apart = self._shows_cells and tables and not wanted.rows and gathering is None
            pieces, settled = join.changes(events, take, self._net if apart else None)
        else:
            pieces = [take(chunk) for chunk in join.maintain(events, emit=True)]
        if not pieces and self._nothing is not None:
            return self._nothing
        consolidate = not settled and (counted or not self._injective or join.weighed > weighed)
        found = [piece for piece in pieces if not isinstance(piece, list)]
        made = sum([chunk_of(piece).rows for piece in found])
        self.done = (events.shape[1], made, (settled or consolidate) and tables and not wanted.rows)
        if gathering is not None and (extents := gathering.extents(pieces)) is not None:
            return FileChange(extents, consolidate, budget)
        if not counted:
            return ResultChange(leaf, self._codec, found, made, consolidate)
        parts = [leaf.delta_of(chunk_of(piece)) for piece in found]
        return RowChange(concatenate(parts) if parts else leaf.nothing())

    def _net(
        self, going: list[Piece | list[Extent]], coming: list[Piece | list[Extent]], weighed: bool
    ) -> tuple[list[Piece | list[Extent]], list[Piece | list[Extent]]]:
        """The pieces of a cell's delta, of one version, without what cancels; see `CellJoin.changes`."""
        assert isinstance(self._leaf, JoinLeaf)
        if (self._injective and not weighed) or not (going and coming):
            return going, coming
        net = net_pieces(self._leaf.results, [one for one in (*going, *coming) if isinstance(one, ChunkRows)])
        border = next((i for i, piece in enumerate(net) if piece.chunk.signs[0] > 0), len(net))
        return list(net[:border]), list(net[border:])


class ResultChange:
    """Changes of results as a join writes them.

    Args:
        leaf: The join.
        codec: The database's codec.
        pieces: The pieces in order, with their rows if a view wants them.
        number: How many rows these have.
        consolidate: Whether one version may delete and insert equal rows.
    """

    def __init__(self, leaf: JoinLeaf, codec: Codec, pieces: Sequence[Piece], number: int, consolidate: bool) -> None:
        self._leaf = leaf
        self._codec = codec
        self._pieces = pieces
        self._number = number
        self._consolidate = consolidate
        self._written: list[Extent] | None = None

    @property
    def _chunks(self) -> list[DeltaChunk]:
        return [chunk_of(piece) for piece in self._pieces]

    def growth(self) -> int:
        return sum([chunk.growth() for chunk in self._chunks])

    def rows(self) -> int:
        return self._number

    def delta(self) -> Delta:
        parts = [self._leaf.delta_of(chunk) for chunk in self._chunks]
        return concatenate(parts) if parts else self._leaf.nothing()

    def shown(self, schema: pa.Schema, scratch: Scratch | None) -> ViewDelta:
        if scratch is not None:
            copied = copied_columns(self._leaf.results.query)
            if sum(piece_bytes(piece, copied) for piece in self._pieces) > scratch.over:
                return self._in_files(schema, scratch)
        pieces: Sequence[ChunkRows] = [piece for piece in self._pieces if isinstance(piece, ChunkRows)]
        if self._consolidate:
            pieces = net_pieces(self._leaf.results, pieces)
        return MemoryDelta([piece.values() for piece in pieces], schema)

    def events(self) -> DerivedEvents:
        raise not_stored()

    def _in_files(self, schema: pa.Schema, scratch: Scratch) -> FileDelta:
        """The delta, of which a block above reads the rows too."""
        if self._written is None:
            writer = DeltaWriter(scratch, stored_schema(schema.types[:-2]))
            written = [one for chunk in self._chunks for one in writer.changes(self._leaf.delta_of(chunk))]
            self._written = net(written, scratch) if self._consolidate else written
        return FileDelta(self._written, schema, self._codec.budget)


class FileChange:
    """Changes of results that are in files, because they take too much memory; only views want them.

    Args:
        extents: The pieces in order.
        consolidate: Whether one version may delete and insert equal rows.
        budget: The memory of the database.
    """

    def __init__(self, extents: list[Extent], consolidate: bool, budget: Budget) -> None:
        self._extents = extents
        self._consolidate = consolidate
        self._budget = budget

    def growth(self) -> int:
        return sum(one.growth for one in self._extents)

    def rows(self) -> int:
        return sum(one.rows for one in self._extents)

    def delta(self) -> Delta:
        msg = "what blocks read is not written to files"
        raise AssertionError(msg)

    def shown(self, schema: pa.Schema, scratch: Scratch | None) -> ViewDelta:
        assert scratch is not None, "what subscribers are called with is not written to files"
        if self._consolidate:
            self._extents = net(self._extents, scratch)
            self._consolidate = False
        return FileDelta(self._extents, schema, self._budget)

    def events(self) -> DerivedEvents:
        raise not_stored()
