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

    def start(self, views: dict[str, str] = VIEWS, tables: dict[str, Any] | None = None, **more: Any) -> Any:
        streams = {
            name: self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).csv((self.root / name).as_uri())
            for name, schema in STREAMS.items()
        }
        return maintain(
            self.spark,
            views,
            {**streams, **(tables or {})},
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


def test_another_job_in_more_cells(spark: SparkSession, tmp_path: Path) -> None:
    """Views come, go and change, and a static table comes."""
    cluster = Cluster(spark, tmp_path)
    cluster.source.step()
    options: dict[str, Any] = {"cells": 3, "static": ["N"]}
    assert cluster.start(
        {"gone": VIEWS["lonely"], "total": "SELECT COUNT(*) AS n, SUM(dst) AS s FROM G"}
    ).awaitTermination(120)
    cluster.source.step()
    names = spark.createDataFrame(cluster.source.names, "k INT, name STRING")
    views = {"total": VIEWS["total"], "named": "SELECT P.id, N.name FROM P JOIN N ON P.id = N.k"}
    with pytest.raises(StateError, match="view 'total' has other columns than before"):
        cluster.start({**views, "total": "SELECT COUNT(*) AS m FROM G"}, {"N": names}, **options)
    assert cluster.start(views, {"N": names}, **options).awaitTermination(120)
    for view, rows in expected(cluster.source, views).items():
        assert sum_of(tmp_path / "out" / view) == rows, view
    assert len(list(cluster.files.glob("*.plan"))) == 1


def test_what_cells_cannot_do_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    cluster = Cluster(spark, tmp_path)
    cluster.source.step()
    with pytest.raises(PipelineError, match="cells is 0"):
        cluster.start(cells=0)
    with pytest.raises(PipelineError, match="spill"):
        cluster.start(spill=tmp_path)
    with pytest.raises(LivejoinError, match="mode"):
        cluster.start(mode="cluster")
