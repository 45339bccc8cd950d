"""The rows of a frame as Arrow, some of Spark's partitions at a time.

Spark refuses to bring a driver more than ``spark.driver.maxResultSize`` by one job, and ``DataFrame.toArrow`` is one
job. Here a job brings some partitions, and the next one as many as have room: a backlog of any size comes, and the Java
process of the driver holds one piece of it.

Law: the pieces together have the rows of ``frame.toArrow()``, in the same order. Each partition is read once, but for
those of a job that brought too much, which are read again by smaller ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.util import _load_from_socket

from livejoin.errors import PipelineError
from livejoin.seldom import Seldom
from livejoin.shown import counted

logger = logging.getLogger("livejoin")

LIMIT = "spark.driver.maxResultSize"
_warnings = Seldom()
_SPARKS_OWN = "1g"
_MOST = 256 << 20
"""Bytes of a piece: enough for a job to be worth its start, little beside the heap of a driver."""
_FEW = 4  # partitions of the first job: those of a small batch
_GROWTH = 4
_TOO_MUCH = "Total size of serialized results"


def schema_of(frame: DataFrame) -> pa.Schema:
    """The columns of a frame as Arrow has them. No job runs for it, and it stays that of the batches of a query."""
    return frame.limit(0).toArrow().schema


def pieces(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a frame, piece by piece; at least one piece, which is empty if there are none.

    Args:
        frame: The frame.
        schema: The columns, as `schema_of` gives them.

    Raises:
        PipelineError: One partition is more than Spark brings a driver.
        PySparkException, Py4JJavaError: Spark cannot read the rows.

    Cost: linear in the rows. A job for some partitions, of which there is one for a small batch.
    """
    found = _partitions(frame)
    if found is None:
        if _warnings.is_due(LIMIT):
            logger.warning(
                "this Spark has no toArrowBatchRdd: a batch comes by one job, and is no larger than %s", LIMIT
            )
        yield frame.toArrow()
        return
    context, partitions = frame.sparkSession.sparkContext, int(found.getNumPartitions())
    jvm, java = context._jvm, context._jsc.sc()
    assert jvm is not None
    begin, count, largest = 0, max(_FEW, context.defaultParallelism), 1
    most = _most(java.conf().getSizeAsBytes(LIMIT, _SPARKS_OWN), jvm.Runtime.getRuntime().maxMemory())
    while begin < partitions:
        some = range(begin, min(begin + count, partitions))
        try:
            served = jvm.PythonRDD.runJob(java, found, list(some))
        except Py4JJavaError as error:
            if _TOO_MUCH not in str(error):
                raise
            if len(some) == 1:
                raise _too_large(error) from error
            count = len(some) // 2
            said = counted(count, "partition")
            logger.info("%d partitions of Spark are more than %s: %s at once from now on", len(some), LIMIT, said)
            continue
        with _messages(served) as messages:
            batches = [pa.ipc.read_record_batch(pa.py_buffer(one), schema) for one in messages]
        yield pa.Table.from_batches(batches, schema)
        largest = max(largest, sum(one.nbytes for one in batches) // len(some))
        begin = some.stop
        count = max(1, min(_GROWTH * count, most // largest))
    if not partitions:
        yield schema.empty_table()


def _partitions(frame: DataFrame) -> Any:
    """The partitions of a frame, each of Arrow's messages; None where Spark gives none, as that of a vendor may."""
    try:
        return frame._jdf.toArrowBatchRdd().toJavaRDD()
    except Py4JJavaError:
        raise
    except Py4JError:  # no such method
        return None


def _messages(served: Any) -> AbstractContextManager[Iterable[bytes]]:
    """What a job has brought. PySpark before 4.2 gives the messages themselves, and closes their socket by itself."""
    opened: Any = _load_from_socket(served, NoOpSerializer())
    found: AbstractContextManager[Iterable[bytes]] = opened if hasattr(opened, "__enter__") else nullcontext(opened)
    return found


def _most(limit: int, heap: int) -> int:
    """The bytes of a piece, by what Spark brings a driver (0: any) and the memory of its Java process."""
    return min(_MOST, heap // 8, limit // 2 or _MOST)


def _too_large(error: Py4JJavaError) -> PipelineError:
    told = next((line for line in str(error).splitlines() if _TOO_MUCH in line), "")
    said = told[told.index(_TOO_MUCH) + len(_TOO_MUCH) :].removeprefix(" of 1 tasks").strip()
    msg = (
        f"what one task of Spark has read is more than it brings the driver: {said}. Raise {LIMIT}, or let a task "
        "read less: maxFilesPerTrigger and spark.sql.files.maxPartitionBytes for files, maxOffsetsPerTrigger or "
        "minPartitions for Kafka; the same checkpoint goes on"
    )
    return PipelineError(msg)
