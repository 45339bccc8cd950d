"""The classes by which a stream from Python says how much a batch takes; PySpark has them from 4.2 on."""

from __future__ import annotations

import pyspark

from livejoin.errors import PipelineError

__all__ = ["ReadAllAvailable", "ReadLimit", "ReadMaxRows", "SupportsTriggerAvailableNow"]


class OldSparkError(PipelineError, ImportError):  # type: ignore[misc]  # both have a path
    """PySpark is too old for what was asked for."""


try:
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )
except ImportError as missing:
    msg = (
        "read_deltas and the sources Kafka, PostgreSQL and Delta tables take PySpark 4.2 or newer, and this is "
        f"{pyspark.__version__}: pip install 'pyspark>=4.2' where the cluster has it; all else works with 4.0"
    )
    raise OldSparkError(msg) from missing
