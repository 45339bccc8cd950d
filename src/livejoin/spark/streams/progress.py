"""How far Spark has read the sources of a running query, as its memory has it, whatever its checkpoint says."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from livejoin.checkpoint.batch import Ends
from livejoin.errors import PipelineError
from livejoin.spark.streams.offsets import Streams

_QUERY = "sql.streaming.queryId"
_NOTHING = "-"  # as in a file of offsets


class Progress:
    """The progress of the query in whose batch this thread is.

    Args:
        spark: The session that started the query.
        sources: The tables of each stream, and how many of Spark's sources it has, in their order.
    """

    def __init__(self, spark: SparkSession, sources: Streams) -> None:
        self._spark = spark
        self._sources = sources

    def of_batch(self) -> tuple[Ends, Ends]:
        """How far the sources of each table are read without the batch, and with it.

        Raises:
            PipelineError: Spark has another number of sources.
        """
        query = self._spark.streams.get(self._spark.sparkContext.getLocalProperty(_QUERY) or "")
        assert query is not None, "Spark calls from a batch of it"
        running: Any = query._jsq.streamingQuery()
        sources = running.sources()
        if sources.size() != sum(self._sources.values()):
            msg = (
                f"Spark reads {sources.size()} sources, and livejoin knows of {sum(self._sources.values())}: a "
                "checkpoint in an object store needs to know how far each is read; give each table a frame of its own"
            )
            raise PipelineError(msg)
        every = [sources.apply(place) for place in range(sources.size())]
        return self._by_table(running.committedOffsets(), every), self._by_table(running.availableOffsets(), every)

    def _by_table(self, progress: Any, sources: list[Any]) -> Ends:
        found = [progress.get(source) for source in sources]
        lines = [one.get().json() if one.isDefined() else _NOTHING for one in found]
        ends: dict[str, list[str]] = {}
        begin = 0
        for names, count in self._sources.items():
            ends |= dict.fromkeys(names, lines[begin : begin + count])
            begin += count
        return ends
