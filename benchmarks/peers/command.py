"""``python -m benchmarks peers``: options, all programs in turns, their checks, and the tables of who is faster."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.figures import WrongAnswerError, short
from benchmarks.peers.answers import Answers
from benchmarks.peers.job import CASES, Job, Run, graph_changes, measured_changes, write
from benchmarks.peers.programs import DBSP, FOLDER, Program, ProgramError, build, programs
from benchmarks.stream import EdgeStream

EDGES = 60_000  # edges that are taken where nothing else is said
COMMITS = (1, 10, 100, 1_000, 10_000)
OURS = "livejoin"


@dataclass(frozen=True)
class Contest:
    """One job by all programs: their runs, and the limit in seconds that the others took longer than."""

    job: Job
    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)
    late: dict[tuple[str, str], float] = field(default_factory=dict)
    floors: frozenset[str] = frozenset()

    def least(self, clock: str) -> dict[tuple[str, str], float]:
        """The least time of each program and plan by a clock."""
        return {who: min(float(getattr(run, clock)) for run in found) for who, found in self.runs.items()}

    def ratios(self, clock: str) -> dict[tuple[str, str], float]:
        """The time of each program and plan by that of livejoin; less than 1 is faster than livejoin."""
        times = self.least(clock)
        ours = [seconds for (name, _), seconds in times.items() if name == OURS]
        return {who: seconds / ours[0] for who, seconds in times.items() if who[0] != OURS} if ours else {}

    def wins(self, clock: str) -> str:
        """Who is the fastest, floors left out, and by how much: a peer over livejoin, livejoin over the best peer.

        >>> job = Job("3-Hop", 1, 1, 0, 1, 10)
        >>> run = Run(1.0, 1.0, None, None, None)
        >>> Contest(job, {("livejoin", "deltas"): [run], ("other", "best"): [Run(4.0, 0.5, None, None, None)]}).wins(
        ...     "wall"
        ... )
        'livejoin 4'
        """
        ratios = {who: ratio for who, ratio in self.ratios(clock).items() if who[0] not in self.floors}
        if not ratios:
            return ""
        (name, plan), least = min(ratios.items(), key=lambda one: one[1])
        return f"{OURS} {least:.2g}" if least >= 1 else f"{name}, {plan} {1 / least:.2g}"


def options(parser: argparse.ArgumentParser) -> None:
    """Add what only this command takes."""
    parser.add_argument("--build", action="store_true", help="build the programs first, by cargo in release mode")
    parser.add_argument("--dbsp", action="store_true", help="with --build: DBSP too, which takes some 350 crates")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="what is measured (all)")
    parser.add_argument("--commits", nargs="+", type=_positive, default=list(COMMITS), help="changes a commit")
    parser.add_argument("--workers", nargs="+", type=_positive, default=[1, 2], help="threads (1 2)")
    parser.add_argument("--rounds", type=_positive, default=3, help="runs of each program; the least time counts (3)")
    parser.add_argument("--seconds", type=float, default=100.0, help="a run that takes longer is ended (100)")


def run(stream: EdgeStream, given: argparse.Namespace, screen: Console, notes: Console) -> int:
    """Measure; the exit code is 1 if an answer was wrong, 2 if a program failed."""
    try:
        if given.build:
            skipped = build([FOLDER, DBSP] if given.dbsp else [FOLDER])
            if skipped:
                notes.print(f"nothing is built: {skipped}", highlight=False)
        taking_part = []
        for program in programs():
            if program.missing:
                notes.print(f"skipped: {program.name}: {program.missing}", highlight=False)
            else:
                taking_part.append(program)
        found = list(contests(stream, taking_part, given, notes))
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}", highlight=False)
        return 1
    except ProgramError as error:
        notes.print(f"[red]{error}[/]", highlight=False)
        return 2
    for clock, title in (("processor", "Processor time of all threads"), ("wall", "Time on the wall")):
        show(f"{title}; peers by livejoin, less than 1 is faster", clock, found, screen)
    if given.json:
        facts = {"edges": len(stream.edges), "window": stream.window, "modulus": stream.modulus}
        given.json.write_text(json.dumps({**facts, "contests": list(map(as_json, found))}, indent=1) + "\n")
    return 0


def contests(
    stream: EdgeStream, taking_part: Sequence[Program], given: argparse.Namespace, notes: Console
) -> Iterator[Contest]:
    """Each job by all programs that have a plan for it; errors are those of `contest`."""
    changes = graph_changes(stream)
    loaded = min(stream.window, len(stream.edges))
    answers = Answers(changes, stream.modulus)
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        for case in given.cases:
            for commit in given.commits:
                measured = measured_changes(stream, commit)
                if not measured:
                    notes.print(f"skipped: {case}: the stream has no {commit:,} changes", highlight=False)
                    continue
                file = write(changes[: loaded + measured], Path(folder))
                for workers in given.workers:
                    job = Job(case, commit, workers, loaded, measured, stream.modulus)
                    notes.print(f"[dim]{case}, {commit:,} a commit, {workers} ...[/]", highlight=False)
                    yield contest(job, file, taking_part, answers, given)


def contest(
    job: Job, file: Path, taking_part: Sequence[Program], answers: Answers, given: argparse.Namespace
) -> Contest:
    """One job by all programs, in turns.

    Raises:
        WrongAnswerError: A program's answers are not DuckDB's, or its deltas have other numbers of rows than others'.
        ProgramError: A program fails.
    """
    found = Contest(job, floors=frozenset(program.name for program in taking_part if program.floor))
    delta, result = answers.of(job)
    rows: dict[int, str] = {}
    for _ in range(given.rounds):
        for program in taking_part:
            for plan in program.plans_of(job):
                who = (program.name, plan)
                if who in found.late:
                    continue
                one = program.run(file, job, plan, given.seconds)
                if one is None:
                    found.late[who] = given.seconds
                    continue
                one.check(f"{program.name}, {plan}, {job.case}, {job.commit:,} a commit", delta, result)
                if one.rows is not None and rows.setdefault(one.rows, program.name) and len(rows) > 1:
                    msg = f"{job.case}, {job.commit:,} a commit: not all deltas are net; rows of them: {rows}"
                    raise WrongAnswerError(msg)
                found.runs.setdefault(who, []).append(one)
    for who in found.late:
        found.runs.pop(who, None)
    return found


def show(title: str, clock: str, found: Sequence[Contest], screen: Console) -> None:
    """Print the ratios by a clock."""
    peers = list(dict.fromkeys(who for one in found for who in (*one.runs, *one.late) if who[0] not in one.floors))
    columns = [who for who in peers if who[0] != OURS]
    floors = sorted({name for one in found for name in one.floors})
    table = Table(title=title, title_justify="left")
    table.add_column("case", no_wrap=True)
    for heading in (
        "changes a commit",
        "workers",
        f"{OURS}, us a change",
        *(f"{name}, {plan}" for name, plan in columns),
    ):
        table.add_column(heading, justify="right")
    for floor in floors:
        table.add_column(f"floor: {floor}", justify="right")
    table.add_column("fastest, and by how much", no_wrap=True)
    for one in found:
        times, ratios = one.least(clock), one.ratios(clock)
        ours = [short(seconds / one.job.changes * 1e6) for (name, _), seconds in times.items() if name == OURS]
        cells = [f"{ratios[who]:.2g}" if who in ratios else _late(one, who) for who in columns]
        cells += [", ".join(f"{ratio:.2g}" for (name, _), ratio in ratios.items() if name == floor) for floor in floors]
        job = one.job
        table.add_row(job.case, f"{job.commit:,}", str(job.workers), *(ours or ["late"]), *cells, one.wins(clock))
    screen.print(table)


def as_json(one: Contest) -> dict[str, object]:
    """A contest, ready for ``json.dump``."""
    runs = [
        {"program": name, "plan": plan, "wall": [r.wall for r in found], "processor": [r.processor for r in found]}
        for (name, plan), found in one.runs.items()
    ]
    late = [{"program": name, "plan": plan, "seconds": limit} for (name, plan), limit in one.late.items()]
    return {**asdict(one.job), "runs": runs, "late": late}


def _late(one: Contest, who: tuple[str, str]) -> str:
    return f"> {one.late[who]:g} s" if who in one.late else ""


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = f"{text} is not a number of changes, workers or rounds: at least 1"
        raise argparse.ArgumentTypeError(msg)
    return number
