"""What a measuring process is given, and what it says: a folder with a query and its changes, and lines of JSON.

This module needs the standard library and pyarrow alone: it is imported by interpreters that have a peer installed and
not this project.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

SIGN, SEQUENCE = "_sign", "_seq"


@dataclass(frozen=True)
class Atom:
    """A relation of a query: a table whose columns are variables.

    Args:
        alias: Its name in the query.
        table: The table.
        columns: The variable of each column that the query uses.
        keep: A condition ``column % modulus = rest`` on its rows, if any.
        null: A column that must be NULL, if any.
    """

    alias: str
    table: str
    columns: dict[str, str]
    keep: tuple[str, int, int] | None = None
    null: str | None = None


@dataclass(frozen=True)
class Shape:
    """A query by its parts, for systems without SQL.

    Args:
        atoms: The relations; each shares a variable with those before it.
        output: The variables of the result, or of its groups.
        distinct: Whether a result is there once.
        counted: ``*`` or a variable whose distinct values are counted; empty if nothing is counted.
        different: Two variables that must differ, if any.
    """

    atoms: tuple[Atom, ...]
    output: tuple[str, ...]
    distinct: bool = False
    counted: str = ""
    different: tuple[str, str] | None = None


@dataclass(frozen=True)
class Job:
    """A measurement.

    Args:
        query: The query's name.
        sql: Its text for the system.
        shape: Its parts.
        tables: The types of the columns of each table that the query uses.
        outputs: The types of the result's columns.
        events: Changes in the stream.
        points: Numbers of changes after which a figure is taken, ascending.
        mode: ``delta``: all deltas are made; ``full``: the result is enumerated at each point; ``quiet``: neither;
            ``latency``: single changes are timed after the first point; ``count``: the result is counted at each point,
            which alone is timed.
        commit: Changes a commit; 0: every change is one.
        options: What only some systems know.
    """

    query: str
    sql: str
    shape: Shape
    tables: dict[str, dict[str, str]]
    outputs: dict[str, str]
    events: int
    points: tuple[int, ...]
    mode: str = "delta"
    commit: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write it for `read`; the changes lie beside it, as `changes_file` says."""
        (folder / "job.json").write_text(json.dumps(asdict(self)))

    @staticmethod
    def read(folder: Path) -> Job:
        """The job of a folder."""
        given = json.loads((folder / "job.json").read_text())
        shape = given["shape"]
        atoms = [{**atom, "keep": tuple(atom["keep"]) if atom["keep"] else None} for atom in shape["atoms"]]
        different = tuple(shape["different"]) if shape["different"] else None
        parts = {"atoms": tuple(Atom(**atom) for atom in atoms), "output": tuple(shape["output"])}
        given["shape"] = Shape(**{**shape, **parts, "different": different})
        given["points"] = tuple(given["points"])
        return Job(**given)


def changes_file(folder: Path, table: str) -> Path:
    """Where the changes of a table lie: its columns, the sign and the place in the whole stream."""
    return folder / f"{table}.arrow"


def read_changes(folder: Path, table: str) -> pa.Table:
    """The changes of a table, mapped into memory."""
    with pa.memory_map(str(changes_file(folder, table))) as source:
        return pa.ipc.open_file(source).read_all()


class Clock:
    """Seconds of work: processor time, or wall-clock time where several threads make that shorter."""

    def __init__(self) -> None:
        self.processor = self.wall = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what is done inside."""
        self.start()
        yield
        self.stop()

    def start(self) -> None:
        """Count from now on, until `stop`."""
        self.processor -= time.process_time()
        self.wall -= time.perf_counter()

    def stop(self) -> None:
        """Count no further."""
        self.processor += time.process_time()
        self.wall += time.perf_counter()

    @property
    def seconds(self) -> float:
        """The smaller of the two, which is the kinder one to each system."""
        return min(self.processor, self.wall)


def peak_bytes(process: int | None = None) -> int:
    """The largest memory of a process so far, by default of this one."""
    status = Path(f"/proc/{process or os.getpid()}/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return int(lines["VmHWM"].split()[0]) * 1024
    if process is not None:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak() -> int:
    """Let `peak_bytes` count anew from now on, where the system can; the bytes at this moment, or the peak so far."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_bytes()


def say(**facts: object) -> None:
    """Print a line for the measuring process: ``ready``, then one with ``point`` for each of them."""
    print(json.dumps(facts), flush=True)


def spread(values: list[float]) -> dict[str, float]:
    """Median, 99th percentile and maximum.

    >>> spread([3.0, 1.0, 2.0])
    {'p50': 2.0, 'p99': 3.0, 'max': 3.0}
    """
    ranked = sorted(values)
    return {
        name: ranked[max(0, math.ceil(q * len(ranked)) - 1)] for name, q in (("p50", 0.5), ("p99", 0.99), ("max", 1))
    }
