"""The start of a query whose tables are spread over cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from pyspark.sql import DataFrame, SparkSession

from livejoin.checkpoint.job import Job
from livejoin.distributed import Declared, Manifests
from livejoin.distributed.begin import check_columns
from livejoin.distributed.manifest import is_of_cells
from livejoin.errors import PipelineError, StateError, StorageError
from livejoin.spark.distributed.batches import DistributedBatches
from livejoin.spark.distributed.static_frames import digest_of
from livejoin.spark.run_name import run_name
from livejoin.spark.run_options import RunOptions
from livejoin.spark.sinks import Sink, sink_views
from livejoin.spark.streams.offsets import arranged, check_begun, clear_unbegun, put_back, sources_of, spark_half
from livejoin.spark.streams.progress import Progress
from livejoin.spark.streams.stream_part import StreamPart
from livejoin.state.store_folder import Place, StorePath

_MOST_CELLS = 10_000
_WHOLE = "Cells hand deltas on whole: take more of them, so that each has a smaller part, or smaller batches"
_EMBEDDED_ONLY = {"spill": _WHOLE, "spill_over": _WHOLE}


def cells_of(job: Job, options: RunOptions) -> int | None:
    """The number of cells of a job; None if the engine runs in this process.

    Raises:
        PipelineError: There is no number of cells, or an option does not work with cells.
    """
    cells = options.cells
    if options.mode == "embedded":
        for name in ("cells", "reshard", "keep_deltas"):
            if getattr(options, name):
                msg = f"{name}={getattr(options, name)!r} is for mode='distributed'; leave it out, or say so"
                raise PipelineError(msg, key=name)
        return None
    if not isinstance(cells, int) or isinstance(cells, bool) or not 1 <= cells <= _MOST_CELLS:
        msg = f"cells is {cells!r}; mode='distributed' needs a number of cells, 1 to {_MOST_CELLS:,}"
        raise PipelineError(msg, key="cells")
    _refuse_dead_letters(job, options)
    plain = {one.name: one.default for one in fields(RunOptions)}
    for name, why in _EMBEDDED_ONLY.items():
        if getattr(options, name) != plain[name]:
            found = f"{name}={getattr(options, name)!r} is for mode='embedded'"
            msg = f"{found}; leave it out, or run the job there. {why}"
            raise PipelineError(msg, key=name)
    return cells


def check_mode(state: Place, is_spread: bool) -> None:
    """Refuse a checkpoint of one process for cells, and one of cells for one process.

    Args:
        state: The checkpoint.
        is_spread: Whether cells are asked for.

    Raises:
        StateError: The checkpoint is of the other mode.
        StorageError: The disk refuses.
    """
    below = state / "livejoin"
    try:
        is_other = (below / "log").is_dir() if is_spread else is_of_cells(below)
    except OSError as error:
        msg = f"the checkpoint in {state} could not be read: {error}; repair that and start again"
        raise StorageError(msg) from error
    if is_other:
        has, asked = ("embedded", "distributed") if is_spread else ("distributed", "embedded")
        msg = (
            f"the checkpoint in {state} is of a pipeline with mode={has!r}, and mode={asked!r} is asked for: the files "
            f"of one are nothing to the other. Say mode={has!r}, or start over with an empty checkpoint and an empty "
            "output"
        )
        raise StateError(msg)


def _refuse_dead_letters(job: Job, options: RunOptions) -> None:
    """Refuse to leave out the changes that violate assertions: cells would try the batch again for each half of it.

    Raises:
        PipelineError: Somebody asks for that.
    """
    is_enforced = any(key.enforced for table in job.tables.values() for key in table.foreign_keys)
    if options.policy.on_bad_rows != "fail" and (job.assertions or is_enforced):
        msg = (
            f"on_bad_rows={options.policy.on_bad_rows!r} leaves out the changes that violate assertions, which "
            "mode='distributed' does not: there the whole batch fails. Use on_bad_rows='fail', or mode='embedded'"
        )
        raise PipelineError(msg, key="on_bad_rows")


def open_cells(
    spark: SparkSession,
    job: Job,
    cells: int,
    options: RunOptions,
    state: Place,
    sink: Sink,
    frames: Mapping[str, DataFrame | StreamPart],
    static: Mapping[str, DataFrame],
) -> tuple[DistributedBatches, Job, dict[str, DataFrame | StreamPart]]:
    """The function that Spark calls with each batch, and the job and frames that belong to it.

    Args:
        spark: The session.
        job: The job that is asked for.
        cells: The number of cells.
        options: The options of the run.
        state: The folder of the checkpoint, or its place in a store.
        sink: The sink of the deltas; it is opened.
        frames: The frames of changes, by table.
        static: The frames of static tables.

    Returns:
        The function, the job that goes on, and the frames in the order in which they are to be packed.

    Raises:
        StateError: The checkpoint cannot go on as this job, or is damaged, or belongs to another driver.
        StorageError: The disk refuses.
    """
    manifests = Manifests(state / "livejoin", options.keep_deltas, options.keep_versions)
    last = manifests.last
    declared = Declared(state / "livejoin", job, cells, options.limits, last, options.reshard)
    check_columns(declared, options.initial)
    sources = {table.name.lower(): digest_of(table, static[table.name]) for table in declared.held_static}
    declared.compare(sources, options.on_static_change)
    sink.open(sink_views(declared.bound), manifests.done, manifests.parts, run_name(state))
    half = spark_half(state)
    if last is None:
        clear_unbegun(half)
    else:
        check_begun(half)
    if isinstance(half, StorePath) and last is not None:
        put_back(half, last.batch_id, last.ends)
    tables = job.tables if declared.before is None else {**declared.before.job.tables, **job.tables}
    filled = [name for name in tables if last is not None and name.lower() in last.filled]
    arranged_frames = arranged(half, frames, filled)
    progress = Progress(spark, sources_of(arranged_frames)) if isinstance(half, StorePath) else None
    batches = DistributedBatches(declared, manifests, sink, tuple(arranged_frames), static, options, progress)
    return batches, declared.job, arranged_frames
