"""Watermarks of streams on Spark, against a model in lists: what is late, and which windows each batch closes."""

from __future__ import annotations

import datetime as dt
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from livejoin.checkpoint import read_checkpoint
from livejoin.errors import LivejoinError, PipelineError, SchemaError
from livejoin.pipeline import load, run
from livejoin.spark import read_view, stream
from livejoin.spark.streams.event_time import watermarks_of
from maintaining import maintain

pytestmark = pytest.mark.spark

BEGIN = dt.datetime(2026, 1, 31, 12)
MINUTE = dt.timedelta(minutes=1)
SCHEMA = "id INT, k STRING, ts TIMESTAMP, v INT"
CLOSED = (
    "SELECT k, window.start AS begin, COUNT(*) AS n, SUM(v) AS s FROM E GROUP BY k, window(ts, '10 minutes') EMIT FINAL"
)
VIEWS = {"closed": CLOSED, "rows": "SELECT * FROM E", "open": "SELECT k, COUNT(*) AS n FROM E GROUP BY k"}
Row = tuple[int, str, dt.datetime, int]


class Stream:
    """Files of rows, each a batch, and what the watermark makes of them by its definition.

    Args:
        folder: The folder of the files.
        seed: Draws the rows.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw, self.files = folder, random.Random(seed), 0
        self.accepted: list[Row] = []
        self.late: list[list[Row]] = []
        self.closed: list[Counter[Any]] = []
        self.mark: dt.datetime | None = None
        self.told: Counter[Any] = Counter()
        folder.mkdir()

    def write(self, count: int) -> None:
        """Further files."""
        for _ in range(count):
            top = BEGIN + 7 * self.files * MINUTE
            rows = [
                (100 * self.files + n, self.draw.choice("ab"), top + self.draw.randrange(-30, 8) * MINUTE, n)
                for n in range(self.draw.randrange(3, 9))
            ]
            file = self.folder / f"{self.files:03}.csv"
            file.write_text("".join(f"{i},{k},{ts.isoformat()},{v}\n" for i, k, ts, v in rows))
            os.utime(file, (1_700_000_000 + self.files,) * 2)
            self.files += 1
            self._batch(rows)

    def _batch(self, rows: list[Row]) -> None:
        late = [row for row in rows if self.mark is not None and row[2] < self.mark]
        taken = [row for row in rows if row not in late]
        self.late.append(late)
        self.accepted += taken
        newest = max([row[2] - 10 * MINUTE for row in taken], default=self.mark)
        self.mark = newest if self.mark is None or newest is None else max(self.mark, newest)
        groups: dict[tuple[str, dt.datetime], list[int]] = {}
        for _, k, ts, v in self.accepted:
            groups.setdefault((k, ts - dt.timedelta(minutes=ts.minute % 10)), []).append(v)
        assert self.mark is not None
        now = Counter((k, at, len(v), sum(v)) for (k, at), v in groups.items() if at + 10 * MINUTE <= self.mark)
        assert not self.told - now, "windows stay as they were told"
        self.closed.append(now - self.told)
        self.told = now

    def frame(self, spark: SparkSession, schema: str = SCHEMA) -> DataFrame:
        return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).csv(self.folder.as_uri())


def parts_of(folder: Path) -> dict[int, list[dict[str, Any]]]:
    """The rows of the output by the number of their batch."""
    return {int(file.stem.split("-")[1]): pq.read_table(file).to_pylist() for file in folder.glob("part-*.parquet")}


def is_closed_batch_by_batch(path: Path, closed: Iterable[Counter[Any]]) -> None:
    parts = parts_of(path)
    for batch, expected in enumerate(closed):
        rows = parts.get(batch, [])
        assert {row["_change_type"] for row in rows} <= {"insert"}
        found = Counter((row["k"], row["begin"].replace(tzinfo=None), row["n"], row["s"]) for row in rows)
        assert found == expected, batch


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Any]:
    return {"path": tmp_path / "out", "checkpoint": tmp_path / "ckpt", "trigger": {"availableNow": True}}


@pytest.mark.parametrize("way", ["withWatermark", pytest.param("watermark=", marks=pytest.mark.torture)])
def test_windows_are_told_once_over_restarts(
    spark: SparkSession, tmp_path: Path, places: dict[str, Any], way: str
) -> None:
    """With a snapshot behind each batch in one life, and with the log alone in the other."""
    source = Stream(tmp_path / "in", 5 if way == "withWatermark" else 6)
    reports: list[Any] = []
    for life, seconds in enumerate((None, 0.0, None)):
        source.write(4)
        frame: Any = source.frame(spark)
        frame = (
            frame.withWatermark("ts", "10 minutes")
            if way == "withWatermark"
            else stream(frame, watermark=("ts", 10 * MINUTE))
        )
        query = maintain(spark, VIEWS, {"E": frame}, **places, recovery_seconds=seconds, on_batch=reports.append)
        assert query.awaitTermination(120)
        assert len(reports) == 4 * life + 4
    assert [report.late for report in reports] == [len(late) for late in source.late]
    assert sum(map(len, source.late)) > 5
    assert sum(bool(one) for one in source.closed) > 3
    is_closed_batch_by_batch(tmp_path / "out" / "closed", source.closed)
    assert sum_of(tmp_path / "out" / "open") == Counter(Counter(row[1] for row in source.accepted).items())
    database = read_checkpoint(tmp_path / "ckpt")
    assert Counter(row["id"] for row in database.tables["E"].to_pylist()) == Counter(r[0] for r in source.accepted)
    [at] = database.tables["livejoin_watermark_e"].to_pylist()
    assert at["at"].replace(tzinfo=None) == source.mark
    assert read_view(spark, tmp_path / "ckpt", "closed").count() == source.told.total()


@pytest.mark.torture  # without Spark tests/distributed does the same
def test_cells_close_the_same_windows(spark: SparkSession, tmp_path: Path, places: dict[str, Any]) -> None:
    """Over a restart with another number of cells."""
    source = Stream(tmp_path / "in", 5)
    reports: list[Any] = []
    for cells in (2, 3):
        source.write(4)
        frame = source.frame(spark).withWatermark("ts", "10 minutes")
        more = {"mode": "distributed", "cells": cells, "on_batch": reports.append}
        assert maintain(spark, VIEWS, {"E": frame}, **places, **more).awaitTermination(240)
    assert [report.late for report in reports] == [len(late) for late in source.late]
    assert sum(map(len, source.late)) > 3
    is_closed_batch_by_batch(tmp_path / "out" / "closed", source.closed)
    assert sum_of(tmp_path / "out" / "open") == Counter(Counter(row[1] for row in source.accepted).items())
    assert read_view(spark, tmp_path / "ckpt", "closed").count() == source.told.total()


def test_late_rows_become_dead_letters(spark: SparkSession, tmp_path: Path, places: dict[str, Any]) -> None:
    source = Stream(tmp_path / "in", 8)
    source.write(6)
    frame = stream(source.frame(spark), watermark=("ts", 10 * MINUTE), late="refuse")
    letters: list[tuple[int, int, str]] = []
    reports: list[Any] = []

    def told(row: dict[str, Any], table: str, batch: int, reason: str) -> None:
        assert table == "E"
        letters.append((batch, row["id"], reason))

    more = {"on_bad_rows": "dead_letter", "dead_letters": told, "on_batch": reports.append}
    assert maintain(spark, VIEWS, {"E": frame}, **places, **more).awaitTermination(120)
    assert [(batch, row) for batch, row, _ in letters] == [
        (batch, row[0]) for batch, late in enumerate(source.late) for row in late
    ]
    assert all("the change is late: its ts" in reason for _, _, reason in letters)
    assert [report.late for report in reports] == [0] * 6
    is_closed_batch_by_batch(tmp_path / "out" / "closed", source.closed)


def test_a_late_row_ends_the_query_where_none_may_be(
    spark: SparkSession, tmp_path: Path, places: dict[str, Any]
) -> None:
    source = Stream(tmp_path / "in", 8)
    source.write(6)
    frame = stream(source.frame(spark), watermark=("ts", 10 * MINUTE), late="refuse")
    query = maintain(spark, VIEWS, {"E": frame}, **places)
    with pytest.raises(LivejoinError, match="the change is late: its ts"):
        query.awaitTermination(120)


def test_a_delay_may_change_and_a_column_may_not(spark: SparkSession, tmp_path: Path, places: dict[str, Any]) -> None:
    """The watermark does not go back with a longer delay."""
    source = Stream(tmp_path / "in", 9)
    source.write(3)
    schema = SCHEMA.replace("v INT", "v INT, other TIMESTAMP")
    frame = source.frame(spark, schema)
    views = {"rows": "SELECT * FROM E"}
    assert maintain(spark, views, {"E": frame.withWatermark("ts", "10 minutes")}, **places).awaitTermination(60)
    with pytest.raises(LivejoinError, match="the column of watermark was 'ts' and is now 'other'"):
        maintain(spark, views, {"E": frame.withWatermark("other", "10 minutes")}, **places)
    assert maintain(spark, views, {"E": frame.withWatermark("ts", "20 minutes")}, **places).awaitTermination(60)
    [at] = read_checkpoint(tmp_path / "ckpt").tables["livejoin_watermark_e"].to_pylist()
    assert at["at"].replace(tzinfo=None) == source.mark


def test_which_watermarks_are_seen(spark: SparkSession, tmp_path: Path) -> None:
    """Through selections and other names; not in what is computed, and not by what files say of their columns."""
    source = Stream(tmp_path / "in", 1)
    source.write(1)
    frame = source.frame(spark)
    marked = frame.withWatermark("ts", "90 seconds")
    seen = [("ts", 1.5 * MINUTE)]
    assert watermarks_of(marked) == seen
    assert watermarks_of(marked.where("v > 1").select("ts", "v")) == seen
    assert watermarks_of(marked.withColumnRenamed("ts", "at")) == [("at", 1.5 * MINUTE)]
    assert watermarks_of(marked.select((F.col("ts") + F.expr("INTERVAL 1 HOUR")).alias("ts"))) == []
    assert watermarks_of(frame) == []
    batch = spark.read.schema(SCHEMA).csv(source.folder.as_uri())
    noted = batch.withMetadata("ts", {"spark.watermarkDelayMs": 1000})
    assert noted.schema["ts"].metadata == {"spark.watermarkDelayMs": 1000}
    assert watermarks_of(noted) == watermarks_of(batch.withWatermark("ts", "1 second")) == []


def test_contradictions_are_refused(spark: SparkSession, tmp_path: Path, places: dict[str, Any]) -> None:
    source = Stream(tmp_path / "in", 1)
    source.write(1)
    two = source.frame(spark, f"{SCHEMA}, other TIMESTAMP")
    marked = two.withWatermark("ts", "10 minutes")
    other = source.frame(spark).selectExpr("id", "ts AS at").withWatermark("at", "5 minutes")
    both = marked.join(other, "id")
    refused: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: stream(marked, watermark=("ts", MINUTE)),
            "watermark= is of 'ts' by 0:01:00, and withWatermark of 'ts'",
        ),
        (lambda: both, "a table has one watermark; name it, as watermark=.'ts'"),
        (lambda: stream(marked, window_rows=5), "leave the window or withWatermark out"),
        (lambda: stream(two, late="refuse"), "late = 'refuse' and no watermark"),
        (lambda: stream(two, watermark=("v", MINUTE)), "the column 'v' of watermark is INT; allowed is TIMESTAMP"),
    ]
    for made, message in refused:
        with pytest.raises(SchemaError, match=message):
            maintain(spark, VIEWS, {"E": made()}, **places)
    assert stream(both, watermark=("ts", 10 * MINUTE)).declared("E").settings.watermark == ("ts", 10 * MINUTE)
    assert stream(marked).declared("E").settings.watermark == ("ts", 10 * MINUTE)


@pytest.mark.parametrize("where", ["key", "schema"])
@pytest.mark.usefixtures("spark")
def test_a_pipeline_file_with_a_watermark(tmp_path: Path, where: str) -> None:
    source = Stream(tmp_path / "in", 12)
    source.write(5)
    schema = SCHEMA if where == "key" else f"{SCHEMA}, WATERMARK FOR ts AS ts - INTERVAL '10 minutes'"
    key = 'watermark = "ts 10 MINUTES"\nlate = "refuse"' if where == "key" else ""
    file = tmp_path / "pipeline.toml"
    text = f"""
[tables.E]
schema = "{schema}"
format = "csv"
path = "in"
options = {{ maxFilesPerTrigger = 1 }}
{key}
[views.closed]
sql = "{CLOSED}"
[sink]
kind = "parquet"
path = "out"
[run]
checkpoint = "ckpt"
trigger = "available-now"
on_bad_rows = "skip"
"""
    file.write_text(text)
    run(load(file), lambda _: None, lambda: None)
    is_closed_batch_by_batch(tmp_path / "out" / "closed", source.closed)
    file.write_text(text + "check = true\n")
    with pytest.raises(PipelineError, match="those too late for a watermark too; leave one of the two out"):
        load(file)
