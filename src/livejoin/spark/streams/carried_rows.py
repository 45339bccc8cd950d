"""The rows of a frame as a stream that carries them to executors, which need not see the driver's files.

Spark asks for the rows on the driver's host, and sends them with the tasks that read them. The code of the tasks is
sent too, so executors need pyarrow but no livejoin. (Spark has a simpler interface, `SimpleDataSourceStreamReader`,
which fails on arrays with NULL in Spark 4.3.)

Law: the first batch has all rows, as the file has them; later batches have none. A batch that runs again is read again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from livejoin.spark.limited_streams import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

FORMAT = "livejoin-rows"
FILE = "rows.arrow"
"""The file in the folder of the rows."""
_PIECE = 100_000  # rows that a task brings


def write_rows(frame: DataFrame, folder: Path) -> None:
    """Collect the rows of a frame, and write them where the driver can read them.

    Raises:
        OSError: The disk refuses.
        PySparkException: Spark does not collect the rows: they are too many, or have a type that Arrow lacks.
    """
    columns: pa.Schema = to_arrow_schema(frame.schema, timezone="UTC")
    rows = frame.toArrow().cast(columns).combine_chunks()
    folder.mkdir(parents=True)
    with pa.OSFile(str(folder / FILE), "wb") as file, pa.ipc.new_file(file, columns) as writer:
        writer.write_table(rows, max_chunksize=_PIECE)


def carried(spark: SparkSession, schema: StructType, folder: Path) -> DataFrame:
    """A stream of the rows that `write_rows` has written.

    Args:
        spark: The session.
        schema: The columns of the frame.
        folder: The folder of the rows.
    """
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    spark.dataSource.register(RowsSource)
    return spark.readStream.format(FORMAT).schema(schema).option("path", str(folder / FILE)).load()


class RowsSource(DataSource):
    """Spark's side of the source."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamReader(self, schema: StructType) -> RowsReader:
        return RowsReader(self.options["path"])


class RowsReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets, which say whether the rows were read; and the rows."""

    def __init__(self, file: str) -> None:
        self._file = file

    def initialOffset(self) -> dict[str, Any]:
        return {"read": False}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Do nothing: the rows do not change."""

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        return {"read": True}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Pieces of the rows, each with its rows as bytes."""
        if start["read"] or not end["read"]:
            return []
        found = []
        with pa.memory_map(self._file) as file, pa.ipc.open_file(file) as reader:
            for place in range(reader.num_record_batches):
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, reader.schema) as writer:
                    writer.write_batch(reader.get_batch(place))
                found.append(InputPartition(sink.getvalue().to_pybytes()))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a piece, in any process."""
        with pa.ipc.open_stream(partition.value) as reader:
            yield from reader
