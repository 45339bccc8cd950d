"""The delta of a view in a batch: in memory, in a file if it is large, or several of them one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

import pyarrow as pa

from livejoin.database.commit import Commit

TIMESTAMP = "_commit_timestamp"
TIMESTAMP_TYPE = pa.timestamp("us", "UTC")


class BatchDelta(Protocol):
    """The delta of a view, with the time of the batch as ``_commit_timestamp``. A `pyarrow.Table` is one too."""

    @property
    def num_rows(self) -> int:
        """How many rows the delta has."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of the delta."""

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        """The rows of the delta, in batches of at most ``max_chunksize`` rows."""


@runtime_checkable
class InPieces(Protocol):
    """A delta of which some rows are in Parquet files already, as `livejoin.checkpoint.parquet` writes them."""

    @property
    def pieces(self) -> tuple[BatchDelta | ParquetPart, ...]:
        """The pieces of the delta, in an order that is always the same."""


@runtime_checkable
class ParquetPart(Protocol):
    """Rows of a delta as a Parquet file."""

    def read(self) -> bytes:
        """The content of the file."""


@dataclass(frozen=True)
class SpilledDelta:
    """A delta that is read piece by piece; as `BatchDelta`.

    Args:
        commit: The commit, which holds the file.
        view: The view.
        columns: The columns of the view's delta.
        time: The time of the batch, if Spark tells it.
    """

    commit: Commit
    view: str
    columns: pa.Schema
    time: datetime | None

    @property
    def num_rows(self) -> int:
        return self.commit.rows(self.view)

    @property
    def schema(self) -> pa.Schema:
        return with_time(self.columns)

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        schema = self.schema
        for batch in self.commit.batches(self.view, max_chunksize):
            times = pa.repeat(pa.scalar(self.time, TIMESTAMP_TYPE), batch.num_rows)
            yield pa.RecordBatch.from_arrays([*batch.columns, times], schema=schema)


@dataclass(frozen=True)
class JoinedDelta:
    """Deltas of one view that follow one another; as `BatchDelta`.

    Args:
        parts: The deltas, at least one.
    """

    parts: tuple[BatchDelta, ...]

    @property
    def num_rows(self) -> int:
        return sum(part.num_rows for part in self.parts)

    @property
    def schema(self) -> pa.Schema:
        return self.parts[0].schema

    def to_batches(self, max_chunksize: int) -> Iterator[pa.RecordBatch]:
        for part in self.parts:
            yield from part.to_batches(max_chunksize)


def with_time(columns: pa.Schema) -> pa.Schema:
    """The columns of a delta, followed by the time of its batch."""
    return columns.append(pa.field(TIMESTAMP, TIMESTAMP_TYPE))


def timed(delta: pa.Table, time: datetime | None) -> pa.Table:
    """A delta with the time of its batch."""
    times = pa.repeat(pa.scalar(time, TIMESTAMP_TYPE), delta.num_rows)
    return delta.append_column(pa.field(TIMESTAMP, TIMESTAMP_TYPE), times)
