"""What a program is asked to do, the file that it reads, and the line that it prints."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.figures import WrongAnswerError
from benchmarks.stream import Edges, EdgeStream

Changes = npt.NDArray[np.int32]
LOADED = 10_000  # changes that are loaded at a time, before the clock starts
HOP3, STATE, COUNT, HOP4, STAR = "3-Hop", "3-Hop, no delta read", "3-Hop COUNT(*)", "4-Hop projected", "star count"
TRIANGLE_COUNT, TRIANGLES, TOP = "triangle count", "triangles", "top 100 of a GROUP BY"
GROUPS, WIDE_GROUPS = "3-Hop GROUP BY, free-connex", "3-Hop GROUP BY, not free-connex"
DISTINCT = "2-Hop DISTINCT, not free-connex"
EDGES = ("2-Hop", "2-Hop, optional", "2-Hop, exists", "2-Hop, not exists")
_ALIKE = (COUNT, HOP4, STAR, TRIANGLE_COUNT, TRIANGLES, GROUPS, WIDE_GROUPS, DISTINCT, TOP, *EDGES)
CASES = {HOP3: HOP3, STATE: HOP3, **dict(zip(_ALIKE, _ALIKE, strict=True))}
FEW = {1: 4_000, 10: 20_000}  # changes that are measured, where a commit has few of them


@dataclass(frozen=True)
class Job:
    """A query over a stream of changes.

    Args:
        case: What is measured: a key of `CASES`.
        commit: Changes a commit.
        workers: Threads.
        loaded: Changes before the clock starts: those that fill the window.
        changes: Changes after it.
        modulus: Of the filter on end points.
    """

    case: str
    commit: int
    workers: int
    loaded: int
    changes: int
    modulus: int

    @property
    def query(self) -> str:
        """The name of its query in `benchmarks.graph_queries` or `benchmarks.peers.edge_queries`."""
        return CASES[self.case]

    def arguments(self, plan: str) -> list[str]:
        """What follows the file on the command line."""
        given = (self.query, plan, self.commit, self.workers, self.loaded, self.modulus)
        names = ("query", "plan", "commit", "workers", "loaded", "modulus")
        return [word for name, value in zip(names, given, strict=True) for word in (f"--{name}", str(value))]


@dataclass(frozen=True)
class Sums:
    """A multiset of rows, or what a delta does to one: how many rows, and their hashes modulo 2^64.

    A program that counts rows and does not make them has no hashes.
    """

    number: int
    hashes: int | None


@dataclass(frozen=True)
class Run:
    """The line that a program prints: its own times in seconds, the rows of all its deltas, and what they add up to."""

    wall: float
    processor: float
    rows: int | None
    delta: Sums | None
    result: Sums

    def check(self, who: str, delta: Sums, result: Sums) -> None:
        """Compare with the right answers.

        Raises:
            WrongAnswerError: They differ.
        """
        for what, found, right in (("deltas", self.delta, delta), ("result", self.result, result)):
            if found is None:
                continue
            expected = right if found.hashes is not None else Sums(right.number, None)
            if found != expected:
                msg = f"{who}: its {what} add up to {found}, DuckDB says {expected}; a wrong answer has no speed"
                raise WrongAnswerError(msg)


def read_line(line: str) -> Run:
    """The line that a program printed.

    >>> read_line('{"wall": 2.0, "processor": 1.5, "rows": 3, "delta": [1, 5], "result": [4, null]}').result
    Sums(number=4, hashes=None)
    """
    found = json.loads(line)
    delta = None if found["delta"] is None else Sums(*found["delta"])
    return Run(found["wall"], found["processor"], found["rows"], delta, Sums(*found["result"]))


def print_line(run: Run) -> None:
    """Print the line of a program that is written in Python."""
    delta = run.delta and [run.delta.number, run.delta.hashes]
    result = [run.result.number, run.result.hashes]
    facts = {"wall": run.wall, "processor": run.processor, "rows": run.rows, "delta": delta, "result": result}
    print(json.dumps(facts))


def graph_changes(stream: EdgeStream) -> Changes:
    """Source, target and weight of each change: once the window is full, an edge goes before one comes.

    >>> graph_changes(EdgeStream(np.array([[1, 2], [3, 4], [5, 6]]), 2, 10)).tolist()
    [[1, 2, 1], [3, 4, 1], [1, 2, -1], [5, 6, 1]]
    """
    came = np.arange(len(stream.edges))
    both = np.stack([came - stream.window, came], axis=1).ravel()
    weights = np.tile(np.array([-1, 1], np.int32), len(came))[both >= 0]
    return np.column_stack([stream.edges[both[both >= 0]].astype(np.int32), weights])


def write(changes: Changes, folder: Path) -> Path:
    """A file of changes in a folder: triples of 32-bit integers, the least byte first."""
    file = folder / f"changes-{len(changes)}.bin"
    if not file.exists():
        changes.astype("<i4").tofile(file)
    return file


def read(file: Path) -> Changes:
    """The changes of a file."""
    return np.fromfile(file, "<i4").astype(np.int32).reshape(-1, 3)


def measured_changes(stream: EdgeStream, commit: int) -> int:
    """How many changes are measured after the window is full: whole commits, fewer where they are small.

    >>> measured_changes(EdgeStream(np.zeros((60_000, 2), np.int64), 12_000, 10), 10_000)
    90000
    """
    after = stream.changes - min(stream.window, len(stream.edges))
    most = min(after, FEW.get(commit, after))
    return most - most % commit


def content(changes: Changes) -> Edges:
    """The edges that are there after all changes, each as often as it is there."""
    edges, place = np.unique(changes[:, :2].astype(np.int64), axis=0, return_inverse=True)
    copies = np.bincount(place.ravel(), weights=changes[:, 2], minlength=len(edges)).astype(np.int64)
    return np.repeat(edges, copies, axis=0)
