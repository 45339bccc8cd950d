"""One version over small commits, in a process of its own: ``python small_commits.py EDGES.npy``.

Rows of Python objects, in commits of `SIZES` changes, into a join without a store, a table with a key, and three blocks
above each other; without deltas, with deltas that nobody reads, and with deltas that are read. Of every row that comes
the deletion follows, which is not measured, so that all commits meet a state of one size. Seconds are of one commit.
Imports and times are as for `workload.py`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import livejoin

Row: TypeAlias = tuple[Any, ...]
SIZES = (1, 10, 100, 1_000)
COMMITS = 200
CHANGES = 4_000
LOOPS = 3  # of which the smallest time counts
_HOP3 = (
    "SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d FROM G G1 JOIN G G2 ON G1.dst = G2.src "
    "JOIN G G3 ON G2.dst = G3.src WHERE G3.dst % 10 = 0"
)
_GROUPS = (
    "SELECT G1.src AS a, G2.dst AS c, COUNT(*) + 1 AS n FROM G G1 JOIN G G2 ON G1.dst = G2.src "
    "WHERE G2.dst % 10 = 0 GROUP BY G1.src, G2.dst"
)


@dataclass(frozen=True)
class Case:
    """A table and a view of it.

    Args:
        name: What the table of figures calls it.
        columns: Of the table ``G``.
        sql: The view.
        row: Makes a row of its number and an edge.
    """

    name: str
    columns: str
    sql: str
    row: Callable[[int, Row], Row]


CASES = (
    Case("3-Hop", "src BIGINT, dst BIGINT", _HOP3, lambda number, edge: edge),
    Case(
        "a keyed table",
        "id BIGINT PRIMARY KEY, name STRING, amount DOUBLE",
        "SELECT id, name FROM G WHERE amount >= 1",
        lambda number, edge: (number, f"name {edge[0] % 100}", float(edge[1] % 7)),
    ),
    Case("three blocks", "src BIGINT, dst BIGINT", _GROUPS, lambda number, edge: edge),
)
DELTAS = ("no delta", "delta not read", "delta read")


def main(file: str) -> None:
    """Run every case over the edges of a file: two thirds stay, the others come and go."""
    edges = list(map(tuple, np.load(file).tolist()))
    for case in CASES:
        rows = [case.row(number, edge) for number, edge in enumerate(edges)]
        for deltas in DELTAS:
            for size in SIZES:
                name = f"{case.name}, {size} a commit, {deltas}"
                seconds, answer = _run(case, rows, size, deltas)
                print(json.dumps({"case": name, "seconds": seconds, "answer": answer}), flush=True)


def _run(case: Case, rows: list[Row], size: int, deltas: str) -> tuple[float, list[str]]:
    """Seconds of the commits that bring rows, the least of some loops, and what the view and its deltas count."""
    database = livejoin.Database()
    database.create_table("G", case.columns)
    view = database.create_view("result", case.sql, deltas=deltas != DELTAS[0])
    stays = 2 * len(rows) // 3
    database.apply("G", rows[:stays])
    coming = rows[stays:]
    commits = min(COMMITS, max(1, CHANGES // size), max(1, len(coming) // size))
    pieces = [coming[i * size : (i + 1) * size] for i in range(commits)]
    names = database.tables["G"].names
    going = [[{**dict(zip(names, row, strict=True)), "_change_type": "delete"} for row in piece] for piece in pieces]
    times, counted = [], 0
    for _ in range(LOOPS + 1):
        started = time.process_time()
        for piece in pieces:
            commit = database.apply("G", piece)
            if deltas == DELTAS[2]:
                counted += commit["result"].num_rows
        times.append(time.process_time() - started)
        largest = view.count()
        for deletions in going:
            database.apply("G", deletions)
    return min(times[1:]) / commits, [str(largest), str(view.count()), str(counted)]


if __name__ == "__main__":
    main(sys.argv[1])
