"""A join, of any family: base tables and stored relations in, its results or its annotated groups out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from livejoin.dataflow.arrow_delta import chunk_table, delta_table, is_injective
from livejoin.dataflow.batches import Delta, concatenate
from livejoin.dataflow.blocks.block import Batches, Change, Relation, RowChange, Wanted, not_stored
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.leaf import ScanLeaf, make_leaf
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.selection import Selection, Selector
from livejoin.families.cells.join import CellJoin
from livejoin.families.cells.workers import Workers
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.events import TableEvents, view_events
from livejoin.plan.operators import Annotated, Scan
from livejoin.schema import Kind, Table
from livejoin.state.codec import Codec
from livejoin.state.derived_rows import DerivedEvents, DerivedRows
from livejoin.state.table import BaseTable
from livejoin.words import Words

Rows: TypeAlias = "BaseTable | DerivedRows"
"""What a join loads rows from: their words lie ``stride`` apart, and `find` tells the id of a row."""


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
        self._leaf = make_leaf(plan, codec, workers)
        self.join = self._leaf.join
        self._tables = tables
        self._inputs = inputs
        places = {one.table.name: place for place, one in enumerate(plan.inputs)}
        self._uses = [
            _Use(Selector(plan.physical.query, use, _table(plan, use.name, tables)), places.get(use.name))
            for use in plan.physical.tables
        ]
        self.seen: list[TableEvents] = []  # the events of base tables in the last commit
        self._injective = isinstance(plan, Scan) and is_injective(plan.physical.query)

    @property
    def selectors(self) -> list[Selector]:
        """What tells of changed rows of base tables what the join has to know."""
        return [use.selector for use in self._uses if use.place is None]

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        parts = []
        self.seen = []
        for position, use in enumerate(self._uses):
            if use.place is None:
                given = tables.get(use.selector.table.lower())
                if given is None or given.staged.rows.size == 0:
                    continue
                events = given.events(use.selector)
                self.seen.append(events)
            elif use.place in inputs:
                events = self._derived(use, inputs[use.place].events())
            else:
                continue
            self._load(position, use, events)
            parts.append((position, events))
        return self.apply(view_events(parts), wanted)

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
        parts = []
        for position, use in enumerate(self._uses):
            table = self._rows(use)
            rows, weights = table.live_rows()
            selection = use.selector.select_words(table.values_of(rows), self._codec)
            events = _events(use.selector.table, rows, weights, np.zeros_like(rows), selection)
            self._load(position, use, events)
            parts.append((position, events))
        for _ in self.join.maintain(view_events(parts), emit=False):
            pass

    def scan(self, capacity: int) -> Batches:
        return self._leaf.scan(capacity)

    def size(self) -> int | float:
        return self._leaf.size()

    def access(self) -> Access:
        named = {
            one.table.name.lower(): given.stored() for one, given in zip(self.plan.inputs, self._inputs, strict=True)
        }
        return self._leaf.access({**self._tables, **named})

    def finish(self) -> None:
        pass

    def used_words(self, kind: Kind) -> list[Words]:
        return []

    def arrays(self) -> dict[str, Words]:
        return self.join.arrays()

    def restore(self, arrays: Mapping[str, Words]) -> None:
        self.join.restore(arrays)

    def sizes(self) -> tuple[int, int]:
        return self.join.sizes()

    def _check(self) -> None:
        self.join._check()

    def _results(self, leaf: ScanLeaf, events: Words, wanted: Wanted) -> ResultChange:
        """Apply events; each piece of the delta is made a table while its words are in the cache, if one is wanted."""
        query, weighed = self.plan.physical.query, self.join.weighed

        def finish(chunk: DeltaChunk) -> tuple[DeltaChunk, pa.Table | None]:
            return chunk, chunk_table(query, self._codec, chunk) if wanted.tables else None

        if isinstance(self.join, CellJoin):
            pieces = self.join.changes(events, finish)
        else:
            pieces = [finish(chunk) for chunk in self.join.maintain(events, emit=True)]
        return ResultChange(leaf, self._codec, pieces, not self._injective or self.join.weighed > weighed)

    def _rows(self, use: _Use) -> Rows:
        if use.place is None:
            return self._tables[use.selector.table.lower()]
        return self._inputs[use.place].stored()

    def _load(self, position: int, use: _Use, events: TableEvents) -> None:
        """Put the values of rows that come into the records; the others have theirs, and may be gone from the table."""
        added = events.weights > 0
        factors = None if events.factors is None else events.factors.compress(added, axis=1)
        table = self._rows(use)
        self.join.load(position, events.rows[added], table.words, table.stride, table.value_offset(0), factors)

    def _derived(self, use: _Use, changed: DerivedEvents) -> TableEvents:
        """The events of a stored relation as the join sees them."""
        words = self._rows(use).values_of(changed.rows)
        selection = use.selector.select_words(words, self._codec)
        return _events(use.selector.table, changed.rows, changed.weights, changed.versions, selection)


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
        found = delta_table(self._leaf.join.plan.query, self._codec, pieces, self._consolidate)
        names = [*schema.names, *found.column_names[len(schema) :]]
        return found if found.column_names == names else found.rename_columns(names)

    def events(self) -> DerivedEvents:
        raise not_stored()


class _Use:
    """How the join reads a table.

    Args:
        selector: What tells of its rows what the join has to know.
        place: Position of the derived relation among the inputs; None for a base table.
    """

    def __init__(self, selector: Selector, place: int | None) -> None:
        self.selector = selector
        self.place = place


def _table(plan: Scan | Annotated, name: str, tables: Mapping[str, BaseTable]) -> Table:
    """The table of a name as the join's atoms see it."""
    declared = {one.table.name: one.table for one in plan.inputs}
    return declared[name] if name in declared else tables[name.lower()].table


def _events(name: str, rows: Words, weights: Words, versions: Words, selection: Selection) -> TableEvents:
    factors = selection.factors if selection.factors.shape[0] else None
    return TableEvents(name, rows, weights, selection.masks, versions, factors)
