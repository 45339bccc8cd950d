"""The benchmark of the steps of a batch in cells runs, and refuses wrong answers."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks import cells as benchmark
from benchmarks.figures import WrongAnswerError


def test_it_measures_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "BATCHES", 3)
    found = benchmark.figures(300, 60, (2,), lambda line: None)
    names = ["keyed join with groups: 60", "3-Hop: 60", "3-Hop, all rows: 6"]
    assert [one.name for one in found] == [f"{name} changes, 2 cells" for name in names]
    assert all("sum of deltas = DuckDB" in one.check and "packing" in one.check for one in found)


def test_a_wrong_answer_stops_it() -> None:
    workload = benchmark.hops(50, 20, 3)
    wrong = dataclasses.replace(
        workload, sql=workload.sql.replace("% 100", "% 3"), left={"G": workload.left["G"].slice(9)}
    )
    with pytest.raises(WrongAnswerError):
        benchmark.in_cells(wrong, 2)
