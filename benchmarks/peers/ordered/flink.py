"""Flink SQL over tables that only grow: ``python -m benchmarks.peers.ordered.flink FILE FOLDER --query Q ...``.

It wants an interpreter that has Flink. The temporal join and the interval join take rows that come in the order of
their times and never go; what Flink has told it does not take back. So a row is told when the watermark has passed it.
As in `benchmarks.crown.systems.flink`, rows are in the memory of Java before a job begins, a job throws its result away
and is timed by its tasks, a second one writes the result, and objects are reused. A job up to the first point warms up.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.crown.job import SIGN
from benchmarks.crown.systems.flink import FILES, SINK, running
from benchmarks.peers.ordered.cases import CASES, TABLES
from benchmarks.peers.ordered.stream import columns_of, read

TIMES = ("row_time", "ts + 86400000")  # a day behind the first moment of 1970, which the interval join leaves out
OUTPUTS = {"id": "BIGINT", "price": "BIGINT"}
NULL = -1  # what stands for NULL in the files that Flink writes: prices are not negative


def main(arguments: Sequence[str] | None = None) -> None:
    """Run jobs over the first rows, so many for each point, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.ordered.flink")
    parser.add_argument("file", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--query", choices=CASES, required=True)
    parser.add_argument("--points", type=int, nargs="+", required=True)
    parser.add_argument("--parallelism", type=int, required=True)
    given = parser.parse_args(arguments)
    changes = read(given.file)
    with running({"table.local-time-zone": "UTC"}, given.parallelism) as cluster:
        rows, columns = {}, {}
        for table, name in enumerate(TABLES):
            mine = columns_of(table, changes[changes[:, 0] == table])
            columns[name] = dict.fromkeys(mine, "BIGINT")
            signed = pa.table({**mine, SIGN: np.ones(len(mine["ts"]), np.int64)})
            rows[name] = cluster.rows(given.folder / name, columns[name], signed)
        for turn, point in enumerate((given.points[0], *given.points)):
            for table, name in enumerate(TABLES):
                count = int((changes[:point, 0] == table).sum())
                key = "symbol" if name == "quotes" else ""
                cluster.growing(name, columns[name], rows[name].subList(0, count), TIMES, key)
            written = given.folder / f"result-{point}"
            cluster.declare(SINK, OUTPUTS, "'connector' = 'blackhole'")
            cluster.declare(FILES, OUTPUTS, _csv(written))
            clock = cluster.insert(f"INSERT INTO {SINK} {CASES[given.query].flink}")
            if turn:
                cluster.insert(f"INSERT INTO {FILES} {CASES[given.query].flink}")
                facts: dict[str, Any] = {"point": point, "processor": clock.processor, "wall": clock.wall}
                print(json.dumps({**facts, "result": str(written)}), flush=True)


def _csv(folder: Path) -> str:
    return f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv', 'csv.null-literal' = '{NULL}'"


if __name__ == "__main__":
    main(sys.argv[1:])
