"""Events: changes of the multiplicity of base rows, in the order in which a view applies them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from livejoin.kernels.join import layout as q
from livejoin.words import Words

_AT_ONCE = 1 << 14


@dataclass(frozen=True, eq=False)
class TableEvents:
    """The events of one table for one view.

    Args:
        table: The table's name.
        rows: Row ids.
        weights: Changes of the rows' multiplicities.
        masks: The atoms that each row takes part in.
        versions: The version that each event belongs to.
        factors: int64 of shape (factors, events): what annotates the rows; None without annotation.
    """

    table: str
    rows: Words
    weights: Words
    masks: Words
    versions: Words
    factors: Words | None = None


def view_events(parts: Sequence[tuple[int, TableEvents]]) -> Words:
    """The events of several tables as one matrix: by version, deletions before insertions within a version.

    With deletions first a result row that a version deletes is not inserted by it again, so a delta is net but for
    multiplicities and projections.

    Args:
        parts: Position of the table in the view's plan, and its events in order.

    Returns:
        int64 of shape (EVENT_FIELDS, n).
    """
    matrix = np.zeros((q.EVENT_FIELDS, sum(part.rows.shape[0] for _, part in parts)), np.int64)
    begin = 0
    for position, part in parts:
        block = matrix[:, begin : begin + part.rows.shape[0]]
        block[q.V_TABLE] = position
        block[q.V_ROW] = part.rows
        block[q.V_WEIGHT] = part.weights
        block[q.V_MASK] = part.masks
        block[q.V_VERSION] = part.versions
        begin += part.rows.shape[0]
    return in_order(matrix)


def inverse(events: Words) -> Words:
    """Events that take others back: the last one first, in versions that ascend again.

    Args:
        events: As `view_events` gives them.
    """
    back: Words = events[:, ::-1].copy()
    back[q.V_WEIGHT] *= -1
    back[q.V_VERSION] *= -1
    return back


def slices(events: Words) -> Iterator[Words]:
    """The events in pieces, each of which a kernel applies in some ten milliseconds.

    Python looks for signals when a kernel has returned, so that a long commit or load can be ended by Ctrl-C.
    """
    for begin in range(0, max(events.shape[1], 1), _AT_ONCE):
        whole = events.shape[1] <= _AT_ONCE
        yield events if whole else np.ascontiguousarray(events[:, begin : begin + _AT_ONCE])


def in_order(events: Words) -> Words:
    """Events by version, deletions before insertions within a version, otherwise in the order given."""
    key: Words = 2 * events[q.V_VERSION] + (events[q.V_WEIGHT] > 0)
    order = key.argsort(kind="stable")
    return events.take(order, axis=1)
