"""The steps of a batch as Spark's executors run them: one packs what Spark read, the others are the cells' stages."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
from pyspark import SparkContext, TaskContext
from pyspark.sql import DataFrame

from livejoin.distributed import Outcome, Plan, Task
from livejoin.distributed.cell_process import advance_warm
from livejoin.distributed.parts import Outbox, Part, columns_of
from livejoin.errors import LivejoinError
from livejoin.schema import CHANGE_TYPE, SEQUENCE, Table
from livejoin.spark.frames import unpack

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
    ]
)
_SCHEMA = (
    "cell INT, stage INT, place INT, sender STRING, number INT, data BINARY, file STRING, begin BIGINT, size BIGINT"
)
_ARRIVED = -1  # the cell of a row that is no part

Done = tuple[Outcome, list[Part]] | LivejoinError
"""What a cell did and what it sends on, or why it could not."""


@dataclass(frozen=True)
class Packing:
    """How the changes of base tables travel.

    Args:
        plan: Where they go.
        tables: The base tables, in the order in which they are packed.
    """

    plan: Plan
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Arrived:
    """What a step that packs changes has seen.

    Args:
        changes: How many.
        time: The time of the batch; None where nothing came.
    """

    changes: int
    time: datetime | None


def packed(frame: DataFrame, packing: Packing, task: Task) -> tuple[list[Part], Arrived]:
    """Pack what Spark read for the cells, by a Spark job without a shuffle.

    Args:
        frame: The packed frame of the batch.
        packing: How.
        task: The batch.

    Returns:
        The parts, and what has come.
    """
    parts, seen = list[Part](), list[Arrived]()
    for batch in frame.mapInArrow(packer(packing, task), _SCHEMA).toArrow().to_batches():
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            part = Part(*row)
            if part.cell == _ARRIVED:
                seen.append(pickle.loads(part.data))
            else:
                parts.append(part)
    time = next((one.time for one in seen if one.time is not None), None)
    return parts, Arrived(sum(one.changes for one in seen), time)


def packer(packing: Packing, task: Task) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The first step: what a task of Spark reads, to the cells."""
    names, folder, batch_id = [table.name for table in packing.tables], task.folder, task.batch_id

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None, "executors have one"
        outbox = Outbox(packing.plan, f"{context.partitionId():08d}")
        changes, time = 0, None
        for rows in _together(batches):
            arrived = unpack(names, rows, in_sequence=False)
            changes, time = changes + arrived.rows, arrived.time if time is None else time
            for table in packing.tables:
                if table.name in arrived.changes:
                    outbox.send(table.name.lower(), _whole(table, arrived.changes[table.name]))
        said = pickle.dumps(Arrived(changes, time))
        last = Part(_ARRIVED, 0, 0, "", 0, said, "", 0, 0)
        yield pa.RecordBatch.from_pydict(dict(columns_of([*outbox.left(folder, batch_id), last])), schema=_FIELDS)

    return run


def stage_by_executors(
    context: SparkContext, plan: Plan, task: Task, stage: int, came: dict[int, list[Part]]
) -> list[tuple[Outcome, list[Part]]]:
    """The part of some cells in a stage, by a Spark job with a task a cell.

    Args:
        context: Spark's.
        plan: The plan.
        task: The batch.
        stage: The stage.
        came: The cells, with what is brought to each.

    Raises:
        LivejoinError: A cell cannot do its part.
    """
    wanted = [(cell, came[cell], task.of(stage, cell)) for cell in sorted(came)]

    def run(some: Iterable[tuple[int, list[Part], Task]]) -> Iterable[Done]:
        for cell, parts, batch in some:
            try:
                yield advance_warm(plan, batch, stage, cell, parts)
            except LivejoinError as error:  # no reason for Spark to try again
                yield error

    found = list[tuple[Outcome, list[Part]]]()
    for done in context.parallelize(wanted, len(wanted)).mapPartitions(run).collect():
        if isinstance(done, LivejoinError):
            raise done
        found.append(done)
    return found


def _together(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches as tables of about so many rows as are packed together."""
    some, rows = list[pa.RecordBatch](), 0
    for batch in batches:
        some.append(batch)
        rows += batch.num_rows
        if rows >= _AT_ONCE:
            yield pa.Table.from_batches(some)
            some, rows = [], 0
    if rows:
        yield pa.Table.from_batches(some)


def _whole(table: Table, changes: pa.Table) -> pa.Table:
    """Changes with the columns of their table first, in its order, and what they are behind them."""
    found = changes.select([column.name for column in table.columns])
    kinds = pa.repeat(pa.scalar("insert"), changes.num_rows)
    if CHANGE_TYPE in changes.column_names:
        kinds = changes.column(CHANGE_TYPE)
    found = found.append_column(CHANGE_TYPE, kinds)
    return found.append_column(SEQUENCE, changes.column(SEQUENCE)) if SEQUENCE in changes.column_names else found
