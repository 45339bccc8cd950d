"""What a query needs before its first batch, where the tables are spread over cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import get_args

from livejoin.checkpoint.job import Job
from livejoin.database.snapshots.tables import Limits
from livejoin.distributed import Declared, Manifests
from livejoin.errors import PipelineError, SchemaError
from livejoin.spark.distributed.batches import DistributedBatches
from livejoin.spark.micro_batch import BatchReport
from livejoin.spark.run_name import run_name
from livejoin.spark.run_options import Mode, RunOptions
from livejoin.spark.sinks import Sink, SinkView, refuse_months

_MOST_CELLS = 10_000
_EMBEDDED_ONLY = ("spill", "spill_over", "initial", "recovery_seconds", "on_conflict", "on_bad_rows")


def cells_of(job: Job, options: RunOptions) -> int | None:
    """How many cells a job is to have; None if the engine runs in this process.

    Raises:
        PipelineError: There is no such mode, no number of cells, or an option that cells do not have.
        SchemaError: A table is static.
    """
    if options.mode not in get_args(Mode):
        msg = f"mode={options.mode!r} is unknown; allowed are 'embedded' and 'distributed'"
        raise PipelineError(msg, key="mode")
    cells = options.cells
    if options.mode == "embedded":
        if cells is None:
            return None
        msg = f"cells={cells!r} is for mode='distributed'; leave it out, or say so"
        raise PipelineError(msg, key="cells")
    if not isinstance(cells, int) or isinstance(cells, bool) or not 1 <= cells <= _MOST_CELLS:
        msg = f"cells is {cells!r}; mode='distributed' needs a number of cells, 1 to {_MOST_CELLS:,}"
        raise PipelineError(msg, key="cells")
    plain = {one.name: one.default for one in fields(RunOptions)}
    for name in _EMBEDDED_ONLY:
        if getattr(options, name) != plain[name]:
            msg = f"{name}={getattr(options, name)!r} is for mode='embedded'; leave it out, or run the job there"
            raise PipelineError(msg, key=name)
    for table in job.tables.values():
        if table.static:
            msg = (
                f"table {table.name!r} is static, which spread tables cannot be yet; leave it out of static=: a frame "
                "that is no stream is read once and then stays as it is"
            )
            raise SchemaError(msg)
    return cells


def open_cells(
    job: Job,
    cells: int,
    limits: Limits,
    state: Path,
    sink: Sink,
    on_batch: Callable[[BatchReport], object] | None,
    tables: Mapping[str, object],
) -> DistributedBatches:
    """What Spark calls with each batch.

    Args:
        job: The job.
        cells: How many cells.
        limits: Of the database of each cell of each stage.
        state: The folder of the checkpoint.
        sink: Where deltas go; it is opened.
        on_batch: Called after each batch.
        tables: The frames, in the order in which they are packed.

    Raises:
        StateError: The checkpoint is of another job or damaged, or belongs to another driver.
        StorageError: The disk refuses.
    """
    manifests = Manifests(state / "livejoin")
    declared = Declared(state / "livejoin", job, cells, limits)
    shapes = {name: SinkView(view.schema, view.keys) for name, view in declared.bound.views.items()}
    refuse_months(shapes)
    sink.open(shapes, manifests.done, manifests.parts, run_name(state))
    return DistributedBatches(declared, manifests, sink, on_batch, tuple(tables))
