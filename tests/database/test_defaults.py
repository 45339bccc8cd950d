"""DEFAULT: columns that a new row leaves out, in statements beside DuckDB, in changes, and in folders opened again."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeFormatError, LivejoinError, SchemaError
from oracle import multiset

ROUNDS = int(os.environ.get("LIVEJOIN_FUZZ", "8"))
COLUMNS = (
    "id INT PRIMARY KEY, n BIGINT DEFAULT 2 * 21, price DECIMAL(8, 2) NOT NULL DEFAULT 1.5, "
    "note {text} DEFAULT 'it''s', day DATE DEFAULT DATE '2026-01-31', plain INT, flag BOOLEAN NOT NULL DEFAULT TRUE"
)
NAMES = ("id", "n", "price", "note", "day", "plain", "flag")
DEFAULTS: dict[str, Any] = {
    "n": 42,
    "price": Decimal("1.50"),
    "note": "it's",
    "day": dt.date(2026, 1, 31),
    "plain": None,
    "flag": True,
}
WRITTEN = {
    "n": ["1", "NULL"],
    "price": ["2.25", "7"],
    "note": ["'a'", "NULL"],
    "day": ["DATE '2026-02-01'"],
    "plain": ["5"],
    "flag": ["FALSE"],
}


def rows(db: livejoin.Database) -> Counter[Any]:
    return multiset(db.views["v"].to_arrow())


def opened(folder: Path) -> livejoin.Database:
    return livejoin.open(folder)


def test_statements_fill_what_they_leave_out_as_duckdb_does(tmp_path: Path) -> None:
    random, db, duck = Random(7), opened(tmp_path / "db"), duckdb.connect()
    db.execute(f"CREATE TABLE t ({COLUMNS.format(text='STRING')}); CREATE VIEW v AS SELECT * FROM t")
    duck.execute(f"CREATE TABLE t ({COLUMNS.format(text='VARCHAR')})")
    for number in range(3 * ROUNDS):
        columns = ["id", *random.sample([*WRITTEN], random.randrange(len(WRITTEN) + 1))]
        ids = random.sample(range(40), 2)
        values = ", ".join(
            f"({', '.join([str(one), *(random.choice([*WRITTEN[c], 'DEFAULT']) for c in columns[1:])])})" for one in ids
        )
        sql = f"INSERT INTO t ({', '.join(columns)}) VALUES {values}"
        if number % 5 == 4:
            sql = f"INSERT INTO t (id, plain) SELECT id + 100 * {number}, n FROM t WHERE id < {ids[0]}"
        if number % 7 == 6:
            sql = f"DELETE FROM t WHERE id % 3 = {number % 3}"
        if number % 7 in (2, 5):
            sets = ", ".join(f"{c} = {random.choice([*WRITTEN[c], 'DEFAULT'])}" for c in columns[1:]) or "n = DEFAULT"
            sql = f"UPDATE t SET {sets} WHERE {random.choice(['TRUE', f'id = {ids[0]}', 'plain IS NULL'])}"
        if number % 7 == 3:
            sql = (
                f"MERGE INTO t USING (SELECT {ids[0]} AS id UNION ALL SELECT {ids[1]}) AS s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET note = DEFAULT, plain = DEFAULT, n = 7 "
                "WHEN NOT MATCHED THEN INSERT (id, price, plain, day) VALUES (s.id, DEFAULT, DEFAULT, DEFAULT)"
            )
        try:
            duck.execute(sql)
        except duckdb.ConstraintException:
            with pytest.raises(LivejoinError):
                db.execute(sql)
        else:
            db.execute(sql)
        assert rows(db) == multiset(duck.sql("SELECT * FROM t").to_arrow_table())
        if number % 10 == 9:
            db.close()
            db = opened(tmp_path / "db")
    db.save(tmp_path / "saved")
    loaded = livejoin.Database.load(tmp_path / "saved")
    assert loaded.tables["t"] == db.tables["t"]
    loaded.execute("INSERT INTO t (id) VALUES (-1)")
    assert loaded.sql("SELECT * FROM t WHERE id = -1").to_pylist() == [{"id": -1, **DEFAULTS}]
    db.close()


def test_one_time_for_the_rows_of_a_statement_and_a_row_of_which_nothing_is_said() -> None:
    db = livejoin.Database()
    db.execute(
        "CREATE TABLE t (n DECIMAL(8, 2) DEFAULT 1.5, at TIMESTAMP DEFAULT now(), s STRING, "
        "g DECIMAL(9, 2) GENERATED ALWAYS AS (n * 2))"
    )
    db.execute("INSERT INTO t DEFAULT VALUES; INSERT INTO t (g) VALUES (DEFAULT), (DEFAULT)")
    for row in db.sql("SELECT n, s, g, at IS NULL AS no FROM t").to_pylist():
        assert row == {"n": Decimal("1.50"), "s": None, "g": Decimal("3.00"), "no": False}
    db.execute("DELETE FROM t; INSERT INTO t VALUES (7, DEFAULT, 'it, (s)', DEFAULT), (DEFAULT, DEFAULT, DEFAULT, 3)")
    db.execute("INSERT INTO t VALUES (?, DEFAULT, :2, DEFAULT)".replace(":2", "?"), [2, "DEFAULT"])
    found = db.sql("SELECT n, s, g FROM t ORDER BY n").to_pylist()
    assert [tuple(row.values()) for row in sorted(found, key=lambda row: row["n"])] == [
        (Decimal("1.50"), None, Decimal("3.00")),
        (Decimal("2.00"), "DEFAULT", Decimal("4.00")),
        (Decimal("7.00"), "it, (s)", Decimal("14.00")),
    ]
    assert db.sql("SELECT COUNT(DISTINCT at) AS n FROM t WHERE s IS NULL OR s <> 'DEFAULT'").to_pylist() == [{"n": 1}]
    db.execute("CREATE TABLE named (`default` INT)")  # a column that is called so
    db.execute("INSERT INTO named VALUES (5); UPDATE named SET `default` = `default` + 1")
    assert db.sql("SELECT * FROM named").to_pylist() == [{"default": 6}]


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("UPDATE t SET a = DEFAULT + 1", "no part of an expression"),
        ("INSERT INTO t SELECT 1, DEFAULT", "no part of an expression"),
        ("INSERT INTO t VALUES (1, DEFAULT + 1)", "no part of an expression"),
        ("DELETE FROM t WHERE a = DEFAULT", "no part of an expression"),
        ("INSERT INTO t VALUES (1, DEFAULT)", "NULL in column 'b', which is NOT NULL"),
        ("INSERT INTO t DEFAULT VALUES", "missing column 'b'"),
        ("INSERT INTO t (a, b) DEFAULT VALUES", "takes no list of columns"),
        ("INSERT INTO t VALUES (DEFAULT, 2), (1)", "rows of 2 and of 1 values"),
        ("INSERT INTO t VALUES (DEFAULT, 2, DEFAULT)", "3 values are given for 2 columns"),
    ],
)
def test_where_the_word_is_refused(sql: str, why: str) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (a INT, b INT NOT NULL)")
    with pytest.raises(LivejoinError, match=why):
        db.execute(sql)
    assert db.version == 0


def test_changes_that_leave_columns_out_against_a_dictionary(tmp_path: Path) -> None:
    random, db = Random(11), opened(tmp_path)
    db.execute(f"CREATE TABLE t ({COLUMNS.format(text='STRING')}); CREATE VIEW v AS SELECT * FROM t")
    model: dict[int, dict[str, Any]] = {}
    other = {"n": 1, "price": Decimal("9.00"), "note": None, "day": dt.date(2026, 3, 1), "plain": 3, "flag": False}
    for number in range(2 * ROUNDS):
        is_upsert = random.random() < 0.6
        changes = []
        for key in random.sample(range(12), random.randrange(1, 5)):
            given = {name: other[name] for name in random.sample([*other], random.randrange(len(other) + 1))}
            if is_upsert:
                changes.append({"id": key, **given, "_change_type": "upsert"})
                model[key] = {**model.get(key, {"id": key, **DEFAULTS}), **given}
            elif key not in model:
                changes.append({"id": key, **given})
                model[key] = {"id": key, **DEFAULTS, **given}
        if changes and (is_upsert or number % 2):
            db.apply("t", changes, coerce="strict" if is_upsert else "json")
        elif changes:  # of Arrow data a whole column is left out
            for change in changes:
                db.apply("t", pa.Table.from_pylist([change]), coerce="json")
        if number % 8 == 7:
            db.close()
            db = opened(tmp_path)
        assert rows(db) == Counter(tuple(row[name] for name in NAMES) for row in model.values())
    db.close()


def test_strict_changes_give_every_column() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (a INT, b INT DEFAULT 5)")
    with pytest.raises(ChangeFormatError, match="'b'"):
        db.apply("t", [{"a": 1}])
    db.apply("t", [{"a": 1}], coerce="json")
    db.apply("t", [{"a": 1, "_change_type": "delete"}], coerce="json")  # the row that the same words inserted
    assert db.sql("SELECT * FROM t").num_rows == 0


def test_the_time_of_a_commit_is_in_the_log(tmp_path: Path) -> None:
    db = opened(tmp_path)
    db.execute(
        "CREATE TABLE t (a INT, at TIMESTAMP DEFAULT current_timestamp(), local TIMESTAMP_NTZ NOT NULL DEFAULT now(), "
        "day DATE DEFAULT CURRENT_DATE)"
    )
    before = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    db.execute("INSERT INTO t (a) VALUES (1), (2)")
    after = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    found = db.sql("SELECT * FROM t")
    for name in ("at", "local"):
        (time,) = set(found.column(name).to_pylist())
        assert before <= time.replace(tzinfo=None) <= after
    assert before.date() <= found.column("day")[0].as_py() <= after.date()
    db.close()
    db = opened(tmp_path)
    assert db.sql("SELECT * FROM t").equals(found)
    db.close()


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("a INT DEFAULT 'x'", "DEFAULT of column 'a' is 'x'.*does not fit INT"),
        ("a INT DEFAULT b, b INT", "allowed are constants, CURRENT_TIMESTAMP"),
        ("a INT DEFAULT 1.5", "does not fit INT"),
        ("a INT NOT NULL DEFAULT NULL", "is NULL, and the column is NOT NULL"),
        ("a DOUBLE DEFAULT rand()", "allowed are constants"),
        ("a INT DEFAULT sum(1)", "reads more than one row"),
        ("a INT DEFAULT 1 / 0", "which has no value"),
        ("a VARCHAR(2) DEFAULT 'abc'", "has 3 characters"),
    ],
)
def test_what_is_no_default_is_refused(column: str, why: str) -> None:
    db = livejoin.Database()
    with pytest.raises(SchemaError, match=why):
        db.execute(f"CREATE TABLE u ({column})")
    assert not db.tables
