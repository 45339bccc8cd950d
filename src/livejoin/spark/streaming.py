"""``maintain``: views over DataFrames of changes, kept up to date by one streaming query."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from livejoin.checkpoint.engine import open_engine
from livejoin.checkpoint.initial import Initial
from livejoin.checkpoint.job import job_of
from livejoin.checkpoint.policy import OnBad
from livejoin.checkpoint.recovery import Recovery
from livejoin.checkpoint.static_tables import OnStaticChange, check_on_static_change
from livejoin.errors import PipelineError, SchemaError
from livejoin.schema import CHANGE_TYPE, Retain
from livejoin.spark.batch_frame import as_stream
from livejoin.spark.batch_function import BatchFunction
from livejoin.spark.checkpoint_lock import lock_checkpoint
from livejoin.spark.dead_letters import Letter
from livejoin.spark.distributed.start import cells_of, open_cells
from livejoin.spark.frames import Declared, pack, rows_of, table_of
from livejoin.spark.local_folder import hadoop_path, local_folder
from livejoin.spark.maintained_query import MaintainedQuery
from livejoin.spark.micro_batch import BatchReport, MicroBatches
from livejoin.spark.offsets import arranged, check_begun, clear_unbegun, unread_columns
from livejoin.spark.run_name import run_name
from livejoin.spark.run_options import Keep, Mode, RunOptions
from livejoin.spark.sinks import FunctionSink, ParquetSink, Sink, SinkFunction, sink_views
from livejoin.spark.stream_part import StreamPart
from livejoin.spark.table_options import Changes, ForeignKeys, TableOptions
from livejoin.spark.time_zone import check_zone


def maintain(
    spark: SparkSession,
    views: Mapping[str, str],
    tables: Mapping[str, DataFrame | StreamPart],
    windows: Mapping[str, int] | None = None,
    *,
    keys: Mapping[str, str | Sequence[str]] | None = None,
    sequence_by: Mapping[str, str] | None = None,
    apply_as_deletes: Mapping[str, str] | None = None,
    changes: Mapping[str, Changes] | None = None,
    window_range: Mapping[str, tuple[str, dt.timedelta | int]] | None = None,
    foreign_keys: Mapping[str, ForeignKeys] | None = None,
    unique: Mapping[str, Sequence[str | Sequence[str]]] | None = None,
    tombstones: Mapping[str, int] | None = None,
    retain: Mapping[str, Retain] | None = None,
    static: Collection[str] = (),
    append_only: Collection[str] = (),
    sink: Literal["parquet"] | SinkFunction | Sink = "parquet",
    path: str | Path | None = None,
    checkpoint: str | Path | None = None,
    trigger: Mapping[str, Any] | None = None,
    memory_limit: str | int | None = None,
    spill: str | Path | None = None,
    spill_over: str | int | None = None,
    allow_product: bool = False,
    keep: Keep = "used",
    initial: Initial = "difference",
    recovery_seconds: float | None = None,
    on_conflict: OnBad = "fail",
    on_bad_rows: OnBad = "fail",
    max_bad_rows: int = 1000,
    dead_letters: str | Path | Letter | None = None,
    mode: Mode = "embedded",
    cells: int | None = None,
    reshard: bool = False,
    keep_deltas: int = 0,
    on_static_change: OnStaticChange = "refresh",
    on_batch: Callable[[BatchReport], object] | None = None,
    on_recovery: Callable[[Recovery], object] | None = None,
) -> MaintainedQuery:
    """Keep views over changing tables up to date, and hand out what changed.

    All tables advance in one streaming query, so that a micro-batch is one atomic commit. The engine runs inside of
    this process; each batch is in the log in ``<checkpoint>/livejoin`` before it is applied, beside Spark's own
    checkpoint in ``<checkpoint>/spark``. A query that was stopped or killed continues from there when ``maintain`` is
    called again, without loss and without repetition in its Parquet output. Views may be other ones then, tables and
    columns may have come: docs/spark.md says what may change.

    Args:
        spark: A session of classic Spark (not Spark Connect).
        views: The SQL text of each view, which may read those before it.
        tables: The changes of each table, as streaming or batch frames. ``_change_type`` (``insert``, ``delete``,
            ``update_preimage``, ``update_postimage``, ``upsert``) is optional, its absence means insert. ``_seq``, an
            integer, is optional: it orders the rows of a micro-batch, which matters for windows and for tables with
            keys; without it they come in the order in which Spark reads them. Views are computed in UTC:
            in a session of another time zone those are refused whose result depends on it. Batch
            frames are written once to ``<checkpoint>/static`` and read as a stream from there. Parts of one stream, as
            `livejoin.spark.postgres.read_postgres` gives them, come with their keys, and with whole transactions.
        windows: For a table, how many rows it keeps: the oldest leave as new ones come.
        keys: For a table, the columns of its primary key. Its changes go by key: what comes, also as ``insert``, takes
            the place of the row with its key, a ``delete`` looks at the key alone, and that of an absent key is none.
        sequence_by: For a table with a key, the column that orders the changes of each key, as for
            `livejoin.Database.create_table`: those that are older than what is there, or was, are skipped. Of
            Debezium's envelopes it may be a path in the envelope, as ``source.lsn``, which becomes a column ``lsn``.
        apply_as_deletes: For a table with a key, a condition in Spark's SQL over the columns of its frame: the rows for
            which it is true delete their key, all others are upserts.
        changes: For a table, what its rows are, as in Spark's AUTO CDC: ``append``, insertions; ``upsert``, they take
            the place of the row with their key; ``cdf``, a Delta table's change data feed, with ``_change_type`` and
            ``_commit_version``; ``debezium``, envelopes, with ``op`` and the structs ``before`` and ``after``. Without
            it, ``_change_type`` says it.
        window_range: For a table, a column of times and a range, as ``{"E": ("ts", timedelta(hours=1))}``: rows stay
            while they are less than that older than the newest one.
        foreign_keys: For a table, which columns refer to which table, as ``{"orders": {"customer": "customers"}}``, or
            ``{("a", "b"): ("other", ["x", "y"])}``. A promise, which makes better plans possible and is not checked;
            the other table stands before in ``tables``.
        unique: For a table, its UNIQUE constraints, each a column or a list of them, as
            ``{"P": ["email", ["org", "no"]]}``. A batch behind which two rows have the same values ends the
            query with `DuplicateKeyError`.
        tombstones: For a table with ``sequence_by``, how many deleted keys are remembered, as for
            `livejoin.Database.create_table`.
        retain: For a table, ``"used"`` lets only the columns be sent that a view or a key uses, also if its rows are
            deleted as a whole or leave a window: rows that differ in others alone are equal. Tables whose rows stay for
            ever, or are found by a key, are sent so in any case.
        static: The names of tables that do not change while the query runs: their frames are no streams, and are read
            whole at each start. The views' plans may rest on that; see ``on_static_change``.
        append_only: The names of tables to which rows come and from which none leaves, as ``["events"]``; plans rest on
            that. A deletion or an update in the stream is a bad row (``on_bad_rows``), a second row with a key a
            conflict (``on_conflict``). Upserts, ``sequence_by`` and windows cannot stand beside it.
        sink: ``"parquet"`` writes the delta of each batch to ``<path>/<view>/part-<batch>.parquet``: the view's
            columns, ``_change_type``, ``_commit_version`` and ``_commit_timestamp``. A function gets the view's name,
            the delta as a DataFrame and the batch's number, as in ``foreachBatch``, where the delta is not empty.
        path: The folder of the Parquet output; a local or mounted one.
        checkpoint: The folder of the state; a local or mounted one.
        trigger: Arguments of Spark's ``trigger``, for example ``{"availableNow": True}``. None is Spark's default, or
            ``availableNow`` where all tables are batch frames.
        memory_limit: The most memory for the engine, or for each cell of a stage, as for ``livejoin.Database``. A
            batch that would pass it ends the query with `MemoryLimitError`, and none of it is applied; the next query
            with the same checkpoint begins with it, under a limit of its own.
        spill: A folder on a local disk, as for ``livejoin.Database``: a delta that takes more memory than
            ``spill_over`` is written there before its batch is applied, and goes to the Parquet output piece by piece.
            A function as a sink still gets it whole.
        spill_over: So many bytes, as for ``livejoin.Database``.
        allow_product: Whether conditions of the views may be over tables that no equality connects, as for
            `livejoin.Database.create_view`.
        keep: Which columns of tables without deletions, or with a key, are kept: those that are ``used`` by a view, or
            ``all``, so that a view that is added later may read any of them.
        initial: What the first batch tells of a view that is new, or another query than before, if the checkpoint has
            seen batches: the ``difference`` between its result and what its deltas have told so far, its ``whole``
            result as insertions, or ``nothing``. At the very first start views tell what they hold in any case but
            ``nothing``; an aggregate without groups has a row before the first change.
        recovery_seconds: How long applying the log again at a start may take before there is another snapshot of the
            tables, of each cell by itself. Without, there is one when the log behind the last one has come to be as
            large as the tables.
        on_conflict: What becomes of a deletion of an absent row and of a second row with a key: ``fail`` ends the
            query, ``skip`` leaves the change out, ``dead_letter`` too and tells of it. Tables with a key take what
            comes in the place of what is there, so that for them this is about UNIQUE alone.
        on_bad_rows: The same for values that their columns do not take, for rows for which an expression of a view has
            no value, of which each costs another try of the batch, and for what is no change: another
            ``_change_type``, none, no ``_seq``, and texts that were not read, which frames have in
            ``_corrupt_record``, as Spark calls it.
        max_bad_rows: How many changes of a batch may be left out; more of them end the query.
        dead_letters: A folder, which gets ``<table>/part-<batch>.parquet`` with the changes as they came and why in
            ``_reason``; or a function, called with each row as a dict, its table, the batch and the reason.
        mode: Where the engine runs. ``embedded``: in this process. ``distributed``: in the processes of Spark's
            executors, each cell with the rows that HyperCube sends there. Views and their deltas are the same. The
            folder of the checkpoint must be one that all hosts see, and livejoin be installed on them.
        cells: With ``distributed``, how many cells there are; about as many as the cores of the executors. Another
            number than before moves the rows with the first batch.
        reshard: With ``distributed``, whether it is chosen anew which rows go to which cells, by the rows that are
            there, and they move with the first batch of this query. The log of this process warns where the busiest
            cell of a join has more than twice the rows that were expected.
        keep_deltas: With ``distributed``, of how many batches before the newest one the deltas stay in the checkpoint
            for `livejoin.spark.read_deltas`.
        on_static_change: What becomes of a static table whose frame has other rows at a restart than the checkpoint:
            ``refresh`` brings what differs with the first batch, in its commit, so that views tell it; ``refuse`` is a
            `StateError`.
        on_batch: Called with a ``BatchReport`` after each batch, when the log says that it is done.
        on_recovery: Called with a ``Recovery`` where the checkpoint had a state: how many rows came back, how many
            batches were applied again, and how long that took.

    Returns:
        The running query, a `StreamingQuery`. An error in a batch ends it: ``query.failure`` is that error, as
        `AbsentRowError`; ``query.awaitTermination()`` raises a `QueryFailedError`, which is a `LivejoinError` and a
        `StreamingQueryException`, with the error's message first.

    Raises:
        SqlError: A view's SQL text does not bind.
        SchemaError: There is no table or no view, a window or a key names an unknown table, a column has an unknown
            type, a key or ``sequence_by`` cannot stand, ``memory_limit`` or ``spill_over`` is no size, ``spill`` is no
            path.
        MemoryLimitError: What the checkpoint holds takes more than the limit.
        PipelineError: ``path`` or ``checkpoint`` is missing or not local; the session is of Spark Connect.
        StateError: The checkpoint or the output belongs to another job, parts of the output that the checkpoint knows
            to be written are gone, or a query of this or another process that runs has the checkpoint.
        StorageError: The disk refuses to read the checkpoint, or to write there, into ``path``, ``dead_letters`` or
            ``spill``; or a batch frame can neither be written to where the driver sees it, nor be collected.
    """
    _check_names(views, tables)
    options = TableOptions(
        keys=keys or {},
        sequence_by=sequence_by or {},
        apply_as_deletes=apply_as_deletes or {},
        changes=changes or {},
        windows=windows or {},
        window_range=window_range or {},
        unique=unique or {},
        foreign_keys=foreign_keys or {},
        tombstones=tombstones or {},
        retain=retain or {},
        static=static,
        append_only=append_only,
    )
    declared = options.declared(tables)
    run = RunOptions(
        memory_limit,
        spill,
        spill_over,
        allow_product,
        keep,
        initial,
        recovery_seconds,
        on_conflict,
        on_bad_rows,
        max_bad_rows,
        dead_letters,
        mode,
        cells,
        reshard,
        keep_deltas,
        on_static_change,
    )
    frames = options.frames(tables)
    query, batches = start(spark, views, frames, declared, sink, path, checkpoint, trigger, run, on_batch)
    if on_recovery is not None and batches.recovery is not None:
        on_recovery(batches.recovery)
    return query


def start(
    spark: SparkSession,
    views: Mapping[str, str],
    tables: Mapping[str, DataFrame | StreamPart],
    declared: Mapping[str, Declared],
    sink: Literal["parquet"] | SinkFunction | Sink,
    path: str | Path | None,
    checkpoint: str | Path | None,
    trigger: Mapping[str, Any] | None,
    options: RunOptions,
    on_batch: Callable[[BatchReport], object] | None,
) -> tuple[MaintainedQuery, BatchFunction]:
    """``maintain``, which also hands out the object that commits the batches and keeps the error that ended it."""
    if not isinstance(spark, SparkSession):
        msg = f"maintain() needs a session of classic Spark, where the driver is this process; found {type(spark)}"
        raise PipelineError(msg)
    limits, policy, letters = options.limits, options.policy, options.letters
    check_on_static_change(options.on_static_change)
    _check_names(views, tables)
    plain = {name: frame.frame if isinstance(frame, StreamPart) else frame for name, frame in tables.items()}
    found = {name: table_of(name, frame, declared.get(name)) for name, frame in plain.items()}
    append_only = {
        name
        for name, frame in plain.items()
        if found[name].append_only or (_is_append_only(frame) and not found[name].has_window)
    }
    state = local_folder(checkpoint, "checkpoint")
    earlier = _earlier(tables, unread_columns(state / "spark", tables))
    job = job_of(found, views, append_only, options.keep == "all", options.allow_product, earlier)
    check_zone(spark, job)
    target = _sink(spark, sink, path)
    moving = {name: frame for name, frame in tables.items() if not found[name].static}
    if not moving:
        msg = "all tables are static; at least one has to change, or spark.sql computes the views once and for all"
        raise SchemaError(msg)
    spread = cells_of(job, options)
    lock = lock_checkpoint(state)
    try:
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
            batches, job, frames = open_cells(job, spread, options, state, target, on_batch, given, static)
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
            )
            lock.guard(engine)
            target.open(sink_views(engine.database), engine.last_batch, engine.parts, run_name(state))
            if engine.last_batch is None and engine.pending is None:
                clear_unbegun(state / "spark")
            else:
                check_begun(state / "spark")
            frames, job = arranged(state / "spark", given, engine.filled), engine.job
            batches = MicroBatches(engine, target, on_batch, tuple(frames), letters)
        writer = pack(frames, job.columns).writeStream.foreachBatch(batches)
        writer = writer.option("checkpointLocation", hadoop_path(state / "spark"))
        query = (writer.trigger(**trigger) if trigger else writer).start()
    except BaseException:
        lock.release()
        raise
    lock.hand_to(query)
    return MaintainedQuery(query, batches), batches


def _earlier(
    tables: Mapping[str, DataFrame | StreamPart], unread: Mapping[str, Collection[str]]
) -> dict[str, dict[str, str | None]]:
    """What columns are in rows from before they came, as far as their sources know."""
    return {
        name: {column: text for column, text in part.earlier.items() if column not in unread.get(name, ())}
        for name, part in tables.items()
        if isinstance(part, StreamPart) and part.earlier is not None
    }


def _is_append_only(frame: DataFrame) -> bool:
    return CHANGE_TYPE not in {name.lower() for name in frame.columns}


def end_of(query: StreamingQuery) -> threading.Event:
    """An event for the end of a query: an interrupt can end the wait for it without a word from Spark's bridge."""
    ended = threading.Event()

    def wait() -> None:
        with contextlib.suppress(Exception):  # the caller asks query.exception()
            query.awaitTermination()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    return ended


def _check_names(views: Mapping[str, str], tables: Mapping[str, DataFrame | StreamPart]) -> None:
    for argument, given, what in (("tables", tables, "frame"), ("views", views, "SQL text")):
        if not isinstance(given, Mapping):
            msg = f"{argument}= is {given!r:.80}; it takes a mapping, with the {what} of each name"
            raise SchemaError(msg)
    for name, frame in tables.items():
        if not isinstance(frame, (DataFrame, StreamPart)):
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


def _sink(spark: SparkSession, sink: Literal["parquet"] | SinkFunction | Sink, path: str | Path | None) -> Sink:
    if isinstance(sink, Sink):
        return sink
    if callable(sink):
        return FunctionSink(spark, sink)
    if sink != "parquet":
        allowed = "'parquet', a sink of livejoin.spark, and a function(view_name, delta_df, batch_id)"
        msg = f"sink={sink!r} is unknown; allowed are {allowed}"
        raise PipelineError(msg, key="sink")
    return ParquetSink(local_folder(path, "path"))
