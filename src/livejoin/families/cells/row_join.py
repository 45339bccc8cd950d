"""A join inside a join in cells: each gives the changes of other rows (see `livejoin.families.cells.partition`).

Law: as `livejoin.families.derived.RowJoin`, for all cells together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from livejoin.families.cells.cell import Cell, Load
from livejoin.families.cells.in_cells import InCells
from livejoin.families.cells.partition import Partition
from livejoin.families.cells.workers import Workers
from livejoin.families.derived import RowDelta, RowJoin, RowProgram
from livejoin.state.budget import Budget
from livejoin.words import Words


class CellRowJoin(InCells["RowCell"]):
    """State and operations of a join inside a join that is maintained in cells; mutable.

    Args:
        program: The program of each cell.
        name: The relation's name in messages.
        partition: How it is split.
        workers: The threads.
        budget: The memory of the database.
    """

    def __init__(
        self,
        program: RowProgram,
        name: str,
        partition: Partition,
        workers: Workers,
        budget: Budget | None = None,
    ) -> None:
        cells = range(partition.cells)
        super().__init__([RowCell(number, partition, program.open(name, budget), budget) for number in cells], workers)

    def maintain(self, events: Words) -> RowDelta:
        """Apply events in order; what the relation gains and loses.

        Raises:
            CapacityError: A cell becomes too large; the state is of no use any more.
        """
        loads = self._loads()
        parts = self._run([partial(cell.maintain, loads, events) for cell in self.cells], events.shape[1])
        versions = np.concatenate([part.versions for part in parts])
        order = np.argsort(versions, kind="stable")
        values = np.concatenate([part.values for part in parts], axis=1).take(order, axis=1)
        return RowDelta(values, np.concatenate([part.weights for part in parts])[order], versions[order])

    @property
    def probes(self) -> int:
        """Look-ups of keys so far."""
        return sum(cell.join.probes for cell in self.cells)


class RowCell(Cell[RowJoin]):
    """A cell of a join inside a join."""

    def maintain(self, loads: Mapping[int, Load], events: Words) -> RowDelta:
        """Apply those of the events that concern the cell."""
        return self.join.maintain(self.take(loads, events))
