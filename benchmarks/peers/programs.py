"""The programs, how they are built, and why one is not measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

from benchmarks.peers.job import (
    CASES,
    COUNT,
    DISTINCT,
    EDGES,
    HOP3,
    STATE,
    TOP,
    TRIANGLE_COUNT,
    TRIANGLES,
    Job,
    Run,
    read_line,
)

FOLDER = Path(__file__).resolve().parent
_ROOT = FOLDER.parents[1]
DBSP = FOLDER / "dbsp"
NO_CARGO = "cargo is not there"
_BOTH = ("best", "text")
_ONE = ("best",)  # the plan of the text is the best that is known


class ProgramError(Exception):
    """A program failed."""


@dataclass(frozen=True)
class Program:
    """A program that maintains the queries.

    Args:
        name: What the table calls it.
        command: What starts it.
        plans: Its plans for each case that it has.
        workers: How many workers it can have at most.
        package: The folder with the ``Cargo.toml`` that builds it; None if there is nothing to build.
        floor: Whether it is written for its queries alone, so that it takes part in no competition.
    """

    name: str
    command: tuple[str, ...]
    plans: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    workers: int = 1
    package: Path | None = None
    floor: bool = False

    @property
    def missing(self) -> str:
        """Why it cannot run; empty if it can."""
        if self.package is None:
            return ""
        return missing(Path(self.command[0]), f"make peers{' DBSP=1' if self.package == DBSP else ''}")

    def plans_of(self, job: Job) -> tuple[str, ...]:
        """The plans that it has for a job."""
        return self.plans.get(job.case, ()) if job.workers <= self.workers else ()

    def run(self, file: Path, job: Job, plan: str, limit: float) -> Run | None:
        """Run it; None if that takes longer than a limit in seconds.

        Raises:
            ProgramError: It fails; the message has the last line that it wrote.
        """
        command = [*self.command, str(file), *job.arguments(plan)]
        text = printed(f"{self.name}, {plan}, {job.case}", command, limit)
        return None if text is None else read_line(text)


def printed(name: str, command: Sequence[str], limit: float) -> str | None:
    """What a program prints; None if it takes longer than a limit in seconds.

    Raises:
        ProgramError: It fails; the message has its name and the last line that it wrote.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit, cwd=_ROOT)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        said = [line for line in done.stderr.strip().splitlines() if not line.startswith("note: ")]
        msg = f"{name}: {(said or ['no message'])[-1]}"
        raise ProgramError(msg)
    return done.stdout


def missing(program: Path, command: str) -> str:
    """Why a program cannot run, with the command that builds it; empty if it can."""
    if program.exists():
        return ""
    return NO_CARGO if which("cargo") is None else f"it is not built, which {command} does"


def programs() -> list[Program]:
    """livejoin, its peers, and the floor."""
    queries = [case for case in CASES if case != STATE]
    ours = {**dict.fromkeys(queries, ("deltas",)), STATE: ("state",)}
    differential = {**dict.fromkeys(queries, _BOTH), **dict.fromkeys((DISTINCT, TOP, *EDGES), _ONE)}
    dbsp = {**differential, **dict.fromkeys((TRIANGLE_COUNT, TRIANGLES), _ONE)}
    return [
        Program("livejoin", (sys.executable, "-m", "benchmarks.peers.ours"), ours, workers=2),
        Program("differential dataflow", (_built(FOLDER, "differential"),), differential, workers=2, package=FOLDER),
        Program("DBSP", (_built(DBSP, "peer-dbsp"),), dbsp, workers=2, package=DBSP),
        Program(
            "native",
            (_built(FOLDER, "native"),),
            {HOP3: ("paths",), STATE: ("counts",), COUNT: ("counts",), TRIANGLE_COUNT: ("counts",)},
            package=FOLDER,
            floor=True,
        ),
    ]


def build(packages: Sequence[Path]) -> str:
    """Build programs in release mode, one crate at a time; why that was not done, or empty.

    Raises:
        ProgramError: They cannot be built.
    """
    cargo = which("cargo")
    if cargo is None:
        return NO_CARGO
    for package in packages:
        manifest = ["--manifest-path", str(package / "Cargo.toml")]
        if subprocess.run([cargo, "build", "--release", "--locked", "--jobs", "1", *manifest], check=False).returncode:
            msg = f"{package.name}: cargo could not build it; what it says is above"
            raise ProgramError(msg)
    return ""


def _built(package: Path, name: str) -> str:
    return str(package / "target" / "release" / name)
