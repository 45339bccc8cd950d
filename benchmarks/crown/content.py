"""What tables hold after some changes, in DuckDB, and the right answers that follow."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

from benchmarks import recompute
from benchmarks.crown.job import SEQUENCE, SIGN
from benchmarks.crown.queries import CrownQuery
from benchmarks.crown.streams import ChangeStream


def fill(connection: duckdb.DuckDBPyConnection, changes: Mapping[str, pa.Table], events: int) -> None:
    """Make the tables as they are after the first changes of a stream; equal rows stand there as often as they live."""
    for name, table in changes.items():
        connection.register("changes", table)
        columns = ", ".join(f'"{c}"' for c in table.column_names if c not in (SIGN, SEQUENCE))
        connection.execute(
            f"CREATE TABLE {name} AS SELECT {columns} FROM (SELECT {columns}, unnest(range(n::BIGINT)) FROM "
            f"(SELECT {columns}, sum({SIGN}) AS n FROM changes WHERE {SEQUENCE} < {events} GROUP BY ALL))"
        )
        connection.unregister("changes")


class Answers:
    """The right answers of queries over streams, each recomputed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, int, int], recompute.Fingerprint] = {}

    def at(self, query: CrownQuery, stream: ChangeStream, events: int) -> recompute.Fingerprint:
        """The result after the first changes of the stream."""
        key = (query.sql, stream.name, stream.events, events)
        if key not in self._known:
            self._known[key] = recomputed(query.plain or query.sql, query, stream, events)
        return self._known[key]

    def count(self, query: CrownQuery, stream: ChangeStream, events: int) -> recompute.Fingerprint:
        """Only the number of rows, of a result that is too large to be looked at."""
        key = (f"count {query.sql}", stream.name, stream.events, events)
        if key not in self._known:
            with recompute.connect() as connection:
                fill(connection, {name: stream.tables[name] for name in query.tables}, events)
                found = connection.execute(f"SELECT count(*) FROM ({query.plain or query.sql})").fetchall()
            self._known[key] = recompute.Fingerprint(int(found[0][0]), 0)
        return self._known[key]


def recomputed(sql: str, query: CrownQuery, stream: ChangeStream, events: int) -> recompute.Fingerprint:
    """The fingerprint of a query's result, with the types of its outputs."""
    with recompute.connect() as connection:
        fill(connection, {name: stream.tables[name] for name in query.tables}, events)
        typed = ", ".join(f'"{name}"::{type_} AS "{name}"' for name, type_ in query.outputs.items())
        return recompute.fingerprint(connection, f"(SELECT {typed} FROM ({sql}))")
