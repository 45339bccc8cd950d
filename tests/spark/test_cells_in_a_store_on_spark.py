"""A pipeline in cells with its checkpoint in a store; `tests/distributed/test_cells_in_a_store.py` has the faults."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark.errors.exceptions.base import PythonException
from pyspark.sql import DataFrame, SparkSession

pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
pytest.importorskip("livejoin.spark.limited_streams", reason="takes PySpark 4.2", exc_type=ImportError)

from folder_objects import FolderObjects, served_store_in
from livejoin.checkpoint.log import Log
from livejoin.distributed import Manifest, Manifests
from livejoin.errors import PipelineError, StateError
from livejoin.pipeline import clear, is_begun, load
from livejoin.spark import BatchReport, RunOptions, maintain, read_view, stream
from livejoin.spark.distributed.manifest_source import ManifestReader, newest_of, types_of_view
from livejoin.spark.distributed.steps import collected
from livejoin.state import store_folder
from livejoin.state.store_folder import store_path
from strategies import IS_FUZZ

pytestmark = pytest.mark.spark
VIEWS = {
    "hop": "SELECT x.a, y.b FROM G x JOIN G y ON x.b = y.a",
    "named": "SELECT N.name, COUNT(*) AS n FROM G JOIN N ON G.b = N.k GROUP BY N.name",
}
NAMES = [(2, "x"), (3, "y"), (4, "x")]
NOW = {"availableNow": True}


@pytest.fixture
def url(tmp_path: Path, spark: SparkSession) -> Iterator[Any]:
    """The URL of a place in a store, which is a folder beside the test."""
    root = tmp_path / "bucket"
    root.mkdir()
    with served_store_in(root, spark) as named:
        yield named


class Edges:
    """Files of edges that come one after the other."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.all: list[tuple[int, int]] = []
        self._files = 0
        folder.mkdir()

    def put(self, *edges: tuple[int, int]) -> None:
        text = "\n".join(json.dumps({"a": a, "b": b, "_change_type": "insert"}) for a, b in edges)
        draft = self.folder / f".{self._files}"
        draft.write_text(text)
        draft.rename(self.folder / f"{self._files}.json")
        self._files += 1
        self.all += edges

    @property
    def stream(self) -> DataFrame:
        read = self.spark.readStream.schema("a BIGINT, b BIGINT, _change_type STRING")
        return read.option("maxFilesPerTrigger", 1).json(str(self.folder))

    @property
    def tables(self) -> dict[str, Any]:
        names = self.spark.createDataFrame(NAMES, "k BIGINT, name STRING")
        return {"G": self.stream, "N": stream(names, static=True)}

    def expected(self) -> dict[str, Counter[Any]]:
        connection = duckdb.connect()
        connection.execute("CREATE TABLE G (a BIGINT, b BIGINT); CREATE TABLE N (k BIGINT, name TEXT)")
        connection.executemany("INSERT INTO G VALUES (?, ?)", self.all)
        connection.executemany("INSERT INTO N VALUES (?, ?)", NAMES)
        return {view: Counter(connection.sql(sql).fetchall()) for view, sql in VIEWS.items()}


def _sum(folder: Path) -> Counter[Any]:
    """What the deltas of a view add up to."""
    found = Counter[Any]()
    for file in sorted(folder.glob("*.parquet")):
        for row in pq.read_table(file).to_pylist():
            kind = row["_change_type"]
            found[tuple(row.values())[:2]] += 1 if kind in ("insert", "update_postimage") else -1
    return Counter({row: count for row, count in found.items() if count})


def test_cells_go_on_with_a_checkpoint_in_a_store(spark: SparkSession, tmp_path: Path, url: Any) -> None:
    """Over a restart, into more cells (and back, under `make fuzz`), with a static table; what is there is read."""
    edges, place, reports = Edges(spark, tmp_path / "in"), url("cells/of it"), list[BatchReport]()
    edges.put((1, 2), (2, 3))
    starts = ((1, (3, 1)), (2, (3, 4)), (1, (4, 2)))  # each cell is a process that loads its kernels
    for cells, edge in starts if IS_FUZZ else starts[:2]:
        options = RunOptions(mode="distributed", cells=cells, keep_deltas=20, on_batch=reports.append)
        given = {"path": url("out"), "checkpoint": place, "trigger": NOW, "options": options}
        maintain(spark, VIEWS, edges.tables, **given).awaitTermination()
        for view, rows in edges.expected().items():
            assert _sum(tmp_path / "bucket" / "out" / view) == rows, view
        if cells > 1:  # who reads loads kernels too
            rows = edges.expected()["hop"]
            assert Counter(map(tuple, read_view(spark, place, "hop").collect())) == rows
        edges.put(edge)
    assert [len(one.cells) for one in reports] == ([1, 2, 1] if IS_FUZZ else [1, 2])
    files = tmp_path / "bucket" / "cells" / "of it" / "livejoin"
    assert all(file.is_file() for file in files.iterdir()), "a snapshot is one object"
    assert any(file.suffix == ".tables" for file in files.iterdir())
    before = Counter(map(tuple, read_view(spark, place, "hop", 1).collect()))
    assert before == Counter([(1, 3), (2, 1), (3, 2)])
    checkpoint = store_path(place)
    reader = ManifestReader(checkpoint, "hop", 0, types_of_view(checkpoint, "hop"))
    told = Counter[Any]()
    for part in reader.partitions(reader.initialOffset(), {"batch": newest_of(checkpoint / "livejoin")}):
        for batch in reader.read(part):
            told.update((row["a"], row["b"]) for row in batch.to_pylist())
    assert told == _sum(tmp_path / "bucket" / "out" / "hop")


@pytest.mark.torture  # of one process it is in `test_checkpoint_in_a_store.py`
def test_an_offset_of_a_driver_that_slept_is_put_back_for_cells(
    spark: SparkSession, tmp_path: Path, url: Any, caplog: pytest.LogCaptureFixture
) -> None:
    edges, place = Edges(spark, tmp_path / "in"), url("slept")
    options = RunOptions(mode="distributed", cells=1)  # the offsets are the driver's, however many cells there are
    given: dict[str, Any] = {"path": url("out"), "checkpoint": place, "trigger": NOW, "options": options}
    edges.put((1, 2))
    edges.put((2, 3))
    maintain(spark, VIEWS, edges.tables, **given).awaitTermination()
    offsets = tmp_path / "bucket" / "slept" / "spark" / "offsets"
    ours = (offsets / "1").read_text()
    (offsets / "1").write_text(ours.replace('"logOffset":1', '"logOffset":9'))
    (offsets / ".1.crc").unlink(missing_ok=True)
    edges.put((3, 4))
    maintain(spark, VIEWS, edges.tables, **given).awaitTermination()
    assert (offsets / "1").read_text() == ours
    assert "which is put there: another query has written it" in "".join(caplog.messages)
    for view, rows in edges.expected().items():
        assert _sum(tmp_path / "bucket" / "out" / view) == rows, view


@pytest.mark.torture  # without Spark tests/distributed has bad rows of cells
def test_bad_rows_of_cells_go_aside_in_a_store(spark: SparkSession, tmp_path: Path, url: Any) -> None:
    edges = Edges(spark, tmp_path / "in")
    edges.put((1, 2), (2, 0))
    views = {"shares": "SELECT a, CAST(10 / b AS BIGINT) AS s FROM G WHERE 10 / b > 0"}
    options = RunOptions(
        mode="distributed", cells=2, on_bad_rows="dead_letter", dead_letters=url("letters"), on_conflict="dead_letter"
    )
    given: dict[str, Any] = {"path": url("out"), "checkpoint": url("bad"), "trigger": NOW, "options": options}
    maintain(spark, views, {"G": edges.stream}, **given).awaitTermination()
    assert _sum(tmp_path / "bucket" / "out" / "shares") == Counter([(1, 5)])
    (row,) = pq.read_table(tmp_path / "bucket" / "letters" / "G" / "part-00000000.parquet").to_pylist()
    assert (row["a"], row["b"]) == (2, 0)


@pytest.mark.parametrize("in_cells", [True, False])
def test_a_checkpoint_of_the_other_mode_is_refused_at_the_start(
    in_cells: bool, spark: SparkSession, tmp_path: Path, url: Any
) -> None:
    edges = Edges(spark, tmp_path / "in")
    there = {True: tmp_path / "folder", False: store_path(url("mode"))}
    for place in there.values():
        if in_cells:
            Log(place / "livejoin" / "log", is_owner=True).close()
        else:
            Manifests(place / "livejoin").close()
        options = RunOptions(mode="distributed", cells=2) if in_cells else RunOptions()
        has, asked = ("embedded", "distributed") if in_cells else ("distributed", "embedded")
        with pytest.raises(StateError, match=f"is of a pipeline with mode='{has}', and mode='{asked}' is asked for"):
            maintain(spark, VIEWS, edges.tables, path=url("out"), checkpoint=str(place), options=options)


def test_executors_without_obstore_are_told() -> None:
    said = "ImportError: 's3a://bucket/x' is in an object store, which needs obstore: pip install 'livejoin[cloud]'"
    frame = mock.Mock(toArrow=mock.Mock(side_effect=PythonException(said)))
    with pytest.raises(PipelineError, match="the Python of Spark's executors has no obstore"):
        collected(frame)


FILE = """
[tables.G]
schema = "a BIGINT, b BIGINT"
format = "json"
path = "in"

[views.hop]
sql = "SELECT x.a, y.b FROM G x JOIN G y ON x.b = y.a"

[sink]
kind = "parquet"
path = "s3a://bucket/of file/out"

[run]
checkpoint = "s3a://bucket/of file/state"
mode = "distributed"
cells = 2
"""


def test_a_pipeline_file_of_cells_in_a_store_begins_anew(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All goes but the number of the last opening, by which a driver of before that sleeps is refused."""
    root = tmp_path / "bucket"
    monkeypatch.setattr(store_folder, "open_objects", lambda url: FolderObjects(root, url))
    store_folder._opened.cache_clear()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text("")
    (tmp_path / "p.toml").write_text(FILE)
    pipeline = load(tmp_path / "p.toml")
    assert not is_begun(pipeline)

    place = store_path("s3a://bucket/of file/state") / "livejoin"
    slept = Manifests(place)
    slept.commit(Manifest(0, slept.epoch, "", None))
    assert is_begun(pipeline)
    clear(pipeline)
    assert not is_begun(pipeline)
    Manifests(place)
    with pytest.raises(StateError, match=r"another driver has opened it since \(epoch 2, ours is 1\)"):
        slept.commit(Manifest(1, slept.epoch, "", None))
    store_folder._opened.cache_clear()
