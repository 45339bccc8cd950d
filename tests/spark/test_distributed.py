"""Views whose tables are spread over cells, on Spark: the output adds up to what DuckDB computes, whatever happens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from changing_tables import EDGE, PERSON, VIEWS, WINDOW, Source, expected
from deltas import sum_of
from pyspark.sql import SparkSession

from livejoin.distributed import parts
from livejoin.errors import LivejoinError, PipelineError, StateError
from livejoin.spark import maintain
from livejoin.spark.distributed import stage_runs
from livejoin.spark.sinks import ParquetSink

pytestmark = pytest.mark.spark

STREAMS = {"G": EDGE, "P": PERSON}


class Cluster:
    """A job in cells over files of changes."""

    def __init__(self, spark: SparkSession, root: Path, cells: int = 2) -> None:
        self.spark, self.root, self.cells = spark, root, cells
        self.source = Source(root)

    def start(self, views: dict[str, str] = VIEWS, **more: Any) -> Any:
        tables = {
            name: self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).csv((self.root / name).as_uri())
            for name, schema in STREAMS.items()
        }
        return maintain(
            self.spark,
            views,
            tables,
            {"G": WINDOW},
            **{
                "keys": {"P": "id"},
                "sequence_by": {"P": "at"},
                "path": self.root / "out",
                "checkpoint": self.root / "checkpoint",
                "trigger": {"availableNow": True},
                "mode": "distributed",
                "cells": self.cells,
                **more,
            },
        )

    def run(self, **more: Any) -> None:
        """All that is there, and what it comes to."""
        assert self.start(**more).awaitTermination(120)
        for view, rows in expected(self.source, VIEWS).items():
            assert sum_of(self.root / "out" / view) == rows, view

    @property
    def files(self) -> Path:
        return self.root / "checkpoint" / "livejoin"


def test_views_of_all_kinds_over_restarts(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(spark, tmp_path)
    cluster.source.step()
    cluster.run()
    # Another number of cells, another job: refused, and nothing is lost.
    cluster.cells = 3
    with pytest.raises(StateError, match="cells=2"):
        cluster.start()
    cluster.cells = 2
    with pytest.raises(StateError, match="another job"):
        cluster.start({"hop3": VIEWS["hop3"]})
    # A batch that is committed and not delivered; files of an attempt that did not count.
    cluster.source.step()
    with monkeypatch.context() as patched:
        patched.setattr(ParquetSink, "deliver", lambda *_: 1 / 0)
        with pytest.raises(Exception, match="division by zero"):
            cluster.start().awaitTermination(120)
    (cluster.files / f"00000099-0-0-{'0' * 32}.batch").write_bytes(b"nothing")
    with monkeypatch.context() as patched:  # stages as tasks of executors, and all parts in files
        patched.setattr(stage_runs, "_LOCAL", re.compile("none"))
        patched.setattr(stage_runs, "SMALL", -1)
        patched.setattr(parts, "SMALL", -1)
        cluster.run()
    assert not list(cluster.files.glob("00000099*"))
    assert not list(cluster.files.glob("*.parts")), "they go with their batch"
    # A cell's file is lost.
    some = max(cluster.files.glob("*.batch"))
    some.rename(tmp_path / "kept")
    cluster.source.step()
    query = cluster.start()
    with pytest.raises(Exception, match="is missing, which the newest manifest lists"):
        query.awaitTermination(120)
    (tmp_path / "kept").rename(some)
    cluster.run()


def test_what_cells_cannot_do_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    cluster = Cluster(spark, tmp_path)
    cluster.source.step()
    with pytest.raises(PipelineError, match="cells is 0"):
        cluster.start(cells=0)
    with pytest.raises(PipelineError, match="spill"):
        cluster.start(spill=tmp_path)
    with pytest.raises(LivejoinError, match="mode"):
        cluster.start(mode="cluster")
