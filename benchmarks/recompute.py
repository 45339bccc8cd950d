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


@dataclass(frozen=True)
class Fingerprint:
    """A multiset of rows: how many, and the sum of their hashes."""

    rows: int
    hashes: int

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, self.hashes + other.hashes)


NOTHING = Fingerprint(0, 0)


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB with one thread."""
    return duckdb.connect(config={"threads": 1})


def recomputed(stream: EdgeStream) -> Fingerprint:
    """The result over the window after the whole stream."""
    return of_query(stream.content(), stream.sql)


def of_query(content: Edges, sql: str) -> Fingerprint:
    """The result of a query with the columns a to d over a table G of edges."""
    with connect() as connection:
        _register(connection, content)
        return _one(connection, f"SELECT count(*), sum(hash(a, b, c, d)::HUGEINT) FROM ({sql})")


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
            total += _one(connection, "SELECT count(*), sum(hash(a, b, c, d)::HUGEINT) FROM part")
    return total


def of_delta(connection: duckdb.DuckDBPyConnection, delta: pa.Table) -> Fingerprint:
    """The fingerprint of a delta: what it adds less what it takes away."""
    connection.register("part", delta)
    sign = "CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1::HUGEINT ELSE -1::HUGEINT END"
    return _one(connection, f"SELECT sum({sign}), sum({sign} * hash(a, b, c, d)) FROM part")


def _register(connection: duckdb.DuckDBPyConnection, content: Edges) -> None:
    connection.register("edges", pa.table({"src": content[:, 0], "dst": content[:, 1]}))
    connection.execute("CREATE TABLE G AS SELECT * FROM edges")


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> Fingerprint:
    ((rows, hashes),) = connection.execute(sql).fetchall()
    return Fingerprint(int(rows or 0), int(hashes or 0))
