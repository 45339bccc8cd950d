"""The same pipelines in one process, in local Spark and on a cluster, in any number of cells: the same deltas, batch
by batch, which add up to DuckDB's results.

    python tests/cluster_matrix.py MASTER CELLS[,CELLS...] [BATCHES] [PIPELINE[,PIPELINE...]] [SEED]

MASTER is as Spark has it, ``local[2]`` or ``local-cluster[2,1,1024]``. 0 cells are one process, with which the deltas
of others are compared.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import local_cluster
from livejoin.spark import maintain
from oracle import assert_same_rows, signed_multiset, without_zeros
from scenario import Row
from spread_pipelines import PIPELINES, Pipeline

SEED = 3
Deltas = list[dict[str, Counter[Row]]]
"""Of each batch and view its net delta."""


def feed(pipeline: Pipeline, folder: Path) -> None:
    """Write a file for each table and batch; Spark takes them in the order of their times, one of each a batch."""
    catalog = pipeline.database()._contents.catalog
    for name in pipeline.tables:
        (folder / name).mkdir(parents=True)
        empty = catalog[name].arrow.append(pa.field("_change_type", pa.string())).append(pa.field("_seq", pa.int64()))
        for number, changes in enumerate(pipeline.batches):
            rows = changes.get(name, empty.empty_table())
            file = folder / name / f"{number:03}.parquet"
            pq.write_table(rows, file)
            os.utime(file, (10**9 + number, 10**9 + number))


def run(spark: SparkSession, pipeline: Pipeline, source: Path, folder: Path, **more: Any) -> Deltas:
    """What a pipeline writes."""
    frames, ranges = {}, {}
    for name, one in pipeline.tables.items():
        reader = spark.readStream.schema(f"{one.columns}, _change_type STRING, _seq BIGINT")
        frames[name] = reader.option("maxFilesPerTrigger", 1).parquet((source / name).as_uri())
        if one.window_range is not None:
            ranges[name] = one.window_range
    tables = pipeline.tables.items()
    query = maintain(
        spark,
        pipeline.views,
        frames,
        {name: one.window_rows for name, one in tables if one.window_rows is not None},
        keys={name: one.key.split(", ") for name, one in tables if one.key},
        sequence_by={name: one.sequence_by for name, one in tables if one.sequence_by},
        window_range=ranges,
        path=folder / "out",
        checkpoint=folder / "checkpoint",
        trigger={"availableNow": True},
        **more,
    )
    query.awaitTermination()
    return [
        {view: _rows(folder / "out" / view / f"part-{number:08d}.parquet") for view in pipeline.views}
        for number in range(len(pipeline.batches))
    ]


def _rows(file: Path) -> Counter[Row]:
    if not file.exists():
        return Counter()
    return signed_multiset(pq.read_table(file))


def check(pipeline: Pipeline, deltas: Deltas, context: str) -> None:
    """Behind each batch the deltas add up to what DuckDB says."""
    told = {view: Counter[Row]() for view in pipeline.views}
    for number, (delta, expected) in enumerate(zip(deltas, pipeline.expected, strict=True)):
        for view, rows in expected.items():
            told[view].update(delta[view])
            assert_same_rows(without_zeros(told[view]), rows, f"{view} behind batch {number}, {context}")


def main(master: str, cells: list[int], batches: int, names: list[str], seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="livejoin-matrix-") as temporary:
        folder = Path(temporary)
        spark = local_cluster.session(master, folder / "session")
        try:
            for name in names:
                pipeline = PIPELINES[name](seed, batches)
                feed(pipeline, folder / name / "in")
                embedded: Deltas = []
                if 0 in cells:
                    embedded = run(spark, pipeline, folder / name / "in", folder / name / "embedded")
                    check(pipeline, embedded, f"{name} in one process")
                for count in filter(None, cells):
                    began = time.monotonic()
                    context = f"{name} in {count} cells of {master}, seed {seed}"
                    out = folder / name / str(count)
                    found = run(spark, pipeline, folder / name / "in", out, mode="distributed", cells=count)
                    check(pipeline, found, context)
                    for number, (delta, same) in enumerate(zip(found, embedded, strict=False)):
                        for view, rows in same.items():
                            assert_same_rows(delta[view], rows, f"delta of {view} in batch {number}, {context}")
                    print(f"{context}: the same, {time.monotonic() - began:.1f} s", flush=True)
        finally:
            spark.stop()


if __name__ == "__main__":
    master, cells, *others = sys.argv[1:]
    batches, names, seed = [*others, *["3", ",".join(PIPELINES), str(SEED)][len(others) :]]
    main(master, [int(one) for one in cells.split(",")], int(batches), names.split(","), int(seed))
