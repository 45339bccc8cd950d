"""The same pipelines in one process, in local Spark and on a cluster, in any number of cells: the same deltas, batch
by batch, which add up to DuckDB's results.

    python tests/support/cluster_matrix.py [--master local[2]] [--cells 0 1 2 4 7] [--kill]

0 cells are one process. The deltas of each number of cells are compared with those of the first one.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import local_cluster
from livejoin.spark import RunOptions, maintain, stream
from local_cluster import SPECULATION, cells_below, executors_of, python_of
from oracle import assert_same_rows, signed_multiset, without_zeros
from scenario import Row
from spread_pipelines import PIPELINES, Pipeline

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
    tables = {}
    for name, one in pipeline.tables.items():
        reader = spark.readStream.schema(f"{one.columns}, _change_type STRING, _seq BIGINT")
        frame = reader.option("maxFilesPerTrigger", 1).parquet((source / name).as_uri())
        said: dict[str, Any] = {"window_rows": one.window_rows, "window_range": one.window_range}
        said |= {"key": one.key.split(", ") if one.key else (), "sequence_by": one.sequence_by or None}
        tables[name] = stream(frame, **said)
    query = maintain(
        spark,
        pipeline.views,
        tables,
        path=folder / "out",
        checkpoint=folder / "checkpoint",
        trigger={"availableNow": True},
        options=RunOptions(**more),
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


@contextmanager
def killing(jvm: int, folder: Path, dice: random.Random) -> Iterator[list[str]]:
    """Kill processes of a cluster, one of each kind, while a pipeline runs; their kinds as they are killed."""
    kinds: dict[str, Callable[[], list[int]]] = {
        "cell": lambda: cells_below(folder),
        "Python worker": lambda: python_of(jvm),
        "executor": lambda: executors_of(jvm),
    }
    killed, over = list[str](), threading.Event()

    def kill() -> None:
        for kind in dice.sample(list(kinds), len(kinds)):
            while not (found := kinds[kind]()):
                if over.wait(0.05):
                    return
            with suppress(ProcessLookupError):
                os.kill(dice.choice(found), signal.SIGKILL)
                killed.append(kind)
            if over.wait(dice.random()):
                return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def main(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="livejoin-matrix-") as temporary:
        folder = Path(temporary)
        os.environ["TMPDIR"] = tempfile.tempdir = temporary  # where processes of cells find each other
        spark = local_cluster.session(given.master, folder / "session", SPECULATION if given.kill else {})
        jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
        try:
            for name in given.pipelines:
                pipeline, source = PIPELINES[name](given.seed, given.batches), folder / name / "in"
                feed(pipeline, source)
                alone: Deltas = []
                for cells in given.cells:
                    began, context = time.monotonic(), f"{name} in {cells} cells of {given.master}, seed {given.seed}"
                    more = {"mode": "distributed", "cells": cells} if cells else {}
                    with killing(jvm, folder, random.Random(given.seed)) if given.kill else nullcontext([]) as killed:
                        found = run(spark, pipeline, source, folder / name / str(cells), **more)
                    check(pipeline, found, context)
                    alone = alone or found
                    for number, (delta, same) in enumerate(zip(found, alone, strict=True)):
                        for view, rows in same.items():
                            assert_same_rows(delta[view], rows, f"delta of {view} in batch {number}, {context}")
                    told = f", killed: {', '.join(killed)}" if given.kill else ""
                    print(f"{context}: right, {time.monotonic() - began:.1f} s{told}", flush=True)
        finally:
            spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--master", default=local_cluster.CLUSTER)
    parser.add_argument("--cells", type=int, nargs="+", default=[0, 1, 2, 4, 7])
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--pipelines", nargs="+", default=list(PIPELINES))
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--kill", action="store_true", help="kill a process of each kind while a pipeline runs")
    main(parser.parse_args())
