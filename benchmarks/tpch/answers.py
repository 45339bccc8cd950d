"""The right answers: DuckDB's, over native tables of the rows that are there, and the time of recomputing them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.crown.job import Clock
from benchmarks.figures import WrongAnswerError
from benchmarks.recompute import connect
from benchmarks.tpch.data import statements
from livejoin.sql import parse_schema, to_duckdb

Row = tuple[Any, ...]
Answers = dict[str, list[Row]]
_EPOCH = date(1970, 1, 1)
_TIMES = 2  # a recomputation is timed, and the least counts


class Recomputed:
    """DuckDB with one thread over native tables.

    Args:
        contents: The rows that are there.
    """

    def __init__(self, contents: Mapping[str, pa.Table]) -> None:
        self._connection = connect()
        self._schema = ";\n".join(statements(contents))
        for name, rows in contents.items():
            self._connection.register("given", rows)
            self._connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
            self._connection.unregister("given")

    def __enter__(self) -> Recomputed:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def rows(self, text: str) -> list[Row]:
        """The answer to a query of livejoin."""
        return rows(self._ask(_of_duckdb(text, self._schema)))

    def seconds(self, text: str) -> float:
        """The seconds of work that the text as it stands takes with all of DuckDB's optimizers, into Arrow.

        It is the text that DuckDB's own benchmarks run; `rows` asks by another one, which says what Spark's types mean.

        Raises:
            WrongAnswerError: The two texts have other numbers of rows.
        """
        right = len(self.rows(text))
        self._connection.execute("RESET disabled_optimizers")
        best = math.inf
        for _ in range(_TIMES):
            clock = Clock()
            with clock.running():
                found = self._ask(text)
            best = min(best, clock.seconds)
            if found.num_rows != right:
                msg = f"DuckDB says {found.num_rows} rows, and {right} without all of its optimizers: {text}"
                raise WrongAnswerError(msg)
        return best

    def _ask(self, text: str) -> pa.Table:
        asked: duckdb.DuckDBPyRelation = self._connection.sql(text)
        return asked.to_arrow_table()


def rows(table: pa.Table) -> list[Row]:
    """The rows of a table."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def same(found: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Whether a program's rows are those of DuckDB; quotients, which are fractions, up to 10^-6, what they round to.

    >>> same([(Fraction(1, 3), 9131)], [(Decimal("0.333333"), date(1995, 1, 1))])
    True
    """
    pairs = zip(sorted(found, key=_place), sorted(expected, key=_place), strict=False)
    return len(found) == len(expected) and all(
        len(one) == len(other) and all(map(_equal, one, other)) for one, other in pairs
    )


def _equal(found: Any, expected: Any) -> bool:
    if isinstance(expected, date):
        return bool(found == (expected - _EPOCH).days)
    if isinstance(found, Fraction) and expected is not None:
        return abs(found - Fraction(expected)) <= Fraction(1, 10**6)
    return bool(found == expected)


def _place(row: Row) -> list[tuple[bool, Any]]:
    return [(value is None, _ordered(value)) for value in row]


def _ordered(value: Any) -> Any:
    """What a value is ordered by, so that rows of programs and of DuckDB have one order."""
    if value is None:
        return 0
    if isinstance(value, date):
        return (value - _EPOCH).days
    return float(value) if isinstance(value, (Decimal, Fraction)) else value


@cache
def _of_duckdb(text: str, schema: str) -> str:
    return to_duckdb(text, parse_schema(schema))
