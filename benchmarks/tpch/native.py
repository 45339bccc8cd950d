"""Programs of ours in DBSP that maintain some of the queries: what they are given, and what they print.

The program is ``benchmarks/peers/dbsp/src/bin/tpch``. It gets the columns of the tables and the changes as files, has
them in memory before its clock starts, and prints its result at every point, which is compared with DuckDB's.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.figures import WrongAnswerError
from benchmarks.peers.programs import DBSP, ProgramError, missing
from benchmarks.tpch.answers import Row, same
from benchmarks.tpch.data import used
from benchmarks.tpch.measure import TENTHS, Peer, Points
from benchmarks.tpch.streams import Stream

PROGRAM = DBSP / "target" / "release" / "tpch"
BUILD = "python -m benchmarks tpch --build"
PLANS = {"q01": ("best",), **dict.fromkeys(("q03", "q05", "q13", "q17"), ("best", "text"))}
"""The queries that the program has, each with its plans."""
SECONDS = 170  # a run that takes longer is ended


@dataclass(frozen=True)
class Job:
    """What a program is asked to do.

    Args:
        query: The query.
        plan: The plan.
        folder: Where `write` put the stream.
        tables: The tables in the order of their numbers.
        workers: Threads.
        points: After how many changes it prints its result.
    """

    query: str
    plan: str
    folder: Path
    tables: tuple[str, ...]
    workers: int
    points: tuple[int, ...]

    @property
    def arguments(self) -> list[str]:
        """What follows the program on the command line."""
        points = ",".join(map(str, self.points))
        options = ["--query", self.query, "--plan", self.plan, "--workers", str(self.workers), "--points", points]
        return [str(self.folder), *options, "--tables", ",".join(self.tables)]


def why_not() -> str:
    """Why the program cannot run; empty if it can."""
    return missing(PROGRAM, BUILD)


def peers(query: str, text: str, given: Stream, commit: int, workers: int, folder: Path) -> dict[str, Peer]:
    """The plans for a query over a stream by their names; what the query's text names is written into a folder."""
    plans = PLANS.get(query, ())
    if not plans:
        return {}
    tables = write(replace(given, tables=used(given.tables, [text], columns=True)), commit, folder)
    points = given.points(commit, TENTHS)
    return {f"DBSP, {plan}": partial(run, Job(query, plan, folder, tables, workers, points)) for plan in plans}


def write(given: Stream, commit: int, folder: Path) -> tuple[str, ...]:
    """Write a stream: columns, the rows of tables that do not change, the changes, and the ends of commits.

    Returns:
        The tables in the order of their numbers.
    """
    fixed = [name for name in given.tables if name not in given.changing]
    tables = (*given.changing, *fixed)
    for name in tables:
        for column in given.tables[name].column_names:
            _write_column(given.tables[name][column], folder / f"{name}.{column}")
    sizes = [given.tables[name].num_rows for name in fixed]
    there = np.repeat(np.arange(len(given.changing), len(tables)), sizes)
    rows = np.concatenate([np.empty(0, np.int64), *(np.arange(size) for size in sizes)])
    always = np.column_stack([there, rows, np.ones_like(there)])
    changed = np.column_stack([given.table, given.row, np.where(given.came, 1, -1)])
    for name, changes in (("always", always), ("changes", changed)):
        changes.astype("<i4").tofile(folder / name)
    np.array(given.commit_ends(commit)).astype("<i8").tofile(folder / "ends")
    return tables


def _write_column(column: pa.ChunkedArray, file: Path) -> None:
    """One column: texts one a line, or integers: decimals in hundredths, dates in days."""
    kind = column.type
    if pa.types.is_string(kind):
        file.with_name(f"{file.name}.texts").write_text("".join(f"{text}\n" for text in column.to_pylist()))
        return
    if pa.types.is_decimal(kind):
        column = pc.multiply(column, pa.scalar(Decimal(10**kind.scale), pa.decimal128(4, 0)))
    elif pa.types.is_date(kind):
        column = column.cast(pa.int32())
    column.cast(pa.int64()).to_numpy().astype("<i8").tofile(file.with_name(f"{file.name}.numbers"))


def run(job: Job, right: Points, program: Sequence[str] = (str(PROGRAM),)) -> float:
    """Run the program; the seconds of its work, processor time or time on the wall, whichever is less.

    Raises:
        WrongAnswerError: A result is not DuckDB's.
        ProgramError: It fails, or takes too long.
    """
    who = f"DBSP, {job.plan}, {job.query}"
    command = [*program, *job.arguments]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired as error:
        msg = f"{who}: it takes longer than {SECONDS} s"
        raise ProgramError(msg) from error
    if found.returncode:
        msg = f"{who}: {(found.stderr.strip().splitlines() or ['no message'])[-1]}"
        raise ProgramError(msg)
    *lines, last = [json.loads(line, parse_float=Decimal) for line in found.stdout.splitlines()]
    answers = {line["changes"]: [tuple(map(_value, row)) for row in line["rows"]] for line in lines}
    _compare(who, answers, {done: rows[job.query] for done, rows in right.items()})
    return float(min(last["wall"], last["processor"]))


def _compare(who: str, found: dict[int, list[Row]], right: dict[int, list[Row]]) -> None:
    if found.keys() != right.keys():
        msg = f"{who}: results after {sorted(found)} changes, expected after {sorted(right)}"
        raise WrongAnswerError(msg)
    for done, rows in found.items():
        if not same(rows, right[done]):
            shown = f"found {rows[:2]}, expected {right[done][:2]}"
            msg = f"{who} after {done:,} changes: {shown}; a wrong answer has no speed"
            raise WrongAnswerError(msg)


def _value(value: Any) -> Any:
    """A value of a row: a list is a dividend and its divisor."""
    return Fraction(value[0]) / value[1] if isinstance(value, list) else value
