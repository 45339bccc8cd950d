"""``python -m benchmarks spark``: what a micro-batch costs, by its size and by the rows that are there, and a restart.

Every pipeline takes the same files, one a micro-batch, the first of which fills the tables. The floor is a pipeline
that brings each batch over as Arrow and does nothing with it; one that does not even that is named beside it. Times are
Spark's own of a trigger, the median over the batches after the second; a restart is that of the engine without Spark. A
figure stands only if the sum of the deltas in Parquet is what DuckDB computes over the rows that are left.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from benchmarks.figures import Aim, Figure, WrongAnswerError, as_json, show, verify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STATES = (30_000, 300_000, 3_000_000)
SIZES = (100, 10_000, 100_000, 1_000_000)
BATCHES = 12
ENUMERATION = 1.6
"""How many times the rate of one cell two cells are to have where a batch is bound by the rows of its delta."""
_BOUND_BY_ROWS = 1_000_000  # changes, a tenth of which `walks` has: of fewer what a batch costs anyway is most
_WARM = 2
_REGIONS = 50
_KEYED = (
    "SELECT region, COUNT(*) AS n, SUM(amount) AS total FROM orders JOIN customers ON customer = id GROUP BY region"
)
_HOPS = (
    "SELECT A.src AS a, A.dst AS b, B.dst AS c, C.dst AS d "
    "FROM G A JOIN G B ON A.dst = B.src JOIN G C ON B.dst = C.src WHERE C.dst % 100 = 0"
)


@dataclass(frozen=True)
class Workload:
    """Batches of changes of some tables, of which a view is maintained.

    Args:
        name: Its name.
        sql: The view.
        keys: The key of each table that has one.
        files: The changes of each table, a file a batch; tables that have fewer do not change after the first.
        left: The rows of each table after all of them.
        size: Changes in a batch after the first.
    """

    name: str
    sql: str
    keys: dict[str, str]
    files: dict[str, list[pa.Table]]
    left: dict[str, pa.Table]
    size: int


def keyed(state: int, size: int, batches: int) -> Workload:
    """Orders of customers: a third of the changes are new orders, a third other amounts, a third deletions."""
    dice = np.random.default_rng(1)
    customers = pa.table({"id": np.arange(max(1, state // 10)), "region": np.arange(max(1, state // 10)) % _REGIONS})
    of = dice.integers(0, customers.num_rows, state + batches * size)
    there = np.arange(state)
    amounts = dice.integers(1, 1000, state + batches * size)
    files = [_changes(there, of, amounts, "upsert")]
    new = state
    for _ in range(batches):
        third = max(1, min(size // 3, there.shape[0] // 2))
        touched = dice.choice(there.shape[0], 2 * third, replace=False)
        changed, gone = there[touched[:third]], there[touched[third:]]
        come = np.arange(new, new + size - 2 * third)
        new += come.shape[0]
        amounts[changed] = dice.integers(1, 1000, third)
        parts = [_changes(come, of, amounts, "upsert"), _changes(changed, of, amounts, "upsert")]
        files.append(pa.concat_tables([*parts, _changes(gone, of, amounts, "delete")]))
        there = np.concatenate([np.delete(there, touched[third:]), come])
    orders = _changes(there, of, amounts, "upsert").drop_columns(["_change_type"])
    left = {"orders": orders, "customers": customers}
    return Workload(
        "keyed join with groups",
        _KEYED,
        {"orders": "no", "customers": "id"},
        {"orders": files, "customers": [customers]},
        left,
        size,
    )


def hops(state: int, size: int, batches: int) -> Workload:
    """Edges of a random graph in a sliding window, whose end points are as many as its edges by four."""
    dice = np.random.default_rng(2)
    half = max(1, size // 2)
    edges = dice.integers(0, max(4, state // 4), (state + batches * half, 2))
    files = [_edges(edges[:state], "insert")]
    for number in range(batches):
        begin = number * half
        came = _edges(edges[state + begin : state + begin + half], "insert")
        files.append(pa.concat_tables([came, _edges(edges[begin : begin + half], "delete")]))
    left = {"G": _edges(edges[batches * half :], "insert").drop_columns(["_change_type"])}
    return Workload("3-Hop", _HOPS, {}, {"G": files}, left, 2 * half)


def walks(state: int, size: int, batches: int) -> Workload:
    """The 3-Hop of `hops` with all of its rows, some forty for each change: bound by their enumeration."""
    few = hops(max(1, state // 2), max(2, size // 10), batches)
    return replace(few, name="3-Hop, all rows", sql=few.sql.split(" WHERE ")[0])


def _changes(orders: Any, of: Any, amounts: Any, kind: str) -> pa.Table:
    kinds = pa.repeat(pa.scalar(kind), orders.shape[0])
    return pa.table({"no": orders, "customer": of[orders], "amount": amounts[orders], "_change_type": kinds})


def _edges(edges: Any, kind: str) -> pa.Table:
    kinds = pa.repeat(pa.scalar(kind), edges.shape[0])
    return pa.table({"src": edges[:, 0].copy(), "dst": edges[:, 1].copy(), "_change_type": kinds})


@dataclass(frozen=True)
class Run:
    """What a pipeline did.

    Args:
        seconds: The median of Spark's time of a trigger.
        log: Bytes of the log a batch.
        check: The check of its output; empty for a floor.
    """

    seconds: float
    log: float = 0.0
    check: str = ""


def write(workload: Workload, folder: Path) -> None:
    """Write the files of a workload, in the order in which Spark is to take them."""
    for table, files in workload.files.items():
        (folder / table).mkdir(parents=True)
        for number, rows in enumerate(files):
            path = folder / table / f"{number:04d}.parquet"
            pq.write_table(rows, path)
            os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def frames(spark: SparkSession, workload: Workload, folder: Path) -> dict[str, DataFrame]:
    """The streaming frame of each table."""
    found = {}
    for table in workload.files:
        schema = spark.read.parquet((folder / table / "0000.parquet").as_uri()).schema
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        found[table] = reader.parquet((folder / table).as_uri())
    return found


def floor(spark: SparkSession, workload: Workload, folder: Path, does: Callable[[DataFrame, int], None]) -> Run:
    """A pipeline that does next to nothing with the same packed batches."""
    from livejoin.spark.streams.frames import pack  # noqa: PLC0415 - after --help

    streams = frames(spark, workload, folder)
    columns = {name: [c for c in frame.columns if c != "_change_type"] for name, frame in streams.items()}
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = pack(streams, columns).writeStream.foreachBatch(does).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return Run(_median(query.recentProgress))


def measure(spark: SparkSession, workload: Workload, folder: Path, place: Path, cells: int | None = None) -> Run:
    """The view, maintained in this process, or in so many cells.

    Raises:
        WrongAnswerError: The output is not what DuckDB computes.
    """
    from livejoin.spark import RunOptions, maintain, stream  # noqa: PLC0415 - after --help

    mode: dict[str, Any] = {} if cells is None else {"mode": "distributed", "cells": cells}
    given = frames(spark, workload, folder).items()
    tables = {name: stream(frame, key=workload.keys.get(name, ())) for name, frame in given}
    places: dict[str, Any] = {"path": place / "out", "checkpoint": place / "checkpoint"}
    now = {"availableNow": True}
    query = maintain(spark, {"v": workload.sql}, tables, **places, trigger=now, options=RunOptions(**mode))
    query.awaitTermination()
    log = [file.stat().st_size for file in sorted((place / "checkpoint" / "livejoin" / "log").glob("*.batch"))[1:]]
    written = statistics.mean(log) if log else 0.0
    return Run(_median(query.recentProgress), written, checked(workload, place / "out" / "v"))


def checked(workload: Workload, output: Path) -> str:
    """The sum of the deltas beside DuckDB's result over the rows that are left."""
    with duckdb.connect() as connection:
        for name, rows in workload.left.items():
            connection.register(name, rows)
        connection.execute(f"CREATE TABLE expected AS {workload.sql}")
        columns = ", ".join(column[0] for column in connection.execute("DESCRIBE expected").fetchall())
        sign = "CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END"
        connection.execute(
            f"CREATE TABLE differing AS SELECT {columns}, sum(_n) AS _n FROM (SELECT {columns}, 1 AS _n FROM expected "
            f"UNION ALL SELECT {columns}, -({sign}) FROM read_parquet('{output}/*.parquet')) GROUP BY {columns} "
            "HAVING sum(_n) <> 0"
        )
        rows = connection.execute("SELECT count(*) FROM expected").fetchall()[0][0]
        verify("differing rows", connection.execute("SELECT count(*) FROM differing").fetchall()[0][0], 0)
    return f"sum of deltas = DuckDB: {rows:,} rows"


def _median(progress: Sequence[Any]) -> float:
    triggers = [one.durationMs["triggerExecution"] for one in progress if "addBatch" in one.durationMs][_WARM:]
    return float(statistics.median(triggers)) / 1000


def restart(place: Path, rows: int) -> Figure:
    """How long the engine of a checkpoint takes to be there again, without Spark."""
    from livejoin.checkpoint import read_checkpoint  # noqa: PLC0415 - after --help

    read_checkpoint(place / "checkpoint")
    began = time.perf_counter()
    database = read_checkpoint(place / "checkpoint")
    seconds = time.perf_counter() - began
    there = sum(table["rows"] for table in database.stats()["tables"].values())
    return Figure(f"restart at {rows:,} rows", there / seconds, "base rows/s", f"{seconds:.3g} s, {there:,} rows there")


def restart_of_cells(place: Path, rows: int) -> Figure:
    """How long the cells of a checkpoint take to be there again: those of a stage side by side, each on its own core.

    They are made one after the other here, so that the cores of this machine do not count: the time is that of the
    slowest cell of each stage.
    """
    from livejoin.database.snapshots.tables import NO_LIMITS  # noqa: PLC0415 - after --help
    from livejoin.distributed import Cell  # noqa: PLC0415 - after --help
    from livejoin.distributed.cells import held_tables  # noqa: PLC0415 - after --help
    from livejoin.distributed.declaration import bound_of, read_declaration  # noqa: PLC0415 - after --help
    from livejoin.distributed.manifest import batches_in, read_manifest  # noqa: PLC0415 - after --help

    path = place / "checkpoint" / "livejoin"
    manifest = read_manifest(path, batches_in(path)[-1])
    declaration = read_declaration(path, manifest.plan)
    plan = declaration.plan(bound_of(declaration.job), NO_LIMITS)
    slowest, all_seconds, there = defaultdict[int, float](float), 0.0, 0
    for is_warm in (False, True):
        for (stage, number), held in manifest.cells.items():
            began = time.perf_counter()
            cell = Cell(
                plan.staged.stages[stage], number, held_tables(path, plan.staged.stages[stage], held, NO_LIMITS), False
            )
            seconds = time.perf_counter() - began
            if is_warm:
                slowest[stage] = max(slowest[stage], seconds)
                all_seconds += seconds
                there += sum(table["rows"] for table in cell.database.stats()["tables"].values())
    seconds = sum(slowest.values())
    notes = f"{seconds:.3g} s, {all_seconds:.3g} s one after the other; {there:,} rows there in all cells"
    return Figure(f"restart at {rows:,} rows, {plan.cells} cells", there / seconds, "base rows/s", notes)


def figures(
    spark: SparkSession, states: Sequence[int], sizes: Sequence[int], say: Callable[[str], None]
) -> list[Figure]:
    """All figures.

    Raises:
        WrongAnswerError: An answer is wrong.
    """
    found, cost = list[Figure](), dict[int, Run]()
    for make in (keyed, hops):
        for size in sizes:
            state = max(states[-1] if size == sizes[-1] else states[len(states) // 2], size)
            workload = make(state, size, BATCHES)
            say(f"{workload.name}, {size:,} changes a batch over {state:,} rows")
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                write(workload, folder / "in")
                nothing = floor(spark, workload, folder / "in", lambda frame, number: None)
                arrow = floor(spark, workload, folder / "in", lambda frame, number: frame.toArrow() and None)
                run = measure(spark, workload, folder / "in", folder)
            small = size == sizes[0]
            aim = Aim(600_000) if make is keyed and size >= 100_000 else None
            notes = f"{run.check}; {run.log / 1000:,.0f} KB of log a batch; nothing: {nothing.seconds * 1000:,.0f} ms"
            name = f"{workload.name}: {size:,} changes a batch"
            if small:
                value, least, unit, aim = (
                    run.seconds * 1e3,
                    arrow.seconds * 1e3,
                    "ms a batch",
                    Aim(1.3, "ratio", most=True),
                )
            else:
                value, least, unit = workload.size / run.seconds, workload.size / arrow.seconds, "changes/s"
            found.append(Figure(name, value, unit, notes, least, "only to Arrow", aim))
    for state in states:
        workload = keyed(state, min(10_000, state // 2), BATCHES)
        say(f"{workload.name}, batches of {workload.size:,} over {state:,} rows, and a restart")
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            write(workload, folder / "in")
            run = measure(spark, workload, folder / "in", folder)
            cost[state] = run
            smallest = cost[states[0]]
            found.append(
                Figure(
                    f"a batch of {workload.size:,} over {state:,} rows",
                    run.seconds * 1000,
                    "ms a batch",
                    f"{run.check}; {run.log / 1000:,.0f} KB of log",
                    smallest.seconds * 1000,
                    f"over {states[0]:,} rows",
                    Aim(1.3, "ratio", most=True),
                )
            )
            found.append(restart(folder, state))
            shutil.rmtree(folder / "in")
    return found


def spread(
    spark: SparkSession, states: Sequence[int], sizes: Sequence[int], cells: Sequence[int], say: Callable[[str], None]
) -> list[Figure]:
    """What the same batches take in cells, beside one process, and how long a restart takes by the rows that are there.

    Raises:
        WrongAnswerError: An answer is wrong.
    """
    found = []
    for make in (keyed, hops, walks):
        for size in sizes:
            state = states[len(states) // 2] if make is walks else states[-1]  # some forty rows for each of its edges
            workload = make(max(state, size), size, BATCHES)
            one, beside = None, "one process"
            for number in (None, *cells):
                where = "one process" if number is None else f"{number} cells"
                say(f"{workload.name}, {size:,} changes a batch, {where}")
                with tempfile.TemporaryDirectory() as temporary:
                    folder = Path(temporary)
                    write(workload, folder / "in")
                    run = measure(spark, workload, folder / "in", folder, number)
                rate = workload.size / run.seconds
                one = rate if one is None else one
                aim = Aim(350_000) if make is keyed and number == cells[-1] and size >= 100_000 else None
                if make is walks and number == 2 and beside == "1 cells" and size >= _BOUND_BY_ROWS:
                    aim = Aim(ENUMERATION, "ratio")
                name = f"{workload.name}: {workload.size:,} changes a batch, {where}"
                notes = f"{run.check}; {run.seconds * 1000:,.0f} ms a batch"
                found.append(Figure(name, rate, "changes/s", notes, one, beside, aim))
                if make is walks and number == 1:
                    one, beside = rate, where
    for state in states:
        workload = keyed(state, min(10_000, state // 2), BATCHES)
        for number in (None, *cells):
            where = "one process" if number is None else f"{number} cells"
            say(f"{workload.name}, a restart at {state:,} rows, {where}")
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                write(workload, folder / "in")
                measure(spark, workload, folder / "in", folder, number)
                found.append(restart(folder, state) if number is None else restart_of_cells(folder, state))
    return found


def add_parser(commands: Any) -> None:
    """Add the benchmark's arguments to those of the module."""
    parser = commands.add_parser("spark", help="micro-batches on Spark: by size, by state, and a restart")
    parser.add_argument("--states", type=_numbers, default=STATES, help="rows that are there, as 30000,300000,3000000")
    parser.add_argument("--sizes", type=_numbers, default=SIZES, help="changes a batch, as 100,10000,100000,1000000")
    parser.add_argument("--cells", type=_numbers, help="instead compare so many cells with one process, as 1,2,4")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def run(options: argparse.Namespace) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    from livejoin.spark import local_session  # noqa: PLC0415 - after --help

    notes = Console(stderr=True)
    spark = local_session(
        "benchmark", settings={"spark.driver.memory": "4g", "spark.sql.streaming.numRecentProgressUpdates": "1000"}
    )

    def say(line: str) -> None:
        notes.print(f"[dim]{line} ...[/]")

    try:
        if options.cells:
            found = spread(spark, options.states, options.sizes, options.cells, say)
        else:
            found = figures(spark, options.states, options.sizes, say)
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}")
        return 1
    screen = Console()
    show("Micro-batches on Spark", found, screen if screen.is_terminal else Console(width=120))
    if options.json:
        options.json.write_text(json.dumps(as_json(found, benchmark="spark"), indent=2) + "\n")
    return 0
