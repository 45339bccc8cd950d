"""Queries over one table: ``python -m benchmarks.one_table`` prints changes a second through `livejoin.Database`.

The table is TPC-H's lineitem, but for columns that Q1 and Q6 do not read, with values drawn as dbgen draws them. Its
rows come in order, and each goes a window later; all come as Arrow, by `Database.replay` in commits of some sizes. A
figure stands only if the result is DuckDB's over the rows that are left. Times are those of this process, the best of
several runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

import livejoin
from benchmarks.figures import Figure, report, verify

SIZES = (1_000, 10_000)
ROWS = 120_000
_RUNS = 3
_WINDOW = 1 / 3  # of the rows are there at a time
_LINES = 4  # of an order
_MONEY = pa.decimal128(15, 2)
_COLUMNS = (
    "l_orderkey BIGINT NOT NULL, l_linenumber INT NOT NULL, l_quantity DECIMAL(15,2) NOT NULL, "
    "l_extendedprice DECIMAL(15,2) NOT NULL, l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, "
    "l_returnflag STRING NOT NULL, l_linestatus STRING NOT NULL, l_shipdate DATE NOT NULL, "
    "PRIMARY KEY (l_orderkey, l_linenumber)"
)
QUERIES = {
    "TPC-H Q1": (
        "SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price, "
        "SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price, "
        "SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, AVG(l_quantity) AS avg_qty, "
        "AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order "
        "FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus"
    ),
    "TPC-H Q6": (
        "SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' "
        "AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24"
    ),
    "DISTINCT days": "SELECT DISTINCT l_shipdate, l_returnflag FROM lineitem WHERE l_quantity < 24",
    "first 100": (
        "SELECT l_orderkey, l_linenumber, l_extendedprice FROM lineitem WHERE l_quantity < 24 "
        "ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 100"
    ),
}
"""Of averages only the first digits are compared: in DuckDB they are doubles, in Spark decimals."""


def lineitem(rows: int) -> pa.Table:
    """Rows of lineitem."""
    chance = np.random.default_rng(rows)
    number = np.arange(rows)

    def money(unscaled: npt.NDArray[np.int64]) -> pa.Array:
        pairs = np.stack([unscaled, np.zeros_like(unscaled)], axis=1)
        return pa.Array.from_buffers(_MONEY, rows, [None, pa.py_buffer(np.ascontiguousarray(pairs))])

    return pa.table(
        {
            "l_orderkey": 1 + number // _LINES,
            "l_linenumber": (1 + number % _LINES).astype(np.int32),
            "l_quantity": money(100 * chance.integers(1, 51, rows)),
            "l_extendedprice": money(chance.integers(90_000, 10_500_000, rows)),
            "l_discount": money(chance.integers(0, 11, rows)),
            "l_tax": money(chance.integers(0, 9, rows)),
            "l_returnflag": np.array(["A", "N", "R"])[chance.integers(0, 3, rows)],
            "l_linestatus": np.array(["O", "F"])[chance.integers(0, 2, rows)],
            "l_shipdate": pa.array(chance.integers(8_036, 10_562, rows).astype(np.int32)).cast(pa.date32()),
        }
    )


def stream(rows: pa.Table, window: int) -> pa.Table:
    """Each row comes in order, and goes when ``window`` others came after it."""
    came = np.arange(rows.num_rows)
    gone = came[: max(0, rows.num_rows - window)]
    order = np.argsort(np.concatenate([2 * came, 2 * (gone + window) + 1]), kind="stable")
    kinds = pa.array(["delete", "insert"]).take(pa.array((order < rows.num_rows).astype(np.int8)))
    changes = rows.take(pa.array(np.concatenate([came, gone])[order])).combine_chunks()
    return changes.append_column("_change_type", kinds).append_column("_seq", pa.array(np.arange(order.shape[0])))


def measure(rows: int = ROWS, sizes: Sequence[int] = SIZES) -> list[Figure]:
    """Changes a second for every query and size of commit.

    Raises:
        WrongAnswerError: An answer differs from DuckDB's.
    """
    whole = lineitem(rows)
    window = max(1, round(_WINDOW * rows))
    changes, left = stream(whole, window), whole.slice(rows - window)
    return [_figure(name, sql, size, changes, left) for name, sql in QUERIES.items() for size in sizes]


def _figure(name: str, sql: str, size: int, changes: pa.Table, left: pa.Table) -> Figure:
    best = float("inf")
    for _ in range(_RUNS):
        db = livejoin.Database()
        db.create_table("lineitem", _COLUMNS)
        view = db.create_view("result", sql)
        start = time.process_time()
        for commit in db.replay({"lineitem": changes}, max_rows=size, granularity="commit"):
            commit.rows("result")
        best = min(best, time.process_time() - start)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("lineitem", left)
        expected = connection.sql(sql).to_arrow_table()
    check = verify(f"{name} = DuckDB", _rows(view.to_arrow()), _rows(expected))
    state = sum(block["state_bytes"] for block in db.stats()["blocks"])
    more = f"{check}: {expected.num_rows:,} rows; {state / left.num_rows:.3g} bytes of state a row of the table"
    return Figure(f"{name}: {size:,} changes a commit", changes.num_rows / best, "changes/s", more)


def _rows(table: pa.Table) -> Counter[tuple[object, ...]]:
    """The rows, averages to three digits behind the point."""
    columns = [
        [None if value is None else round(float(value), 3) for value in column.to_pylist()]
        if name.startswith("avg")
        else column.to_pylist()
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return Counter(zip(*columns, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.one_table", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"rows that come ({ROWS:,})")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="changes of a commit (1000 10000)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args(arguments)
    title = f"queries over one table, {options.rows:,} rows, one thread"
    return report(lambda: measure(options.rows, options.sizes), title, 140, options.json, "one table")


if __name__ == "__main__":
    sys.exit(main())
