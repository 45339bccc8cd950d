"""Groups of keys that a join around them asks for, and of no others: what DuckDB gives, after every commit."""

from __future__ import annotations

import os
import random

import pytest

from known_queries import CATALOG
from livejoin import Database
from livejoin.catalog import Catalog
from livejoin.plan.operators import (
    AggregateOperator,
    JoinOperator,
    Operator,
    ThresholdAggregateOperator,
    ThresholdOperator,
)
from livejoin.plan.query_plan import plan_query
from livejoin.search.statistics import Statistics
from livejoin.sql import bind_query, parse_columns
from strategies import EXAMPLES
from sub_query_views import Lives
from tpch_sub_queries import TPCH_NESTED

FIRST = int(os.environ.get("LIVEJOIN_SEED", "3"))
TABLES = {
    "R": "a INT, b INT NOT NULL, x BIGINT",
    "T": "id INT PRIMARY KEY, y INT, z BIGINT",
    "U": "id INT PRIMARY KEY, t INT, v INT NOT NULL",
}
BOUNDS = [
    "SELECT SUM(x) AS s FROM R, T WHERE a = id AND y > 0 AND x < (SELECT AVG(i.x) FROM R i WHERE i.a = T.id)",
    "SELECT r.b, x FROM R r, T WHERE r.a = id AND y = 1 AND x >= (SELECT AVG(i.x) + 0 FROM R i WHERE i.a = r.a)",
    "SELECT y, x FROM R, T WHERE a = id AND b < (SELECT 0.5 * SUM(i.x + i.b) FROM R i WHERE i.a = R.a)",
    "SELECT r.b, COUNT(*) AS n FROM R r, T, U WHERE r.a = T.id AND T.y = U.id AND t > 0 "
    "AND x > (SELECT MIN(i.b) FROM R i WHERE i.a = T.id) GROUP BY r.b",
]
ROWS = [
    "SELECT b, y FROM R, T WHERE a = id AND y = 1 AND x = (SELECT MIN(i.x) FROM R i WHERE i.a = id)",
    "SELECT r.x, g.m FROM R r, T, (SELECT a, AVG(x) AS m FROM R GROUP BY a HAVING COUNT(*) > 1) g "
    "WHERE r.a = T.id AND y > 0 AND g.a = T.id",
    "SELECT R.b, t, z FROM R, U, T WHERE R.b = U.id AND R.a = T.id AND y < 3 AND t > 0 AND x = "
    "(SELECT MAX(i.x) FROM R i, U j WHERE i.b = j.id AND t > 0 AND i.a = T.id)",
    "SELECT DISTINCT y FROM R, T WHERE a = id AND z > 0 AND b = (SELECT MAX(i.b) FROM R i WHERE i.a = id)",
    "SELECT y, SUM(x) AS s FROM R, T WHERE a = id AND z > 0 AND x <> (SELECT MAX(b) FROM R i WHERE a = id) GROUP BY y",
]
WHOLE = [
    "SELECT DISTINCT y FROM R, T WHERE a = id AND z > 0 AND b = (SELECT COUNT(*) FROM R i WHERE i.a = id)",
    "SELECT x FROM R, T WHERE a = id AND y = 1 AND x < (SELECT AVG(i.x) FROM R i WHERE i.a = id AND i.b > 0)",
    "SELECT x FROM R, T WHERE a = id AND y = 1 AND b > 0 AND x < (SELECT AVG(i.x) FROM R i WHERE i.a = id)",
    "SELECT x FROM R, T WHERE a = id AND y = b AND x = (SELECT MIN(i.x) FROM R i WHERE i.a = id)",
    "SELECT x FROM R, T WHERE b = id AND y = 1 AND x < (SELECT AVG(i.x) FROM R i WHERE i.a = R.a)",
    "SELECT r.x FROM R r, R q, T WHERE r.a = id AND y = 1 AND q.a = id AND r.x = "
    "(SELECT MIN(i.x) FROM R i WHERE i.a = id)",
    "SELECT x FROM R, T WHERE a = id AND y = 1 AND x < (SELECT AVG(x) FROM R)",
    "SELECT x FROM R WHERE b > 1 AND x < (SELECT AVG(i.x) FROM R i WHERE i.a = R.a)",
    "SELECT x FROM R, T WHERE a = id AND y = 1 AND x = (SELECT MIN(i.v) FROM U i WHERE i.id = T.id)",
    "SELECT x FROM R, T, (SELECT a, b, MAX(x) AS m FROM R GROUP BY a, b) g WHERE R.a = id AND y = 1 AND g.a = id "
    "AND R.x = g.m",
    "SELECT x FROM R, T WHERE a = id AND x = (SELECT MIN(i.x) FROM R i WHERE i.a = id)",
]


def operators(operator: Operator) -> list[Operator]:
    return [operator, *(other for one in operator.below for other in operators(one))]


def plan(sql: str, catalog: Catalog | None = None, algorithm: str = "auto") -> list[Operator]:
    if catalog is None:
        catalog = Catalog()
        for name, columns in TABLES.items():
            catalog.add(parse_columns(name, columns))
    return operators(plan_query(bind_query(sql, catalog), Statistics(), True, algorithm))


def restricting(found: list[Operator]) -> list[tuple[str, ...]]:
    return [one.within for one in found if isinstance(one, AggregateOperator) and one.within]


@pytest.mark.parametrize("sql", BOUNDS)
def test_bounds_are_those_of_the_compared_rows(sql: str) -> None:
    found = plan(sql)
    assert restricting(found)
    assert any(isinstance(one, (ThresholdOperator, ThresholdAggregateOperator)) for one in found)


@pytest.mark.parametrize("sql", ROWS)
def test_rows_are_joined_with_their_groups(sql: str) -> None:
    assert restricting(plan(sql))
    assert not restricting(plan(sql, algorithm="crown"))


@pytest.mark.parametrize("sql", WHOLE)
def test_other_groups_are_kept_whole(sql: str) -> None:
    assert not restricting(plan(sql))


@pytest.mark.parametrize(("name", "by"), [("Q2", ("part",)), ("Q17", ("part",))])
def test_queries_of_tpch(name: str, by: tuple[str, ...]) -> None:
    found = plan(TPCH_NESTED[name], CATALOG)
    assert restricting(found) == [by]
    base = [one for one in found if isinstance(one, JoinOperator) and not one.inputs]
    assert len({one.query for one in base}) == 1, "one join is there for rows and groups"


@pytest.mark.parametrize("threads", [1, 2])
def test_equal_to_duckdb_after_every_commit(threads: int) -> None:
    lives = Lives(TABLES, FIRST + threads, threads=threads)
    for sql in (*BOUNDS, *ROWS, *(WHOLE if threads == 1 else [])):
        assert lives.create(sql), sql
    for _ in range(6):
        lives.commit()


def drawn(draw: random.Random) -> str:
    """A query with an aggregate of its own rows, often restricted by T; odd parts make it one of others, or of more."""

    def pick(usual: list[str], odd: list[str]) -> str:
        return draw.choice(usual if draw.random() < 0.8 else odd)

    outer_from, inner_from = pick(["R r|R i", "R r, U u|R i, U j"], ["R r, U u|R i", "R r, R q|R i"]).split("|")
    outer = ["r.a = t.id", pick(["t.y = 1", "t.y > 0 AND t.z < 3", "t.z = t.y"], ["t.y = r.b", "r.x = t.z"])]
    inner = [pick(["i.a = t.id", "i.a = r.a"], ["i.b = r.b", "i.a = t.id AND i.b = r.b"])]
    if "U u" in outer_from:
        outer.append(pick(["r.b = u.id"], ["r.a = u.id", "r.b = u.v"]))
    if "R q" in outer_from:
        outer.append(pick(["q.a = r.a"], ["q.b = t.id", "q.b = r.b"]))
    if "U j" in inner_from:
        inner.append(pick(["i.b = j.id"], ["i.b = j.v"]))
    if draw.random() < 0.3:
        extra = draw.choice(["{0}.b > 0", "{0}.x > 1", "{0}.b = {0}.x"])
        outer += [extra.format("r")] if draw.random() < 0.8 else []
        inner += [extra.format("i")] if draw.random() < 0.8 else []
    value = draw.choice(["MIN(i.x)", "MAX(i.b)", "SUM(i.x + i.b)", "AVG(i.x)"])
    compared = draw.choice(["r.x =", "r.x <", "r.b >=", "t.z <"])
    nested = f"(SELECT {value} FROM {inner_from} WHERE {' AND '.join(inner)})"
    shown = draw.choice(["r.b, t.y", "SUM(r.x) AS s", "t.id, COUNT(*) AS n", "DISTINCT r.x"])
    grouped = " GROUP BY t.id" if shown.startswith("t.id") else ""
    return f"SELECT {shown} FROM {outer_from}, T t WHERE {' AND '.join([*outer, f'{compared} {nested}'])}{grouped}"


def test_random_queries_are_equal_to_duckdb() -> None:
    draw = random.Random(FIRST)
    lives, number = Lives(TABLES, FIRST), 0
    for _ in range(max(5, EXAMPLES // 6)):
        sql = drawn(draw)
        number += bool(lives.create(sql) and restricting(plan(sql)))
    assert number > 3 or EXAMPLES < 100, "queries of which none has restricted groups show nothing"
    for _ in range(6):
        lives.commit()


def test_groups_of_a_view_stay_whole() -> None:
    database = Database()
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    database.create_view("means", "SELECT a, AVG(x) AS m FROM R GROUP BY a")
    sql = "SELECT x FROM R, T, means WHERE R.a = id AND y = 1 AND means.a = id AND x < m"
    assert "let pass" not in str(database.create_view("low", sql).explain())
    sql = "SELECT x FROM R, T WHERE R.a = id AND y = 1 AND x < (SELECT AVG(i.x) FROM R i WHERE i.a = id)"
    said = " ".join(str(database.create_view("own", sql).explain()).split())
    assert "of the keys alone that T let pass" in said
