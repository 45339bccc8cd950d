"""A pipeline with its checkpoint in an object store; `tests/checkpoint/test_in_a_store.py` has faults and kills."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from folder_objects import FolderObjects, store_in
from livejoin.checkpoint import read_checkpoint
from livejoin.checkpoint.log import Log
from livejoin.cli.run import run_pipeline
from livejoin.errors import LivejoinError, PipelineError, StateError, StorageError
from livejoin.pipeline import clear, is_begun, load
from livejoin.spark import RunOptions, maintain, streaming
from livejoin.spark.checkpoint_lock import lock_checkpoint
from livejoin.spark.sinks import ParquetSink
from livejoin.spark.sinks.compaction import compact
from livejoin.state import store_folder
from livejoin.state.store_folder import store_path

pytestmark = pytest.mark.spark
HOP = "SELECT x.a, y.b FROM G x JOIN G y ON x.b = y.a"
NAMED = "SELECT G.a, N.name FROM G JOIN N ON G.b = N.k"


@pytest.fixture
def url(tmp_path: Path, spark: SparkSession) -> Iterator[Any]:
    """The URL of a place in a store, which is a folder beside the test."""
    root = tmp_path / "bucket"
    root.mkdir()
    with store_in(root, spark) as named:
        yield named


class Edges:
    """Files of edges that come one after the other, and batches that a function has got."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.got: list[tuple[str, int, list[tuple[Any, ...]]]] = []
        self._files = 0
        folder.mkdir()

    def put(self, *edges: tuple[int, int]) -> None:
        text = "\n".join(json.dumps({"a": a, "b": b}) for a, b in edges)
        draft = self.folder / f".{self._files}"
        draft.write_text(text)
        draft.rename(self.folder / f"{self._files}.json")
        self._files += 1

    @property
    def stream(self) -> DataFrame:
        read = self.spark.readStream.schema("a BIGINT, b BIGINT")
        return read.option("maxFilesPerTrigger", 1).json(str(self.folder))

    def run(self, checkpoint: str, views: Mapping[str, str], **tables: DataFrame) -> dict[tuple[str, int], list[Any]]:
        """All that there is; the rows of each delta by view and batch."""
        self.got.clear()
        query = maintain(
            self.spark,
            views,
            {"G": self.stream, **tables},
            sink=self.sink,
            checkpoint=checkpoint,
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        return {(view, batch): sorted(rows) for view, batch, rows in self.got}

    def sink(self, view: str, delta: DataFrame, batch: int) -> None:
        self.got.append((view, batch, [tuple(row)[:3] for row in delta.collect()]))


def test_a_pipeline_goes_on_with_a_checkpoint_in_a_store(spark: SparkSession, tmp_path: Path, url: Any) -> None:
    """Views and tables come and go; a table that goes takes its lines out of Spark's half, which moves."""
    edges, place = Edges(spark, tmp_path / "in"), url("pipelines/orders 1")
    names = spark.createDataFrame([(2, "x"), (3, "y")], "k BIGINT, name STRING")
    edges.put((1, 2), (2, 3))
    told = edges.run(place, {"hop": HOP, "named": NAMED}, N=names)
    assert told == {("hop", 0): [(1, 3, "insert")], ("named", 0): [(1, "x", "insert"), (2, "y", "insert")]}
    edges.put((3, 1))
    told = edges.run(place, {"hop": HOP, "named": NAMED}, N=names)
    assert told == {("hop", 1): [(2, 1, "insert"), (3, 2, "insert")]}
    assert edges.run(place, {"hop": HOP}) == {}
    edges.put((1, 3))
    told = edges.run(place, {"hop": HOP, "again": "SELECT a FROM G WHERE b = 3"})
    assert told.pop(("hop", 2)) == [(1, 1, "insert"), (3, 3, "insert")]
    assert sorted(row[:2] for rows in told.values() for row in rows) == [(1, "insert"), (2, "insert")]
    rows = read_checkpoint(place).views["hop"].to_arrow().to_pylist()
    assert sorted((row["a"], row["b"]) for row in rows) == [(1, 1), (1, 3), (2, 1), (3, 2), (3, 3)]


def test_deltas_as_parquet_are_in_the_store_too(spark: SparkSession, tmp_path: Path, url: Any) -> None:
    edges, place, out = Edges(spark, tmp_path / "in"), url("of/deltas"), url("out")
    views = {"hop": HOP, "all of it": "SELECT a, b FROM G"}

    def run(keep: int | None = None) -> None:
        options = RunOptions(keep_output=keep)
        tables, now = {"G": edges.stream}, {"availableNow": True}
        maintain(spark, views, tables, path=out, checkpoint=place, trigger=now, options=options).awaitTermination()

    given = [(1, 2), (2, 3), (3, 1), (9, 9)]
    for edge in given:
        edges.put(edge)
        run()
    written = spark.read.parquet(f"{out}/all of it").orderBy("a")
    assert [tuple(row)[:3] for row in written.collect()] == [(*edge, "insert") for edge in given]
    with pytest.raises(PipelineError, match=r"'s3a://bucket/out/hop' is in a store, and compaction is for folders"):
        compact(f"{out}/hop")
    bucket = tmp_path / "bucket" / "out" / "hop"
    names = sorted(file.name for file in bucket.iterdir())
    assert names == ["part-00000001.parquet", "part-00000002.parquet", "part-00000003.parquet"]
    (bucket / names[0]).rename(tmp_path / "aside")
    with pytest.raises(StateError, match=r"s3a://bucket/out/hop lacks part-00000001\.parquet"):
        run()
    (bucket / names[0]).write_bytes((tmp_path / "aside").read_bytes()[:-1])
    with pytest.raises(StateError, match=r"part-00000001\.parquet is damaged"):
        run()
    (tmp_path / "aside").rename(bucket / names[0])
    edges.put((2, 1))
    run(keep=1)
    names = sorted(file.name for file in bucket.iterdir())
    assert names == ["_removed", "part-00000003.parquet", "part-00000004.parquet"]


def test_deltas_in_a_store_are_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Spark's reader asks for it: it is a process of its own, which has the environment's credentials."""
    written_deltas = pytest.importorskip(
        "livejoin.spark.written_deltas", reason="takes PySpark 4.2", exc_type=ImportError
    )
    root, delta = tmp_path / "bucket", pa.table({"a": [1, 2], "_change_type": ["insert", "insert"]})
    monkeypatch.setattr(store_folder, "open_objects", lambda url: FolderObjects(root, url))
    store_folder._opened.cache_clear()
    sink = ParquetSink(store_path("s3a://bucket/out"))
    for batch in (0, 2):
        sink.deliver({"v": delta.slice(0, 1 + batch // 2)}, batch)
    reader = written_deltas.WrittenDeltasReader(store_path("s3a://bucket/out/v"))
    end = reader.latestOffset(reader.initialOffset(), None)  # type: ignore[arg-type]
    parts = reader.partitions(reader.initialOffset(), end)
    rows = [
        row for part in pickle.loads(pickle.dumps(parts)) for batch in reader.read(part) for row in batch.to_pylist()
    ]
    assert end == {"batch": 2}
    assert [row["a"] for row in rows] == [1, 1, 2]
    store_folder._opened.cache_clear()


def test_one_query_a_checkpoint(spark: SparkSession, tmp_path: Path, url: Any) -> None:
    edges, place = Edges(spark, tmp_path / "in"), url("one")
    edges.put((1, 2))
    lock = lock_checkpoint(store_path(place))
    with pytest.raises(StateError, match=r"the checkpoint in s3a://bucket/one is that of a query in process \d+"):
        edges.run(place, {"hop": HOP})
    lock.release()
    assert edges.run(place, {"v": "SELECT a, b FROM G"}) == {("v", 0): [(1, 2, "insert")]}


@pytest.mark.parametrize(
    ("path", "checkpoint", "says"),
    [
        ("s3a://bucket/x", "s3a://bucket/x", "is the place of checkpoint= too"),
        ("s3a://bucket/x", "s3a://bucket/x/state", "'s3a://bucket/x/state', which is checkpoint=, lies below"),
        ("s3a://bucket/x/out", "s3a://bucket/x", "'s3a://bucket/x/out', which is path=, lies below"),
        ("s3a://bucket/my%20out", "s3a://bucket/x", "has a % in it"),
        ("s3a://bucket/x y", "gs://bucket/x", "Spark has no file system for gs://"),
    ],
)
def test_places_in_a_store_that_are_refused(
    path: str, checkpoint: str, says: str, spark: SparkSession, tmp_path: Path, url: Any
) -> None:
    edges = Edges(spark, tmp_path / "in")
    with pytest.raises(PipelineError, match=says):
        maintain(spark, {"v": "SELECT a FROM G"}, {"G": edges.stream}, path=path, checkpoint=checkpoint)
    assert not list((tmp_path / "bucket").iterdir())


def test_a_store_that_refuses_spark_is_told_in_one_line(
    spark: SparkSession, tmp_path: Path, url: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with other credentials than those of livejoin: its own half can be written."""
    edges, views = Edges(spark, tmp_path / "in"), {"v": "SELECT a, b FROM G"}
    edges.put((1, 2))
    with monkeypatch.context() as patched:
        patched.setattr(streaming, "hadoop_path", lambda _: "s3a://bucket/blocked/spark")
        (tmp_path / "bucket" / "blocked").write_text("no folder")
        with pytest.raises(StorageError, match=r"Spark cannot write its half of .*/half': org\.apache\.\w+") as told:
            edges.run(url("half"), views)
    assert "\n" not in str(told.value)
    assert told.value.__suppress_context__


def test_a_bucket_without_a_place_in_it_is_refused(spark: SparkSession, tmp_path: Path, url: Any) -> None:
    edges = Edges(spark, tmp_path / "in")
    with pytest.raises(PipelineError, match=r"checkpoint: 's3a://bucket' names no place in a bucket"):
        edges.run("s3a://bucket", {"v": "SELECT a FROM G"})


def test_what_a_query_that_slept_wrote_last_counts_for_nothing(
    spark: SparkSession, tmp_path: Path, url: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Its offset is in Spark's half, its rows are in no batch, and the log says how far the sources are read."""
    edges, place = Edges(spark, tmp_path / "in"), url("slept")
    views = {"v": "SELECT a, b FROM G"}
    for edge in ((1, 2), (2, 3), (3, 4)):
        edges.put(edge)
    assert len(edges.run(place, views)) == 3
    offsets = tmp_path / "bucket" / "slept" / "spark" / "offsets"
    assert caplog.messages == []
    ours = (offsets / "2").read_text()
    assert '"logOffset":2' in ours
    (offsets / "2").write_text(ours.replace('"logOffset":2', '"logOffset":9'))
    (offsets / ".2.crc").unlink(missing_ok=True)
    edges.put((4, 5))
    assert edges.run(place, views) == {("v", 3): [(4, 5, "insert")]}
    assert (offsets / "2").read_text() == ours
    assert "which is put there: another query has written it" in "".join(caplog.messages)


def test_a_batch_that_does_not_begin_where_the_last_one_ended_is_refused(
    spark: SparkSession, tmp_path: Path, url: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the offset is written between a look at it and Spark's own."""
    edges, place = Edges(spark, tmp_path / "in"), url("between")
    views = {"v": "SELECT a, b FROM G"}
    edges.put((1, 2))
    edges.put((2, 3))
    edges.run(place, views)
    offsets = tmp_path / "bucket" / "between" / "spark" / "offsets"
    with monkeypatch.context() as patched:
        patched.setattr(streaming, "put_back", lambda *_: None)
        (offsets / "1").write_bytes((offsets / "0").read_bytes())
        (offsets / ".1.crc").unlink(missing_ok=True)
        edges.put((3, 4))
        with pytest.raises(
            LivejoinError, match=r"batch 2 of Spark begins at .* of table 'G', and the log .* has"
        ) as told:
            edges.run(place, views)
    assert "Start again: what the log has is put back there" in str(told.value)
    assert edges.got == []
    assert edges.run(place, views) == {("v", 2): [(3, 4, "insert")]}


def test_dead_letters_are_in_the_store_too(spark: SparkSession, tmp_path: Path, url: Any) -> None:
    edges, letters = Edges(spark, tmp_path / "in"), url("letters")
    edges.put((1, 2))
    wrong = edges.stream.selectExpr("a", "b", "'sideways' AS _change_type")
    options = RunOptions(on_bad_rows="dead_letter", dead_letters=letters)
    now = {"availableNow": True}
    given = {"sink": edges.sink, "checkpoint": url("lettered"), "trigger": now, "options": options}
    maintain(spark, {"v": "SELECT a, b FROM G"}, {"G": wrong}, **given).awaitTermination()
    (row,) = pq.read_table(tmp_path / "bucket" / "letters" / "G" / "part-00000000.parquet").to_pylist()
    assert (row["a"], row["b"]) == (1, 2)
    assert "sideways" in row["_reason"]
    options = RunOptions(on_bad_rows="dead_letter", dead_letters=url("lettered/below"))
    with pytest.raises(PipelineError, match="lettered/below', which is dead_letters=, lies below"):
        maintain(spark, {"v": "SELECT a, b FROM G"}, {"G": wrong}, **(given | {"options": options}))


FILE = """
[tables.G]
schema = "a BIGINT, b BIGINT"
format = "json"
path = "in"
options = { maxFilesPerTrigger = 1 }

[views.hop]
sql = "SELECT x.a, y.b FROM G x JOIN G y ON x.b = y.a"

[sink]
kind = "parquet"
path = "s3a://bucket/of file/out"

[run]
checkpoint = "s3a://bucket/of file/state"
on_bad_rows = "dead_letter"
dead_letters = "s3a://bucket/of file/letters"
check = true
"""


def test_a_pipeline_file_with_urls_runs_goes_on_and_begins_anew(spark: SparkSession, tmp_path: Path, url: Any) -> None:
    edges, bucket, said = Edges(spark, tmp_path / "in"), tmp_path / "bucket" / "of file", io.StringIO()
    (tmp_path / "p.toml").write_text(FILE)
    console = Console(file=said, width=120)

    def run(fresh: bool = False) -> str:
        said.truncate(0)
        assert run_pipeline(tmp_path / "p.toml", fresh, None, None, None, console)
        return said.getvalue()

    edges.put((1, 2), (2, 3))
    told = run()
    assert "hop: DuckDB 1 rows, livejoin 1 rows: identical" in told
    assert "deltas of hop   s3a://bucket/of file/out/hop/   1 file" in told
    assert "read_parquet" not in told
    with (tmp_path / "in" / "1.json").open("w") as stream:
        stream.write('{"a": 3, "b": 1}\n{"a": "x", "b": 1}\n')
    edges._files += 1
    assert "hop: DuckDB 3 rows, livejoin 3 rows: identical" in run()
    assert "hop: DuckDB 3 rows, livejoin 3 rows: identical" in run()
    assert (bucket / "letters" / "G" / "part-00000001.parquet").exists()
    slept = Log(store_path(url("of file/state")) / "livejoin" / "log", is_owner=True)
    assert slept.epoch == 4
    batch = slept.read(1)
    (bucket / "state" / "mine.txt").write_text("mine")
    clear(load(tmp_path / "p.toml"))
    left = sorted(file.relative_to(bucket).as_posix() for file in bucket.rglob("*") if file.is_file())
    assert [name for name in left if "/lease/" not in name] == ["state/livejoin/log/00000004.epoch", "state/mine.txt"]
    assert not is_begun(load(tmp_path / "p.toml"))
    assert "hop: DuckDB 3 rows, livejoin 3 rows: identical" in run(fresh=True)
    with pytest.raises(StateError, match=r"another query has opened it since \(epoch 5, ours is 4\)"):
        slept.append(batch)


def test_what_does_not_go_with_a_checkpoint_in_a_store_is_told_by_its_key(tmp_path: Path, url: Any) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text("")
    for old, new, key, says in (
        ("[views", 'arrival = "by-name"\n[views', "tables.G.arrival", "'by-name' copies files below the checkpoint"),
        ('path = "in"', 'path = "in/0.json"', "tables.G.path", "is one file, which would be copied below"),
        ("file/out", "file/state/out", "sink.path", "lies below 's3a://bucket/of file/state'"),
    ):
        (tmp_path / "p.toml").write_text(FILE.replace(old, new))
        with pytest.raises(PipelineError, match=says) as refused:
            load(tmp_path / "p.toml")
        assert refused.value.key == key
