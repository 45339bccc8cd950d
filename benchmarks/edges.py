"""Edges of the join tree: ``python -m benchmarks.edges`` compares sub-queries and outer joins with an inner join.

Two tables R(a, b) and S(b, c) of random rows, of which some keys are hot. Their rows come in turns, and each goes a
window later, so that keys of S appear and vanish. The same changes go into views that are alike but for the edge
between R and S, with deltas and without. A figure stands only if the result is the one of DuckDB over the rows that are
left. Times are processor time of this process, the best of several runs; the floor of each edge is the inner one.

The last figures are the state of a left outer join whose result is a hundred times its tables, and DuckDB's result.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.figures import Aim, Figure, report, verify
from benchmarks.one_table import stream

ROWS = 100_000  # of each table
COMMIT = 1_000
AIM = 1.5  # of the inner edge
_RUNS = 5
_SHARED = 4  # rows of S that share a key on average
_WIDE = 100  # the outer join is so many times its tables
_CREATE = ("R", "a BIGINT, b BIGINT"), ("S", "b BIGINT, c BIGINT")
INNER = "SELECT R.a, R.b, S.c FROM R JOIN S ON R.b = S.b"
EDGES = {
    "inner": INNER,
    "optional": "SELECT R.a, R.b, S.c FROM R LEFT JOIN S ON R.b = S.b",
    "exists": "SELECT R.a, R.b FROM R WHERE EXISTS (SELECT 1 FROM S WHERE S.b = R.b)",
    "not exists": "SELECT R.a, R.b FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE S.b = R.b)",
}


def tables(rows: int, keys: int) -> dict[str, pa.Table]:
    """Rows of R and S whose keys are skewed: half of them are drawn from a tenth of the keys."""
    chance = np.random.default_rng(rows)

    def drawn() -> np.ndarray:
        hot = chance.random(rows) < 0.5
        return np.where(hot, chance.integers(0, max(1, keys // 10), rows), chance.integers(0, keys, rows))

    number = np.arange(rows)
    return {"R": pa.table({"a": number, "b": drawn()}), "S": pa.table({"b": drawn(), "c": number})}


def measure(rows: int = ROWS, size: int = COMMIT) -> list[Figure]:
    """Changes a second for every kind of edge, and the state where the result is wide.

    Raises:
        WrongAnswerError: An answer differs from DuckDB's.
    """
    given = tables(rows, max(10, rows // _SHARED))
    window = rows // 2
    left = {name: table.slice(rows - window) for name, table in given.items()}
    changes = {name: _in_turns(stream(table, window), place) for place, (name, table) in enumerate(given.items())}
    return [*_speeds(changes, left, size), *_wide(rows)]


def _in_turns(changes: pa.Table, place: int) -> pa.Table:
    """The changes of one of the two tables, in turns with those of the other."""
    order = pa.array(2 * np.arange(changes.num_rows) + place)
    return changes.drop_columns("_seq").append_column("_seq", order)


def _speeds(changes: dict[str, pa.Table], left: dict[str, pa.Table], size: int) -> Iterator[Figure]:
    expected = {kind: _expected(sql, left) for kind, sql in EDGES.items()}
    total = sum(table.num_rows for table in changes.values())
    for deltas in (False, True):
        best = dict.fromkeys(EDGES, float("inf"))
        seen = dict.fromkeys(EDGES, 0)
        for _ in range(_RUNS):
            for kind, sql in EDGES.items():
                db = _database(sql, deltas)
                start, rows = time.process_time(), 0
                for commit in db.replay(changes, max_rows=size, granularity="commit"):
                    rows += commit["result"].num_rows if deltas else 0
                best[kind] = min(best[kind], time.process_time() - start)
                seen[kind] = rows
                verify(f"{kind} = DuckDB", _rows(db.views["result"].to_arrow()), expected[kind])
        for kind, seconds in best.items():
            check = f"= DuckDB: {expected[kind].total():,} rows"
            name = f"{kind}, {'its deltas read' if deltas else 'no deltas'}"
            if deltas:
                check += f"; {seen[kind]:,} changed rows, {1e9 * seconds / max(1, seen[kind]):.0f} ns each"
            floor = None if kind == "inner" else total / best["inner"]
            aim = None if deltas or kind == "inner" else Aim(1 / AIM, of="ratio", most=False)
            floor_is = "the inner edge on the same changes" if floor else ""
            yield Figure(name, total / seconds, "changes/s", check, floor, floor_is, aim)


def _wide(rows: int) -> Iterator[Figure]:
    """The state of a left outer join with a wide result."""
    given = tables(rows // 10, max(1, rows // 10 // (2 * _WIDE)))
    db = _database(EDGES["optional"], deltas=False)
    for name, table in given.items():
        db.apply(name, table)
    view = db.views["result"]
    with _duckdb(given) as connection:
        ((expected,),) = connection.sql(f"SELECT COUNT(*) FROM ({EDGES['optional']})").fetchall()
    verify("rows of the outer join = DuckDB", view.count(), expected)
    base = sum(table.num_rows for table in given.values())
    state = sum(block["state_bytes"] for block in db.stats()["blocks"])
    check = (
        f"= DuckDB: {expected:,} rows, {expected / base:.0f} for each base row; they would be {24 * expected:,} bytes"
    )
    yield Figure("state of a wide left outer join", state / base, "bytes a base row", check)


def _database(sql: str, deltas: bool) -> livejoin.Database:
    db = livejoin.Database()
    for name, columns in _CREATE:
        db.create_table(name, columns)
    db.create_view("result", sql, deltas=deltas)
    return db


def _duckdb(given: dict[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    for name, table in given.items():
        connection.register(name, table)
    return connection


def _expected(sql: str, given: dict[str, pa.Table]) -> Counter[tuple[object, ...]]:
    with _duckdb(given) as connection:
        return _rows(connection.sql(sql).to_arrow_table())


def _rows(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edges", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows of each table ({ROWS:,})")
    parser.add_argument("--size", type=int, default=COMMIT, help=f"changes of a commit ({COMMIT:,})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args(arguments)
    title = f"edges of the join tree, {options.rows:,} rows a table, {options.size:,} changes a commit, one thread"
    return report(lambda: measure(options.rows, options.size), title, 140, options.json, "edges")


if __name__ == "__main__":
    sys.exit(main())
