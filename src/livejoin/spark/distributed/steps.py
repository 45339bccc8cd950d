"""The steps of a batch as Spark's executors run them: functions over Arrow batches, whose rows are parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext

from livejoin.distributed import Plan, Task
from livejoin.distributed.cell_process import advance_warm
from livejoin.distributed.parts import Arrived, Outbox, Part, plain
from livejoin.schema import CHANGE_TYPE, SEQUENCE, Table
from livejoin.spark.frames import unpack

SCHEMA = "cell INT, stage INT, place INT, sender STRING, number INT, data BINARY"
_TYPES = {"cell": pa.int32(), "stage": pa.int32(), "place": pa.int32(), "sender": pa.string(), "number": pa.int32()}
_BYTES = 1 << 24  # of a batch of rows
_FIELDS = pa.schema([*(pa.field(name, kind) for name, kind in _TYPES.items()), pa.field("data", pa.binary())])

Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Packing:
    """How the changes of base tables travel.

    Args:
        plan: Where they go.
        tables: The base tables, in the order in which they are packed.
    """

    plan: Plan
    tables: tuple[Table, ...]


def packer(packing: Packing) -> Step:
    """The first step: what Spark read, to the cells."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None, "executors have one"
        outbox = Outbox(packing.plan, f"{context.partitionId():08d}")
        if context.partitionId() == 0:
            outbox.begin()
        names = [table.name for table in packing.tables]
        changes, time = 0, None
        for batch in batches:
            arrived = unpack(names, pa.Table.from_batches([batch]), in_sequence=False)
            changes, time = changes + arrived.rows, arrived.time if time is None else time
            for table in packing.tables:
                if table.name in arrived.changes:
                    outbox.send(table.name.lower(), _whole(table, arrived.changes[table.name]))
            yield from _rows(outbox.taken())
        outbox.say(0, Arrived(changes, time))
        yield from _rows(outbox.taken())

    return run


def stage_runner(plan: Plan, task: Task, stage: int) -> Step:
    """The step of a stage: its cells, and what they send on."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        came: dict[int, list[Part]] = defaultdict(list)
        for batch in batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                came[row[0]].append(Part(*row))
        for cell in sorted(came):
            yield from _rows(advance_warm(plan, task, stage, cell, came[cell]))

    return run


def _rows(parts: Iterable[Part]) -> Iterator[pa.RecordBatch]:
    """Parts as rows, in batches that are not much larger than one part: the offsets of their data have 31 bits."""
    some: list[Part] = []
    size = 0
    for part in parts:
        some.append(part)
        size += len(part.data)
        if size >= _BYTES:
            yield pa.RecordBatch.from_pydict(dict(plain(some)), schema=_FIELDS)
            some, size = [], 0
    yield pa.RecordBatch.from_pydict(dict(plain(some)), schema=_FIELDS)


def _whole(table: Table, changes: pa.Table) -> pa.Table:
    """Changes with the columns of their table first, in its order, and what they are behind them."""
    found = changes.select([column.name for column in table.columns])
    kinds = pa.array(["insert"] * changes.num_rows, pa.string())
    if CHANGE_TYPE in changes.column_names:
        kinds = changes.column(CHANGE_TYPE)
    found = found.append_column(CHANGE_TYPE, kinds)
    return found.append_column(SEQUENCE, changes.column(SEQUENCE)) if SEQUENCE in changes.column_names else found
