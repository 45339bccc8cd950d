"""Events: changes of the multiplicity of base rows, in the order in which a view applies them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.kernels.join import events as kernel
from livejoin.kernels.join import layout as q
from livejoin.words import Words

_AT_ONCE = 1 << 14


@dataclass(eq=False)
class TableEvents:
    """The events of one table for one view.

    Args:
        table: The table's name.
        matrix: int64 of shape (EVENT_FIELDS, n).
        factors: int64 of shape (factors, events): what annotates the rows; None without annotation.
        position: The position of the table that the matrix names.
        known: Known properties of the events: of `livejoin.kernels.join.events.IN_ORDER` and ``ALL_COME``.
    """

    table: str
    matrix: Words
    factors: Words | None = None
    position: int = 0
    known: int = 0

    @property
    def rows(self) -> Words:
        """Row ids."""
        line: Words = self.matrix[q.V_ROW]
        return line

    @property
    def weights(self) -> Words:
        """Changes of the rows' multiplicities."""
        line: Words = self.matrix[q.V_WEIGHT]
        return line

    @property
    def masks(self) -> Words:
        """The atoms that each row takes part in."""
        line: Words = self.matrix[q.V_MASK]
        return line

    @property
    def versions(self) -> Words:
        """The version that each event belongs to."""
        line: Words = self.matrix[q.V_VERSION]
        return line


def table_events(
    table: str, rows: Words, weights: Words, masks: Words, versions: Words, factors: Words | None = None
) -> TableEvents:
    """The events of a table, column by column; as for `TableEvents`."""
    matrix = np.empty((q.EVENT_FIELDS, rows.shape[0]), np.int64)
    matrix[q.V_TABLE] = 0
    matrix[q.V_ROW] = rows
    matrix[q.V_WEIGHT] = weights
    matrix[q.V_MASK] = masks
    matrix[q.V_VERSION] = versions
    return TableEvents(table, matrix, factors)


def view_events(parts: Sequence[tuple[int, TableEvents]]) -> Words:
    """The events of several tables as one matrix: by version, deletions before insertions within a version.

    With deletions first a result row that a version deletes is not inserted by it again, so a delta is net but for
    multiplicities and projections.

    Args:
        parts: Position of the table in the view's plan, and its events in order. They know their position from here on,
            and where one part is in order, its matrix is what is returned.

    Returns:
        int64 of shape (EVENT_FIELDS, n).
    """
    for position, part in parts:
        if part.position != position:
            part.matrix[q.V_TABLE] = part.position = position
    if len(parts) == 1:
        only = parts[0][1]
        return only.matrix if only.known & kernel.IN_ORDER else in_order(only.matrix)
    nothing = np.empty((q.EVENT_FIELDS, 0), np.int64)
    return in_order(np.concatenate([nothing, *(part.matrix for _, part in parts)], axis=1))


def inverse(events: Words) -> Words:
    """Events that take others back: the last one first, in versions that ascend again.

    Args:
        events: As `view_events` gives them.
    """
    back: Words = events[:, ::-1].copy()
    back[q.V_WEIGHT] *= -1
    back[q.V_VERSION] *= -1
    return back


def slices(events: Words) -> Iterable[Words]:
    """The events in pieces, each of which a kernel applies in some ten milliseconds.

    Python looks for signals when a kernel has returned, so that a long commit or load can be ended by Ctrl-C. A line
    of work that the events have is that of the pieces when they have been applied.
    """
    return (events,) if events.shape[1] <= _AT_ONCE else _pieces(events)


def _pieces(events: Words) -> Iterator[Words]:
    for begin in range(0, events.shape[1], _AT_ONCE):
        piece = np.ascontiguousarray(events[:, begin : begin + _AT_ONCE])
        yield piece
        if piece.shape[0] > q.EVENT_FIELDS:
            events[q.V_WORK, begin : begin + _AT_ONCE] = piece[q.V_WORK]


def with_work(events: Words) -> Words:
    """The events with a line more, where joins that apply one after the other write the work of each; -1 until then."""
    told = np.empty((q.EVENT_FIELDS + 1, events.shape[1]), np.int64)
    told[: q.EVENT_FIELDS] = events
    told[q.V_WORK] = -1
    return told


def in_order(events: Words) -> Words:
    """Events by version, deletions before insertions within a version, otherwise in the order given."""
    if kernel.ascend(events):
        return events
    ordered = np.empty_like(events)
    if kernel.deletions_first(events, ordered):
        return ordered
    key: Words = 2 * events[q.V_VERSION] + (events[q.V_WEIGHT] > 0)
    order = key.argsort(kind="stable")
    return events.take(order, axis=1)
