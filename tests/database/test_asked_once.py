"""`Database.sql`: plans that are kept, look-ups by a key, and what happens beside it."""

import datetime as dt
import random
import threading
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

import livejoin
from livejoin import Database, ExpressionError, SqlError, StateError
from livejoin.database.statements import asked_once
from livejoin.sql import pins_of
from oracle import multiset

_TABLE = """
    CREATE TABLE t (
        id BIGINT PRIMARY KEY, name STRING, day DATE, price DECIMAL(8, 2), x DOUBLE, n INT, at TIMESTAMP,
        UNIQUE (name, day)
    )
"""
_VIEWS = {
    "v": "SELECT id, name, n, x FROM t",
    "g": "SELECT name, n, COUNT(*) AS many, SUM(price) AS price FROM t GROUP BY name, n",
    "u": "SELECT id, n FROM t UNION ALL SELECT id, n FROM t",
    "top": "SELECT id, name, n FROM t ORDER BY n DESC, id LIMIT 5",
    "when": "SELECT at, day, price, COUNT(*) AS many FROM t GROUP BY at, day, price",
    "dbl": "SELECT x, COUNT(*) AS many FROM t GROUP BY x",
}
_VALUES = {
    "id": ["3", "-2", "(-2)", "0", "99", "'3'", "3.0", "CAST(3 AS INT)", "1 + 2", "NULL", "9223372036854775808"],
    "name": ["'a'", "'it''s'", "'Zoë'", "''", "UPPER('a')", "NULL", "'%'"],
    "n": ["1", "-1", "0", "NULL", "1.5", "2 - 1"],
    "day": ["DATE '2026-01-02'", "'2026-01-02'", "DATE '2026-01-01' + INTERVAL 1 DAY"],
    "price": ["1.5", "2", "-1.5", "1.50BD", "(-2)", "1.505", "CAST(1.50 AS DECIMAL(8, 2))"],
    "at": ["TIMESTAMP '2026-01-01 10:00:00'", "'2026-01-01 10:00:00'", "DATE '2026-01-02'"],
    "x": ["0.0", "-0.0", "1.5", "0", "CAST('NaN' AS DOUBLE)"],
    "many": ["1", "2"],
}


def _filled(rng: random.Random) -> Database:
    db = Database()
    db.execute(_TABLE)
    for name, sql in _VIEWS.items():
        db.create_view(name, sql)
    rows = [
        (
            i,
            rng.choice(["a", "A", "it's", "Zoë", "", None, "b"]),
            rng.choice([dt.date(2026, 1, 1), dt.date(2026, 1, 2), None]),
            rng.choice([Decimal("1.50"), Decimal("2.00"), None]),
            rng.choice([0.0, 1.5, float("nan"), None]),
            rng.choice([-1, 0, 1, None]),
            rng.choice([dt.datetime(2026, 1, 1, 10), dt.datetime(2026, 1, 2), None]),
        )
        for i in range(-3, 20)
    ]
    seen = set()
    kept = []
    for row in rows:
        if None not in row[1:3] and row[1:3] in seen:
            continue
        seen.add(row[1:3])
        kept.append(row)
    db.apply("t", kept)
    return db


@pytest.mark.parametrize("seed", range(12))
def test_a_query_that_names_values_is_that_query_over_all_rows(seed: int) -> None:
    rng = random.Random(seed)
    db = _filled(rng)
    for _ in range(8):
        name = rng.choice(["t", *_VIEWS])
        columns = list((db.views[name].schema if name in db.views else db.tables[name].arrow).names)
        alias = rng.choice(["", "", "r"])
        parts, slow = [], []
        for column in rng.sample(columns, rng.randint(1, min(3, len(columns)))):
            written = rng.choice([column, f"{alias or name}.{column}", f"`{column}`", column.upper()])
            value = rng.choice(_VALUES[column])
            both = rng.choice([(written, value), (written, value), (value, written)])
            parts.append(f"{both[0]} = {both[1]}")
            slow.append(f"({both[0]} = {both[1]} OR FALSE)")
        shown = rng.choice(["*", "COUNT(*) AS c", f"{columns[0]}, COUNT(*) AS c", f"MIN({columns[-1]}) AS m"])
        ends = f" GROUP BY {columns[0]}" if shown.startswith(columns[0]) else ""
        queries = [f"SELECT {shown} FROM {name} {alias} WHERE {' AND '.join(one)}{ends}" for one in (parts, slow)]
        results = []
        for query in queries:
            try:
                results.append(multiset(db.sql(query)))
            except SqlError as error:
                results.append(type(error))
        assert results[0] == results[1], queries[0]


def test_rows_by_a_key_equal_those_of_duckdb() -> None:
    db = _filled(random.Random(1))
    connection = duckdb.connect()
    connection.register("t", db.sql("SELECT * FROM t"))
    for text in ("id = 3", "id = 3 AND n = 1", "name = 'a' AND day = DATE '2026-01-02'", "id = 99", "id = 3 AND x > 0"):
        query = f"SELECT id, name, day, n FROM t WHERE {text}"
        assert multiset(db.sql(query)) == multiset(connection.sql(query).to_arrow_table())


def test_a_look_up_by_a_key_reads_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _filled(random.Random(2))
    db.execute("DELETE FROM t WHERE id = 3; INSERT INTO t (id, name, n) VALUES (3, 'b', 0)")
    asked = [
        "SELECT n FROM t WHERE id = 3",
        "SELECT * FROM g WHERE name = 'b' AND n = 0",
        "SELECT n FROM v WHERE id = 3",
    ]
    known = [multiset(db.sql(query)) for query in asked]

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(db._contents.graph, "add", refuse)
    assert [multiset(db.sql(query)) for query in asked] == known
    assert all(known)
    assert db.sql("SELECT n FROM t WHERE id = ?", [3]).num_rows == 1
    with pytest.raises(AssertionError):
        db.sql("SELECT n FROM t WHERE n = 3")


def test_a_text_is_planned_once_until_what_it_names_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _filled(random.Random(3))
    query = "SELECT SUM(many) AS s FROM g"
    bound = list[str]()
    inner = asked_once.bind_query

    def counted(sql: str, *rest: object, **more: object) -> object:
        if sql == query:
            bound.append(sql)
        return inner(sql, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(asked_once, "bind_query", counted)
    for i in range(100, 103):
        before = db.sql(query).to_pylist()[0]["s"]
        db.apply("t", [(i, "new", None, None, None, None, None)])
        assert db.sql(query).to_pylist()[0]["s"] == before + 1
    assert bound == [query]
    db.create_view("g", "SELECT name, 7 AS many FROM t WHERE id = 3", replace=True)
    assert db.sql(query).to_pylist() == [{"s": 7}]
    db.drop_view("g")
    with pytest.raises(SqlError, match="g"):
        db.sql(query)
    db.execute("CREATE TABLE g (many INT); INSERT INTO g VALUES (5)")
    assert db.sql(query).to_pylist() == [{"s": 5}]
    db.execute("DROP TABLE g; CREATE TABLE g (many DECIMAL(4, 1)); INSERT INTO g VALUES (2.5)")
    assert db.sql(query).to_pylist() == [{"s": Decimal("2.5")}]
    assert len(bound) == 5  # once for each thing that g was, and once to be refused
    db.apply("g", [(Decimal(i) / 10,) for i in range(2_000)])  # a plan for one row
    assert db.sql(query).to_pylist() == [{"s": Decimal("199902.5")}]
    assert len(bound) == 6


def test_a_commit_goes_on_while_a_text_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _filled(random.Random(4))
    inner = asked_once.bind_query

    def slow(*given: object, **more: object) -> object:
        writer = threading.Thread(target=db.apply, args=("t", [(1_000, "w", None, None, None, None, None)]))
        writer.start()
        writer.join(60)
        assert not writer.is_alive()
        return inner(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(asked_once, "bind_query", slow)
    assert db.sql("SELECT name FROM t WHERE n IS NULL AND name = 'w'").num_rows == 1


def test_what_is_declared_while_a_text_is_bound_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _filled(random.Random(5))
    inner, times = asked_once.bind_query, iter(range(100))

    def between(*given: object, **more: object) -> object:
        found = inner(*given, **more)  # type: ignore[arg-type]
        declare = threading.Thread(
            target=db.create_view, args=("g", f"SELECT {next(times)} AS many"), kwargs={"replace": True}
        )
        declare.start()
        declare.join(0.2)  # in the end it waits, as the text is bound under the lock
        started.append(declare)
        return found

    started = list[threading.Thread]()
    monkeypatch.setattr(asked_once, "bind_query", between)
    found = db.sql("SELECT many FROM g").to_pylist()[0]["many"]
    assert found == 2  # three were declared meanwhile, and the fourth only after the answer
    for one in started:
        one.join(60)
    assert db.sql("SELECT many FROM g WHERE many >= 0").num_rows == 1


def test_a_field_of_a_column_is_not_the_column() -> None:
    assert pins_of("SELECT * FROM t WHERE s.id = 5") is None
    pins = pins_of("SELECT * FROM t AS s WHERE s.id = 5")
    assert pins is not None
    assert list(pins.columns) == ["id"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t WHERE id = 5 OR n = 1",
        "SELECT * FROM t JOIN g ON t.name = g.name WHERE id = 5",
        "SELECT * FROM t, LATERAL (SELECT 1) WHERE id = 5",
        "WITH t AS (SELECT 1 AS id) SELECT * FROM t WHERE id = 5",
        "SELECT * FROM (SELECT * FROM t) t WHERE id = 5",
        "SELECT (SELECT MAX(id) FROM t) FROM t WHERE id = 5",
        "SELECT 1 UNION SELECT id FROM t WHERE id = 5",
        "SELECT * FROM t WHERE id = n",
        "SELECT * FROM t WHERE id <=> 5",
        "SELECT 1",
    ],
)
def test_of_these_nothing_is_said(query: str) -> None:
    assert pins_of(query) is None


def test_a_change_of_a_row_by_its_key_costs_a_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    db = _filled(random.Random(6))
    monkeypatch.setattr(db._contents, "known", None)  # nothing is planned over all rows
    db.execute("UPDATE t SET n = n + 10 WHERE id = 3")
    db.execute("DELETE FROM t WHERE id = 4")
    assert db.views["v"].get(4) is None


def test_results_of_threads_that_ask_declare_and_commit() -> None:
    db = Database()
    db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)")
    db.create_view("v", "SELECT id, n FROM t")
    db.apply("t", [(i, 0) for i in range(10)])
    wrong, ends = list[object](), threading.Event()

    def ask(query: str) -> None:
        while not ends.is_set():
            rows: pa.Table = db.sql(query)
            if len(set(rows.column(0).to_pylist())) != 1:
                wrong.append(rows.to_pylist())

    queries = ["SELECT n FROM v", "SELECT n FROM t", "SELECT n FROM v WHERE id = 3", "SELECT SUM(n) AS n FROM v"]
    threads = [threading.Thread(target=ask, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for number in range(1, 12):
        db.apply("t", pa.table({"id": range(10), "n": [number] * 10}), on_conflict="update")
        db.create_view("v", f"SELECT id, n * {number} AS n FROM t", replace=True)
    ends.set()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_an_error_is_of_the_query_and_no_view() -> None:
    db = _filled(random.Random(7))
    with pytest.raises(ExpressionError, match=r"^the query: cannot evaluate"):
        db.sql("SELECT 1 / (n - n) AS a FROM t WHERE n IS NOT NULL")
    with pytest.raises(SqlError, match=r"write one \? for each value"):
        db.sql("SELECT n FROM t WHERE id IN (?)", [[1, 2]])


def test_a_folder_that_is_none_is_refused() -> None:
    with pytest.raises(StateError, match="the folder is None"):
        livejoin.open(None)  # type: ignore[arg-type]
