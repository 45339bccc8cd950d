"""``python -m benchmarks batches``: what a change costs in commits of 1 to 1,000,000 changes.

The stream inserts the edges of a graph in file order and deletes each one a window later, all of them explicit changes;
edges that come and go inside a commit cancel there. The state is filled first, in a commit that is not timed. Times are
those of this process, deltas as Arrow included. A figure stands only if the sum of all deltas and the count are what
DuckDB computes over the edges that are left.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rich.console import Console

from benchmarks.figures import Figure, WrongAnswerError, as_json, show, verify
from benchmarks.stream import Edges, load_edges

SIZES = tuple(10**power for power in range(7))
MOST_COMMITS = 300
LAPS = 2  # the edges come twice, so that a commit of a million changes can follow a filled window
HOP3 = (
    "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d "
    "FROM G G1 JOIN G G2 ON G1.dst = G2.src JOIN G G3 ON G2.dst = G3.src WHERE G3.dst % 100 = 0"
)
HOP4 = (
    "SELECT DISTINCT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d FROM G G1 JOIN G G2 ON G1.dst = G2.src "
    "JOIN G G3 ON G2.dst = G3.src JOIN G G4 ON G3.dst = G4.src WHERE G3.dst % 100 = 0"
)
QUERIES = {"3-Hop": HOP3, "4-Hop with projection": HOP4}


@dataclass(frozen=True)
class Churn:
    """A stream of insertions and deletions of edges.

    Args:
        edges: The edge of each change.
        signs: +1 or -1 of each.
        filled: How many changes come before the measurement.
    """

    edges: Edges
    signs: npt.NDArray[np.int64]
    filled: int

    @staticmethod
    def of(edges: Edges, window: int) -> Churn:
        """Each edge comes in order and goes when ``window`` others came after it."""
        rounds = np.concatenate([edges] * LAPS)
        positions = np.arange(len(rounds))
        left = positions[: max(0, len(rounds) - window)]
        # An edge goes right after the one that is a window later has come.
        order = np.argsort(np.concatenate([2 * positions, 2 * (left + window) + 1]), kind="stable")
        signs = np.concatenate([np.ones(len(rounds), np.int64), -np.ones(len(left), np.int64)])
        return Churn(np.concatenate([rounds, rounds[left]])[order], signs[order], min(window, len(rounds)))

    def table(self, begin: int, end: int) -> pa.Table:
        """Some of the changes, as a commit takes them."""
        kinds = pa.array(["delete", "insert"]).take(pa.array((self.signs[begin:end] > 0).astype(np.int8)))
        src, dst = self.edges[begin:end].T
        return pa.table({"src": src, "dst": dst, "_change_type": kinds})

    def commits(self, size: int) -> Iterator[pa.Table]:
        """The commits that are timed: of that size, at most so many."""
        stop = min(len(self.signs), self.filled + size * MOST_COMMITS)
        for begin in range(self.filled, stop - size + 1, size):
            yield self.table(begin, begin + size)

    def content(self, changes: int) -> Edges:
        """The edges that are there after some changes."""
        rows, numbers = np.unique(self.edges[:changes], axis=0, return_inverse=True)
        times = np.bincount(numbers.ravel(), self.signs[:changes], minlength=len(rows)).astype(np.int64)
        return np.repeat(rows, times, axis=0)


def add_parser(commands: Any, sample: Path) -> None:
    """Add the benchmark's arguments to those of the module."""
    parser = commands.add_parser("batches", help="3-Hop and 4-Hop in commits of 1 to 1,000,000 changes")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="edges, one a line: soc-Epinions1.txt.gz from snap.stanford.edu")
    source.add_argument("--small", dest="data", action="store_const", const=sample, help="a sample of edges")
    parser.add_argument("--limit", type=int, help="take the first LIMIT edges only")
    parser.add_argument("--window", type=float, default=0.2, help="share of the edges that are there (default 0.2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def run(options: argparse.Namespace) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    edges = load_edges(options.data, options.limit)
    churn = Churn.of(edges, max(1, round(options.window * len(edges))))
    notes = Console(stderr=True)
    try:
        figures = measure(churn, lambda line: notes.print(f"[dim]{line} ...[/]"))
    except WrongAnswerError as error:
        notes.print(f"[red]wrong answer:[/] {error}")
        return 1
    title = f"Commits of 1 to {SIZES[-1]:,} changes: {len(edges):,} edges, {churn.filled:,} of them there, one thread"
    screen = Console()
    show(title, figures, screen if screen.is_terminal else Console(width=110))
    if options.json:
        about = {"benchmark": "batches", "edges": len(edges), "window": churn.filled}
        options.json.write_text(json.dumps(as_json(figures, **about), indent=2) + "\n")
    return 0


def measure(churn: Churn, say: Callable[[str], None]) -> list[Figure]:
    """Changes a second for every query and size of commit.

    Raises:
        WrongAnswerError: An answer differs from DuckDB's.
    """
    figures = []
    for name, sql in QUERIES.items():
        for size in SIZES:
            if size <= len(churn.signs) - churn.filled:
                say(f"{name}, {size:,} changes a commit")
                figures.append(_figure(churn, name, sql, size))
    return figures


def _figure(churn: Churn, name: str, sql: str, size: int) -> Figure:
    import livejoin  # noqa: PLC0415 - after --help, which should not wait for the compiler
    from benchmarks import recompute  # noqa: PLC0415

    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT")
    view = db.create_view("hops", sql)
    done, seconds, rows = churn.filled, 0.0, 0
    with recompute.connect() as connection:
        total = recompute.of_delta(connection, db.apply("G", churn.table(0, churn.filled))["hops"])
        for changes in churn.commits(size):
            start = time.process_time()
            delta = db.apply("G", changes)["hops"]
            seconds += time.process_time() - start
            total += recompute.of_delta(connection, delta)
            rows += delta.num_rows
            done += size
    expected = recompute.of_query(churn.content(done), sql)
    check = verify("sum of deltas = DuckDB", total, expected)
    verify("count = DuckDB", view.count(), expected.rows)
    commits = (done - churn.filled) // size
    return Figure(
        f"{name}: {size:,} changes a commit",
        (done - churn.filled) / seconds,
        "changes/s",
        f"{check}: {expected.rows:,} rows; {seconds / commits * 1e3:.3g} ms a commit, {commits:,} of them, "
        f"{rows / (done - churn.filled):.3g} delta rows a change",
    )
