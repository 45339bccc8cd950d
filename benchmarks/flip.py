"""``python -m benchmarks.flip``: an adaptive view and one that stays, over a path whose ends take turns to change.

Rows of one end of five relations come and go; after a while it is the other end. The tree that suits the first is the
worst for the second, because every change has to climb it. Both views run in one process, one after the other, and
must have the same result at the end.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.figures import WrongAnswerError, verify

COLUMNS = {"R": "ab", "S": "bc", "T": "cd", "U": "de", "V": "ef"}
SQL = (
    "SELECT R.a, S.b, T.c, U.d, V.e, V.f FROM R JOIN S ON R.b = S.b JOIN T ON S.c = T.c JOIN U ON T.d = U.d "
    "JOIN V ON U.e = V.e"
)
KEYS, ROWS, TAKEN = 3_000, 15_000, 1_000
ROUNDS = 400  # commits of insertions, and as many of deletions, a turn


def stream() -> Iterator[tuple[str, pa.Table]]:
    """The table and the changes of each commit, the same ones in every run."""
    rng = np.random.default_rng(1)
    for hot in "RVR":
        for _ in range(ROUNDS):
            rows = {column: rng.integers(0, KEYS, TAKEN) for column in COLUMNS[hot]}
            for kind in ("insert", "delete"):
                yield hot, pa.table(rows | {"_change_type": [kind] * TAKEN})


def run(adaptive: bool) -> tuple[list[float], livejoin.View]:
    """Process seconds of each turn, and the view."""
    rng = np.random.default_rng(2)
    db = livejoin.Database()
    for name, columns in COLUMNS.items():
        db.create_table(name, ", ".join(f"{column} BIGINT" for column in columns))
    statistics = {name: {"changes": 100 if name == "R" else 1} for name in COLUMNS}
    view = db.create_view("path", SQL, deltas=False, statistics=statistics, adaptive=adaptive)
    for name in "STU":
        db.apply(name, pa.table({column: rng.integers(0, KEYS, ROWS) for column in COLUMNS[name]}))
    seconds = []
    for number, (table, rows) in enumerate(stream()):
        if number % (2 * ROUNDS) == 0:
            seconds.append(0.0)
        start = time.process_time()
        db.apply(table, rows)
        seconds[-1] += time.process_time() - start
    for name in "RV":
        db.apply(name, pa.table({column: rng.integers(0, KEYS, 50) for column in COLUMNS[name]}))
    return seconds, view


def main() -> int:
    """Print the seconds of both; the exit code is 1 if their results differ."""
    run(adaptive=False)  # the first run loads the kernels
    stays, moves = run(adaptive=False), run(adaptive=True)
    try:
        columns = [(name, "ascending") for name in moves[1].schema.names]
        results = [view.to_arrow().sort_by(columns) for _, view in (stays, moves)]
        print(verify("results are equal", results[0].equals(results[1]), True), f"({results[0].num_rows:,} rows)")
    except WrongAnswerError as error:
        print(error, file=sys.stderr)
        return 1
    for turn, (one, other) in zip("RVR", zip(stays[0], moves[0], strict=True), strict=True):
        print(f"{turn} changes: stays {one:.3f} s, adaptive {other:.3f} s, {one / other:.2f} times as fast")
    print(f"all: {sum(stays[0]) / sum(moves[0]):.2f} times as fast, {moves[1].stats()['moves']} moves")
    return 0


if __name__ == "__main__":
    sys.exit(main())
