"""Cells that are databases: what they hold and what their deltas say adds up to the one database and to DuckDB."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from conjunctive import bind
from livejoin.catalog import Catalog
from livejoin.plan.dispatch import Router, choose, sampled
from livejoin.schema import Table
from livejoin.sql import parse_columns
from oracle import connect, multiset, signed_multiset, without_zeros

COLUMNS = {
    "R": "s STRING, d DECIMAL(10, 2), f FLOAT, t DATE, n INT",
    "S": "s STRING, d DECIMAL(30, 2), f FLOAT, t DATE, n BIGINT",
}
VALUES: dict[str, list[Any]] = {
    "s": ["", "a", "ab", "the same beginning of a text", "the same beginning of a tale", None],
    "d": [Decimal("1.50"), Decimal("-1.50"), Decimal("0.00"), Decimal("12345678.90"), None],
    "f": [0.0, -0.0, 1.5, float("nan"), None],
    "t": [dt.date(2020, 1, 1), dt.date(1969, 12, 31), dt.date(2020, 1, 2), None],
    "n": [0, 1, -1, 2, None],
}
QUERIES = [
    "SELECT A0.s, A0.n, A1.d FROM R A0 JOIN S A1 ON A0.s = A1.s",
    "SELECT A0.n, A1.n AS m, A2.s FROM R A0 JOIN S A1 ON A0.n = A1.n JOIN S A2 ON A1.t = A2.t AND A2.d = A0.d",
    "SELECT A0.f, A0.t, A1.s FROM R A0 LEFT JOIN S A1 ON A0.f = A1.f AND A1.n > 0",
    "SELECT A0.* FROM R A0 JOIN R A1 ON A0.s = A1.s WHERE NOT EXISTS (SELECT 1 FROM S A2 WHERE A2.d = A1.d)",
    "SELECT A0.t, A1.t AS u FROM R A0 LEFT JOIN S A1 ON A0.t = A1.t WHERE A0.n IN (SELECT A2.n FROM S A2)",
    "SELECT A0.s, A1.s AS r FROM R A0 JOIN S A1 ON A0.n < 1",
]


def changes(random: Random, table: Table, rows: Counter[tuple[Any, ...]]) -> pa.Table:
    """Some rows that come and some of those that are there that go; ``rows`` is changed."""
    listed = [
        ("insert", tuple(random.choice(VALUES[name]) for name in table.names)) for _ in range(random.randint(0, 9))
    ]
    there = list(rows.elements())
    listed += [("delete", row) for row in random.sample(there, random.randint(0, len(there)) // 2)]
    for kind, row in listed:
        rows[row] += 1 if kind == "insert" else -1
    columns = [pa.array([row[i] for _, row in listed], field.type) for i, field in enumerate(table.arrow)]
    kinds = pa.array([kind for kind, _ in listed], pa.string())
    return pa.table([*columns, kinds], names=[*table.names, "_change_type"])


def database(tables: Iterator[tuple[str, str]], sql: str) -> livejoin.Database:
    made = livejoin.Database()
    for name, columns in tables:
        made.create_table(name, columns)
    made.create_view("result", sql)
    return made


@pytest.mark.parametrize("sql", QUERIES)
def test_cells_add_up_after_every_commit(sql: str) -> None:
    random = Random(len(sql))
    tables = {name: parse_columns(name, columns) for name, columns in COLUMNS.items()}
    catalog = Catalog()
    for table in tables.values():
        catalog.add(table)
    query = bind(sql, catalog)
    rows: dict[str, Counter[tuple[Any, ...]]] = {name: Counter() for name in tables}
    first = {name: sampled(table, changes(Random(1), table, Counter())) for name, table in tables.items()}
    dispatch = choose(query, first, 4)
    assert dispatch.variables
    routers = {atom.table: Router(dispatch, tables[atom.table]) for atom in dispatch.atoms}
    text = sql
    for atom in dispatch.atoms:
        text = text.replace(f"{atom.table} {atom.alias}", atom.alias)
    declared = [(atom.alias, COLUMNS[atom.table]) for atom in dispatch.atoms]
    whole = database(iter(COLUMNS.items()), sql)
    cells = [database(iter(declared), text) for _ in range(dispatch.cells)]
    for _ in range(6):
        for name, router in routers.items():
            batch = changes(random, tables[name], rows[name])
            delta = signed_multiset(whole.apply(name, batch)["result"])
            sent = router.send(batch)
            summed: Counter[Any] = Counter()
            for number, cell in enumerate(cells):
                for i, atom in enumerate(dispatch.atoms):
                    if atom.table == name:
                        own = sent.rows[(sent.cells == number) & (sent.masks >> i & 1 == 1)]
                        summed.update(signed_multiset(cell.apply(atom.alias, batch.take(pa.array(own)))["result"]))
            assert without_zeros(summed) == delta
        result = multiset(whole.views["result"].to_arrow())
        assert sum((multiset(cell.views["result"].to_arrow()) for cell in cells), Counter()) == result
    with connect() as duckdb:
        for name, table in tables.items():
            left = list(rows[name].elements())
            columns = [pa.array([row[i] for row in left], field.type) for i, field in enumerate(table.arrow)]
            duckdb.register(name, pa.table(columns, schema=table.arrow))
        assert multiset(duckdb.sql(sql).to_arrow_table()) == result
    assert result
