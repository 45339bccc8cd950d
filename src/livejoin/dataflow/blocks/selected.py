"""Rows of one relation on their way into a store: those that a predicate is true for, and what is computed from them.

    changes of a table -> its rows by their ids -> predicate -> outputs -> store

Law: as of every block. There is no state: what a row gave when it came is computed again when it goes, from the row,
which the table keeps until the commit ends. So a row costs nothing here, whether the predicate is true for it or not
(docs/decisions/0030).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from livejoin.dataflow.batches import BATCH, Batches, Delta, Rows
from livejoin.dataflow.blocks.block import Change, InputRelation, RowChange, Wanted
from livejoin.dataflow.blocks.row_selection import Columns, RowSelection
from livejoin.dataflow.blocks.stateless import Stateless
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.reading.access import Access
from livejoin.dataflow.reading.selected_access import SelectedAccess
from livejoin.families.sizes import MAX_COUNT, whole_sum
from livejoin.plan.operators import SelectedOperator
from livejoin.state.codec import Codec
from livejoin.state.table import BaseTable
from livejoin.state.trusted_table import Changes, TrustedTable
from livejoin.words import Words

_ROW_BYTES = 16  # an id and a multiplicity


class SelectedBlock(Stateless):
    """A selection and projection of one relation; as `livejoin.dataflow.blocks.block.Block`.

    Args:
        plan: The operator of the selection.
        tables: The base tables by name in lower case.
        inputs: The relation, if it is a derived one; else empty.
        codec: The database's codec.
    """

    def __init__(
        self, plan: SelectedOperator, tables: Mapping[str, BaseTable], inputs: Sequence[InputRelation], codec: Codec
    ) -> None:
        self._plan, self._name = plan, plan.name.lower()
        self._given = inputs[0] if inputs else None
        self._tables = tables
        self._codec = codec
        self._selection = RowSelection(plan, codec)

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        if not (wanted.rows or wanted.tables):
            return None
        if self._given is None:
            columns, weights, versions = self._of_table(tables[self._name])
        else:
            delta = inputs[0].delta()
            columns, weights, versions = _of_rows(delta.rows), delta.weights, delta.versions
        rows, kept = self._selection.chosen(columns)
        return RowChange(Delta(rows, weights, versions) if kept is None else Delta(rows, weights[kept], versions[kept]))

    def scan(self, capacity: int) -> Batches:
        for columns, weights in self._batches(capacity):
            rows, kept = self._selection.chosen(columns)
            yield rows, weights if kept is None else weights[kept]

    def combinations(self, capacity: int) -> Batches:
        rows = 0 if self._given is not None else self._tables[self._name].rows
        with self._codec.budget.holding(rows * _ROW_BYTES, "the rows that are loaded"):
            yield from self.scan(capacity)

    def size(self) -> int | float:
        if self._selection.takes_all:
            return self._tables[self._name].total if self._given is None else self._given.size()
        total = 0
        for columns, weights in self._batches(BATCH):
            kept = self._selection.kept(columns)
            total += whole_sum(weights if kept is None else weights[kept])
        return float(total) if total > MAX_COUNT else total

    def access(self) -> Access:
        source = self._tables[self._name] if self._given is None else self._given
        chosen = self._selection.chosen
        return SelectedAccess(
            self._plan, source, lambda ids: chosen(self._of_ids(ids)), lambda rows: chosen(_of_rows(rows))
        )

    def _of_table(self, change: TableChange) -> tuple[Columns, Words, Words]:
        """The changed rows of the table, with their weights and versions, which ascend."""
        rows, weights, versions = change.staged.rows, change.staged.weights, change.event_versions()
        if not change.is_one and (versions[1:] < versions[:-1]).any():
            order = np.argsort(versions, kind="stable")
            rows, weights, versions = rows[order], weights[order], versions[order]
        return self._of_ids(rows), weights, versions

    def _of_ids(self, ids: Words) -> Columns:
        """The rows of the table with some ids."""
        table = self._tables[self._name]
        return lambda columns, places: table.columns_of(ids if places is None else ids[places], columns)

    def _batches(self, capacity: int) -> Iterator[tuple[Columns, Words]]:
        """All rows of the relation with their multiplicities."""
        if self._given is not None:
            for rows, weights in self._given.combinations(capacity):
                yield _of_rows(rows), weights
            return
        table = self._tables[self._name]
        if isinstance(table, TrustedTable):
            yield from _of_changes(table, capacity)
            return
        ids, weights = table.live_rows()
        for begin in range(0, ids.shape[0], capacity):
            yield self._of_ids(ids[begin : begin + capacity]), weights[begin : begin + capacity]


def _of_changes(table: TrustedTable, capacity: int) -> Iterator[tuple[Columns, Words]]:
    """The changes that a table keeps in the place of rows, with their weights."""

    def of_some(changes: Changes, begin: int) -> Columns:
        def words(columns: Words, places: Words | None) -> Words:
            return changes.columns_of(columns, slice(begin, begin + capacity) if places is None else begin + places)

        return words

    for changes in table.scanned:
        for begin in range(0, changes.weights.shape[0], capacity):
            yield of_some(changes, begin), changes.weights[begin : begin + capacity]


def _of_rows(rows: Rows) -> Columns:
    """Rows of a derived relation."""

    def words(columns: Words, places: Words | None) -> Words:
        chosen = rows.select(columns.tolist())
        return (chosen if places is None else chosen.take(places)).matrix(range(columns.shape[0]))

    return words
