"""A batch frame as a stream: its rows are written to files once, and the files are read as a stream.

Law: the files hold each row of the frame once. Executors write the files, and the driver makes them visible. That needs
a folder that all of them share; whether it is shared is found out by counting rows. If it is not, the driver collects
the rows, writes them, and hands them to the stream itself.
"""

from __future__ import annotations

import logging
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from livejoin.errors import StorageError
from livejoin.spark.failures import OF_SPARK, said, unread
from livejoin.spark.paths import hadoop_path, streamed
from livejoin.state.store_folder import Place, StoreFolder, StorePath

logger = logging.getLogger("livejoin")


def as_stream(spark: SparkSession, frame: DataFrame, folder: Place) -> DataFrame:
    """A stream of the rows of a frame.

    Args:
        spark: The session.
        frame: The frame.
        folder: The folder of the rows: it is complete or does not exist. In a store an object of this name says where
            the rows are, which one attempt has written.

    Raises:
        PipelineError: Spark reads no stream from a folder of that name.
        StorageError: The folder cannot be written. Or executors do not share it with the driver, and Spark does not
            collect the rows.

    Cost: the rows are computed and written at the first start, twice if the folder is not shared.
    """
    place = streamed(folder, "the rows of a batch frame")
    if isinstance(folder, StorePath):
        return spark.readStream.schema(frame.schema).parquet(_written_in_store(frame, folder))
    if not folder.exists():
        draft = folder.with_name(f".{folder.name}.writing")
        try:
            written = _written_by_executors(frame, draft)
            there = _rows_there(draft)
            if there != written:
                shutil.rmtree(draft)
                _collect(frame, draft, written, there)
            draft.replace(folder)
        except OSError as error:
            msg = f"the rows of a batch frame could not be written to {folder}: {error}; repair that and start again"
            raise StorageError(msg) from error
        except BaseException:
            with suppress(OSError):
                shutil.rmtree(draft)
            raise
    if are_carried(folder):
        from livejoin.spark.streams.carried_rows import carried  # noqa: PLC0415 - PySpark 4.0 and 4.1 have no such streams

        return carried(spark, frame.schema, folder)
    return spark.readStream.schema(frame.schema).parquet(place)


def _written_in_store(frame: DataFrame, folder: StorePath) -> str:
    """The URL of the rows of a frame, which are written if nobody has written them; every host sees a store."""
    said, name = StoreFolder(folder.parent.files), folder.name
    try:
        if name not in said.names():
            attempt = f"{name}-{uuid.uuid4().hex[:8]}"
            _written_by_executors(frame, folder.parent / attempt)
            with suppress(FileExistsError):
                said.publish(name, attempt.encode())
        return hadoop_path(folder.parent / said.read(name).decode())
    except (OSError, ValueError) as error:
        msg = f"the rows of a batch frame could not be written to {folder}: {error}; repair that and start again"
        raise StorageError(msg) from error


def are_carried(folder: Path) -> bool:
    """Whether the driver has written the rows of a frame, and hands them to the stream."""
    return (folder / "rows.arrow").exists()


def _written_by_executors(frame: DataFrame, folder: Place) -> int:
    """Let executors write the rows of a frame; gives their number.

    Raises:
        LivejoinError: Spark cannot read the rows, or not write them.
    """
    counted = Observation()
    rows = frame.observe(counted, F.count(F.lit(1)).alias("rows"))
    try:
        rows.write.mode("overwrite").parquet(hadoop_path(folder))
    except OF_SPARK as error:
        raise unread("the rows of a batch frame", error) from error
    return int(counted.get["rows"])


def _rows_there(folder: Path) -> int:
    """How many rows the driver sees of what executors have written."""
    try:
        return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet"))
    except pa.ArrowException as error:
        msg = f"the rows of a batch frame, written to {folder}, cannot be read: {error}"
        raise StorageError(msg) from error


def _collect(frame: DataFrame, folder: Path, written: int, there: int) -> None:
    """Collect the rows of a frame and write them on the driver.

    Raises:
        StorageError: Spark does not collect the rows.
    """
    logger.info(
        "of %s rows of a batch frame that executors have written, %s are there for the driver: it writes them itself",
        f"{written:,}",
        f"{there:,}",
    )
    try:
        from livejoin.spark.streams.carried_rows import write_rows  # noqa: PLC0415

        write_rows(frame, folder)
    except (*OF_SPARK, pa.ArrowException, ImportError) as error:
        reason = "that takes PySpark 4.2" if isinstance(error, ImportError) else said(str(error))
        msg = (
            f"Spark's executors wrote {written:,} rows of a batch frame to {folder.parent}, and {there:,} of them are "
            "there for the driver: it is not one folder for all hosts. Nor can the driver collect the rows: "
            f"{reason}. Give a checkpoint on a file system that all of them share, or a frame that is a stream"
        )
        raise StorageError(msg) from error
