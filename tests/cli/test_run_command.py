"""What ``livejoin run`` says around a pipeline that runs; the pipeline itself is not run here."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from test_meter import report

from livejoin.cli import run as command
from livejoin.pipeline import Pipeline

FILE = """
[tables.orders]
path = "orders"
format = "json"
schema = "id BIGINT PRIMARY KEY, amount INT"
feed = "upsert"

[views.total]
sql = "SELECT SUM(amount) AS total FROM orders"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "state"
trigger = "available-now"
"""


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Runs the command over a pipeline that only makes its checkpoint; gives what it printed."""
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "1.json").write_text('{"id": 1, "amount": 2}')
    file = tmp_path / "p.toml"
    file.write_text(FILE)

    def ran(pipeline: Pipeline, on_batch: Any, on_start: Any, on_recovery: Any, on_stage: Any) -> None:
        on_stage("opening orders")
        (pipeline.checkpoint / "livejoin").mkdir(parents=True, exist_ok=True)
        on_stage("batch 0: Spark reads its rows")
        on_batch(report(0))
        on_stage("batch 1: Spark reads its rows")

    monkeypatch.setattr(command, "run", ran)

    def once() -> str:
        console = Console(file=io.StringIO(), width=200)
        assert command.run_pipeline(file, False, None, None, None, console)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    return once


def test_a_warning_is_told_when_a_checkpoint_is_begun(said: Callable[[], str]) -> None:
    first, second = said(), said()
    assert first.count("warning: table 'orders' goes by its key, and several files of a batch have no order") == 1
    assert "warning: " not in second


def test_what_it_waits_for_is_told_until_the_first_batch(said: Callable[[], str]) -> None:
    lines = said().splitlines()
    told = [line for line in lines if line.startswith(("starting", "opening", "batch 0", "batch 1"))]
    assert told == [
        "starting Spark, a Java process of its own",
        "opening orders",
        "batch 0: Spark reads its rows",
    ]
