"""livejoin as one of the programs: ``python -m benchmarks.peers.ordered.ours FILE RESULT --query Q --commit N ...``.

The net delta of each commit is read as Arrow. Changes come as a user would give them: few as lists of dicts, many as
Arrow tables, made before the clock starts. The whole stream runs twice in the process and the second time counts, as
programs in Rust have no kernels to load. The result goes to a file as 64-bit integers, a row after the other.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.peers.ordered.cases import CASES, TABLES
from benchmarks.peers.ordered.stream import Changes, columns_of, read

LOADED = 10_000  # changes that are loaded at a time, before the clock starts
LIST = 10  # changes that still come as a list
NULL = np.iinfo(np.int64).min  # what stands for NULL in a file of results


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.ordered.ours")
    parser.add_argument("file", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--query", choices=CASES, required=True)
    parser.add_argument("--plan", choices=("view",), required=True)
    for name in ("commit", "loaded", "workers"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args(arguments)
    changes = read(given.file)
    for _ in range(2):
        view, facts = measure(changes, given)
    words(view.to_arrow()).tofile(given.result)
    print(json.dumps(facts))


def measure(changes: Changes, given: argparse.Namespace) -> tuple[livejoin.View, dict[str, float]]:
    """The stream, once: the view, and its times in seconds."""
    database = livejoin.Database(threads=given.workers)
    for name, columns in TABLES.items():
        database.create_table(name, columns)
    view = database.create_view("result", CASES[given.query].sql)
    for first in range(0, given.loaded, LOADED):
        database.apply(_commit(changes[first : min(first + LOADED, given.loaded)]))
    commits = [_commit(changes[at : at + given.commit]) for at in range(given.loaded, len(changes), given.commit)]
    processor, rows, times = 0.0, 0, []
    for commit in commits:
        began, spent = time.perf_counter(), time.process_time()
        rows += database.apply(commit)["result"].num_rows
        processor += time.process_time() - spent
        times.append(time.perf_counter() - began)
    median = statistics.median_high(times)
    return view, {"wall": sum(times), "processor": processor, "median": median, "rows": rows}


def words(rows: pa.Table) -> Changes:
    """The values of a table of integers, row by row."""
    return np.column_stack([column.fill_null(NULL).to_numpy() for column in rows.columns]).astype("<i8")


def _commit(changes: Changes) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for table, name in enumerate(TABLES):
        mine = changes[changes[:, 0] == table]
        if not len(mine):
            continue
        kinds = np.where(mine[:, 1] > 0, "insert", "delete")
        rows = pa.table({**columns_of(table, mine), "_change_type": pa.array(kinds)})
        given[name] = rows if len(changes) > LIST else rows.to_pylist()
    return given


if __name__ == "__main__":
    main(sys.argv[1:])
