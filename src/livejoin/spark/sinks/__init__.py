"""Where the deltas of views go."""

from livejoin.spark.sinks.function import FunctionSink, SinkFunction
from livejoin.spark.sinks.parquet import ParquetSink
from livejoin.spark.sinks.sink import Sink, SinkView

__all__ = ["FunctionSink", "ParquetSink", "Sink", "SinkFunction", "SinkView"]
