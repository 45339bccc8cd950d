"""Sinks: Parquet files, functions, the console, and the protocol that other sinks follow."""

from livejoin.spark.sinks.console import ConsoleSink
from livejoin.spark.sinks.function import FunctionSink, SinkFunction
from livejoin.spark.sinks.parquet import ParquetSink
from livejoin.spark.sinks.sink import Forgetting, InFolder, OfSession, Sink, SinkView, sink_views
from livejoin.spark.sinks.table import TableSink

__all__ = [
    "ConsoleSink",
    "Forgetting",
    "FunctionSink",
    "InFolder",
    "OfSession",
    "ParquetSink",
    "Sink",
    "SinkFunction",
    "SinkView",
    "TableSink",
    "sink_views",
]
