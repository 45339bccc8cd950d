"""Deltas as Parquet files, as sinks write them for readers."""

from __future__ import annotations

from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from livejoin.checkpoint.batch_delta import BatchDelta

ROWS = 1 << 20  # of a spilled delta that are read at a time


def write(delta: BatchDelta, stream: BinaryIO | pa.NativeFile) -> None:
    """Write a delta, a spilled one piece by piece. Pages have checksums, for readers that check them."""
    if isinstance(delta, pa.Table):
        pq.write_table(delta, stream, write_page_checksum=True)
        return
    with pq.ParquetWriter(stream, delta.schema, write_page_checksum=True) as writer:
        for batch in delta.to_batches(ROWS):
            writer.write_batch(batch)
