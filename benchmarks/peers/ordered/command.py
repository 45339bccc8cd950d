"""``python -m benchmarks ordered --peers``: options, all programs in turns, and the tables."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import WrongAnswerError
from benchmarks.peers.ordered import stream
from benchmarks.peers.ordered.cases import CASES
from benchmarks.peers.ordered.contest import (
    FLINK,
    OURS,
    PEER,
    PROGRAM,
    Contest,
    Job,
    Run,
    Who,
    compete,
    right,
    run_flink,
    short,
)
from benchmarks.peers.ordered.ours import LIST
from benchmarks.peers.programs import DBSP, ProgramError, build, missing

SIZES = (1_000, 4_000, 16_000, 64_000)
COMMITS = (1, 100, 10_000)
APPENDED = 500_000
ROWS_OF_A_KEY = 100  # on each side, where there are many keys
_MEASURED = {1: 400, 100: 4_000}  # changes that are measured, where a commit has few of them
_MANY = 40_000
_APPEND = 10_000  # rows a commit, where they come in the order of time
_TOO_FEW = "too few rows to tell"  # half of Flink's rows took as long as all of them
_PLANS = ("best", "range join", "text")


def options(parser: argparse.ArgumentParser) -> None:
    """Add what only the comparison takes."""
    peers = parser.add_argument_group("with --peers")
    peers.add_argument("--peers", action="store_true", help="instead measure beside DBSP, and Flink if given")
    peers.add_argument("--build", action="store_true", help="build DBSP's program first, which takes some 350 crates")
    peers.add_argument("--python-flink", metavar="PYTHON", help="an interpreter with apache-flink")
    peers.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="queries (all)")
    peers.add_argument("--commits", type=int, nargs="+", default=COMMITS, help="changes a commit")
    peers.add_argument("--appended", type=int, default=APPENDED, help="rows a side in the order of time; 0: none")
    peers.add_argument("--rounds", type=int, default=3, help="runs of each program; the least time counts (3)")
    peers.add_argument("--seconds", type=float, default=60.0, help="a run that takes longer is ended (60)")


def run(given: argparse.Namespace, sizes: Sequence[int]) -> int:
    """Measure and print; 1 if an answer was wrong, 2 if a program failed."""
    try:
        if given.build and (skipped := build([DBSP])):
            _say(f"nothing is built: {skipped}")
        peer = [str(PROGRAM)]
        if why := missing(PROGRAM, "--build"):
            _say(f"skipped: {PEER}: {why}")
            peer = []
        if not given.python_flink:
            _say(f"skipped: {FLINK}: --python-flink names no interpreter that has it")
        with tempfile.TemporaryDirectory(prefix="ordered-") as folder:
            file = Path(folder) / "changes"
            _load_kernels(file, given.cases)
            _show_heading(_PLANS)
            for keys, rows, found in _coming_and_going(given, sizes, peer, file):
                _show(keys, rows, found)
            if given.appended:
                _appended(given, peer, file)
    except WrongAnswerError as error:
        _say(f"wrong answer: {error}")
        return 1
    except ProgramError as error:
        _say(str(error))
        return 2
    return 0


def _coming_and_going(
    given: argparse.Namespace, sizes: Sequence[int], peer: Sequence[str], file: Path
) -> Iterator[tuple[int, int, Contest]]:
    """Each job: the number of keys, rows a side, and what was measured."""
    for name in given.cases:
        for many in (False, True):
            given_up: dict[int, dict[Who, str]] = {commit: {} for commit in given.commits}
            for rows in sizes:
                symbols = max(1, rows // ROWS_OF_A_KEY) if many else 1
                for commit in given.commits:
                    if commit > 4 * rows:
                        continue  # a row would come and go in one commit
                    changes = _MEASURED.get(commit, max(1, _MANY // commit) * commit)
                    _say(f"{name}, {symbols:,} keys, {rows:,} rows a side, {commit:,} a commit ...")
                    all_changes = stream.coming_and_going(rows, symbols, changes)
                    stream.write(all_changes, file)
                    job = Job(CASES[name], file, 2 * rows, commit, changes, CASES[name].dbsp)
                    expected = right(job.case, all_changes)
                    yield symbols, rows, compete(job, expected, given.rounds, given.seconds, given_up[commit], peer)


def _appended(given: argparse.Namespace, peer: Sequence[str], file: Path) -> None:
    """Rows in the order of their times: the second half is measured, once the first one is there."""
    print(
        f"\n| {given.appended:,} rows a side in the order of time | keys | {OURS} | {PEER}, best | {FLINK} | {FLINK}, "
        f"parallelism 2 |\n|---|--:|--:|--:|--:|--:|"
    )
    for case in (CASES[name] for name in given.cases if CASES[name].flink):
        for symbols in (1, max(1, given.appended // ROWS_OF_A_KEY)):
            _say(f"{case.name}, {symbols:,} keys, {given.appended:,} rows a side come in the order of time ...")
            changes = stream.appended(given.appended, symbols)
            stream.write(changes, file)
            job = Job(case, file, given.appended, _APPEND, len(changes) - given.appended, ("best",))
            expected = right(case, changes)
            found = compete(job, expected, given.rounds, given.seconds, {}, peer)
            cells = [_second(found, who) for who in ((OURS, "view"), (PEER, "best"))]
            for parallelism in (1, 2):
                cells.append(_flink(given, job, parallelism, expected))
            print(f"| {case.name} | {symbols:,} | {' | '.join(cells)} |", flush=True)


def _flink(given: argparse.Namespace, job: Job, parallelism: int, expected: stream.Changes) -> str:
    if not given.python_flink:
        return ""
    runs: list[Run] = []
    for _ in range(given.rounds):
        one = run_flink(given.python_flink, job, parallelism, expected, 10 * given.seconds)
        if one is None:
            return f"> {10 * given.seconds:g} s"
        runs.append(one)
    return _least(runs, job)


def _second(found: Contest, who: Who) -> str:
    return _least(found.runs[who], found.job) if who in found.runs else found.ended.get(who, "")


def _least(runs: Sequence[Run], job: Job) -> str:
    """Processor time and time on the wall of a change, in microseconds."""
    times = (min(run.processor for run in runs), min(run.wall for run in runs))
    return " / ".join(short(seconds / job.changes) if seconds > 0 else _TOO_FEW for seconds in times)


def _load_kernels(file: Path, cases: Sequence[str]) -> None:
    """Have the kernels compiled before anything is measured."""
    stream.write(stream.coming_and_going(100, 1, 2 * LIST), file)
    for name in cases:
        _say(f"{name}: kernels ...")
        for commit in (1, 2 * LIST):
            options = f"--plan view --commit {commit} --loaded 200 --workers 1".split()
            program = [sys.executable, "-m", "benchmarks.peers.ordered.ours", str(file), str(file.with_name("result"))]
            subprocess.run([*program, "--query", name, *options], check=True, capture_output=True)


def _show_heading(plans: Sequence[str]) -> None:
    peers = " | ".join(f"{PEER}, {plan}" for plan in plans)
    print(f"| query | keys | rows a side | changes a commit | {OURS} | {peers} |")
    print(f"|---|--:|--:|--:|--:|{'--:|' * len(plans)}")


def _show(keys: int, rows: int, found: Contest) -> None:
    """Print a line."""
    peers: list[Who] = [(PEER, plan) for plan in _PLANS]
    cells = [found.job.case.name, f"{keys:,}", f"{rows:,}", f"{found.job.commit:,}", found.figure((OURS, "view"))]
    cells += [found.figure(who) for who in peers]
    print(f"| {' | '.join(cells)} |", flush=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
