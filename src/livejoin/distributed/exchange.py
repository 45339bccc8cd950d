"""The rows that go from a relation to the cells: which ones, where to, and for which of the tables there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from livejoin.checkpoint.incoming.settled import truncations
from livejoin.plan.dispatch import Router, cells_of
from livejoin.plan.stages import ByColumns, Cube, Everywhere, Exchange, Home
from livejoin.schema import CHANGE_TYPE, WindowRange
from livejoin.words import Words

_COME = pa.array(["insert", "update_postimage"])  # what a row is told by that comes, where there is no key


@dataclass(frozen=True, eq=False)
class Parcel:
    """Changes for a cell.

    Args:
        cell: The number of the cell.
        rows: The positions of the rows, ascending.
        masks: For each row the bits that say to which of the exchange's tables it goes.
    """

    cell: int
    rows: Words
    masks: Words


class Sender:
    """Sends the rows of a relation to cells; a cache of what an exchange says.

    Args:
        exchange: The exchange.
        cells: The number of cells.
    """

    def __init__(self, exchange: Exchange, cells: int) -> None:
        self.exchange = exchange
        self.cells = cells

    @cached_property
    def _router(self) -> Router | None:
        route = self.exchange.route
        return Router(route.dispatch, route.table) if isinstance(route, Cube) else None

    def parcels(self, changes: pa.Table) -> Iterator[Parcel]:
        """Where changes go; those that go to one cell keep their order, and a truncation goes to all.

        Args:
            changes: The relation's columns first, by position; what else stands there does not count.

        Cost: O(rows * (columns that decide + cells that a row goes to)).
        """
        if not changes.num_rows:
            return
        route, columns = self.exchange.route, self.exchange.tables[0][0].columns
        if isinstance(route, Everywhere):
            every, masks = np.arange(changes.num_rows), np.full(changes.num_rows, -1)
            yield from (Parcel(cell, every, masks) for cell in range(self.cells))
            return
        if isinstance(route, ByColumns):
            rows = _with_nulls(changes, route.nulls)
            some = changes if len(rows) == changes.num_rows else changes.take(pa.array(rows))
            given = [some.column(i) for i in route.columns]
            places = cells_of(given, [columns[i].type for i in route.columns], len(rows), self.cells)
            masks = np.full(len(rows), -1)
        else:
            assert self._router is not None
            sent = self._router.send(changes.columns[: len(columns)])
            rows, places, masks = sent.rows, sent.cells, sent.masks
        if (everywhere := np.flatnonzero(truncations(changes))).size:
            rows, places, masks = _and_everywhere(everywhere, self.cells, rows, places, masks)
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(self.cells + 1))
        for cell in range(self.cells):
            if ends[cell] < ends[cell + 1]:
                mine = order[ends[cell] : ends[cell + 1]]
                yield Parcel(cell, rows[mine], masks[mine])

    def tick(self, changes: pa.Table) -> pa.Table | None:
        """The newest row that comes, which comes and goes: it leaves nothing but its time, which moves a window.

        Law: a table whose rows are spread, and that gets its part of some changes and their tick in one commit, has
        its part of the rows that it would have if they were not spread.

        Args:
            changes: As for `parcels`.

        Returns:
            Two changes; None if no row comes, or the cells do not need to know.
        """
        window = self.exchange.tables[0][0].window_range
        if not self.exchange.ticks or window is None:
            return None
        come = coming(changes)
        times = _plain(come.column(window.column))
        latest = pc.max(times)
        if not latest.is_valid:
            return None
        newest = come.slice(pc.index(times, latest).as_py(), 1)
        place = newest.column_names.index(CHANGE_TYPE)
        kind = newest.schema.field(place)
        return pa.concat_tables([newest, newest.set_column(place, kind, pa.array(["delete"], kind.type))])


def _and_everywhere(
    everywhere: Words, cells: int, rows: Words, places: Words, masks: Words
) -> tuple[Words, Words, Words]:
    """Rows, their cells and their masks, where some rows go to all tables of all cells, whatever was said of them."""
    others = ~np.isin(rows, everywhere)
    rows = np.append(rows[others], np.repeat(everywhere, cells))
    places = np.append(places[others], np.tile(np.arange(cells), len(everywhere)))
    masks = np.append(masks[others], np.full(len(everywhere) * cells, -1))
    order = np.argsort(rows, kind="stable")
    return rows[order], places[order], masks[order]


def coming(changes: pa.Table) -> pa.Table:
    """Of the changes of a table without a key those that bring a row."""
    return changes.filter(pc.is_in(_plain(changes.column(CHANGE_TYPE)), _COME))


def newest(ticks: Iterable[pa.Table], window: WindowRange) -> pa.Table:
    """Of some ticks of a table the one with the newest time."""
    return max(ticks, key=lambda tick: pc.max(_plain(tick.column(window.column))).as_py())


def first_of(changes: pa.Table, home: Home, cell: int) -> pa.Table:
    """Of rows that a join brings to several cells those of which a cell is the first.

    Args:
        changes: The base table's columns first, by position.
        home: The table of the cells that has them.
        cell: The cell.
    """
    if home.route is None or not changes.num_rows:
        return changes
    if isinstance(home.route, Everywhere):
        return changes if cell == 0 else changes.slice(0, 0)
    router = Router(home.route.dispatch, home.route.table)
    sent = router.send(changes.columns[: len(home.route.table.columns)])
    is_mine = (sent.masks & home.bits) != 0
    first = np.full(changes.num_rows, home.route.dispatch.cells)
    np.minimum.at(first, sent.rows[is_mine], sent.cells[is_mine])
    return changes.filter(pa.array(first == cell))


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as the values that it stands for."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _with_nulls(changes: pa.Table, columns: tuple[int, ...]) -> Words:
    """The rows that have NULL in one of some columns; without columns all of them."""
    if not columns:
        return np.arange(changes.num_rows)
    found = np.zeros(changes.num_rows, np.bool_)
    for column in columns:
        if changes.column(column).null_count:
            found |= changes.column(column).is_null().to_numpy()
    return np.flatnonzero(found)
