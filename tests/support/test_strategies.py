"""The strategies themselves: DuckDB gives one answer for both texts of a query, and the commits are possible."""

from __future__ import annotations

from hypothesis import given, note

from oracle import Oracle, assert_same_rows
from scenario import Scenario
from strategies import FUZZ, scenarios


@FUZZ
@given(scenarios())
def test_both_texts_of_a_query_are_the_same_query(scenario: Scenario) -> None:
    oracle = Oracle(scenario.tables)
    for commit in scenario.commits:
        if commit.error is None:
            oracle.apply(commit.changes)
    for query in scenario.queries:
        note(query.sql)
        note(query.plain)
        if oracle.count(query.plain) > 3000 or ("USING" in query.sql and "*" in query.sql):
            continue  # DuckDB shows a merged column where it stood, Spark shows it first
        written = query.sql.replace("<=>", "IS NOT DISTINCT FROM")  # which DuckDB has no operator for
        assert_same_rows(oracle.result(written), oracle.result(query.plain), query.sql)
