"""Aggregates over a LEFT JOIN by a comparison: what DuckDB gives after every commit, and which of them make no pair."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from livejoin import Database
from livejoin.catalog import Catalog
from livejoin.errors import UnsupportedQueryError
from livejoin.plan.operators import InequalityAggregateOperator, InequalityJoinOperator, Operator
from livejoin.plan.query_plan import plan_query
from livejoin.search.statistics import given
from livejoin.sql import bind_query, parse_columns, to_duckdb
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds

TABLES = {
    "L": "g STRING, k INT, t INT, u BIGINT, d DOUBLE, day DATE",
    "R": "k INT, t INT, u INT, d DOUBLE, x INT, p DECIMAL(8,2), day DATE, s INT NOT NULL",
}
KEYS = (None, 1, 1, 2)
NUMBERS = (None, *range(7))
DOUBLES = (None, float("nan"), float("-inf"), -1.0, 0.0, 0.5, 2.0)
DAYS = (None, *(date(2024, 2, day) for day in range(26, 30)))
VALUES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "L": ((None, "a", "b"), KEYS, NUMBERS, NUMBERS, DOUBLES, DAYS),
    "R": (
        KEYS,
        NUMBERS,
        NUMBERS,
        DOUBLES,
        (None, -2_147_483_648, -3, 0, 1, 2_147_483_647),
        (None, Decimal("-0.01"), Decimal("999999.99"), Decimal(1)),
        DAYS,
        (1, 2, 7),
    ),
}
CALLS = ("COUNT(*)", "COUNT(R.x)", "SUM(R.x)", "AVG(R.x)", "SUM(p)", "AVG(p)", "COUNT(s)", "COUNT(L.u)")
ALL = ", ".join(f"{call} AS a{i}" for i, call in enumerate(CALLS))
SUMMED = [
    f"SELECT L.g, {ALL} FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t GROUP BY L.g",
    f"SELECT {ALL} FROM L LEFT JOIN R ON L.k = R.k AND R.t <= L.t",
    f"SELECT {ALL} FROM L LEFT JOIN R ON R.t > L.t",
    f"SELECT L.g, L.k, {ALL} FROM L LEFT JOIN R ON R.t >= L.t GROUP BY L.g, L.k",
    f"SELECT L.k, {ALL} FROM L LEFT JOIN R ON L.k = R.k AND R.d < L.d GROUP BY L.k",
    f"SELECT {ALL} FROM L LEFT JOIN R ON R.d >= L.d",
    f"SELECT L.g, {ALL} FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t AND R.u > 2 WHERE L.u > 1 GROUP BY L.g",
    f"SELECT L.g, {ALL} FROM L LEFT JOIN R ON L.k = R.k AND L.t > R.t AND L.u > 2 GROUP BY L.g",
    f"SELECT {ALL} FROM L LEFT JOIN R ON R.day <= L.day AND L.u > 2 AND L.g = 'a' AND R.u < 5",
    f"SELECT L.g, {ALL} FROM L LEFT JOIN R ON L.k = R.k AND R.t BETWEEN L.t - 1 AND L.t + 1 GROUP BY L.g",
    f"SELECT {ALL} FROM L LEFT JOIN R ON R.t BETWEEN L.t AND L.u",
    f"SELECT L.t, {ALL} FROM L LEFT JOIN R ON ABS(L.t - R.t) <= 1 AND L.u > 2 GROUP BY L.t",
    f"SELECT L.day, {ALL} FROM R RIGHT JOIN L ON L.k = R.k AND R.day < L.day GROUP BY L.day",
    "SELECT SUM(R.x) AS s FROM L LEFT JOIN R ON R.t < L.t",
    "SELECT L.g, SUM(R.x) FILTER (WHERE R.u > 2) AS s, COUNT(CASE WHEN R.x > 0 THEN 1 END) AS c, COUNT(x, p) AS b "
    "FROM L LEFT JOIN R ON R.t < L.t GROUP BY L.g",
    "SELECT UPPER(L.g) AS v, COUNT(*) AS c, BOOL_AND(R.x > 0) AS b, BOOL_OR(L.d > 0) AS o FROM L LEFT JOIN R "
    "ON L.k = R.k AND R.t < L.t GROUP BY UPPER(L.g)",
    "SELECT L.g, COUNT(*) * 2 AS c, SUM(R.x) / COUNT(R.x) AS q FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t "
    "GROUP BY L.g HAVING COUNT(*) > 3 AND COALESCE(SUM(R.x), 0) < 9",
    "SELECT L.g, SUM(CAST(R.x AS BIGINT)) AS s, COUNT(p) AS n FROM L LEFT JOIN (SELECT * FROM R WHERE u > 0) R "
    "ON L.k = R.k AND R.t < L.t GROUP BY L.g",
    "SELECT l2.g, COUNT(r2.x) AS n FROM (SELECT * FROM L WHERE t > 1) l2 LEFT JOIN R r2 ON r2.t < l2.t GROUP BY l2.g",
    "SELECT L.k, COUNT(q.n) AS c, SUM(q.n) AS s FROM L LEFT JOIN (SELECT k, t, COUNT(*) AS n FROM R GROUP BY k, t) q "
    "ON L.k = q.k AND q.t < L.t GROUP BY L.k",
    "SELECT a.g, COUNT(*) AS n, COUNT(b.t) AS m FROM L a LEFT JOIN L b ON a.k = b.k AND b.t < a.t GROUP BY a.g",
    "SELECT L.g, COUNT(*) AS n FROM L LEFT JOIN R ON L.k <=> R.k AND R.t < L.t GROUP BY L.g",
    "SELECT n, COUNT(*) AS c FROM (SELECT L.g, COUNT(R.x) AS n FROM L LEFT JOIN R ON R.t < L.t GROUP BY L.g) q "
    "GROUP BY n",
    "SELECT DISTINCT COUNT(R.x) AS n FROM L LEFT JOIN R ON R.t < L.t GROUP BY L.g",
    "SELECT L.g, COUNT(R.x) AS n FROM L LEFT JOIN R ON R.t < L.t GROUP BY L.g ORDER BY COUNT(R.x) DESC, g LIMIT 2",
]
OTHERS = [
    "SELECT L.g, MAX(R.x) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t GROUP BY L.g",
    "SELECT L.g, COUNT(DISTINCT R.x) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t GROUP BY L.g",
    "SELECT L.g, SUM(R.d) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t GROUP BY L.g",
    "SELECT L.g, SUM(L.u) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t GROUP BY L.g",
    "SELECT L.g, SUM(COALESCE(R.x, 1)) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t GROUP BY L.g",
    "SELECT SUM(CASE WHEN R.x > 0 THEN 1 ELSE 2 END) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t",
    "SELECT R.u, COUNT(*) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t GROUP BY R.u",
    "SELECT COUNT(*) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t WHERE R.x IS NULL",
    "SELECT COUNT(*) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t <> L.t",
    "SELECT COUNT(*) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t - L.t < 2",
    "SELECT L.g, COUNT(*) AS s FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t AND R.u < L.u GROUP BY L.g",
]


def _catalog() -> Catalog:
    catalog = Catalog()
    for name, columns in TABLES.items():
        catalog.add(parse_columns(name, columns))
    return catalog


def _operators(operator: Operator) -> list[Operator]:
    return [operator, *(other for one in operator.below for other in _operators(one))]


def _plan(sql: str) -> list[Operator]:
    catalog = _catalog()
    return _operators(plan_query(bind_query(sql, catalog), given(catalog, {}), True))


@pytest.mark.parametrize("sql", SUMMED)
def test_sums_of_a_left_join_make_no_pairs(sql: str) -> None:
    found = _plan(sql)
    assert any(isinstance(one, InequalityAggregateOperator) for one in found)
    assert not any(isinstance(one, InequalityJoinOperator) for one in found)


@pytest.mark.parametrize("sql", OTHERS)
def test_other_aggregates_of_a_left_join_stay_as_they_were(sql: str) -> None:
    assert not any(isinstance(one, InequalityAggregateOperator) for one in _plan(sql))


def test_the_types_are_those_of_the_left_join() -> None:
    kinds = bind_query(SUMMED[1], _catalog()).root.schema.types
    assert [str(kind) for kind in kinds] == [
        *("int64", "int64", "int64", "double", "decimal128(18, 2)", "decimal128(12, 6)", "int64", "int64"),
    ]
    joined = bind_query(SUMMED[1].replace("R.t <= L.t", "R.t <> L.t"), _catalog()).root.schema.types
    assert kinds == joined


class _Life:
    """A database whose tables change at random, with views that are compared with DuckDB."""

    def __init__(self, seed: int) -> None:
        self.draw, self.database, self.catalog = random.Random(seed), Database(threads=2 - seed % 2), _catalog()
        self.kept: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.sums: dict[str, Counter[Any]] = {}
        self.texts: dict[str, str] = {}
        for name, columns in TABLES.items():
            self.database.execute(f"CREATE TABLE {name} ({columns})")

    def create(self, sql: str) -> None:
        view = self.database.create_view(f"v{len(self.sums)}", sql)
        self.texts[view.name] = to_duckdb(sql, self.catalog)
        self.sums[view.name] = Counter(multiset(view.to_arrow()))

    def changes(self, is_first: bool) -> dict[str, list[dict[str, Any]]]:
        found = {}
        for name, there in self.kept.items():
            draw = self.draw
            came = [
                tuple(map(draw.choice, VALUES[name])) for _ in range(10 if is_first else draw.choice([0, 1, 3, 15]))
            ]
            came += draw.sample(there, min(len(there), draw.choice([0, 0, 2])))  # equal rows
            gone = draw.sample(there, min(len(there), draw.choice([0, 1, 4]))) if draw.random() < 0.8 else list(there)
            for row in gone:
                there.remove(row)
            there.extend(came)
            names = [part.split()[0] for part in TABLES[name].split(", ")]
            lines = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
            found[name] = [{**dict(zip(names, row, strict=True)), "_change_type": kind} for row, kind in lines]
        return found

    def commit(self, *, is_first: bool = False, by_change: bool = False) -> None:
        changes = self.changes(is_first)
        if by_change:
            logs = {
                name: [{**row, "_seq": 2 * i + (name == "R")} for i, row in enumerate(rows)]
                for name, rows in changes.items()
            }
            commit = self.database.replay(logs, granularity="change")
        else:
            commit = self.database.apply(changes)
        for name, one in self.sums.items():
            one.update(signed_multiset(commit[name]))

    def compare(self) -> None:
        self.database._check()
        with connect() as connection:
            for name, columns in TABLES.items():
                connection.execute(f"CREATE TABLE {name} ({columns.replace('STRING', 'VARCHAR')})")
                if self.kept[name]:
                    places = ", ".join("?" for _ in self.kept[name][0])
                    connection.executemany(f"INSERT INTO {name} VALUES ({places})", self.kept[name])
            for name, one in self.sums.items():
                view = self.database.views[name]
                expected = multiset(connection.sql(self.texts[name]).fetchall())
                assert multiset(view.to_arrow()) == expected, view.sql
                assert without_zeros(one) == expected, view.sql


@pytest.mark.parametrize("seed", seeds(1, 60))
def test_sums_of_a_left_join_equal_those_of_duckdb(seed: int, tmp_path: Path) -> None:
    life = _Life(seed)
    for sql in SUMMED[seed % 2 :: 2]:
        life.create(sql)
    life.compare()  # over no rows
    for each in range(8):
        life.commit(is_first=not each, by_change=each in (4, 6))
        if each == 2:  # loaded from rows that are there
            for sql in SUMMED[1 - seed % 2 :: 2]:
                life.create(sql)
        life.compare()
    views = life.database.views
    life.database.save(tmp_path / "kept")
    again = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
    assert all(multiset(again.views[name].to_arrow()) == multiset(views[name].to_arrow()) for name in life.sums)
    life.database = again
    life.commit()
    life.compare()


def test_a_column_that_is_not_grouped_is_refused_over_a_left_join_too() -> None:
    sql = "SELECT L.k, R.k AS other, COUNT(*) AS n FROM L LEFT JOIN R ON L.k = R.k AND R.t < L.t GROUP BY L.k"
    with pytest.raises(UnsupportedQueryError, match="neither in GROUP BY nor within an aggregate"):
        bind_query(sql, _catalog())
