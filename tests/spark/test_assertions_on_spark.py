"""A batch that violates an assertion ends the query, or loses the changes that do; nothing of it is delivered."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltas import sum_of
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from livejoin.errors import PipelineError, ViolationError
from livejoin.spark import RunOptions, maintain

pytestmark = pytest.mark.spark

VIEWS = {"v": "SELECT owner, SUM(amount) AS s FROM T GROUP BY owner"}
ASSERTIONS = {"covered": "NOT EXISTS (SELECT account, SUM(amount) AS s FROM T GROUP BY account HAVING SUM(amount) < 0)"}


def start(spark: SparkSession, root: Path, rows: list[tuple[str, int, int]], **options: Any) -> Any:
    tables = {"T": spark.createDataFrame(rows, "owner STRING, account INT, amount INT")}
    places: dict[str, Any] = {"path": root / "out", "checkpoint": root / "checkpoint"}
    return maintain(spark, VIEWS, tables, assertions=ASSERTIONS, **places, options=RunOptions(**options))


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


def test_a_batch_of_cells_that_violates_an_assertion(spark: SparkSession, tmp_path: Path) -> None:
    """The manifest waits for the verdict: nothing of the batch stands."""
    rows = [("Ada", 1, 10), ("Ada", 1, -11), ("Bob", 2, 5)]
    cells: dict[str, Any] = {"mode": "distributed", "cells": 2}
    query = start(spark, tmp_path, rows, **cells)
    with pytest.raises(StreamingQueryException, match="'covered' does not hold: a row violates it: account = 1"):
        query.awaitTermination(120)
    assert isinstance(query.failure, ViolationError) and query.failure.rows.to_pylist() == [{"account": 1, "s": -1}]
    assert not (tmp_path / "out" / "v").exists() or sum_of(tmp_path / "out" / "v") == Counter()
    assert any("none of the changes of this batch" in note for note in query.failure.__notes__)
    good = tmp_path / "good"
    query = start(spark, good, [("Ada", 1, 10), ("Bob", 2, 5)], **cells)
    assert query.awaitTermination(120)
    assert sum_of(good / "out" / "v") == Counter({("Ada", 10): 1, ("Bob", 5): 1})
    assert not (good / "out" / "covered").exists()
    with pytest.raises(PipelineError, match="on_bad_rows='skip' leaves out the changes that violate assertions"):
        start(spark, tmp_path / "other", rows, on_bad_rows="skip", **cells)
