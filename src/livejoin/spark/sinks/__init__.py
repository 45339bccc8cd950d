"""Sinks: Parquet files, functions, the console, and the protocol that other sinks follow."""

from livejoin.spark.sinks.console import ConsoleSink
from livejoin.spark.sinks.function import FunctionSink, SinkFunction
from livejoin.spark.sinks.parquet import ParquetSink
from livejoin.spark.sinks.sink import Forgetting, InFolder, Sink, SinkView, sink_views

__all__ = [
    "ConsoleSink",
    "Forgetting",
    "FunctionSink",
    "InFolder",
    "ParquetSink",
    "Sink",
    "SinkFunction",
    "SinkView",
    "sink_views",
]
