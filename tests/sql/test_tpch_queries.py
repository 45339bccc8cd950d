"""The TPC-H queries without sub-queries (1, 3, 5, 6, 10, 12, 14, 19), as specified, and the queries of CROWN."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pytest
from relations import check_product, evaluate, products
from sql_fixtures import quoted

from known_queries import CATALOG, CROWN, Q19, TPCH, value_of
from livejoin.query.relational import Aggregate, Distinct, Join, Project, TopK
from livejoin.sql import bind_query, to_duckdb
from oracle import connect


@pytest.fixture(scope="module")
def filled() -> duckdb.DuckDBPyConnection:
    """Few rows that the filters mostly keep; DuckDB enforces no key here."""
    connection = connect()
    generator = random.Random(4)
    for table in CATALOG:
        rows = 150 if table.name == "lineitem" else 8
        columns = [pa.array([value_of(generator, c) for _ in range(rows)], c.type.arrow) for c in table.columns]
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
