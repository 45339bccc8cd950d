"""What a block is to the graph, and what a relation is to the blocks that read it.

A *block* maintains a derived relation from other relations. Laws:

- after a commit, the relation is the block's query over the relations below as they are after it;
- what `Block.changes` gives adds up to what `InputRelation.scan` gives, version by version: the changes of version v
  need only those of the relations below up to v;
- a block whose `changes` was not asked for did not change, and one whose `changes` failed is thrown away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from livejoin.dataflow.batches import Batches, Delta
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.deltas.arrow_delta import MarkedRows, cancelled, shown_rows
from livejoin.dataflow.deltas.extents import Extent
from livejoin.dataflow.deltas.spilled import bytes_about, spilled
from livejoin.dataflow.deltas.view_delta import FileDelta, MemoryDelta, TableDelta, ViewDelta
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.watching.watch import Watch
from livejoin.schema import Kind, SqlType
from livejoin.state.derived_rows import DerivedEvents, DerivedRows
from livejoin.state.scratch import Scratch
from livejoin.words import Words


class InputRelation(Protocol):
    """A derived relation as the blocks above it read it."""

    @property
    def types(self) -> tuple[SqlType, ...]:
        """The types of its columns."""

    def scan(self, capacity: int) -> Batches:
        """The rows with their multiplicities, in batches of at most ``capacity`` rows."""

    def combinations(self, capacity: int) -> Batches:
        """As `scan`, in any order, for who keeps multiplicities.

        Cost: that of the combinations of rows, however often each of the rows is there, where `scan` may give a row of
        a join as often as it stands there, for readers who want copies in their order.
        """

    def size(self) -> int | float:
        """Rows with multiplicities; about, as a float, beyond 64 bits."""

    def access(self) -> Access:
        """Access to the rows as they are now."""

    def stored(self) -> DerivedRows:
        """The rows with stable ids; of a relation that is stored."""


class Change(Protocol):
    """What a commit does to a relation, in the form that a reader wants."""

    def growth(self) -> int:
        """Rows that the relation gains, counted with multiplicities; negative if it loses some."""

    def rows(self) -> int:
        """How many changed rows it has; one that comes and goes in a version may still be there. O(pieces)."""

    def delta(self) -> Delta:
        """The changed rows by their values."""

    def shown(self, schema: pa.Schema, scratch: Scratch | None) -> ViewDelta:
        """The changed rows as a user sees them, net within each version.

        Args:
            schema: The schema of the rows, as from `livejoin.dataflow.deltas.arrow_delta.delta_schema`.
            scratch: Where they are written if they take too much memory; None where they shall be in memory.

        Raises:
            ExpressionError: DuckDB cannot evaluate an output on some row.
            StorageError: The system refuses to write them.
        """

    def events(self) -> DerivedEvents:
        """The changed rows by their ids; of a relation that is stored."""


class Wanted(Protocol):
    """What readers want of a block's changes."""

    @property
    def rows(self) -> bool:
        """Whether a block above reads them."""

    @property
    def tables(self) -> bool:
        """Whether a view shows them."""

    @property
    def told(self) -> bool:
        """Whether a view tells subscribers of them, who are called with a table."""

    @property
    def watch(self) -> Watch | None:
        """The further counts of who analyzes a view above; None where nobody does."""


class Block(Protocol):
    """State that follows the relations below it; mutable."""

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        """Apply what a commit does to the relations below.

        Args:
            tables: The changes of base tables by name in lower case; all that change, also those not read.
            inputs: The changes of the derived relations that the block reads, by position; none of one that did not
                change.
            wanted: The needs of the readers.

        Returns:
            What changed; None if nobody asks.
        """

    def fill(self) -> None:
        """Load an empty block from the relations below."""

    def scan(self, capacity: int) -> Batches:
        """As `InputRelation.scan`."""

    def combinations(self, capacity: int) -> Batches:
        """As `InputRelation.combinations`."""

    def size(self) -> int | float:
        """As `InputRelation.size`."""

    def access(self) -> Access:
        """As `InputRelation.access`."""

    def finish(self) -> None:
        """End a commit for good, after all blocks have applied it; may be called again."""

    def undo(self) -> None:
        """Take the last `changes` back, which came to its end, by its inverse; the relations below are still changed.

        Law: the rows are those of before, a row that is stored has the id that it had, and the same follows from then
        on. Cost: that of the changes.
        """

    def used_words(self, kind: Kind) -> list[Words]:
        """The words of values of a kind that the state holds beside those of base rows."""

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of an equal block with the same layout."""

    def sizes(self) -> tuple[int, int]:
        """Bytes in use and bytes allocated; O(memory that is free)."""

    def is_sparse(self) -> bool:
        """Between two commits: whether so little is in use that the block should be loaded anew; O(1) amortised."""

    def _check(self) -> None:
        """Assert all invariants; for tests."""


class RowChange:
    """Changes of rows by their values.

    Args:
        delta: The changes.
    """

    def __init__(self, delta: Delta) -> None:
        self._delta = delta
        rows, budget = delta.rows, delta.rows.codec.budget
        if budget.refuses:
            budget.hold(8 * rows.length * (len(rows.types) + 2), "deltas")
        self._written: list[Extent] | None = None

    def growth(self) -> int:
        return int(self._delta.weights.sum())

    def rows(self) -> int:
        return self._delta.rows.length

    def delta(self) -> Delta:
        return self._delta

    def shown(self, schema: pa.Schema, scratch: Scratch | None) -> ViewDelta:
        if scratch is None or bytes_about(self._delta) <= scratch.over:
            return self._in_memory(schema)
        if self._written is None:
            self._written = spilled(self._delta, schema.types[:-2], scratch)
        return FileDelta(self._written, schema, self._delta.rows.codec.budget)

    def events(self) -> DerivedEvents:
        raise not_stored()

    def _in_memory(self, schema: pa.Schema) -> ViewDelta:
        """The delta, whose strings and decimals are values now, and the rest when it is read."""
        budget = self._delta.rows.codec.budget
        shown = shown_rows(self._delta)
        if shown is None:
            table = cancelled(self._delta, schema)
            budget.hold(table.get_total_buffer_size(), "deltas")
            return TableDelta(table)
        rows = shown.rows.values()
        if budget.refuses:
            budget.hold(sum(rows.nbytes(i) for i in range(len(rows.types))), "deltas")
        return MemoryDelta((MarkedRows(rows, shown.kinds, shown.versions),), schema)


def not_stored() -> AssertionError:
    """The error for ids of rows of a relation that has none: a defect of the graph."""
    return AssertionError("the relation is not stored, so that its rows have no ids")
