"""The benchmark of micro-batches runs, and refuses wrong answers."""

from __future__ import annotations

import dataclasses

import pytest
from pyspark.sql import SparkSession

from benchmarks import spark as benchmark
from benchmarks.figures import WrongAnswerError

pytestmark = pytest.mark.spark


@pytest.mark.torture
def test_it_measures_batches_and_restarts(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "BATCHES", 4)
    found = benchmark.figures(spark, (400,), (60,), lambda line: None)
    names = ["keyed join with groups: 60 changes a batch", "3-Hop: 60 changes a batch"]
    assert [figure.name for figure in found] == [*names, "a batch of 200 over 400 rows", "restart at 400 rows"]
    assert all("sum of deltas = DuckDB" in figure.check for figure in found[:3])


@pytest.mark.torture
def test_it_compares_cells_with_one_process(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "BATCHES", 4)
    found = benchmark.spread(spark, (400,), (60,), (1, 2), lambda line: None)
    workloads = [(name, 60) for name in ("keyed join with groups", "3-Hop")] + [("3-Hop, all rows", 6)]
    compared = [
        f"{name}: {size} changes a batch, {where}"
        for name, size in workloads
        for where in ("one process", "1 cells", "2 cells")
    ]
    restarts = ["restart at 400 rows", "restart at 400 rows, 1 cells", "restart at 400 rows, 2 cells"]
    assert [figure.name for figure in found] == [*compared, *restarts]
    assert all("sum of deltas = DuckDB" in figure.check for figure in found[: len(compared)])
    assert not any(figure.aim for figure in found), "what a batch costs anyway is most of it where it is small"
    assert found[8].floor == found[7].value, "two cells beside one"


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
