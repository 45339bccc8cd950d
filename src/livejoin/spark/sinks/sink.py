"""The protocol of sinks: a sink gets the deltas of each batch.

Law for callers: batches come in order, and a batch that runs again after a failure is delivered again with the same
number and the same content. So a sink that ignores a number it has seen shows each delta exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa
from pyspark.sql import SparkSession

from livejoin.checkpoint.batch_delta import BatchDelta
from livejoin.checkpoint.instants import with_instants
from livejoin.checkpoint.parquet import ROWS
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.database import Database
from livejoin.database.difference import types_of
from livejoin.errors import SchemaError
from livejoin.state.store_folder import Place


@dataclass(frozen=True)
class SinkView:
    """What a sink is told about a view before the first delta.

    Args:
        schema: The columns of the view's result.
        keys: Sets of columns in which no two rows of the result agree, smallest first.
    """

    schema: pa.Schema
    keys: tuple[tuple[str, ...], ...] = ()


@runtime_checkable
class Sink(Protocol):
    """Gets the deltas of each batch."""

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Called once before the first batch.

        Args:
            views: All views.
            last_batch: The last batch that the engine holds; None at a fresh start.
            written: The parts that deliveries up to this batch have left.
            run: The unique name of the checkpoint.
        """

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Take the deltas of a batch, all views at once; also called for a batch without deltas.

        Args:
            deltas: The delta of each view that the batch may have changed; some may be empty.
            batch_id: The number of the batch.

        Returns:
            The views for which a part must exist from now on.
        """


@runtime_checkable
class InFolder(Protocol):
    """A sink that writes into a folder."""

    @property
    def folder(self) -> Place:
        """The folder."""


@runtime_checkable
class OfSession(Protocol):
    """A sink that writes by a session of Spark."""

    def use(self, spark: SparkSession) -> None:
        """Take the session; called before `Sink.open`, and before `Forgetting.forget`."""


@runtime_checkable
class Forgetting(Protocol):
    """A sink that can start anew."""

    def forget(self, run: str) -> None:
        """Remove what deliveries of a run have left."""


def _refuse_months(views: Mapping[str, SinkView]) -> None:
    """Refuse views with intervals of years and months, for which PySpark and Parquet have no type.

    Raises:
        SchemaError: A view has such a column.
    """
    months = pa.month_day_nano_interval()
    for view, shape in views.items():
        for field in shape.schema:
            if months in (field.type, getattr(field.type, "value_type", None)):
                msg = (
                    f"view {view!r}: column {field.name!r} is INTERVAL YEAR TO MONTH, which Spark's Python and Parquet "
                    f"cannot hold; write CAST({field.name} AS INT), the number of months, in the view"
                )
                raise SchemaError(msg)


def sink_views(database: Database) -> dict[str, SinkView]:
    """The views of a database as sinks know them.

    Raises:
        SchemaError: A view has intervals of years and months.
    """
    found = {
        name: SinkView(with_instants(view.schema, types_of(database, name)), view.keys)
        for name, view in database.views.items()
        if view.assertion is None
    }
    _refuse_months(found)
    return found


def whole(delta: BatchDelta) -> pa.Table:
    """A delta as one table in memory."""
    return delta if isinstance(delta, pa.Table) else pa.Table.from_batches(delta.to_batches(ROWS), delta.schema)
