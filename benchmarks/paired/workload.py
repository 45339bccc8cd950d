"""One version over the workload, in a process of its own: ``python workload.py EDGES.npy``.

It uses nothing but `livejoin.Database`, so that it runs with every revision that has one, and imports nothing of this
project besides: which revision is measured is said by ``PYTHONPATH`` alone. Times are processor time of the whole
process, whatever thread the work is done by. Each case has a line of JSON with its time and its answer.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import livejoin

Words = npt.NDArray[np.int64]
WINDOW = 0.2
COMMIT = 1_000  # edges a commit, where they come in batches
CALL = 10_000  # edges a call where each change has a delta of its own
SINGLE = 1_000  # commits of one row
REPEATED = 3  # times that a case runs; the smaller time counts
FIRST = "a process up to its first delta and result"

_TWO = "G G1 JOIN G G2 ON G1.dst = G2.src"
_THREE = f"{_TWO} JOIN G G3 ON G2.dst = G3.src"
_HOP3 = f"SELECT G1.src AS a, G2.src AS b, G3.src AS c, G3.dst AS d FROM {_THREE} WHERE G3.dst % 10 = 0"
_STAR = (
    "SELECT G1.src AS a, COUNT(*) AS n FROM G G1 JOIN G G2 ON G1.src = G2.src JOIN G G3 ON G1.src = G3.src "
    "JOIN G G4 ON G1.src = G4.src GROUP BY G1.src"
)


@dataclass(frozen=True)
class Case:
    """A query and how its changes come.

    Args:
        name: What the table calls it.
        sql: The query over ``G (src, dst)``.
        deltas: Whether commits say what changed.
        changes: ``commits`` of `COMMIT` edges; ``calls`` of `CALL` edges, each change with a delta of its own;
            ``rows``: commits of a row each, once the window is full.
    """

    name: str
    sql: str
    deltas: bool
    changes: str


CASES = (
    Case("3-Hop", _HOP3, False, "commits"),
    Case("3-Hop, all deltas", _HOP3, True, "calls"),
    Case(
        "4-Hop projected",
        f"SELECT DISTINCT G2.src AS b, G3.src AS c, G3.dst AS d FROM {_THREE} JOIN G G4 ON G3.dst = G4.src "
        "WHERE G4.dst % 10 = 0",
        False,
        "commits",
    ),
    Case("3-Hop COUNT(*)", f"SELECT COUNT(*) AS n FROM {_THREE} WHERE G3.dst % 10 = 0", False, "commits"),
    Case("star, commits of one row", _STAR, False, "rows"),
    Case("star, commits of one row, deltas", _STAR, True, "rows"),
    Case(
        "groups kept in a store, commits of one row, deltas",
        f"SELECT G1.src AS a, G2.dst AS c, COUNT(*) AS n FROM {_TWO} WHERE G2.dst % 10 = 0 GROUP BY G1.src, G2.dst",
        True,
        "rows",
    ),
    Case(
        "UNION, all deltas",
        "SELECT src AS v FROM G WHERE src % 2 = 0 UNION SELECT dst AS v FROM G",
        True,
        "commits",
    ),
    Case("UNION, commits of one row, deltas", "SELECT src AS v FROM G UNION SELECT dst AS v FROM G", True, "rows"),
    Case(
        "triangles, all deltas",
        f"SELECT G1.src AS a, G2.src AS b, G3.src AS c FROM {_TWO} JOIN G G3 ON G2.dst = G3.src AND G3.dst = G1.src",
        True,
        "commits",
    ),
)


def main(file: str) -> None:
    """Run every case over the edges of a file."""
    edges = np.load(file)
    little = edges[: max(1, len(edges) // 20)]
    seconds, answer = _run(CASES[1], little)
    print(json.dumps({"case": FIRST, "seconds": time.process_time(), "answer": answer}), flush=True)
    for case in CASES:
        _run(case, little)
        seconds, answer = min(_run(case, edges) for _ in range(REPEATED))
        print(json.dumps({"case": case.name, "seconds": seconds, "answer": answer}), flush=True)


def _run(case: Case, edges: Words) -> tuple[float, list[str]]:
    """Seconds of the changes, and a fingerprint of the result and of the sum of all deltas."""
    database = livejoin.Database()
    database.create_table("G", "src BIGINT, dst BIGINT")
    view = database.create_view("result", case.sql, deltas=case.deltas)
    window = max(1, round(WINDOW * len(edges)))
    single = min(SINGLE, len(edges) - window)
    filled = len(edges) - single if case.changes == "rows" else 0
    for batch in _batches(edges[:filled], window, len(edges)):
        database.apply("G", batch)
    begun, total = _fingerprint(view.to_arrow()), (0, 0)
    size = {"rows": 1, "commits": COMMIT, "calls": CALL}[case.changes]
    changes = list(_batches(edges, window, size, filled))
    seconds = 0.0
    for one in changes:
        started = time.process_time()
        if case.changes == "calls":
            commit = database.replay({"G": one}, granularity="change")
        else:
            commit = database.apply("G", one)
        delta = commit["result"] if case.deltas else None
        seconds += time.process_time() - started
        if delta is not None:
            total = _sum(total, _fingerprint(delta))
    result = _fingerprint(view.to_arrow())
    if case.deltas and _sum(begun, total) != result:
        msg = f"{case.name}: the deltas do not add up to the result"
        raise AssertionError(msg)
    return seconds, [str(number) for number in (*result, *total)]


def _batches(edges: Words, window: int, size: int, start: int = 0) -> Iterator[pa.Table]:
    """Edges in their order, ``size`` a batch; each that falls out of the window is deleted in the same batch."""
    for first in range(start, len(edges), size):
        came = np.arange(first, min(first + size, len(edges)))
        both = np.stack([came - window, came], axis=1).ravel()
        kinds = np.tile(np.array(["delete", "insert"]), len(came))[both >= 0]
        rows = edges[both[both >= 0]]
        yield pa.table(
            {"src": rows[:, 0], "dst": rows[:, 1], "_change_type": pa.array(kinds), "_seq": np.arange(len(rows))}
        )


def _fingerprint(rows: pa.Table) -> tuple[int, int]:
    """Signed number and signed sum of hashes of integer rows, whatever their order."""
    names = [name for name in rows.column_names if not name.startswith("_")]
    hashes = np.zeros(rows.num_rows, np.uint64)
    for name in names:
        hashes = (hashes ^ rows[name].to_numpy().astype(np.int64).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    if "_change_type" not in rows.column_names:
        return rows.num_rows, int(hashes.sum())
    kinds: Any = rows["_change_type"]
    came = np.isin(kinds.to_numpy(zero_copy_only=False), ["insert", "update_postimage"])
    return int(came.sum() - (~came).sum()), int(hashes[came].sum()) - int(hashes[~came].sum())


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], (one[1] + other[1]) % 2**64


if __name__ == "__main__":
    main(sys.argv[1])
