from __future__ import annotations

from dataclasses import replace

import pytest

from livejoin.cli.meter import Meter, clock_time, size, sparkline
from livejoin.spark import BatchReport


def report(batch_id: int, changes: int = 100, delta_rows: int = 1000, engine_seconds: float = 0.5) -> BatchReport:
    return BatchReport(
        batch_id=batch_id,
        version=batch_id + 1,
        changes=changes,
        delta_rows={"a": delta_rows, "b": 1},
        rows={"a": 5 * batch_id, "b": 1},
        state_bytes=1000,
        engine_seconds=engine_seconds,
        seconds=1.0,
    )


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_speeds_count_from_the_moment_that_batches_may_come() -> None:
    clock = Clock()
    meter = Meter(10, clock)
    assert (meter.changes_a_second, meter.seconds_left, meter.done) == (0.0, None, 0)
    clock.now += 50  # Spark starts
    meter.flow()
    for batch in range(4):
        clock.now += 2
        meter.add(report(batch))
    assert meter.changes_a_second == pytest.approx(50)
    assert meter.delta_rows_a_second == pytest.approx(500.5)
    assert meter.engine_share == pytest.approx(0.25)
    assert meter.seconds_left == pytest.approx(12)
    assert (meter.elapsed, meter.changes, meter.delta_rows, meter.done) == (58, 400, 4004, 4)


def test_speeds_are_those_of_the_last_batches() -> None:
    clock = Clock()
    meter = Meter(None, clock)
    meter.flow()
    for batch in range(40):
        clock.now += 10 if batch < 20 else 1
        meter.add(report(batch))
    assert meter.changes_a_second == pytest.approx(100)
    assert meter.seconds_left is None


def test_a_run_that_continues_counts_the_batches_of_before() -> None:
    meter = Meter(10, Clock())
    meter.add(report(6))
    assert (meter.done, meter.batches) == (7, 1)


def test_no_time_is_left_when_more_came_than_expected() -> None:
    meter = Meter(2, Clock())
    meter.add(report(0))
    meter.add(report(5))
    assert meter.seconds_left == 0


@pytest.mark.parametrize(("values", "bars"), [([], ""), ([0, 0], "▁▁"), ([5, 5], "██"), ([0, 50, 100], "▁▅█")])
def test_sparklines(values: list[float], bars: str) -> None:
    assert sparkline(values) == bars


def test_units() -> None:
    assert [size(n) for n in (0, 999, 1500, 2_500_000, 3e12)] == ["0 B", "999 B", "1.5 kB", "2.5 MB", "3.0 TB"]
    assert [clock_time(s) for s in (0, 61.9, 3661)] == ["00:00", "01:01", "1:01:01"]


def test_changes_that_were_left_out_are_counted() -> None:
    meter = Meter(None, Clock())
    meter.add(report(0))
    assert meter.left_out == ""
    absent = {"deletions of absent keys": 4}
    meter.add(replace(report(1), skipped=6, ignored=absent, dead_letters={"T": 1000, "U": 234}))
    meter.add(replace(report(2), skipped=5, ignored=absent, late=7))
    assert meter.left_out == ("3 refused, 8 deletions of absent keys, 1,234 dead letters, 7 too late")


def test_a_run_that_goes_on_expects_nothing() -> None:
    """What earlier runs read was in as many batches as they liked: there is no "batch 2 of 1"."""
    meter = Meter(1)
    meter.add(report(1))
    assert (meter.done, meter.expected, meter.seconds_left) == (2, None, None)
    fresh = Meter(3)
    fresh.add(report(0))
    fresh.add(report(1))
    assert (fresh.done, fresh.expected) == (2, 3)
