"""TPC-H's 22 queries from their standard texts, all as views of one database: incremental equals recomputed, always.

Every life is named by its seed; ``make fuzz`` draws others by LIVEJOIN_SEED.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from functools import cache

import pyarrow as pa
import pytest

import livejoin
from livejoin.schema import Table
from livejoin.sql import parse_schema, to_duckdb
from oracle import assert_same_rows, connect, multiset, signed_multiset
from strategies import EXAMPLES
from tpch_rows import QUERIES, Row, Tables, schema, statements

FIRST = int(os.environ.get("LIVEJOIN_SEED", "5"))
STEPS = max(1, 8 * EXAMPLES // 100)


@cache
def _texts() -> dict[str, str]:
    """The queries for DuckDB."""
    catalog = parse_schema(schema(nullable=True))
    return {name: to_duckdb(sql.rstrip().removesuffix(";"), catalog) for name, sql in QUERIES.items()}


def _arrow(table: Table, rows: list[Row]) -> pa.Table:
    columns = [pa.array([row[i] for row in rows], column.type.arrow) for i, column in enumerate(table.columns)]
    return pa.table(columns, schema=table.arrow)


def _database(nullable: bool) -> livejoin.Database:
    db = livejoin.Database()
    for statement in statements(schema(nullable)):
        db.execute(statement)
    for name, sql in QUERIES.items():
        db.create_view(name, sql.rstrip().removesuffix(";"))
    return db


def test_the_texts_are_all_there() -> None:
    assert list(QUERIES) == [f"q{number:02}" for number in range(1, 23)]


@pytest.mark.parametrize("nullable", [pytest.param(False, marks=pytest.mark.torture), True])
def test_incremental_equals_recomputed(nullable: bool) -> None:
    """Tables that are emptied and filled again, rows that move between groups, references to what is not there."""
    tables, db, connection = Tables(random.Random(FIRST), nullable), _database(nullable), connect()
    total = {name: multiset(view.to_arrow()) for name, view in db.views.items()}
    seen = Counter[str]()
    for step in range(STEPS):
        changes = tables.step()
        commit = db.apply(
            {
                name: _arrow(tables.catalog[name], [row for _, row in rows]).append_column(
                    "_change_type", pa.array([kind for kind, _ in rows])
                )
                for name, rows in changes.items()
            }
        )
        for name, rows in tables.rows.items():
            connection.register(name, _arrow(tables.catalog[name], list(rows.values())))
        for name, text in _texts().items():
            context = f"{name} after step {step} of seed {FIRST}"
            expected = multiset(connection.sql(text).to_arrow_table())
            delta = signed_multiset(commit[name])
            seen[name] += bool(delta)
            total[name].update(delta)
            assert_same_rows(db.views[name].to_arrow(), expected, context)
            assert_same_rows(Counter({row: n for row, n in total[name].items() if n}), expected, f"deltas: {context}")
    db._check()
    assert STEPS < 8 or not set(QUERIES) - set(seen), "a query whose result never changes shows nothing"
