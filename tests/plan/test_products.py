"""A product is said in the first words of a verdict, with its size; a suggestion changes some figure of a verdict."""

from __future__ import annotations

import pytest

from livejoin import Database


@pytest.fixture(scope="module")
def db() -> Database:
    db = Database()
    db.execute("CREATE TABLE r (a BIGINT, b BIGINT); CREATE TABLE s (b BIGINT, c BIGINT); CREATE TABLE t (c BIGINT)")
    db.apply({"r": [(i, i % 4) for i in range(20)], "s": [(i % 4, i) for i in range(12)], "t": [(1,), (2,), (3,)]})
    return db


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT r.a, t.c FROM r, s, t", "no condition connects r, s and t, so that each row of the one is combined "
         "with each row of the other: about 720 rows."),
        ("SELECT r.a, t.c FROM r, s, t WHERE r.b = s.b", "no condition connects r and s with t, so that each row of "
         "the one is combined with each row of the other: about 180 rows."),
        ("SELECT r.a, COUNT(*) AS n FROM r CROSS JOIN t GROUP BY r.a", "no condition connects r and t"),
    ],
)  # fmt: skip
def test_a_product_is_said_first(db: Database, sql: str, said: str) -> None:
    told = db.explain(sql)
    assert told.verdict.startswith(f"This is a product: {said}")
    assert told.to_dict()["verdict"] == told.verdict


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT r.a, s.c FROM r JOIN s ON r.b = s.b",
        "SELECT r.a, (SELECT MAX(c) FROM t) AS m FROM r",
        "SELECT a FROM r WHERE b NOT IN (SELECT b FROM s)",
        "SELECT a, SUM(b) OVER () AS n FROM r",
    ],
)
def test_what_multiplies_nothing_is_no_product(db: Database, sql: str) -> None:
    assert "product" not in db.explain(sql).verdict


def test_running_totals_say_that_their_cost_does_not_count_the_rows_behind(db: Database) -> None:
    told = " ".join(str(db.explain("SELECT a, SUM(b) OVER (ORDER BY a) AS n FROM r")).split())
    assert "In the papers' words: O(1), q-hierarchical, selected rows; these do not count the rows" in told
    update = told.partition(" update ")[2].partition(" results ")[0]
    assert "running aggregates of the rows behind it" in update


def test_a_suggestion_for_one_join_is_not_made_where_another_one_stays_as_bad(db: Database) -> None:
    """Nothing is better if r is append-only: the other half of the union still has rows that wait for matches."""
    half = "SELECT r.a, s.c FROM r JOIN s ON r.b = s.b JOIN t ON t.c = s.c"
    alone = [one.text for one in db.explain(half).suggestions]
    assert "Declare r append-only, if nothing is ever deleted." in alone
    both = db.explain(f"{half} UNION ALL SELECT x.b, y.c FROM s x JOIN s y ON x.c = y.b JOIN t z ON z.c = y.c")
    texts = [one.text for told in (both, *both.others) for one in told.suggestions]
    assert "Declare r append-only, if nothing is ever deleted." not in texts
