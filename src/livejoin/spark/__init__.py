"""Views over Spark's DataFrames of changes; needs PySpark (``pip install 'livejoin[spark]'``) and Java 17 or newer."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from livejoin.aside import imported
from livejoin.errors import PipelineError

if TYPE_CHECKING:
    from livejoin.checkpoint.recovery import Recovery
    from livejoin.spark.current_rows import read_view
    from livejoin.spark.failures import QueryFailedError
    from livejoin.spark.maintained_query import MaintainedQuery
    from livejoin.spark.micro_batch import BatchReport
    from livejoin.spark.run_options import RunOptions
    from livejoin.spark.session import local_session
    from livejoin.spark.sinks import ConsoleSink, Sink, SinkView, TableSink
    from livejoin.spark.sinks.compaction import compact
    from livejoin.spark.streaming import maintain
    from livejoin.spark.streams.stream_part import StreamPart
    from livejoin.spark.streams.table_stream import TableStream, stream
    from livejoin.spark.written_deltas import read_deltas

# Spark's workers import what reads a source, which is below this package, and need none of these.
_HOMES = {
    "BatchReport": "livejoin.spark.micro_batch",
    "ConsoleSink": "livejoin.spark.sinks",
    "MaintainedQuery": "livejoin.spark.maintained_query",
    "QueryFailedError": "livejoin.spark.failures",
    "Recovery": "livejoin.checkpoint.recovery",
    "RunOptions": "livejoin.spark.run_options",
    "Sink": "livejoin.spark.sinks",
    "SinkView": "livejoin.spark.sinks",
    "TableSink": "livejoin.spark.sinks",
    "StreamPart": "livejoin.spark.streams.stream_part",
    "TableStream": "livejoin.spark.streams.table_stream",
    "compact": "livejoin.spark.sinks.compaction",
    "local_session": "livejoin.spark.session",
    "maintain": "livejoin.spark.streaming",
    "read_deltas": "livejoin.spark.written_deltas",
    "read_view": "livejoin.spark.current_rows",
    "stream": "livejoin.spark.streams.table_stream",
}

__all__ = [
    "BatchReport",
    "ConsoleSink",
    "MaintainedQuery",
    "QueryFailedError",
    "Recovery",
    "RunOptions",
    "Sink",
    "SinkView",
    "StreamPart",
    "TableSink",
    "TableStream",
    "compact",
    "local_session",
    "maintain",
    "read_deltas",
    "read_view",
    "stream",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    if find_spec("pyspark") is None:
        msg = "Spark is not here: pip install 'livejoin[spark]', and 'livejoin[spark,java]' where there is no Java"
        raise PipelineError(msg)
    return getattr(imported(_HOMES[name]), name)
