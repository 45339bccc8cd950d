"""livejoin as one of the programs: ``python -m benchmarks.peers.ours FILE --query Q --plan P ...``.

Plan ``deltas`` reads the net delta of each commit as Arrow; plan ``state`` keeps the result, and nobody reads what
changed. Changes come as a user would give them: few as a list of dicts, many as an Arrow table, made before the clock
starts. The whole stream runs twice in the process and the second time counts, as programs in Rust have no kernels to
load.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.peers import answers
from benchmarks.peers.job import LOADED, Changes, Run, Sums, print_line, read

LIST = 10  # changes that still come as a list
_NOTHING = Sums(0, 0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.ours")
    parser.add_argument("file", type=Path)
    parser.add_argument("--query", required=True)
    parser.add_argument("--plan", choices=("deltas", "state"), required=True)
    for name in ("commit", "workers", "loaded", "modulus"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args(arguments)
    changes = read(given.file)
    for _ in range(2):
        run = measure(changes, given)
    print_line(run)


def measure(changes: Changes, given: argparse.Namespace) -> Run:
    """The stream, once."""
    deltas = given.plan == "deltas"
    database = livejoin.Database(threads=given.workers)
    database.create_table("G", "src BIGINT, dst BIGINT")
    view = database.create_view("result", answers.sql_of(given.query, given.modulus), deltas=deltas)
    for first in range(0, given.loaded, LOADED):
        database.apply("G", _arrow(changes[first : min(first + LOADED, given.loaded)]))
    commits = [_commit(changes[at : at + given.commit]) for at in range(given.loaded, len(changes), given.commit)]
    wall = processor = 0.0
    rows, total = 0, _NOTHING
    for commit in commits:
        began, spent = time.perf_counter(), time.process_time()
        applied = database.apply("G", commit)
        delta = applied["result"] if deltas else None
        processor += time.process_time() - spent
        wall += time.perf_counter() - began
        if delta is not None:
            rows += delta.num_rows
            total = answers.plus(total, answers.sums(delta))
    result = answers.sums(view.to_arrow())
    return Run(wall, processor, rows if deltas else None, total if deltas else None, result)


def _commit(changes: Changes) -> Any:
    if len(changes) > LIST:
        return _arrow(changes)
    return [
        {"src": src, "dst": dst, "_change_type": "insert" if weight > 0 else "delete"}
        for src, dst, weight in changes.tolist()
    ]


def _arrow(changes: Changes) -> pa.Table:
    kinds = np.where(changes[:, 2] > 0, "insert", "delete")
    edges = changes[:, :2].astype(np.int64)
    return pa.table({"src": edges[:, 0], "dst": edges[:, 1], "_change_type": pa.array(kinds)})


if __name__ == "__main__":
    main(sys.argv[1:])
