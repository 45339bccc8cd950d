from __future__ import annotations

import io

from rich.console import Console
from test_meter import Clock, report

from livejoin.cli.display import Dashboard, Lines, display_for
from livejoin.cli.meter import Meter


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
        "batch 2 of 4 | 100 changes/s | 1,001 delta rows/s | a 5 rows | b 1 rows | state 1.0 kB | 00:02 left",
        "batch 4 of 4 | 100 changes/s | 1,001 delta rows/s | a 15 rows | b 1 rows | state 1.0 kB",
    ]


def test_a_terminal_gets_the_panel() -> None:
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    assert isinstance(display_for(console, "p.toml", ["a"], Meter()), Dashboard)
