"""Hypothesis strategies: random tables, rows, commits and scenarios (the queries are in `random_queries.py`).

Value domains are tiny so that joins hit, and hold the edges of each type. `FUZZ` is the settings of every property
test: 3 examples, or as many as the environment variable `LIVEJOIN_FUZZ` says. The first one is the simplest that there
is, as no rows at all, so a test takes two at least. `seeds` does the same for other random cases.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from livejoin.search.algorithm import Algorithm
from random_queries import queries
from scenario import Change, ColumnSpec, ColumnType, CommitSpec, QuerySpec, Row, Scenario, TableSpec, canonical_row

IS_FUZZ = "LIVEJOIN_FUZZ" in os.environ
EXAMPLES = int(os.environ.get("LIVEJOIN_FUZZ", "3"))
FUZZ = settings(
    max_examples=EXAMPLES,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def seeds(often: int, all_of_them: int) -> range:
    """Seeds of a test with random cases of its own: a few in every run, all where `make fuzz` runs it."""
    return range(all_of_them if IS_FUZZ else often)


# As often the planner's choice as all others together.
ALGORITHMS: tuple[Algorithm, ...] = ("auto", "auto", "auto", "crown", "dyn", "change-propagation")

TYPES = (
    ColumnType("BOOLEAN", pa.bool_(), "boolean", (True, False), ("TRUE", "FALSE")),
    ColumnType("TINYINT", pa.int8(), "integer", (0, 1, 2, -1, 127, -128), ("0", "1")),
    ColumnType("SMALLINT", pa.int16(), "integer", (0, 1, 2, -1, 32767, -32768), ("0", "1")),
    ColumnType("INT", pa.int32(), "integer", (0, 1, 2, -1, 2**31 - 1, -(2**31)), ("1", "2")),
    ColumnType("BIGINT", pa.int64(), "integer", (0, 1, 2, -1, 2**63 - 1, -(2**63)), ("1", "-1")),
    ColumnType(
        "DOUBLE",
        pa.float64(),
        "double",
        (0.0, 1.5, -0.0, float("nan"), float("inf"), -1e308, 5e-324),
        ("CAST(1.5 AS DOUBLE)", "CAST(0 AS DOUBLE)"),
    ),
    ColumnType(
        "FLOAT",
        pa.float32(),
        "float",
        (0.0, 1.5, -0.0, float("nan"), float("-inf"), 3.4028234663852886e38, 1.401298464324817e-45),
        ("CAST(1.5 AS FLOAT)", "CAST(0 AS FLOAT)"),
    ),
    ColumnType(
        "DECIMAL(9, 2)",
        pa.decimal128(9, 2),
        "decimal2",
        (Decimal("0.00"), Decimal("1.50"), Decimal("-9999999.99")),
        ("1.50", "0.00"),
    ),
    ColumnType(
        "DECIMAL(30, 4)",
        pa.decimal128(30, 4),
        "decimal4",
        (Decimal("0.0000"), Decimal("1.5000"), Decimal("-99999999999999999999999999.9999")),
        ("1.5000", "CAST(0 AS DECIMAL(30, 4))"),
    ),
    ColumnType(
        "DATE",
        pa.date32(),
        "date",
        (date(1970, 1, 1), date(2024, 2, 29), date(1969, 12, 31), date(9999, 12, 31)),
        ("DATE '1970-01-01'", "CAST('2024-02-29' AS DATE)"),
    ),
    ColumnType(
        "TIMESTAMP",
        pa.timestamp("us"),
        "timestamp",
        (datetime(1970, 1, 1), datetime(2024, 2, 29, 23, 59, 59, 999999), datetime(1901, 1, 1, 0, 0, 0, 1)),
        ("TIMESTAMP '1970-01-01 00:00:00'", "CAST('2024-02-29 23:59:59.999999' AS TIMESTAMP)"),
    ),
    ColumnType(
        "STRING",
        pa.string(),
        "string",
        ("a", "", "b", "äöü€", "a string of more than twelve bytes", "A"),
        ("'a'", "''", "'äöü€'"),
    ),
    ColumnType(
        "BINARY",
        pa.binary(),
        "binary",
        (b"a", b"", b"\xff\x00", b"\x00", b"a run of more than twelve bytes", "äöü€".encode()),
        ("CAST('a' AS BINARY)", "CAST('' AS BINARY)"),
    ),
)


def type_named(sql: str) -> ColumnType:
    """The column type that the tests use for a SQL type."""
    return next(t for t in TYPES if t.sql == sql)


@st.composite
def tables(draw: st.DrawFn, keys: bool = True, max_tables: int = 3, max_columns: int = 4) -> tuple[TableSpec, ...]:
    """One to three tables over a small palette of types, so that columns of different tables can be joined."""
    palette = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3))
    specs = []
    for name in "RST"[: draw(st.integers(1, max_tables))]:
        width = draw(st.integers(1, max_columns))
        columns = tuple(
            ColumnSpec("abcd"[i], draw(st.sampled_from(palette)), not_null=draw(st.integers(0, 9)) == 9)
            for i in range(width)
        )
        key: tuple[int, ...] = ()
        if keys and draw(st.integers(0, 4)) == 4:
            key = tuple(sorted(draw(st.sets(st.integers(0, width - 1), min_size=1, max_size=2))))
        specs.append(TableSpec(name, columns, key))
    return tuple(specs)


def rows(table: TableSpec) -> st.SearchStrategy[Row]:
    """A row of the table; small values more often than the edges of the type, NULL where it is allowed."""
    # One number a row, read to the base 64 a column: a draw a column costs more than all else that is done with a row.
    domains: list[list[Any]] = []
    for position, column in enumerate(table.columns):
        common, other = column.type.values[:2]
        nullable = not (column.not_null or position in table.primary_key)
        rare = list(column.type.values[2:] or column.type.values) * 18
        domains.append([common] * 26 + [other] * 20 + rare[: 10 if nullable else 18] + [None] * (8 if nullable else 0))
    numbers = st.integers(0, 64 ** len(domains) - 1)
    return numbers.map(lambda n: tuple(domain[n // 64**i % 64] for i, domain in enumerate(domains)))


def is_absent(present: list[Row], row: Row) -> bool:
    return canonical_row(row) not in set(map(canonical_row, present))


def has_key(table: TableSpec, present: list[Row], row: Row) -> bool:
    return canonical_row(table.key(row)) in {canonical_row(table.key(r)) for r in present}


def _remove(present: list[Row], row: Row) -> None:
    wanted = canonical_row(row)
    del present[next(i for i, r in enumerate(present) if canonical_row(r) == wanted)]


@st.composite
def commits(
    draw: st.DrawFn,
    specs: tuple[TableSpec, ...],
    max_commits: int = 5,
    errors: bool = True,
    sizes: tuple[int, ...] = (4, 8, 2, 12, 1, 16, 0),
) -> list[CommitSpec]:
    """Commits in which every change is possible at its turn, and now and then a bad commit that must change nothing.

    In half of the cases the last one leaves all tables empty.
    """
    present: dict[str, list[Row]] = {t.name: [] for t in specs}
    result = []
    for _ in range(draw(st.sampled_from([n for n in (3, 1, 2, 4, 5, 6, 8) if n <= max_commits]))):
        before = {name: list(contents) for name, contents in present.items()}
        changes: list[Change] = []
        for _ in range(draw(st.sampled_from(sizes))):
            table = draw(st.sampled_from(specs))
            changes += _some_changes(draw, table, present[table.name])
        bad = draw(_bad_change(specs, present)) if errors and draw(st.integers(0, 7)) == 7 else None
        if bad is None:
            result.append(CommitSpec(tuple(changes)))
        else:
            change, error = bad
            changes.insert(draw(st.integers(0, len(changes))), change)
            result.append(CommitSpec(tuple(changes), error))
            present = before
    if draw(st.booleans()):
        gone = [Change(name, "delete", row) for name, contents in present.items() for row in contents]
        result.append(CommitSpec(tuple(gone)))
    return result


def _some_changes(draw: st.DrawFn, table: TableSpec, present: list[Row]) -> list[Change]:
    """One step on one table; keeps `present`.

    Insertions (repeated now and then), a deletion, an update pair, or the deletion of all rows.
    """
    action = draw(st.sampled_from(["insert"] * 7 + ["again"] * 2 + ["delete"] * 4 + ["update"] * 3 + ["clear"]))
    if not present:
        action = "insert"
    if action == "clear":
        gone = [Change(table.name, "delete", row) for row in present]
        present.clear()
        return gone
    if action == "insert":
        row = draw(rows(table))
        times = 1 if table.primary_key else draw(st.sampled_from([1, 1, 1, 2, 3]))
        if table.primary_key and has_key(table, present, row):
            return []
        present += [row] * times
        return [Change(table.name, "insert", row)] * times
    old = draw(st.sampled_from(present))
    if action == "again":
        if table.primary_key:
            _remove(present, old)
            present.append(old)
            return [Change(table.name, "delete", old), Change(table.name, "insert", old)]
        present.append(old)
        return [Change(table.name, "insert", old)]
    _remove(present, old)
    if action == "delete":
        return [Change(table.name, "delete", old)]
    new = draw(rows(table))
    if table.primary_key and has_key(table, present, new):
        present.append(old)
        return []
    present.append(new)
    return [Change(table.name, "update_preimage", old), Change(table.name, "update_postimage", new)]


@st.composite
def _bad_change(
    draw: st.DrawFn, specs: tuple[TableSpec, ...], present: dict[str, list[Row]]
) -> tuple[Change, str] | None:
    """A change that is impossible after all the others of its commit: an absent row, or a key that is taken."""
    table = draw(st.sampled_from(specs))
    contents = present[table.name]
    if table.primary_key and contents and draw(st.booleans()):
        return Change(table.name, "insert", draw(st.sampled_from(contents))), "DuplicateKeyError"
    row = draw(rows(table))
    if not is_absent(contents, row):
        return None
    return Change(table.name, "delete", row), "AbsentRowError"


@st.composite
def scenarios(  # noqa: PLR0913, PLR0917  # what is drawn
    draw: st.DrawFn,
    keys: bool = True,
    errors: bool = True,
    max_queries: int = 2,
    max_commits: int = 5,
    queries: Callable[[tuple[TableSpec, ...]], st.SearchStrategy[QuerySpec]] = queries,
    max_tables: int = 3,
    max_columns: int = 4,
    sizes: tuple[int, ...] = (4, 8, 2, 12, 1, 16, 0),
) -> Scenario:
    """Tables, queries over them, each by some algorithm, and commits of about so many changes."""
    specs = draw(tables(keys, max_tables, max_columns))
    chosen = tuple(
        replace(draw(queries(specs)), algorithm=draw(st.sampled_from(ALGORITHMS)))
        for _ in range(draw(st.integers(1, max_queries)))
    )
    steps = tuple(draw(commits(specs, max_commits, errors, sizes)))
    forms = tuple(draw(st.sampled_from(["arrow", "dicts", "tuples", "chunks"])) for _ in steps)
    return Scenario(specs, chosen, steps, forms)
