"""A batch that violates an assertion ends the query, or loses the changes that do; nothing of it is delivered."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from livejoin.errors import PipelineError, ViolationError
from livejoin.spark import RunOptions, maintain

pytestmark = pytest.mark.spark

VIEWS = {"v": "SELECT owner, SUM(amount) AS s FROM T GROUP BY owner"}
ASSERTIONS = {"covered": "NOT EXISTS (SELECT account, SUM(amount) AS s FROM T GROUP BY account HAVING SUM(amount) < 0)"}


SCHEMA = "owner STRING, account INT, amount INT"


def begun(spark: SparkSession, root: Path, frame: DataFrame, **options: Any) -> Any:
    places: dict[str, Any] = {
        "path": root / "out",
        "checkpoint": root / "checkpoint",
        "trigger": {"availableNow": True},
    }
    return maintain(spark, VIEWS, {"T": frame}, assertions=ASSERTIONS, **places, options=RunOptions(**options))


def start(spark: SparkSession, root: Path, rows: list[tuple[str, int, int]], **options: Any) -> Any:
    return begun(spark, root, spark.createDataFrame(rows, SCHEMA), **options)


def test_a_batch_that_violates_an_assertion(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("Ada", 1, 10), ("Ada", 1, -11), ("Bob", 2, 5)]
    query = start(spark, tmp_path, rows)
    with pytest.raises(StreamingQueryException, match="'covered' does not hold: a row violates it: account = 1"):
        query.awaitTermination(60)
    assert isinstance(query.failure, ViolationError) and query.failure.rows.to_pylist() == [{"account": 1, "s": -1}]
    assert sum_of(tmp_path / "out" / "v") == Counter()
    query = start(spark, tmp_path, rows, on_bad_rows="dead_letter", dead_letters=tmp_path / "letters")
    assert query.awaitTermination(60)
    assert sum_of(tmp_path / "out" / "v") == Counter({("Ada", 10): 1, ("Bob", 5): 1})
    (letter,) = pq.read_table(tmp_path / "letters").to_pylist()
    assert (letter["amount"], letter["_reason"]) == (-11, "with it, assertion 'covered' would not hold")
    assert not (tmp_path / "out" / "covered").exists()


@pytest.mark.torture  # without Spark tests/distributed does the same
def test_a_batch_of_cells_that_violates_an_assertion(spark: SparkSession, tmp_path: Path) -> None:
    """The manifest waits for the verdict: nothing of the batch stands, and all of the one before it."""
    rows = [("Ada", 1, 10), ("Ada", 1, -11), ("Bob", 2, 5)]
    cells: dict[str, Any] = {"mode": "distributed", "cells": 2}
    (tmp_path / "in").mkdir()
    for number, batch in enumerate(([rows[0], rows[2]], [("Cyd", 3, 7), rows[1]])):
        file = tmp_path / "in" / f"{number}.csv"
        file.write_text("".join(f"{owner},{account},{amount}\n" for owner, account, amount in batch))
        os.utime(file, (1_700_000_000 + number,) * 2)
    frame = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).csv((tmp_path / "in").as_uri())
    query = begun(spark, tmp_path, frame, **cells)
    with pytest.raises(StreamingQueryException, match="'covered' does not hold: a row violates it: account = 1"):
        query.awaitTermination(120)
    assert isinstance(query.failure, ViolationError) and query.failure.rows.to_pylist() == [{"account": 1, "s": -1}]
    assert any("none of the changes of this batch" in note for note in query.failure.__notes__)
    assert sum_of(tmp_path / "out" / "v") == Counter({("Ada", 10): 1, ("Bob", 5): 1})
    assert not (tmp_path / "out" / "covered").exists()
    with pytest.raises(PipelineError, match="on_bad_rows='skip' leaves out the changes that violate assertions"):
        start(spark, tmp_path / "other", rows, on_bad_rows="skip", **cells)
