"""Views over Spark's DataFrames of changes; needs PySpark (``pip install 'livejoin[spark]'``) and Java 17 or newer."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from livejoin.checkpoint.recovery import Recovery
    from livejoin.spark.micro_batch import BatchReport
    from livejoin.spark.session import local_session
    from livejoin.spark.sinks import ConsoleSink, Sink, SinkView
    from livejoin.spark.stream_part import StreamPart
    from livejoin.spark.streaming import maintain
    from livejoin.spark.written_deltas import read_deltas

# Spark's workers import what reads a source, which is below this package, and need none of these.
_HOMES = {
    "BatchReport": "livejoin.spark.micro_batch",
    "ConsoleSink": "livejoin.spark.sinks",
    "Recovery": "livejoin.checkpoint.recovery",
    "Sink": "livejoin.spark.sinks",
    "SinkView": "livejoin.spark.sinks",
    "StreamPart": "livejoin.spark.stream_part",
    "local_session": "livejoin.spark.session",
    "maintain": "livejoin.spark.streaming",
    "read_deltas": "livejoin.spark.written_deltas",
}

__all__ = [
    "BatchReport",
    "ConsoleSink",
    "Recovery",
    "Sink",
    "SinkView",
    "StreamPart",
    "local_session",
    "maintain",
    "read_deltas",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES[name]), name)
