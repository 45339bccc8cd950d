"""The TPC-H queries without sub-queries (1, 3, 5, 6, 10, 12, 14, 19), as specified, and the queries of CROWN."""

from __future__ import annotations

import random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from relations import check_product, evaluate, products
from sql_fixtures import quoted

from known_queries import CATALOG, CROWN, Q19, TPCH, value_of
from livejoin.query.relational import Aggregate, Distinct, Join, Project, TopK
from livejoin.schema import Column, Table
from livejoin.sql import bind_query, to_duckdb
from oracle import connect
from tpch_sub_queries import TPCH_NESTED, VALUES


@pytest.fixture(scope="module")
def filled() -> duckdb.DuckDBPyConnection:
    """Few rows that the filters mostly keep, of which no two have a primary key in common."""
    connection = connect()
    generator = random.Random(48)
    for table in CATALOG:
        rows = 150 if table.name == "lineitem" else 30
        lines = zip(*([value_of(generator, c) for _ in range(rows)] for c in table.columns), strict=True)
        kept = {tuple(row[i] for i in table.primary_key) or number: row for number, row in enumerate(lines)}.values()
        columns = [pa.array([row[i] for row in kept], c.type.arrow) for i, c in enumerate(table.columns)]
        connection.from_arrow(pa.table(columns, names=table.arrow.names)).create(quoted(table.name))
    return connection


@pytest.mark.parametrize("name", [*TPCH, *CROWN, "Q19"])
def test_same_rows_as_duckdb(name: str, filled: duckdb.DuckDBPyConnection) -> None:
    sql = Q19 if name == "Q19" else TPCH.get(name) or CROWN[name]
    query = bind_query(sql, CATALOG)
    expected = filled.sql(to_duckdb(sql, CATALOG)).fetchall()
    assert expected, "a query without rows shows nothing"
    assert sorted(evaluate(query.root, filled), key=repr) == sorted(expected, key=repr)
    for call, join in products(query.root):
        assert check_product(call, join, filled)


@pytest.fixture(scope="module")
def nested_rows() -> list[duckdb.DuckDBPyConnection]:
    """Few rows of few keys, so that joins of eight tables have some; every query has rows in one of the databases."""
    return [_nested_rows(random.Random(seed)) for seed in (4, 6, 8)]


def _nested_rows(generator: random.Random) -> duckdb.DuckDBPyConnection:
    connection = connect()
    for table in CATALOG:
        drawn: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for number in range(_ROWS.get(table.name, 5)):
            row = tuple(_drawn(generator, number, table, column) for column in table.columns)
            drawn[tuple(row[i] for i in table.primary_key) or (number,)] = row
        kept = list(drawn.values())
        columns = [pa.array([row[i] for row in kept], c.type.arrow) for i, c in enumerate(table.columns)]
        connection.from_arrow(pa.table(columns, names=table.arrow.names)).create(quoted(table.name))
    return connection


_ROWS = {"lineitem": 150, "orders": 15, "partsupp": 20, "supplier": 8, "customer": 8}


def _drawn(generator: random.Random, number: int, table: Table, column: Column) -> Any:
    """A value of a row; the rows of a table with a key of one column are numbered, and so are the nations' names."""
    if table.primary_key == (table.columns.index(column),):
        return number
    if column.name == "n_name":
        return VALUES[column.name][number]
    if column.name in VALUES:
        return generator.choice(VALUES[column.name])
    return generator.randrange(5) if column.type.kind == "integer" else value_of(generator, column)


@pytest.mark.parametrize("name", sorted(TPCH_NESTED))
def test_same_rows_with_sub_queries(name: str, nested_rows: list[duckdb.DuckDBPyConnection]) -> None:
    sql, found = TPCH_NESTED[name], 0
    root, written = bind_query(sql, CATALOG).root, to_duckdb(sql, CATALOG)
    for connection in nested_rows:
        expected = connection.sql(written).fetchall()
        found += len(expected)
        assert sorted(evaluate(root, connection), key=repr) == sorted(expected, key=repr)
    assert found, "a query without rows shows nothing"


@pytest.mark.parametrize("name", TPCH)
def test_sums_of_tpch_are_sums_of_products(name: str) -> None:
    relation = bind_query(TPCH[name], CATALOG).root
    while not isinstance(relation, Aggregate):
        assert isinstance(relation, (Project, TopK))
        relation = relation.input
    assert all(call.product is not None or call.argument is None for call in relation.calls)


def test_projections_of_crown_are_distinct_joins() -> None:
    for name in ("4-Hop with projection", "2-Comb", "Boolean", "dumbbell"):
        relation = bind_query(CROWN[name], CATALOG).root
        assert isinstance(relation, Distinct)
        assert isinstance(relation.input, Join)
