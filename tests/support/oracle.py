"""The oracle: base tables as Python lists, results recomputed by DuckDB, multisets compared exactly.

The law that all property tests check is `incremental == recomputed` after every change.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import count

import duckdb
import pyarrow as pa

import exact_functions
from scenario import DELTA_SIGNS, Change, Row, TableSpec, canonical_row

_LOCAL = threading.local()
_NUMBERS = count()


def connect() -> duckdb.DuckDBPyConnection:
    """A new connection to an empty DuckDB that can be trusted, for tests that need one of their own.

    DuckDB 2.0.0 answers some set operations over joins wrongly when its optimizer shares equal sub-plans: over a table
    H(a, b, d) the rows of ``SELECT DISTINCT x.d, x.b FROM H y, H x WHERE x.a = y.a UNION ALL SELECT x.d, y.b FROM H y,
    H x WHERE x.a = y.a`` came with the wrong multiplicities, and EXCEPT of two such joins lacked rows.
    """
    connection = _instance().cursor()
    name = f"empty_{next(_NUMBERS)}"
    connection.execute(f"ATTACH ':memory:' AS {name}; USE {name}")
    return connection


@cache
def _instance() -> duckdb.DuckDBPyConnection:
    """The one in which `connect` makes databases. Another one would take 23 ms of processor time, a database takes 0.6.

    What a connection sets is its own, and what it makes is in its database. Functions of Python and settings of the
    whole instance are not.
    """
    return own_instance()


def own_instance() -> duckdb.DuckDBPyConnection:
    """As `connect`, an instance of its own: for tests that make functions or set what holds for all of an instance."""
    connection = duckdb.connect(config={"threads": 1})
    (found,) = connection.execute("SELECT count(*) FROM duckdb_optimizers() WHERE name = 'common_subplan'").fetchone()
    if found:  # versions before 2.0 share none
        connection.execute("SET disabled_optimizers = 'common_subplan'")
    return connection


def _connection() -> duckdb.DuckDBPyConnection:
    if not hasattr(_LOCAL, "connection"):
        _LOCAL.connection = own_instance()
        exact_functions.register(_LOCAL.connection)
        _LOCAL.holds = None
    return _LOCAL.connection


def multiset(rows: pa.Table | Iterable[Row]) -> Counter[Row]:
    """The rows as a multiset of canonical tuples."""
    if isinstance(rows, pa.Table):
        return Counter(map(canonical_row, zip(*(c.to_pylist() for c in rows.columns), strict=True)))
    return Counter(map(canonical_row, rows))


def signed_multiset(delta: pa.Table) -> Counter[Row]:
    """The delta as a signed multiset over the view's columns; zero entries are left out."""
    columns = [c for name, c in zip(delta.column_names, delta.columns, strict=True) if not name.startswith("_")]
    kinds = delta["_change_type"].to_pylist()
    total: Counter[Row] = Counter()
    for kind, *row in zip(kinds, *(c.to_pylist() for c in columns), strict=True):
        total[canonical_row(row)] += DELTA_SIGNS[kind]
    return without_zeros(total)


def without_zeros(rows: Counter[Row]) -> Counter[Row]:
    return Counter({row: count for row, count in rows.items() if count})


def difference(after: Counter[Row], before: Counter[Row]) -> Counter[Row]:
    """`after - before` as a signed multiset."""
    total = Counter(after)
    total.subtract(before)
    return without_zeros(total)


def assert_same_rows(found: pa.Table | Counter[Row], expected: pa.Table | Counter[Row], context: str = "") -> None:
    """Fail with a readable difference unless both are the same (signed) multiset of rows."""
    found = multiset(found) if isinstance(found, pa.Table) else found
    expected = multiset(expected) if isinstance(expected, pa.Table) else expected
    wrong = difference(found, expected)
    if not wrong:
        return
    lines = [f"{context}: {sum(found.values())} rows found, {sum(expected.values())} expected; found - expected:"]
    lines += [f"  {count:+d} x {row!r}" for row, count in sorted(wrong.items(), key=repr)[:20]]
    if len(wrong) > 20:
        lines.append(f"  ... and {len(wrong) - 20} more distinct rows")
    raise AssertionError("\n".join(lines))


class Oracle:
    """Base tables in order of arrival, and views over them.

    Windows evict their oldest rows at the end of every `apply`.

    Attributes:
        views: DuckDB's text of each view; it may read those before it.
        late: Insertions of the last `apply` or `apply_each` that were out of their window before it began.
    """

    def __init__(self, tables: Sequence[TableSpec]) -> None:
        self.tables = {t.name: t for t in tables}
        self.rows: dict[str, list[Row]] = {t.name: [] for t in tables}
        self.newest: dict[str, int] = {}
        self.late = 0
        self.views: dict[str, str] = {}
        self._results: dict[str, pa.Table] = {}
        self._state = object()  # another one after every change
        self._shown: set[str] = set()  # the views that the connection knows in this state

    def define(self, name: str, sql: str) -> None:
        """Make a query a view that later queries may read."""
        self.views[name] = sql

    def forget(self, name: str) -> None:
        """Drop a view."""
        del self.views[name]
        self._changed()

    def _changed(self) -> None:
        self._results.clear()
        self._state = object()

    def copy(self) -> Oracle:
        other = Oracle(list(self.tables.values()))
        other.rows = {name: list(rows) for name, rows in self.rows.items()}
        other.newest = dict(self.newest)
        other.views = dict(self.views)
        return other

    def apply(self, changes: Iterable[Change]) -> None:
        """All insertions enter in order, then each deletion takes the oldest equal row, then windows shrink.

        Raises:
            LookupError: A deletion finds no row. The oracle is then of no further use.
        """
        self._changed()
        changes = list(changes)
        newest = dict(self.newest)
        self.late = 0
        for change in changes:
            if change.sign > 0:
                self.rows[change.table].append(change.row)
                if (window := self.tables[change.table].window_range) is not None:
                    time = self.tables[change.table].value(change.row, window[0])
                    self.late += change.table in self.newest and time <= self.newest[change.table] - window[1]
                    newest[change.table] = max(newest.get(change.table, time), time)
        self.newest = newest
        for change in changes:
            if change.sign < 0:
                rows = self.rows[change.table]
                wanted = canonical_row(change.row)
                position = next((i for i, row in enumerate(rows) if canonical_row(row) == wanted), None)
                if position is None:
                    raise LookupError(change)
                del rows[position]
        for name, table in self.tables.items():
            if table.window_rows is not None and len(self.rows[name]) > table.window_rows:
                del self.rows[name][: len(self.rows[name]) - table.window_rows]
            if table.window_range is not None and name in newest:
                column, width = table.window_range
                self.rows[name] = [row for row in self.rows[name] if table.value(row, column) > newest[name] - width]

    def apply_ignoring(self, changes: Iterable[Change]) -> int:
        """As `apply`, but deletions of absent rows and second rows of a key are skipped; returns how many.

        Among rows that are new in the same commit, the one of a key that was given first stays.
        """
        self._changed()
        changes = list(changes)
        given: dict[tuple[str, Row], int] = {}
        for place, change in enumerate(changes):
            if change.sign > 0:
                given.setdefault((change.table, canonical_row(change.row)), place)
        ignored = 0
        before = {name: multiset(rows) for name, rows in self.rows.items()}
        for change in sorted(changes, key=lambda c: c.sign, reverse=True):
            try:
                self.apply([change])
            except LookupError:
                ignored += 1
        for name, table in self.tables.items():
            if not table.primary_key:
                continue
            kept: list[Row] = []
            rows = self.rows[name]
            old = [row for row in rows if canonical_row(row) in before[name]]
            new = [row for row in rows if canonical_row(row) not in before[name]]
            for row in old + sorted(new, key=lambda row: given[name, canonical_row(row)]):
                if canonical_row(table.key(row)) in {canonical_row(table.key(k)) for k in kept}:
                    ignored += 1
                else:
                    kept.append(row)
            self.rows[name] = kept
        return ignored

    def apply_each(self, changes: Iterable[Change]) -> None:
        """Every change as a commit of its own."""
        late = 0
        for change in changes:
            self.apply([change])
            late += self.late
        self.late = late

    def contents(self, name: str) -> pa.Table:
        table = self.tables[name]
        arrays = [pa.array([row[i] for row in self.rows[name]], c.type.arrow) for i, c in enumerate(table.columns)]
        return pa.table(arrays, schema=table.arrow)

    def _query(self, sql: str) -> duckdb.DuckDBPyRelation:
        connection = _connection()
        if _LOCAL.holds is not self._state:
            for name in self.tables:
                connection.register(name, self.contents(name))
            _LOCAL.holds = self._state
            self._shown.clear()
        for name, text in self.views.items():
            if text == sql:
                break
            if name not in self._shown:
                if text not in self._results:
                    self._results[text] = connection.sql(text).to_arrow_table()
                connection.register(name, self._results[text])
                self._shown.add(name)
        return connection.sql(sql)

    def result(self, sql: str) -> pa.Table:
        """The query's result, recomputed by DuckDB when rows have changed."""
        if sql not in self._results:
            self._results[sql] = self._query(sql).to_arrow_table()
        return self._results[sql]

    def count(self, sql: str) -> int:
        """The number of rows of the query's result, without computing the rows themselves."""
        found = self._query(f"SELECT count(*) FROM ({sql})").fetchall()
        return int(found[0][0])
