"""``python -m benchmarks paired``: options, the two versions in turns, and the ratios of their times."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.figures import WrongAnswerError, short
from benchmarks.stream import load_edges

_ROOT = Path(__file__).resolve().parents[2]
_WORKLOAD = Path(__file__).with_name("workload.py")
_SMALL = Path(__file__).with_name("small_commits.py")
Round = dict[str, dict[str, Any]]


class PairedError(Exception):
    """One of the two versions cannot be measured."""


@dataclass(frozen=True)
class Ratios:
    """What a case took in both versions.

    Args:
        name: The case.
        before: Seconds of each round of the old version; of one commit where commits are small.
        after: Seconds of the new one in the same rounds.
    """

    name: str
    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def ratios(self) -> list[float]:
        """New by old, round by round, ascending."""
        return sorted(after / before for before, after in zip(self.before, self.after, strict=True))

    @property
    def median(self) -> float:
        """The median of the ratios."""
        return statistics.median(self.ratios)


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("paired", help="two revisions over the same small workload, in turns")
    parser.add_argument(
        "--before", required=True, metavar="REV", help="a revision, or a folder that has one checked out"
    )
    parser.add_argument("--data", required=True, type=Path, help="edges, one a line: soc-Epinions1.txt.gz")
    parser.add_argument("--limit", type=int, default=60_000, help="take the first LIMIT edges (60,000)")
    parser.add_argument("--rounds", type=_positive, default=5, metavar="N", help="rounds of both versions (5)")
    parser.add_argument("--small", action="store_true", help="commits of 1 to 1,000 rows of Python objects instead")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all times to FILE")


def run(given: argparse.Namespace, screen: Console, notes: Console) -> int:
    """Compare; the exit code is 1 if the answers differ, 2 if a version cannot be measured."""
    with tempfile.TemporaryDirectory(prefix="paired-") as name:
        edges = Path(name) / "edges.npy"
        np.save(edges, load_edges(given.data, given.limit))
        try:
            with checked_out(given.before, Path(name) / "before") as old:
                found = compare(old, _ROOT, edges, given.rounds, notes, _SMALL if given.small else _WORKLOAD)
        except PairedError as error:
            notes.print(f"[red]{error}[/]", highlight=False)
            return 2
        except WrongAnswerError as error:
            notes.print(f"[red]wrong answer:[/] {error}", highlight=False)
            return 1
    show(found, given.before, screen)
    if given.json:
        written = [{"case": one.name, "before": one.before, "after": one.after, "ratio": one.median} for one in found]
        given.json.write_text(json.dumps({"before": given.before, "cases": written}, indent=1) + "\n")
    return 0


@contextlib.contextmanager
def checked_out(revision: str, folder: Path) -> Iterator[Path]:
    """A folder with the files of a revision: the one that is given, else a worktree that is gone afterwards.

    Raises:
        PairedError: There is no such revision.
    """
    if Path(revision).is_dir():
        yield Path(revision).resolve()
        return
    made = _git("worktree", "add", "--detach", str(folder), revision)
    if made.returncode:
        msg = f"{revision!r} is neither a folder nor a revision: {made.stderr.strip()}"
        raise PairedError(msg)
    try:
        yield folder
    finally:
        _git("worktree", "remove", "--force", str(folder))


def compare(old: Path, new: Path, edges: Path, rounds: int, notes: Console, workload: Path = _WORKLOAD) -> list[Ratios]:
    """Both versions in turns, each after a first run that compiles its kernels.

    Raises:
        PairedError: A version does not run.
        WrongAnswerError: The answers differ.
    """
    found: list[tuple[Round, Round]] = []
    for number in range(rounds + 1):
        notes.print(f"[dim]{f'round {number} of {rounds}' if number else 'compiling kernels'} ...[/]", highlight=False)
        both = _measured(old, edges, workload), _measured(new, edges, workload)
        for name, one in both[0].items():
            if one["answer"] != both[1][name]["answer"]:
                msg = f"{name}: {old.name} has {one['answer']}, {new.name} {both[1][name]['answer']}"
                raise WrongAnswerError(msg)
        found.append(both)
    return [
        Ratios(name, *(tuple(both[side][name]["seconds"] for both in found[1:]) for side in (0, 1)))
        for name in found[0][0]
    ]


def show(found: Sequence[Ratios], before: str, console: Console) -> None:
    """Print the ratios; less than 1 is faster than before."""
    table = Table(title=f"Processor time by that of {before}", title_justify="left")
    table.add_column("case")
    for heading in ("before, ms", "now, ms", "ratio", "least", "most"):
        table.add_column(heading, justify="right")
    for one in found:
        times = (short(statistics.median(seconds) * 1e3) for seconds in (one.before, one.after))
        table.add_row(one.name, *times, *(f"{ratio:.2f}" for ratio in (one.median, one.ratios[0], one.ratios[-1])))
    console.print(table)


def _measured(version: Path, edges: Path, workload: Path) -> Round:
    """A workload with the version that a folder has."""
    path = os.pathsep.join(filter(None, [str(version / "src"), os.environ.get("PYTHONPATH", "")]))
    run = subprocess.run(
        [sys.executable, "-P", str(workload), str(edges)],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )
    if run.returncode:
        msg = f"{version.name}: {(run.stderr.strip().splitlines() or ['no message'])[-1]}"
        raise PairedError(msg)
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return {line.pop("case"): line for line in lines}


def _git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=_ROOT, check=False, capture_output=True, text=True)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        msg = f"{text} is not a number of rounds: at least 1"
        raise argparse.ArgumentTypeError(msg)
    return number
