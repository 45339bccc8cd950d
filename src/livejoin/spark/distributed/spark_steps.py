"""The Spark jobs of a batch: packing its changes, and filling a plan when it begins."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from livejoin.checkpoint.batch import Ends
from livejoin.distributed import Declared, Outcome, Plan, Task
from livejoin.distributed.bad_rows import Kept, Some
from livejoin.distributed.driver import Arrived
from livejoin.distributed.move import Source, Surveyed, rows_of_cell, survey
from livejoin.distributed.moves import Asked, Known
from livejoin.distributed.parts import CellPart
from livejoin.errors import LivejoinError
from livejoin.plan.dispatch import TableSample, sampled
from livejoin.plan.dispatch.sample import SAMPLE
from livejoin.spark.distributed.stage_runs import StageRuns
from livejoin.spark.distributed.static_frames import StaticFrame
from livejoin.spark.distributed.steps import (
    SCHEMA,
    Packing,
    Step,
    collected,
    collected_parts,
    failed,
    kept,
    packed,
    rows_of_parts,
    sent,
    whole_changes,
)
from livejoin.spark.job_names import doing
from livejoin.spark.streams.frames import unpack


class SparkSteps:
    """The Spark jobs of a batch; see `livejoin.distributed.driver.BatchSteps`.

    Args:
        frame: The packed frame of the batch.
        declared: The job.
        tables: The tables in the order in which the frame was packed.
        static: The frames of static tables, by name.
        runs: The runners of stages, by the digest of their plan; changed.
        ends: How far the sources are read with the batch; None if that is not to be noted.

    Attributes:
        ends: As given.
    """

    def __init__(
        self,
        frame: DataFrame,
        declared: Declared,
        tables: tuple[str, ...],
        static: Mapping[str, DataFrame],
        runs: dict[str, StageRuns],
        ends: Ends | None = None,
    ) -> None:
        self.ends = ends
        self._runs = runs
        self._declared = declared
        self._frame = frame
        self._session = frame.sparkSession
        self._tables = tuple(declared.job.tables[name] for name in tables)
        self._unfilled = [StaticFrame(table, static[table.name]) for table in declared.unfilled]
        self._refreshed = [StaticFrame(table, static[table.name]) for table in declared.refreshed]
        self._digests: dict[str, str] = {}

    def samples(self) -> dict[str, TableSample]:
        names = [table.name for table in self._tables]
        arrived = unpack(names, self._frame.limit(SAMPLE).toArrow(), in_sequence=False)
        found = {
            table.name: sampled(table, whole_changes(table, arrived.changes[table.name]))
            for table in self._tables
            if table.name in arrived.changes
        }
        return found | {one.table.name: one.sample() for one in self._unfilled}

    @property
    def digests(self) -> Mapping[str, str]:
        return self._digests

    def run(self, plan: Plan, task: Task) -> tuple[list[Outcome], Arrived]:
        packing = Packing(plan, self._tables)
        with doing(self._session, "packs the changes"):
            found = packed(self._frame, packing, task)
            if isinstance(found, Asked):
                found = packed(self._frame, replace(packing, known=self._known(plan, task, found)), task)
                assert not isinstance(found, Asked), "all that is asked is known"
        parts, arrived = found
        parts = [*parts, *self._packed(self._refreshed, plan, task)]
        return self._of(plan).run(self._session, replace(task, time=arrived.time), parts), arrived

    def keep(self, task: Task) -> list[Kept]:
        packing = Packing(self._declared.plan, self._tables)
        found = kept(self._frame, packing, task)
        if isinstance(found, Asked):
            found = kept(self._frame, replace(packing, known=self._known(packing.plan, task, found)), task)
            assert not isinstance(found, Asked), "all that is asked is known"
        return found

    def _known(self, plan: Plan, task: Task, asked: Asked) -> Known:
        return self._of(plan).ask(self._session, replace(task, asks=asked.keys))

    def run_kept(self, plan: Plan, task: Task, some: Sequence[Some]) -> list[Outcome]:
        return self._of(plan).run(self._session, task, self._sent(plan, task, some))

    def try_kept(self, plan: Plan, task: Task, some: Sequence[Some]) -> None:
        self._of(plan).try_out(self._session, task, self._sent(plan, task, some))

    def survey(self, source: Source, task: Task, views: Sequence[str]) -> list[Surveyed]:
        cells = self._session.range(0, source.plan.cells, 1, source.plan.cells)
        with doing(self._session, "looks at the rows that move"):
            found = collected(cells.mapInArrow(_surveyor(source, task, tuple(views)), "data BINARY"))
        answers = [pickle.loads(data) for data in found.column("data").to_pylist()]
        for answer in answers:
            if isinstance(answer, LivejoinError):
                raise answer
        return answers

    def fill(self, source: Source | None, plan: Plan, task: Task) -> list[Outcome]:
        parts = list[CellPart]()
        if source is not None:
            cells = self._session.range(0, source.plan.cells, 1, source.plan.cells)
            with doing(self._session, "moves the rows"):
                parts += collected_parts(cells.mapInArrow(_mover(source, plan, task), SCHEMA))
        parts += self._packed(self._unfilled, plan, task)
        return self._of(plan).run(self._session, task, parts)

    def _sent(self, plan: Plan, task: Task, some: Sequence[Some]) -> list[CellPart]:
        """Send changes of the batch that were written down, and all rows of tables that are refreshed."""
        parts = sent(self._session.sparkContext, plan, task, some)
        return [*parts, *self._packed(self._refreshed, plan, task)]

    def _packed(self, frames: Sequence[StaticFrame], plan: Plan, task: Task) -> list[CellPart]:
        """Pack all rows of static tables."""
        found = list[CellPart]()
        for place, one in enumerate(frames):
            parts, text = one.packed(plan, place, task)
            found += parts
            self._digests[one.table.name.lower()] = text
        return found

    def _of(self, plan: Plan) -> StageRuns:
        """The runner of a plan's stages, kept from batch to batch."""
        if plan.digest not in self._runs:
            self._runs.clear()
            self._runs[plan.digest] = StageRuns(plan)
        return self._runs[plan.digest]


def _surveyor(source: Source, task: Task, views: Sequence[str]) -> Step:
    """A Spark step over numbers of cells, which counts their values."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for cell in batch.column(0).to_pylist():
                try:
                    answer: Surveyed | LivejoinError = survey(source, task, views, cell)
                except LivejoinError as error:
                    error.add_note(f"in cell {cell} of the plan before")
                    answer = error
                yield pa.RecordBatch.from_pydict({"data": pa.array([pickle.dumps(answer)], pa.binary())})

    return run


def _mover(source: Source, plan: Plan, task: Task) -> Step:
    """A Spark step over numbers of cells, which sends their rows to the cells of a new plan."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for cell in batch.column(0).to_pylist():
                try:
                    yield rows_of_parts(rows_of_cell(source, plan, task, cell))
                except LivejoinError as error:
                    error.add_note(f"in cell {cell} of the plan before")
                    yield rows_of_parts([failed(error)])

    return run
