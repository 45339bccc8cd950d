"""A Delta table as a stream of changes: its rows at a version first, then its change data feed, version by version.

Offsets are versions. A micro-batch holds whole versions. A batch that runs again reads the same versions again, as long
as they are not vacuumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from livejoin.errors import SchemaError, StateError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION
from livejoin.spark.arrow_columns import mark_texts
from livejoin.spark.delta.table import columns_of, explained, location
from livejoin.spark.limited_streams import ReadLimit, SupportsTriggerAvailableNow

FORMAT = "livejoin-delta"
_FEED = "delta.enableChangeDataFeed"
_NOTHING = -1  # the version before the first batch
_FAILED = "the query ends; start it again when that is repaired, and it goes on with this batch"
_OWN = (pa.field(CHANGE_TYPE, pa.string()), pa.field(COMMIT_VERSION, pa.int64()))


def read_delta(spark: SparkSession, path: str | Path) -> DataFrame:
    """The changes of a Delta table, which `maintain` takes as ``stream(frame, changes="cdf")``.

    Args:
        spark: The session; PySpark 4.2 or newer.
        path: The folder or URI of the table, which needs a change data feed (``delta.enableChangeDataFeed``).

    Raises:
        SchemaError: The table has no change data feed.
        StorageError: The table cannot be read.
    """
    place = location(path)
    columns = table_columns(place)
    spark.dataSource.register(DeltaSource)
    # Spark would start a process of its own to ask for the schema.
    return spark.readStream.format(FORMAT).schema(_types(columns)).load(place)


def table_columns(path: str | Path) -> pa.Schema:
    """The columns of the table that `read_delta` would read; raises the same errors."""
    place = location(path)
    with explained(place, "nothing was read"):
        table = DeltaTable(place)
    if table.metadata().configuration.get(_FEED, "").lower() != "true":
        msg = (
            f"the Delta table {place} has no change data feed, so that it does not say what changed; set the table's "
            f"property {_FEED} = true"
        )
        raise SchemaError(msg)
    return columns_of(table)


class DeltaSource(DataSource):
    """Spark's entry to the source; the option ``path`` is the table's path."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        path = self.options["path"]
        with explained(path, "nothing was read"):
            return _types(columns_of(DeltaTable(path)))

    def streamReader(self, schema: StructType) -> DeltaReader:
        return DeltaReader(self.options["path"])


class DeltaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets and batches of the stream."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._last: int | None = None  # where a query ends that reads what is there now

    def initialOffset(self) -> dict[str, int]:
        return {"version": _NOTHING}

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = self._newest()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """The newest version.

        Raises:
            StateError: The newest version is older than what was read: the table is another one.
        """
        newest = self._newest() if self._last is None else self._last
        if newest < start["version"]:
            msg = (
                f"the Delta table {self._path} is at version {newest}, and the checkpoint has read it up to "
                f"{start['version']}: it is another table, or was put back. Start over with an empty checkpoint"
            )
            raise StateError(msg)
        return {"version": newest}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [InputPartition((start["version"], end["version"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows at a version, or the changes from one version to another."""
        start, end = partition.value
        if start == end:
            return
        with explained(self._path, _FAILED):
            # The columns are those of the version that is read; Spark finds them by position.
            table = DeltaTable(self._path, version=end)
            schema = pa.schema([*columns_of(table), *_OWN])
            if start == _NOTHING:
                for rows in table.to_pyarrow_dataset().to_batches():
                    kinds = pa.repeat(pa.scalar("insert"), rows.num_rows)
                    versions = pa.repeat(pa.scalar(end, pa.int64()), rows.num_rows)
                    yield pa.RecordBatch.from_arrays([*rows.columns, kinds, versions], schema.names).cast(schema)
                return
            feed = pa.RecordBatchReader.from_stream(table.load_cdf(start + 1, end))
            for rows in feed:
                yield rows.select(schema.names).cast(schema)

    def _newest(self) -> int:
        with explained(self._path, _FAILED):
            version: int = DeltaTable(self._path).version()
        return version


def _types(columns: pa.Schema) -> StructType:
    """The columns of the stream as Spark's types."""
    types: StructType = from_arrow_schema(pa.schema([*columns, *_OWN]), prefer_timestamp_ntz=True)
    mark_texts(types, columns)
    return types
