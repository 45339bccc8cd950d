"""Rows that Spark brings the driver in several jobs, each below ``spark.driver.maxResultSize``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from livejoin.errors import PipelineError
from livejoin.seldom import Seldom
from livejoin.spark import BatchReport
from livejoin.spark.streams.pieces import LIMIT, pieces, schema_of
from maintaining import maintain

pytestmark = pytest.mark.spark
_SPLIT = "spark.sql.files.maxPartitionBytes"


@pytest.fixture
def little(spark: SparkSession) -> Iterator[SparkSession]:
    """A session whose jobs may bring the driver 300 KB, as Spark sees when a job starts; a task reads one file."""
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set(LIMIT, "300k")
    spark.conf.set(_SPLIT, "2m")
    yield spark
    spark.conf.unset(_SPLIT)
    conf.remove(LIMIT)


def test_pieces_are_the_rows_in_their_order(spark: SparkSession) -> None:
    frame = spark.range(0, 10_000, 1, 9).select("id", F.array(F.col("id")).alias("a"), F.lit(None).alias("n"))
    got = list(pieces(frame, schema_of(frame)))
    assert pa.concat_tables(got).equals(frame.toArrow())
    assert len(got) == 2, "four partitions come first, then as many as have room"


def test_no_rows_are_a_piece_too(spark: SparkSession) -> None:
    for frame in (spark.range(0, 10, 1, 3).where("id < 0"), spark.createDataFrame([], "id BIGINT")):
        (piece,) = pieces(frame, schema_of(frame))
        assert piece.equals(frame.toArrow())


def test_a_spark_without_partitions_of_messages_brings_all_by_one_job(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("livejoin.spark.streams.pieces._warnings", Seldom())
    frame = spark.range(0, 100, 1, 9)
    schema = schema_of(frame)
    no_method = mock.Mock(**{"toArrowBatchRdd.side_effect": Py4JError("Method toArrowBatchRdd([]) does not exist")})
    monkeypatch.setattr(frame, "_jdf", mock.Mock(wraps=frame._jdf, toArrowBatchRdd=no_method.toArrowBatchRdd))
    with mock.patch.object(type(frame), "toArrow", return_value=pa.table({"id": [1]})):
        (piece,) = pieces(frame, schema)
    assert piece.num_rows == 1
    assert "a batch comes by one job" in caplog.text


def test_partitions_that_are_too_much_together_come_in_smaller_jobs(
    little: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "livejoin")
    frame = little.range(0, 200_000, 1, 16)  # 100 KB each
    with pytest.raises(Exception, match=r"is bigger than spark\.driver\.maxResultSize"):
        frame.toArrow()
    got = list(pieces(frame, schema_of(frame)))
    assert [one.num_rows for one in got] == [25_000] + [12_500] * 14
    assert pa.concat_tables(got)["id"].to_pylist() == list(range(200_000))
    assert caplog.messages == [
        "4 partitions of Spark are more than spark.driver.maxResultSize: 2 partitions at once from now on"
    ]


def test_a_task_that_reads_more_than_the_driver_gets_is_refused(little: SparkSession) -> None:
    frame = little.range(0, 200_000, 1, 1)
    with pytest.raises(PipelineError, match=r"one task of Spark .* bigger than .* \(300\.0 KiB\)\. Raise .*maxFiles"):
        list(pieces(frame, schema_of(frame)))


def test_a_first_load_and_a_backlog_larger_than_a_result_of_spark(little: SparkSession, tmp_path: Path) -> None:
    """Either is one batch with one version; before, Spark ended the query."""
    (tmp_path / "in").mkdir()
    reports = list[BatchReport]()

    def put(first: int) -> None:
        for file in range(first, first + 8):
            numbers = range(file * 5_000, (file + 1) * 5_000)
            pq.write_table(pa.table({"a": numbers, "b": [1] * 5_000}), tmp_path / "in" / f"{file}.parquet")

    def run() -> None:
        maintain(
            little,
            {"few": "SELECT a FROM T WHERE a % 1000 = 7", "sums": "SELECT b, COUNT(*) AS n FROM T GROUP BY b"},
            {"T": little.readStream.schema("a BIGINT, b BIGINT").parquet(str(tmp_path / "in"))},
            path=tmp_path / "out",
            checkpoint=tmp_path / "checkpoint",
            trigger={"availableNow": True},
            on_batch=reports.append,
        ).awaitTermination()

    for first in (0, 8):
        put(first)
        run()
    assert [(one.batch_id, one.version, one.changes) for one in reports] == [(0, 1, 40_000), (1, 2, 40_000)]
    assert sum_of(tmp_path / "out" / "few") == Counter((number,) for number in range(7, 80_000, 1000))
    assert sum_of(tmp_path / "out" / "sums") == Counter({(1, 80_000): 1})


def test_a_task_that_is_too_much_leaves_the_batch_untouched(little: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"a": range(100_000)}), tmp_path / "in" / "all.parquet")
    arguments: dict[str, Any] = {
        "path": tmp_path / "out",
        "checkpoint": tmp_path / "checkpoint",
        "trigger": {"availableNow": True},
    }
    tables = {"T": little.readStream.schema("a BIGINT").parquet(str(tmp_path / "in"))}
    view = {"few": "SELECT a FROM T WHERE a % 1000 = 7"}
    query = maintain(little, view, tables, **arguments)
    with pytest.raises(StreamingQueryException, match=r"one task of Spark has read .*\n.*none of it was applied"):
        query.awaitTermination()
    little.sparkContext._jsc.sc().conf().set(LIMIT, "1g")
    maintain(little, view, tables, **arguments).awaitTermination()
    assert sum_of(tmp_path / "out" / "few") == Counter((number,) for number in range(7, 100_000, 1000))
