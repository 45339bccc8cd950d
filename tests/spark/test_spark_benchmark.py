"""The benchmark of micro-batches runs, and refuses wrong answers."""

from __future__ import annotations

import dataclasses

import pytest
from pyspark.sql import SparkSession

from benchmarks import spark as benchmark
from benchmarks.figures import WrongAnswerError

pytestmark = pytest.mark.spark


def test_it_measures_batches_and_restarts(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "BATCHES", 4)
    found = benchmark.figures(spark, (400,), (60,), lambda line: None)
    names = ["keyed join with groups: 60 changes a batch", "3-Hop: 60 changes a batch"]
    assert [figure.name for figure in found] == [*names, "a batch of 200 over 400 rows", "restart at 400 rows"]
    assert all("sum of deltas = DuckDB" in figure.check for figure in found[:3])


def test_a_wrong_answer_stops_it(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "BATCHES", 3)
    made = benchmark.keyed

    def wrong(state: int, size: int, batches: int) -> benchmark.Workload:
        workload = made(state, size, batches)
        return dataclasses.replace(workload, left={**workload.left, "orders": workload.left["orders"].slice(1)})

    monkeypatch.setattr(benchmark, "keyed", wrong)
    monkeypatch.setattr(benchmark, "floor", lambda *_: benchmark.Run(1.0))
    with pytest.raises(WrongAnswerError):
        benchmark.figures(spark, (100,), (30,), lambda line: None)
