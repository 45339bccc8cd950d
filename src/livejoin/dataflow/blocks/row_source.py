"""The relations that a join reads, base tables and stored relations, and the way of their changed rows into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from livejoin.dataflow.blocks.block import Change, InputRelation
from livejoin.dataflow.blocks.passing import Passing
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.selection import NO_VALUES, Selection, Selector
from livejoin.dataflow.static_rows import Reduced, RowsWithIds, StaticUse, kept_rows, reduced
from livejoin.dataflow.watching.key_sets import key_sets
from livejoin.dataflow.watching.watch import KeyColumns, Part
from livejoin.families.events import TableEvents, inverse, table_events, view_events
from livejoin.families.join_access import RowIndexes
from livejoin.families.kept_rows import KeptRows
from livejoin.families.layout.table_use import TableUse
from livejoin.kernels.join.events import ALL_COME
from livejoin.kernels.join.layout import EVENT_FIELDS, V_MASK, V_ROW, V_TABLE
from livejoin.plan.operators import JoinInput
from livejoin.query import ConjunctiveQuery
from livejoin.state.codec import Codec
from livejoin.state.derived_rows import DerivedEvents, DerivedRows
from livejoin.state.table import BaseTable
from livejoin.words import Words

LOADED = "the events of rows that are loaded"
"""What the memory of `RowSource.all_rows` is for."""

_PIECE = 1 << 16  # rows of a piece: their events fit the second cache
_HELD = 16  # bytes of a row that is to be loaded: its id, and how often it is there


class Loads(Protocol):
    """A join that rows are brought into."""

    def load(
        self, table: int, rows: Words, words: Words, stride: int, first: int, factors: Words | None = None
    ) -> None:
        """As `livejoin.families.join.Join.load`."""


class RowSource:
    """What a join reads.

    Args:
        query: The join's query.
        uses: How its program uses the tables.
        given: The derived relations among them.
        inputs: The stores of the derived relations, in the same order.
        tables: The base tables by name in lower case.
        codec: The database's codec.

    Attributes:
        selectors: By base table, in lower case, what tells of its changed rows what the join has to know.
        seen: The events of base tables in the last commit.
        passing: How many of the rows that came took part in some atom.
        kept: The static tables, by their positions in the program, of which `all_rows` brings those rows alone that can
            be part of a result, under numbers of their own.
    """

    def __init__(
        self,
        query: ConjunctiveQuery,
        uses: Sequence[TableUse],
        given: Sequence[JoinInput],
        inputs: Sequence[InputRelation],
        tables: Mapping[str, BaseTable],
        codec: Codec,
    ) -> None:
        self.seen: list[TableEvents] = []
        self.passing = Passing(query, uses)
        self.kept: dict[int, KeptRows] = {}
        self._reduced: dict[int, Reduced] = {}
        self._last: list[tuple[int, TableEvents]] = []
        self._query = query
        self._codec = codec
        self._tables = tables
        self._inputs = inputs
        self._names = [one.table.name for one in given]
        declared = {one.table.name: (place, one.table) for place, one in enumerate(given)}
        self.selectors: dict[str, list[Selector]] = {}
        self._uses = []
        for use in uses:
            place, table = declared[use.name] if use.name in declared else (None, tables[use.name.lower()].table)
            selector = Selector(query, use, table, codec)
            self._uses.append(_Use(use, selector, place))
            if place is None:
                self.selectors.setdefault(use.name.lower(), []).append(selector)

    @property
    def stored(self) -> dict[str, DerivedRows]:
        """The rows of the derived relations by the names that the query has for them, in lower case."""
        return {name.lower(): given.stored() for name, given in zip(self._names, self._inputs, strict=True)}

    def given(self, name: str) -> InputRelation:
        """One of the derived relations, by the name that the query has for it."""
        return self._inputs[self._names.index(name)]

    @property
    def indexes(self) -> RowIndexes:
        """The relations, by names in lower case, as the join numbers their rows."""
        return {**self._tables, **self.stored, **{self._uses[place].name: kept for place, kept in self.kept.items()}}

    def changed(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], join: Loads) -> Words:
        """The events of a commit, whose rows are brought into the join.

        Args:
            tables: As `livejoin.dataflow.blocks.block.Block.changes`.
            inputs: As there.
            join: The join.

        Returns:
            int64 of shape (EVENT_FIELDS, n), as `livejoin.families.events.view_events` orders them.
        """
        parts = []
        seen = self.seen = []
        for position, use in enumerate(self._uses):
            if use.place is None:
                given = tables.get(use.name)
                if given is None or given.staged.rows.shape[0] == 0:
                    continue
                events = given.events(use.selector, position)
                seen.append(events)
            elif use.place in inputs:
                events = self._derived(use, inputs[use.place].events())
            else:
                continue
            come = None if events.known & ALL_COME else events.weights > 0
            self._load(position, use, events.matrix[V_ROW], come, events.factors, join)
            if self.passing.may_lack[position]:
                self.passing.note(position, events)
            parts.append((position, events))
        self._last = parts
        matrix = view_events(parts)
        if self._codec.budget.refuses:
            self._codec.budget.hold(matrix.nbytes, "staged changes")
        return matrix

    def passed(self) -> Iterator[tuple[tuple[str, str], int, int]]:
        """For each predicate of an atom, by table and text, the rows that came in the last commit and passed."""
        for position, atom in enumerate(self._query.atoms):
            for part in self.seen:
                if atom.predicate is not None and atom.table.name == part.table:
                    masks = part.masks[part.weights > 0]
                    yield (part.table, atom.predicate.text), masks.shape[0], int(((masks >> position) & 1).sum())

    def keys(self, events: Words, weights: Words) -> Iterator[Part]:
        """The keys of changes, for each set of columns by which their table is joined.

        Args:
            events: The events of the commit that is under way, as `changed` gives them.
            weights: The cost of each.
        """
        tables = events[V_TABLE]
        for position in tables.tolist() if tables.shape[0] == 1 else np.unique(tables).tolist():
            use = self._uses[position]
            if use.keys is None:
                use.keys = key_sets(self._query, use.selector.table)
            if use.keys:
                chosen = np.flatnonzero(tables == position)
                words = self._rows(use).values_of(events[V_ROW, chosen])
                yield from (Part(of, words[list(columns)], weights[chosen]) for of, columns in use.keys)

    def back(self, join: Loads) -> Words:
        """The events that take those of the last `changed` back, whose rows are brought into the join again.

        Args:
            join: The join.

        Returns:
            As `changed`, where no version is that of a commit.
        """
        parts = [(position, self._known(self._uses[position], events)) for position, events in self._last]
        for position, events in parts:
            self._load(position, self._uses[position], events.rows, events.weights < 0, events.factors, join)
        return inverse(view_events(parts))

    def finish(self) -> None:
        """Forget what `back` needs."""
        self._last = []

    def reduce(self, numbers: bool) -> None:
        """Let the next `all_rows` leave out the rows of static tables that can be part of no result.

        Args:
            numbers: Whether the others may be numbered anew, where that saves memory.

        Raises:
            ExpressionError: A predicate has no value for some row.
        """
        budget = self._codec.budget
        uses = self._static_uses()
        self._reduced = reduced(self._query, uses, budget)
        for position, left in self._reduced.items() if numbers else ():
            if (kept := kept_rows(uses[position], left, budget)) is not None:
                self.kept[position] = kept

    def restore(self, kept: Mapping[int, Words]) -> None:
        """Let the join have numbered rows of static tables.

        Args:
            kept: The ids of the rows that it keeps, by the table's position in the program.
        """
        budget = self._codec.budget
        self.kept = {place: KeptRows(self._rows(self._uses[place]), ids, budget) for place, ids in kept.items()}

    def _static_uses(self) -> dict[int, StaticUse]:
        return {
            position: StaticUse(one.use, one.selector, self._rows(one))
            for position, one in enumerate(self._uses)
            if self._query.atoms[one.use.atoms[0]].table.static
        }

    def all_rows(self, join: Loads, order: Sequence[int] | None = None) -> Iterator[Words]:
        """Events that insert all rows that are there, which are brought into the join, in pieces; each as `changed`.

        A piece is applied while it is in the cache, and its memory is that of the next one.

        Args:
            join: The join.
            order: The order of the tables, by their positions in the program; None for that of the program.
        """
        for position in range(len(self._uses)) if order is None else order:
            use = self._uses[position]
            table = self._rows(use)
            events_of_piece = 2 * min(table.rows, _PIECE) * EVENT_FIELDS * 8  # the columns, and the matrix
            with self._codec.budget.holding(_HELD * table.rows + events_of_piece, LOADED):
                left, kept = self._reduced.pop(position, None), self.kept.get(position)
                ids, times = table.live_rows()
                masks = None if left is None else left.masks
                if kept is not None and masks is not None:
                    ids, times, masks = ids[masks != 0], times[masks != 0], masks[masks != 0]
                for begin in range(0, ids.shape[0], _PIECE):
                    rows, weights = ids[begin : begin + _PIECE], times[begin : begin + _PIECE]
                    known = None if masks is None else masks[begin : begin + _PIECE]
                    selection = _selected(use, table, rows, known)
                    named = rows if kept is None else kept.numbers(rows)
                    events = _events(use.selector.table, named, weights, np.zeros_like(rows), selection)
                    self._load(position, use, rows, None, events.factors, join)
                    if self.passing.may_lack[position]:
                        self.passing.note(position, events)
                    yield view_events([(position, events)])

    def wasted(self) -> float:
        """About how many bytes the records of rows take that take part in nothing; see `Passing.wasted`."""
        return self.passing.wasted([self._rows(use).rows for use in self._uses])

    def _rows(self, use: _Use) -> RowsWithIds:
        if use.place is None:
            return self._tables[use.name]
        return self._inputs[use.place].stored()

    def _load(
        self,
        position: int,
        use: _Use,
        rows: Words,
        come: npt.NDArray[np.bool_] | None,
        factors: Words | None,
        join: Loads,
    ) -> None:
        """Put the values of rows that come into the records; the others have theirs, and may be gone from the table.

        Args:
            position: The table's position in the program.
            use: How it is used.
            rows: Row ids.
            come: Which of them come; None if all do.
            factors: As for `Loads.load`.
            join: The join.
        """
        if come is not None:
            rows = rows[come]
            factors = None if factors is None else factors.compress(come, axis=1)
        table = self._rows(use)
        join.load(position, rows, table.words, table.stride, table.value_offset(0), factors)

    def _known(self, use: _Use, events: TableEvents) -> TableEvents:
        """The events with what the join has to know of rows that come back; who leaves a window has another's mask."""
        unknown = np.flatnonzero(events.weights < 0)
        selection = use.selector.select(self._rows(use).values_of(events.rows[unknown]))
        matrix = events.matrix.copy()
        matrix[V_MASK, unknown] = selection.masks
        if events.factors is None:
            return replace(events, matrix=matrix)
        factors = events.factors.copy()
        factors[:, unknown] = selection.factors
        return replace(events, matrix=matrix, factors=factors)

    def _derived(self, use: _Use, changed: DerivedEvents) -> TableEvents:
        """The events of a stored relation as the join sees them."""
        words = self._rows(use).values_of(changed.rows)
        selection = use.selector.select(words)
        return _events(use.selector.table, changed.rows, changed.weights, changed.versions, selection)


class _Use:
    """How the join reads a table.

    Args:
        use: How its program uses it.
        selector: Reads from the table's changed rows what the join has to know.
        place: Position of the derived relation among the inputs; None for a base table.
    """

    def __init__(self, use: TableUse, selector: Selector, place: int | None) -> None:
        self.use = use
        self.selector = selector
        self.name = selector.table.lower()
        self.place = place
        self.keys: list[tuple[KeyColumns, tuple[int, ...]]] | None = None  # found when somebody asks


def _selected(use: _Use, table: RowsWithIds, rows: Words, masks: Words | None) -> Selection:
    """What a join has to know of rows, whose masks may be known."""
    if masks is None:
        return use.selector.select(table.values_of(rows))
    factors = use.selector.select(table.values_of(rows)).factors if use.use.factors else NO_VALUES
    return Selection(masks, factors)


def _events(name: str, rows: Words, weights: Words, versions: Words, selection: Selection) -> TableEvents:
    factors = selection.factors if selection.factors.shape[0] else None
    return table_events(name, rows, weights, selection.masks, versions, factors)
