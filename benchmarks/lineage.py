"""What questions about rows cost: ``python -m benchmarks.lineage``.

Orders, their lines and customers, half a million of each but the customers. What a row of a join, a group and a first
row are made of is asked, why a row is not there, and which changes of a commit made one come. DuckDB says what the
answer is over the same rows. The floor is DuckDB's own time for the rows of the answer.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.figures import Figure, report, verify

_TABLES = """
    CREATE TABLE customers (id BIGINT PRIMARY KEY, region BIGINT);
    CREATE TABLE orders (id BIGINT PRIMARY KEY, customer BIGINT, price BIGINT);
    CREATE TABLE lines (o BIGINT, n BIGINT)
"""
_JOIN = """SELECT o.id, c.region, l.n FROM orders o JOIN customers c ON o.customer = c.id JOIN lines l ON l.o = o.id"""
_GROUP = """SELECT c.id AS customer, SUM(o.price) AS spent FROM orders o JOIN customers c ON o.customer = c.id
    GROUP BY c.id"""
_NONE = "there is no row of lines with n = -1"


def measure(rows: int, times: int, seed: int = 1) -> list[Figure]:
    """All figures.

    Raises:
        WrongAnswerError: An answer is not DuckDB's.
    """
    dice = np.random.default_rng(seed)
    people = max(10, rows // 10)
    data = {
        "customers": pa.table({"id": np.arange(people), "region": dice.integers(0, 100, people)}),
        "orders": pa.table(
            {"id": np.arange(rows), "customer": dice.integers(0, people, rows), "price": dice.integers(0, 1000, rows)}
        ),
        "lines": pa.table({"o": dice.integers(0, rows, rows), "n": dice.integers(0, 50, rows)}),
    }
    db = livejoin.Database()
    db.execute(_TABLES)
    join, group = db.create_view("joined", _JOIN), db.create_view("spent", _GROUP)
    db.apply(data)
    with duckdb.connect() as connection:
        for name, table in data.items():
            connection.register(name, table)

        def ask(sql: str) -> list[Any]:
            return connection.sql(sql).fetchall()

        row, of = join.at(rows // 3), group.at(people // 3)
        lines = f"SELECT n FROM lines WHERE o = {row[0]} AND n = {row[2]}"
        orders = f"SELECT id FROM orders WHERE customer = {of[0]} ORDER BY id"
        gone = f"SELECT COUNT(*) FROM lines WHERE o = {row[0]} AND n = -1"
        found = [
            _figure("why a row of a join is there, by two keys and a pass", times, lambda: join.why(row), ask, lines,
                    lambda why: [(one["n"],) for one in why.rows("lines")]),
            _figure("why a group is there, by a key and a pass", times, lambda: group.why(of), ask, orders,
                    lambda why: sorted((one["id"],) for one in why.rows("orders"))),
            _figure("why a row is not there", times, lambda: join.why_not({"id": row[0], "n": -1}), ask, gone,
                    lambda why: [(0,)] if why.reason.startswith(_NONE) else why.reason),
        ]  # fmt: skip
        changes = [(rows + number, number % 50, number) for number in range(1000)]
        commit = db.apply("orders", changes)
        news = [(one[0],) for one in changes if one[1] == 7]
        mine = f"SELECT range FROM range({rows}, {rows + 1000}) WHERE (range - {rows}) % 50 = 7 ORDER BY range"
        assert len(news) == 20
        found.append(
            _figure("which of 1,000 changes made a group what it is", max(1, times // 5),
                    lambda: commit.why("spent", {"customer": 7}), ask, mine,
                    lambda cause: [(one.row["id"],) for one in cause.changes])
        )  # fmt: skip
    return found


def _figure(
    name: str,
    times: int,
    asked: Callable[[], Any],
    ask: Callable[[str], list[Any]],
    sql: str,
    told: Callable[[Any], Any],
) -> Figure:
    """The least time of some, of a question whose answer is DuckDB's."""
    answer, took = _timed(times, asked)
    expected, floor = _timed(times, lambda: ask(sql))
    checked = verify("rows are DuckDB's", told(answer), expected)
    return Figure(name, took * 1e3, "ms", checked, floor * 1e3, "DuckDB's rows")


def _timed(times: int, work: Callable[[], Any]) -> tuple[Any, float]:
    took, answer = list[float](), work()
    for _ in range(times):
        begin = time.perf_counter()
        answer = work()
        took.append(time.perf_counter() - begin)
    return answer, min(took)


def main(arguments: list[str] | None = None) -> int:
    """The command; the exit code is 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lineage", description="what questions about rows cost")
    parser.add_argument("--rows", type=int, default=500_000, help="of orders and of lines (500000)")
    parser.add_argument("--times", type=int, default=10, help="that each question is asked (10)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args(arguments)
    return report(lambda: measure(options.rows, options.times), "Questions", 110, options.json, "lineage")


if __name__ == "__main__":
    sys.exit(main())
