"""The first rows by an aggregate, which ORDER BY names by its position or writes again."""

from __future__ import annotations

import pytest

from livejoin import Database

AGGREGATES = (
    "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x)",
    "FIRST(x) IGNORE NULLS",
    "MIN(x) FILTER (WHERE x > 0)",
    "MEDIAN(x)",
    "SUM(x) + 1",
)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("written", ["2", "again", "v"])
def test_the_first_rows_by_an_aggregate(aggregate: str, written: str) -> None:
    database = Database()
    database.create_table("R", "k INT, x INT")
    key = aggregate if written == "again" else written
    view = database.create_view("first", f"SELECT k, {aggregate} AS v FROM R GROUP BY k ORDER BY {key} DESC LIMIT 1")
    database.apply("R", [(1, 5), (2, 9), (3, 7)])
    assert view.to_arrow()["k"].to_pylist() == [2]
    database.apply("R", [{"k": 2, "x": 9, "_change_type": "delete"}])
    assert view.to_arrow()["k"].to_pylist() == [3]
