"""Running a pipeline on Spark."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from livejoin.checkpoint.log import is_epoch
from livejoin.errors import StorageError
from livejoin.pipeline.load import Pipeline
from livejoin.schema import Table
from livejoin.spark import BatchReport, Recovery, local_session
from livejoin.spark.checkpoint_lock import lock_checkpoint
from livejoin.spark.run_name import NAME_FILE, run_name
from livejoin.spark.sinks import Forgetting, OfSession, ParquetSink
from livejoin.spark.sinks.output_files import names_in, remove
from livejoin.spark.sources import ARRIVALS, read_changes
from livejoin.spark.streaming import end_of, start
from livejoin.spark.streams.frames import Declared, ForeignColumns
from livejoin.spark.streams.offsets import is_spark_half
from livejoin.state.store_folder import StorePath, named

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
    checkpoint = pipeline.checkpoint
    if pipeline.output is not None:
        sink = ParquetSink(pipeline.output)
        for view in pipeline.views:
            sink.clear(view)
    if isinstance(pipeline.sink, Forgetting) and NAME_FILE in names_in(checkpoint, NAME_FILE):
        if isinstance(pipeline.sink, OfSession):
            pipeline.sink.use(_session(pipeline))
        pipeline.sink.forget(run_name(checkpoint))
    letters = None if pipeline.options.letters is None else pipeline.options.letters.place
    for table in pipeline.declared:
        if letters is None:
            break
        of_table = letters / quote(table, safe=" ")
        for file in names_in(of_table, "part-"):
            if file.endswith(".parquet"):
                remove(of_table / file)
    for server in pipeline.servers:
        server.clear(checkpoint)
    if isinstance(checkpoint, StorePath):
        _clear_store(checkpoint)
        return
    for folder in _OURS:
        shutil.rmtree(checkpoint / folder, ignore_errors=True)
    (checkpoint / NAME_FILE).unlink(missing_ok=True)


def _clear_store(checkpoint: StorePath) -> None:
    """Remove a checkpoint, but for the number of its last opening: a query of before that sleeps is refused by it."""
    try:
        there = checkpoint.inside()
        folders = {key: key.partition("/")[0] for key in there}
        ours = [key for key, of in folders.items() if of in (*_OURS, NAME_FILE) or is_spark_half(of)]
        checkpoint.remove_all([key for key in ours if not is_epoch(key.rpartition("/")[2])])
    except OSError as error:
        msg = f"{str(checkpoint)!r} could not be cleared: {error}; repair that, and start again with --fresh"
        raise StorageError(msg) from error


def is_begun(pipeline: Pipeline) -> bool:
    """Whether the checkpoint of a pipeline has a state already."""
    below = pipeline.checkpoint / "livejoin"
    if isinstance(below, Path):
        return below.exists()
    try:
        return any(not is_epoch(key.rpartition("/")[2]) for key in below.inside())
    except OSError as error:
        msg = f"the checkpoint in {str(pipeline.checkpoint)!r} could not be read: {error}; repair that, and start again"
        raise StorageError(msg) from error


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
        name: read_changes(spark, source, _arrivals(pipeline)) for name, source in pipeline.sources.items()
    }
    for server in pipeline.servers:
        found.update(server.read(spark))
        if is_new and (rows := server.first_rows()):
            on_stage(f"the first batches bring all rows that are there: {rows}")
    tables = {name: found[name] for name in pipeline.declared}
    declared = {name: declared_of(table) for name, table in pipeline.declared.items()}
    options = replace(pipeline.options, on_batch=on_batch)
    sink = pipeline.sink
    if sink is None:
        assert pipeline.output is not None, "else it has a sink"
        sink = ParquetSink(pipeline.output, options.keep_output)
    query, batches = start(
        spark,
        pipeline.views,
        tables,
        declared,
        sink,
        named(pipeline.checkpoint),
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
            failed.add_note(f"more is in {_spark_log(pipeline)}")
        raise failed from None


def _spark_log(pipeline: Pipeline) -> Path:
    """Where Spark writes to: beside the state, or in the folder of temporary files where the state is in a store."""
    if isinstance(pipeline.checkpoint, Path):
        return pipeline.checkpoint / SPARK_LOG
    return Path(tempfile.gettempdir()) / f"livejoin-{os.getpid()}" / SPARK_LOG


def _arrivals(pipeline: Pipeline) -> Path | None:
    """Where files are copied in the order in which they arrive; None where the state is in a store."""
    return pipeline.checkpoint / ARRIVALS if isinstance(pipeline.checkpoint, Path) else None


def _session(pipeline: Pipeline) -> Any:
    """The session of a pipeline."""
    name = f"livejoin {pipeline.file.stem}"
    return local_session(name, log_file=_spark_log(pipeline), settings=pipeline.spark)


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
