"""CHECK: what no row may make false, in statements beside DuckDB, in changes, and in folders opened again."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import livejoin
from livejoin.errors import ChangeValueError, ExpressionError, LivejoinError, SchemaError, SqlError
from oracle import multiset

ROUNDS = int(os.environ.get("LIVEJOIN_FUZZ", "8"))
TABLE = (
    "CREATE TABLE t (id INT PRIMARY KEY, a INT CHECK (a > 0), b INT CONSTRAINT less CHECK (b < a OR b = 100), "
    "s {text}, price DECIMAL(6, 2), CHECK (s LIKE 'x%' OR length(s) = 2), CONSTRAINT cheap CHECK (price * a < 50.5))"
)


def rows(db: livejoin.Database) -> Counter[Any]:
    return multiset(db.views["v"].to_arrow())


def statement(random: Random) -> str:
    one = lambda *of: random.choice(of)  # noqa: E731
    number = lambda: one("NULL", *(str(n) for n in (-1, 0, 1, 2, 3, 5, 9, 100)))  # noqa: E731
    text = lambda: one("NULL", "'x'", "'xyz'", "'ab'", "'q'", "''")  # noqa: E731
    match random.randrange(5):
        case 0 | 1:
            values = ", ".join(
                f"({key}, {number()}, {number()}, {text()}, {one('NULL', '1.25', '20', '-3.5')})"
                for key in random.sample(range(30), random.randrange(1, 4))
            )
            return f"INSERT INTO t VALUES {values}"
        case 2:
            return f"UPDATE t SET a = a + {random.randrange(-2, 3)} WHERE id < {random.randrange(30)}"
        case 3:
            return f"UPDATE t SET b = {number()}, s = {text()} WHERE id % 4 = {random.randrange(4)}"
        case _:
            return f"DELETE FROM t WHERE id % 6 = {random.randrange(6)}"


def test_statements_are_refused_where_duckdb_refuses_them(tmp_path: Path) -> None:
    random, db, duck = Random(3), livejoin.open(tmp_path), duckdb.connect()
    db.execute(TABLE.format(text="STRING") + "; CREATE VIEW v AS SELECT * FROM t")
    duck.execute(TABLE.format(text="VARCHAR"))
    refused = 0
    for number in range(6 * ROUNDS):
        sql = statement(random)
        try:
            duck.execute(sql)
        except duckdb.ConstraintException:
            refused += 1
            with pytest.raises(LivejoinError):
                db.execute(sql)
        else:
            db.execute(sql)
        assert rows(db) == multiset(duck.sql("SELECT * FROM t").to_arrow_table()), sql
        if number % 20 == 19:
            declared = db.tables["t"]
            db.close()
            db = livejoin.open(tmp_path)
            assert db.tables["t"] == declared
    assert 0 < refused < 6 * ROUNDS
    db.save(tmp_path.with_name("saved"))
    loaded = livejoin.Database.load(tmp_path.with_name("saved"))
    assert loaded.tables["t"].checks == db.tables["t"].checks
    with pytest.raises(ChangeValueError, match="CHECK a_check"):
        loaded.execute("INSERT INTO t (id, a) VALUES (-1, 0)")
    db.close()


def test_the_row_and_the_check_are_named() -> None:
    db = livejoin.Database()
    db.execute(TABLE.format(text="STRING") + "; INSERT INTO t (id, a, b) VALUES (1, 5, 4), (2, 7, 4)")
    with pytest.raises(ChangeValueError, match=r"row \(id = 1, a = 4, b = 4\) breaks CHECK less \(b < a OR b = 100\)"):
        db.execute("UPDATE t SET a = a - 1")
    with pytest.raises(ChangeValueError, match="breaks CHECK check") as caught:
        db.apply("t", [(8, 1, None, "x", None), (9, 1, None, "q", None)])
    assert caught.value.row == 1
    with pytest.raises(ChangeValueError, match=r"\(id = 2, a = 7, b = 9\) breaks CHECK less"):
        db.apply("t", [{"id": 2, "b": 9, "_change_type": "upsert"}])  # the other value is that of the table's row
    assert db.sql("SELECT id, a, b FROM t ORDER BY id").to_pylist() == [
        {"id": 1, "a": 5, "b": 4},
        {"id": 2, "a": 7, "b": 4},
    ]


def test_a_row_that_breaks_a_check_is_a_bad_row() -> None:
    db = livejoin.Database(coerce="json", on_bad_rows="dead_letter")
    db.execute(TABLE.format(text="STRING") + "; CREATE VIEW v AS SELECT id, a, b FROM t")
    changes = [{"id": 1, "a": 2, "b": 1}, {"id": 2, "a": 0}, {"id": 3}, {"id": 4, "a": 2, "b": 2}]
    commit = db.apply("t", changes)
    assert [letter.row for letter in commit.dead_letters] == [1, 3]
    assert rows(db) == Counter([(1, 2, 1), (3, None, None)])


def test_a_check_counts_before_a_view_and_after_a_replay() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (a INT, b INT CHECK (b <> 0)); CREATE VIEW v AS SELECT a DIV b AS q FROM t")
    with pytest.raises(ChangeValueError, match="b_check"):
        db.apply("t", [(1, 0)])
    with pytest.raises(ChangeValueError, match="b_check"):
        db.replay({"t": [{"a": 1, "b": 1, "_seq": 1}, {"a": 1, "b": 0, "_seq": 2}]})
    db.execute("CREATE TABLE u (a INT CHECK (10 DIV a > 1)); CREATE TABLE kept (a INT, b INT CHECK (b > 0), c INT)")
    with pytest.raises(ExpressionError, match="CHECK a_check"):
        db.apply("u", [(0,)])
    db.execute("ALTER TABLE kept SET TBLPROPERTIES ('livejoin.append_only' = 'true')")
    with pytest.raises(ChangeValueError, match="b_check"):
        db.apply("kept", [(0, 0, 0)])


def test_columns_of_checks_are_kept() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (a INT, b INT CHECK (b > 0), c INT) TBLPROPERTIES ('livejoin.retain' = 'used')")
    with pytest.raises(ChangeValueError, match="b = 0"):
        db.apply("t", [(0, 0, 0)])


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("a INT CHECK (a + 1)", "is INT; allowed are conditions"),
        ("a INT CHECK (b > 1)", "no column; there are a"),
        ("a INT CHECK (a > (SELECT 1))", "sub-query"),
        ("a INT CHECK (SUM(a) > 1)", "more than one row"),
        ("a DOUBLE CHECK (a > rand())", "volatile"),
        ("a INT CHECK (a > 'x')", "no value for any row"),
        ("a INT, CONSTRAINT x CHECK (a > 1), CONSTRAINT X CHECK (a > 2)", "twice"),
    ],
)
def test_what_is_no_check_is_refused(column: str, why: str) -> None:
    db = livejoin.Database()
    with pytest.raises((SchemaError, SqlError), match=why):
        db.execute(f"CREATE TABLE u ({column})")
    assert not db.tables
