"""What readers cost a writer: ``python -m benchmarks readers``, commits of one row beside readers and followers.

A view of many rows is read whole by several threads, as a snapshot or by ``to_arrow``, while commits of one row come,
and beside a thread that merely computes in Python. Threads that compute without Python's lock say what the machine's
cores cost, which no lock can change. The floor of the slowest hundredth is that of a computation as long as a commit
beside nobody, which gives Python's lock to nobody, beside the same threads: no commit can be sooner. What a snapshot
and a follower have at the end is compared with DuckDB.
"""

from __future__ import annotations

import argparse
import hashlib
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.figures import Aim, Figure, report, verify

_PAUSE = 0.002  # seconds between two commits
_VIEW = "SELECT k, v FROM t WHERE v >= 0"
Work = Callable[[livejoin.Database, threading.Event], int]


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("readers", help="commits of one row beside readers and followers")
    parser.add_argument("--commits", type=int, default=500, help="of each kind (500)")
    parser.add_argument("--rows", type=int, default=100_000, help="of the view (100000)")
    parser.add_argument("--threads", type=int, default=8, help="of readers, or of followers (8)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code is 1 if an answer was wrong."""
    return report(
        lambda: measure(options.commits, options.rows, options.threads), "Readers", 120, options.json, "readers"
    )


def measure(commits: int, rows: int, threads: int) -> list[Figure]:
    """All figures.

    Raises:
        WrongAnswerError: A snapshot or a follower has other rows than DuckDB.
    """
    ways: dict[str, tuple[int, Work]] = {
        "nobody": (0, _nothing),
        f"{threads} readers of snapshots": (threads, _snapshots),
        f"{threads} readers by to_arrow": (threads, _whole),
        f"{threads} followers": (threads, _followers),
        "a thread that computes": (1, _computing),
        f"{threads} threads without Python's lock": (threads, _hashing),
    }
    found, floor = [], 0.0
    for way, (number, work) in ways.items():
        micros, least, reads, checked = _beside(work, number, commits, rows, floor)
        best, half, most = np.percentile(micros, [10, 50, 99])
        floor = floor or float(half)
        bare = float(np.percentile(least, 99))
        aim = Aim(2000.0, most=True) if number and work is not _hashing else None
        note = f"a tenth of them take {best:,.0f} at most, {checked}"
        found.append(Figure(f"p50 beside {way}", float(half), "us", note, floor, "beside nobody"))
        note = f"{reads:,} reads, {checked}"
        found.append(Figure(f"p99 beside {way}", float(most), "us", note, bare, "as long a computation", aim))
    return [*found, *_rolling(rows)]


def _beside(work: Work, threads: int, commits: int, rows: int, alone: float) -> tuple[np.ndarray, np.ndarray, int, str]:
    """Microseconds of each commit, of each computation as long as one, how often the readers read, and the check.

    Args:
        work: The work of a reader.
        threads: How many there are.
        commits: How many commits.
        rows: Rows of the view.
        alone: Microseconds of a commit beside nobody; 0 where that is measured here.
    """
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    view = db.create_view("view", _VIEW)
    numbers = np.arange(rows, dtype=np.int32)
    db.apply("t", pa.table({"k": numbers, "v": numbers}))
    done, reads = threading.Event(), [0] * threads

    def read(place: int) -> None:
        reads[place] = work(db, done)

    running = [threading.Thread(target=read, args=(place,), daemon=True) for place in range(threads)]
    follower = view.changes(waiting="merge")
    total = _total(follower, {})
    for one in running:
        one.start()
    micros = np.empty(commits)
    for number in range(commits):
        row = {"k": number % rows, "v": number + 1, "_change_type": "upsert"}
        begin = time.perf_counter()
        db.apply("t", [row])
        micros[number] = (time.perf_counter() - begin) * 1e6
        time.sleep(_PAUSE)
    least = np.empty(commits)
    turns = _turns(alone or float(np.median(micros)))
    for number in range(commits):
        begin = time.perf_counter()
        sum(turns)
        least[number] = (time.perf_counter() - begin) * 1e6
        time.sleep(_PAUSE)
    done.set()
    for one in running:
        one.join()
    with db.snapshot() as at:
        t, seen = at["t"].to_arrow(), at["view"].to_arrow()
        expected = sorted(duckdb.from_arrow(t).filter("v >= 0").fetchall())
    verify("rows of a snapshot", sorted(zip(*(c.to_pylist() for c in seen.columns), strict=True)), expected)
    checked = verify("rows of a follower are DuckDB's", sorted(_total(follower, total)), expected)
    return micros, least, sum(reads), checked


def _turns(micros: float) -> range:
    """What takes so long to sum, which one call does without giving Python's lock back."""
    taken = []
    for _ in range(50):
        begin = time.perf_counter()
        sum(range(10_000))
        taken.append((time.perf_counter() - begin) * 1e6)
    return range(max(1, round(10_000 * micros / min(taken))))


def _total(changes: livejoin.Changes, rows: dict[tuple[Any, ...], int]) -> dict[tuple[Any, ...], int]:
    """The rows that one who follows has; all stand there once."""
    while True:
        try:
            update = changes.next(timeout=0)
        except TimeoutError:
            return rows
        assert update is not None
        for k, v, kind, _ in zip(*(column.to_pylist() for column in update.delta.columns), strict=True):
            if kind in ("insert", "update_postimage"):
                rows[k, v] = 1
            else:
                del rows[k, v]


def _nothing(db: livejoin.Database, done: threading.Event) -> int:
    return 0


def _snapshots(db: livejoin.Database, done: threading.Event) -> int:
    reads = 0
    while not done.is_set():
        with db.snapshot() as at:
            at["view"].to_arrow()
        reads += 1
    return reads


def _whole(db: livejoin.Database, done: threading.Event) -> int:
    reads, view = 0, db.views["view"]
    while not done.is_set():
        view.to_arrow()
        reads += 1
    return reads


def _followers(db: livejoin.Database, done: threading.Event) -> int:
    reads, changes = 0, db.views["view"].changes(since=db.version)
    while not done.is_set():
        try:
            changes.next(timeout=0.1)
        except TimeoutError:
            continue
        reads += 1
    return reads


def _computing(db: livejoin.Database, done: threading.Event) -> int:
    turns = 0
    while not done.is_set():
        turns += sum(range(1000)) > 0
    return turns


def _hashing(db: livejoin.Database, done: threading.Event) -> int:
    """What the machine's cores alone cost a commit: it never waits for a lock of these threads."""
    turns, text = 0, bytes(10**7)
    while not done.is_set():
        turns += len(hashlib.sha256(text).digest()) > 0
    return turns


def _rolling(rows: int) -> list[Figure]:
    """An image of the next version by its delta, beside one that is read."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    view = db.create_view("view", _VIEW)
    numbers = np.arange(rows, dtype=np.int32)
    db.apply("t", pa.table({"k": numbers, "v": numbers}))
    found = []
    for changed in (1, max(1, rows // 100)):
        with db.snapshot() as before:
            before["view"].to_arrow()
            kinds = pa.array(["upsert"] * changed)
            values = pa.table({"k": numbers[:changed], "v": numbers[:changed] + 1, "_change_type": kinds})
            db.apply("t", values)
            with db.snapshot() as at:
                begin = time.perf_counter()
                rolled = at["view"].to_arrow()
                middle = time.perf_counter()
                whole = view.to_arrow()
                end = time.perf_counter()
        checked = verify("rows are those of the view", sorted(rolled["v"].to_pylist()), sorted(whole["v"].to_pylist()))
        name = f"{rows:,} rows of the version behind {changed:,} changed rows"
        found.append(Figure(name, (middle - begin) * 1e3, "ms", checked, (end - middle) * 1e3, "to_arrow"))
    return found
