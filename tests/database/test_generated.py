"""Generated columns: computed when rows come, in statements beside DuckDB, in changes, and in folders opened again."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import ChangeValueError, ExpressionError, LivejoinError, SchemaError, SqlError
from oracle import multiset, signed_multiset

ROUNDS = int(os.environ.get("LIVEJOIN_FUZZ", "8"))
TABLE = (
    "CREATE TABLE t (id INT{key}, a INT, b BIGINT GENERATED ALWAYS AS (a * 2), s {text}, "
    "u {text} GENERATED ALWAYS AS (upper(s) || '!'), d DECIMAL(6, 2) GENERATED ALWAYS AS (a + 0.5), "
    "CHECK (d < 90))"
)
VIEW = "SELECT u, COUNT(*) AS n, SUM(b) AS b, MAX(d) AS d FROM t GROUP BY u"


def statement(random: Random) -> str:
    key, number = random.randrange(20), random.choice(["NULL", *map(str, (0, 1, 5, 40, 95))])
    text = random.choice(["NULL", "'x'", "'é'", "'zz'"])
    return random.choice(
        [
            f"INSERT INTO t (id, a, s) VALUES ({key}, {number}, {text}), ({key + 20}, {number}, 'x')",
            f"INSERT INTO t (s, id) VALUES ({text}, {key})",
            f"INSERT INTO t (id, a) SELECT id + 40, a FROM t WHERE id < {key}",
            f"UPDATE t SET a = {number} WHERE id > {key}",
            f"UPDATE t SET s = {text}, a = a + 1 WHERE id % 3 = {key % 3}",
            f"DELETE FROM t WHERE b = {number} OR id = {key}",
            f"DELETE FROM t WHERE u = 'X!' AND id < {key}",
        ]
    )


@pytest.mark.parametrize("key", [True, False])
def test_statements_compute_what_duckdb_does(tmp_path: Path, key: bool) -> None:
    random, db, duck = Random(5), livejoin.open(tmp_path / "db"), duckdb.connect()
    db.execute(TABLE.format(text="STRING", key=" PRIMARY KEY" * key) + f"; CREATE VIEW v AS {VIEW}")
    plain = TABLE.replace("d < 90", "a + 0.5 < 90")  # DuckDB has no CHECK of generated columns
    duck.execute(plain.format(text="VARCHAR", key=" PRIMARY KEY" * key))
    now = Counter(multiset(db.views["v"].to_arrow()))
    for number in range(4 * ROUNDS):
        sql, commit = statement(random), None
        try:
            duck.execute(sql)
        except duckdb.ConstraintException:
            with pytest.raises(LivejoinError):
                db.execute(sql)
        else:
            commit = db.execute(sql)
        assert multiset(db.sql("SELECT * FROM t")) == multiset(duck.sql("SELECT * FROM t").to_arrow_table()), sql
        now.update(signed_multiset(commit["v"]) if commit is not None else {})
        assert +now == multiset(duck.sql(VIEW.replace("SUM(b)", "SUM(b)::BIGINT")).to_arrow_table()), sql
        if number % 15 == 14:
            db.close()
            db = livejoin.open(tmp_path / "db")
    db.save(tmp_path / "saved")
    assert livejoin.Database.load(tmp_path / "saved").tables["t"] == db.tables["t"]
    db.close()


def test_changes_leave_them_out_or_give_their_values() -> None:
    db = livejoin.Database()
    db.execute(TABLE.format(text="STRING", key=" PRIMARY KEY"))
    db.apply("t", [{"id": 1, "a": 1, "s": "x"}, {"id": 2, "a": 2, "s": None}])
    db.apply("t", pa.table({"id": pa.array([3], pa.int32()), "a": pa.array([3], pa.int32()), "s": ["y"], "b": [6]}))
    with pytest.raises(
        ChangeValueError, match=r"column 'b' is generated as a \* 2, which is 8 here.*gives 9"
    ) as caught:
        db.apply("t", [{"id": 5, "a": 0, "s": "", "b": None}, {"id": 4, "a": 4, "b": 9, "s": None}], coerce="json")
    assert caught.value.row == 1
    db.apply("t", [{"id": 1, "a": 7, "_change_type": "upsert"}, {"id": 6, "_change_type": "upsert"}])
    db.apply("t", [{"id": 2, "_change_type": "delete"}])
    assert db.sql("SELECT id, b, u FROM t ORDER BY id").to_pylist() == [
        {"id": 1, "b": 14, "u": "X!"},
        {"id": 3, "b": 6, "u": "Y!"},
        {"id": 6, "b": None, "u": None},
    ]
    commit = db.apply("t", [{"id": 7, "a": 95, "s": ""}, {"id": 8, "a": 9, "s": ""}], on_bad_rows="skip")
    assert commit.bad_rows == 1


def test_whole_rows_that_go_are_found_and_static_tables_are_refreshed() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a + 1)); CREATE VIEW v AS SELECT b FROM t")
    db.apply("t", [{"a": 1}, {"a": 1}, {"a": 2}])
    commit = db.apply("t", [{"a": 1, "_change_type": "delete"}, {"a": 2, "b": 3, "_change_type": "delete"}][:1])
    assert signed_multiset(commit["v"]) == Counter({(2,): -1})
    db.execute("ALTER TABLE t SET STATIC")
    assert signed_multiset(db.refresh("t", [{"a": 2}, {"a": 5}])["v"]) == Counter({(2,): -1, (6,): 1})
    assert signed_multiset(db.refresh("t", [{"a": 2}, {"a": 5}])["v"]) == Counter()


def test_columns_that_are_altered_beside_them() -> None:
    db = livejoin.Database()
    db.execute(
        "CREATE TABLE t (a INT, f FLOAT, b BIGINT GENERATED ALWAYS AS (a + 1), g DOUBLE GENERATED ALWAYS AS (f))"
    )
    db.execute("INSERT INTO t VALUES (1, 0.1)")
    for sql in ("DROP COLUMN a", "ALTER COLUMN f TYPE DOUBLE", "ALTER COLUMN b TYPE DECIMAL(20, 0)"):
        with pytest.raises(SchemaError):
            db.execute(f"ALTER TABLE t {sql}")
    db.execute("ALTER TABLE t RENAME COLUMN a TO `x y`; ALTER TABLE t ALTER COLUMN `x y` TYPE BIGINT")
    db.execute("ALTER TABLE t DROP COLUMN g; ALTER TABLE t ADD COLUMN c INT; INSERT INTO t VALUES (5, NULL, 7)")
    assert db.sql("SELECT `x y`, b, c FROM t ORDER BY 1").to_pylist() == [
        {"x y": 1, "b": 2, "c": None},
        {"x y": 5, "b": 6, "c": 7},
    ]


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ("a INT, b INT GENERATED ALWAYS AS (c)", "no column 'c'"),
        ("a INT, b INT NOT NULL GENERATED ALWAYS AS (a)", "NOT NULL"),
        ("a INT, b INT DEFAULT 1 GENERATED ALWAYS AS (a)", "DEFAULT"),
        ("a INT, b INT PRIMARY KEY GENERATED ALWAYS AS (a)", "the PRIMARY KEY"),
        ("a INT, b INT GENERATED ALWAYS AS (b + 1)", "which is generated too"),
        ("a INT, b INT GENERATED ALWAYS AS (SUM(a))", "more than one row"),
        ("a INT, b DOUBLE GENERATED ALWAYS AS (a + rand())", "volatile"),
        ("a INT, b VARCHAR(3) GENERATED ALWAYS AS (a)", "STRING for texts"),
        ("a INT, b INT GENERATED ALWAYS AS IDENTITY", "allowed are"),
    ],
)
def test_what_cannot_be_computed_is_refused(columns: str, why: str) -> None:
    db = livejoin.Database()
    with pytest.raises((SchemaError, SqlError), match=why):
        db.execute(f"CREATE TABLE u ({columns})")
    assert not db.tables


def test_a_value_that_does_not_fit_is_refused() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE u (a INT, b TINYINT GENERATED ALWAYS AS (a))")
    with pytest.raises(ExpressionError, match="generated column 'b'"):
        db.execute("INSERT INTO u VALUES (1), (1000)")
    assert db.sql("SELECT * FROM u").num_rows == 0
