"""Nested queries: what their relations give by the definitions of the operators is what DuckDB gives for the text."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from random_nested import Generator, make_tables
from relations import Row, evaluate
from sql_fixtures import quoted

from livejoin.catalog import Catalog
from livejoin.query.bound_query import Query
from livejoin.sql import bind_query, to_duckdb
from oracle import connect
from strategies import seeds

CATALOG = make_tables()
_MOST_SOURCES = 8
_VALUES: dict[str, list[Any]] = {"integer": [0, 1, 2, 3, None], "string": ["a", "b", "A", None]}


def filled(seed: int) -> duckdb.DuckDBPyConnection:
    """Small tables with NULLs and, where no key forbids it, duplicates."""
    draw = random.Random(seed)
    connection = connect()
    for table in CATALOG:
        rows: dict[Any, Row] = {}
        for number in range(6):
            row = tuple(
                draw.choice([v for v in _VALUES[c.type.kind] if v is not None or not table.requires(i)])
                for i, c in enumerate(table.columns)
            )
            rows[tuple(row[i] for i in table.primary_key) or number] = row
        arrays = [pa.array([row[i] for row in rows.values()], c.type.arrow) for i, c in enumerate(table.columns)]
        connection.from_arrow(pa.table(arrays, names=table.arrow.names)).create(quoted(table.name))
    return connection


def check(sql: str, catalog: Catalog, views: dict[str, Query], connection: duckdb.DuckDBPyConnection) -> Query:
    query = bind_query(sql, catalog, views)
    expected = connection.sql(to_duckdb(sql, catalog, views)).to_arrow_table()
    assert query.schema.types == expected.schema.types, sql
    columns = [[tuple(v) if isinstance(v, list) else v for v in column.to_pylist()] for column in expected.columns]
    assert Counter(evaluate(query.root, connection)) == Counter(zip(*columns, strict=True)), sql
    return query


def _small(generator: Generator) -> tuple[str, dict[str, str]]:
    """A query of few tables, so that what it joins stays small."""
    named = dict(generator.named)
    while True:
        generator.named = dict(named)
        text, columns = generator.query()
        if text.count("FROM") + text.count("JOIN") <= _MOST_SOURCES:
            return text, columns


@pytest.mark.parametrize("seed", seeds(3, 600))
def test_random_queries_over_views(seed: int) -> None:
    connection = filled(seed)
    generator = Generator(random.Random(seed))
    views: dict[str, Query] = {}
    for number in range(6):
        generator.named = {name: generator.named[name] for name in views}
        text, columns = _small(generator)
        query = check(text, CATALOG, views, connection)
        if number < 3:
            name = f"v{number}"
            connection.execute(f"CREATE VIEW {name} AS {to_duckdb(text, CATALOG, views)}")
            views[name] = query
            generator.named[name] = columns
