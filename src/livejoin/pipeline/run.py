"""Running a pipeline on Spark."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from livejoin.pipeline.load import Pipeline
from livejoin.schema import Table
from livejoin.spark import BatchReport, Recovery, local_session
from livejoin.spark.checkpoint_lock import lock_checkpoint
from livejoin.spark.paths import local_folder
from livejoin.spark.run_name import NAME_FILE, run_name
from livejoin.spark.sinks import Forgetting, OfSession, ParquetSink
from livejoin.spark.sources import ARRIVALS, read_changes
from livejoin.spark.streaming import end_of, start
from livejoin.spark.streams.frames import Declared, ForeignColumns

SPARK_LOG = "spark.log"
_OURS = ("livejoin", "spark", "static", ARRIVALS)


def clear(pipeline: Pipeline) -> None:
    """Delete what earlier runs of a pipeline wrote, and nothing else in these folders.

    Raises:
        StateError: The pipeline runs; nothing is deleted.
        StorageError: A server of the pipeline cannot be reached.
    """
    lock = lock_checkpoint(pipeline.checkpoint)
    try:
        _clear(pipeline)
    finally:
        lock.release()


def _clear(pipeline: Pipeline) -> None:
    name = pipeline.checkpoint / NAME_FILE
    if pipeline.output is not None:
        sink = ParquetSink(pipeline.output)
        for view in pipeline.views:
            sink.clear(view)
    if isinstance(pipeline.sink, Forgetting) and name.exists():
        if isinstance(pipeline.sink, OfSession):
            pipeline.sink.use(_session(pipeline))
        pipeline.sink.forget(run_name(pipeline.checkpoint))
    letters = pipeline.options.dead_letters
    if isinstance(letters, Path):
        for table in pipeline.declared:
            for file in (letters / quote(table, safe=" ")).glob("part-*.parquet"):
                file.unlink()
    for server in pipeline.servers:
        server.clear(pipeline.checkpoint)
    for folder in _OURS:
        shutil.rmtree(pipeline.checkpoint / folder, ignore_errors=True)
    name.unlink(missing_ok=True)


def is_begun(pipeline: Pipeline) -> bool:
    """Whether the checkpoint of a pipeline has a state already."""
    return (pipeline.checkpoint / "livejoin").exists()


def expected_batches(pipeline: Pipeline) -> int | None:
    """How many micro-batches the present files make from an empty checkpoint; None if that is not known."""
    if pipeline.servers:
        return None
    return max((source.batches() for source in pipeline.sources.values() if not source.table.static), default=None)


def run(
    pipeline: Pipeline,
    on_batch: Callable[[BatchReport], object],
    on_start: Callable[[], object],
    on_recovery: Callable[[Recovery], object] = lambda _: None,
    on_stage: Callable[[str], object] = lambda _: None,
) -> None:
    """Run a pipeline until its input is used up or Ctrl-C stops it.

    The Spark session stays open afterwards.

    Args:
        pipeline: The pipeline.
        on_batch: Called after each micro-batch, from another thread.
        on_start: Called when Spark is up and the query runs.
        on_recovery: Called before ``on_start`` if the checkpoint had a state.
        on_stage: Called with a few words on what is waited for, until the first batch is done; also from another
            thread.

    Raises:
        LivejoinError: A batch failed, or the checkpoint is damaged.
        KeyboardInterrupt: Ctrl-C was pressed. The query is stopped, and the next run continues there.
    """
    is_new = not is_begun(pipeline)
    spark = _session(pipeline)
    on_stage(f"opening {', '.join(pipeline.declared)}")
    found: dict[str, Any] = {
        name: read_changes(spark, source, pipeline.checkpoint / ARRIVALS) for name, source in pipeline.sources.items()
    }
    for server in pipeline.servers:
        found.update(server.read(spark))
        if is_new and (rows := server.first_rows()):
            on_stage(f"the first batches bring all rows that are there: {rows}")
    tables = {name: found[name] for name in pipeline.declared}
    declared = {name: declared_of(table) for name, table in pipeline.declared.items()}
    options = replace(pipeline.options, on_batch=on_batch)
    sink = pipeline.sink or ParquetSink(local_folder(pipeline.output, "path"), options.keep_output)
    query, batches = start(
        spark,
        pipeline.views,
        tables,
        declared,
        sink,
        pipeline.checkpoint,
        pipeline.trigger,
        options,
        assertions=pipeline.assertions,
    )
    batches.on_stage = on_stage
    if batches.recovery is not None:
        on_recovery(batches.recovery)
    on_start()
    on_stage("Spark plans the first batch" if is_new else "Spark looks for what is new")
    try:
        end_of(query).wait()
    except KeyboardInterrupt:
        query.stop()
        raise
    failed = query.failure
    if failed is not None:
        if failed is not batches.failure:  # Spark itself failed, and has told its log
            failed.add_note(f"more is in {pipeline.checkpoint / SPARK_LOG}")
        raise failed from None


def _session(pipeline: Pipeline) -> Any:
    """The session of a pipeline."""
    name = f"livejoin {pipeline.file.stem}"
    return local_session(name, log_file=pipeline.checkpoint / SPARK_LOG, settings=pipeline.spark)


def declared_of(table: Table) -> Declared:
    """The declaration of a table, beside the names and types that Spark tells."""
    names = table.names
    key, *unique = (tuple(names[column] for column in key) for key in (table.primary_key, *table.unique))
    foreign = tuple(
        ForeignColumns(tuple(names[column] for column in own.columns), own.table, own.references, own.enforced)
        for own in table.foreign_keys
    )
    columns = tuple(column for column in table.columns if column.length or not column.nullable)
    return Declared(key, tuple(unique), foreign, columns, table.settings)
