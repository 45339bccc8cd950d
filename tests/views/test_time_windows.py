"""Windows of time: after every commit what DuckDB gives by TIME_BUCKET, by GENERATE_SERIES and by gaps and islands."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from livejoin import Database
from livejoin.catalog import Catalog
from livejoin.errors import SqlError
from livejoin.sql import parse_columns, to_duckdb
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import seeds

TABLES = {"T": "id INT, k STRING, ts TIMESTAMP, v BIGINT", "Z": "k STRING, z INT"}
BEGIN = datetime(1969, 12, 31, 23, 50)
KEYS = (None, "a", "b", "a text of more than sixteen bytes")
TIMES = (
    *(None, BEGIN, BEGIN, BEGIN + timedelta(microseconds=1), datetime(2024, 3, 31, 1, 30)),
    *(BEGIN + timedelta(minutes=3 * step) for step in range(25)),
)
VALUES: dict[str, tuple[tuple[Any, ...], ...]] = {
    "T": (tuple(range(9)), KEYS, TIMES, (None, -1, 0, 2, 3)),
    "Z": (KEYS, (0, 1)),
}


def _hops(duration: int, slide: int, offset: int = 0) -> str:
    """The rows of T, each with the start of every window that it is in, in minutes."""
    most = -(-duration // slide)
    first = f"time_bucket(to_minutes({slide}), ts, make_timestamp({offset} * 60000000))"
    return (
        f"(SELECT T.*, w.s FROM T, LATERAL (SELECT {first} - to_minutes({slide} * n.range) AS s FROM range({most}) n) "
        f"AS w WHERE ts IS NOT NULL AND ts < s + to_minutes({duration}))"
    )


def _sessions(minutes: int, by: str = "k") -> str:
    """The rows of T, each with the number of its session among those of its key."""
    part = f"PARTITION BY {by}" if by else ""
    before = f"SELECT T.*, lag(ts) OVER ({part} ORDER BY ts) AS before FROM T WHERE ts IS NOT NULL"
    begins = f"CASE WHEN ts - before <= to_minutes({minutes}) THEN 0 ELSE 1 END"
    return f"(SELECT *, sum({begins}) OVER ({part} ORDER BY ts RANGE UNBOUNDED PRECEDING) AS island FROM ({before}))"


_TEN = "time_bucket(INTERVAL 10 MINUTES, ts, make_timestamp(0))"
VIEWS = {
    "SELECT window.start, window.end, COUNT(*) AS n, SUM(v) AS s FROM T GROUP BY window(ts, '10 minutes')": (
        f"SELECT {_TEN}, {_TEN} + INTERVAL 10 MINUTES, COUNT(*), SUM(v) FROM T WHERE ts IS NOT NULL GROUP BY ALL"
    ),
    "SELECT window.start, COUNT(*) AS n FROM T GROUP BY window(ts, INTERVAL '10' MINUTE, INTERVAL 10 MINUTES)": (
        f"SELECT {_TEN}, COUNT(*) FROM T WHERE ts IS NOT NULL GROUP BY ALL"
    ),
    "SELECT id, window(ts, INTERVAL '10 minutes').start AS s FROM T WHERE v > 0": (
        f"SELECT id, {_TEN} FROM T WHERE v > 0 AND ts IS NOT NULL"
    ),
    "SELECT k, window(ts, '10 minutes').end AS e, MIN(v) AS m FROM T GROUP BY k, window(ts, '10 minutes') "
    "HAVING window.start < TIMESTAMP'1970-01-01 00:20:00' ORDER BY window.end DESC": (
        f"SELECT k, {_TEN} + INTERVAL 10 MINUTES, MIN(v) FROM T WHERE {_TEN} < TIMESTAMP '1970-01-01 00:20:00' "
        f"GROUP BY k, {_TEN}"
    ),
    "SELECT window.start, COUNT(*) AS n FROM T GROUP BY window(ts, INTERVAL '10 minutes')": (
        f"SELECT {_TEN}, COUNT(*) FROM T WHERE ts IS NOT NULL GROUP BY ALL"
    ),
    "SELECT id, window(ts, INTERVAL '7' MINUTE, INTERVAL 2 MINUTES).start AS s, v FROM T": (
        f"SELECT id, s, v FROM {_hops(7, 2)}"
    ),
    "SELECT id, window(ts, 600000000).start AS s FROM T WHERE v > 0": (
        f"SELECT id, {_TEN} FROM T WHERE v > 0 AND ts IS NOT NULL"
    ),
    "SELECT k, window.start, window.end, COUNT(*) AS n, SUM(v) AS s FROM T GROUP BY window(ts, '10 minutes', "
    "'4 minutes'), k": f"SELECT k, s, s + to_minutes(10), COUNT(*), SUM(v) FROM {_hops(10, 4)} GROUP BY k, s",
    "SELECT window.start, COUNT(DISTINCT v) AS n, MAX(v) AS m FROM T GROUP BY window(ts, '15 minutes', '5 minutes', "
    "'-1 minute')": f"SELECT s, COUNT(DISTINCT v), MAX(v) FROM {_hops(15, 5, -1)} GROUP BY s",
    "SELECT id, window(ts, '7 minutes', '2 minutes').start AS s, v FROM T": f"SELECT id, s, v FROM {_hops(7, 2)}",
    "SELECT T.k, z, window.end, SUM(v + z) AS s FROM T LEFT JOIN Z ON T.k = Z.k WHERE v IN (SELECT z FROM Z) OR v > 1 "
    "GROUP BY T.k, z, window(ts, '6 minutes', '3 minutes')": (
        f"SELECT t.k, z, s + to_minutes(6), SUM(v + z) FROM {_hops(6, 3)} t LEFT JOIN Z ON t.k = Z.k "
        "WHERE v IN (SELECT z FROM Z) OR v > 1 GROUP BY ALL"
    ),
    "SELECT x.s, COUNT(*) AS n FROM (SELECT window(ts, '6 minutes', '3 minutes').start AS s, k FROM T) x JOIN Z "
    "ON x.k = Z.k GROUP BY x.s": f"SELECT s, COUNT(*) FROM {_hops(6, 3)} x JOIN Z ON x.k = Z.k GROUP BY s",
    "SELECT k, session_window.start, session_window.end, COUNT(*) AS n, SUM(v) AS s FROM T "
    "GROUP BY k, session_window(ts, '3 minutes')": (
        f"SELECT k, MIN(ts), MAX(ts) + to_minutes(3), COUNT(*), SUM(v) FROM {_sessions(3)} GROUP BY k, island"
    ),
    "SELECT session_window(ts, '2 minutes').start AS s, MAX(v) AS m, COUNT(DISTINCT k) AS n FROM T "
    "GROUP BY session_window(ts, '2 minutes') HAVING COUNT(*) > 1": (
        f"SELECT MIN(ts), MAX(v), COUNT(DISTINCT k) FROM {_sessions(2, '')} GROUP BY island HAVING COUNT(*) > 1"
    ),
    "SELECT v % 2 AS p, session_window.end AS e, AVG(id) AS a FROM T GROUP BY 1, session_window(ts, '5 minutes')": (
        f"SELECT v % 2, MAX(ts) + to_minutes(5), AVG(id) FROM {_sessions(5, 'v % 2')} GROUP BY v % 2, island"
    ),
    "SELECT T.k, z, session_window.start AS b, COUNT(*) AS n FROM T JOIN Z ON T.k = Z.k WHERE v > 0 "
    "GROUP BY T.k, z, session_window(ts, '6 minutes')": (
        "WITH T AS (SELECT T.*, z FROM T JOIN Z ON T.k = Z.k WHERE v > 0) "
        f"SELECT k, z, MIN(ts), COUNT(*) FROM {_sessions(6, 'k, z')} GROUP BY k, z, island"
    ),
}


@pytest.mark.parametrize("seed", seeds(1, 12))
def test_equal_to_duckdb_after_every_commit(seed: int, tmp_path: Path) -> None:
    """With rows that join two sessions and part them again, equal rows, equal times and NULLs."""
    draw, database, catalog = random.Random(seed), Database(threads=2 - seed % 2), Catalog()
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
        catalog.add(parse_columns(name, columns))
    views = [database.create_view(f"v{i}", sql) for i, sql in enumerate(VIEWS)]
    kept = {name: list[tuple[Any, ...]]() for name in TABLES}
    sums: list[Counter[Any]] = [Counter() for _ in VIEWS]
    for each in range(9):
        changes = {}
        for name, there in kept.items():
            number = draw.choice([0, 1, 1, 3, 20]) if each else 12
            came = [tuple(map(draw.choice, VALUES[name])) for _ in range(number)]
            gone = draw.sample(there, min(len(there), draw.choice([0, 1, 4]))) if draw.random() < 0.85 else list(there)
            for row in gone:
                there.remove(row)
            there.extend(came)
            names = [part.split()[0] for part in TABLES[name].split(", ")]
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
            for (sql, plain), view, one in zip(VIEWS.items(), views, sums, strict=True):
                expected = multiset(connection.sql(plain).fetchall())
                assert multiset(view.to_arrow()) == expected, sql
                assert multiset(connection.sql(to_duckdb(sql, catalog)).fetchall()) == expected, sql
                one.update(signed_multiset(commit[view.name]))
                assert without_zeros(one) == expected, sql
    database.save(tmp_path / "kept")
    again = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
    again._check()
    assert all(multiset(again.views[view.name].to_arrow()) == multiset(view.to_arrow()) for view in views)


def _minute(number: float) -> datetime:
    return datetime(2024, 3, 10, 10) + timedelta(minutes=number)


def _clicks(sql: str) -> Database:
    database = Database()
    database.execute("CREATE TABLE clicks (user STRING, ts TIMESTAMP)")
    database.create_view("v", sql)
    return database


SESSIONS = (
    "SELECT user, session_window.start AS b, session_window.end AS e, COUNT(*) AS n FROM clicks "
    "GROUP BY user, session_window(ts, '30 minutes')"
)


def test_a_row_that_joins_two_sessions_and_leaves_again() -> None:
    """The delta is of both sessions, as a row that comes first gives a session another key."""
    database = _clicks(SESSIONS)
    database.apply("clicks", [("a", _minute(0)), ("a", _minute(60.1)), ("a", _minute(70)), ("b", _minute(31))])
    commit = database.apply("clicks", [("a", _minute(30))])
    assert commit["v"].num_rows == 2  # a gap of 30 minutes is within; one of 30.1 is not
    assert database.views["v"].to_arrow().num_rows == 3
    commit = database.apply("clicks", [("a", _minute(45))])
    kinds = Counter(commit["v"]["_change_type"].to_pylist())
    assert sum(kinds.values()) == 3, "two sessions of the key a become one"
    joined = {"user": "a", "b": _minute(0), "e": _minute(100), "n": 5}
    assert joined in database.views["v"].to_arrow().to_pylist()
    database.execute("DELETE FROM clicks WHERE ts = TIMESTAMP'2024-03-10 10:45:00'")
    assert joined not in database.views["v"].to_arrow().to_pylist()
    assert database.views["v"].to_arrow().num_rows == 3


def test_a_new_first_row_is_a_deletion_and_an_insertion() -> None:
    database = _clicks(SESSIONS)
    database.apply("clicks", [("a", _minute(10)), ("a", _minute(10))])
    commit = database.apply("clicks", [("a", _minute(0))])["v"].to_pylist()
    assert [(row["b"], row["n"], row["_change_type"]) for row in commit] == [
        (_minute(10), 2, "delete"),
        (_minute(0), 3, "insert"),
    ]


def test_rows_of_hopping_windows_are_read_by_rank_and_by_value() -> None:
    database = _clicks("SELECT user, ts, window(ts, '10 minutes', '5 minutes').start AS s FROM clicks")
    database.apply("clicks", [("a", _minute(i)) for i in range(4)] + [("a", _minute(1)), ("b", None)])
    view = database.views["v"]
    assert view.count() == 10
    assert [view.at(place) for place in range(10)] == [tuple(row.values()) for row in view.to_pylist()]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT window FROM T GROUP BY window(ts, '1 hour')", "window is a STRUCT of its start and its end"),
        ("SELECT window(ts, '1 hour') AS w FROM T", "is a STRUCT of its start and its end"),
        ("SELECT window.middle FROM T GROUP BY window(ts, '1 hour')", "no 'middle'"),
        ("SELECT window.start FROM T", "write GROUP BY window(ts, '10 minutes') in the same SELECT"),
        ("SELECT 1 FROM T GROUP BY window(ts, '1 hour', '2 hours')", "longer than its duration"),
        ("SELECT 1 FROM T GROUP BY window(ts, '1 hour', '1 hour', '1 hour')", "shorter than the slide"),
        ("SELECT 1 FROM T GROUP BY window(ts, '0 seconds')", "longer than nothing"),
        ("SELECT 1 FROM T GROUP BY window(ts, -5)", "longer than nothing"),
        ("SELECT 1 FROM T GROUP BY window(ts, '1 month')", "write days, as '30 days'"),
        ("SELECT 1 FROM T GROUP BY window(ts, 'soon')", "not understood"),
        ("SELECT 1 FROM T GROUP BY window(ts, INTERVAL '1' MONTH)", "has months, which differ in length"),
        ("SELECT 1 FROM T GROUP BY window(ts, INTERVAL 'often')", "INTERVAL"),
        ("SELECT 1 FROM T GROUP BY window(ts, INTERVAL v MINUTES)", "constant"),
        ("SELECT 1 FROM T GROUP BY window(ts, v)", "or whole microseconds"),
        ("SELECT 1 FROM T GROUP BY window(ts)", "takes a time and 1 to 3 lengths"),
        ("SELECT 1 FROM T GROUP BY session_window(ts, '1 hour', '1 hour')", "takes a time and one length"),
        ("SELECT 1 FROM T GROUP BY window(ts, '10 days', '1 microsecond')", "allowed are 100,000"),
        ("SELECT 1 FROM T GROUP BY window(v, '1 hour')", "a window is one of a TIMESTAMP, and BIGINT is found"),
        ("SELECT 1 FROM T GROUP BY window(v, '2 hours', '1 hour')", "a window is one of a TIMESTAMP, and v is BIGINT"),
        ("SELECT 1 FROM T GROUP BY session_window(v, '1 hour')", "a window is one of a TIMESTAMP, and v is BIGINT"),
        ("SELECT 1 FROM T GROUP BY window(ts, '1 hour'), window(ts, '2 hours')", "a SELECT has one window of time"),
        ("SELECT session_window(ts, '1 hour').start FROM T", "is a key of GROUP BY, and of nothing else"),
        ("SELECT k FROM T GROUP BY ROLLUP(k, session_window(ts, '1 hour'))", "ROLLUP, CUBE or GROUPING SETS"),
        ("SELECT MAX(session_window.end) FROM T GROUP BY session_window(ts, '1 hour')", "within an aggregate"),
        ("SELECT 1 FROM T WHERE window(ts, '2 hours', '1 hour').start IS NULL", "a row is in 2 windows here"),
        ("SELECT 1 FROM T WHERE window(ts, '2 hours') IS NULL", "is a STRUCT"),
        (
            "SELECT (SELECT MAX(z) FROM Z) AS m FROM T GROUP BY window(ts, '2 hours', '1 hour')",
            "a sub-query in SELECT, GROUP BY, HAVING or ORDER BY beside",
        ),
        ("SELECT window_time(ts) FROM T", "write window.end - INTERVAL"),
        ("SELECT 1 FROM T GROUP BY TUMBLE(ts, INTERVAL '1' HOUR)", "write window(ts, '10 minutes')"),
        ("SELECT HOP_START(ts, INTERVAL '1' HOUR) AS b FROM T", "write window(ts, '10 minutes', '5 minutes')"),
    ],
)
def test_what_is_no_window_of_time(sql: str, said: str) -> None:
    database = Database()
    for name, columns in TABLES.items():
        database.execute(f"CREATE TABLE {name} ({columns})")
    with pytest.raises(SqlError) as error:
        database.create_view("v", sql)
    assert said in str(error.value)


def test_explain_says_how_many_rows_a_row_gives() -> None:
    database = _clicks("SELECT window.start, COUNT(*) AS n FROM clicks GROUP BY window(ts, '10 minutes', '4 minutes')")
    assert "each row gives 3 rows, and a change of it 3 changes; nothing is stored" in str(
        database.views["v"].explain()
    )


def test_why_and_why_not_go_through_windows() -> None:
    database = _clicks(
        "SELECT user, window.start AS s, COUNT(*) AS n FROM clicks GROUP BY user, window(ts, '10 minutes', '5 minutes')"
    )
    database.apply("clicks", [("a", _minute(1)), ("a", _minute(2))])
    found = str(database.views["v"].why({"user": "a", "s": _minute(0)}))
    assert "one of the 2 rows that each row gives" in found
    assert "clicks" in found
