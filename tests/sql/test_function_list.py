"""The page of the functions is that of the functions that there are."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from livejoin.catalog import Catalog
from livejoin.sql import bind_query, parse_columns
from livejoin.sql.function_list import AGGREGATES, WINDOWS, listed, markdown
from livejoin.sql.lower.grouped.aggregates import Name, aggregate_call
from livejoin.sql.parse.parse import parse
from livejoin.sql.scalars.functions.by_name import known_names

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
CATALOG = Catalog()
CATALOG.add(parse_columns("T", "k INT, x DOUBLE, y DOUBLE, i INT, b BOOLEAN, s STRING"))


def test_the_page_has_all_functions_of_one_row_and_no_other() -> None:
    assert listed() == known_names()
    assert PAGE.read_text() == markdown(), "write livejoin.sql.function_list.markdown() to docs/functions.md"


def test_the_page_has_all_aggregates() -> None:
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
