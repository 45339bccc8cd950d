"""A join inside a join: base tables and stored relations in, its rows with stable ids out.

    events -> join (in cells or in one piece) -> changes of rows -> DerivedRows -> events

Law: as of a stored relation (`livejoin.dataflow.blocks.stored`). Cost: that of the join, and O(1) expected a row that
changes. State: O(base rows), and O(N^w) rows for a bag of width w (CROWN, theorem 7.1). A bag over static tables keeps
its rows alone: what the join needed is given back when they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from livejoin.dataflow.batches import Batches, Rows
from livejoin.dataflow.blocks.block import Change, InputRelation, Wanted
from livejoin.dataflow.blocks.row_source import RowSource
from livejoin.dataflow.blocks.stored import StoredChange
from livejoin.dataflow.blocks.table_change import TableChange
from livejoin.dataflow.reading.access import Access, NoAccess
from livejoin.dataflow.watching.watch import spread
from livejoin.errors import PreprocessingLimitError
from livejoin.families.cells.row_join import CellRowJoin
from livejoin.families.cells.workers import Workers
from livejoin.families.derived import RowJoin
from livejoin.plan.operators import BagOperator
from livejoin.schema import Kind
from livejoin.state.budget import Budget
from livejoin.state.codec import Codec
from livejoin.state.derived_rows import DerivedRows
from livejoin.state.fullness import Fullness
from livejoin.state.table import BaseTable
from livejoin.words import Words


class BagBlock:
    """A join inside a join; mutable. As `livejoin.dataflow.blocks.block.Block`.

    Args:
        plan: The bag's operator.
        tables: The base tables by name in lower case.
        inputs: The stored relations that it reads, in the order of the plan's inputs.
        codec: The database's codec.
        workers: The database's threads.
        limit: Gives the most rows that it may have if its tables are static, and the view that says so; None for no
            limit.
    """

    def __init__(
        self,
        plan: BagOperator,
        tables: Mapping[str, BaseTable],
        inputs: Sequence[InputRelation],
        codec: Codec,
        workers: Workers,
        limit: Callable[[], tuple[int, str] | None],
    ) -> None:
        self.plan = plan
        name = f"the join inside of {plan.derived.title}"
        self._open = partial(_open, plan, name, workers, codec.budget)
        self.join = self._open()
        self._rests = False
        self._limit = limit
        self.rows = DerivedRows(len(plan.types), name, codec.budget)
        self.source = RowSource(plan.derived.query, plan.program.tables, plan.inputs, inputs, tables, codec)
        self._codec = codec
        self._fullness = Fullness()

    def changes(self, tables: Mapping[str, TableChange], inputs: Mapping[int, Change], wanted: Wanted) -> Change | None:
        watch = wanted.watch
        matrix, before = self.source.changed(tables, inputs, self.join), self.join.probes
        change = self.apply(matrix)
        if watch is not None:
            unknown = np.full(matrix.shape[1], -1, np.int64)
            watch.note_keys(self.source.keys(matrix, 1 + spread(unknown, self.join.probes - before + change.rows())))
        return change

    def apply(self, matrix: Words) -> StoredChange:
        """Apply events whose rows are loaded; what changed.

        Args:
            matrix: int64 of shape (EVENT_FIELDS, n), as `livejoin.families.events.view_events` orders them.
        """
        delta = self.join.maintain(matrix)
        change = StoredChange(self.rows.apply(delta.values, delta.weights, delta.versions))
        self.check_limit()
        return change

    def check_limit(self) -> None:
        """Refuse to be larger than the views that read it allow.

        Raises:
            PreprocessingLimitError: The bag is larger.
        """
        derived = self.plan.derived
        if not derived.table.static or (limit := self._limit()) is None or self.rows.rows <= limit[0]:
            return
        given = {one.table.name for one in self.plan.inputs}
        names = ", ".join(sorted({atom.table.name for atom in derived.query.atoms} - given))
        most, view = limit
        msg = (
            f"{derived.title} (the join of {names}) has more than {most:,} rows, the preprocessing_limit of view "
            f"{view!r}, which it is made for too; make that view anew with a larger limit, or let one of these tables "
            "change (ALTER TABLE name SET DYNAMIC), so that they are joined as changes come"
        )
        raise PreprocessingLimitError(msg)

    def fill(self) -> None:
        for matrix in self.source.all_rows(self.join):
            self.apply(matrix)
            self.rows.finish()
        self._rest()
        self._fullness.note(self.join.registered)

    def wake(self) -> None:
        """Have again what a change is joined with, if it was given back; the rows stay as they are.

        May be cut off anywhere, and called again: what was loaded so far is not there then.
        """
        if self._rests:
            join = self._open()
            for matrix in self.source.all_rows(join):
                join.maintain(matrix)
            self.join = join
            self._rests = False

    def _rest(self) -> None:
        """Give back what changes are joined with, of a bag over tables that rarely change."""
        if self.plan.derived.table.static:
            self._rests = True  # first: a join that is let go is not to be changed
            self.join = self._open()

    def scan(self, capacity: int) -> Batches:
        ids, weights = self.rows.live_rows()
        for begin in range(0, ids.shape[0], capacity):
            chosen = ids[begin : begin + capacity]
            columns = list(self.rows.values_of(chosen))
            yield Rows(self._codec, self.plan.types, columns, chosen.shape[0]), weights[begin : begin + capacity]

    def combinations(self, capacity: int) -> Batches:
        return self.scan(capacity)

    def size(self) -> int | float:
        return self.rows.total

    def access(self) -> Access:
        return NoAccess("rows of a bag are read by their ids")

    def finish(self) -> None:
        self.rows.finish()
        self.source.finish()
        self._rest()

    def undo(self) -> None:
        self.apply(self.source.back(self.join))
        self.finish()

    def counters(self) -> dict[str, int]:
        """Work done so far, as `livejoin.families.join.Join.counters`; changes inside reach no views."""
        return {"probes": self.join.probes}

    def used_words(self, kind: Kind) -> list[Words]:
        return []  # its values are those of rows below

    def arrays(self) -> dict[str, Words]:
        arrays = {f"join.{name}": words for name, words in self.join.arrays().items()}
        return arrays | {f"rows.{name}": words for name, words in self.rows.arrays().items()}

    def restore(self, arrays: Mapping[str, Words]) -> None:
        self.join.restore({n.removeprefix("join."): words for n, words in arrays.items() if n.startswith("join.")})
        self.rows.restore({n.removeprefix("rows."): words for n, words in arrays.items() if n.startswith("rows.")})
        self._rest()

    def sizes(self) -> tuple[int, int]:
        handed, capacity = self.join.sizes()
        used, allocated = self.rows.sizes()
        return handed - self.join.free_bytes() + used, capacity + allocated

    def is_sparse(self) -> bool:
        join = self.join
        return self.rows.is_sparse or self._fullness.is_sparse(
            join.registered, join.probes, join.sizes(), join.free_bytes
        )

    def _check(self) -> None:
        self.join._check()
        self.rows._check()


def _open(plan: BagOperator, name: str, workers: Workers, budget: Budget) -> RowJoin | CellRowJoin:
    """The join of a bag, in cells if it is split."""
    if plan.partition is None:
        return plan.program.open(name, budget)
    return CellRowJoin(plan.program, name, plan.partition, workers, budget)
