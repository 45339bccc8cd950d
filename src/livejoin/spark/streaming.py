"""``maintain``: views over DataFrames of changes, maintained by one streaming query."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from livejoin.checkpoint.engine import Engine, open_engine
from livejoin.checkpoint.job import job_of
from livejoin.errors import PipelineError, SchemaError, StorageError
from livejoin.expressions import Expression, sql_of
from livejoin.schema import CHANGE_TYPE
from livejoin.spark.batch_function import BatchFunction
from livejoin.spark.checkpoint_lock import lock_checkpoint
from livejoin.spark.distributed.start import cells_of, check_mode, open_cells
from livejoin.spark.failures import OF_SPARK, said
from livejoin.spark.job_names import described
from livejoin.spark.maintained_query import MaintainedQuery
from livejoin.spark.micro_batch import MicroBatches
from livejoin.spark.own_places import OwnPlace, check_apart
from livejoin.spark.paths import hadoop_path, output_place
from livejoin.spark.run_name import run_name
from livejoin.spark.run_options import RunOptions
from livejoin.spark.sinks import FunctionSink, InFolder, OfSession, ParquetSink, Sink, SinkFunction, sink_views
from livejoin.spark.sources import ARRIVALS
from livejoin.spark.streams.batch_frame import as_stream
from livejoin.spark.streams.file_paths import files_of
from livejoin.spark.streams.frames import Declared, pack, rows_of, table_of
from livejoin.spark.streams.observed import observed
from livejoin.spark.streams.offsets import (
    arranged,
    check_begun,
    clear_unbegun,
    put_back,
    sources_of,
    spark_half,
    unread_columns,
)
from livejoin.spark.streams.progress import Progress
from livejoin.spark.streams.stream_part import StreamPart
from livejoin.spark.streams.table_stream import TableStream
from livejoin.spark.time_zone import check_zone
from livejoin.state.store_folder import Place, StorePath


def maintain(  # noqa: PLR0913  # all that a pipeline is
    spark: SparkSession,
    views: Mapping[str, str | Expression],
    tables: Mapping[str, DataFrame | StreamPart | TableStream],
    *,
    sink: Literal["parquet"] | SinkFunction | Sink = "parquet",
    path: str | Path | None = None,
    checkpoint: str | Path | None = None,
    trigger: Mapping[str, Any] | None = None,
    options: RunOptions | None = None,
    assertions: Mapping[str, str] | None = None,
) -> MaintainedQuery:
    """Maintain views over changing tables, and deliver their deltas.

    All tables advance in one streaming query, so a micro-batch is one atomic commit. The engine runs in this process.
    Each batch is in the log in ``<checkpoint>/livejoin`` before it is applied; Spark's own checkpoint is in
    ``<checkpoint>/spark``. To continue a query that was stopped or killed, call ``maintain`` again: no row is lost, and
    none is repeated in the Parquet output. Views may then differ, and tables and columns may be new: docs/spark.md says
    what may change.

    Args:
        spark: A session of classic Spark (not Spark Connect).
        views: The SQL text of each view, or an expression of Ibis; it may read earlier ones.
        tables: The changes of each table, as streaming or batch frames.

            An optional column ``_change_type`` is ``insert``, ``delete``, ``update_preimage``, ``update_postimage`` or
            ``upsert``; without it every row is an insertion. An optional integer column ``_seq`` orders the rows of a
            micro-batch, which matters for windows and keys; without it rows come as Spark reads them.

            Batch frames are written once to ``<checkpoint>/static`` and read as a stream from there. Parts of one
            stream, as from `livejoin.spark.postgres.read_postgres`, bring their keys and whole transactions. To give a
            table a key, a window or other settings, write ``livejoin.spark.stream(frame, key="id")``.

            Views are computed in UTC. In a session of another time zone, views whose result depends on the zone are
            refused.
        sink: ``"parquet"`` writes the delta of each batch to ``<path>/<view>/part-<batch>.parquet``: the view's
            columns, ``_change_type``, ``_commit_version`` and ``_commit_timestamp``. A function is called for each
            delta that is not empty, as in ``foreachBatch``, with the view's name, the delta as a DataFrame and the
            batch's number.
        path: The folder of the Parquet output, local or mounted; or the URL of a place in an object store.
        checkpoint: The folder of the state, local or mounted; or the URL of a place in an object store, as
            ``s3a://bucket/orders``, which Spark and obstore must both reach (docs/guides/object-stores.md).
        trigger: Arguments of Spark's ``trigger``, for example ``{"availableNow": True}``. None is Spark's default, or
            ``availableNow`` if all tables are batch frames.
        options: Options of the run: memory, bad rows, cells and more.
        assertions: Conditions that hold after every batch, as ``{"no_debts": "NOT EXISTS (SELECT ... )"}``; as
            `livejoin.Database.create_assertion`. A batch that violates one ends the query with `ViolationError`, or
            loses the changes that do, as ``on_bad_rows`` of ``options`` says.

    Returns:
        The running query, a `StreamingQuery`. An error in a batch ends the query: ``query.failure`` is that error, for
        example an `AbsentRowError`. ``query.awaitTermination()`` raises a `QueryFailedError`, which is both a
        `LivejoinError` and a `StreamingQueryException`, with the error's message first.

    Raises:
        SqlError: The SQL of a view is not valid.
        SchemaError: There is no table or no view; a window or a key names an unknown column; a column has an unknown
            type; a key or ``sequence_by`` contradicts other settings; ``memory_limit`` or ``spill_over`` is no size, or
            ``spill`` no path.
        MemoryLimitError: The state in the checkpoint takes more than the limit.
        PipelineError: ``path`` or ``checkpoint`` is missing, or is neither local nor in a store that Spark reaches; one
            of the folders of the query, those that are read among them, is another one or lies in it; the session is of
            Spark Connect.
        StateError: The checkpoint or the output belongs to another job; parts of the output that the checkpoint knows
            are gone; or another running query holds the checkpoint.
        StorageError: The disk refuses to read or write the checkpoint, ``path``, ``dead_letters`` or ``spill``. Or a
            batch frame can neither be written where the driver sees it, nor be collected.
    """
    options = RunOptions() if options is None else options
    if not isinstance(options, RunOptions):
        msg = f"options= is {options!r:.80}; it takes RunOptions(...), as of livejoin.spark"
        raise SchemaError(msg)
    _check_names(views, tables)
    streams = {name: one if isinstance(one, TableStream) else TableStream(one) for name, one in tables.items()}
    declared = {name: one.declared(name) for name, one in streams.items()}
    frames = {name: one.with_change_type(name) for name, one in streams.items()}
    texts = {name: sql_of(one) for name, one in views.items()}
    into = _sink(spark, sink, path, options)
    query, batches = start(spark, texts, frames, declared, into, checkpoint, trigger, options, assertions=assertions)
    if options.on_recovery is not None and batches.recovery is not None:
        options.on_recovery(batches.recovery)
    return query


def start(  # noqa: PLR0913  # as maintain
    spark: SparkSession,
    views: Mapping[str, str],
    tables: Mapping[str, DataFrame | StreamPart],
    declared: Mapping[str, Declared],
    sink: Sink,
    checkpoint: str | Path | None,
    trigger: Mapping[str, Any] | None,
    options: RunOptions,
    *,
    assertions: Mapping[str, str] | None = None,
) -> tuple[MaintainedQuery, BatchFunction]:
    """``maintain``, and the object that commits the batches and keeps the error that ended the query."""
    if not isinstance(spark, SparkSession):
        msg = f"maintain() needs a session of classic Spark, where the driver is this process; found {type(spark)}"
        raise PipelineError(msg)
    limits, policy, letters = options.limits, options.policy, options.letters
    if options.keep_output is not None and not isinstance(sink, ParquetSink):
        msg = f"keep_output={options.keep_output!r} is for sink='parquet', and another one is given; leave it out"
        raise PipelineError(msg, key="keep_output")
    plain = {name: frame.frame if isinstance(frame, StreamPart) else frame for name, frame in tables.items()}
    found = {name: table_of(name, frame, declared.get(name)) for name, frame in plain.items()}
    append_only = {
        name
        for name, frame in plain.items()
        if found[name].append_only or (_is_append_only(frame) and not found[name].has_window)
    }
    state = output_place(checkpoint, "checkpoint")
    check_apart(_places(state, sink, options, plain))
    if isinstance(state, StorePath):
        _check_known(spark, str(state))
    earlier = _earlier(tables, unread_columns(spark_half(state), tables))
    keep_all = options.keep == "all"
    job = job_of(found, views, append_only, keep_all, options.allow_product, earlier, assertions)
    check_zone(spark, job)
    moving = {name: frame for name, frame in tables.items() if not found[name].static}
    if not moving:
        msg = "all tables are static; at least one has to change, or spark.sql computes the views once and for all"
        raise SchemaError(msg)
    spread = cells_of(job, options)
    if isinstance(sink, OfSession):
        sink.use(spark)
    lock = lock_checkpoint(state)
    try:
        check_mode(state, spread is not None)
        if letters is not None:
            letters.prepare()
        given: dict[str, DataFrame | StreamPart] = {
            name: frame
            if isinstance(frame, StreamPart) or frame.isStreaming
            else as_stream(spark, frame, state / "static" / quote(name, safe=""))
            for name, frame in moving.items()
        }
        if trigger is None and not any(plain[name].isStreaming for name in moving):
            trigger = {"availableNow": True}
        batches: BatchFunction
        if spread is not None:
            static = {name: frame for name, frame in plain.items() if found[name].static}
            batches, job, frames = open_cells(spark, job, spread, options, state, sink, given, static)
            lock.guard(batches)
        else:
            engine = open_engine(
                job,
                state / "livejoin",
                limits,
                initial=options.initial,
                recovery_seconds=options.recovery_seconds,
                policy=policy,
                rows_of=lambda table: rows_of(table.name, plain[table.name], [one.name for one in table.columns]),
                on_static_change=options.on_static_change,
                keep_versions=options.keep_versions,
            )
            lock.guard(engine)
            sink.open(sink_views(engine.database), engine.last_batch, engine.parts, run_name(state))
            half = spark_half(state)
            if engine.last_batch is None and engine.pending is None:
                clear_unbegun(half)
            else:
                check_begun(half)
            if isinstance(half, StorePath):
                _put_back(half, engine)
            frames, job = arranged(half, given, engine.filled), engine.job
            progress = Progress(spark, sources_of(frames)) if isinstance(half, StorePath) else None
            batches = MicroBatches(engine, sink, options.on_batch, tuple(frames), letters, progress)
        packed = observed(pack(frames, job.columns), frames)
        writer = packed.writeStream.foreachBatch(_described(batches, options.name or "livejoin"))
        if options.name is not None:
            writer = writer.queryName(options.name)
        writer = writer.option("checkpointLocation", hadoop_path(spark_half(state)))
        query = _started(writer.trigger(**trigger) if trigger else writer, state)
    except BaseException:
        lock.release()
        raise
    lock.hand_to(query)
    return MaintainedQuery(query, batches), batches


def _started(writer: DataStreamWriter, state: Place) -> StreamingQuery:
    """The query of a writer.

    Raises:
        StorageError: The checkpoint is in a store, and the store refuses Spark.
    """
    try:
        return writer.start()
    except Py4JJavaError as error:
        if not isinstance(state, StorePath):
            raise
        msg = (
            f"Spark cannot write its half of the checkpoint in {str(state)!r}: {said(_thrown(error))}. livejoin can "
            "write there; Spark finds the store, and its credentials, by settings of its own, as "
            "spark.hadoop.fs.s3a.endpoint"
        )
        raise StorageError(msg) from None


def _thrown(error: Py4JJavaError) -> str:
    """What Java said, without Python's line in front."""
    return str(error).partition("\n: ")[2] or str(error)


def _put_back(half: StorePath, engine: Engine) -> None:
    """Let Spark's half in a store say what the log says. In a folder a file appears by a rename, of which one succeeds.

    Raises:
        StateError: Spark's half has another form.
        StorageError: The store refuses.
    """
    put_back(half, engine.last_batch, engine.ends)
    if engine.pending is not None:
        put_back(half, engine.pending.batch_id, engine.pending.ends)


def _check_known(spark: SparkSession, url: str) -> None:
    """Refuse the URL of a store that Spark cannot reach, as it keeps its half of the checkpoint there.

    Raises:
        PipelineError: Spark has no file system for the scheme.
    """
    scheme = url.partition("://")[0]
    jvm, context = spark._jvm, spark.sparkContext._jsc
    assert jvm is not None
    assert context is not None
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, context.hadoopConfiguration())
    except OF_SPARK as error:
        msg = (
            f"Spark has no file system for {scheme}://, and keeps its half of the checkpoint in {url!r}: give the URL "
            "with the scheme that it knows, as s3a:// where Hadoop's own jars are (org.apache.hadoop:hadoop-aws), or "
            "the jars of that store"
        )
        raise PipelineError(msg, key="checkpoint") from error


def _places(state: Place, sink: Sink, options: RunOptions, frames: Mapping[str, DataFrame]) -> list[OwnPlace]:
    """The folders of a query, as far as they are known."""
    letters = None if options.letters is None else options.letters.place
    written = {"checkpoint=": state, "spill=": options.limits.spill, "dead_letters=": letters}
    if isinstance(sink, InFolder):
        written["path="] = sink.folder
    places = [
        OwnPlace(name, path if isinstance(path, StorePath) else Path(path).absolute())
        for name, path in written.items()
        if isinstance(path, (str, Path, StorePath))
    ]
    for name, frame in frames.items():
        for path, below in files_of(frame) if frame.isStreaming else ():
            if not isinstance(state, Path) or not path.is_relative_to(state / ARRIVALS):
                places.append(OwnPlace(f"the files of table {name!r}", path, below, is_read=True))
    return places


def _earlier(
    tables: Mapping[str, DataFrame | StreamPart], unread: Mapping[str, Collection[str]]
) -> dict[str, dict[str, str | None]]:
    """The values of columns in older rows, as far as their sources know them."""
    return {
        name: {column: text for column, text in part.earlier.items() if column not in unread.get(name, ())}
        for name, part in tables.items()
        if isinstance(part, StreamPart) and part.earlier is not None
    }


def _is_append_only(frame: DataFrame) -> bool:
    return CHANGE_TYPE not in {name.lower() for name in frame.columns}


def _described(batches: BatchFunction, title: str) -> Callable[[DataFrame, int], None]:
    """The function of ``foreachBatch``, whose jobs are named on Spark's pages."""

    def run(frame: DataFrame, batch_id: int) -> None:
        with described(frame.sparkSession, f"{title}, batch {batch_id}"):
            batches(frame, batch_id)

    return run


def end_of(query: StreamingQuery) -> threading.Event:
    """An event for the end of a query. An interrupt can end the wait for it, without an error of Spark's bridge."""
    ended = threading.Event()

    def wait() -> None:
        with contextlib.suppress(Exception):  # the caller asks query.exception()
            query.awaitTermination()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended


def _check_names(
    views: Mapping[str, str | Expression], tables: Mapping[str, DataFrame | StreamPart | TableStream]
) -> None:
    for argument, given, what in (("tables", tables, "frame"), ("views", views, "SQL text")):
        if not isinstance(given, Mapping):
            msg = f"{argument}= is {given!r:.80}; it takes a mapping, with the {what} of each name"
            raise SchemaError(msg)
    for name, frame in tables.items():
        if not isinstance(frame, (DataFrame, StreamPart, TableStream)):
            msg = (
                f"tables= has {frame!r:.80} for {name!r}, which is no frame; give a DataFrame, as "
                "spark.readStream.table(...) or spark.readStream.schema(...).parquet(...) makes one"
            )
            raise SchemaError(msg)
    if not tables:
        msg = 'no tables are given; tables= needs at least one frame of changes, for example {"G": changes}'
        raise SchemaError(msg)
    if not views:
        msg = 'no views are given; views= needs at least one SQL text, for example {"hop3": "SELECT ..."}'
        raise SchemaError(msg)


def _sink(
    spark: SparkSession, sink: Literal["parquet"] | SinkFunction | Sink, path: str | Path | None, options: RunOptions
) -> Sink:
    if isinstance(sink, Sink):
        return sink
    if callable(sink):
        return FunctionSink(spark, sink)
    if sink != "parquet":
        allowed = "'parquet', a sink of livejoin.spark, and a function(view_name, delta_df, batch_id)"
        msg = f"sink={sink!r} is unknown; allowed are {allowed}"
        raise PipelineError(msg, key="sink")
    return ParquetSink(output_place(path, "path"), options.keep_output)
