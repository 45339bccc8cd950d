"""What a listener of Spark's queries sees of a batch: how many changes of each table came."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from livejoin.spark.streams.frames import TAG

METRICS = "livejoin"
"""The name of the metrics in ``observedMetrics`` of a query's progress."""


def observed(packed: DataFrame, tables: Iterable[str]) -> DataFrame:
    """A packed frame whose changes Spark counts by table, as they are read.

    Args:
        packed: The frame, as of `livejoin.spark.streams.frames.pack`.
        tables: The tables in the order in which they were packed.
    """
    counts = [F.count(F.when(F.col(TAG) == tag, 1)).alias(name) for tag, name in enumerate(tables)]
    return packed.observe(METRICS, *counts)
