"""Static tables that Spark reads for cells: packing their rows, their digests, and the check of their keys.

No cell sees all rows with a given key of a static table, so Spark looks for duplicate keys.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from livejoin.checkpoint.row_digest import Digest, digest
from livejoin.distributed import Plan, Task
from livejoin.distributed.bad_rows import refuse_null
from livejoin.distributed.parts import CellPart, Outbox
from livejoin.errors import DuplicateKeyError, LivejoinError
from livejoin.plan.dispatch import TableSample, sampled
from livejoin.plan.dispatch.sample import SAMPLE
from livejoin.schema import Table
from livejoin.schema.names import backticked
from livejoin.spark.distributed.steps import (
    SAID,
    SCHEMA,
    Step,
    collected_parts,
    failed,
    rows_of_parts,
    said,
    whole_changes,
)
from livejoin.spark.streams.frames import row_frame, without_zones


@dataclass(frozen=True, eq=False)
class StaticFrame:
    """A static table.

    Args:
        table: The declaration of the table.
        given: A frame with the rows of the table.
    """

    table: Table
    given: DataFrame

    @cached_property
    def rows(self) -> DataFrame:
        """The rows of the table, with its columns.

        Raises:
            SchemaError: The frame is a stream, or carries changes.
        """
        return row_frame(self.table.name, self.given, self.table.names)

    def sample(self) -> TableSample:
        """Statistics of the table's values; frequent values are counted."""
        rows = without_zones(self.rows.limit(SAMPLE).toArrow())
        total = self.rows.count() if rows.num_rows == SAMPLE else None
        return sampled(self.table, whole_changes(self.table, rows), total=total)

    def packed(self, plan: Plan, place: int, task: Task) -> tuple[list[CellPart], str]:
        """Pack the rows for the cells and compute their digest, by a Spark job without a shuffle.

        Args:
            plan: The plan that says where rows go.
            place: The position of the table among the static tables of the batch.
            task: The batch.

        Raises:
            DuplicateKeyError: Two rows have the same key.
            LivejoinError: A row does not fit the table.
        """
        self.check_keys()
        found = collected_parts(self.rows.mapInArrow(_packer(plan, self.table, place, task), SCHEMA))
        parts = [part for part in found if part.cell != SAID]
        return parts, _sum(found).of(self.table)

    def check_keys(self) -> None:
        """Check that no two rows have the same values in a key; rows with NULL in UNIQUE columns never conflict.

        Raises:
            DuplicateKeyError: Two rows have the same values.

        Cost: a Spark job with a shuffle for each key.
        """
        keys = [key for key in (self.table.primary_key, *self.table.unique) if key]
        for key in keys:
            columns = [_in_one_form(self.table, position).alias(f"k{position}") for position in key]
            names = [f"k{position}" for position in key]
            grouped = self.rows.select(*columns).dropna(subset=names).groupBy(*names).agg(F.count("*").alias("rows"))
            double = grouped.where("rows > 1").limit(1).collect()
            if double:
                shown = ", ".join(
                    f"{self.table.names[position]} = {double[0][name]!r}"
                    for position, name in zip(key, names, strict=True)
                )
                msg = f"{double[0]['rows']:,} rows of a static table have the key ({shown}); give one row of each key"
                raise DuplicateKeyError(msg, self.table.name)


def digest_of(table: Table, frame: DataFrame) -> str:
    """The digest of a static table, by a Spark job without a shuffle.

    Raises:
        SchemaError: The frame is a stream, or carries changes.
        LivejoinError: A row does not fit the table.
    """
    rows = StaticFrame(table, frame).rows
    return _sum(collected_parts(rows.mapInArrow(_digester(table), SCHEMA))).of(table)


def _sum(parts: list[CellPart]) -> Digest:
    """The sum of the digests that tasks computed."""
    return sum((pickle.loads(part.data) for part in parts if part.cell == SAID), Digest())


def _in_one_form(table: Table, position: int) -> Expression:
    column = F.col(backticked(table.names[position]))
    return F.rtrim(column) if table.columns[position].is_char else column


def _digester(table: Table) -> Step:
    """A Spark step that digests the rows of a static table."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = Digest()
        for batch in batches:
            try:
                found += digest(table, without_zones(pa.Table.from_batches([batch])))
            except LivejoinError as error:
                yield rows_of_parts([failed(error)])
                return
        yield rows_of_parts([said(found)])

    return run


def _packer(plan: Plan, table: Table, place: int, task: Task) -> Step:
    """A Spark step that packs the rows of a static table for cells."""
    folder, batch_id = task.folder, task.batch_id

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None, "executors have one"
        outbox, found = Outbox(plan, f"9{place:04d}{context.partitionId():08d}"), Digest()
        for batch in batches:
            rows = without_zones(pa.Table.from_batches([batch]))
            changes = whole_changes(table, rows)
            try:
                refuse_null(table, changes)
                found += digest(table, rows)
            except LivejoinError as error:
                yield rows_of_parts([failed(error)])
                return
            outbox.send(table.name.lower(), changes)
        yield rows_of_parts([*outbox.left(folder, batch_id), said(found)])

    return run
