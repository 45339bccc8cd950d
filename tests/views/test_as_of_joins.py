"""Views with ASOF JOIN: after every commit what DuckDB gives, deltas included, and what no ASOF JOIN takes."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from livejoin import Database
from livejoin.catalog import Catalog
from livejoin.errors import ExpressionError, SqlError
from livejoin.sql import parse_columns, to_duckdb
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds

TABLES = {
    "T": "id INT, k STRING, ts TIMESTAMP, d DOUBLE, n BIGINT",
    "Q": "k STRING, ts TIMESTAMP, d DOUBLE, p DECIMAL(30, 3), n INT",
    "Z": "k STRING, z INT",
}
BEGIN = datetime(2024, 2, 28)
KEYS = (None, "a", "b", "a text of more than sixteen bytes")
TIMES = (None, *(BEGIN + timedelta(minutes=step) for step in range(7)))
DOUBLES = (None, float("nan"), float("inf"), -1.0, 0.0, 0.5, 2.0)
VALUES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "T": (tuple(range(30)), KEYS, TIMES, DOUBLES, (None, *range(6))),
    "Q": (KEYS, TIMES, DOUBLES, (None, Decimal("-0.125"), Decimal(7)), (None, *range(6))),
    "Z": (KEYS, (0, 1)),
}
VIEWS = [
    "SELECT T.id, T.ts, Q.* FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts >= Q.ts",
    "SELECT T.id, T.ts, Q.* FROM T ASOF LEFT JOIN Q ON T.k = Q.k AND T.ts > Q.ts",
    "SELECT id, x.* FROM T ASOF LEFT JOIN Q x MATCH_CONDITION (T.ts <= x.ts) ON T.k = x.k",
    "SELECT id, k, p FROM T ASOF JOIN Q x MATCH_CONDITION (x.d > T.d) USING (k)",
    "SELECT id, Q.n, p FROM T ASOF LEFT JOIN Q ON T.d >= Q.d",
    "SELECT * FROM T ASOF JOIN Q USING (k, ts)",
    "SELECT id, q.p, q.n FROM T ASOF LEFT JOIN (SELECT * FROM Q WHERE n > 1) q ON T.n - 1 > q.n",
    "SELECT T.k, SUM(T.n * Q.p) AS s, COUNT(*) AS c FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts >= Q.ts GROUP BY T.k",
    "SELECT id, p, z FROM T ASOF LEFT JOIN Q ON T.k = Q.k AND Q.ts < T.ts JOIN Z ON Z.k = T.k WHERE z = 0 OR p > 0",
    "SELECT T.id, a.n AS before, b.n AS behind FROM T ASOF LEFT JOIN Q a ON T.k = a.k AND T.ts >= a.ts "
    "ASOF LEFT JOIN Q b ON T.k = b.k AND T.ts < b.ts",
    "SELECT x.ts, COUNT(*) AS c FROM (SELECT T.id, Q.ts FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts >= Q.ts) x "
    "GROUP BY x.ts",
    "SELECT z FROM Z WHERE k IN (SELECT k FROM (SELECT Q.k FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts >= Q.ts) x)",
    "SELECT q.p, x.id, x.z FROM Q q ASOF JOIN (SELECT T.*, z FROM T JOIN Z ON T.k = Z.k) x ON q.k = x.k AND q.d >= x.d",
]


def test_columns_of_the_right_side_keep_their_names() -> None:
    """A name that both sides have is that of its column, and no other table's column is taken for it."""
    db = Database()
    db.execute(
        "CREATE TABLE t (id INT, b STRING, ts INT); CREATE TABLE q (b STRING, ts INT, v INT);"
        "CREATE TABLE r (k INT, ts INT);"
        "INSERT INTO t VALUES (1, 'A', 10); INSERT INTO q VALUES ('A', 7, 7); INSERT INTO r VALUES (1, 7), (2, 50)"
    )
    query = "SELECT t.id, q.ts FROM t ASOF JOIN q ON t.b = q.b AND t.ts >= q.ts"
    for sql, rows in (
        (query, [{"id": 1, "ts": 7}]),
        (f"SELECT k FROM r WHERE r.ts IN (SELECT ts FROM ({query}) z)", [{"k": 1}]),
        (f"SELECT id, k FROM ({query}) z NATURAL JOIN r", [{"id": 1, "k": 1}]),
        (f"SELECT z.ts FROM ({query}) z", [{"ts": 7}]),
        (
            "SELECT q.b, COUNT(*) AS n FROM t ASOF JOIN q ON t.b = q.b AND t.ts >= q.ts GROUP BY q.b",
            [{"b": "A", "n": 1}],
        ),
        (f"{query} ORDER BY ts LIMIT 3", [{"id": 1, "ts": 7}]),
    ):
        assert db.create_view("v", sql).to_arrow().to_pylist() == rows == db.sql(sql).to_pylist(), sql
        db.drop_view("v")


@pytest.mark.parametrize("seed", seeds(1, 12))
def test_equal_to_duckdb_after_every_commit(seed: int, tmp_path: Path) -> None:
    draw, database = random.Random(seed), Database(threads=2 - seed % 2)
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    views = [database.create_view(f"v{i}", sql) for i, sql in enumerate(VIEWS)]
    catalog = Catalog()
    for name, columns in TABLES.items():
        catalog.add(parse_columns(name, columns))
    texts = {view.name: to_duckdb(view.sql, catalog) for view in views}
    kept = {name: list[tuple[Any, ...]]() for name in TABLES}
    sums: list[Counter[Any]] = [Counter() for _ in VIEWS]
    for each in range(9):
        changes = {}
        for name, there in kept.items():
            number = draw.choice([0, 1, 3, 20]) if each else 12
            came = [tuple(map(draw.choice, VALUES[name])) for _ in range(number)]
            gone = draw.sample(there, min(len(there), draw.choice([0, 1, 4]))) if draw.random() < 0.85 else list(there)
            for row in gone:
                there.remove(row)
            there.extend(came)
            names = [part.split()[0] for part in TABLES[name].replace(", 3", "").split(", ")]
            lines = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
            changes[name] = [{**dict(zip(names, row, strict=True)), "_change_type": kind} for row, kind in lines]
        commit = database.apply(changes)
        database._check()
        with connect() as connection:
            for name, columns in TABLES.items():
                connection.execute(f"CREATE TABLE {name} ({columns.replace('STRING', 'VARCHAR')})")
                if kept[name]:
                    places = ", ".join("?" for _ in VALUES[name])
                    connection.executemany(f"INSERT INTO {name} VALUES ({places})", kept[name])
            for view, one in zip(views, sums, strict=True):
                expected = multiset(connection.sql(texts[view.name]).fetchall())
                assert multiset(view.to_arrow()) == expected, view.sql
                one.update(signed_multiset(commit[view.name]))
                assert without_zeros(one) == expected, view.sql
    database.save(tmp_path / "kept")
    again = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
    again._check()
    assert all(multiset(again.views[view.name].to_arrow()) == multiset(view.to_arrow()) for view in views)


def quotes() -> Database:
    database = Database()
    database.execute("CREATE TABLE T (id INT PRIMARY KEY, k STRING, ts INT)")
    database.execute("CREATE TABLE Q (k STRING, ts INT, p INT)")
    return database


def rows(database: Database, name: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, (row.values() for row in database.views[name].to_arrow().to_pylist())), key=repr)


def test_of_quotes_with_equal_times_the_last_one_by_all_columns_counts() -> None:
    database = quotes()
    database.create_view("v", "SELECT id, p FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts >= Q.ts")
    database.apply({"T": [(1, "a", 5)], "Q": [("a", 4, 7), ("a", 4, 9), ("a", 4, None), ("a", 3, 20)]})
    assert rows(database, "v") == [(1, 9)]
    commit = database.apply({"Q": [{"k": "a", "ts": 4, "p": 9, "_change_type": "delete"}]})
    assert rows(database, "v") == [(1, 7)]
    assert commit["v"].num_rows == 2
    assert database.apply("Q", [("a", 4, 8), ("a", 6, 1)])["v"].num_rows == 2


def test_a_quote_changes_the_trades_up_to_the_next_quote_alone() -> None:
    database = quotes()
    view = database.create_view("v", "SELECT id, p FROM T ASOF LEFT JOIN Q ON T.k = Q.k AND T.ts >= Q.ts")
    assert [sorted(key) for key in view.keys] == [["id"]]
    database.apply({"T": [(i, "a", i) for i in range(100)], "Q": [("a", 10 * i, i) for i in range(10)]})
    commit = database.apply("Q", [("a", 45, -1)])
    assert sorted(commit["v"].column("id").to_pylist()) == sorted([45, 46, 47, 48, 49] * 2)
    commit = database.apply({"Q": [{"k": "a", "ts": 0, "p": 0, "_change_type": "delete"}]})
    assert {row["p"] for row in commit["v"].to_pylist()} == {0, None}


def test_a_commit_that_fails_leaves_the_matches_as_they_were() -> None:
    database = quotes()
    database.create_view("v", "SELECT id, p FROM T ASOF LEFT JOIN Q ON T.k = Q.k AND T.ts >= Q.ts")
    database.create_view("checked", "SELECT 10 / (p - 7) AS q FROM Q")
    database.apply({"T": [(1, "a", 5), (2, "a", 9)], "Q": [("a", 4, 1)]})
    with pytest.raises(ExpressionError):
        database.apply({"T": [(3, "a", 6)], "Q": [("a", 5, 7), ("a", 8, 2)]})
    database._check()
    assert rows(database, "v") == [(1, 1), (2, 1)]
    database.apply({"T": [(3, "a", 6)], "Q": [("a", 5, 8), ("a", 8, 2)]})
    assert rows(database, "v") == [(1, 8), (2, 2), (3, 8)]
    database._check()


def test_changes_one_by_one_give_what_a_commit_gives() -> None:
    database = quotes()
    database.create_view("v", "SELECT id, p FROM T ASOF LEFT JOIN Q ON T.k = Q.k AND T.ts <= Q.ts")
    draw, sums = random.Random(3), Counter[Any]()
    for _ in range(4):
        new = [("a", draw.randrange(20), draw.randrange(3)) for _ in range(12)]
        log = [{**dict(zip(("k", "ts", "p"), row, strict=True)), "_seq": i} for i, row in enumerate(new)]
        sums.update(signed_multiset(database.replay({"Q": log}, granularity="change")["v"]))
        database._check()
        start = database.views["v"].count()
        commit = database.apply("T", [(start + i, "a", draw.randrange(20)) for i in range(5)])
        sums.update(signed_multiset(commit["v"]))
        assert without_zeros(sums) == multiset(database.views["v"].to_arrow())


def test_why_names_both_rows_and_what_is_missing() -> None:
    database = quotes()
    view = database.create_view("v", "SELECT id, p FROM T ASOF LEFT JOIN Q ON T.k = Q.k AND T.ts >= Q.ts")
    inner = database.create_view("w", "SELECT id, p FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts >= Q.ts")
    database.apply({"T": [(1, "a", 5), (2, "b", 9)], "Q": [("a", 4, 1), ("a", 2, 1)]})
    found = view.why({"id": 1})
    assert found.rows("T") == [{"id": 1, "k": "a", "ts": 5}]
    assert found.rows("Q") == [{"k": "a", "ts": 4, "p": 1}]
    assert "the last row for" in found.steps[0]
    alone = view.why({"id": 2})
    assert (alone.tables, alone.rows("Q")) == (("T",), [])
    assert "no row for" in alone.steps[0]
    assert "no row for" in inner.why_not({"id": 2}).reason
    assert "p = 1" in inner.why_not({"id": 1, "p": 3}).reason
    assert "no row of T" in inner.why_not({"id": 3}).reason


def test_explain_says_what_a_quote_moves() -> None:
    database = quotes()
    database.create_view("v", "SELECT id, p FROM T ASOF JOIN Q ON T.k = Q.k AND T.ts >= Q.ts")
    database.apply({"T": [(i, "a", i) for i in range(100)], "Q": [("a", 10 * i, i) for i in range(10)]})
    told = database.explain(database.views["v"].sql)
    assert "as-of join: each left row with the last right row" in str(told)
    (quote,) = (one for one in told.effects if one.table == "Q")
    assert quote.result.expected == 10


REFUSED = {
    "SELECT id FROM T ASOF JOIN Q ON T.k = Q.k": "of comparisons by order there is none",
    "SELECT id FROM T ASOF JOIN Q ON T.ts > Q.ts AND T.id < Q.p": "there are 2",
    "SELECT id FROM T ASOF JOIN Q ON T.ts > Q.ts AND Q.p > 0": "Q.p > 0 is no part of an ASOF JOIN",
    "SELECT id FROM T ASOF JOIN Q ON T.ts > Q.ts AND T.k <=> Q.k": "is no part of an ASOF JOIN",
    "SELECT id FROM T ASOF JOIN Q ON T.ts > Q.ts OR T.k = Q.k": "is no part of an ASOF JOIN",
    "SELECT id FROM T ASOF JOIN Q": "of comparisons by order there is none",
    "SELECT id FROM T ASOF LEFT SEMI JOIN Q ON T.ts > Q.ts": "ASOF LEFT SEMI JOIN is not supported",
    "SELECT id FROM T ASOF JOIN Q ON T.ts > Q.ts AND T.id = (SELECT MAX(p) FROM Q)": "a sub-query in a condition",
    "SELECT id FROM T WHERE EXISTS (SELECT 1 FROM Q a ASOF JOIN Q b ON a.ts > b.ts AND a.p = T.id)": "the query around",
}


@pytest.mark.parametrize(("sql", "reason"), REFUSED.items())
def test_what_is_no_as_of_join_says_why(sql: str, reason: str) -> None:
    with pytest.raises(SqlError) as caught:
        quotes().create_view("v", sql)
    assert reason in str(caught.value)


def test_the_words_are_names_elsewhere() -> None:
    database = Database()
    database.execute("CREATE TABLE match_condition (asof INT, match_condition INT)")
    view = database.create_view("v", "SELECT m.asof, m.match_condition FROM match_condition AS m")
    database.apply("match_condition", [(1, 2)])
    assert view.to_arrow().to_pylist() == [{"asof": 1, "match_condition": 2}]
