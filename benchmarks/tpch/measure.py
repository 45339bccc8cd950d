"""One measurement: views over a stream, timed commit by commit, compared with DuckDB at every tenth."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import pyarrow as pa

import livejoin
from benchmarks.crown.job import Clock
from benchmarks.figures import WrongAnswerError
from benchmarks.recompute import connect
from benchmarks.tpch.data import catalog, statements
from benchmarks.tpch.streams import Stream
from livejoin.sql import to_duckdb

TENTHS = 10


@dataclass(frozen=True)
class Measured:
    """What a measurement found.

    Args:
        query: The query, or ``all``.
        stream: The stream.
        scale: The scale factor.
        commit: Changes a commit; 0 where the stream says it.
        changes: Changes of the stream.
        seconds: Of work: processor time, or time on the wall where several threads make that shorter.
        delta_rows: Rows of all deltas.
        state: Bytes of the blocks, the most at any tenth.
        tables: Bytes of the tables and dictionaries at that moment.
        checks: Answers that were compared with DuckDB.
    """

    query: str
    stream: str
    scale: float
    commit: int
    changes: int
    seconds: float
    delta_rows: int
    state: int
    tables: int
    checks: int

    @property
    def rate(self) -> float:
        """Changes a second."""
        return self.changes / self.seconds


def measure(
    query: str, texts: Mapping[str, str], given: Stream, scale: float, commit: int, threads: int = 1, runs: int = 1
) -> Measured:
    """Run views over a stream, and again for the least time; all answers of the first run are checked.

    Args:
        query: What is said of the views.
        texts: The views' queries by their names.
        given: The stream.
        scale: The scale factor of its tables.
        commit: Changes a commit, where the stream does not say it.
        threads: Of the database.
        runs: How often.

    Raises:
        WrongAnswerError: An answer differs from DuckDB's.
    """
    found = [_run(query, texts, given, scale, commit, threads, checked=number == 0) for number in range(runs)]
    best = min(found, key=lambda one: one.seconds)
    return Measured(**{**vars(best), "checks": found[0].checks})


def _run(
    query: str, texts: Mapping[str, str], given: Stream, scale: float, commit: int, threads: int, checked: bool
) -> Measured:
    db = livejoin.Database(threads=threads)
    for statement in statements(given.tables):
        db.execute(statement)
    for name in given.tables.keys() - set(given.changing):
        db.apply(name, given.tables[name])
    if given.first:
        db.replay(given.logs(0, given.first), granularity="commit")
    for name, text in texts.items():
        db.create_view(name, text)
    clock, delta_rows, state, tables, checks = Clock(), 0, 0, 0, 0
    tenths = [given.first + given.changes * part // TENTHS for part in range(1, TENTHS + 1)]
    for log in given.cut():
        clock.start()
        for one in db.replay(log, max_rows=commit or given.changes, granularity="commit"):
            delta_rows += sum(one.rows(name) for name in texts)
            done = 1 + (one.sequence or 0)
            if done < tenths[0]:
                continue
            clock.stop()
            tenths = [place for place in tenths if place > done] or [given.table.shape[0] + 1]
            held = db.stats()
            if held["state_bytes"] >= state:
                state = held["state_bytes"]
                tables = sum(one["state_bytes"] for one in held["tables"].values()) + held["dictionary_state_bytes"]
            if checked:
                checks += check(db, texts, given.contents(done), f"{query} over {given.name} after {done:,} changes")
            clock.start()
        clock.stop()
    return Measured(query, given.name, scale, commit, given.changes, clock.seconds, delta_rows, state, tables, checks)


def check(db: livejoin.Database, texts: Mapping[str, str], contents: Mapping[str, pa.Table], when: str) -> int:
    """Compare all results with DuckDB over the rows that are there; how many there are.

    Raises:
        WrongAnswerError: One differs.
    """
    with connect() as connection:
        for name, rows in contents.items():
            connection.register(name, rows)
        for name, text in texts.items():
            expected = _rows(connection.sql(_of_duckdb(text)).to_arrow_table())
            found = _rows(db.views[name].to_arrow())
            if found != expected:
                wrong = [*(found - expected).items()][:2], [*(expected - found).items()][:2]
                msg = f"{when}, {name}: found {wrong[0]}, expected {wrong[1]}; a wrong answer has no speed"
                raise WrongAnswerError(msg)
    return len(texts)


@cache
def _of_duckdb(text: str) -> str:
    return to_duckdb(text, catalog())


def _rows(table: pa.Table) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def median(measured: list[Measured]) -> float:
    """The median of changes a second."""
    return statistics.median(one.rate for one in measured)
