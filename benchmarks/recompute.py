"""The same answers by recomputation in DuckDB, on one thread.

A multiset of rows is summed up as its size and the sum of its rows' hashes, which does not depend on the order and adds
up over deltas: hash(Q(D + t)) = hash(Q(D)) + hash(delta).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from benchmarks.stream import Edges, EdgeStream
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION


@dataclass(frozen=True)
class Fingerprint:
    """A multiset of rows: how many, and the sum of their hashes."""

    rows: int
    hashes: int

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, self.hashes + other.hashes)


NOTHING = Fingerprint(0, 0)


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB with one thread, without the optimizer that answers some set operations over joins wrongly (2.0.0)."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET disabled_optimizers = 'common_subplan'")
    return connection


def recomputed(stream: EdgeStream, sql: str | None = None) -> Fingerprint:
    """The result of a query, by default 3-Hop, over the window after the whole stream."""
    return of_query(stream.content(), sql or stream.sql)


def of_query(content: Edges, sql: str) -> Fingerprint:
    """The result of a query over a table G of edges."""
    with connect() as connection:
        _register(connection, content)
        return fingerprint(connection, f"({sql})")


def counting_seconds(stream: EdgeStream) -> float:
    """Seconds for counting the result over the window after the whole stream, which DuckDB does without writing it."""
    return _seconds(stream, f"SELECT count(*) FROM ({stream.sql})")


def writing_seconds(stream: EdgeStream) -> float:
    """Seconds for writing the result over the window after the whole stream into a table in memory."""
    return _seconds(stream, f"CREATE TABLE result AS {stream.sql}")


def _seconds(stream: EdgeStream, sql: str) -> float:
    with connect() as connection:
        _register(connection, stream.content())
        start = time.perf_counter()
        connection.execute(sql).fetchall()
        return time.perf_counter() - start


def of_result(batches: Iterable[pa.RecordBatch]) -> Fingerprint:
    """The fingerprint of a result that comes in batches."""
    total = NOTHING
    with connect() as connection:
        for batch in batches:
            connection.register("part", pa.Table.from_batches([batch]))
            total += fingerprint(connection, "part")
    return total


def fingerprint(connection: duckdb.DuckDBPyConnection, relation: str) -> Fingerprint:
    """The fingerprint of a relation: a name, or a query in brackets.

    Equal values of different types have different hashes, so both sides of a comparison need the same types.
    """
    return _one(connection, f"SELECT count(*), sum(hash({_columns(connection, relation)})::HUGEINT) FROM {relation}")


def of_delta(connection: duckdb.DuckDBPyConnection, delta: pa.Table) -> Fingerprint:
    """The fingerprint of a delta: what it adds less what it takes away."""
    connection.register("part", delta)
    sign = "CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1::HUGEINT ELSE -1::HUGEINT END"
    return _one(connection, f"SELECT sum({sign}), sum({sign} * hash({_columns(connection, 'part')})) FROM part")


def _columns(connection: duckdb.DuckDBPyConnection, relation: str) -> str:
    """The columns of a relation, without those that only deltas have."""
    names = [row[0] for row in connection.execute(f"DESCRIBE FROM {relation}").fetchall()]
    return ", ".join(f'"{name}"' for name in names if name not in (CHANGE_TYPE, COMMIT_VERSION))


def _register(connection: duckdb.DuckDBPyConnection, content: Edges) -> None:
    connection.register("edges", pa.table({"src": content[:, 0], "dst": content[:, 1]}))
    connection.execute("CREATE TABLE G AS SELECT * FROM edges")


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> Fingerprint:
    ((rows, hashes),) = connection.execute(sql).fetchall()
    return Fingerprint(int(rows or 0), int(hashes or 0))
