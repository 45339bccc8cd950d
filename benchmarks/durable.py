"""What it costs that a commit stays: ``python -m benchmarks durable``, beside SQLite in WAL mode on the same disk.

Commits of one row, in turns with SQLite's and with a bare append and sync, so that a disk whose sync takes 0.1 ms in
one minute and 4 ms in the next is the same for all. Then sixteen threads, which share a sync; then opening. What is in
the folder behind it is checked by opening it again.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import livejoin
from benchmarks.figures import Aim, Figure, report, verify

_ROW_BYTES = 200
_THREADS = 16
_HOPS = "SELECT A.src AS a, B.dst AS b FROM G A JOIN G B ON A.dst = B.src"
_PIECE = 20  # commits of one kind before it is another one's turn


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser("durable", help="commits that stay, beside SQLite; threads that share a sync; opening")
    parser.add_argument("--commits", type=int, default=1000, help="of one row, of each kind (1000)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the folder that is opened (1000000)")
    parser.add_argument("--folder", type=Path, help="on the disk that is meant; by default one for temporary files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")


def run(options: argparse.Namespace) -> int:
    """Run it; the exit code is 1 if an answer was wrong."""
    return report(
        lambda: measure(options.commits, options.rows, options.folder), "Durable", 120, options.json, "durable"
    )


def measure(commits: int, rows: int, folder: Path | None = None) -> list[Figure]:
    """All figures.

    Raises:
        WrongAnswerError: Something is not in the folder.
    """
    with tempfile.TemporaryDirectory(dir=folder) as name:
        return [*_one_row(commits, Path(name)), *_threads(commits, Path(name)), *_opening(rows, Path(name))]


def _one_row(commits: int, folder: Path) -> list[Figure]:
    opened = {sync: livejoin.open(folder / sync, sync=sync) for sync in ("commit", "batch", "off")}
    ways: dict[str, Callable[[int], object]] = {"append and sync": _appender(folder / "plain")}
    ways |= {f"SQLite {mode}": _sqlite(folder / f"{mode}.db", mode) for mode in ("FULL", "NORMAL")}
    ways |= {f"sync = {sync}": _database(db) for sync, db in opened.items()}
    ways["in memory"] = _database(livejoin.Database())
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for begin in range(0, commits, _PIECE):
        for way, call in ways.items():
            for number in range(begin, min(begin + _PIECE, commits)):
                start = time.perf_counter()
                call(number)
                seconds[way].append(time.perf_counter() - start)
    found = []
    micros = {way: median(times) * 1e6 for way, times in seconds.items()}
    for sync, db in opened.items():
        db.close()
        with livejoin.open(folder / sync) as again:
            checked = verify("rows in the view when opened again", again.views["hops"].count(), _hops(commits))
        peer, limit = ("SQLite FULL", 1.5) if sync == "commit" else ("in memory", None)
        aim = None if limit is None else Aim(limit, "ratio", most=True)
        name = f"one row into 2-Hop, sync = {sync}"
        found.append(Figure(name, micros[f"sync = {sync}"], "us", checked, micros[peer], peer, aim))
    for way in ("in memory", "SQLite FULL", "SQLite NORMAL"):
        found.append(Figure(way, micros[way], "us", "one row a commit", micros["append and sync"], "append and sync"))
    return found


def _hops(commits: int) -> int:
    """Pairs of edges (i, i + 1) that follow one another."""
    return commits - 1


def _database(db: livejoin.Database) -> Callable[[int], object]:
    db.create_table("G", "src BIGINT, dst BIGINT")
    db.create_view("hops", _HOPS)
    return lambda number: db.apply("G", [(number, number + 1)])


def _sqlite(file: Path, mode: str) -> Callable[[int], object]:
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {mode}")
    connection.execute("CREATE TABLE G (src INTEGER, dst INTEGER)")
    return lambda number: connection.execute("INSERT INTO G VALUES (?, ?)", (number, number + 1))


def _appender(file: Path) -> Callable[[int], object]:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    data = bytes(_ROW_BYTES)

    def append(number: int) -> None:
        os.pwrite(descriptor, data, number * _ROW_BYTES)
        getattr(os, "fdatasync", os.fsync)(descriptor)

    return append


def _threads(commits: int, folder: Path) -> list[Figure]:
    """Sixteen threads that commit at once: in memory, and durable, beside what a sync takes."""
    each = max(1, commits // _THREADS)
    append = _appender(folder / "beside")
    syncs = []
    for number in range(20):
        start = time.perf_counter()
        append(number)
        syncs.append(time.perf_counter() - start)
    times = {}
    for way in ("memory", "folder"):
        db = livejoin.Database(folder / "threads" if way == "folder" else None)
        call = _database(db)
        start = time.perf_counter()
        _at_once(call, each)
        times[way] = (time.perf_counter() - start) / each
        db.close()
    with livejoin.open(folder / "threads") as db:
        checked = verify("rows in the view when opened again", db.views["hops"].count(), _hops(_THREADS * each))
    floor = (times["memory"] + median(syncs)) * 1e6
    name = f"{_THREADS} commits by as many threads, sync = commit"
    return [
        Figure(name, times["folder"] * 1e6, "us", checked, floor, "in memory, and one sync", Aim(1.5, "ratio", True))
    ]


def _at_once(call: Callable[[int], object], each: int) -> None:
    def work(thread: int) -> None:
        for number in range(each):
            call(_THREADS * number + thread)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(_THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def _opening(rows: int, folder: Path) -> list[Figure]:
    """Opening what was written in large commits, in commits of a row, and the same rows from a snapshot."""
    found = []
    for name, size in (("in commits of 100,000 rows", 100_000), ("one row a commit", 1)):
        total = rows if size > 1 else rows // 100
        with livejoin.open(folder / name, sync="off") as db:
            call = _database(db)
            if size == 1:
                for number in range(total):
                    call(number)
            else:
                for begin in range(0, total, size):
                    db.apply("G", [(i, i + 1) for i in range(begin, min(begin + size, total))])
            db.save(folder / f"{name} saved")
        start = time.perf_counter()
        livejoin.Database.load(folder / f"{name} saved")
        loaded = time.perf_counter() - start
        start = time.perf_counter()
        db = livejoin.open(folder / name)
        opened = time.perf_counter() - start
        checked = verify("rows in the view", db.views["hops"].count(), _hops(total))
        db.close()
        title = f"opening {total:,} rows from the log, {name}"
        found.append(Figure(title, opened, "s", checked, loaded, "Database.load of what save wrote"))
    return found
