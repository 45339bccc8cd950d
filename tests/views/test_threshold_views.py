"""Views of rows that compare with an aggregate of their group: what DuckDB gives, after every commit."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from known_queries import CATALOG
from livejoin import Database
from livejoin.catalog import Catalog
from livejoin.errors import ExpressionError
from livejoin.plan.operators import Operator, ProjectOperator, ThresholdAggregateOperator, ThresholdOperator
from livejoin.plan.query_plan import plan_query
from livejoin.search.statistics import Statistics
from livejoin.sql import bind_query, parse_columns
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds
from sub_query_views import Lives
from tpch_sub_queries import TPCH_NESTED

TABLES = {
    "R": "a INT, b INT NOT NULL, x BIGINT",
    "S": "k INT, c INT NOT NULL, v BIGINT",
    "T": "id INT PRIMARY KEY, y INT, z BIGINT",
}
SELECTED = [
    "SELECT a, x FROM R WHERE x < (SELECT 0.5 * AVG(v) FROM S WHERE k = a)",
    "SELECT b, x FROM R WHERE x > (SELECT AVG(x) FROM R)",
    "SELECT r.a, r.x FROM R r WHERE x >= (SELECT MIN(v) FROM S WHERE k = a AND c > 0) AND x + b > 1",
    "SELECT a, SUM(x) AS s FROM R GROUP BY a HAVING SUM(x) <= (SELECT AVG(v) FROM S)",
    "SELECT a, x FROM R WHERE x > (SELECT MIN(v) FROM S WHERE k = a) AND x <= (SELECT AVG(v) FROM S)",
    "SELECT b, y FROM R, T WHERE a = id AND z > (SELECT AVG(v) FROM S WHERE k = a)",
    "SELECT a FROM R WHERE x > (SELECT AVG(v) FROM S WHERE k = a) AND NOT EXISTS (SELECT 1 FROM T WHERE id = a)",
    "SELECT DISTINCT b FROM R JOIN (SELECT k, MAX(v) AS m FROM S GROUP BY k) g ON g.k = R.a WHERE g.m > R.x",
    "SELECT a, x FROM (SELECT a, x, AVG(x) OVER (PARTITION BY b) AS m FROM R) WHERE x > m",
    "SELECT b, x + 1 AS y FROM (SELECT b, x, MIN(x) OVER (PARTITION BY b) AS m FROM R) WHERE m < x AND b > 0",
    "SELECT b, SUM(x) AS s, MAX(x) AS m FROM R WHERE x > (SELECT AVG(v) FROM S WHERE k = a) GROUP BY b",
    "SELECT a, x FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND v < x)",
    "SELECT a, x FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND v <= x) AND b > 0",
    "SELECT a, x FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND c = b AND v > x)",
    "SELECT a, x FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE v + 1 >= x AND c > 0)",
    "SELECT a, x FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND v < x) "
    "AND NOT EXISTS (SELECT 1 FROM S WHERE c = b AND v > x) AND EXISTS (SELECT 1 FROM S WHERE c = b AND v < x + 2)",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND v > x) AND a NOT IN (SELECT id FROM T)",
    "SELECT b, z FROM R JOIN T ON a = id WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = y AND v < z)",
    "SELECT b, MAX(x) AS m FROM R WHERE NOT EXISTS (SELECT 1 FROM R q WHERE q.a = R.a AND q.x > R.x) GROUP BY b",
]
SUMMED = [
    "SELECT b, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM R WHERE x >= (SELECT AVG(v) FROM S WHERE k = a) GROUP BY b",
    "SELECT SUM(x) AS s, COUNT(a) AS n FROM R WHERE x <= (SELECT AVG(v) FROM S WHERE k = a)",
    "SELECT a, COUNT(*) AS n FROM R WHERE x < (SELECT MAX(v) FROM S WHERE k = a AND c = b) GROUP BY a",
    "SELECT y, COUNT(*) AS n, SUM(z) AS s FROM R, T WHERE a = id AND b > (SELECT AVG(v) FROM S) GROUP BY y",
    "SELECT a, COUNT(*) AS n, SUM(x) AS s FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND v >= x) GROUP BY a",
    "SELECT COUNT(*) AS n, AVG(x) AS m FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND c < b)",
    "SELECT COUNT(*) AS n, SUM(b) AS m FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE v < x)",
]
OTHERS = {
    "SELECT a, g.m FROM R, (SELECT k, MAX(v) AS m FROM S GROUP BY k) g WHERE g.k = a AND x < g.m": "is shown",
    "SELECT a FROM R WHERE 10 / x > (SELECT AVG(v) FROM S WHERE k = a)": "has no value for some rows",
    "SELECT r.x FROM R r, S s WHERE r.b = s.c AND r.x > (SELECT AVG(v) FROM S q WHERE q.k = r.a)": "many more than",
    "SELECT x FROM (SELECT x, MIN(x) OVER (PARTITION BY a) AS m FROM R) WHERE m < x": "several rows of groups",
    "SELECT a FROM R WHERE x <> (SELECT MAX(v) FROM S WHERE k = a)": "no comparison by <",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND v <> x)": "no comparison by <",
    "SELECT a FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE k = a AND v < x) OR a = 1": "may have a bound",
    "SELECT a FROM R WHERE NOT COALESCE(x < (SELECT COALESCE(MAX(v), 1) FROM S WHERE k = a), FALSE)": "have a bound",
    "SELECT r.x FROM R r JOIN S s ON r.b = s.c "
    "WHERE NOT EXISTS (SELECT 1 FROM S q WHERE q.k = r.a AND q.v < r.x)": "many more than",
}


def operators(operator: Operator) -> list[Operator]:
    return [operator, *(other for one in operator.below for other in operators(one))]


def plan(sql: str, catalog: Catalog | None = None) -> list[Operator]:
    if catalog is None:
        catalog = Catalog()
        for name, columns in TABLES.items():
            catalog.add(parse_columns(name, columns))
    return operators(plan_query(bind_query(sql, catalog), Statistics(), True))


@pytest.mark.parametrize("sql", SELECTED)
def test_rows_are_selected(sql: str) -> None:
    assert any(isinstance(one, ThresholdOperator) for one in plan(sql))


@pytest.mark.parametrize("sql", SUMMED)
def test_sums_move_no_rows(sql: str) -> None:
    found = plan(sql)
    assert any(isinstance(one, ThresholdAggregateOperator) for one in found)
    assert not any(isinstance(one, ThresholdOperator) for one in found)


@pytest.mark.parametrize(("sql", "reason"), OTHERS.items())
def test_what_is_no_threshold_says_why(sql: str, reason: str) -> None:
    found = plan(sql)
    assert not any(isinstance(one, (ThresholdOperator, ThresholdAggregateOperator)) for one in found)
    assert any(reason in one.reason for one in found if isinstance(one, ProjectOperator)), [
        one.reason for one in found if isinstance(one, ProjectOperator)
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("Q11", ThresholdOperator), ("Q17", ThresholdAggregateOperator), ("Q22", ThresholdAggregateOperator)],
)
def test_queries_of_tpch(name: str, kind: type[Operator]) -> None:
    assert any(isinstance(one, kind) for one in plan(TPCH_NESTED[name], CATALOG))


@pytest.mark.parametrize("seed", seeds(1, 3))
def test_equal_to_duckdb_after_every_commit(seed: int) -> None:
    lives = Lives(TABLES, seed, threads=2 - seed % 2)
    for sql in (*SELECTED, *SUMMED):
        assert lives.create(sql), sql
    for _ in range(10):
        lives.commit()


def rows(database: Database, name: str) -> list[tuple[Any, ...]]:
    table = database.views[name].to_arrow()
    return sorted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_a_commit_that_fails_leaves_rows_and_sums_as_they_were() -> None:
    database = Database()
    database.execute("CREATE TABLE G (k INT, x INT, w DECIMAL(10, 2))")
    database.create_view("low", "SELECT k, x FROM G WHERE x < (SELECT AVG(x) FROM G o WHERE o.k = G.k)")
    total = "SELECT SUM(w) AS s, COUNT(*) AS n FROM G WHERE x < (SELECT AVG(x) FROM G o WHERE o.k = G.k)"
    database.create_view("total", total)
    database.create_view("checked", "SELECT 10 / (x - 7) AS q FROM G")
    database.apply("G", [(1, x, Decimal(x)) for x in range(5)])
    before = rows(database, "low"), rows(database, "total")
    assert before == ([(1, 0), (1, 1)], [(Decimal("1.00"), 2)])
    with pytest.raises(ExpressionError):
        database.apply("G", [(1, 100, Decimal(1)), (1, 7, Decimal(1))])
    database._check()
    assert (rows(database, "low"), rows(database, "total")) == before
    database.apply("G", [(1, 100, Decimal(1))])
    assert rows(database, "low") == [(1, x) for x in range(5)]
    assert rows(database, "total") == [(Decimal("10.00"), 5)]
    database._check()


def test_texts_and_decimals_change_by_change() -> None:
    queries = {
        "sums": "SELECT k, SUM(w) AS s, COUNT(*) AS c FROM G "
        "WHERE w <= (SELECT MAX(w) FROM G o WHERE o.n = G.n AND o.k > 0) GROUP BY k",
        "first": "SELECT k, n FROM G WHERE n < (SELECT MAX(n) FROM G o WHERE o.k = G.k)",
    }
    draw, database = random.Random(2), Database()
    database.execute("CREATE TABLE G (k INT, n STRING, w DECIMAL(10, 2))")
    views = {name: database.create_view(name, sql) for name, sql in queries.items()}
    long = "a text of more than sixteen bytes"
    present: list[tuple[Any, ...]] = []
    kept: dict[str, Counter[Any]] = {name: Counter() for name in queries}
    for _ in range(6):
        log = []
        for place in range(30):
            kind = "delete" if present and draw.random() < 0.45 else "insert"
            if kind == "delete":
                row = present.pop(draw.randrange(len(present)))
            else:
                row = (draw.choice([None, 0, 1, 2]), draw.choice([None, "", "a", long, long + "!"]), None)
                row = (*row[:2], draw.choice([None, Decimal(draw.randrange(-500, 500)) / 100]))
                present.append(row)
            log.append({**dict(zip("knw", row, strict=True)), "_change_type": kind, "_seq": place})
        commit = database.replay({"G": log}, granularity="change")
        database._check()
        connection = connect()
        connection.execute("CREATE TABLE G (k INT, n VARCHAR, w DECIMAL(10, 2))")
        if present:
            connection.executemany("INSERT INTO G VALUES (?, ?, ?)", present)
        for name, sql in queries.items():
            expected = multiset(connection.sql(sql).fetchall())
            assert multiset(views[name].to_arrow()) == expected
            kept[name].update(signed_multiset(commit[name]))
            assert without_zeros(kept[name]) == expected


def test_a_bound_that_does_not_fit_refuses_the_commit() -> None:
    database = Database()
    database.execute("CREATE TABLE R (k INT, x BIGINT)")
    database.execute("CREATE TABLE S (k INT, v BIGINT)")
    database.create_view("low", "SELECT k, x FROM R WHERE x < (SELECT MAX(v) * 4 FROM S WHERE S.k = R.k)")
    database.apply({"R": [(1, 5)], "S": [(1, 2), (2, 3)]})
    with pytest.raises(ExpressionError):
        database.apply("S", [(2, 2**62)])
    database._check()
    assert rows(database, "low") == [(1, 5)]


def test_explain_says_what_a_change_costs() -> None:
    database = Database()
    database.execute("CREATE TABLE G (k INT, x INT)")
    said = str(database.explain("SELECT k, x FROM G WHERE x < (SELECT AVG(x) FROM G o WHERE o.k = G.k)"))
    assert "join-select: the rows that x <" in said and "Theorem 14" in said
    said = str(database.explain("SELECT SUM(x) AS s FROM G WHERE x < (SELECT AVG(x) FROM G o WHERE o.k = G.k)"))
    assert "join-select-aggregate" in said and "Theorem 15" in said


def test_state_shrinks_and_is_read_again(tmp_path: Any) -> None:
    database = Database()
    database.execute("CREATE TABLE G (k INT, x INT)")
    database.create_view("low", "SELECT k, x FROM G WHERE x < (SELECT AVG(x) FROM G o WHERE o.k = G.k)")
    database.create_view("sums", "SELECT COUNT(*) AS n FROM G WHERE x < (SELECT AVG(x) FROM G o WHERE o.k = G.k)")
    many = [{"k": i % 50, "x": i} for i in range(4000)]
    database.apply("G", many)
    largest = database.stats()["capacity_bytes"]
    database.apply("G", [{**row, "_change_type": "delete"} for row in many[100:]])
    database.apply("G", [(1, 5)])
    assert database.stats()["capacity_bytes"] < largest / 2
    database._check()
    expected = rows(database, "low")
    assert expected == sorted([(i, i) for i in range(50)] + [(1, 5)])
    database.save(tmp_path / "kept")
    again = Database.load(tmp_path / "kept")
    assert rows(again, "low") == expected
    assert rows(again, "sums") == rows(database, "sums") == [(len(expected),)]


LATEST = """
CREATE TABLE P (id INT, k STRING, t DOUBLE);
CREATE TABLE Q (k STRING, t DOUBLE);
CREATE VIEW first AS SELECT id, k, t FROM P WHERE NOT EXISTS (SELECT 1 FROM Q WHERE Q.k = P.k AND Q.t < P.t);
CREATE VIEW last AS SELECT id FROM P WHERE NOT EXISTS (SELECT 1 FROM Q WHERE Q.k = P.k AND Q.t >= P.t);
CREATE VIEW counts AS SELECT k, COUNT(*) AS n FROM P
    WHERE NOT EXISTS (SELECT 1 FROM Q WHERE Q.k = P.k AND Q.t > P.t) GROUP BY k;
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_without_a_match_with_nan_null_and_empty_sides(threads: int, tmp_path: Any) -> None:
    draw, database = random.Random(threads), Database(threads=threads)
    database.execute(LATEST)
    keys, times = (None, "", "a", "a text of more than sixteen bytes"), (None, float("nan"), -0.0, 0.0, 1.5, -2.0)
    present: dict[str, list[tuple[Any, ...]]] = {"P": [], "Q": []}
    kept: dict[str, Counter[Any]] = {name: Counter() for name in database.views}
    for each in range(14):
        changes: dict[str, list[dict[str, Any]]] = {"P": [], "Q": []}
        for name in ("P", "Q"):
            if each in (6, 10):  # a side that gets empty, and comes again
                gone, present[name] = (present[name], []) if (each == 6) == (name == "Q") else ([], present[name])
            else:
                gone = [present[name].pop(draw.randrange(len(present[name]))) for _ in range(len(present[name]) // 3)]
            came = [(draw.choice(keys), draw.choice(times)) for _ in range(draw.randrange(6))]
            came = [(draw.randrange(3), *row) if name == "P" else row for row in came]
            names = ("id", "k", "t") if name == "P" else ("k", "t")
            changes[name] = [{**dict(zip(names, row, strict=True)), "_change_type": "delete"} for row in gone]
            changes[name] += [{**dict(zip(names, row, strict=True)), "_change_type": "insert"} for row in came]
            present[name] += came
        commit = database.apply(changes)
        database._check()
        connection = connect()
        connection.execute("CREATE TABLE P (id INT, k VARCHAR, t DOUBLE); CREATE TABLE Q (k VARCHAR, t DOUBLE)")
        for name, given in present.items():
            if given:
                marks = ", ".join("?" * len(given[0]))
                connection.executemany(f"INSERT INTO {name} VALUES ({marks})", given)
        for view in database.views.values():
            expected = multiset(connection.sql(view.sql).fetchall())
            assert multiset(view.to_arrow()) == expected
            kept[view.name].update(signed_multiset(commit[view.name]))
            assert without_zeros(kept[view.name]) == expected
    database.save(tmp_path / "kept")
    for trusted in (False, True):
        again = Database.load(tmp_path / "kept", trusted=trusted)
        again._check()
        assert all(multiset(again.views[v].to_arrow()) == multiset(database.views[v].to_arrow()) for v in kept)


def test_a_refused_commit_leaves_rows_without_a_match_as_they_were() -> None:
    database = Database()
    database.execute("CREATE TABLE R (k INT, x INT); CREATE TABLE S (k INT, v INT)")
    database.create_view("free", "SELECT k, x FROM R WHERE NOT EXISTS (SELECT 1 FROM S WHERE S.k = R.k AND v < x)")
    database.create_view("checked", "SELECT 10 / v AS q FROM S")
    database.apply({"R": [(1, 5), (1, None), (None, 1), (2, 7)], "S": [(1, 6)]})
    before = multiset(database.views["free"].to_arrow())
    assert before == Counter({(1, 5): 1, (1, None): 1, (None, 1): 1, (2, 7): 1})
    with pytest.raises(ExpressionError):
        database.apply({"R": [(1, 9), (2, 3)], "S": [(1, 0), (2, 1)]})
    database._check()
    assert multiset(database.views["free"].to_arrow()) == before
    database.apply("S", [{"k": 1, "v": 1, "_change_type": "insert"}, {"k": 1, "v": 6, "_change_type": "delete"}])
    assert multiset(database.views["free"].to_arrow()) == before - Counter({(1, 5): 1})
