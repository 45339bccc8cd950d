"""One micro-batch of Spark as one commit of the engine, exactly once.

In this order: the changes come as Arrow and go into the log, the engine applies them as one commit, the deltas go to
the sink, the log notes that the batch is done, and Spark notes it last. If the process dies, Spark runs the batch
again, and

- before the batch is in the log, nothing of it exists;
- before the batch is done, it is applied from the log, whatever Spark brings: equal deltas replace the first ones;
- when the batch is done, it is skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame

from livejoin.checkpoint.batch import Arrival
from livejoin.checkpoint.engine import Engine
from livejoin.checkpoint.instants import as_instants
from livejoin.checkpoint.recovery import Recovery
from livejoin.database import Database
from livejoin.database.difference import types_of
from livejoin.distributed import CellReport, skew
from livejoin.shown import counted
from livejoin.spark.batch_function import BatchFunction
from livejoin.spark.dead_letters import DeadLetters
from livejoin.spark.sinks import Sink
from livejoin.spark.streams.frames import unpack_pieces
from livejoin.spark.streams.pieces import pieces, schema_of
from livejoin.spark.streams.progress import Progress


@dataclass(frozen=True)
class BatchReport:
    """The report of a micro-batch.

    Args:
        batch_id: Spark's number of the batch.
        version: The engine's version after the batch.
        changes: How many changes were applied, over all tables.
        delta_rows: The rows of each view's delta.
        rows: The rows of each view's result after the batch.
        state_bytes: The bytes of the engine's state after the batch.
        engine_seconds: The time that the engine took to apply the changes and to enumerate the deltas.
        seconds: The time from Spark's call until the batch was done.
        skipped: How many changes were left out: those that could not be applied, deletions of absent keys, and rows too
            late for a window by range.
        ignored: Of the skipped ones those with which nothing was wrong, by reason: as ``deletions of absent keys``.
        late: How many changes were left out because their key has a newer one (``sequence_by``), or because they are
            late for a watermark that skips them.
        dead_letters: How many changes went to the dead letters, by table.
        cells: The work of each cell, if tables are spread over cells.
        refreshed: The static tables that got other rows, because their sources differed at the start.
    """

    batch_id: int
    version: int
    changes: int
    delta_rows: Mapping[str, int]
    rows: Mapping[str, int]
    state_bytes: int
    engine_seconds: float
    seconds: float
    skipped: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict)
    late: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)
    cells: Sequence[CellReport] = ()
    refreshed: Sequence[str] = ()

    @property
    def skew(self) -> float:
        """The load of the busiest cell, in changes, divided by the average; 1 without cells."""
        return skew(self.cells)

    @property
    def rebuilds(self) -> int:
        """How many states of cells were rebuilt from their files."""
        return sum(one.rebuilt for one in self.cells)


class MicroBatches(BatchFunction):
    """The function that Spark calls with each micro-batch; changes the engine and the sink.

    Args:
        engine: The engine.
        sink: The sink of the deltas.
        on_batch: Called with a report after each batch that is not skipped.
        tables: The tables in the order in which the frames were packed; None for the order of the engine's job.
        letters: The dead letters; None if there are none.
        progress: How far Spark has read; None where Spark's own half of the checkpoint is enough.
    """

    def __init__(
        self,
        engine: Engine,
        sink: Sink,
        on_batch: Callable[[BatchReport], object] | None,
        tables: Sequence[str] | None = None,
        letters: DeadLetters | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        self._progress = progress
        self._letters = letters
        self._schema: pa.Schema | None = None
        self._engine = engine
        self._sink = sink
        self._on_batch = on_batch
        self._tables = tuple(engine.job.tables if tables is None else tables)

    @property
    def recovery(self) -> Recovery | None:
        """The report of the recovery at the start; None if there was no state."""
        return self._engine.recovery

    @property
    def database(self) -> Database:
        """The database of the driver."""
        return self._engine.database

    def _take(self, frame: DataFrame, batch_id: int) -> None:
        if self._engine.is_new(batch_id):
            self._commit(frame, batch_id)

    def _arrived(self, frame: DataFrame) -> Arrival:
        if self._schema is None:
            self._schema = schema_of(frame)
        return unpack_pieces(self._tables, pieces(frame, self._schema), keeps_sequence=self._engine.policy.has_letters)

    def _where(self, batch_id: int) -> str:
        done = "none of it was applied"
        if self._engine.last_batch == batch_id:
            done = "it was applied and delivered"
        elif self._engine.pending is not None:
            done = "it is in the log of the checkpoint, and the next start goes on with it"
        return f"in micro-batch {batch_id} of Spark; {done}"

    def _commit(self, frame: DataFrame, batch_id: int) -> None:
        started = time.perf_counter()
        engine = self._engine
        ends = None
        if self._progress is not None:
            starts, ends = self._progress.of_batch()
            engine.check_follows(batch_id, starts, ends)
        batch = engine.take(batch_id, lambda: self._arrived(frame), ends)
        self.on_stage(f"batch {batch_id}: {counted(batch.rows, 'change')} came, the views are computed")
        before = time.perf_counter()
        types = {view: types_of(engine.database, view) for view in engine.database.views}
        deltas = {view: as_instants(delta, types[view]) for view, delta in engine.apply(batch).items()}
        engine_seconds = time.perf_counter() - before
        taken = engine.pending or batch  # without what could not be applied
        if self._letters is not None:
            self._letters.deliver(taken.letters, batch_id)
        parts = self._sink.deliver(deltas, batch_id)
        engine.finish(batch_id, parts)
        if self._on_batch is not None:
            database = engine.database
            stats = {name: view.stats() for name, view in database.views.items()}
            report = BatchReport(
                batch_id=batch_id,
                version=database.version,
                changes=taken.rows - sum(engine.ignored.values()) - engine.late,
                skipped=taken.skipped + sum(engine.ignored.values()),
                ignored=engine.ignored,
                late=engine.late,
                dead_letters={name: rows.num_rows for name, rows in taken.letters.items()},
                delta_rows={view: deltas[view].num_rows if view in deltas else 0 for view in stats},
                rows={view: int(figures["rows"]) for view, figures in stats.items()},
                state_bytes=sum(int(figures["state_bytes"]) for figures in stats.values()),
                engine_seconds=engine_seconds,
                seconds=time.perf_counter() - started,
                refreshed=tuple(name for name in taken.changes if engine.job.tables[name].static),
            )
            self._on_batch(report)
