"""One query as a view over tables that change at random, compared with DuckDB after every commit.

DuckDB runs the text with what Spark means otherwise put into it (see `oracle`). Numbers are compared to five digits, as
the types of sums, quotients and averages differ. A commit that livejoin refuses for an expression, as a division by
zero, changes nothing; the life goes on without it.
"""

from __future__ import annotations

import datetime
import math
import random
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.recompute import connect
from benchmarks.tpcds.data import catalog, statements, used_tables
from benchmarks.tpcds.oracle import in_duckdb
from benchmarks.tpcds.rows import Changes, Pools, Row, Tables
from livejoin import Database
from livejoin.errors import ExpressionError, UnsupportedQueryError
from livejoin.schema import CHANGE_TYPE, COMMIT_VERSION

_VIEW = "checked"


@dataclass(frozen=True)
class Checked:
    """What became of a query in some lives.

    Args:
        name: Its name.
        refused: Why it is not maintained; empty if it is.
        commits: After how many commits it was compared.
        filled: After how many of them its result had a value that is neither NULL nor 0.
        failed: Commits that livejoin refused for an expression.
        wrong: What was wrong; empty if nothing.
    """

    name: str
    refused: str = ""
    commits: int = 0
    filled: int = 0
    failed: int = 0
    wrong: str = ""

    def __add__(self, other: Checked) -> Checked:
        """Both lives."""
        counts = (self.commits + other.commits, self.filled + other.filled, self.failed + other.failed)
        return Checked(self.name, self.refused or other.refused, *counts, self.wrong or other.wrong)


def check(name: str, sql: str, schema: str, seed: int, commits: int, asked: str | None = None) -> Checked:
    """Maintain a query through a random life.

    In every second life the days are of the calendar; in the last two of four the tables have their primary and foreign
    keys, and without them rows stand several times.

    Args:
        name: Its name.
        sql: Its text.
        schema: The statements that make the tables.
        seed: The life.
        commits: How many there are.
        asked: The text of the view, if it is another one that means the same.
    """
    calendar, keyed = seed % 2 == 1, seed % 4 > 1
    used = used_tables(schema, [sql])
    made = catalog(schema, used, keyed)
    database = Database()
    for statement in statements(schema, used, keyed):
        database.execute(statement)
    tables = Tables(made, Pools.of(sql, made), random.Random(f"{name} {seed}"), calendar)
    with connect() as connection:
        connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
        for statement in statements(schema, used, keyed=False):
            connection.execute(statement)
        try:
            _view(database, asked or sql)
        except UnsupportedQueryError as error:
            return Checked(name, refused=" ".join(str(error).splitlines()[0].split()))
        life = _Life(database, connection, tables, in_duckdb(sql, len(database.views[_VIEW].to_arrow().schema)))
        for _ in range(commits):
            wrong = life.step()
            if wrong:
                return Checked(name, "", life.commits, life.filled, life.failed, f"life {seed}, {wrong}")
    return Checked(name, "", life.commits, life.filled, life.failed)


def _view(database: Database, sql: str) -> None:
    try:
        database.create_view(_VIEW, sql)
    except UnsupportedQueryError as error:
        if "allow_product" not in str(error):
            raise
        database.create_view(_VIEW, sql, allow_product=True)


@dataclass
class _Life:
    """A view with what it is compared with; mutable."""

    database: Database
    connection: duckdb.DuckDBPyConnection
    tables: Tables
    sql: str
    commits: int = 0
    filled: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        self._seen = rows_of(self.database.views[_VIEW].to_arrow())

    def step(self) -> str:
        """Make a commit; what is wrong after it, empty if nothing is."""
        changes = self.tables.step() if self.commits + self.failed else self.tables.fill()
        try:
            commit = self.database.apply({name: self._arrow(name, listed) for name, listed in changes.items()})
        except ExpressionError:
            self.tables.undo(changes)
            self.failed += 1
            return ""
        self.commits += 1
        for name in changes:
            self._copy(name)
        _add(self._seen, commit[_VIEW])
        found = rows_of(self.database.views[_VIEW].to_arrow())
        expected = rows_of(self.connection.sql(self.sql).to_arrow_table())
        self.filled += any(value for row in expected for value in row)
        if not found and "ROLLUP" in self.sql and _are_totals(expected):
            return ""  # grouping sets over no rows give no row in Spark
        more, less = found - expected, expected - found
        if not _are_close(more, less):
            return f"commit {self.commits}: it has {dict(more)} and lacks {dict(less)}"
        odd = (self._seen - found) + (found - self._seen)
        return f"commit {self.commits}: the sum of its deltas differs in {dict(odd)}" if odd else ""

    def _arrow(self, name: str, changes: Changes) -> pa.Table:
        table = self.tables.catalog[name]
        columns = [
            pa.array([row[i] for _, row in changes], column.type.arrow) for i, column in enumerate(table.columns)
        ]
        kinds = pa.array([kind for kind, _ in changes])
        return pa.table([*columns, kinds], [*(column.name for column in table.columns), CHANGE_TYPE])

    def _copy(self, name: str) -> None:
        self.connection.execute(f"DELETE FROM {name}")
        rows = self._arrow(name, [("insert", row) for row in self.tables.rows[name]]).drop_columns([CHANGE_TYPE])
        self.connection.register("given", rows)
        self.connection.execute(f"INSERT INTO {name} FROM given")
        self.connection.unregister("given")


def _are_totals(rows: Counter[Row]) -> bool:
    """Whether there is at most one row, and nothing in it but NULL, a count of 0, a rank of 1 and GROUPING of two."""
    return rows.total() <= 1 and all(value in (None, 0, 1, 2) for row in rows for value in row)


def rows_of(table: pa.Table) -> Counter[Row]:
    """The rows of a table and how often each stands there, with numbers to five digits."""
    return Counter(_listed(table))


def _listed(table: pa.Table) -> list[Row]:
    return list(zip(*([_plain(value) for value in column.to_pylist()] for column in table.columns), strict=True))


def _add(seen: Counter[Row], delta: pa.Table) -> None:
    kinds = delta[CHANGE_TYPE].to_pylist()
    for row, kind in zip(_listed(delta.drop_columns([CHANGE_TYPE, COMMIT_VERSION])), kinds, strict=True):
        seen[row] += 1 if kind in ("insert", "update_postimage") else -1


def _plain(value: Any) -> Any:
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        number = float(value)
        return 0.0 if number == 0 else float(f"{number:.5g}")
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value


def _are_close(more: Counter[Row], less: Counter[Row]) -> bool:
    """Whether rows differ by the rounding of their last digit alone."""
    left = list(less.elements())
    for row in more.elements():
        same = next((other for other in left if all(map(_is_close, row, other))), None)
        if same is None:
            return False
        left.remove(same)
    return not left


def _is_close(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1.1e-4, abs_tol=1e-6)  # averages of decimals are rounded to six digits
    return bool(one == other)
