"""The change data feed of a Delta table as a pipeline's feed, with what else a table of a pipeline may declare."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from livejoin.checkpoint import read_checkpoint
from livejoin.errors import DuplicateKeyError, PipelineError, SchemaError, StateError
from livejoin.pipeline import load
from livejoin.pipeline.check import check
from livejoin.pipeline.run import run
from livejoin.spark.sources import read_changes
from maintaining import maintain

FILE = """
[tables.P]
schema = "id INT PRIMARY KEY, badge INT, memo STRING, at BIGINT, CONSTRAINT badges UNIQUE (badge)"
format = "parquet"
path = "P"
feed = "delta"
arrival = "by-name"
options = { maxFilesPerTrigger = 1 }
sequence_by = "at"
tombstones = 1

[tables.B]
schema = "k INT, n INT, memo STRING"
format = "parquet"
path = "B"
feed = "delta"
retain = "used"

[views.joined]
sql = "SELECT P.id, P.badge, B.n FROM P JOIN B ON P.id = B.k"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "checkpoint"
check = true
"""

Row = tuple[Any, ...]
TYPES = {"id": pa.int32(), "badge": pa.int32(), "memo": pa.string(), "at": pa.int64(), "k": pa.int32(), "n": pa.int32()}


def write(folder: Path, name: str, columns: str, rows: list[Row]) -> None:
    """A file of a feed: the table's columns, then the change type and the version, rows of a version in any order."""
    named = [*columns.split(), "_change_type", "_commit_version"]
    types = TYPES | {"_change_type": pa.string(), "_commit_version": pa.int64()}
    lines = {name: pa.array(line, types[name]) for name, line in zip(named, zip(*rows, strict=True), strict=True)}
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(lines), folder / name)


def fill(folder: Path) -> None:
    of_p, of_b = "id badge memo at", "k n memo"
    first: list[Row] = [(1, 10, "a", 1, "insert", 1), (2, 20, "b", 1, "insert", 1), (3, None, "c", 1, "insert", 1)]
    swapped: list[Row] = [
        (1, 20, "a", 2, "update_postimage", 2),
        (2, 10, "b", 2, "update_postimage", 2),
        (2, 20, "b", 1, "update_preimage", 2),
        (1, 10, "a", 1, "update_preimage", 2),
    ]
    later: list[Row] = [
        (4, 30, "d", 5, "insert", 5),
        (3, None, "c", 1, "delete", 3),
        (2, 10, "b", 2, "delete", 4),
        (2, 11, "back", 6, "insert", 6),
    ]
    for number, rows in enumerate((first, swapped, later)):
        write(folder / "P", f"{number}.parquet", of_p, rows)
    of_version: list[Row] = [
        (2, 5, "z", "update_postimage", 8),
        (1, 1, "x", "insert", 7),
        (2, 2, "y", "insert", 7),
        (2, 2, "y", "update_preimage", 8),
        (4, 4, "v", "insert", 7),
        (4, 4, "v", "delete", 9),
    ]
    write(folder / "B", "0.parquet", of_b, of_version)
    (folder / "p.toml").write_text(FILE)


@pytest.mark.spark
def test_a_pipeline_of_delta_feeds(spark: SparkSession, tmp_path: Path) -> None:
    fill(tmp_path)
    pipeline = load(tmp_path / "p.toml")
    run(pipeline, lambda report: None, lambda: None)
    assert sum_of(tmp_path / "out" / "joined") == Counter({(1, 20, 1): 1, (2, 11, 5): 1})
    (found,) = check(pipeline)
    assert found.identical, found.example
    database = read_checkpoint(tmp_path / "checkpoint")
    assert database.tables["P"].tombstones == 1
    assert database.tables["P"].unique == ((1,),)
    assert [column.name for column in database.tables["B"].columns] == ["k", "n"]
    assert database.stats()["tables"]["P"]["late"] == 0


@pytest.mark.spark
def test_a_batch_that_breaks_unique_ends_it(spark: SparkSession, tmp_path: Path) -> None:
    fill(tmp_path)
    write(tmp_path / "P", "9.parquet", "id badge memo at", [(9, 20, "twice", 9, "insert", 9)])
    with pytest.raises(DuplicateKeyError, match=r"badge = 20\) in UNIQUE \(badge\)"):
        run(load(tmp_path / "p.toml"), lambda report: None, lambda: None)
    assert sum_of(tmp_path / "out" / "joined") == Counter({(1, 20, 1): 1, (2, 11, 5): 1})


@pytest.mark.spark
@pytest.mark.parametrize(
    ("row", "found"), [((9, 1, "x", 9, "upsert", 9), "upsert, 9"), ((9, 1, "x", 9, "insert", None), "insert, none")]
)
def test_a_row_of_another_feed_is_refused(spark: SparkSession, tmp_path: Path, row: Row, found: str) -> None:
    fill(tmp_path)
    write(tmp_path / "P", "0.parquet", "id badge memo at", [row])
    frame = read_changes(spark, load(tmp_path / "p.toml").sources["P"], tmp_path / "scratch")
    places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    query = maintain(spark, {"v": "SELECT * FROM P"}, {"P": frame}, **places, trigger={"availableNow": True})
    with pytest.raises(StreamingQueryException, match=f"table 'P', row 0 .* one of insert, delete, .*; found {found}"):
        query.awaitTermination(60)


@pytest.mark.spark
def test_what_maintain_declares(spark: SparkSession, tmp_path: Path) -> None:
    """UNIQUE, the bound of tombstones and what is retained, as arguments; and the checkpoint knows them."""
    rows = (
        "(1, 10, 'a', 1, 'insert'), (2, NULL, 'b', 1, 'insert'), (1, 10, 'a', 2, 'delete'), (2, NULL, 'b', 2, 'delete')"
    )
    frame = spark.sql(f"SELECT * FROM VALUES {rows} AS P(id, badge, memo, at, _change_type)")
    places: dict[str, Any] = {"path": tmp_path / "out", "checkpoint": tmp_path / "checkpoint"}
    options: dict[str, Any] = {
        "key": "id",
        "sequence_by": "at",
        "unique": ["badge", ["badge", "at"]],
        "tombstones": 1,
        "retain": "used",
    }
    maintain(spark, {"v": "SELECT COUNT(*) AS n FROM P"}, {"P": frame}, of={"P": options}, **places).awaitTermination(
        60
    )
    found = read_checkpoint(tmp_path / "checkpoint")
    declared = found.tables["P"]
    assert [column.name for column in declared.columns] == ["id", "badge", "at"]
    assert (declared.unique, declared.tombstones) == (((1,), (1, 2)), 1)
    assert found.stats()["tables"]["P"]["tombstones"] == 1
    with pytest.raises(StateError, match="table 'P': tombstones was 1 and is now 2"):
        maintain(
            spark, {"v": "SELECT COUNT(*) AS n FROM P"}, {"P": frame}, of={"P": options | {"tombstones": 2}}, **places
        )
    for wrong in ({"tombstones": 5}, {"unique": ["nothing"]}):
        with pytest.raises(SchemaError):
            maintain(
                spark,
                {"v": "SELECT id FROM P"},
                {"P": frame},
                of={"P": wrong},
                path=tmp_path / "o",
                checkpoint=tmp_path,
            )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'format = "parquet"\npath = "B"',
            'format = "csv"\npath = "B"',
            "feed 'delta' is read from json, orc and parquet",
        ),
        ('schema = "k INT', 'schema = "_seq BIGINT, k INT', "_seq among the columns: feed 'delta' has _change_type"),
        ('retain = "used"', 'retain = "some"', "retain"),
        ('sequence_by = "at"\n', "", "tombstones = 1 and no sequence_by"),
        ("UNIQUE (badge)", "UNIQUE (budge)", "UNIQUE names 'budge'"),
    ],
)
def test_what_cannot_be_said(tmp_path: Path, old: str, new: str, message: str) -> None:
    fill(tmp_path)
    assert old in FILE
    (tmp_path / "p.toml").write_text(FILE.replace(old, new))
    with pytest.raises(PipelineError, match=message):
        load(tmp_path / "p.toml")
