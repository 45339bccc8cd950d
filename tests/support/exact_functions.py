"""A function that the oracle's DuckDB gets: sums, averages and variances in exact arithmetic, rounded once.

DuckDB's own round at every step, so that their last digits depend on the order of rows; the engine's do not.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, cast

import duckdb

from livejoin.query.aggregates import AggregateCall, Function
from livejoin.schema import SqlType
from naive_aggregates import result


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Define ``exact(function, type of the argument, distinct, list of arguments as text)``, which gives a text."""
    kinds = ["VARCHAR", "VARCHAR", "BOOLEAN", "VARCHAR[]"]
    connection.create_function("exact", exact, kinds, "VARCHAR", null_handling="special")  # type: ignore[arg-type]


def exact(function: str, kind: str, distinct: bool, values: list[str | None] | None) -> str | None:
    """What an aggregate gives over some arguments, of which those that are NULL do not count; no list is no argument.

    >>> exact("avg", "DECIMAL(9, 2)", False, ["0.01", None, "0.02"]), exact("sum", "DOUBLE", False, ["1e308", "1e308"])
    ('0.015000', 'inf')
    """
    argument, parsed = _argument(kind)
    given = SqlType("double")
    if function == "avg" and argument.kind == "decimal":
        given = SqlType.decimal(min(argument.precision + 4, 38), min(argument.scale + 4, 38))
    call = AggregateCall(cast(Function, function), 0, distinct, given)
    found = result(call, [argument], [(None if value is None else parsed(value),) for value in values or ()])
    return None if found is None else str(found)


def _argument(kind: str) -> tuple[SqlType, Any]:
    if kind == "DOUBLE":
        return SqlType("double"), float
    if kind == "BIGINT":
        return SqlType.integer(64), int
    precision, scale = map(int, re.findall(r"\d+", kind))
    return SqlType.decimal(precision, scale), Decimal
