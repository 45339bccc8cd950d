"""Programs over the same changes in turns, each with its final result compared with DuckDB's."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.figures import WrongAnswerError
from benchmarks.peers.ordered.cases import Case
from benchmarks.peers.ordered.ours import NULL, words
from benchmarks.peers.ordered.stream import Changes, content
from benchmarks.peers.programs import DBSP, printed

OURS, PEER, FLINK = "livejoin", "DBSP", "Flink"
Who = tuple[str, str]
PROGRAM = DBSP / "target" / "release" / "ordered"


@dataclass(frozen=True)
class Run:
    """What a program measured: seconds, rows of all its deltas."""

    wall: float
    processor: float
    median: float
    rows: int


@dataclass(frozen=True)
class Job:
    """A query over changes.

    Args:
        case: The query.
        file: The file of changes.
        loaded: How many of them come before the clock starts.
        commit: Changes a commit.
        changes: Changes after the clock has started.
        plans: The plans of DBSP that take part.
    """

    case: Case
    file: Path
    loaded: int
    commit: int
    changes: int
    plans: tuple[str, ...]


@dataclass(frozen=True)
class Contest:
    """The runs of each program and plan, and those that were ended."""

    job: Job
    runs: dict[Who, list[Run]] = field(default_factory=dict)
    ended: dict[Who, str] = field(default_factory=dict)

    def figure(self, who: Who) -> str:
        """Processor time of a change and the median of a commit, both in microseconds; the least of the rounds.

        Of a peer its processor time stands behind them, as a multiple of livejoin's.
        """
        if who not in self.runs:
            return self.ended.get(who, "")
        processor = min(run.processor for run in self.runs[who])
        text = f"{short(processor / self.job.changes)} / {short(min(run.median for run in self.runs[who]))}"
        if who[0] == OURS or (OURS, "view") not in self.runs:
            return text
        return f"{text} ({processor / min(run.processor for run in self.runs[OURS, 'view']):.2g})"


def short(seconds: float) -> str:
    """Microseconds with three digits.

    >>> short(0.0123456), short(0.0000023)
    ('12,346', '2.3')
    """
    micro = seconds * 1e6
    return f"{micro:,.0f}" if micro >= 100 else f"{micro:.3g}"


def right(case: Case, changes: Changes) -> Changes:
    """The rows of DuckDB's result after all changes, sorted."""
    with duckdb.connect() as connection:
        for name, table in content(changes).items():
            connection.register(name, table)
        return _sorted(words(connection.sql(case.checked).to_arrow_table()))


def compete(
    job: Job, expected: Changes, rounds: int, limit: float, given_up: dict[Who, str], peer: Sequence[str]
) -> Contest:
    """All programs and plans in turns.

    Args:
        job: What they do.
        expected: The right result, sorted.
        rounds: How often.
        limit: The seconds after which a run is ended.
        given_up: Programs and plans that take part no more, and why; those whose run is ended are added.
        peer: The command of DBSP's program; empty if it is not there.

    Raises:
        WrongAnswerError: A result is not DuckDB's, or not all deltas are net.
        ProgramError: A program fails.
    """
    found = Contest(job)
    rows: dict[int, Who] = {}
    taking_part = [(OURS, "view"), *((PEER, plan) for plan in job.plans if peer)]
    for _ in range(rounds):
        for who in taking_part:
            if who in given_up:
                found.ended[who] = given_up[who]
                continue
            start = (sys.executable, "-m", "benchmarks.peers.ordered.ours") if who[0] == OURS else peer
            one = run(start, job, who, expected, limit)
            if one is None:
                given_up[who] = found.ended[who] = f"> {limit:g} s"
                continue
            found.runs.setdefault(who, []).append(one)
            rows.setdefault(one.rows, who)
            if len(rows) > 1:
                msg = f"{job.case.name}, {job.commit:,} a commit: not all deltas are net; rows of them: {rows}"
                raise WrongAnswerError(msg)
    for who in found.ended:
        found.runs.pop(who, None)
    return found


def run(start: Sequence[str], job: Job, who: Who, expected: Changes, limit: float) -> Run | None:
    """Run a program and compare its result; None if it takes longer than the limit.

    Raises:
        WrongAnswerError: The result is not the expected one.
        ProgramError: The program fails.
    """
    result = job.file.with_name("result")
    options = {"query": job.case.name, "plan": who[1], "commit": job.commit, "loaded": job.loaded, "workers": 1}
    given = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    name = ", ".join((*who, job.case.name))
    text = printed(name, [*start, str(job.file), str(result), *given], limit)
    if text is None:
        return None
    compare(name, np.fromfile(result, "<i8").reshape(-1, job.case.columns), expected)
    return Run(**json.loads(text))


def run_flink(python: str, job: Job, parallelism: int, expected: Changes, limit: float) -> Run | None:
    """Flink over the rows that are loaded and over all: the difference is the time of the latter ones.

    It has no commits, so that no commit has a median, and its result only grows. Raises as `run`.
    """
    name = f"{FLINK}, parallelism {parallelism}, {job.case.name}"
    points = [job.loaded, job.loaded + job.changes]
    with tempfile.TemporaryDirectory(prefix="flink-", dir=job.file.parent) as folder:
        given = ["--query", job.case.name, "--parallelism", str(parallelism), "--points", *map(str, points)]
        start = [python, "-m", "benchmarks.peers.ordered.flink", str(job.file), folder, *given]
        text = printed(name, start, limit)
        if text is None:
            return None
        half, whole = (json.loads(line) for line in text.splitlines() if line.startswith("{"))
        found = _rows_of_csv(Path(whole["result"]))
    compare(name, found, expected)
    return Run(whole["wall"] - half["wall"], whole["processor"] - half["processor"], math.nan, len(found))


def _rows_of_csv(folder: Path) -> Changes:
    """The rows that Flink wrote: a price that is negative is NULL."""
    files = [file for file in folder.iterdir() if file.is_file() and file.stat().st_size]
    rows = np.concatenate([np.loadtxt(file, np.int64, delimiter=",", ndmin=2) for file in files])
    rows[rows[:, 1] < 0, 1] = NULL
    return rows


def compare(who: str, found: Changes, expected: Changes) -> None:
    """Compare two multisets of rows, of which the second is sorted.

    Raises:
        WrongAnswerError: They differ.
    """
    if not np.array_equal(_sorted(found), expected):
        msg = f"{who}: {len(found):,} rows, DuckDB has {len(expected):,} rows or others; a wrong answer has no speed"
        raise WrongAnswerError(msg)


def _sorted(rows: Changes) -> Changes:
    return rows[np.lexsort(rows.T[::-1])] if len(rows) else rows
