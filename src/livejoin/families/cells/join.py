"""A join in cells that are maintained side by side (see `livejoin.families.cells.partition`).

    events -> route -> cell 0: join -> delta \\
           -> route -> cell 1: join -> delta --> merged delta

To its callers it is what `livejoin.families.join.Join` is. Nothing but the merging of segments is left to one thread.
Law: the cells' results add up to the result of the same join in one piece, and so do their deltas, version by version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from livejoin.families.cells.access import CellAccess
from livejoin.families.cells.cell import Cell, Load
from livejoin.families.cells.in_cells import InCells
from livejoin.families.cells.merge import halve, merged, sorted_pieces
from livejoin.families.cells.partition import Partition
from livejoin.families.cells.rounds import in_rounds
from livejoin.families.cells.rows import CellRows
from livejoin.families.cells.task_runner import Spent, TaskRunner
from livejoin.families.cells.workers import Workers
from livejoin.families.delta_chunk import DeltaChunk
from livejoin.families.join import WholeJoin
from livejoin.families.join_access import JoinAccess, RowIndexes
from livejoin.families.nodes import node_bytes, node_work
from livejoin.families.program import Program
from livejoin.families.sizes import MAX_COUNT, exactly
from livejoin.kernels.join import layout as q
from livejoin.state.budget import Budget
from livejoin.state.derived_rows import DerivedRows
from livejoin.state.table import BaseTable
from livejoin.words import Words

T = TypeVar("T")
Settle: TypeAlias = Callable[[list[T], list[T], bool], tuple[list[T], list[T]]]


class CellJoin(InCells["JoinCell"]):
    """State and operations of one join maintained in cells; mutable. The same interface as `WholeJoin`.

    Args:
        plan: The plan of each cell.
        partition: How it is split.
        workers: The threads.
        budget: The memory of the database.

    Attributes:
        cells: The cells.
    """

    def __init__(self, plan: Program, partition: Partition, workers: Workers, budget: Budget | None = None) -> None:
        cells = [JoinCell(number, partition, plan.open(budget), budget) for number in range(partition.cells)]
        super().__init__(cells, workers)
        self.plan = plan
        self._reading = TaskRunner(workers)

    def maintain(self, events: Words, emit: bool, capacity: int | None = None) -> Iterator[DeltaChunk]:
        """Apply events in order; as `WholeJoin.maintain`.

        The chunks are in the order of versions; within a version what goes stands before what comes, but for results
        with annotations. All of them are there before the first is given.

        Raises:
            CapacityError: A cell becomes too large; the state is of no use any more.
        """
        loads = self._loads()
        tasks = [partial(cell.maintain, loads, events, emit, capacity) for cell in self.cells]
        parts = self._run(tasks, events.shape[1])
        yield from merged(parts, bool(self.plan.query.sums))

    def enlist(self, events: Words, *, again: bool = False) -> None:
        """As `livejoin.families.join.Join.enlist`."""
        loads = self._loads()
        self._run([partial(cell.enlist, loads, events, again) for cell in self.cells], events.shape[1])

    def build(self, *, again: bool = False) -> None:
        """As `livejoin.families.join.Join.build`."""
        self._run([partial(cell.join.build, again=again) for cell in self.cells], self.registered)

    def changes(
        self, events: Words, finish: Callable[[DeltaChunk], T], settle: Settle[T] | None = None
    ) -> tuple[list[T], bool]:
        """Apply events of results without annotations; the delta's chunks in order, each made into something else.

        For events of one version the thread of the cell does this, chunk by chunk, while the words are in its cache.

        Args:
            events: As for `maintain`.
            finish: Turns each chunk into the wanted form.
            settle: Turns the pieces of one cell, those that go and those that come, into the wanted form at last, where
                no row comes from two cells; the function is told whether a multiplicity changed that stayed positive.

        Returns:
            The pieces, and whether they were settled: all events are of one version.

        Raises:
            CapacityError: As for `maintain`. Also what ``finish`` raises; the state is of no use any more.
        """
        loads = self._loads()
        versions = events[q.V_VERSION]
        if versions.size and versions[0] != versions[-1]:  # they are ascending
            tasks = [partial(cell.maintain, loads, events, True, None) for cell in self.cells]
            pieces = sorted_pieces(self._run(tasks, events.shape[1]), len(self.cells))
            return self._run([partial(_finished, piece, finish) for piece in pieces], events.shape[1]), False
        of_cells = [partial(cell.changes, loads, events, finish, settle) for cell in self.cells]
        parts = self._run(of_cells, events.shape[1])
        return [one for side in (0, 1) for part in parts for one in part[side]], settle is not None

    def scan(self, capacity: int) -> Iterator[Words]:
        """Full enumeration with constant delay, in the order of `livejoin.families.cells.rounds`."""
        run = partial(self._reading.run, work=self.registered)
        return in_rounds([cell.join.scan for cell in self.cells], capacity, run)

    def combinations(self, capacity: int) -> Iterator[Words]:
        """As `livejoin.families.join.Join.combinations`, in the same order."""
        run = partial(self._reading.run, work=self.registered)
        return in_rounds([cell.join.combinations for cell in self.cells], capacity, run)

    def count(self) -> int:
        """As `size`, but exact.

        Raises:
            CapacityError: The number is beyond 64 bits.
        """
        return exactly(self.size())

    def access(self, tables: RowIndexes) -> JoinAccess:
        """Access to the results of all cells; as `livejoin.families.join.Join.access`."""
        return CellAccess([cell.join.access(cell.rows_of(tables)) for cell in self.cells])

    def size(self) -> int | float:
        """Size of the result with multiplicities; about, as a float, beyond 64 bits. Cost: O(rows)."""
        total = sum(self._reading.run([cell.join.size for cell in self.cells], self.registered))
        return float(total) if total > MAX_COUNT else total

    @property
    def weighed(self) -> int:
        """As `WholeJoin.weighed`."""
        return sum(cell.join.weighed for cell in self.cells)

    def counters(self) -> dict[str, int]:
        """Work done so far in all cells, as `WholeJoin.counters`."""
        total: dict[str, int] = {}
        for cell in self.cells:
            for name, value in cell.join.counters().items():
                total[name] = total.get(name, 0) + value
        return total

    def node_work(self) -> Words:
        """What all cells have counted at their nodes, as `livejoin.families.nodes.CountsNodes.node_work`."""
        return sum((node_work(cell.join) for cell in self.cells[1:]), node_work(self.cells[0].join))

    def node_bytes(self) -> Words:
        """The bytes of the nodes of all cells, as `livejoin.families.nodes.CountsNodes.node_bytes`."""
        return sum((node_bytes(cell.join) for cell in self.cells[1:]), node_bytes(self.cells[0].join))

    def spent(self) -> Spent:
        """What the cells took since this was asked last."""
        return self._running.take()


class JoinCell(Cell[WholeJoin]):
    """A cell of a join that keeps its result."""

    def maintain(
        self, loads: Mapping[int, Load], events: Words, emit: bool, capacity: int | None
    ) -> Sequence[DeltaChunk]:
        """Apply those of the events that concern the cell; the delta."""
        chosen = self.take(loads, events)
        return list(self.join.maintain(chosen, emit, capacity)) if chosen.shape[1] else []

    def enlist(self, loads: Mapping[int, Load], events: Words, again: bool) -> None:
        """As `livejoin.families.join.Join.enlist`, of those of the events that concern the cell."""
        self.join.enlist(self.take(loads, events), again=again)

    def changes(
        self, loads: Mapping[int, Load], events: Words, finish: Callable[[DeltaChunk], T], settle: Settle[T] | None
    ) -> tuple[list[T], list[T]]:
        """Apply those of the events, of one version, that concern the cell; what goes and what comes."""
        chosen = self.take(loads, events)
        sides: tuple[list[T], list[T]] = ([], [])
        weighed = self.join.weighed
        for chunk in self.join.maintain(chosen, emit=True) if chosen.shape[1] else ():
            for side, half in zip(sides, halve(chunk), strict=True):
                if half.rows:
                    side.append(finish(half))
        return sides if settle is None else settle(*sides, self.join.weighed > weighed)

    def rows_of(self, tables: RowIndexes) -> RowIndexes:
        """The tables as the cell numbers their rows.

        Args:
            tables: The base tables of the join, and perhaps others.
        """
        found: dict[str, CellRows] = {}
        for use, homes in zip(self.join.plan.tables, self._homes, strict=True):
            base = tables[use.name.lower()]
            assert isinstance(base, (BaseTable, DerivedRows)), "a cell numbers the rows of a table by itself"
            found[use.name.lower()] = CellRows(base, homes)
        return found


def _finished(piece: Callable[[], DeltaChunk], finish: Callable[[DeltaChunk], T]) -> T:
    return finish(piece())
