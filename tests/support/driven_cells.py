"""What a driver of cells needs, without Spark: parts come in any order, a cell's part runs on any host, or on two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

import pyarrow as pa

from livejoin.distributed import Cells, Outcome, Plan, Task
from livejoin.distributed.bad_rows import Kept, Some, keep, send, to_send
from livejoin.distributed.driver import Arrived
from livejoin.distributed.move import Source, Surveyed, rows_of_cell, survey
from livejoin.distributed.moves import known_of, together, who_is_asked, with_values
from livejoin.distributed.parts import CellPart, Outbox, advance, by_cell
from livejoin.distributed.static_rows import takes_part
from livejoin.plan.dispatch import TableSample
from livejoin.schema import Table

Memories = dict[str, list[Cells]]
"""For each plan what the hosts remember."""


class LocalSteps:
    """What runs for a batch; see `livejoin.distributed.driver.BatchSteps`.

    Args:
        dice: What chance has a part in.
        memories: What hosts remember; changed.
        changes: The changes of the batch: the table's columns, then `_change_type`.
        static: The rows of static tables that are there for the first time, likewise.
        samples: What is known of the rows.
        tables: The base tables, in their order.
        refreshed: All rows of static tables that are refreshed.
        digests: Those of the static tables that are read.
    """

    def __init__(
        self,
        dice: Random,
        memories: Memories,
        changes: Mapping[str, pa.Table],
        static: Mapping[str, pa.Table] | None = None,
        samples: Mapping[str, TableSample] | None = None,
        tables: Sequence[Table] = (),
        refreshed: Mapping[str, pa.Table] | None = None,
        digests: Mapping[str, str] | None = None,
    ) -> None:
        self._dice, self._memories, self._changes = dice, memories, dict(changes)
        self._static = dict(static or {})
        self._samples = dict(samples or {})
        self._tables = tables
        self._refreshed = dict(refreshed or {})
        self.digests = dict(digests or {})
        self.moves = self.tries = self.asked = 0
        self.ends = None

    def samples(self) -> Mapping[str, TableSample]:
        return self._samples

    def survey(self, source: Source, task: Task, views: Sequence[str]) -> list[Surveyed]:
        return [survey(source, task, views, cell) for cell in range(source.plan.cells)]

    def fill(self, source: Source | None, plan: Plan, task: Task) -> list[Outcome]:
        self.moves += 1
        parts = self._packed(plan, task, self._static)
        for cell in range(0 if source is None else source.plan.cells):
            parts += rows_of_cell(source, plan, task, cell)
        return self._through(parts, plan, task)

    def run(self, plan: Plan, task: Task) -> tuple[list[Outcome], Arrived]:
        self._changes = self._with_values(plan, task)
        changes = sum(rows.num_rows for rows in self._changes.values())
        parts = self._packed(plan, task, {**self._changes, **self._refreshed})
        return self._through(parts, plan, task), Arrived(changes, None)

    def keep(self, task: Task) -> list[Kept]:
        """As two tasks that read a half each."""
        halves = [
            {
                name: rows.slice(rows.num_rows // 2 * i, None if i else rows.num_rows // 2)
                for name, rows in self._changes.items()
            }
            for i in range(2)
        ]
        return [keep(task, f"{i:08d}", self._tables, half, None) for i, half in enumerate(halves)]

    def run_kept(self, plan: Plan, task: Task, some: Sequence[Some]) -> list[Outcome]:
        parts = [part for one in some for part in send(plan, task, one)]
        return self._through([*parts, *self._packed(plan, task, self._refreshed)], plan, task)

    def try_kept(self, plan: Plan, task: Task, some: Sequence[Some]) -> None:
        self.tries += 1
        self.run_kept(plan, task, some)

    def _with_values(self, plan: Plan, task: Task) -> Mapping[str, pa.Table]:
        """The changes with the values that rows keep under other keys."""
        tables = {table.name: table for table in self._tables}
        mine = {name: rows for name, rows in self._changes.items() if name in tables}
        asked = [with_values(tables[name], rows, None, task.folder)[1] for name, rows in mine.items()]
        asks = together(one for one in asked if one is not None)
        if not asks.keys:
            return self._changes
        self.asked += 1
        task = replace(task, asks=asks.keys)
        memories = self._memories.setdefault(plan.digest, [Cells(plan.staged, plan.limits) for _ in range(3)])
        answers = [
            advance(self._dice.choice(memories), plan, task, stage, cell, [])[0]
            for stage, cells in who_is_asked(plan, task).items()
            for cell in cells
        ]
        known = known_of(answers)
        return self._changes | {
            name: with_values(tables[name], rows, known, task.folder)[0] for name, rows in mine.items()
        }

    def _packed(self, plan: Plan, task: Task, changes: Mapping[str, pa.Table]) -> list[CellPart]:
        outbox = Outbox(plan, "99999999")
        tables = {table.name: table for table in self._tables}
        for name, rows in changes.items():
            outbox.send(name.lower(), to_send(tables[name], rows) if name in tables else rows)
        return outbox.left(task.folder, task.batch_id)

    def _through(self, parts: Iterable[CellPart], plan: Plan, task: Task) -> list[Outcome]:
        """Parts through all stages; of two attempts of a cell the last one counts."""
        memories = self._memories.setdefault(plan.digest, [Cells(plan.staged, plan.limits) for _ in range(3)])
        parts, done = list(parts), list[Outcome]()
        for stage in range(len(plan.staged.stages)):
            came = {cell: list[CellPart]() for cell in range(plan.cells)} | dict(by_cell(parts, stage))
            every = takes_part(plan.staged.stages[stage], task.refreshed)
            for cell, mine in came.items():
                if not (mine or every) and task.held.get((stage, cell)) and self._dice.random() < 0.8:
                    continue
                for _ in range(self._dice.choice([1, 1, 2])):
                    self._dice.shuffle(mine)
                    outcome, sent = advance(self._dice.choice(memories), plan, task, stage, cell, mine)
                done.append(outcome)
                parts += sent
        return done
