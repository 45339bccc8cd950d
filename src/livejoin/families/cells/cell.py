"""One cell of a join that is split (see `livejoin.families.cells.partition`): the rows that concern it, numbered anew.

Law: `Cell.take` gives those of the events, and loads those of the rows, that belong to the cell's values of the
partition variable; a row has one number in the cell as long as it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from livejoin.families.cells.partition import Partition, TableSplit
from livejoin.kernels import route as kernel
from livejoin.kernels.join import layout as q
from livejoin.state.budget import Budget
from livejoin.state.reserved import bytes_to_grow, grown
from livejoin.words import Words

Numbers = npt.NDArray[np.int32]


class Content(Protocol):
    """What is in a cell: a join whose rows may be numbered otherwise than in their table."""

    def load(
        self,
        table: int,
        rows: Words,
        words: Words,
        stride: int,
        first: int,
        factors: Words | None = None,
        sources: Words | None = None,
    ) -> None:
        """As `livejoin.families.join.WholeJoin.load`."""

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of the same join."""

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""

    def free_bytes(self) -> int:
        """Bytes handed out that are free again; O(blocks that are)."""

    def _check(self) -> None:
        """Assert all invariants; for tests."""


J = TypeVar("J", bound=Content)


@dataclass(frozen=True, eq=False)
class Load:
    """Base rows whose values are to be loaded before the next events; as `WholeJoin.load` takes them."""

    rows: Words
    words: Words
    stride: int
    first: int
    factors: Words | None

    @cached_property
    def named(self) -> int:
        """One more than the largest id among the rows."""
        return int(self.rows.max(initial=-1)) + 1


class Cell(Generic[J]):
    """One cell: its join, and for each table the numbers that base rows have in it; see `livejoin.kernels.route`.

    Args:
        number: Which of the cells.
        partition: How the join is split.
        join: The cell's join.
        budget: The memory of the database.
    """

    def __init__(self, number: int, partition: Partition, join: J, budget: Budget | None = None) -> None:
        self.number = number
        self.join = join
        self._count = partition.cells
        self._tables = partition.tables
        self._homes: list[Numbers] = [np.zeros(0, np.int32) for _ in partition.tables]
        self._spare: list[Numbers] = [np.zeros(kernel.S_STACK, np.int32) for _ in partition.tables]
        self._budget = budget or Budget()
        self._budget.register(self)

    def take(self, loads: Mapping[int, Load], events: Words) -> Words:
        """Bring rows into the cell; the events that concern it."""
        chosen = self._routed(loads, events)
        for table, load in loads.items():
            self._load(table, load)
        return chosen

    def _routed(self, loads: Mapping[int, Load], events: Words) -> Words:
        """The events that concern the cell, as its join calls rows and atoms."""
        rows = np.empty(events.shape[1], np.int64)
        masks = np.empty(events.shape[1], np.int64)
        kept = 0
        for table, load in loads.items():
            split = self._tables[table]
            self._make_space(table, load.named, events.shape[1])
            kept += kernel.route(
                events,
                table,
                *_as_words(split),
                self.number,
                self._count,
                load.words[load.first :],
                load.stride,
                self._homes[table],
                self._spare[table],
                rows,
                masks,
            )
        chosen = np.empty((q.EVENT_FIELDS, kept), np.int64)
        self._budget.hold(rows.nbytes + masks.nbytes + chosen.nbytes, "staged changes")
        kernel.gather(events, rows, masks, chosen)
        return chosen

    def _make_space(self, table: int, rows: int, events: int) -> None:
        """Let there be a place for each of so many ids, and for each number that so many events may free.

        Events name rows that come now, or have come before: no id is larger than those that were loaded. An eighth
        more is taken than is needed, not as much again, as every cell has a place for each row of the table. No more
        numbers become free than were given out before: all events of a row have the same values and the same atoms, so
        that no row comes and leaves at once.
        """
        homes, spare = self._homes[table], self._spare[table]
        if homes.shape[0] < rows:
            places = max(rows, homes.shape[0] + homes.shape[0] // 8)
            self._budget.take(bytes_to_grow(homes, places), "the numbers of rows in a cell")
            self._homes[table] = grown(homes, places)
        needed = kernel.S_STACK + min(int(spare[kernel.S_COUNT]) + events, int(spare[kernel.S_ISSUED]))
        if spare.shape[0] < needed:
            self._spare[table] = np.concatenate([spare, np.zeros(2 * needed - spare.shape[0], np.int32)])

    def _load(self, table: int, load: Load) -> None:
        """Load the values of those rows that concern the cell."""
        numbers, sources, positions = np.empty((3, load.rows.shape[0]), np.int64)
        kept = kernel.place(load.rows, self._homes[table], numbers, sources, positions)
        factors = None if load.factors is None else load.factors.take(positions[:kept], axis=1)
        self.join.load(table, numbers[:kept], load.words, load.stride, load.first, factors, sources[:kept])

    def arrays(self) -> dict[str, Words]:
        """The state as flat arrays."""
        arrays = {f"join.{name}": words for name, words in self.join.arrays().items()}
        for table, (homes, spare) in enumerate(zip(self._homes, self._spare, strict=True)):
            arrays[f"homes{table}"] = homes.astype(np.int64)
            arrays[f"spare{table}"] = spare[: kernel.S_STACK + int(spare[kernel.S_COUNT])].astype(np.int64)
        return arrays

    def restore(self, arrays: Mapping[str, Words]) -> None:
        """Take over the state of the same cell."""
        self.join.restore({n.removeprefix("join."): words for n, words in arrays.items() if n.startswith("join.")})
        self._homes = [arrays[f"homes{table}"].astype(np.int32) for table in range(len(self._tables))]
        self._spare = [arrays[f"spare{table}"].astype(np.int32) for table in range(len(self._tables))]

    def sizes(self) -> tuple[int, int]:
        """Bytes handed out so far, freed ones included, and bytes allocated; O(1)."""
        used, capacity = self.join.sizes()
        return used + self.nbytes, capacity + self.nbytes

    @property
    def nbytes(self) -> int:
        """Bytes allocated for the numbers of rows."""
        return sum(part.nbytes for part in (*self._homes, *self._spare))

    def free_bytes(self) -> int:
        """Bytes handed out that are free again."""
        return self.join.free_bytes()

    def check(self) -> None:
        """Assert all invariants; for tests."""
        self.join._check()
        for homes, spare in zip(self._homes, self._spare, strict=True):
            free = spare[kernel.S_STACK : kernel.S_STACK + int(spare[kernel.S_COUNT])]
            known = np.sort(np.concatenate([homes[homes != 0], free]))
            assert np.array_equal(known, 1 + np.arange(spare[kernel.S_ISSUED])), "every number is one row's, or free"


def _as_words(split: TableSplit) -> tuple[Words, Words, int]:
    """How the kernel takes a table's split."""
    return np.array(split.columns, np.int64), np.array(split.atoms, np.int64), split.replicated
