from __future__ import annotations

import io
import re
import time
from dataclasses import replace

import pytest
from rich.console import Console
from rich.text import Text
from test_meter import Clock, report

from livejoin.cli.display import Dashboard, Lines, display_for
from livejoin.cli.meter import Meter
from livejoin.distributed import CellReport
from livejoin.spark import Recovery


def filled(clock: Clock) -> Meter:
    meter = Meter(60, clock)
    meter.flow()
    for batch in range(30):
        clock.now += 0.5
        meter.add(report(batch, changes=1_234_567, delta_rows=123_456_789 * (batch % 3)))
    return meter


def test_the_panel_fits_80_columns_even_with_large_numbers_and_long_names() -> None:
    clock = Clock()
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    dashboard = Dashboard(
        console, "examples/hop3/pipeline.toml", ["a", "b", "a_view_with_quite_a_long_name"], filled(clock)
    )
    dashboard.phase("running")
    console.print(dashboard.panel())
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert [len(line) for line in lines] == [80] * len(lines)
    assert len(lines) == 9  # a line a figure: nothing wraps
    text = "\n".join(lines)
    for shown in ("30 of 60", "2,469,134/s", "37,037,010 in all", "00:15 left", "running  00:15", "145  ", "1.0 kB"):
        assert shown in text


def test_lines_where_there_is_no_terminal() -> None:
    clock = Clock()
    console = Console(file=io.StringIO(), width=80)
    display = display_for(console, "p.toml", ["a"], Meter(4, clock))
    assert isinstance(display, Lines)
    with display:
        display.phase("starting Spark")
        for batch in range(4):
            clock.now += 1
            display.batch(report(batch))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().splitlines() == [
        "livejoin  p.toml",
        "starting Spark",
        "batches 2 of 4 | 100 changes/s | 1,001 delta rows/s | a 5 rows | b 1 rows | state 1.0 kB | 00:02 left",
        "batches 4 of 4 | 100 changes/s | 1,001 delta rows/s | a 15 rows | b 1 rows | state 1.0 kB",
    ]


def test_what_is_waited_for_is_told_until_there_is_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livejoin.cli.display._SECONDS_BETWEEN_SIGNS", 0.05)
    clock = Clock()
    console = Console(file=io.StringIO(), width=80)
    assert isinstance(console.file, io.StringIO)
    with display_for(console, "p.toml", ["a"], Meter(4, clock)) as display:
        display.phase("starting Spark")
        display.stage("batch 0: Spark reads its rows")
        clock.now += 70
        until = time.monotonic() + 20
        while "01:10, still: batch 0: Spark reads its rows" not in console.file.getvalue():
            assert time.monotonic() < until
            time.sleep(0.02)
        display.batch(report(0))
        display.stage("batch 1: Spark reads its rows")
    assert "batch 1" not in console.file.getvalue()


def test_the_panel_says_what_is_waited_for() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    meter = Meter(4, Clock())
    dashboard = Dashboard(console, "p.toml", ["a"], meter)
    shown = []
    for happens in (
        lambda: dashboard.stage("batch 0: Spark reads its rows"),
        lambda: meter.add(report(0)),
    ):
        happens()
        console.print(dashboard.panel())
        assert isinstance(console.file, io.StringIO)
        shown.append(console.file.getvalue())
        console.file = io.StringIO()
    assert "now         batch 0: Spark reads its rows" in shown[0]
    assert "now  " not in shown[1]


def test_what_came_back_and_what_was_left_out() -> None:
    clock = Clock()
    recovery = Recovery(41, 12_345_678, 7, 70_000, 1.25, 2.5)
    for is_terminal in (True, False):
        meter = Meter(60, clock)
        console = Console(file=io.StringIO(), width=80, force_terminal=is_terminal, color_system=None)
        display = display_for(console, "p.toml", ["a"], meter)
        display.came_back(recovery)
        meter.add(replace(report(42), skipped=1_234_567, dead_letters={"T": 891}, late=1_234, refreshed=("P", "Q")))
        console.print(display.panel() if isinstance(display, Dashboard) else Text(display.line()), soft_wrap=True)
        assert isinstance(console.file, io.StringIO)
        text = console.file.getvalue()
        assert "1,234,567 refused, 891 dead letters, 1,234 too late" in text
        assert "12,345,678 rows" in text
        assert re.search("refreshed:? +P, Q", text)
        if is_terminal:
            assert "70,000 changes applied again, in 3.8 s" in text
            assert {len(line) for line in text.splitlines()} == {80}
        else:
            assert "12,345,678 rows behind batch 41 came back in 3.8 seconds: 7 batches with 70,000 changes" in text


def test_a_terminal_gets_the_panel() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    assert isinstance(display_for(console, "p.toml", ["a"], Meter()), Dashboard)


def test_what_cells_did() -> None:
    cells = (CellReport(0, 300, 10, 1000, 1, 1.5), CellReport(1, 100, 10, 1000, 1, 1.0))
    for is_terminal in (True, False):
        meter = Meter(60, Clock())
        console = Console(file=io.StringIO(), width=80, force_terminal=is_terminal, color_system=None)
        display = display_for(console, "p.toml", ["a"], meter)
        meter.add(replace(report(0), cells=cells))
        console.print(display.panel() if isinstance(display, Dashboard) else Text(display.line()), soft_wrap=True)
        assert isinstance(console.file, io.StringIO)
        assert "2 cells, busiest 1.5 x mean, 2 made from files" in console.file.getvalue()
    assert str(cells[0]) == "cell 0: 300 changes, 10 delta rows, 1,000 bytes, lambda 1.5, made from its files"
