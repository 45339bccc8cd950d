"""DuckDB has no part in a commit of the queries that words are enough for, nor in reading their results."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

import livejoin
from benchmarks.crown.queries import SNB_QUERIES, SNB_TABLES
from known_queries import CATALOG as KNOWN
from known_queries import CROWN, TPCH, value_of
from livejoin.catalog import Catalog
from livejoin.query import session
from livejoin.sql import parse_columns, to_duckdb
from oracle import connect, multiset, signed_multiset
from scenario import canonical_row

SOCIAL = {
    "strings": "SELECT upper(n_name) AS n, count(*) AS k FROM nation JOIN region ON n_regionkey = r_regionkey "
    "WHERE r_name LIKE '%A' OR length(r_name) > 1 GROUP BY upper(n_name)",
    "sums": "SELECT A.src + B.dst AS s, A.src FROM G A JOIN G B ON A.dst = B.src WHERE A.src % 2 = 0",
    "union": "SELECT src * 2 AS x FROM G UNION SELECT dst - 1 FROM G",
    "having": "SELECT src, count(*) AS n FROM G GROUP BY src HAVING count(*) * 2 > 3",
}

SNB = {query.name: query.own_sql for query in SNB_QUERIES}
CATALOG = Catalog()
for known in KNOWN:
    CATALOG.add(known)
for name, columns in SNB_TABLES.items():
    CATALOG.add(parse_columns(name, ", ".join(f"{column} {type}" for column, type in columns.items())))


@contextmanager
def counting(patched: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The calls of DuckDB within."""
    calls: list[int] = []
    whole = session._time_limits.of
    with patched.context() as patch:
        patch.setattr(session._time_limits, "of", lambda *limits: (calls.append(1), whole(*limits))[1])
        yield calls


@pytest.mark.parametrize("name", [*TPCH, *CROWN, *SNB, *SOCIAL])
def test_no_call_in_a_commit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = (TPCH | CROWN | SNB | SOCIAL)[name]
    generator = random.Random(name)
    db, duck, tables = livejoin.Database(), connect(), {}
    for table in CATALOG:
        if table.name.lower() in sql.lower() or table.name == "G":
            db.create_table(table.name, ", ".join(f"{c.name} {c.type}" for c in table.columns))
            columns = [[value_of(generator, c) for _ in range(40)] for c in table.columns]
            arrays = [pa.array(values, c.type.arrow) for values, c in zip(columns, table.columns, strict=True)]
            tables[table.name] = pa.table(arrays, names=table.arrow.names)
    view = db.create_view("v", sql)
    total = multiset(pa.table([[] for _ in view.schema], schema=view.schema))
    if not db.views["v"].count():
        total.clear()
    total.update(multiset(view.to_arrow()))
    with counting(monkeypatch) as calls:
        first = db.apply({name: rows.slice(0, 30) for name, rows in tables.items()})
        total.update(signed_multiset(first["v"]))
        changes = {}
        for name_, rows in tables.items():
            gone = rows.slice(0, 10).append_column("_change_type", pa.array(["delete"] * 10))
            come = rows.slice(30).append_column("_change_type", pa.array(["insert"] * 10))
            changes[name_] = pa.concat_tables([gone, come])
        second = db.apply(changes)
        total.update(signed_multiset(second["v"]))
        found = multiset(view.to_arrow())
    assert not calls, "of DuckDB"
    for name_, rows in tables.items():
        duck.from_arrow(rows.slice(10)).create(name_)
    expected = duck.sql(to_duckdb(sql, CATALOG)).to_arrow_table()
    assert found == multiset(expected)
    assert {row: times for row, times in total.items() if times} == found
    assert all(canonical_row(row) == row for row in found)
    db._check()
