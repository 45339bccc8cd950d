"""Window functions over all rows within a distance of each: after every commit what DuckDB gives, deltas included."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from livejoin import Database
from livejoin.errors import UnsupportedQueryError
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds

COLUMNS = (
    "id INT, k INT, i BIGINT, d DOUBLE, n DECIMAL(9, 2), t DATE, ts TIMESTAMP, x BIGINT, w DECIMAL(30, 3), s STRING"
)
NAMES = [part.split()[0] for part in COLUMNS.replace(", 2)", ")").replace(", 3)", ")").split(", ")]
BEGIN = datetime(2024, 2, 28)
VALUES: tuple[tuple[Any, ...], ...] = (
    tuple(range(60)),
    (None, 0, 1),
    (None, *range(-4, 9), 2**63 - 1, -(2**62)),
    (None, float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 0.5, 1.75, -1.25, 3.0, 2.0),
    (None, *(Decimal(quarters) / 4 for quarters in range(-6, 9))),
    (None, *((BEGIN + timedelta(days=days)).date() for days in range(8))),
    (None, *(BEGIN + timedelta(minutes=20 * step) for step in range(12))),
    (None, -5, 0, 1, 7),
    (None, Decimal("-123456789012345678901234.125"), Decimal("0.001")),
    (None, "", "a", "a text of more than sixteen bytes"),
)


def within(key: str, frame: str, partition: str = "PARTITION BY k ") -> str:
    return f"OVER ({partition}ORDER BY {key} RANGE BETWEEN {frame})"


SMALL = "i BETWEEN -9 AND 99 OR i IS NULL"  # DuckDB refuses a frame beyond BIGINT
_BEFORE = within("i NULLS FIRST", "2 PRECEDING AND CURRENT ROW")
_DESC, _LAST = (
    within("i DESC NULLS FIRST", "3 PRECEDING AND 1 PRECEDING"),
    within("i NULLS LAST", "0 PRECEDING AND 3 FOLLOWING"),
)
VIEWS = [
    f"SELECT id, SUM(x) {_BEFORE} AS a, COUNT(*) {_BEFORE} AS b, AVG(x) {_BEFORE} AS c FROM R WHERE {SMALL}",
    f"SELECT id, SUM(w) {_DESC} AS a, COUNT(s) {_DESC} AS b, MAX(x) {_LAST} AS c FROM R WHERE {SMALL}",
    f"SELECT id, MIN(x) {_LAST} AS a, MAX(s) {_LAST} AS b, SUM(x) {_LAST} AS c FROM R WHERE {SMALL}",
    f"SELECT id, FIRST_VALUE(i) {_BEFORE} AS a, LAST_VALUE(i) {_BEFORE} AS b FROM R WHERE {SMALL}",
    f"SELECT id, SUM(x) {within('d NULLS FIRST', '1.5 PRECEDING AND 0.25 FOLLOWING')} AS a,"
    f" MIN(x) {within('d DESC NULLS LAST', '1 FOLLOWING AND 2 FOLLOWING')} AS b FROM R",
    f"SELECT id, COUNT(*) {within('n NULLS FIRST', '0.75 PRECEDING AND CURRENT ROW')} AS a,"
    f" SUM(x) {within('n DESC NULLS LAST', '0.5 PRECEDING AND 0.5 FOLLOWING', '')} AS b FROM R",
    f"SELECT id, SUM(x) {within('t NULLS FIRST', 'INTERVAL 2 DAYS PRECEDING AND CURRENT ROW')} AS a,"
    f" MAX(x) {within('t NULLS FIRST', 'INTERVAL 1 DAY PRECEDING AND INTERVAL 1 DAY FOLLOWING')} AS b FROM R",
    f"SELECT id, SUM(x) {within('ts NULLS FIRST', 'INTERVAL 1 HOUR PRECEDING AND CURRENT ROW')} AS a,"
    f" COUNT(*) {within('ts DESC NULLS LAST', 'INTERVAL 90 MINUTES PRECEDING AND INTERVAL 1 DAY FOLLOWING', '')} AS b"
    " FROM R",
    f"SELECT id, COUNT(*) {within('t NULLS FIRST', 'CURRENT ROW AND CURRENT ROW')} AS a FROM R",
]


@pytest.mark.parametrize("seed", seeds(1, 12))
def test_equal_to_duckdb_after_every_commit(seed: int, tmp_path: Path) -> None:
    draw, database = random.Random(seed), Database(threads=2 - seed % 2)
    database.execute(f"CREATE TABLE R ({COLUMNS})")
    views = [database.create_view(f"v{i}", sql) for i, sql in enumerate(VIEWS)]
    rows: list[tuple[Any, ...]] = []
    sums: list[Counter[Any]] = [Counter() for _ in VIEWS]
    for each in range(10):
        came = [tuple(map(draw.choice, VALUES)) for _ in range(draw.choice([1, 1, 2, 5, 25]) if each else 12)]
        gone = draw.sample(rows, min(len(rows), draw.choice([0, 1, 1, 4]))) if draw.random() < 0.85 else list(rows)
        for row in gone:
            rows.remove(row)
        rows += came
        changes = [(row, "delete") for row in gone] + [(row, "insert") for row in came]
        commit = database.apply(
            "R", [{**dict(zip(NAMES, row, strict=True)), "_change_type": kind} for row, kind in changes]
        )
        database._check()
        with connect() as connection:
            connection.execute(f"CREATE TABLE R ({COLUMNS.replace('STRING', 'VARCHAR')})")
            if rows:
                connection.executemany(f"INSERT INTO R VALUES ({', '.join('?' for _ in NAMES)})", rows)
            for view, kept in zip(views, sums, strict=True):
                expected = multiset(connection.sql(view.sql).fetchall())
                assert multiset(view.to_arrow()) == expected, view.sql
                kept.update(signed_multiset(commit[view.name]))
                assert without_zeros(kept) == expected, view.sql
    database.save(tmp_path / "kept")
    again = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
    again._check()
    assert all(multiset(again.views[view.name].to_arrow()) == multiset(view.to_arrow()) for view in views)


def test_the_ends_of_bigint_are_within_every_distance_that_reaches_them() -> None:
    database = Database()
    database.execute("CREATE TABLE R (i BIGINT)")
    view = database.create_view(
        "v", "SELECT i, COUNT(*) OVER (ORDER BY i RANGE BETWEEN 10 PRECEDING AND 10 FOLLOWING) AS n FROM R"
    )
    least, greatest = -(2**63), 2**63 - 1
    database.apply("R", [(least,), (least + 10,), (least + 11,), (greatest,), (greatest - 10,), (0,), (None,)])
    expected = {least: 2, least + 10: 3, least + 11: 2, greatest: 2, greatest - 10: 2, 0: 1, None: 1}
    assert {row["i"]: row["n"] for row in view.to_arrow().to_pylist()} == expected


def test_a_distance_that_no_two_rows_have_between_them_stands_for_unbounded() -> None:
    database = Database()
    database.execute("CREATE TABLE R (id BIGINT PRIMARY KEY, k INT, ts TIMESTAMP, x BIGINT)")
    frame = "RANGE BETWEEN {} PRECEDING AND INTERVAL 1 HOUR PRECEDING"
    sql = f"SELECT id, SUM(x) OVER (PARTITION BY k ORDER BY ts NULLS FIRST {frame}) AS s FROM R"
    with pytest.raises(UnsupportedQueryError, match="as INTERVAL '36500' DAY PRECEDING"):
        database.create_view("v", sql.format("UNBOUNDED"))
    view = database.create_view("v", sql.format("INTERVAL '36500' DAY"))
    rng, rows = random.Random(5), {}
    for _ in range(12):
        for _ in range(6):
            key = rng.randrange(20)
            rows[key] = (key, rng.randrange(2), BEGIN + timedelta(minutes=20 * rng.randrange(12)), rng.randrange(9))
        database.apply("R", list(rows.values()), on_conflict="update")
        gone = rng.choice(sorted(rows))
        del rows[gone]
        database.apply("R", [{"id": gone, "_change_type": "delete"}])
        expected = {}
        for key, k, ts, _ in rows.values():
            before = [x for _, other, at, x in rows.values() if other == k and at <= ts - timedelta(hours=1)]
            expected[key] = sum(before) if before else None
        assert {row["id"]: row["s"] for row in view.to_pylist()} == expected


def test_a_change_is_in_the_deltas_of_rows_within_the_distance_alone() -> None:
    database = Database()
    database.execute("CREATE TABLE R (i INT PRIMARY KEY, x INT)")
    sql = "SELECT i, {} OVER (ORDER BY i RANGE BETWEEN 10 PRECEDING AND CURRENT ROW) AS s FROM R"
    for name, call in (("sums", "SUM(x)"), ("greatest", "MAX(x)")):
        database.create_view(name, sql.format(call))
    database.apply("R", [(i, 1) for i in range(0, 1000, 4)])
    commit = database.apply("R", [(501, 1)])
    assert sorted(commit["sums"].column("i").to_pylist()) == [501, 504, 504, 508, 508]
    assert commit["greatest"].column("i").to_pylist() == [501]
    commit = database.apply("R", [{"i": 502, "x": None, "_change_type": "insert"}])
    assert commit["sums"].column("i").to_pylist() == commit["greatest"].column("i").to_pylist() == [502]


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ("i RANGE BETWEEN 1.5 PRECEDING AND CURRENT ROW", "a number that INT holds"),
        ("n RANGE BETWEEN 0.005 PRECEDING AND CURRENT ROW", r"a number that DECIMAL\(9, 2\) holds"),
        ("w RANGE BETWEEN 1 PRECEDING AND CURRENT ROW", "at most 18 digits"),
        ("s RANGE BETWEEN 1 PRECEDING AND CURRENT ROW", "numbers, dates or timestamps"),
        ("t RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW", "a whole number of days"),
        ("t RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW", "a whole number of days"),
        ("ts RANGE BETWEEN INTERVAL 1 YEAR PRECEDING AND CURRENT ROW", "months have no one length"),
        ("ts RANGE BETWEEN 3 PRECEDING AND CURRENT ROW", "an interval of days and time"),
        ("ts RANGE BETWEEN INTERVAL -1 HOUR PRECEDING AND CURRENT ROW", "not below 0"),
        ("i, n RANGE BETWEEN 3 PRECEDING AND CURRENT ROW", "takes one key"),
        ("i RANGE BETWEEN 1 PRECEDING AND 2 PRECEDING", "begins behind its end"),
        ("i RANGE BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING", "In place of UNBOUNDED write a distance"),
        ("i RANGE BETWEEN i PRECEDING AND CURRENT ROW", "two constant distances"),
    ],
)
def test_what_is_refused_says_what_to_write(over: str, said: str) -> None:
    database = Database()
    database.execute("CREATE TABLE R (i INT, n DECIMAL(9, 2), w DECIMAL(30, 2), s STRING, t DATE, ts TIMESTAMP)")
    with pytest.raises(UnsupportedQueryError, match=said):
        database.create_view("v", f"SELECT i, COUNT(*) OVER (ORDER BY {over}) AS w FROM R")


def test_explain_says_that_rows_within_the_distance_change() -> None:
    database = Database()
    database.execute("CREATE TABLE R (i INT, k INT, x INT, d DOUBLE)")
    sql = "SELECT i, {} OVER (PARTITION BY k ORDER BY i RANGE BETWEEN 3 PRECEDING AND CURRENT ROW) AS s FROM R"
    told = database.explain(sql.format("SUM(x)"))
    assert any("within a distance of each row" in line and "O(1) for each" in line for line in told.operators)
    assert "grows with the rows of R per k" in " ".join(str(told).split())
    for call, cost in (("MIN(x)", "O(1) for each"), ("AVG(x)", "O(1) for each"), ("SUM(d)", "O(rows of its frame)")):
        told = database.explain(sql.format(call))
        assert any(cost in line for line in told.operators)
