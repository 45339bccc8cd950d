"""The steps of a batch in Spark's executors: one packs the rows that Spark read, the others are the stages of cells."""

from __future__ import annotations

import pickle
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark import SparkContext, TaskContext
from pyspark.errors.exceptions.base import PythonException
from pyspark.sql import DataFrame

from livejoin.changes.convert import in_one_form
from livejoin.distributed import Outcome, Plan, Task
from livejoin.distributed.bad_rows import Kept, Some, keep, send, to_send
from livejoin.distributed.cell_process import advance_warm
from livejoin.distributed.driver import Arrived
from livejoin.distributed.moves import Asked, Known, together, with_values
from livejoin.distributed.parts import CellPart, Outbox, columns_of, remove_files
from livejoin.errors import LivejoinError, PipelineError
from livejoin.schema import CHANGE_TYPE, CORRUPT, ORIGIN, REFUSED, SEQUENCE, WITHOUT, Table
from livejoin.spark.streams.frames import unpack
from livejoin.state.store_folder import Place

_AT_ONCE = 1 << 16  # rows that are packed together: Spark's batches of Arrow are smaller
_FIELDS = pa.schema(
    [
        *((name, pa.int32()) for name in ("cell", "stage", "place")),
        ("sender", pa.string()),
        ("number", pa.int32()),
        ("data", pa.binary()),
        ("file", pa.string()),
        ("begin", pa.int64()),
        ("size", pa.int64()),
        ("is_tick", pa.bool_()),
    ]
)
SCHEMA = (
    "cell INT, stage INT, place INT, sender STRING, number INT, data BINARY, file STRING, begin BIGINT, size BIGINT, "
    "is_tick BOOLEAN"
)
SAID = -1
"""The cell of a row that is no part, and says something to the driver."""
_FAILED = -2

Done = tuple[Outcome, list[CellPart]] | LivejoinError
"""What a cell did and what it sends on, or why it could not."""

Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Packing:
    """How the changes of base tables are sent to cells.

    Args:
        plan: The plan that says where rows go.
        tables: The base tables, in the order in which they are packed.
        known: The rows that were asked for; None before asking.
    """

    plan: Plan
    tables: tuple[Table, ...]
    known: Known | None = None


def packed(frame: DataFrame, packing: Packing, task: Task) -> tuple[list[CellPart], Arrived] | Asked:
    """Pack the rows that Spark read for the cells, by a Spark job without a shuffle.

    Args:
        frame: The packed frame of the batch.
        packing: How rows are sent.
        task: The batch.

    Returns:
        The parts, and a summary of the rows; or the keys of rows that are needed first, and then no part is written.
    """
    parts, answers = list[CellPart](), list[Arrived | Asked]()
    for part in collected_parts(frame.mapInArrow(packer(packing, task), SCHEMA)):
        if part.cell == SAID:
            answers.append(pickle.loads(part.data))
        else:
            parts.append(part)
    seen = [one for one in answers if isinstance(one, Arrived)]
    if len(seen) < len(answers):
        remove_files(task.folder, parts)
        return together(one for one in answers if isinstance(one, Asked))
    time = next((one.time for one in seen if one.time is not None), None)
    return parts, Arrived(sum(one.changes for one in seen), time)


def collected_parts(frame: DataFrame) -> list[CellPart]:
    """Run a step in executors and collect its parts.

    Raises:
        LivejoinError: The step failed in an executor.
        PipelineError: livejoin is not installed on an executor.
    """
    found = list[CellPart]()
    for batch in collected(frame).to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            part = CellPart(*row)
            if part.cell == _FAILED:
                raise pickle.loads(part.data)
            found.append(part)
    return found


def collected(frame: DataFrame) -> pa.Table:
    """Run a step in executors and collect its rows.

    Raises:
        PipelineError: livejoin is not installed on an executor.
    """
    try:
        return frame.toArrow()
    except PythonException as error:
        if missing := re.search(r"ModuleNotFoundError: No module named '(\w+)", str(error)):
            msg = (
                f"the Python of Spark's executors has no {missing[1]}: install livejoin there, and let "
                "PYSPARK_PYTHON name that Python before the session starts; livejoin.spark.local_session does so"
            )
            raise PipelineError(msg) from error
        if "which needs obstore" in str(error):
            msg = (
                "the checkpoint is in an object store, and the Python of Spark's executors has no obstore: "
                "pip install 'livejoin[cloud]' there, as in the driver's Python"
            )
            raise PipelineError(msg) from error
        raise


def rows_of_parts(parts: Iterable[CellPart]) -> pa.RecordBatch:
    """Parts as rows."""
    return pa.RecordBatch.from_pydict(dict(columns_of(parts)), schema=_FIELDS)


def said(what: object) -> CellPart:
    """A message to the driver, as a row that is no part."""
    return CellPart(SAID, 0, 0, "", 0, pickle.dumps(what), "", 0, 0)


def failed(error: LivejoinError) -> CellPart:
    """An error as a row; there are no parts then."""
    return CellPart(_FAILED, 0, 0, "", 0, pickle.dumps(error), "", 0, 0)


def packer(packing: Packing, task: Task) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The first step: send the rows that a task of Spark reads to the cells."""
    folder, batch_id = task.folder, task.batch_id

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None, "executors have one"
        try:
            check_shared(folder)
        except LivejoinError as error:
            yield rows_of_parts([failed(error)])
            return
        outbox = Outbox(packing.plan, f"{context.partitionId():08d}")
        try:
            arrived, asked = _sent_on(packing, task, outbox, batches)
            if asked is None:
                yield rows_of_parts([*outbox.left(folder, batch_id), said(arrived)])
            else:
                yield rows_of_parts([said(asked)])
        except LivejoinError as error:
            yield rows_of_parts([failed(error)])

    return run


def _sent_on(
    packing: Packing, task: Task, outbox: Outbox, batches: Iterator[pa.RecordBatch]
) -> tuple[Arrived, Asked | None]:
    """Send the rows that a task reads, piece by piece; or find out which other rows are needed first.

    Rows that lack values are sent together at the end: one may need the value of another.
    """
    count, time, whole = 0, None, dict[str, list[pa.Table]]()
    for rows in _together(batches):
        arrived = unpack([table.name for table in packing.tables], rows, in_sequence=False)
        count, time = count + arrived.rows, arrived.time if time is None else time
        for table in packing.tables:
            if table.name in arrived.changes:
                found = whole_changes(table, arrived.changes[table.name])
                if WITHOUT in found.column_names:
                    whole.setdefault(table.name, []).append(found)
                else:
                    outbox.send(table.name.lower(), to_send(table, found))
    asked = list[Asked]()
    for table in packing.tables:
        if table.name in whole:
            changes = pa.concat_tables(whole[table.name], promote_options="default")
            found, asks = with_values(table, changes, packing.known, task.folder)
            if asks is None:
                outbox.send(table.name.lower(), to_send(table, found))
            else:
                asked.append(asks)
    return Arrived(count, time), together(asked) if asked else None


def check_shared(folder: Place) -> None:
    """Check, on the host of an executor, that it sees the driver's checkpoint. Of a store it is seen when it is asked.

    Raises:
        PipelineError: The folder is not there.
    """
    if isinstance(folder, Path) and not folder.is_dir():
        msg = (
            f"the checkpoint is not on the host {socket.gethostname()} of an executor: there is no {folder}. "
            "mode='distributed' needs a folder that the driver and all executors see under one path, as of NFS, or a "
            "place in an object store"
        )
        raise PipelineError(msg, key="checkpoint")


def kept(frame: DataFrame, packing: Packing, task: Task) -> list[Kept] | Asked:
    """Write down the rows that Spark reads of a batch, by a Spark job without a shuffle.

    Args:
        frame: The packed frame of the batch.
        packing: How rows are sent, and the rows that were asked for.
        task: The batch.

    Returns:
        The files; or the keys of rows that are needed first.

    Raises:
        LivejoinError: As `livejoin.distributed.bad_rows.keep`.
    """
    tables = packing.tables
    names = [table.name for table in tables]

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None, "executors have one"
        pieces, time = dict[str, list[pa.Table]](), None
        for rows in _together(batches):
            arrived = unpack(names, rows, in_sequence=False)
            time = arrived.time if time is None else time
            for table in tables:
                if table.name in arrived.changes:
                    found = whole_changes(table, arrived.changes[table.name])
                    pieces.setdefault(table.name, []).append(found)
        try:
            changes, asked = dict[str, pa.Table](), list[Asked]()
            for table in tables:
                if table.name in pieces:
                    whole = pa.concat_tables(pieces[table.name], promote_options="default")
                    changes[table.name], asks = with_values(table, whole, packing.known, task.folder)
                    asked += [] if asks is None else [asks]
            answer: Kept | Asked = (
                together(asked) if asked else keep(task, f"{context.partitionId():08d}", tables, changes, time)
            )
            row = said(answer)
        except LivejoinError as error:
            row = failed(error)
        yield rows_of_parts([row])

    answers = [pickle.loads(part.data) for part in collected_parts(frame.mapInArrow(run, SCHEMA))]
    asked = [one for one in answers if isinstance(one, Asked)]
    return together(asked) if asked else answers


def sent(context: SparkContext, plan: Plan, task: Task, some: Sequence[Some]) -> list[CellPart]:
    """Send changes that were written down to the cells, by a Spark job with a task for each file of them.

    Raises:
        LivejoinError: As `livejoin.distributed.bad_rows.send`.
    """

    def run(wanted: Iterable[Some]) -> Iterable[list[CellPart] | LivejoinError]:
        for one in wanted:
            try:
                yield send(plan, task, one)
            except LivejoinError as error:  # no reason for Spark to try again
                yield error

    found = list[CellPart]()
    for parts in context.parallelize(some, len(some)).mapPartitions(run).collect() if some else ():
        if isinstance(parts, LivejoinError):
            raise parts
        found += parts
    return found


def stage_by_executors(
    context: SparkContext, plan: Plan, task: Task, stage: int, came: dict[int, list[CellPart]]
) -> list[tuple[Outcome, list[CellPart]]]:
    """Run a stage in some cells, by a Spark job with a task for each cell.

    Args:
        context: Spark's context.
        plan: The plan.
        task: The batch.
        stage: The stage.
        came: The cells, with the parts that each is sent.

    Raises:
        LivejoinError: A cell fails.
    """
    wanted = [(cell, came[cell], task.of(stage, cell)) for cell in sorted(came)]

    def run(some: Iterable[tuple[int, list[CellPart], Task]]) -> Iterable[Done]:
        for cell, parts, batch in some:
            try:
                check_shared(task.folder)
                yield advance_warm(plan, batch, stage, cell, parts)
            except LivejoinError as error:  # no reason for Spark to try again
                yield error

    found = list[tuple[Outcome, list[CellPart]]]()
    for done in context.parallelize(wanted, len(wanted)).mapPartitions(run).collect():
        if isinstance(done, LivejoinError):
            raise done
        found.append(done)
    return found


def _together(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches joined to tables of about the size that is packed at once."""
    some, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        some.append(batch)
        rows += batch.num_rows
        if rows >= _AT_ONCE:
            yield pa.Table.from_batches(some)
            some, rows = [], 0
    if rows:
        yield pa.Table.from_batches(some)


def whole_changes(table: Table, changes: pa.Table) -> pa.Table:
    """Changes with the columns of their table first, in its order and types, then the columns of the change stream."""
    columns = {column.name: in_one_form(changes.column(column.name), column) for column in table.columns}
    found = pa.table(columns)
    kinds = pa.repeat(pa.scalar("insert"), changes.num_rows)
    if CHANGE_TYPE in changes.column_names:
        kinds = changes.column(CHANGE_TYPE)
    found = found.append_column(CHANGE_TYPE, kinds)
    for name in (SEQUENCE, WITHOUT, CORRUPT, ORIGIN, REFUSED):
        if name in changes.column_names:
            found = found.append_column(name, changes.column(name))
    return found
