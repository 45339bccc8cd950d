"""Sinks: Parquet files, functions, the console, and the protocol that other sinks follow."""

from typing import TYPE_CHECKING, Any

from livejoin.aside import imported

if TYPE_CHECKING:
    from livejoin.spark.sinks.console import ConsoleSink
    from livejoin.spark.sinks.function import FunctionSink, SinkFunction
    from livejoin.spark.sinks.parquet import ParquetSink
    from livejoin.spark.sinks.sink import Forgetting, InFolder, OfSession, Sink, SinkView, sink_views
    from livejoin.spark.sinks.table import TableSink

# Spark's workers import what reads files, which is beside these, and need none of them.
_HOMES = {
    "ConsoleSink": "livejoin.spark.sinks.console",
    "ParquetSink": "livejoin.spark.sinks.parquet",
    "TableSink": "livejoin.spark.sinks.table",
    **dict.fromkeys(("FunctionSink", "SinkFunction"), "livejoin.spark.sinks.function"),
    **dict.fromkeys(
        ("Forgetting", "InFolder", "OfSession", "Sink", "SinkView", "sink_views"), "livejoin.spark.sinks.sink"
    ),
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(imported(_HOMES[name]), name)
