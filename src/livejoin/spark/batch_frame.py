"""A frame that is no stream as one: its rows are written once, and read as a stream from there.

Law: the files that the stream reads hold each row of the frame once. Executors write them and the driver lets them
appear, which takes a folder that all of them see; that it is one is known by counting.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from livejoin.errors import StorageError
from livejoin.spark.local_folder import hadoop_path, streamed


def as_stream(spark: SparkSession, frame: DataFrame, folder: Path) -> DataFrame:
    """A stream of the rows of a frame.

    Args:
        spark: The session.
        frame: The frame.
        folder: Where its rows are, or will be: complete or not at all.

    Raises:
        PipelineError: Spark reads no stream from a folder of that name.
        StorageError: It cannot be written, or is not one that executors and the driver share.

    Cost: the rows are computed and written at the first start.
    """
    place = streamed(folder, "the rows of a batch frame")
    if not folder.exists():
        draft = folder.with_name(f".{folder.name}.writing")
        counted = Observation()
        try:
            rows = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
            rows.write.mode("overwrite").parquet(hadoop_path(draft))
            _check_all_there(draft, int(counted.get["rows"]))
            draft.replace(folder)
        except OSError as error:
            msg = f"the rows of a batch frame could not be written to {folder}: {error}; repair that and start again"
            raise StorageError(msg) from error
        except BaseException:
            with suppress(OSError):
                shutil.rmtree(draft)
            raise
    return spark.readStream.schema(frame.schema).parquet(place)


def _check_all_there(folder: Path, rows: int) -> None:
    """Check that the driver sees what executors have written, before a stream of nothing passes for the table."""
    try:
        there = sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))
    except pa.ArrowException as error:
        msg = f"the rows of a batch frame, written to {folder}, cannot be read: {error}"
        raise StorageError(msg) from error
    if there != rows:
        msg = (
            f"Spark's executors wrote {rows:,} rows of a batch frame to {folder.parent}, and {there:,} of them are "
            "there for the driver: it is not one folder for all hosts. Give a checkpoint on a file system that all of "
            "them share, or a frame that is a stream"
        )
        raise StorageError(msg)
