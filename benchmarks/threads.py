"""Commits of many changes by several threads: a 3-Hop view with deltas, and each class of queries with and without.

Beside wall time, which says little on a machine that others use, the *critical path* is measured in processor time:
that of the caller's thread outside of the cells, and of the busiest cell of each commit. On enough idle cores it is the
wall time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import livejoin
from benchmarks import recompute
from benchmarks.figures import Aim, Figure, verify
from benchmarks.graph_queries import QUERIES, GraphQuery
from benchmarks.stream import EdgeStream
from livejoin.families.cells.workers import Workers

T = TypeVar("T")
Say = Callable[[str], None]

COMMIT = 20_000  # edges a commit
CLASSES_COMMIT = 10_000
PART = 50_000  # edges, of queries whose results are too large for the whole stream
AIMS = {"4-Hop projected": 1.4, "3-Hop COUNT(*)": 1.2}  # times as fast as one thread, with deltas; else not slower
REPEATS = 3  # pairs of one and several threads, taking turns; the best of each counts
AIM = 1.6


class TimedWorkers(Workers):
    """Threads whose processor time is measured: that of the caller's own task, and of the longest task of each run."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.own = 0.0
        self.longest = 0.0

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        spent = [0.0] * len(tasks)
        results = super().run([partial(_timed, task, spent, i) for i, task in enumerate(tasks)])
        self.own += spent[0]
        self.longest += max(spent)
        return results


def _timed(task: Callable[[], T], spent: list[float], place: int) -> T:
    start = time.thread_time()
    try:
        return task()
    finally:
        spent[place] = time.thread_time() - start


@dataclass(frozen=True)
class Run:
    """Seconds of one run over the stream: on the wall, of all threads, on the critical path, outside of the cells."""

    wall: float
    processor: float
    critical: float
    serial: float
    state_bytes: float


def measure(stream: EdgeStream, threads: int, say: Say) -> list[Figure]:
    """All figures.

    Raises:
        WrongAnswerError: The deltas do not add up to DuckDB's result.
    """
    expected = recompute.recomputed(stream)
    run(stream, 1)
    runs: dict[int, list[Run]] = {1: [], threads: []}
    for repeat in range(REPEATS):
        for number, found in runs.items():
            say(f"{number} threads, {repeat + 1} of {REPEATS}")
            found.append(run(stream, number))
    check = verify("summed deltas with several threads = DuckDB", summed(stream, threads), expected)
    one, many = runs[1], runs[threads]
    return [
        _ratio(f"wall time, 1 thread over {threads}", one, many, lambda r: r.wall, check),
        _ratio(f"critical path, 1 thread over {threads}", one, many, lambda r: r.critical, check),
        Figure(
            "processor time of all threads, over 1 thread",
            _least(many, "processor") / _least(one, "processor"),
            "x",
            check,
        ),
        Figure("left to one thread", _least(many, "serial") / _least(many, "critical"), "of the critical path", check),
        Figure("state, over 1 thread", many[0].state_bytes / one[0].state_bytes, "x", check),
    ]


def classes(
    stream: EdgeStream, threads: int, say: Say, commit: int = CLASSES_COMMIT, queries: Sequence[GraphQuery] = QUERIES
) -> list[Figure]:
    """How many times as fast each query is, on the wall and on the critical path, with deltas and without.

    Args:
        stream: The change stream.
        threads: How many threads are compared with one.
        say: Takes a line for each step.
        commit: Edges a commit.
        queries: The queries.

    Raises:
        WrongAnswerError: A result differs from DuckDB's.
    """
    figures = []
    for query in queries:
        part = stream.prefix(PART) if query.size == "part" else stream
        right = recompute.recomputed(part, query.recomputed_as(part.modulus))
        for deltas in (True, False):
            title = f"{query.name}, {'all deltas' if deltas else 'no deltas'}"
            runs: dict[int, list[Run]] = {1: [], threads: []}
            for repeat in range(REPEATS):
                for number, found in runs.items():
                    say(f"{title}: {number} threads, {repeat + 1} of {REPEATS}")
                    database, workers = _database(part, number, query.text(part.modulus), deltas)
                    found.append(_applied(part, database, workers, commit))
                    result = recompute.of_result(database.views["view"].batches())
                    check = verify(f"{title}: result = DuckDB", result, right)
            one, many = runs[1], runs[threads]
            aim = AIMS.get(query.name) if deltas else None
            figures += [
                _ratio(f"{title}: wall time", one, many, lambda r: r.wall, check, aim),
                _ratio(f"{title}: critical path", one, many, lambda r: r.critical, check, aim),
            ]
    return figures


def run(stream: EdgeStream, threads: int) -> Run:
    """Apply the stream in commits with deltas."""
    database, workers = _database(stream, threads, stream.sql)
    return _applied(stream, database, workers, COMMIT)


def _applied(stream: EdgeStream, database: livejoin.Database, workers: TimedWorkers, commit: int) -> Run:
    """Apply the stream in commits of so many edges."""
    batches = list(stream.batches(commit))
    wall, processor, own = time.perf_counter(), time.process_time(), time.thread_time()
    for batch in batches:
        database.apply("G", batch)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    serial = time.thread_time() - own - workers.own
    state = database.views["view"].stats()["state_bytes"]
    return Run(wall, processor, serial + workers.longest, serial, state)


def summed(stream: EdgeStream, threads: int) -> recompute.Fingerprint:
    """What the deltas add up to."""
    database, _ = _database(stream, threads, stream.sql)
    total = recompute.NOTHING
    with recompute.connect() as connection:
        for batch in stream.batches(COMMIT):
            total += recompute.of_delta(connection, database.apply("G", batch)["view"])
    return total


def _database(
    stream: EdgeStream, threads: int, sql: str, deltas: bool = True
) -> tuple[livejoin.Database, TimedWorkers]:
    database = livejoin.Database(threads=threads)
    workers = TimedWorkers(threads)
    database._contents.workers = database._contents.graph._workers = workers
    database.create_table("G", "src BIGINT, dst BIGINT", window_rows=stream.window)
    database.create_view("view", sql, deltas=deltas)
    return database, workers


def _least(runs: Sequence[Run], name: str) -> float:
    return min(float(getattr(one, name)) for one in runs)


def _ratio(
    name: str,
    one: Sequence[Run],
    many: Sequence[Run],
    of: Callable[[Run], float],
    check: str,
    aim: float | None = AIM,
) -> Figure:
    return Figure(name, min(map(of, one)) / min(map(of, many)), "x", check, aim=None if aim is None else Aim(aim))
