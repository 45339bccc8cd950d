"""Views of aggregates over a join by one comparison: what DuckDB gives after every commit, and what stays a join."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from livejoin import Database
from livejoin.catalog import Catalog
from livejoin.errors import ExpressionError, SchemaError, UnsupportedQueryError
from livejoin.plan.operators import InequalityAggregateOperator, Operator, ProjectOperator
from livejoin.plan.query_plan import plan_query
from livejoin.search.statistics import given
from livejoin.sql import bind_query, parse_columns, to_duckdb
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds

TABLES = {
    "T": "id INT PRIMARY KEY, k STRING, ts TIMESTAMP, d DOUBLE, n BIGINT, x DECIMAL(10,2), m SMALLINT, day DATE",
    "Q": "k STRING, ts TIMESTAMP, d DOUBLE, p DECIMAL(30, 3), n INT, x DECIMAL(8,3), m SMALLINT, day DATE",
}
BEGIN = datetime(2024, 2, 28)
KEYS = (None, "a", "b", "a text of more than sixteen bytes")
TIMES = (None, *(BEGIN + timedelta(minutes=step) for step in range(7)))
DOUBLES = (None, float("nan"), float("inf"), -1.0, 0.0, 0.5, 2.0)
PRICES = (None, *(Decimal(cents) / 100 for cents in (-150, 0, 1, 49, 50, 100, 250, 9_999_999_999)))
FINER = (*PRICES[:-1], Decimal("0.495"), Decimal("0.005"), Decimal("99999.999"))
SMALL = (None, -32_766, -1, 0, 1, 2, 3, 32_767)
DAYS = (None, *(date(2024, 2, 27) + timedelta(days=step) for step in range(6)))
VALUES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "T": (KEYS, TIMES, DOUBLES, (None, *range(6)), PRICES, SMALL, DAYS),
    "Q": (KEYS, TIMES, DOUBLES, (None, Decimal("-0.125"), Decimal(7)), (None, *range(6)), FINER, SMALL, DAYS),
}
SUMMED = [
    "SELECT COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts",
    "SELECT COUNT(*) AS c, SUM(p) AS s, AVG(T.n) AS a, COUNT(Q.n) AS m FROM T JOIN Q ON T.k = Q.k AND Q.ts >= T.ts",
    "SELECT T.k, COUNT(*) AS c, SUM(Q.n) AS s FROM T JOIN Q ON T.k = Q.k AND Q.d <= T.d GROUP BY T.k",
    "SELECT T.id, COUNT(*) AS c, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts > T.ts GROUP BY T.id",
    "SELECT T.n, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k AND T.d > Q.d GROUP BY T.n",
    "SELECT Q.n, T.n AS o, COUNT(*) AS c, AVG(p) AS s FROM T JOIN Q ON T.k = Q.k AND T.ts >= Q.ts GROUP BY Q.n, T.n",
    "SELECT Q.ts, COUNT(*) AS c, SUM(T.n) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts <= T.ts GROUP BY Q.ts",
    "SELECT T.k, T.ts, COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts GROUP BY T.k, T.ts",
    "SELECT COUNT(*) AS c, SUM(Q.n) AS s FROM T JOIN Q ON T.k = Q.k AND Q.n BETWEEN T.n - 2 AND T.n",
    "SELECT T.id, COUNT(*) AS c, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k "
    "AND Q.ts BETWEEN T.ts - INTERVAL 2 MINUTE AND T.ts GROUP BY T.id",
    "SELECT T.id, COUNT(*) AS c FROM T JOIN Q ON Q.d BETWEEN T.d - 1 AND T.d + 0.5 GROUP BY T.id",
    "SELECT COUNT(*) AS c FROM T JOIN Q ON T.k <=> Q.k AND Q.p < T.d",
    "SELECT Q.p, COUNT(*) AS c, SUM(T.n) AS s FROM T JOIN Q ON T.k = Q.k "
    "AND Q.ts > T.ts - INTERVAL 2 MINUTE AND Q.ts < T.ts + INTERVAL 1 MINUTE GROUP BY Q.p",
    "SELECT T.k, BOOL_AND(Q.n > 2) AS b, BOOL_OR(T.d > 0) AS o FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts GROUP BY T.k",
    "SELECT a.n, COUNT(*) AS c FROM Q a JOIN Q b ON a.k = b.k AND a.ts < b.ts GROUP BY a.n",
    "SELECT SUM(CASE WHEN Q.n > 2 THEN 2 ELSE 1 END) AS s FROM T JOIN Q ON T.k = Q.k AND Q.n * 2 <= T.n + 3 "
    "WHERE Q.d > -1 AND T.n > 0",
    "SELECT COUNT(*) AS c, SUM(Q.n) AS s FROM T JOIN Q ON Q.ts < T.ts",
    "SELECT T.k, Q.n, COUNT(*) AS c FROM T, Q WHERE Q.d >= T.d GROUP BY T.k, Q.n",
    "SELECT T.id, COUNT(*) AS c FROM T, Q WHERE Q.n BETWEEN T.n - 1 AND T.n + 1 GROUP BY T.id",
    "SELECT T.k, COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND Q.d >= T.d GROUP BY T.k HAVING COUNT(*) > 3",
    "SELECT COUNT(*) AS c FROM (SELECT T.id FROM T JOIN Q ON T.k = Q.k WHERE Q.ts < T.ts AND T.n IN (1, 2, 3)) x",
    "SELECT T.k, COUNT(*) AS c FROM T JOIN (SELECT DISTINCT k, n FROM Q) q ON T.k = q.k AND q.n < T.n GROUP BY T.k",
    "SELECT T.k, T.n, COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND T.n = Q.n AND Q.d < T.d GROUP BY T.k, T.n",
    "SELECT COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND Q.n - T.n < 2",
    "SELECT T.id, COUNT(*) AS c, SUM(p) AS s FROM T JOIN Q ON ABS(T.n - Q.n) <= 2 GROUP BY T.id",
    "SELECT Q.n, COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND T.ts - Q.ts <= INTERVAL 2 MINUTE GROUP BY Q.n",
    "SELECT T.id, COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND ABS(Q.p - T.n) < 3 GROUP BY T.id",
    "SELECT COUNT(*) AS c FROM T JOIN Q ON T.n - Q.n BETWEEN 0 AND 2 WHERE 1 < Q.n",
    "SELECT COUNT(*) AS c FROM T JOIN (SELECT n AS m, d FROM Q) q ON T.id - q.m < 3 AND -2 <= T.id - q.m",
    "SELECT COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND DATEDIFF(T.ts, Q.ts) > -1",
    "SELECT COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND CAST(T.ts AS DATE) <= Q.ts",
    "SELECT COUNT(*) AS c FROM T JOIN Q ON T.x BETWEEN Q.x - 2 AND Q.x",
    "SELECT T.k, COUNT(*) AS c, SUM(Q.x) AS s FROM T JOIN Q ON ABS(T.x - Q.x) <= 0.495 GROUP BY T.k",
    "SELECT T.id, COUNT(*) AS c FROM T JOIN Q ON Q.x > T.x - 1 AND Q.x <= T.x GROUP BY T.id",
    "SELECT COUNT(*) AS c FROM T JOIN Q ON ABS(T.x - Q.x) < 100000000000",
    "SELECT Q.k, COUNT(*) AS c FROM T JOIN Q ON T.m BETWEEN Q.m - 2 AND Q.m GROUP BY Q.k",
    "SELECT COUNT(*) AS c FROM T JOIN (SELECT * FROM Q WHERE m < 100) q ON T.k = q.k AND ABS(T.n - q.m) <= 2",
    "SELECT Q.day, COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND ABS(DATEDIFF(T.day, Q.day)) <= 2 GROUP BY Q.day",
    "SELECT T.id, COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND Q.ts BETWEEN T.ts - INTERVAL 1 MONTH AND T.ts "
    "GROUP BY T.id",
    "SELECT T.id, COUNT(*) AS c, SUM(Q.n) AS s FROM T JOIN Q ON T.k = Q.k AND Q.m > T.m AND Q.m < T.n GROUP BY T.id",
    "SELECT COUNT(*) AS c, SUM(Q.n) AS s FROM T JOIN Q ON NOT (T.n <= Q.n)",
    "SELECT COUNT(*) AS c FROM (SELECT T.id FROM T JOIN Q ON Q.ts < T.ts) x",
    "SELECT n, COUNT(*) AS c FROM (SELECT T.n FROM T, Q WHERE Q.n BETWEEN T.n - 1 AND T.n AND Q.d > 0) x GROUP BY n",
    "WITH x AS (SELECT T.n AS a, Q.n AS b FROM T, Q WHERE Q.d >= T.d) SELECT SUM(a) AS s, COUNT(b) AS c FROM x",
]
OTHERS = {
    "SELECT SUM(Q.d) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts": "of doubles is rounded",
    "SELECT COUNT(DISTINCT Q.n) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts": "DISTINCT COUNT",
    "SELECT MAX(Q.n) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts": "MAX is no sum",
    "SELECT SUM(CASE WHEN Q.n > T.n THEN 1 END) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts": "is of both sides",
    "SELECT SUM(10 / Q.n) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts": "of doubles is rounded",
    "SELECT SUM(10 DIV Q.n) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts": "has no value for some rows",
    "SELECT COUNT(*) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts <> T.ts": "no comparison by <",
    "SELECT COUNT(*) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts AND Q.n < T.n": "several comparisons",
    "SELECT COUNT(*) AS s FROM T JOIN Q ON T.k = Q.k AND Q.d - T.d < 5": "not of one relation alone",
    "SELECT COUNT(*) AS s FROM T JOIN Q ON T.k = Q.k AND Q.n < 10 DIV T.n": "has no value for some rows",
    "SELECT COUNT(*) AS s FROM T JOIN Q a ON T.k = a.k JOIN Q b ON T.k = b.k AND a.n < b.n": "not one of two relations",
}


def operators(operator: Operator) -> list[Operator]:
    return [operator, *(other for one in operator.below for other in operators(one))]


def plan(sql: str, known: dict[str, Any] | None = None) -> list[Operator]:
    catalog = Catalog()
    for name, columns in TABLES.items():
        catalog.add(parse_columns(name, columns))
    return operators(plan_query(bind_query(sql, catalog), given(catalog, known or {}), True))


@pytest.mark.parametrize("sql", SUMMED)
def test_sums_make_no_pairs(sql: str) -> None:
    assert any(isinstance(one, InequalityAggregateOperator) for one in plan(sql))


@pytest.mark.parametrize(
    ("condition", "groups", "by_row"),
    [
        ("Q.ts < T.ts", None, False),
        ("Q.ts < T.ts", 50, False),
        ("Q.ts < T.ts", 51, True),
        ("ABS(Q.n - T.n) <= 1", None, True),
        ("ABS(Q.n - T.n) <= 1", 50, False),
        ("ABS(Q.n - T.n) <= 1", 900, True),
    ],
)
def test_rows_are_in_the_order_of_groups_where_these_are_few(condition: str, groups: int | None, by_row: bool) -> None:
    sql = f"SELECT T.d, COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND {condition} GROUP BY T.d"
    known = {} if groups is None else {"T": {"rows": 1000, "distinct": {"k, d": groups}}}
    found = [one for one in plan(sql, known) if isinstance(one, InequalityAggregateOperator)]
    assert [side.by_row for side in found[0].sides] in ([by_row, False], [False, by_row])


def test_groups_are_counted_where_rows_are_there() -> None:
    database = small()
    database.apply({"T": [(i, "a", i) for i in range(100)], "Q": [("a", i, i % 3) for i in range(100)]})
    sql = "SELECT p, COUNT(*) AS n FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts GROUP BY p"
    few, many = (database.create_view(f"v{i}", sql.replace("p", column)) for i, column in enumerate(("p", "Q.ts * 1")))
    assert few.explain().text().count("for each group of rows of Q with its key") == 1
    database.execute("DELETE FROM Q WHERE ts > 3")
    again = database.create_view("again", sql)
    assert "O(1) for each row of Q that it meets" in " ".join(again.explain().text().split())
    assert multiset(few.to_arrow()) == multiset(again.to_arrow()) == Counter({(0, 99 + 96): 1, (1, 98): 1, (2, 97): 1})
    assert many.count() == 4


@pytest.mark.parametrize(("sql", "reason"), OTHERS.items())
def test_what_stays_a_join_says_why(sql: str, reason: str) -> None:
    found = plan(sql)
    assert not any(isinstance(one, InequalityAggregateOperator) for one in found)
    reasons = [one.reason for one in found if isinstance(one, ProjectOperator)]
    assert any(reason in one for one in reasons), reasons


class Life:
    """A database whose tables change at random, with views that are compared with DuckDB."""

    def __init__(self, seed: int) -> None:
        self.draw, self.database = random.Random(seed), Database(threads=2 - seed % 2)
        self.kept: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self.sums: dict[str, Counter[Any]] = {}
        self.texts: dict[str, str] = {}
        self.next = 0
        catalog = Catalog()
        for name, columns in TABLES.items():
            self.database.execute(f"CREATE TABLE {name} ({columns})")
            catalog.add(parse_columns(name, columns))
        self.catalog = catalog

    def create(self, sql: str, **options: Any) -> None:
        view = self.database.create_view(f"v{len(self.sums)}", sql, **options)
        self.texts[view.name] = to_duckdb(sql, self.catalog, **options)
        self.sums[view.name] = Counter(multiset(view.to_arrow()))

    def commit(self, first: bool) -> None:
        changes = {}
        for name, there in self.kept.items():
            draw = self.draw
            number = 12 if first else draw.choice([0, 1, 3, 20])
            came = [tuple(map(draw.choice, VALUES[name])) for _ in range(number)]
            if name == "T":
                came = [(self.next + i, *row) for i, row in enumerate(came)]
                self.next += number
            gone = draw.sample(there, min(len(there), draw.choice([0, 1, 4]))) if draw.random() < 0.85 else list(there)
            for row in gone:
                there.remove(row)
            there.extend(came)
            names = [part.split()[0] for part in TABLES[name].replace(", 3", "").split(", ")]
            lines = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
            changes[name] = [{**dict(zip(names, row, strict=True)), "_change_type": kind} for row, kind in lines]
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


@pytest.mark.parametrize("seed", seeds(1, 40))
def test_equal_to_duckdb_after_every_commit(seed: int, tmp_path: Path) -> None:
    life = Life(seed)
    for sql in SUMMED[::2]:
        life.create(sql)
    for each in range(8):
        life.commit(not each)
        if each == 2:  # loaded from rows that are there
            for sql in SUMMED[1::2]:
                life.create(sql)
        life.compare()
    views = life.database.views
    life.database.save(tmp_path / "kept")
    again = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
    again._check()
    assert all(multiset(again.views[name].to_arrow()) == multiset(views[name].to_arrow()) for name in life.sums)
    life.database = again
    life.commit(False)
    life.compare()


def small() -> Database:
    database = Database()
    database.execute("CREATE TABLE T (id INT PRIMARY KEY, k STRING, ts INT); CREATE TABLE Q (k STRING, ts INT, p INT)")
    return database


def test_a_commit_that_fails_leaves_sums_as_they_were() -> None:
    database = small()
    database.create_view("v", "SELECT id, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k AND T.ts >= Q.ts GROUP BY id")
    database.create_view("w", "SELECT COUNT(*) AS c FROM T JOIN Q ON T.k = Q.k AND Q.ts BETWEEN T.ts - 3 AND T.ts")
    database.create_view("checked", "SELECT 10 / (p - 7) AS q FROM Q")
    database.apply({"T": [(1, "a", 5), (2, "a", 9)], "Q": [("a", 4, 1)]})
    before = [database.views[name].to_arrow().to_pylist() for name in ("v", "w")]
    with pytest.raises(ExpressionError):
        database.apply({"T": [(3, "a", 6)], "Q": [("a", 5, 7), ("a", 8, 2)]})
    database._check()
    assert [database.views[name].to_arrow().to_pylist() for name in ("v", "w")] == before
    database.apply({"T": [(3, "a", 6)], "Q": [("a", 5, 8), ("a", 8, 2)]})
    rows = sorted(tuple(row.values()) for row in database.views["v"].to_arrow().to_pylist())
    assert rows == [(1, 9), (2, 11), (3, 9)]
    assert database.views["w"].to_arrow().to_pylist() == [{"c": 5}]
    database._check()


def test_changes_one_by_one_give_what_a_commit_gives() -> None:
    database = small()
    database.create_view(
        "v", "SELECT T.k, COUNT(*) AS c, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k AND T.ts <= Q.ts GROUP BY T.k"
    )
    draw, sums = random.Random(3), Counter[Any]()
    for step in range(4):
        new = [("a", draw.randrange(20), draw.randrange(3)) for _ in range(12)]
        log = [{**dict(zip(("k", "ts", "p"), row, strict=True)), "_seq": i} for i, row in enumerate(new)]
        sums.update(signed_multiset(database.replay({"Q": log}, granularity="change")["v"]))
        database._check()
        commit = database.apply("T", [(5 * step + i, "a", draw.randrange(20)) for i in range(5)])
        sums.update(signed_multiset(commit["v"]))
        assert without_zeros(sums) == multiset(database.views["v"].to_arrow())


def test_state_shrinks_and_is_read_again(tmp_path: Path) -> None:
    database = small()
    database.create_view("n", "SELECT COUNT(*) AS n, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts")
    database.create_view("band", "SELECT k, COUNT(*) AS n FROM T JOIN Q USING (k) WHERE Q.ts > T.ts - 5 GROUP BY k")
    trades = [{"id": i, "k": f"key {i % 50}", "ts": i} for i in range(4000)]
    quotes = [{"k": f"key {i % 50}", "ts": i, "p": 1} for i in range(4000)]
    database.apply({"T": trades, "Q": quotes})
    largest = database.stats()["capacity_bytes"]
    assert database.views["n"].to_arrow().to_pylist()[0]["n"] == 50 * 80 * 79 // 2
    for name, rows in (("T", trades), ("Q", quotes)):
        database.apply(name, [{**row, "_change_type": "delete"} for row in rows[100:]])
    database.apply({"T": [(9000, "key 1", 5)]})
    assert database.stats()["capacity_bytes"] < largest / 2
    database._check()
    assert database.views["n"].to_arrow().to_pylist() == [{"n": 51, "s": 51}]
    database.save(tmp_path / "kept")
    again = Database.load(tmp_path / "kept")
    assert all(multiset(again.views[v].to_arrow()) == multiset(database.views[v].to_arrow()) for v in ("n", "band"))


def test_a_pair_is_named_and_one_that_is_missing() -> None:
    database = small()
    view = database.create_view("v", "SELECT id, SUM(p) AS s FROM T JOIN Q ON T.k = Q.k AND Q.ts < T.ts GROUP BY id")
    database.apply({"T": [(1, "a", 5), (2, "b", 9)], "Q": [("a", 4, 1), ("a", 7, 3)]})
    assert view.why({"id": 1}).rows("Q") == [{"k": "a", "ts": 4, "p": 1}]
    assert "no row of Q" in view.why_not({"id": 2}).reason


def test_explain_says_that_no_pair_is_made_or_why_each_is() -> None:
    database = small()
    said = " ".join(
        str(database.explain("SELECT id, SUM(p) AS s FROM T JOIN Q USING (k) WHERE Q.ts < T.ts GROUP BY id")).split()
    )
    assert "inequality join: 1 aggregate of the pairs of rows with one key of 1 column and Q.ts < T.ts" in said
    assert "a row of Q O(log rows) and O(1) for each row of T that it meets" in said
    said = " ".join(str(database.explain("SELECT MAX(p) AS s FROM T JOIN Q USING (k) WHERE Q.ts < T.ts")).split())
    assert "each pair is made: MAX is no sum of its rows" in said


@pytest.mark.parametrize(
    ("sql", "hint"),
    {
        "SELECT T.id FROM T JOIN Q ON Q.ts < T.ts": "or ask for sums of the pairs",
        "SELECT MAX(p) AS s FROM T JOIN Q ON Q.ts < T.ts": "would make no pair, but MAX is no sum of its rows",
        "SELECT COUNT(*) AS s FROM T JOIN Q ON Q.ts <> T.ts": "a change all rows on the other side\n",
        "SELECT DISTINCT T.id FROM T JOIN Q ON Q.ts < T.ts": "or ask for sums of the pairs",
        "SELECT T.k FROM T JOIN Q ON Q.ts < T.ts GROUP BY T.k": "but groups without aggregates are asked for",
        "SELECT T.k, COUNT(*) AS s FROM T JOIN Q ON Q.ts < T.ts GROUP BY ROLLUP (T.k)": "but ROLLUP, CUBE and GROUPING",
        "SELECT COUNT(*) OVER () AS s FROM T JOIN Q ON Q.ts < T.ts": "but a window function needs the rows",
        "SELECT MAX(p) AS c FROM T LEFT JOIN Q ON Q.ts < T.ts": "of the pairs of an inner join or a LEFT JOIN",
    }.items(),
)
def test_a_comparison_alone_joins_nothing_but_sums(sql: str, hint: str) -> None:
    with pytest.raises(UnsupportedQueryError, match="which no equality connects") as refused:
        small().create_view("v", sql)
    assert hint in str(refused.value)


def test_no_view_becomes_a_product_without_a_word() -> None:
    """What a comparison sums is summed behind a change of what it reads too, or the change is refused."""
    database = small()
    database.execute("CREATE VIEW below AS SELECT DISTINCT id, ts FROM T")
    database.create_view("n", "SELECT COUNT(*) AS n FROM below JOIN Q ON Q.ts < below.ts")
    database.create_view("m", "SELECT SUM(ts) AS n FROM T, (SELECT p FROM Q) q WHERE p < id")
    database.apply({"T": [(1, "a", 5), (2, "b", 9)], "Q": [("a", 4, 1), ("a", 7, 3)]})
    with pytest.raises(SchemaError, match=r"'n' .*no equality connects(.|\n)*would make no pair, but a STRING is"):
        database.execute("CREATE OR REPLACE VIEW below AS SELECT DISTINCT id, CAST(ts AS STRING) AS ts FROM T")
    database.execute("CREATE OR REPLACE VIEW below AS SELECT DISTINCT id, ts + 1 AS ts FROM T")
    database.execute("ALTER TABLE T ADD COLUMN note STRING; ALTER TABLE Q SET STATIC; ALTER TABLE Q SET DYNAMIC")
    assert database.views["n"].to_arrow().to_pylist() == [{"n": 3}]
    assert all(
        any(isinstance(one, InequalityAggregateOperator) for one in operators(view._node.plan))
        for view in database.views.values()
        if view.name != "below"
    )


def test_groups_of_own_rows_stay_a_side_of_a_comparison() -> None:
    """Groups of the other side's rows, which a join of more tables would be restricted to."""
    database = small()
    sql = (
        "SELECT COUNT(*) AS n, SUM(id) AS s FROM T JOIN (SELECT k, MAX(ts) AS ts FROM T GROUP BY k) g "
        "ON T.k = g.k AND T.ts < g.ts"
    )
    database.create_view("v", sql)
    database.apply({"T": [(i, "ab"[i % 2], i) for i in range(9)]})
    assert database.views["v"].to_arrow().to_pylist() == [{"n": 7, "s": 36 - 8 - 7}]
    three = f"{sql.replace('FROM T JOIN', 'FROM T JOIN Q ON T.k = Q.k JOIN')} WHERE Q.p = 1"
    database.execute(f"CREATE VIEW w AS {three}")
    database.apply({"Q": [("a", 1, 1), ("a", 2, 1), ("b", 2, 5)]})
    assert database.views["w"].to_arrow().to_pylist() == [{"n": 8, "s": 2 * (0 + 2 + 4 + 6)}]


def test_a_bound_that_overflows_refuses_the_commit() -> None:
    database = small()
    view = database.create_view("v", "SELECT COUNT(*) AS n FROM T JOIN Q ON Q.ts BETWEEN T.ts - 5 AND T.ts")
    database.apply({"T": [(1, "a", 5)], "Q": [("a", 4, 1)]})
    with pytest.raises(ExpressionError, match=r"'v'(.|\n)*ts - 5"):
        database.apply({"T": [(2, "a", -(2**31))]})
    assert view.to_arrow().to_pylist() == [{"n": 1}]
    database.apply({"T": [(2, "a", 4)]})
    assert view.to_arrow().to_pylist() == [{"n": 2}]


@pytest.mark.parametrize("algorithm", ["auto", "crown", "dyn"])
def test_a_comparison_alone_is_summed_whatever_the_algorithm(algorithm: Any) -> None:
    database = small()
    view = database.create_view("v", "SELECT COUNT(*) AS n FROM T JOIN Q ON Q.ts < T.ts", algorithm=algorithm)
    database.apply({"T": [(i, "a", i) for i in range(1000)], "Q": [("b", i, 1) for i in range(1000)]})
    assert view.to_arrow().to_pylist() == [{"n": 499_500}]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT n FROM (SELECT T.n FROM T, Q WHERE ^Q.ts < T.ts) x",
        "SELECT COUNT(*) AS c FROM (SELECT DISTINCT T.n FROM T, Q WHERE ^Q.ts < T.ts) x",
        "SELECT COUNT(*) AS c FROM (SELECT T.n FROM T, Q WHERE ^Q.ts < T.ts UNION ALL SELECT n FROM Q) x",
        "SELECT MAX(n) AS m FROM (SELECT T.n FROM T, Q WHERE ^Q.ts < T.ts) x",
        "SELECT COUNT(*) AS c FROM (SELECT T.n FROM T, Q WHERE ^Q.ts < T.ts ORDER BY n LIMIT 3) x",
        "SELECT id FROM T WHERE n IN (SELECT a.n FROM Q a, Q b WHERE ^a.ts < b.ts)",
        "SELECT COUNT(*) AS c FROM T LEFT JOIN (SELECT a.n FROM Q a, Q b WHERE ^a.ts < b.ts) x ON T.n = x.n",
    ],
)
def test_rows_of_a_nested_product_are_refused_where_they_are_needed(sql: str) -> None:
    catalog = Catalog()
    for name, columns in TABLES.items():
        catalog.add(parse_columns(name, columns))
    with pytest.raises(UnsupportedQueryError, match="which no equality connects") as refused:
        bind_query(sql.replace("^", ""), catalog)
    assert refused.value.column == sql.index("^") + 1
    assert bind_query(sql.replace("^", ""), catalog, allow_product=True).root is not None
