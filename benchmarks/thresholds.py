"""Rows that compare with the average of their group: ``python -m benchmarks.thresholds``.

One group has all rows. Each commit changes one row, and so the average, to which every row is compared. The prediction
(AJU, Theorems 14 and 15): with a threshold a change costs O(log rows) and what crosses the average; as a join with the
groups (``algorithm="crown"``) all rows of the group are compared again, O(rows). A figure stands only if the result is
DuckDB's over the rows that are left. Times are processor time of this process, the least of several rounds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import livejoin
from livejoin.search.algorithm import Algorithm

SIZES = (1_000, 10_000, 100_000)
CHANGES = 40
_ROUNDS = 3
_WAYS: dict[str, Algorithm] = {"threshold": "auto", "join with groups": "crown"}
_BELOW = "FROM line WHERE qty < (SELECT 0.2 * AVG(qty) FROM line l WHERE l.part = line.part)"
QUERIES = {
    "select": f"SELECT id, qty {_BELOW}",
    "sum": f"SELECT SUM(price) AS total, COUNT(*) AS n {_BELOW}",
}


def lines(rows: int) -> pa.Table:
    """Lines of one part, with quantities and prices."""
    draw = np.random.default_rng(3)
    columns = {
        "id": np.arange(rows),
        "part": np.ones(rows, np.int64),
        "qty": draw.integers(1, 1_000_000, rows),
        "price": draw.integers(1, 100_000, rows),
    }
    return pa.table(columns)


def right(view: livejoin.View, sql: str, table: pa.Table) -> bool:
    """Whether a view has what DuckDB gives for the rows of a table."""
    with duckdb.connect() as connection:
        connection.register("line", table)
        expected = connection.sql(sql).fetchall()
    found = view.to_arrow()
    return sorted(zip(*(column.to_pylist() for column in found.columns), strict=True)) == sorted(expected)


def measure(sql: str, algorithm: Algorithm, table: pa.Table, changes: int) -> float | None:
    """Processor seconds of a commit of one change; None if the result is wrong."""
    database = livejoin.Database()
    database.execute("CREATE TABLE line (id BIGINT, part BIGINT, qty BIGINT, price BIGINT)")
    view = database.create_view("below", sql, algorithm=algorithm)
    database.apply("line", table)
    rows = table.to_pylist()
    least = float("inf")
    for each in range(_ROUNDS):
        given: list[dict[str, Any]] = []
        for i in range(changes):
            came = {"id": len(rows) + i, "part": 1, "qty": (each * 7919 + i * 104_729) % 1_000_000, "price": i}
            given.append({**came, "_change_type": "insert"})
        begin = time.process_time()
        for change in given:
            database.apply("line", [change])
        for change in given[::2]:
            database.apply("line", [{**change, "_change_type": "delete"}])
        least = min(least, (time.process_time() - begin) / (changes + len(given[::2])))
        rows += [{name: row[name] for name in table.column_names} for row in given[1::2]]
    return least if right(view, sql, pa.Table.from_pylist(rows, table.schema)) else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.thresholds", description="Rows compared with an average.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="rows of the group")
    parser.add_argument("--changes", type=int, default=CHANGES, help="insertions a round")
    given = parser.parse_args(arguments)
    wrong = False
    for rows in given.sizes:
        table = lines(rows)
        for name, sql in QUERIES.items():
            for way, algorithm in _WAYS.items():
                seconds = measure(sql, algorithm, table, given.changes)
                if seconds is None:
                    print(f"{name} by {way}, {rows:,} rows: not DuckDB's result", file=sys.stderr)
                    wrong = True
                else:
                    print(f"{rows:>9,} rows  {name:<6}  {way:<16}  {seconds * 1e6:>10,.0f} us a change")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
