"""Joins by order, against the size of the tables: ``python -m benchmarks ordered``.

One symbol has all trades and quotes. Each commit brings a quote, or takes it away again, and so moves the trades up to
the next quote. The prediction (decision 57): O(log rows) and the trades whose quote changes, ten of them at every size.
Sums over all pairs of a trade and a quote before it, or shortly before it, make no pair (decision 66): O(log rows) at
every size, though there are up to 50,000,000,000 pairs; where each trade, or each lot of two, is a group, also the
groups that the quote is in. The pairs of a band are a run of trades for each quote (decision 67): O(log rows) and the
pairs, fifty at every size. Tiles are measured beside it: a row that comes moves one row at each border (decision 42).
A figure stands only if the view is DuckDB's result over the rows that are left. Times are processor time of this
process, the least of several rounds. With ``--peers`` `benchmarks.peers.ordered` measures beside DBSP and Flink.
"""

from __future__ import annotations

import argparse
import sys
import time

import duckdb
import numpy as np
import pyarrow as pa

import livejoin
from benchmarks.peers.ordered import command
from livejoin.catalog import Catalog
from livejoin.sql import parse_columns, to_duckdb

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CHANGES = 40
_ROUNDS = 3
_APART = 10  # trades between two quotes
_BAND = 100  # of time: some five quotes
TABLES = {
    "trades": "id BIGINT PRIMARY KEY, lot BIGINT, symbol BIGINT, ts BIGINT",
    "quotes": "symbol BIGINT, ts BIGINT, price BIGINT",
}
QUERIES = {
    "ASOF JOIN": "SELECT id, price FROM trades t ASOF JOIN quotes q ON t.symbol = q.symbol AND t.ts >= q.ts",
    "ASOF LEFT JOIN": "SELECT id, price FROM trades t ASOF LEFT JOIN quotes q ON t.symbol = q.symbol AND t.ts < q.ts",
    "SUM before": "SELECT COUNT(*) AS n, SUM(price) AS s FROM trades t JOIN quotes q ON t.symbol = q.symbol "
    "AND q.ts < t.ts",
    "SUM in a band": "SELECT COUNT(*) AS n, SUM(price) AS s FROM trades t JOIN quotes q ON t.symbol = q.symbol "
    f"AND q.ts BETWEEN t.ts - {_BAND} AND t.ts",
    "a trade's band": "SELECT id, COUNT(*) AS n, SUM(price) AS s FROM trades t JOIN quotes q ON t.symbol = q.symbol "
    f"AND q.ts BETWEEN t.ts - {_BAND} AND t.ts GROUP BY id",
    "a lot's band": "SELECT lot, COUNT(*) AS n, SUM(price) AS s FROM trades t JOIN quotes q ON t.symbol = q.symbol "
    f"AND ABS(t.ts - q.ts) <= {_BAND} GROUP BY lot",
    "pairs in a band": "SELECT id, price FROM trades t JOIN quotes q ON t.symbol = q.symbol "
    f"AND q.ts BETWEEN t.ts - {_BAND} AND t.ts",
    "NTILE(4)": "SELECT ts, NTILE(4) OVER (PARTITION BY symbol ORDER BY ts) AS tile FROM quotes",
}
_SO_FAR = (
    "(SELECT symbol, ts, COUNT(*) OVER w AS n, SUM(price) OVER w AS s FROM quotes WINDOW w AS (PARTITION BY symbol "
    "ORDER BY ts))"
)


def _in_a_band(until: str) -> str:
    """For each trade the sums up to a time without those before the band."""
    return (
        "SELECT id, lot, b.n - COALESCE(a.n, 0) AS n, b.s - COALESCE(a.s, 0) AS s FROM trades t "
        f"ASOF JOIN {_SO_FAR} b ON t.symbol = b.symbol AND {until} >= b.ts "
        f"ASOF LEFT JOIN {_SO_FAR} a ON t.symbol = a.symbol AND t.ts - {_BAND} > a.ts"
    )


IN_DUCKDB = {
    "SUM before": "SELECT SUM(n)::BIGINT AS n, SUM(s) AS s FROM trades t "
    f"ASOF JOIN {_SO_FAR} q ON t.symbol = q.symbol AND t.ts > q.ts",
    "SUM in a band": f"SELECT SUM(n)::BIGINT AS n, SUM(s) AS s FROM ({_in_a_band('t.ts')})",
    "pairs in a band": f"SELECT id, price FROM trades t JOIN quotes q ON q.ts BETWEEN t.ts - {_BAND} AND t.ts",
    "a trade's band": f"SELECT id, n, s FROM ({_in_a_band('t.ts')}) WHERE n > 0",
    "a lot's band": "SELECT lot, SUM(n)::BIGINT AS n, SUM(s) AS s "
    f"FROM ({_in_a_band(f't.ts + {_BAND}')}) WHERE n > 0 GROUP BY lot",
}
"""What DuckDB is asked instead where it would make all pairs: sums up to a quote and a look-up of one, or no symbol."""


def tables(rows: int) -> dict[str, pa.Table]:
    """Trades of one symbol, one at each even time, and a quote for each ten of them."""
    times = 2 * np.arange(rows)
    one = np.ones(rows, np.int64)
    some = slice(0, None, _APART)
    return {
        "trades": pa.table({"id": np.arange(rows), "lot": np.arange(rows) // 2, "symbol": one, "ts": times}),
        "quotes": pa.table({"symbol": one[some], "ts": times[some], "price": times[some] * 7919 % 10_007}),
    }


def right(view: livejoin.View, name: str, rows: dict[str, pa.Table]) -> bool:
    """Whether a view has what DuckDB gives for the rows of the tables."""
    catalog = Catalog()
    with duckdb.connect() as connection:
        for each, table in rows.items():
            catalog.add(parse_columns(each, TABLES[each]))
            connection.register(each, table)
        asked = IN_DUCKDB.get(name) or to_duckdb(QUERIES[name], catalog)
        expected = connection.sql(asked).to_arrow_table()
    found = view.to_arrow()
    order = [(name, "ascending") for name in found.column_names]
    return bool(found.sort_by(order).equals(expected.cast(found.schema).sort_by(order)))


def measure(query: str, rows: dict[str, pa.Table], changes: int) -> tuple[float, float] | None:
    """Processor seconds of a commit of one quote, and rows of its delta; None if the result is wrong."""
    database = livejoin.Database()
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    view = database.create_view("v", QUERIES[query])
    database.apply(rows)
    last = 2 * rows["trades"].num_rows
    least, moved, commits = float("inf"), 0, 0
    for each in range(_ROUNDS):
        given = [{"symbol": 1, "ts": (each * 7919 + i * 104_729) % last | 1, "price": i} for i in range(changes)]
        begin = time.process_time()
        for kind in ("insert", "delete"):
            for quote in given:
                moved += database.apply("quotes", [{**quote, "_change_type": kind}])["v"].num_rows
                commits += 1
        least = min(least, (time.process_time() - begin) / (2 * len(given)))
    kept = {"symbol": 1, "ts": last // 2 | 1, "price": -1}
    database.apply("quotes", [kept])
    rows = {**rows, "quotes": pa.concat_tables([rows["quotes"], pa.Table.from_pylist([kept], rows["quotes"].schema)])}
    return (least, moved / commits) if right(view, query, rows) else None


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser("ordered", help="joins by order and tiles, against the size of the tables")
    parser.add_argument("--sizes", type=int, nargs="+", help="trades of the one symbol; with --peers rows a side")
    parser.add_argument("--changes", type=int, default=CHANGES, help="quotes a round")
    command.options(parser)


def run(options: argparse.Namespace) -> int:
    """Measure and print; 1 if a result is wrong."""
    if options.peers:
        return command.run(options, options.sizes or command.SIZES)
    wrong = False
    for name in QUERIES:
        for size in options.sizes or SIZES:
            found = measure(name, tables(size), options.changes)
            if found is None:
                print(f"{name}, {size:,} trades: not DuckDB's result", file=sys.stderr)
                wrong = True
                continue
            seconds, moved = found
            print(f"{name:<15} {size:>9,} trades  {seconds * 1e6:>8,.0f} us a commit  {moved:>5.1f} rows of delta")
    return int(wrong)
