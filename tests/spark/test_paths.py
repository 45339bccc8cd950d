"""A folder has one name for Python and for Spark, whatever that has in it."""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from livejoin.errors import PipelineError, StateError, StorageError
from livejoin.pipeline import check, load, run
from livejoin.spark import read_deltas
from livejoin.spark.paths import hadoop_pattern, local_folder
from livejoin.spark.streams import batch_frame, carried_rows
from maintaining import IN_CELLS, maintain

ODD = "r ü%20b #é,;'&+=日"
WILD = "a?[1]{a,b}*\\"
NOW = {"availableNow": True}
VIEWS = {"v": "SELECT T.id, S.n FROM T JOIN S ON T.id = S.id"}


def feed(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


def run_once(spark: SparkSession, root: Path, **more: Any) -> None:
    stream = spark.readStream.schema("id BIGINT").csv(hadoop_pattern(root / "in"))
    batch = spark.createDataFrame([(1, 10), (2, 20), (3, 30)], "id BIGINT, n INT")
    places = {"path": root / "out", "checkpoint": root / "state", "dead_letters": root / "letters"}
    options: dict[str, Any] = {"trigger": NOW, "on_bad_rows": "dead_letter", **places, **more}
    assert maintain(spark, VIEWS, {"T": stream, "S": batch}, **options).awaitTermination(100)


@pytest.mark.spark
@pytest.mark.parametrize("more", [{}, IN_CELLS])
@pytest.mark.torture
def test_a_folder_of_any_name(spark: SparkSession, tmp_path: Path, more: dict[str, Any]) -> None:
    root = tmp_path / ODD
    feed(root / "in", "1.csv", "1\n2\n")
    run_once(spark, root, **more)
    assert sum_of(root / "out" / "v") == Counter({(1, 10): 1, (2, 20): 1})
    feed(root / "in", "2.csv", "3\n")
    run_once(spark, root, **more)
    assert sum_of(root / "out" / "v") == Counter({(1, 10): 1, (2, 20): 1, (3, 30): 1})
    assert [path.name for path in tmp_path.iterdir()] == [ODD]
    assert (root / "state" / "spark" / "offsets" / "1").exists()
    if not more:
        deltas = read_deltas(spark, root / "out" / "v").drop("_commit_version", "_commit_timestamp")
        again: dict[str, Any] = {"path": root / "out 2", "checkpoint": root / "state 2", "trigger": NOW}
        assert maintain(spark, {"w": "SELECT n FROM d"}, {"d": deltas}, **again).awaitTermination(100)
        assert sum_of(root / "out 2" / "w") == Counter({(10,): 1, (20,): 1, (30,): 1})


@pytest.mark.spark
def test_a_stream_from_a_folder_that_spark_takes_for_a_pattern(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads each of two files there twice; its own checkpoint may be in such a folder."""
    stream = spark.readStream.format("rate").load().selectExpr("value AS id")
    batch = spark.range(3).selectExpr("id", "CAST(id AS INT) AS n")
    for character in "?[]{}*\\":
        places: dict[str, Any] = {"path": tmp_path / "o[u]t", "checkpoint": tmp_path / f"x{character}"}
        with pytest.raises(PipelineError, match="Spark reads files twice that have"):
            maintain(spark, VIEWS, {"T": stream, "S": batch}, **places)
    feed(tmp_path / "in", "1.csv", "1\n")
    frame = spark.readStream.schema("id BIGINT").csv(hadoop_pattern(tmp_path / "in"))
    places = {"path": tmp_path / "o[u]t", "checkpoint": tmp_path / WILD, "trigger": NOW}
    for count in (1, 2):
        assert maintain(spark, {"v": "SELECT id FROM T"}, {"T": frame}, **places).awaitTermination(60)
        assert sum_of(tmp_path / "o[u]t" / "v") == Counter({(row,): 1 for row in range(1, count + 1)})
        feed(tmp_path / "in", "2.csv", "2\n")


@pytest.mark.spark
def test_nothing_is_left_when_a_checkpoint_is_deleted(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "a b"
    feed(root / "in", "1.csv", "1\n")
    for _ in range(2):
        run_once(spark, root)
        assert sum_of(root / "out" / "v") == Counter({(1, 10): 1})
        shutil.rmtree(root / "state")
        shutil.rmtree(root / "out")


@pytest.mark.spark
def test_the_half_of_spark_that_is_beside_comes_home(spark: SparkSession, tmp_path: Path) -> None:
    """As versions up to 2026-11-24 left it."""
    root = tmp_path / "a b"
    feed(root / "in", "1.csv", "1\n")
    run_once(spark, root)
    beside = tmp_path / "a%20b" / "state" / "spark"
    shutil.copytree(root / "state" / "spark", beside)
    for entry in (root / "state" / "spark").iterdir():
        if entry.name != "livejoin-sources.json":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    (beside / "livejoin-sources.json").unlink()
    feed(root / "in", "2.csv", "2\n")
    run_once(spark, root)
    assert sum_of(root / "out" / "v") == Counter({(1, 10): 1, (2, 20): 1})
    assert not beside.exists()


@pytest.mark.spark
@pytest.mark.parametrize("more", [pytest.param({}, id="embedded"), IN_CELLS])
def test_half_a_checkpoint_is_none(spark: SparkSession, tmp_path: Path, more: dict[str, Any]) -> None:
    """Spark's batch 0 would pass for the one that was done, with the rows of later ones in it."""
    feed(tmp_path / "in", "1.csv", "1\n")
    run_once(spark, tmp_path, **more)
    shutil.rmtree(tmp_path / "state" / "spark")
    feed(tmp_path / "in", "2.csv", "2\n")
    with pytest.raises(StateError, match="has no offsets of Spark"):
        run_once(spark, tmp_path, **more)


@pytest.mark.spark
@pytest.mark.torture
def test_a_batch_frame_on_a_disk_that_the_driver_does_not_see(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What executors write to disks of their own is not there for the driver, which hands the rows on by itself."""

    def elsewhere(path: Path) -> str:
        path.mkdir(parents=True)
        (path / "_SUCCESS").touch()
        return f"file:{tmp_path}/disk of another host"

    types = "id BIGINT, s STRING, at TIMESTAMP, n TIMESTAMP_NTZ, d DECIMAL(9, 2), a ARRAY<INT>, x STRUCT<y: TIMESTAMP>"
    rows = [
        (
            n,
            f"s{n}",
            dt.datetime(2026, 1, n),
            dt.datetime(2026, 2, n),
            Decimal(n),
            [n, None],
            (dt.datetime(2026, 3, n),),
        )
        for n in range(1, 9)
    ]
    frame = spark.createDataFrame([*rows, (None,) * 7], types)
    views = {"v": "SELECT * FROM T"}
    more: Any = {"path": tmp_path / "out", "checkpoint": tmp_path / "state"}
    with monkeypatch.context() as patched:
        patched.setattr(batch_frame, "hadoop_path", elsewhere)
        assert maintain(spark, views, {"T": frame}, **more).awaitTermination(60)
        patched.setattr(carried_rows, "write_rows", refuse)
        with pytest.raises(StorageError, match=r"1,000 rows .*, and 0 of them .*: too many\. Give a checkpoint on a"):
            batch_frame.as_stream(spark, spark.range(1000), tmp_path / "none" / "T")
    assert list((tmp_path / "none").iterdir()) == []
    assert batch_frame.are_carried(tmp_path / "state" / "static" / "T")
    told = pq.read_table(tmp_path / "out" / "v").sort_by("id")
    assert told.drop_columns(["_change_type", "_commit_version", "_commit_timestamp"]).to_pylist() == (
        frame.orderBy(F.col("id").asc_nulls_last()).toArrow().to_pylist()
    )
    reader = carried_rows.RowsReader(str(tmp_path / "state" / "static" / "T" / carried_rows.FILE))
    (piece,) = reader.partitions({"read": False}, {"read": True})
    program = (
        "import pickle, sys; sys.modules['livejoin'] = None; reader, piece = pickle.load(sys.stdin.buffer); "
        "print(sum(rows.num_rows for rows in reader.read(piece)))"
    )
    sent = cloudpickle.dumps((reader, piece))
    ran = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, timeout=60, check=True)
    assert ran.stdout.split() == [b"9"], "executors need no livejoin"
    reports: list[Any] = []
    assert maintain(spark, views, {"T": frame}, **more, on_batch=reports.append).awaitTermination(60)
    assert sum(report.changes for report in reports) == 0
    for empty in (frame, frame.limit(0), frame.where(F.lit(False)), frame.groupBy().count()):
        found = batch_frame.as_stream(spark, empty, tmp_path / "state" / f"T{id(empty)}")
        assert found.isStreaming


def refuse(frame: object, folder: Path) -> None:
    raise PySparkException("too many")


PIPELINE = """
[tables.T]
schema = "id BIGINT, n INT"
format = "csv"
path = {path!r}
{more}

[views.v]
sql = "SELECT id, SUM(n) AS n FROM T GROUP BY id"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "state"
check = true
"""


@pytest.mark.spark
@pytest.mark.parametrize(
    "path",
    [
        pytest.param("in/*.csv", id="all"),
        pytest.param("in/[x]*.csv", id="odd"),
        pytest.param("in", id="folder", marks=pytest.mark.torture),
        pytest.param("in/%1 #1.csv", id="file", marks=pytest.mark.torture),
        pytest.param("i?/%1*.csv", id="wild"),
    ],
)
def test_a_pipeline_in_a_folder_of_any_name(spark: SparkSession, tmp_path: Path, path: str) -> None:
    root = tmp_path / ODD
    feed(root / "in", "%1 #1.csv", "1,2\n")
    feed(root / "in", "%1 #2.csv", "1,3\n")
    for arrival in ("", 'arrival = "by-name"'):
        (root / "p.toml").write_text(PIPELINE.format(path=path, more=arrival), encoding="utf-8")
        if path == "in/[x]*.csv":
            with pytest.raises(PipelineError, match="there is no file"):
                load(root / "p.toml")
            continue
        pipeline = load(root / "p.toml")
        run(pipeline, lambda _: None, lambda: None)
        (found,) = check(pipeline)
        assert found.identical and found.maintained == 1, found.example
        assert sum_of(root / "out" / "v") == Counter({(1, 2 if path.startswith("in/%1 ") else 5): 1})
        shutil.rmtree(root / "state")
        shutil.rmtree(root / "out")


@pytest.mark.spark
def test_a_file_that_spark_reads_twice(spark: SparkSession, tmp_path: Path) -> None:
    feed(tmp_path / "in", "a[1].csv", "1,2\n")
    feed(tmp_path / "in", "b.csv", "1,3\n")
    (tmp_path / "p.toml").write_text(PIPELINE.format(path="in", more=""))
    with pytest.raises(
        PipelineError, match=r"table 'T' would be streamed from .*a\[1\].csv', and Spark reads files twice"
    ):
        run(load(tmp_path / "p.toml"), lambda _: None, lambda: None)


def test_a_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert local_folder("~/a b", "path") == tmp_path / "a b"
    assert local_folder(Path("~"), "path") == tmp_path
    with pytest.raises(
        PipelineError, match=r"path='~nobody-of-that-name/x' begins with a home folder that there is not"
    ):
        local_folder("~nobody-of-that-name/x", "path")
    (tmp_path / "p.toml").write_text(PIPELINE.format(path="~/in", more="").replace('"out"', '"~/the out"'))
    feed(tmp_path / "in", "1.csv", "1,2\n")
    assert load(tmp_path / "p.toml").output == tmp_path / "the out"
    assert load(tmp_path / "p.toml").sources["T"].path == tmp_path / "in"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///data/my%20out", "/data/my out"),
        ("file:/data/x", "/data/x"),
        ("file:///data/a#b?c", "/data/a#b?c"),
        ("FILE://localhost/data", "/data"),
        ("/data/a%20b", "/data/a%20b"),
        (Path("file:///data/x"), "/data/x"),
    ],
)
def test_a_uri_of_a_file(uri: str | Path, path: str) -> None:
    assert local_folder(uri, "path") == Path(path)


def test_a_uri_of_another_host() -> None:
    with pytest.raises(PipelineError, match="names the host 'data'"):
        local_folder("file://data/x", "path")


def test_a_delta_table_where_deltalake_loses_its_way(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    from livejoin.spark.delta import DeltaSink, table_columns  # noqa: PLC0415

    for name in ("a[1]", "a%20b", "a\\b"):
        with pytest.raises(PipelineError, match="which deltalake misreads; give another folder"):
            table_columns(tmp_path / name)
        with pytest.raises(PipelineError, match="which deltalake misreads"):
            DeltaSink(tmp_path / name)
    assert DeltaSink(f"file://{tmp_path}/a%20b").of("v") == tmp_path / "a b" / "v"
