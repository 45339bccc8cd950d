"""One micro-batch of Spark as one commit of all cells, exactly once.

In this order: a first step packs the changes for the cells. In each stage the cells apply the changes that they are
sent and write files, in a Spark job. The driver commits the manifest, which alone makes the batch count. The deltas go
to the sink, and the batch is done. If a process dies, Spark runs the batch again, and

- before the manifest exists, nothing of the batch counts: files that no manifest lists are ignored;
- when the manifest exists but the batch is not done, the same deltas are delivered again;
- when the batch is done, it is skipped.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from pyspark.sql import DataFrame

from livejoin.checkpoint.batch import Ends
from livejoin.checkpoint.ends import check_ends
from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.recovery import Recovery
from livejoin.database import Database
from livejoin.distributed import Declared, Manifest, Manifests, cell_reports
from livejoin.distributed.cell_process import end_processes
from livejoin.distributed.driver import commit, delta_for_sink, is_next, read_letters
from livejoin.distributed.load import off_load
from livejoin.errors import ReadError
from livejoin.spark.batch_function import BatchFunction
from livejoin.spark.distributed.spark_steps import SparkSteps
from livejoin.spark.distributed.stage_runs import StageRuns
from livejoin.spark.micro_batch import BatchReport
from livejoin.spark.run_options import RunOptions
from livejoin.spark.sinks import ParquetSink, Sink
from livejoin.spark.streams.progress import Progress

logger = logging.getLogger("livejoin")


class DistributedBatches(BatchFunction):
    """The function that Spark calls with each micro-batch; changes the files of the checkpoint and the sink.

    Args:
        declared: The job in the checkpoint, and where its rows go.
        manifests: The committed batches.
        sink: The sink of the deltas.
        tables: The tables in the order in which the frames were packed.
        static: The frames of static tables, by name.
        options: The options of the run.
        progress: How far Spark has read; None where Spark's own half of the checkpoint is enough.
    """

    def __init__(
        self,
        declared: Declared,
        manifests: Manifests,
        sink: Sink,
        tables: tuple[str, ...],
        static: Mapping[str, DataFrame],
        options: RunOptions,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        self._progress = progress
        self._policy, self._letters = options.policy, options.letters
        self._recovery_seconds = options.recovery_seconds
        self._initial: Initial = options.initial
        self._static = dict(static)
        self._declared = declared
        self._manifests = manifests
        self._sink = sink
        self._on_batch = options.on_batch
        self._tables = tables
        self._warned = set[str]()
        self._runs: dict[str, StageRuns] = {}

    @property
    def recovery(self) -> Recovery | None:
        """None: cells recover batch by batch, and say so in the log of their processes."""
        return None

    @property
    def database(self) -> Database:
        """Nothing here: each cell has its own.

        Raises:
            ReadError: Always.
        """
        msg = (
            f"the views are in {self._declared.cells} cells, each a database of its own in a process of an executor, "
            "and this process has none that could be explained or counted. What each cell did is in the reports of "
            "RunOptions(on_batch=...), BatchReport.cells; what was expected is in db.explain(sql, cells=N), or "
            "livejoin explain --cells N. To analyze a view, run it in one process: maintain without "
            "mode='distributed', or Database.replay of a part of the changes"
        )
        raise ReadError(msg)

    def close(self) -> None:
        """Close the files, and end the processes on this host."""
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
        is_new = is_next(self._manifests, batch_id)
        last = self._manifests.last
        ends = self._ends(batch_id, last, is_new)
        if last is not None and self._manifests.done != last.batch_id:
            self._deliver(last)
        if not is_new:
            return
        started = time.perf_counter()
        before = self._declared.before
        steps = SparkSteps(frame, self._declared, self._tables, self._static, self._runs, ends)
        was_chosen = self._declared.is_chosen
        refreshed = tuple(table.name for table in self._declared.refreshed)
        committed = commit(
            self._declared,
            self._manifests,
            self._initial,
            batch_id,
            steps,
            self._policy,
            self._recovery_seconds,
            as_parquet=isinstance(self._sink, ParquetSink),
        )
        engine_seconds = time.perf_counter() - started
        if not was_chosen:
            for line in self._declared.lines():
                logger.info("%s", line)
        if before is not None:
            end_processes(before.plan, self._manifests.path)
        for digest, line in off_load(self._declared.plan, committed.manifest):
            if digest not in self._warned:
                self._warned.add(digest)
                logger.warning("%s", line)
        delta_rows = self._deliver(committed.manifest)
        if self._on_batch is not None:
            known = self._runs[self._declared.plan.digest].outcomes.values()
            report = BatchReport(
                batch_id=batch_id,
                version=batch_id,
                changes=committed.applied,
                skipped=sum(committed.by(self._policy, "skip").values()) + sum(committed.ignored.values()),
                ignored=committed.ignored,
                late=committed.late,
                dead_letters=committed.by(self._policy, "dead_letter"),
                delta_rows=delta_rows,
                rows={view: sum(one.rows.get(view, 0) for one in known) for view in delta_rows},
                state_bytes=sum(one.state_bytes for one in known),
                engine_seconds=engine_seconds,
                seconds=time.perf_counter() - started,
                cells=cell_reports(committed.done, known, self._declared.plan.cells),
                refreshed=refreshed,
            )
            self._on_batch(report)

    def _ends(self, batch_id: int, last: Manifest | None, is_new: bool) -> Ends | None:
        """How far the sources are read with a batch; None if that is not to be noted.

        Raises:
            StateError: The batch does not begin where the last one ends, or does not end there if it is the last one.
        """
        if self._progress is None:
            return None
        starts, ends = self._progress.of_batch()
        known, place = None if last is None else last.ends, self._manifests.path
        where, found = ("begins", starts) if is_new else ("ends", ends)
        check_ends(f"batch {batch_id} of Spark {where}", known, found, place)
        return ends

    def _deliver(self, manifest: Manifest) -> dict[str, int]:
        """Deliver the deltas of a committed batch, note that the batch is done, and give the rows of each delta."""
        views = [name for name, view in self._declared.bound.views.items() if view.assertion is None]
        deltas = {name: delta_for_sink(self._declared, self._manifests, manifest, name) for name in views}
        if self._letters is not None:
            self._letters.deliver(read_letters(self._declared, self._manifests, manifest), manifest.batch_id)
        parts = self._sink.deliver(deltas, manifest.batch_id)
        self._manifests.finish(manifest.batch_id, parts)
        return {name: delta.num_rows for name, delta in deltas.items()}
