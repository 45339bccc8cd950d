"""Views over tables that are spread over cells, all in one process: what comes goes from cell to cell as it would."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import pyarrow as pa

import livejoin
from livejoin.database.of_stage import tables_of
from livejoin.distributed import Cell, Piece, Sender
from livejoin.distributed.move import rows_at_home
from livejoin.plan.dispatch import TableSample, choose
from livejoin.plan.stages import Staged, stages, with_homes
from livejoin.schema import Table


class Spread:
    """Cells, and what is between them.

    Args:
        staged: The stages of the views.
        cells: How many cells.
    """

    def __init__(self, staged: Staged, cells: int) -> None:
        self.staged = staged
        self.cells = [
            [Cell(stage, number, tables_of(stage), is_new=True) for number in range(cells)] for stage in staged.stages
        ]

    def apply(self, changes: Mapping[str, pa.Table]) -> dict[str, list[pa.Table]]:
        """The deltas of each view, one of a cell, for changes of base tables: columns by position, `_change_type`."""
        told: dict[str, list[pa.Table]] = defaultdict(list)
        for name, rows in changes.items():
            told[name.lower()].append(rows)
        for stage, cells in zip(self.staged.stages, self.cells, strict=True):
            brought: list[dict[int, list[Piece]]] = [defaultdict(list) for _ in cells]
            for place, exchange in enumerate(stage.exchanges):
                sender = Sender(exchange, len(cells))
                for rows in told.get(exchange.relation, ()):
                    tick = sender.tick(rows)
                    for mine in brought if tick is not None else ():
                        mine[place].append(Piece(tick, None, is_tick=True))
                    for parcel in sender.parcels(rows):
                        brought[parcel.cell][place].append(Piece(rows.take(pa.array(parcel.rows)), parcel.masks))
            for cell, mine in zip(cells, brought, strict=True):
                for relation, delta in cell.apply(cell.changes(mine)).items():
                    told[relation].append(delta)
        return {view: told.get(relation, []) for view, relation in self.staged.views.items()}

    def rows(self, table: Table) -> pa.Table:
        """The rows of a base table, each from the cell that is its home."""
        found = [
            rows
            for number, cells in enumerate(self.cells)
            for cell in cells
            for _, rows, _ in rows_at_home(self.staged, {table.name.lower(): table}, number, cell.number, cell.database)
        ]
        return pa.concat_tables(found).drop_columns(["_change_type"])

    def check(self) -> None:
        """All invariants of the cells' databases."""
        for cells in self.cells:
            for cell in cells:
                cell.database._check()


def spread(database: livejoin.Database, cells: int, samples: Mapping[str, TableSample] | None = None) -> Spread:
    """The views of a database, over tables that are spread over cells and empty, with what is known of them."""
    queries = {view.name: view._query for view in database.views.values()}
    tables = [base.table for base in database._contents.tables.values()]
    staged = stages(queries, lambda query: choose(query, samples or {}, cells))
    return Spread(with_homes(staged, tables), cells)
