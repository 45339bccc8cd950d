"""Views over static tables: the classes of ICDT 2025, run beside DuckDB, and what follows for tables made of them."""

from __future__ import annotations

import random

import pytest

import livejoin
from livejoin.search.guarantee import UpdateBound
from static_lives import FORMS, StaticLife, StaticQuery

LINEAR = (
    StaticQuery(("bcd", "bcd", "b", "ad"), "abd", frozenset({0, 1, 2})),
    StaticQuery(("abd", "abd", "abd", "ae", "cd"), "acde", frozenset({0, 1, 2, 3})),
    StaticQuery(("bde", "bde", "e", "bc", "ae"), "abe", frozenset({0, 1, 3})),
    StaticQuery(("ab", "bc", "cd"), "abcd", frozenset({0})),
)


@pytest.mark.parametrize("query", LINEAR, ids=str)
def test_linear_queries_are_constant_and_right(query: StaticQuery) -> None:
    for seed in range(3):
        life = StaticLife(query, random.Random(seed), rows=12)
        life.views(*FORMS)
        for _ in range(5):
            life.commit(life.changes())
        life.database._check()
    for form in FORMS[1:]:
        assert life.database.explain(query.sql(form)).guarantee.bound is UpdateBound.ALWAYS


def test_what_is_made_of_static_tables_is_static() -> None:
    """A sub-query over a static table joins two dynamic tables: no change goes through it."""
    database = livejoin.Database()
    database.create_table("T", "a INT, b INT", static=True)
    database.create_table("R", "a INT")
    database.create_table("P", "b INT, c INT")
    nested = "SELECT R.a, q.b FROM R JOIN (SELECT DISTINCT a, b FROM T) q ON R.a = q.a"
    assert database.explain(nested).guarantee.bound is UpdateBound.ALWAYS
    database.create_view("pairs", "SELECT a, MAX(b) AS b FROM T GROUP BY a")
    over = database.explain("SELECT R.a, pairs.b FROM R JOIN pairs ON R.a = pairs.a")
    assert over.guarantee.bound is UpdateBound.ALWAYS
    hard = database.explain("SELECT R.a, P.c FROM R JOIN (SELECT DISTINCT a, b FROM T) q ON R.a = q.a JOIN P USING (b)")
    assert hard.guarantee.bound is UpdateBound.LAMBDA
