"""A long stream under a watermark: ``python -m benchmarks.watermark``.

Rows come in the order of their times, but for some that are early or late, a thousandth of a second apart. The view
counts them by key and minute, with EMIT FINAL. With ``keep = 'open'`` the table frees the rows of closed windows, so
that memory is that of the open ones and of the results; with ``keep = 'all'`` it has every row. The figures stand only
if the view has what DuckDB computes from all accepted rows, made once more behind the stream.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

import livejoin

ROWS = 10_000_000
COMMIT = 10_000
KEYS = 100
DELAY = 10_000_000  # microseconds
_STEP = 1_000
_SPREAD = 12_000_000  # a row comes up to so much later than its time, which is more than the delay
_TOLD = 10
_BEGIN = 1_767_225_600_000_000
SQL = (
    "SELECT k, window.start AS begin, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS most FROM t "
    "GROUP BY k, window(ts, '1 minute') EMIT FINAL"
)


def commits(rows: int, commit: int) -> Iterator[pa.Table]:
    """The stream: the same rows each time."""
    draw = np.random.default_rng(7)
    for begin in range(0, rows, commit):
        number = min(commit, rows - begin)
        times = _BEGIN + (begin + np.arange(number)) * _STEP - (draw.random(number) ** 4 * _SPREAD).astype(np.int64)
        yield pa.table(
            {
                "k": draw.integers(0, KEYS, number),
                "ts": pa.array(times).cast(pa.timestamp("us")),
                "v": draw.integers(0, 1_000_000, number),
            }
        )


def accepted(rows: int, commit: int) -> tuple[pa.Table, int]:
    """The rows that are not late, and the watermark behind them, by the definition."""
    kept, mark = list[pa.Table](), -sys.maxsize
    for one in commits(rows, commit):
        times: npt.NDArray[np.int64] = one["ts"].cast(pa.int64()).to_numpy()
        kept.append(one.filter(pa.array(times >= mark)))
        mark = max(mark, int(times.max()) - DELAY)
    return pa.concat_tables(kept), mark


def right(view: livejoin.View, rows: int, commit: int) -> bool:
    """Whether a view has what DuckDB gives for the accepted rows."""
    table, mark = accepted(rows, commit)
    with duckdb.connect() as connection:
        connection.register("t", table)
        connection.register("found", view.to_arrow())
        connection.execute(
            "CREATE TABLE expected AS SELECT k, time_bucket(INTERVAL '1 minute', ts) AS begin, COUNT(*)::BIGINT AS n, "
            "SUM(v)::BIGINT AS total, MAX(v) AS most FROM t GROUP BY k, begin "
            f"HAVING epoch_us(begin) + 60000000 <= {mark}"
        )
        sql = "(FROM {0} EXCEPT ALL FROM {1})"
        wrong = connection.sql(
            f"SELECT COUNT(*) FROM ({sql.format('expected', 'found')} UNION ALL {sql.format('found', 'expected')})"
        ).fetchall()
        some = connection.sql("SELECT COUNT(*) FROM expected").fetchall()
    return wrong == [(0,)] and some == [(view.count(),)]


def measure(rows: int, commit: int, keep: str) -> bool:
    """Run the stream and print its memory; whether the answer is right."""
    database = livejoin.Database()
    database.execute(
        f"CREATE TABLE t (k BIGINT, ts TIMESTAMP, v BIGINT, WATERMARK FOR ts AS ts - INTERVAL '{DELAY}' MICROSECOND) "
        f"TBLPROPERTIES ('livejoin.keep' = '{keep}')"
    )
    view = database.create_view("v", SQL)
    given, told, most = 0, 0, 0
    begin = time.process_time()
    for one in commits(rows, commit):
        database.apply("t", one)
        given += one.num_rows
        if given * _TOLD // rows > told:
            told = given * _TOLD // rows
            stats = database.stats()
            table = stats["tables"]["t"]
            memory = stats["memory_bytes"]
            most = max(most, memory)
            print(
                f"keep = {keep:<4}  {given:>11,} rows came  {table['rows']:>11,} in the table  {table['late']:>9,} late"
                f"  {view.count():>8,} results  {memory / 1e6:>9,.1f} MB"
            )
    seconds = time.process_time() - begin
    print(
        f"keep = {keep:<4}  {rows / seconds / 1e3:,.0f} K rows a second of processor time, at most {most / 1e6:,.1f} MB"
    )
    return right(view, rows, commit)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a result is wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.watermark", description="A long stream under a watermark.")
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of the stream")
    parser.add_argument("--commit", type=int, default=COMMIT, help="rows of a commit")
    parser.add_argument("--keep", choices=("open", "all"), nargs="+", default=("open",), help="rows that are kept")
    given = parser.parse_args(arguments)
    wrong = [keep for keep in given.keep if not measure(given.rows, given.commit, keep)]
    for keep in wrong:
        print(f"keep = {keep}: not DuckDB's result", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
