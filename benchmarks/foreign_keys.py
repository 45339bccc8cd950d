"""Joins along primary keys: ``python -m benchmarks.foreign_keys`` compares what maintains them, by the join alone.

Tables of the sizes of TPC-H (``--scale``), with its keys and random references: the rows of all tables come in turns,
the oldest tenth of all goes again, and comes back. What is measured is what a join does of a commit: its records are
loaded, its events applied and its deltas written; no table, no value and no store. The predicates of Q3 and Q5 are
applied before. A figure stands only if the results at the end, and the sum of all deltas, are those of DuckDB. Times
are processor time of this process, the best of several runs; the floor is a look at random into a hash table a change.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.figures import Aim, Figure, report, verify
from benchmarks.floors import probe_rate
from livejoin.families.join import WholeJoin
from livejoin.families.program import Program
from livejoin.kernels.join import layout as q
from livejoin.plan.query_plan import join_candidates
from livejoin.search.algorithm import Algorithm
from livejoin.search.statistics import Statistics
from livejoin.sql import bind_query, parse_schema
from livejoin.words import Words

SCALE = 0.1
COMMIT = 10_000
_RUNS = 3
_AIMS = {"Q3": 8.5e6, "Q5, cyclic": 5.5e6}  # half of what F-IVM's C++ has for Q3, and what the prototype had for Q5
_SCHEMA = """
CREATE TABLE nation (n BIGINT PRIMARY KEY, name BIGINT);
CREATE TABLE supplier (s BIGINT PRIMARY KEY, n BIGINT);
CREATE TABLE customer (c BIGINT PRIMARY KEY, n BIGINT);
CREATE TABLE orders (o BIGINT PRIMARY KEY, c BIGINT, day BIGINT);
CREATE TABLE lineitem (o BIGINT, s BIGINT, price BIGINT);
"""
_Q3 = "SELECT l.o, o.day, l.price FROM lineitem l JOIN orders o ON l.o = o.o JOIN customer c ON o.c = c.c"
_Q5 = _Q3.replace("l.o, ", "n.name, ", 1) + " JOIN supplier s ON l.s = s.s JOIN nation n ON c.n = n.n AND s.n = n.n"
QUERIES: dict[str, tuple[str, tuple[Algorithm, ...]]] = {
    "Q3": (_Q3, ("aju", "crown", "dyn", "change-propagation")),
    "Q5, cyclic": (_Q5, ("aju", "change-propagation")),
}


def tables(scale: float) -> dict[str, pa.Table]:
    """The tables, of which Q3's and Q5's predicates let a fifth of the customers and half of the orders through."""
    chance = np.random.default_rng(7)
    customers, suppliers, orders = (max(10, round(scale * size)) for size in (150_000, 10_000, 1_500_000))
    some = chance.permutation(customers)[: customers // 5]
    half = np.sort(chance.permutation(orders)[: orders // 2])
    lines = np.repeat(np.arange(orders), chance.integers(1, 8, orders))
    return {
        "nation": pa.table({"n": np.arange(25), "name": np.arange(25) % 20}),
        "supplier": pa.table({"s": np.arange(suppliers), "n": chance.integers(0, 25, suppliers)}),
        "customer": pa.table({"c": some, "n": chance.integers(0, 25, some.shape[0])}),
        "orders": pa.table({"o": half, "c": chance.integers(0, customers, half.shape[0]), "day": half % 2_400}),
        "lineitem": pa.table(
            {
                "o": lines,
                "s": chance.integers(0, suppliers, lines.shape[0]),
                "price": chance.integers(0, 10_000, lines.shape[0]),
            }
        ),
    }


@dataclass(frozen=True)
class Commit:
    """Events of a call, and for each table of the program the rows that must be loaded before."""

    rows: tuple[Words, ...]
    events: Words


def commits(program: Program, given: dict[str, pa.Table], size: int) -> list[Commit]:
    """The changes: all rows come, the oldest tenth of each table goes and comes again."""
    used = [given[use.name] for use in program.tables]
    table = np.concatenate([np.full(one.num_rows, i) for i, one in enumerate(used)])
    row = np.concatenate([np.arange(one.num_rows) for one in used])
    turn = np.concatenate([(np.arange(one.num_rows) + 0.5) / one.num_rows for one in used])
    order = np.argsort(turn, kind="stable")
    oldest = order[: order.shape[0] // 10]
    changed = np.concatenate([order, oldest, oldest])
    weights = np.repeat([1, -1, 1], [order.shape[0], oldest.shape[0], oldest.shape[0]])
    every = (1 << len(program.query.atoms)) - 1
    found = []
    for begin in range(0, changed.shape[0], size):
        part = changed[begin : begin + size]
        events = np.zeros((q.EVENT_FIELDS, part.shape[0]), np.int64)
        events[q.V_TABLE], events[q.V_ROW] = table[part], row[part]
        events[q.V_WEIGHT], events[q.V_MASK] = weights[begin : begin + size], every
        in_order = np.argsort(events[q.V_WEIGHT], kind="stable")
        rows = tuple(np.ascontiguousarray(row[part][table[part] == i]) for i in range(len(used)))
        found.append(Commit(rows, np.ascontiguousarray(events[:, in_order])))
    return found


def run(program: Program, given: dict[str, pa.Table], changes: Sequence[Commit]) -> tuple[float, int, WholeJoin]:
    """Seconds of processor time, what all deltas add up to in rows, and the join."""
    flat = [np.ascontiguousarray(np.array(given[use.name].columns, np.int64).T) for use in program.tables]
    join = program.open()
    start, total = time.process_time(), 0
    for commit in changes:
        for position, rows in enumerate(commit.rows):
            if rows.shape[0]:
                join.load(position, rows, flat[position].reshape(-1), flat[position].shape[1], 0)
        for chunk in join.maintain(commit.events, emit=True):
            total += int(chunk.signs @ chunk.lengths())
    return time.process_time() - start, total, join


def _summary(join: WholeJoin) -> tuple[int, ...]:
    """The number of results and the sum of each of their columns."""
    found = np.concatenate([np.empty((3, 0), np.int64), *join.scan(1 << 16)], axis=1)
    return (found.shape[1], *found.sum(axis=1).tolist())


def measure(scale: float = SCALE, size: int = COMMIT) -> Iterator[Figure]:
    """Changes a second and bytes of state by each algorithm.

    Raises:
        WrongAnswerError: An answer differs from DuckDB's.
    """
    given, catalog = tables(scale), parse_schema(_SCHEMA)
    floor = probe_rate(given["orders"].num_rows, 1 << 20)
    for name, (sql, algorithms) in QUERIES.items():
        with duckdb.connect(config={"threads": 1}) as connection:
            for table, rows in given.items():
                connection.register(table, rows)
            columns = [column.split(".")[1] for column in sql.split(" FROM ")[0].removeprefix("SELECT ").split(", ")]
            sums = ", ".join(f"coalesce(sum({column}), 0)::BIGINT" for column in columns)
            expected = connection.sql(f"SELECT count(*), {sums} FROM ({sql})").fetchall()[0]
        query = bind_query(sql, catalog).joins[0]
        programs = {a: join_candidates(query, Statistics(), a)[0].first.compile(live=True) for a in algorithms}
        changes = {a: commits(program, given, size) for a, program in programs.items()}
        best = dict.fromkeys(algorithms, float("inf"))
        state = dict.fromkeys(algorithms, 0)
        for _ in range(_RUNS):
            for a, program in programs.items():
                seconds, total, join = run(program, given, changes[a])
                best[a], state[a] = min(best[a], seconds), join.sizes()[0]
                verify(f"{name} by {a}: deltas = DuckDB", total, expected[0])
                verify(f"{name} by {a} = DuckDB", _summary(join), expected)
        for a, seconds in best.items():
            number = sum(commit.events.shape[1] for commit in changes[a])
            check = f"= DuckDB: {expected[0]:,} results; {state[a] / 1e6:.0f} MB of state"
            aim = Aim(_AIMS[name]) if a == "aju" else None
            yield Figure(f"{name}, {a}", number / seconds, "changes/s", check, floor, "one look-up a change", aim)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 1 if an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.foreign_keys", description=__doc__)
    parser.add_argument("--scale", type=float, default=SCALE, help=f"of TPC-H ({SCALE})")
    parser.add_argument("--size", type=int, default=COMMIT, help=f"changes of a call ({COMMIT:,})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    options = parser.parse_args(arguments)
    title = f"joins along primary keys, TPC-H's sizes at {options.scale}, {options.size:,} changes a call, one thread"
    return report(lambda: [*measure(options.scale, options.size)], title, 140, options.json, "foreign-keys")


if __name__ == "__main__":
    sys.exit(main())
