"""``python -m benchmarks cells``: the processor time of each step of a batch in cells, without Spark.

One process does what the processes of a cluster do, one step after the other: it packs the changes, does the part of
each cell in each stage, commits, and reads the deltas. The time of a batch is then that of its longest path, where all
cells of a stage work at once: packing, the busiest cell of each stage, the driver's part. It is processor time, so that
other work on the machine does not count, nor what Spark itself takes. Beside it is a database in one process that is
told the same, without log. A figure stands only if the sum of the deltas is what DuckDB computes over the rows that are
left.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

import livejoin
from benchmarks.figures import Aim, Figure, WrongAnswerError, as_json, show
from benchmarks.spark import ENUMERATION, Workload, checked, hops, keyed, walks
from livejoin.checkpoint.job import job_of
from livejoin.distributed import Cells, Declared, Manifest, Manifests, Task
from livejoin.distributed.files import delta_of
from livejoin.distributed.parts import Outbox, advance, by_cell
from livejoin.plan.dispatch import sampled
from livejoin.schema import CHANGE_TYPE

BATCHES = 6
_WARM = 2


def in_one_process(workload: Workload) -> float:
    """The processor time of a batch in one database, with its delta: the median, in seconds."""
    database, took = _tables(workload), list[float]()
    database.create_view("v", workload.sql)
    for changes in _batches(workload):
        began = time.process_time()
        commit = database.apply(dict(changes), on_conflict="update" if workload.keys else "error")
        assert commit["v"].num_columns
        took.append(time.process_time() - began)
    return statistics.median(took[_WARM:])


def in_cells(workload: Workload, cells: int) -> tuple[dict[str, float], str]:
    """The processor time of each step of a batch in some cells, the medians in seconds, and the check of the deltas.

    Raises:
        WrongAnswerError: The output is not what DuckDB computes.
    """
    took: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        (root / "out").mkdir()
        manifests = Manifests(root / "cells")
        bound = _tables(workload)
        tables = {name: bound._contents.tables[name.lower()].table for name in workload.files}
        declared = Declared(root / "cells", job_of(tables, {"v": workload.sql}, frozenset(), keep_all=True), cells)
        declared.choose({name: sampled(tables[name], files[0]) for name, files in workload.files.items()})
        memory = Cells(declared.plan.staged)
        for number, changes in enumerate(_batches(workload)):
            for step, seconds in _batch(declared, manifests, memory, changes, root / "out", number).items():
                took[step].append(seconds)
        manifests.close()
        check = checked(workload, root / "out")
    return {step: statistics.median(seconds[_WARM:]) for step, seconds in took.items()}, check


def _batch(
    declared: Declared,
    manifests: Manifests,
    memory: Cells,
    changes: Mapping[str, pa.Table],
    output: Path,
    number: int,
) -> dict[str, float]:
    """The processor time of the steps of a batch; its deltas are written as Parquet."""
    plan, held = declared.plan, {} if manifests.last is None else dict(manifests.last.cells)
    task, took = Task(manifests.path, plan.digest, number, manifests.epoch, held), {}
    began = time.process_time()
    outbox = Outbox(plan, "00000000")
    for name, rows in changes.items():
        outbox.send(name.lower(), rows)
    parts = outbox.left(manifests.path, number)
    took["packing"] = time.process_time() - began
    files: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for stage in range(len(plan.staged.stages)):
        came, busiest = by_cell(parts, stage), 0.0
        for cell in range(plan.cells):
            if cell not in came and (stage, cell) in held:
                continue
            began = time.process_time()
            outcome, sent = advance(memory, plan, task.of(stage, cell), stage, cell, came.get(cell, []))
            busiest = max(busiest, time.process_time() - began)
            held[stage, cell], parts = outcome.held, [*parts, *sent]
            for view, (file, _) in outcome.deltas.items():
                files[view] += (file,)
        took[f"stage {stage}"] = busiest
    began = time.process_time()
    manifests.commit(Manifest(number, manifests.epoch, plan.digest, None, held, files))
    deltas = [delta_of(manifests.path, file) for file in files["v"]]
    manifests.finish(number, [])
    took["driver"] = time.process_time() - began
    if deltas:
        pq.write_table(pa.concat_tables(deltas), output / f"{number}.parquet")
    return took


def _tables(workload: Workload) -> livejoin.Database:
    """A database with the tables, empty."""
    database = livejoin.Database()
    for name, files in workload.files.items():
        columns = [column for column in files[0].column_names if column != CHANGE_TYPE]
        key = f", PRIMARY KEY ({workload.keys[name]})" if name in workload.keys else ""
        database.create_table(name, ", ".join(f"{column} BIGINT" for column in columns) + key)
    return database


def _batches(workload: Workload) -> list[dict[str, pa.Table]]:
    """The changes of each batch, all with what they are."""
    found = []
    for number in range(max(map(len, workload.files.values()))):
        changes = {name: files[number] for name, files in workload.files.items() if number < len(files)}
        found.append({name: _told(rows) for name, rows in changes.items()})
    return found


def _told(rows: pa.Table) -> pa.Table:
    if CHANGE_TYPE in rows.column_names:
        return rows
    return rows.append_column(CHANGE_TYPE, pa.repeat(pa.scalar("insert"), rows.num_rows))


def figures(state: int, size: int, cells: Sequence[int], say: Callable[[str], None]) -> list[Figure]:
    """All figures.

    Raises:
        WrongAnswerError: An answer is wrong.
    """
    found = []
    for make in (keyed, hops, walks):
        workload = make(max(state, size), size, BATCHES)
        say(f"{workload.name}, {workload.size:,} changes a batch")
        alone = in_one_process(workload)
        one: float | None = None
        for number in cells:
            took, check = in_cells(workload, number)
            seconds = sum(took.values())
            steps = ", ".join(f"{step} {1000 * part:,.0f}" for step, part in took.items())
            aim = Aim(ENUMERATION, "ratio") if make is walks and number == 2 and one is not None else None
            least, what = (workload.size / alone, "one process") if one is None else (one, f"{cells[0]} cells")
            notes = f"{check}; ms: {steps}"
            name = f"{workload.name}: {workload.size:,} changes, {number} cells"
            found.append(Figure(name, workload.size / seconds, "changes/s", notes, least, what, aim))
            one = workload.size / seconds if one is None else one
    return found


def add_parser(commands: Any) -> None:
    """Add the benchmark's arguments to those of the module."""
    parser = commands.add_parser("cells", help="the steps of a batch in cells of processes, without Spark")
    parser.add_argument("--state", type=int, default=100_000, help="rows that are there (100000)")
    parser.add_argument("--size", type=int, default=100_000, help="changes a batch (100000)")
    parser.add_argument("--cells", type=int, nargs="+", default=[1, 2, 4], help="numbers of cells (1 2 4)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def run(options: argparse.Namespace) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    notes, screen = Console(stderr=True), Console()
    try:
        found = figures(options.state, options.size, options.cells, lambda line: notes.print(f"[dim]{line} ...[/]"))
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}")
        return 1
    show("A batch in cells", found, screen if screen.is_terminal else Console(width=160))
    if options.json:
        options.json.write_text(json.dumps(as_json(found, benchmark="cells"), indent=2) + "\n")
    return 0
