"""Measurements as tables and as JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import livejoin
from benchmarks.crown.measure import Measurement, Point
from benchmarks.crown.registry import CROWN
from benchmarks.figures import short

Results = Mapping[str, Sequence[Measurement]]
TITLES = {
    "runtime": "Time of all deltas, or the result after every tenth; x: times livejoin's, of all and the last changes",
    "memory": "Peak memory of the process in MB, less what it takes before the first change",
    "latency": "Microseconds for a commit of one change and its delta: median, 99th percentile, maximum",
    "lambda": "Microseconds a change against the enclosureness of the stream, no output",
    "selectivity": "Microseconds a change against the share of end points that is kept, all deltas",
    "scale": "Microseconds a change against the share of the data, no output",
    "batches": "Microseconds a change against the number of changes a commit",
    "threads": "Microseconds a change against the number of threads, all deltas",
    "counting": "Milliseconds to count the result",
}
AXES = {"lambda": "lambda", "selectivity": "selectivity", "scale": "scale", "batches": "commit", "threads": "threads"}


def label(measurement: Measurement) -> str:
    """A system as a column: its name, and how its changes come where that is not one at a time."""
    batched = f", commits of {measurement.commit:,}" if measurement.commit and measurement.system == CROWN else ""
    return measurement.system + batched


def a_change(measurement: Measurement) -> float | None:
    """Microseconds a change at the last point that is right."""
    return measurement.points[-1].seconds / measurement.points[-1].events * 1e6 if measurement.points else None


def show(results: Results, console: Console) -> None:
    """Print a table for each experiment."""
    for name, measurements in results.items():
        if name == "runtime":
            _grid(TITLES[name], measurements, _row, label, partial(_time, all_of_them=measurements), console)
            _grid(TITLES["memory"], measurements, _row, label, _memory, console)
        elif name == "latency":
            _grid(TITLES[name], measurements, _row, label, _latency, console)
        elif name == "counting":
            points = [(m, point.events) for m in measurements for point in m.points]
            table = Table(title=TITLES[name], title_justify="left")
            for heading in ("system", "changes", "result rows", "ms"):
                table.add_column(heading, justify="left" if heading == "system" else "right")
            for m, events in points:
                point = m.at(events)
                assert point is not None
                table.add_row(m.system, f"{events:,}", f"{point.rows:,}", short(point.seconds * 1e3))
            for m in measurements:
                if m.status != "right":
                    table.add_row(m.system, "", "", _ended(m))
            console.print(table)
        else:
            axis = AXES[name]
            _grid(TITLES[name], measurements, partial(_varied, axis=axis), _column(name), _cost, console)


def _grid(
    title: str,
    measurements: Sequence[Measurement],
    row: Callable[[Measurement], tuple[str, ...]],
    column: Callable[[Measurement], str],
    cell: Callable[[Measurement], str],
    console: Console,
) -> None:
    rows = dict.fromkeys(row(m) for m in measurements)
    columns = dict.fromkeys(column(m) for m in measurements)
    cells = {(row(m), column(m)): cell(m) for m in measurements}
    table = Table(title=title, title_justify="left", caption=_called(measurements), caption_justify="left")
    for _ in next(iter(rows), ()):
        table.add_column()
    for heading in columns:
        table.add_column(heading, justify="right")
    for one in rows:
        table.add_row(*one, *(cells.get((one, heading), "") for heading in columns))
    console.print(table)


def _called(measurements: Iterable[Measurement]) -> str | None:
    """How livejoin was called where each change has a delta of its own."""
    calls = sorted({m.call for m in measurements if m.call and m.mode == "delta"})
    sizes = " or ".join(f"{call:,}" for call in calls)
    return f"Where each change has a delta of its own, a call of livejoin has {sizes} changes." if calls else None


def _row(m: Measurement) -> tuple[str, ...]:
    return m.stream, m.query, "deltas" if m.mode == "delta" else m.mode


def _column(name: str) -> Callable[[Measurement], str]:
    return (lambda m: f"{m.system}, {m.mode}") if name == "batches" else (lambda m: m.system)


def _varied(m: Measurement, axis: str) -> tuple[str, ...]:
    value = m.commit if axis == "commit" else m.facts[axis]
    told = f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"
    return m.stream.split(" ")[0] if axis in {"scale", "selectivity"} else "", m.query, told


def _time(m: Measurement, all_of_them: Iterable[Measurement]) -> str:
    if not m.points:
        return _ended(m)
    last = m.points[-1]
    said = f"{short(last.seconds)} s"
    own = next((o for o in all_of_them if o.system == CROWN and not o.commit and _row(o) == _row(m)), None)
    if own is not None and own is not m:
        said += _times(own, m)
    return said if m.status == "right" else f"{said} at {m.reached:.0%}, then {_ended(m)}"


def _times(own: Measurement, m: Measurement) -> str:
    """How many times livejoin's a time is: of all changes, and of those from the last point but one on.

    What a system warms up with its first changes is in the former alone.
    """
    both = [(mine, one) for one in m.points if (mine := own.at(one.events)) is not None and mine.seconds]
    if not both or both[-1][1] is not m.points[-1]:
        return ""
    mine, last = both[-1]
    said = f" x{short(last.seconds / mine.seconds)}"
    if len(both) < 2 or own.system == m.system:
        return said
    earlier, before = both[-2]
    share = before.events / m.events
    return f"{said} (x{short((last.seconds - before.seconds) / (mine.seconds - earlier.seconds))} from {share:.0%} on)"


def _memory(m: Measurement) -> str:
    if not m.points:
        return _ended(m)
    return f"{(m.points[-1].memory - m.idle) / 1e6:,.0f}" + ("" if m.status == "right" else f" at {m.reached:.0%}")


def _latency(m: Measurement) -> str:
    if m.status != "right":
        return _ended(m)
    spans = m.points[-1].more["latency"]
    return " ".join(short(spans[name] * 1e6) for name in ("p50", "p99", "max"))


def _cost(m: Measurement) -> str:
    cost = a_change(m)
    if cost is None:
        return _ended(m)
    return short(cost) if m.status == "right" else f"{short(cost)} at {m.reached:.0%}, then {_ended(m)}"


def _ended(m: Measurement) -> str:
    told = m.status if m.status == "WRONG" else f"{m.status}: {m.reason}"
    return f"[red]{told}[/]" if m.status in {"WRONG", "failed"} else f"[dim]{told}[/]"


def as_json(results: Results, **about: Any) -> dict[str, Any]:
    """All measurements, what they are about and what they were measured with."""
    packages = ("numba", "numpy", "pyarrow", "duckdb")
    return {
        **about,
        "machine": {"system": platform.system(), "processor": platform.machine(), "python": platform.python_version()},
        "versions": {"livejoin": livejoin.__version__, **{name: version(name) for name in packages}},
        "experiments": {name: [_plain(m) for m in measurements] for name, measurements in results.items()},
    }


def write(results: Results, file: Path, **about: Any) -> None:
    """Write `as_json` to a file, which is the old one or the new one as a whole, whenever this is interrupted."""
    part = file.with_name(f".{file.name}.part")
    try:
        part.write_text(json.dumps(as_json(results, **about), indent=1) + "\n")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _plain(m: Measurement) -> dict[str, Any]:
    return {**asdict(m), "points": [asdict(point) for point in m.points], "reached": m.reached}


def read(files: Iterable[Path]) -> dict[str, list[Measurement]]:
    """The measurements that files of `as_json` hold; of an experiment that stands in several, all of them."""
    results: dict[str, list[Measurement]] = {}
    for file in files:
        for name, measurements in json.loads(file.read_text())["experiments"].items():
            for given in measurements:
                points = tuple(Point(**point) for point in given["points"])
                facts = {key: value for key, value in given.items() if key != "reached"}
                results.setdefault(name, []).append(Measurement(**{**facts, "points": points}))
    return results
