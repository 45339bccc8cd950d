"""Changes that cannot be applied need not end a query: they are left out, and told where that is asked."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from livejoin.errors import PipelineError, SchemaError
from livejoin.spark import BatchReport
from maintaining import maintain

pytestmark = pytest.mark.spark

ROWS = [(1, "a", "insert"), (0, "b", "insert"), (7, "c", "delete"), (2, "d", "insert"), (1, "a", "delete")]
VIEWS = {"v": "SELECT 10 / k AS x, name FROM T"}


def run(spark: SparkSession, root: Path, rows: list[Any] = ROWS, **options: Any) -> BatchReport:
    reports: list[BatchReport] = []
    frame = spark.createDataFrame(rows, "k INT, name STRING, _change_type STRING")
    places: dict[str, Any] = {"path": root / "out", "checkpoint": root / "checkpoint"}
    query = maintain(spark, VIEWS, {"T": frame}, on_batch=reports.append, **places, **options)
    assert query.awaitTermination(60)
    assert sum_of(root / "out" / "v") == Counter({(5.0, "d"): 1})
    (report,) = reports
    assert report.changes == 3
    return report


def test_a_folder_and_a_function(spark: SparkSession, tmp_path: Path) -> None:
    bad = {"on_conflict": "dead_letter", "on_bad_rows": "dead_letter"}
    report = run(spark, tmp_path / "1", **bad, dead_letters=tmp_path / "letters")
    assert (report.skipped, report.dead_letters) == (0, {"T": 2})
    letters = pq.read_table(tmp_path / "letters" / "T" / "part-00000000.parquet").to_pylist()
    zero, absent = sorted(letters, key=lambda row: str(row["name"]))
    assert "division by zero" in zero.pop("_reason").lower()
    assert "not in the table" in absent.pop("_reason")
    assert [tuple(row.values()) for row in (zero, absent)] == [ROWS[1], ROWS[2]]
    told: list[Any] = []
    run(spark, tmp_path / "2", **bad, dead_letters=lambda row, *rest: told.append((row["name"], *rest[:2])))
    assert sorted(told) == [("b", "T", 0), ("c", "T", 0)]
    report = run(spark, tmp_path / "3", on_conflict="skip", on_bad_rows="skip")
    assert (report.skipped, report.dead_letters) == (2, {})


@pytest.mark.torture  # without Spark tests/distributed has bad rows
def test_in_cells_as_in_one_process(spark: SparkSession, tmp_path: Path) -> None:
    cells: dict[str, Any] = {"mode": "distributed", "cells": 2}
    bad = {"on_conflict": "skip", "on_bad_rows": "dead_letter"}
    report = run(spark, tmp_path / "1", **cells, **bad, dead_letters=tmp_path / "letters")
    assert (report.skipped, report.dead_letters) == (1, {"T": 1})
    (zero,) = pq.read_table(tmp_path / "letters" / "T" / "part-00000000.parquet").to_pylist()
    assert re.match(r"view 'v': .*division by zero", zero.pop("_reason"))
    assert tuple(zero.values()) == ROWS[1]
    assert not list((tmp_path / "1" / "checkpoint" / "livejoin").glob("*.parts"))
    with pytest.raises(
        StreamingQueryException, match=r"ChangeValueError: table 'T': .*NULL[^|]*none of it was applied"
    ):
        run(spark, tmp_path / "2", [(None, "e", "upsert")], **cells, of={"T": {"key": "k"}})


def test_what_cannot_be_asked(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="dead_letters= is missing"):
        run(spark, tmp_path, on_bad_rows="dead_letter")
    with pytest.raises(SchemaError, match="on_conflict is 'ignore'; allowed are 'fail', 'skip', 'dead_letter'"):
        run(spark, tmp_path, on_conflict="ignore")
