"""Views whose tables are spread over cells, on Spark: the output adds up to what DuckDB computes, whatever happens."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from changing_tables import EDGE, PERSON, VIEWS, WINDOW, Source, expected
from deltalake import DeltaTable
from deltas import add, sum_of
from pyspark.sql import SparkSession

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from livejoin.distributed import deltas, parts
from livejoin.errors import LivejoinError, PipelineError, ReadError, SchemaError, StateError, StorageError
from livejoin.spark import BatchReport, read_deltas
from livejoin.spark.delta import DeltaSink
from livejoin.spark.distributed import stage_runs
from livejoin.spark.distributed.manifest_source import ManifestReader, newest_of, types_of_view
from livejoin.spark.sinks import ParquetSink
from livejoin.spark.written_deltas import WrittenDeltasReader
from maintaining import maintain

pytestmark = pytest.mark.spark

STREAMS = {"G": EDGE, "P": PERSON}


class Cluster:
    """A job in cells over files of changes."""

    def __init__(self, spark: SparkSession, root: Path, cells: int = 2) -> None:
        self.spark, self.root, self.cells = spark, root, cells
        self.source = Source(root)

    def start(
        self,
        views: dict[str, str] = VIEWS,
        tables: dict[str, Any] | None = None,
        static: tuple[str, ...] = (),
        **more: Any,
    ) -> Any:
        streams = {
            name: self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 2).csv((self.root / name).as_uri())
            for name, schema in STREAMS.items()
        }
        return maintain(
            self.spark,
            views,
            {**streams, **(tables or {})},
            of={
                "G": {"window_rows": WINDOW},
                "P": {"key": "id", "sequence_by": "at"},
                **{name: {"static": True} for name in static},
            },
            **{
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

    def kept_deltas(self, view: str, columns_of: str | None = None) -> Counter[Any]:
        """What the deltas of a view add up to that its files of all batches have."""
        checkpoint = self.root / "checkpoint"
        reader = ManifestReader(checkpoint, view, 0, types_of_view(checkpoint, columns_of or view))
        total = Counter[Any]()
        for part in reader.partitions(reader.initialOffset(), {"batch": newest_of(self.files)}):
            for batch in reader.read(part):
                add(total, [tuple(row.values()) for row in batch.to_pylist()])
        return Counter({row: count for row, count in total.items() if count})


@pytest.mark.torture  # without Spark tests/distributed does the same
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
        patched.setattr(deltas, "LARGE", -1)  # which go to the sink from one file at a time
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


@pytest.mark.torture  # without Spark tests/distributed does the same
def test_another_job_in_more_cells(spark: SparkSession, tmp_path: Path) -> None:
    """Views come, go and change, and a static table comes."""
    cluster = Cluster(spark, tmp_path)
    cluster.source.step()
    options: dict[str, Any] = {"cells": 3, "static": ("N",), "keep_deltas": 9, "keep_versions": 0}
    assert cluster.start(
        {"gone": VIEWS["lonely"], "total": "SELECT COUNT(*) AS n, SUM(dst) AS s FROM G"}, keep_deltas=9
    ).awaitTermination(120)
    cluster.source.step()
    names = spark.createDataFrame(cluster.source.names, "k INT, name STRING")
    views = {"total": VIEWS["total"], "named": "SELECT P.id, N.name FROM P JOIN N ON P.id = N.k"}
    with pytest.raises(StateError, match="view 'total' has other columns than before"):
        cluster.start({**views, "total": "SELECT COUNT(*) AS m FROM G"}, {"N": names}, **options)
    assert cluster.start(views, {"N": names}, **options).awaitTermination(120)
    for view, rows in expected(cluster.source, views).items():
        assert sum_of(tmp_path / "out" / view) == rows, view
        assert cluster.kept_deltas(view) == rows, view
    assert len(list(cluster.files.glob("*.plan"))) == 1
    assert len(list(cluster.files.glob("*.views"))) == 2
    with pytest.raises(SchemaError, match="there is no view 'gone'"):
        cluster.kept_deltas("gone", "total")
    with pytest.raises(StateError, match=r"in batch 0 of .* view 'total' has the columns struct<n:.*, and the stream"):
        cluster.kept_deltas("total", "named")


@pytest.mark.torture
def test_the_deltas_are_read_from_the_manifests(spark: SparkSession, tmp_path: Path) -> None:
    """While they go to Delta tables, too; over two starts, and as long as they are kept."""
    cluster, reports, seen = Cluster(spark, tmp_path), list[BatchReport](), Counter[Any]()
    checkpoint = tmp_path / "checkpoint"
    # What one cell takes back of the first another one may bring.
    views = {"starts": "SELECT A.src FROM G A JOIN G B ON A.dst = B.src", "towns": VIEWS["towns"]}
    for _ in range(2):
        cluster.source.step()
        sink = DeltaSink(tmp_path / "tables", history=["starts"])
        query = cluster.start(views, sink=sink, on_batch=reports.append, keep_deltas=2, keep_versions=0)
        assert query.awaitTermination(120)
        with pytest.raises(ReadError, match=r"the views are in 2 cells, each a database of its own .*on_batch"):
            query.explain_view("starts", analyze=True)
        with pytest.raises(ReadError, match="the views are in 2 cells"):
            query.slow_commits()
        deltas = read_deltas(spark, checkpoint, "Starts").writeStream
        deltas = deltas.foreachBatch(lambda frame, _: add(seen, [tuple(row) for row in frame.collect()]))
        query = deltas.option("checkpointLocation", str(tmp_path / "reader")).trigger(availableNow=True).start()
        assert query.awaitTermination(120)
    rows, told = expected(cluster.source, views), Counter[Any]()
    tables = {view: DeltaTable(str(tmp_path / "tables" / view)).to_pyarrow_table().to_pylist() for view in views}
    add(told, [tuple(row.values()) for row in tables["starts"]])
    for found in (told, seen):
        assert Counter({row: count for row, count in found.items() if count}) == rows["starts"]
    assert Counter(tuple(row.values()) for row in tables["towns"]) == rows["towns"]
    with pytest.raises(SchemaError, match="known views: 'starts', 'towns'"):
        read_deltas(spark, checkpoint, "other")
    with pytest.raises(StateError, match=r"batch 0 .* are not kept any more; .* \(since=1\)"):
        ManifestReader(checkpoint, "towns", 0, types_of_view(checkpoint, "towns")).partitions(
            {"batch": -1}, {"batch": 3}
        )
    assert all(len(one.cells) == 2 and 1 <= one.skew <= 2 and one.cells[0].state_bytes for one in reports)
    assert sum(cell.changes for one in reports for cell in one.cells) > sum(one.changes for one in reports)


def test_what_cells_cannot_do_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    cluster = Cluster(spark, tmp_path)
    cluster.source.step()
    with pytest.raises(PipelineError, match="cells is 0"):
        cluster.start(cells=0)
    with pytest.raises(PipelineError, match=r"spill=.* is for mode='embedded'.* Cells hand deltas on whole"):
        cluster.start(spill=tmp_path.parent / "spill")
    with pytest.raises(PipelineError, match="keep_deltas is -1"):
        cluster.start(keep_deltas=-1)
    with pytest.raises(PipelineError, match="keep_deltas=2 is for mode='distributed'"):
        cluster.start(mode="embedded", cells=None, keep_deltas=2)
    with pytest.raises(LivejoinError, match="mode"):
        cluster.start(mode="cluster")


def test_large_deltas_are_written_by_the_cells(spark: SparkSession, tmp_path: Path) -> None:
    """And one that is not by the driver; DuckDB has each row of them once, and so has a stream of the output."""
    came = pa.table({"k": np.arange(2400) % 20, "n": np.arange(2400), "_change_type": ["insert"] * 2400})
    gone = came.slice(0, 1200).set_column(2, "_change_type", pa.array(["delete"] * 1200))
    (tmp_path / "T").mkdir()
    streams = spark.readStream.schema("k BIGINT, n BIGINT, _change_type STRING").option("maxFilesPerTrigger", 1)
    for number, changes in enumerate((came, gone)):
        pq.write_table(changes, tmp_path / "T" / f"{number}.parquet")
        os.utime(tmp_path / "T" / f"{number}.parquet", (1_000_000 + number, 1_000_000 + number))
    query = maintain(
        spark,
        {"pairs": "SELECT x.k AS k, x.n AS a, y.n AS b FROM T x JOIN T y ON x.k = y.k"},
        {"T": streams.parquet((tmp_path / "T").as_uri())},
        path=tmp_path / "out",
        checkpoint=tmp_path / "checkpoint",
        trigger={"availableNow": True},
        mode="distributed",
        cells=2,
    )
    assert query.awaitTermination(120)
    folder = tmp_path / "out" / "pairs"
    names = sorted(file.name for file in folder.iterdir())
    large = ["part-00000000-0001-of-0002.parquet", "part-00000000-0002-of-0002.parquet"]
    assert names == [*large, "part-00000001.parquet"], "the second delta is a little smaller"
    with duckdb.connect() as connection:
        connection.register("T", came.slice(1200))
        connection.execute("CREATE TABLE right_ AS SELECT x.k AS k, x.n AS a, y.n AS b FROM T x JOIN T y ON x.k = y.k")
        sign = "CASE WHEN _change_type = 'insert' THEN 1 ELSE -1 END"
        deltas_of = f"SELECT k, a, b, {sign} AS w FROM read_parquet('{folder}/*.parquet')"
        whole = f"SELECT k, a, b FROM ({deltas_of} UNION ALL SELECT *, -1 FROM right_) GROUP BY ALL HAVING sum(w) <> 0"
        assert connection.execute(f"SELECT count(*) FROM ({whole})").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM right_").fetchone() == (20 * 60 * 60,)
    reader = WrittenDeltasReader(folder)
    assert reader.latestOffset(reader.initialOffset(), None) == {"batch": 1}  # type: ignore[arg-type]
    read = [row for part in reader.partitions({"batch": -1}, {"batch": 1}) for row in reader.read(part)]
    counted = pa.Table.from_batches(read).group_by(["_change_type", "_commit_version"]).aggregate([([], "count_all")])
    assert sorted(zip(*(column.to_pylist() for column in counted.columns), strict=True)) == [
        ("delete", 1, 20 * (120 * 120 - 60 * 60)),
        ("insert", 0, 20 * 120 * 120),
    ]
    (folder / large[1]).rename(tmp_path / "kept")
    (folder / names[2]).unlink()
    with pytest.raises(StorageError, match="has no part of a view's deltas yet"):
        reader.latestOffset(reader.initialOffset(), None)  # type: ignore[arg-type]
