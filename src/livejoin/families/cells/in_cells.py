"""What a join in cells has, whatever it gives of its results (see `livejoin.families.cells.partition`).

Every cell is a whole join over the rows that concern it, with an arena of its own in which it numbers these rows by
itself; a cell routes, loads and maintains in one task. Law: the rows that are loaded are in the cells before the next
events are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from livejoin.families.cells.cell import Cell, Load
from livejoin.families.cells.task_runner import TaskRunner
from livejoin.families.cells.workers import Workers
from livejoin.words import Words

C = TypeVar("C", bound=Cell[Any])
T = TypeVar("T")


class InCells(Generic[C]):
    """A join in cells; mutable.

    Args:
        cells: The cells, empty.
        workers: The threads.

    Attributes:
        cells: The cells.
    """

    def __init__(self, cells: Sequence[C], workers: Workers) -> None:
        self.cells = cells
        self._running = TaskRunner(workers)
        self._waiting: dict[int, Load] = {}

    def load(
        self, table: int, rows: Words, words: Words, stride: int, first: int, factors: Words | None = None
    ) -> None:
        """Take note of rows' values, which the cells load with the next events; as `WholeJoin.load`."""
        self._waiting[table] = Load(rows, words, stride, first, factors)

    @property
    def registered(self) -> int:
        """Atom rows in the state; those of replicated atoms count in every cell."""
        return sum(cell.join.registered for cell in self.cells)

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

    def _loads(self) -> Mapping[int, Load]:
        """The rows that wait to be loaded, once."""
        loads, self._waiting = self._waiting, {}
        return loads

    def _run(self, tasks: Sequence[Callable[[], T]], work: int) -> list[T]:
        """Run a task of each cell, side by side if there is enough work."""
        return self._running.run(tasks, work)

    def _check(self) -> None:
        """Assert all invariants; for tests."""
        for cell in self.cells:
            cell.check()
