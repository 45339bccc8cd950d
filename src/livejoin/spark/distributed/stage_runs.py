"""Running the stages of a batch where they cost least: in processes on the driver's host, or in executors.

Each step tells the driver about the parts that it leaves. The driver asks the cells of the next stage when all cells of
a stage are done. An empty Spark job takes some hundredths of a second, and as much processor time, which is much for a
few groups. So small stages run on the driver's host, and all stages do if the executors are in the driver's process.
"""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from livejoin.distributed import Outcome, Plan, Task
from livejoin.distributed.cell_process import advance_all
from livejoin.distributed.moves import Known, known_of, who_is_asked
from livejoin.distributed.parts import CellPart, by_cell, remove_files
from livejoin.distributed.static_rows import takes_part
from livejoin.spark.distributed.steps import stage_by_executors
from livejoin.spark.job_names import doing

SMALL = 1 << 20
"""Bytes that a stage is brought at most to be run by the processes of the driver's host."""
SMALL_STATE = 1 << 26
"""Bytes of its cells together at most, for the same: they are in the memory of one host then."""
_LOCAL = re.compile(r"local(\[.*\])?")  # the master of a session whose executor is the driver


class StageRuns:
    """Runs the stages of batches; mutable.

    Args:
        plan: The plan.

    Attributes:
        outcomes: The last outcome of each cell of each stage.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.outcomes: dict[tuple[int, int], Outcome] = {}

    def run(self, session: SparkSession, task: Task, parts: list[CellPart]) -> list[Outcome]:
        """Run a batch in the cells.

        A cell takes part in a stage if it gets changes, or if this driver has not asked it before.

        Args:
            session: Spark's session.
            task: The batch.
            parts: The changes that come to the cells of all stages from outside.

        Returns:
            The outcomes of the cells that took part.

        Raises:
            LivejoinError: A cell fails.
        """
        done = self._through(session, task, list(parts))
        self.outcomes |= {(one.stage, one.cell): one for one in done}  # if it fails, what was done counts for nothing
        return done

    def try_out(self, session: SparkSession, task: Task, parts: list[CellPart]) -> None:
        """Try a batch, as `run`; its files are not needed afterwards."""
        all_parts = list(parts)
        try:
            self._through(session, task, all_parts)
        finally:
            remove_files(task.folder, all_parts)

    def ask(self, session: SparkSession, task: Task) -> Known:
        """Find the rows that a task asks for; the cells stay as they are.

        Raises:
            LivejoinError: A cell cannot be made from its files.
        """
        answers = list[Outcome]()
        for stage, cells in who_is_asked(self._plan, task).items():
            if cells:
                answers += [one for one, _ in self._stage(session, task, stage, {cell: [] for cell in cells})]
        return known_of(answers)

    def _through(self, session: SparkSession, task: Task, parts: list[CellPart]) -> list[Outcome]:
        """Run all stages; parts that cells send to later stages are added to ``parts``."""
        done = list[Outcome]()
        for stage in range(len(self._plan.staged.stages)):
            every = takes_part(self._plan.staged.stages[stage], task.refreshed)
            cells = range(self._plan.cells)
            came = {cell: list[CellPart]() for cell in cells if every or (stage, cell) not in self.outcomes}
            came |= by_cell(parts, stage)
            if not came:
                continue
            for outcome, sent in self._stage(session, task, stage, came):
                done.append(outcome)
                parts += sent
        return done

    def _stage(
        self, session: SparkSession, task: Task, stage: int, came: dict[int, list[CellPart]]
    ) -> list[tuple[Outcome, list[CellPart]]]:
        context = session.sparkContext
        if _LOCAL.fullmatch(context.master or "") or self._is_small(stage, came):
            return advance_all(self._plan, task, stage, came, context.defaultParallelism)
        with doing(session, f"stage {stage + 1} of {len(self._plan.staged.stages)}"):
            return stage_by_executors(context, self._plan, task, stage, came)

    def _is_small(self, stage: int, came: dict[int, list[CellPart]]) -> bool:
        """Whether a stage gets few changes, and all of its cells are known to hold few rows."""
        states = [one.state_bytes for one in self.outcomes.values() if one.stage == stage]
        brought = sum(part.size for parts in came.values() for part in parts)
        return len(states) == self._plan.cells and sum(states) <= SMALL_STATE and brought <= SMALL
