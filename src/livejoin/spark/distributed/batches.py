"""One micro-batch of Spark as one commit of all cells, exactly once.

In this order: a Spark job packs the changes with their cells; stage by stage the cells apply what they are brought and
write it down; the driver commits the manifest, which alone says that all that has happened; the deltas go to the sink,
and the batch is done. Wherever a process dies, Spark runs the batch again, and

- before the manifest is there, nothing of it has happened: files that no manifest lists do not count;
- when it is there and not done, the same deltas are delivered again;
- when it is done, it is skipped.
"""

from __future__ import annotations

import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors.exceptions.base import PythonException
from pyspark.sql import DataFrame

from livejoin.checkpoint.batch_delta import timed
from livejoin.checkpoint.recovery import Recovery
from livejoin.database.difference import difference, types_of
from livejoin.distributed import Declared, Manifest, Manifests, Outcome, Task
from livejoin.distributed.cell_process import end_processes
from livejoin.distributed.task import delta_of
from livejoin.errors import PipelineError, StateError
from livejoin.plan.dispatch import sampled
from livejoin.plan.dispatch.sample import SAMPLE
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.spark.batch_function import BatchFunction
from livejoin.spark.distributed.stage_runs import StageRuns
from livejoin.spark.distributed.steps import Arrived, Packing, packed
from livejoin.spark.frames import unpack
from livejoin.spark.micro_batch import BatchReport
from livejoin.spark.sinks import Sink

logger = logging.getLogger("livejoin")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DELETES = ("delete", "update_preimage")


class DistributedBatches(BatchFunction):
    """What Spark calls with each micro-batch; changes the files of the checkpoint and the sink.

    Args:
        declared: What the checkpoint says of the job and of where rows go.
        manifests: What was committed.
        sink: Where the deltas go.
        on_batch: Called with a report after each batch that is not skipped.
        tables: The tables in the order in which the frames were packed.
    """

    def __init__(
        self,
        declared: Declared,
        manifests: Manifests,
        sink: Sink,
        on_batch: Callable[[BatchReport], object] | None,
        tables: tuple[str, ...],
    ) -> None:
        super().__init__()
        self._declared = declared
        self._manifests = manifests
        self._sink = sink
        self._on_batch = on_batch
        self._tables = tables
        self._runs: StageRuns | None = None

    @property
    def recovery(self) -> Recovery | None:
        """What came back from the checkpoint: cells say so batch by batch, in the log of their processes."""
        return None

    def close(self) -> None:
        """Let the files go, and the processes on this host."""
        self._manifests.close()
        if self._declared.is_chosen:
            end_processes(self._declared.plan, self._manifests.path)

    def _where(self, batch_id: int) -> str:
        last = self._manifests.last
        done = "none of it was applied"
        if last is not None and last.batch_id == batch_id:
            done = "it is committed, and the next start delivers what it changed"
            done = "it was applied and delivered" if self._manifests.done == batch_id else done
        return f"in micro-batch {batch_id} of Spark; {done}"

    def _take(self, frame: DataFrame, batch_id: int) -> None:
        last = self._manifests.last
        following = 0 if last is None else last.batch_id + 1
        if last is not None and batch_id == last.batch_id:
            if self._manifests.done != batch_id:
                self._deliver(last)
            return
        if batch_id != following:
            holds = "hold nothing yet" if last is None else f"hold the batches up to {last.batch_id}"
            msg = (
                f"Spark runs batch {batch_id}, and the cells in {self._manifests.path} {holds}: the two halves of the "
                "checkpoint do not belong together. Restore both from the same backup, or start over with an empty "
                "checkpoint and an empty output"
            )
            raise StateError(msg)
        if last is not None and self._manifests.done != last.batch_id:
            self._deliver(last)
        started = time.perf_counter()
        if not self._declared.is_chosen:
            self._choose(frame)
        plan = self._declared.plan
        held = {} if last is None else dict(last.cells)
        task = Task(self._manifests.path, plan.digest, batch_id, self._manifests.epoch, held)
        done, arrived = self._ran(frame, task)
        engine_seconds = time.perf_counter() - started
        held.update({(one.stage, one.cell): one.held for one in done})
        deltas: dict[str, list[str]] = defaultdict(list)
        for one in sorted(done, key=lambda one: (one.stage, one.cell)):
            for view, (file, _) in one.deltas.items():
                deltas[view].append(file)
        files = {view: tuple(files) for view, files in deltas.items()}
        when = None if arrived.time is None else (arrived.time - _EPOCH) // _MICROSECOND
        manifest = Manifest(batch_id, task.epoch, plan.digest, when, held, files)
        self._manifests.commit(manifest)
        delta_rows = self._deliver(manifest)
        if self._on_batch is not None:
            assert self._runs is not None, "they have run"
            known = self._runs.outcomes.values()
            report = BatchReport(
                batch_id=batch_id,
                version=batch_id,
                changes=arrived.changes,
                delta_rows=delta_rows,
                rows={view: sum(one.rows.get(view, 0) for one in known) for view in delta_rows},
                state_bytes=sum(one.state_bytes for one in known),
                engine_seconds=engine_seconds,
                seconds=time.perf_counter() - started,
            )
            self._on_batch(report)

    def _choose(self, frame: DataFrame) -> None:
        """Choose where rows go, by the changes of the first batch."""
        arrived = unpack(self._tables, frame.limit(SAMPLE).toArrow())
        tables = self._declared.job.tables
        samples = {}
        for name, rows in arrived.changes.items():
            own = [column.name for column in tables[name].columns]
            samples[name] = sampled(tables[name], rows.select(own))
        self._declared.choose(samples)
        for line in self._declared.lines():
            logger.info("%s", line)

    def _ran(self, frame: DataFrame, task: Task) -> tuple[list[Outcome], Arrived]:
        """A batch in the cells: what those did that took part, and what had come."""
        plan = self._declared.plan
        self._runs = self._runs or StageRuns(plan)
        packing = Packing(plan, tuple(self._declared.job.tables[name] for name in self._tables))
        try:
            parts, arrived = packed(frame, packing, task)
        except PythonException as error:
            if missing := re.search(r"ModuleNotFoundError: No module named '(\w+)", str(error)):
                msg = (
                    f"the Python of Spark's executors has no {missing[1]}: install livejoin there, and let "
                    "PYSPARK_PYTHON name that Python before the session starts; livejoin.spark.local_session does so"
                )
                raise PipelineError(msg) from error
            raise
        return self._runs.run(frame.sparkSession, task, parts), arrived

    def _deliver(self, manifest: Manifest) -> dict[str, int]:
        """The deltas of a committed batch to the sink; then it is done. How many rows each view's delta has."""
        at = None if manifest.time is None else _EPOCH + manifest.time * _MICROSECOND
        deltas = {name: timed(self._delta(name, manifest), at) for name in self._declared.bound.views}
        parts = self._sink.deliver(deltas, manifest.batch_id)
        self._manifests.finish(manifest.batch_id, parts)
        return {name: delta.num_rows for name, delta in deltas.items()}

    def _delta(self, view: str, manifest: Manifest) -> pa.Table:
        """A view's delta, of all cells."""
        schema = self._declared.bound.views[view].delta_schema
        pieces = [delta_of(self._manifests.path, file) for file in manifest.deltas.get(view, ())]
        if not pieces:
            return schema.empty_table()
        whole = pa.concat_tables(pieces)
        if len(pieces) > 1 and view in self._declared.plan.staged.scattered:
            gone = pc.is_in(whole.column(CHANGE_TYPE), pa.array(_DELETES))
            rows, types = whole.drop_columns([CHANGE_TYPE]), types_of(self._declared.bound, view)
            whole = difference(rows.filter(gone), rows.filter(pc.invert(gone)), types)
        versions = pa.repeat(pa.scalar(manifest.batch_id, pa.int64()), whole.num_rows)
        whole = whole.append_column(COMMIT_VERSION, versions)
        return pa.Table.from_arrays(whole.columns, names=schema.names).cast(schema)
