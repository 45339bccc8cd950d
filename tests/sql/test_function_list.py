"""The examples of functions are of the functions that there are."""

from __future__ import annotations

from typing import get_args

import pytest

from livejoin.catalog import Catalog
from livejoin.sql import bind_query, parse_columns
from livejoin.sql.function_list import AGGREGATES, EXAMPLES, WINDOWS, name_of
from livejoin.sql.lower.grouped.aggregates import Name, aggregate_call
from livejoin.sql.parse.parse import parse
from livejoin.sql.scalars.functions.by_name import known_names

CATALOG = Catalog()
CATALOG.add(parse_columns("T", "k INT, x DOUBLE, y DOUBLE, i INT, b BOOLEAN, s STRING"))


def test_each_function_of_one_row_has_one_example() -> None:
    assert sorted(name_of(one) for examples in EXAMPLES.values() for one in examples) == sorted(known_names())


def test_each_aggregate_has_an_example() -> None:
    found = set()
    for call in AGGREGATES:
        tree, source = parse(f"SELECT {call} FROM T")
        bound = aggregate_call(tree.expressions[0], source, 0)
        assert bound is not None, call
        found.add(bound.name)
    assert found == set(get_args(Name))


@pytest.mark.parametrize("call", AGGREGATES)
def test_aggregates_on_the_page_are_taken(call: str) -> None:
    assert len(bind_query(f"SELECT k, {call} AS a FROM T GROUP BY k", CATALOG).schema) == 2


@pytest.mark.parametrize("call", WINDOWS)
def test_window_functions_on_the_page_are_taken(call: str) -> None:
    sql = f"SELECT k, {call} OVER (PARTITION BY k ORDER BY i) AS a FROM T"
    assert len(bind_query(sql, CATALOG).schema) == 2


@pytest.mark.parametrize("call", AGGREGATES)
def test_aggregates_take_filter_and_those_of_one_column_distinct(call: str) -> None:
    bind_query(f"SELECT {call} FILTER (WHERE i > 0) AS a FROM T", CATALOG)
    if not any(part in call for part in (", y", "*", "WITHIN")):
        bind_query(f"SELECT {call.replace('(', '(DISTINCT ', 1)} AS a FROM T", CATALOG)
