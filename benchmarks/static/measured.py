"""A database beside DuckDB: the same rows, the same query, and whether a view has what DuckDB gives."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa

import livejoin
from benchmarks.figures import verify
from benchmarks.static.cases import Case


def database(case: Case, rows: Mapping[str, pa.Table], static: frozenset[str]) -> livejoin.Database:
    """A database with the rows of a case.

    Args:
        case: The case.
        rows: The rows of each table.
        static: The tables that are declared static.
    """
    found = livejoin.Database()
    for name, columns in case.tables.items():
        found.create_table(name, columns, static=name in static)
    found.apply({name: rows[name] for name in case.tables})
    return found


def verified(view: livejoin.View, sql: str, rows: Mapping[str, pa.Table]) -> str:
    """The check that a view has what DuckDB gives for some rows, each as often.

    Raises:
        WrongAnswerError: It has not.
    """
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, table in {**rows, "found": view.to_arrow()}.items():
            connection.register(name, table)
        connection.execute(f"CREATE TEMP TABLE expected AS {sql}")
        differing = (
            "SELECT (SELECT COUNT(*) FROM (FROM expected EXCEPT ALL FROM found)) "
            "+ (SELECT COUNT(*) FROM (FROM found EXCEPT ALL FROM expected)), (SELECT COUNT(*) FROM expected)"
        )
        ((differ, total),) = connection.sql(differing).fetchall()
    verify("rows that differ from DuckDB's", differ, 0)
    return f"= DuckDB: {total:,} rows"
