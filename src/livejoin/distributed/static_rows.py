"""Static tables that are refreshed in cells: all rows come, and each cell finds what differs for it.

The rows go where those of before went, so that a cell has its part of both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa

from livejoin.database.base_rows import all_rows
from livejoin.database.refreshing import refreshing
from livejoin.distributed.cell import Cell
from livejoin.plan.stages import Stage


def takes_part(stage: Stage, refreshed: Collection[str]) -> bool:
    """Whether all cells of a stage take part in a batch, since each may have rows of a table that is refreshed."""
    return any(exchange.relation in refreshed for exchange in stage.exchanges)


def with_refreshed(cell: Cell, changes: Mapping[str, pa.Table], refreshed: Collection[str]) -> dict[str, pa.Table]:
    """The changes of a cell, in which those of tables that are refreshed are what they differ in from now on.

    Args:
        cell: The cell.
        changes: By table, as `Cell.changes` has them; of tables that are refreshed all rows that they are to have.
        refreshed: The base tables that are refreshed, by their names in lower case.

    Raises:
        ChangeError: The rows break a key.

    Cost: O(rows of these tables).
    """
    found = dict(changes)
    for exchange in cell.stage.exchanges:
        for table, _ in exchange.tables if exchange.relation in refreshed else ():
            now = found.pop(table.name, table.arrow.empty_table())
            net = refreshing(table, all_rows(cell.database, table.name), (), now)
            if net.num_rows:
                found[table.name] = net
    return found
