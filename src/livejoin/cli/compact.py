"""``livejoin compact``: few files of the many that a pipeline has written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from livejoin.errors import PipelineError
from livejoin.pipeline import load
from livejoin.shown import counted
from livejoin.spark.sinks import ParquetSink
from livejoin.spark.sinks.compaction import compact


def compact_output(file: Path, grace: float) -> Iterator[str]:
    """Compact the Parquet output of a pipeline, and say for each view what was done.

    Raises:
        PipelineError: The file is wrong, its sink is another one, or another compaction runs.
        StateError: A file is missing or damaged.
        StorageError: The disk refuses.
    """
    if not grace >= 0:
        msg = f"--grace is {grace}; allowed is a number of seconds, 0 or more"
        raise PipelineError(msg)
    pipeline = load(file)
    if pipeline.output is None:
        msg = "compact is for sink 'parquet'; this pipeline has another one, which keeps no files of batches"
        raise PipelineError(msg, str(file), "sink.kind")
    sink = ParquetSink(pipeline.output)
    for view in pipeline.views:
        if not sink.files(view):
            yield f"{view}: nothing was written yet"
            continue
        done = compact(sink.of(view), grace)
        yield (
            f"{view}: {counted(done.batches, 'batch')} became {counted(done.ranges, 'file')}; "
            f"{counted(done.removed, 'old file')} went, and {done.waiting:,} stay until their grace is over"
        )
