"""Views of outer, semi and anti joins while every side of them empties and fills again, compared with DuckDB."""

from __future__ import annotations

import pytest

from harness import Harness
from livejoin import Database
from livejoin.errors import SchemaError
from outer_join_lives import TABLES, commits
from random_outer_joins import RandomOuterJoins
from scenario import QuerySpec
from strategies import seeds

FIXED = (
    "SELECT R.a, S.a AS b, S.d FROM R LEFT JOIN S ON R.b = S.b",
    "SELECT S.a, S.d, T.c FROM R RIGHT JOIN S ON R.b = S.b LEFT JOIN T ON T.d = R.c",
    "SELECT a, R.b, S.d, U.d AS e FROM R FULL JOIN S USING (a) LEFT JOIN U ON U.c = R.c",
    "SELECT R.a, R.c FROM R SEMI JOIN (S ANTI JOIN T ON S.d = T.d) ON R.b = S.b",
    "SELECT R.a, R.c FROM R ANTI JOIN (S ANTI JOIN T ON S.d = T.d) ON R.b = S.b",
    "SELECT R.a, S.d, K.b FROM R LEFT JOIN (S JOIN K ON S.d = K.k) ON R.b = S.b",
    "SELECT x.a, y.c, z.b FROM R x LEFT JOIN R y ON x.a = y.b AND y.c > 0 LEFT JOIN R z ON y.a = z.b AND x.c = z.c",
    "SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b AND R.a < S.a",
    "SELECT R.a, R.b FROM R LEFT JOIN S ON R.b = S.b AND R.a > 1 WHERE S.b IS NULL",
    "SELECT R.a, S.d FROM R LEFT JOIN S ON R.b = S.b WHERE COALESCE(S.d, R.c) = 1",
    "SELECT R.a, COUNT(*) AS n, COUNT(S.d) AS m, SUM(S.d) AS s FROM R LEFT JOIN S ON R.b = S.b GROUP BY R.a",
    "SELECT S.d, COUNT(*) AS n, MAX(R.a) AS m FROM R LEFT JOIN S ON R.b = S.b GROUP BY S.d",
    "SELECT COUNT(*) AS n, COUNT(K.b) AS m, SUM(K.d * R.a) AS s FROM R LEFT JOIN K ON R.b = K.k",
    "SELECT DISTINCT S.d, T.c FROM R LEFT JOIN S ON R.b = S.b LEFT JOIN T ON R.a = T.a",
)


def spec(sql: str) -> QuerySpec:
    groups: tuple[int, ...] | None = () if "COUNT(" in sql else None
    return QuerySpec(sql, sql, groups=(0,) if "GROUP BY" in sql else groups)


@pytest.mark.parametrize("threads", [2, *(pytest.param(n, marks=pytest.mark.torture) for n in (1, 3))])
def test_joins_of_all_kinds(threads: int) -> None:
    harness = Harness(TABLES, threads)
    for number, sql in enumerate(FIXED):
        harness.create_view(f"v{number}", spec(sql))
    for changes in commits(threads):
        harness.apply(changes)
    harness.reload()


@pytest.mark.parametrize("seed", seeds(2, 6))
def test_random_joins(seed: int) -> None:
    harness = Harness(TABLES)
    for number in range(4):
        harness.create_view(f"v{number}", spec(RandomOuterJoins(1000 * seed + number).select()))
    for changes in commits(seed, 8):
        harness.apply(changes)


def test_each_change_of_a_replay() -> None:
    harness = Harness(TABLES)
    for number, sql in enumerate(FIXED):
        harness.create_view(f"v{number}", spec(sql))
    for changes in commits(7, 4):
        harness.replay(changes)


def test_a_table_that_makes_no_difference_stays() -> None:
    database = Database()
    database.execute("CREATE TABLE R (a INT, b INT)")
    database.execute("CREATE TABLE K (k INT PRIMARY KEY, d INT)")
    view = database.create_view("v", "SELECT R.a FROM R LEFT JOIN K ON R.b = K.k")
    with pytest.raises(SchemaError, match="'K' is used by 'v'"):
        database.drop_table("K")
    database.apply({"R": [(1, 1), (2, None)], "K": [(1, 5)]})
    assert sorted(view.to_arrow()["a"].to_pylist()) == [1, 2]
