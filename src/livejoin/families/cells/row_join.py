"""A join inside a join in cells: each gives the changes of other rows (see `livejoin.families.cells.partition`).

Law: as `livejoin.families.derived.RowJoin`, for all cells together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from livejoin.families.cells.cell import Cell, Load
from livejoin.families.cells.partition import Partition
from livejoin.families.cells.task_runner import TaskRunner
from livejoin.families.cells.workers import Workers
from livejoin.families.derived import RowDelta, RowJoin, RowProgram
from livejoin.state.budget import Budget
from livejoin.words import Words

T = TypeVar("T")


class CellRowJoin:
    """State and operations of a join inside a join that is maintained in cells; mutable.

    Args:
        program: The program of each cell.
        name: What messages call the relation.
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
        self.cells = [RowCell(number, partition, program.open(name, budget), budget) for number in cells]
        self._running = TaskRunner(workers)
        self._waiting: dict[int, Load] = {}

    def load(
        self, table: int, rows: Words, words: Words, stride: int, first: int, factors: Words | None = None
    ) -> None:
        """Take note of rows' values, which the cells load with the next events."""
        self._waiting[table] = Load(rows, words, stride, first, factors)

    def maintain(self, events: Words) -> RowDelta:
        """Apply events in order; what the relation gains and loses.

        Raises:
            CapacityError: A cell becomes too large; the state is of no use any more.
        """
        loads, self._waiting = self._waiting, {}
        parts = self._run([partial(cell.maintain, loads, events) for cell in self.cells], events.shape[1])
        versions = np.concatenate([part.versions for part in parts])
        order = np.argsort(versions, kind="stable")
        values = np.concatenate([part.values for part in parts], axis=1).take(order, axis=1)
        return RowDelta(values, np.concatenate([part.weights for part in parts])[order], versions[order])

    @property
    def registered(self) -> int:
        """Atom rows in the state; those of replicated atoms count in every cell."""
        return sum(cell.join.registered for cell in self.cells)

    @property
    def probes(self) -> int:
        """Look-ups of keys so far."""
        return sum(cell.join.probes for cell in self.cells)

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        return {f"cell{cell.number}.{name}": words for cell in self.cells for name, words in cell.arrays().items()}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of a join with the same program and partition."""
        for cell in self.cells:
            prefix = f"cell{cell.number}."
            cell.restore({n.removeprefix(prefix): words for n, words in arrays.items() if n.startswith(prefix)})

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(cells)."""
        sizes = [cell.sizes() for cell in self.cells]
        return sum(handed for handed, _ in sizes), sum(capacity for _, capacity in sizes)

    def free_bytes(self) -> int:
        """Bytes handed out that are free again."""
        return sum(cell.free_bytes() for cell in self.cells)

    def _run(self, tasks: Sequence[Callable[[], T]], work: int) -> list[T]:
        """Run a task of each cell, side by side if there is enough work."""
        return self._running.run(tasks, work)

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        for cell in self.cells:
            cell.check()


class RowCell(Cell[RowJoin]):
    """A cell of a join inside a join."""

    def maintain(self, loads: Mapping[int, Load], events: Words) -> RowDelta:
        """Apply those of the events that concern the cell."""
        return self.join.maintain(self.take(loads, events))
