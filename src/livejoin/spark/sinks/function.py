"""Deltas for a function of the user, as Spark's ``foreachBatch`` would call it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from livejoin.checkpoint.batch_delta import BatchDelta
from livejoin.checkpoint.written_parts import WrittenParts
from livejoin.spark.sinks.frames import frame_of
from livejoin.spark.sinks.sink import SinkView, whole

SinkFunction = Callable[[str, DataFrame, int], object]


@dataclass(frozen=True)
class FunctionSink:
    """A function of the user, called as Spark's ``foreachBatch`` would: at least once a batch.

    Args:
        spark: The session that makes the frames.
        function: Gets the view's name, the delta as a DataFrame, and the batch's number. It is not called for an empty
            delta. After a failure it may see a batch again, with the same number.
    """

    spark: SparkSession
    function: SinkFunction

    def open(self, views: Mapping[str, SinkView], last_batch: int | None, written: WrittenParts, run: str) -> None:
        """Do nothing."""

    def deliver(self, deltas: Mapping[str, BatchDelta], batch_id: int) -> list[str]:
        """Call the function with each delta; a spilled delta is passed whole."""
        for view, delta in deltas.items():
            if delta.num_rows:
                self.function(view, frame_of(self.spark, whole(delta)), batch_id)
        return []
