"""SQL that changes rows, beside DuckDB, which runs the same statements."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pytest

import livejoin
from livejoin.errors import (
    ChangeError,
    DuplicateKeyError,
    ExpressionError,
    LivejoinError,
    SchemaError,
    SqlSyntaxError,
    UnsupportedQueryError,
)
from oracle import multiset, signed_multiset
from scenario import Row

STATEMENTS = 4 * int(os.environ.get("LIVEJOIN_FUZZ", "8"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))
VIEW = "SELECT s, COUNT(*) AS n, SUM(a) AS a FROM t GROUP BY s"


def rows(db: livejoin.Database, table: str) -> Counter[Row]:
    """The rows of a table, as often as they are there."""
    base = db._contents.tables[table]
    ids, weights = base.live_rows()
    found = multiset(db._contents.rows_of(base, ids))
    assert len(found) == len(weights) or base.total != base.rows
    return Counter(dict(zip(found, weights.tolist(), strict=True)))


class Statements:
    """Random statements over the tables t and s."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def one(self) -> str:
        return self.random.choice([self.insert, self.insert, self.update, self.delete, self.merge])()

    def value(self, of: str = "") -> str:
        pick = self.random
        here = [f"{of}a", f"{of}id", f"{of}a + 1", f"{of}id * 2", f"coalesce({of}a, 7)"] if of is not None else []
        return pick.choice([str(pick.randrange(9)), "NULL", *here])

    def text(self) -> str:
        return self.random.choice(["'x'", "'y'", "'it''s'", "NULL", "'ü'"])

    def condition(self, of: str = "") -> str:
        pick = self.random
        n = pick.randrange(9)
        return pick.choice(
            [
                f"{of}id = {n}",
                f"{of}id = {n} AND {of}s = 'x'",
                f"{n} = {of}id AND ({of}a > 2 OR {of}a IS NULL)",
                f"{of}a > {n}",
                f"{of}s IS NULL OR {of}a < {n}",
                f"{of}s LIKE 'x%'",
                f"{of}id IN (SELECT s.id FROM s WHERE s.a > {n})",
                f"{of}a > (SELECT AVG(s.a) FROM s)",
                f"{of}id = {n} AND {of}a < (SELECT MAX(u.a) FROM t u)",
            ]
        )

    def insert(self) -> str:
        table = self.random.choice(["t", "s"])
        count = self.random.randrange(1, 4)
        match self.random.randrange(3):
            case 0:
                given = ", ".join(f"({self.random.randrange(12)}, {self.text()})" for _ in range(count))
                return f"INSERT INTO {table} (id, s) VALUES {given}"
            case 1:
                given = ", ".join(
                    f"({self.random.randrange(12)}, {self.random.randrange(9)}, {self.text()})" for _ in range(count)
                )
                return f"INSERT INTO {table} VALUES {given}"
            case _:
                other = self.random.choice(["t", "s"])
                where = self.condition(f"{other}.")
                return f"INSERT INTO {table} (a, s, id) SELECT a, s, id + 1 FROM {other} WHERE {where}"

    def assigned(self, of: str) -> str:
        """Values of one or two columns."""
        found = {
            "a": [self.value(of), "(SELECT MAX(u.a) FROM t u)"],
            "s": [self.text()],
            "id": [f"{of}id", f"{of}id + 1"],
        }
        chosen = self.random.sample([*found], self.random.randrange(1, 3))
        return ", ".join(f"{column} = {self.random.choice(found[column])}" for column in chosen)

    def update(self) -> str:
        table = self.random.choice(["t", "s"])
        where = self.random.choice(["", f" WHERE {self.condition(table + '.')}"])
        return f"UPDATE {table} SET {self.assigned(table + '.')}{where}"

    def delete(self) -> str:
        table = self.random.choice(["t", "s"])
        return f"DELETE FROM {table} WHERE {self.condition(table + '.')}"

    def merge(self) -> str:
        table, other = self.random.choice([("t", "s"), ("s", "t")])
        source = self.random.choice([other, f"(SELECT id, MAX(a) AS a, MAX(s) AS s FROM {other} GROUP BY id)"])
        clauses = [
            f"WHEN MATCHED AND o.a > {self.random.randrange(5)} THEN UPDATE SET a = o.a + 1, s = {self.text()}",
            "WHEN MATCHED AND m.s IS NULL THEN DELETE",
            "WHEN MATCHED THEN UPDATE SET a = coalesce(m.a, o.a, 0)",
            f"WHEN NOT MATCHED AND o.a IS NULL THEN INSERT (id, s) VALUES (o.id, {self.text()})",
            "WHEN NOT MATCHED THEN INSERT (id, a, s) VALUES (o.id, o.a, CASE WHEN o.a > 3 THEN 'big' ELSE o.s END)",
            "WHEN NOT MATCHED BY SOURCE AND m.a > 6 THEN DELETE",
            "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = 0",
        ]
        chosen = [one for one in clauses if self.random.random() < 0.5] or clauses[:1]
        return f"MERGE INTO {table} AS m USING {source} AS o ON m.id = o.id {' '.join(chosen)}"


def test_random_statements_do_what_duckdb_does(tmp_path: Path) -> None:
    """Each is one commit with the delta of the view, or refused for a key, or as a MERGE that says two things."""
    made = Statements(SEED)
    db = livejoin.open(tmp_path / "db", sync="off")
    duck = duckdb.connect()
    for text in ("CREATE TABLE t (id BIGINT{}, a INT, s STRING)", "CREATE TABLE s (id BIGINT{}, a INT, s STRING)"):
        db.execute(text.format(" PRIMARY KEY" if " t " in text else ""))
        duck.execute(text.format(""))
    view = db.create_view("v", VIEW)
    kinds: Counter[str] = Counter()
    for number in range(STATEMENTS):
        sql = made.one()
        before, version = multiset(duck.sql(VIEW).to_arrow_table()), db.version
        duck.execute("BEGIN")
        doubly = False
        if sql.startswith("MERGE"):
            table, source = sql.split()[2], sql.partition(" USING ")[2].partition(" ON ")[0]
            pairs = f"SELECT COUNT(*) FROM {table} m JOIN {source} ON m.id = o.id"
            matched = f"SELECT COUNT(*) FROM {table} m WHERE EXISTS (SELECT 1 FROM {source} WHERE m.id = o.id)"
            doubly = "THEN UPDATE" in sql or "THEN DELETE" in sql
            doubly = doubly and bool(duck.execute(f"SELECT ({pairs}) > ({matched})").fetchall()[0][0])
        try:
            if not doubly:
                duck.execute(sql)
            twice = duck.execute("SELECT COUNT(*) - COUNT(DISTINCT id) FROM t").fetchall()[0][0] > 0
            if doubly or twice:
                duck.execute("ROLLBACK")
                with pytest.raises(ChangeError if doubly else DuplicateKeyError):
                    db.execute(sql)
                assert db.version == version
                kinds["refused"] += 1
                continue
            duck.execute("COMMIT")
            commit = db.execute(sql)
            assert commit is not None
            after = multiset(duck.sql(VIEW).to_arrow_table())
            assert multiset(view.to_arrow()) == after
            expected = Counter(after)
            expected.subtract(before)
            assert signed_multiset(commit["v"]) == Counter({row: n for row, n in expected.items() if n})
            for table in ("t", "s"):
                assert rows(db, table) == multiset(duck.sql(f"FROM {table}").to_arrow_table())
            kinds[sql.split()[0]] += commit.changes > 0
        except BaseException as wrong:
            wrong.add_note(f"statement {number} of seed {SEED}: {sql}")
            raise
    assert set(kinds) == {"INSERT", "UPDATE", "DELETE", "MERGE", "refused"}
    db._check()
    db.close()
    with livejoin.open(tmp_path / "db") as db:
        assert multiset(db.views["v"].to_arrow()) == multiset(duck.sql(VIEW).to_arrow_table())


@pytest.fixture
def db() -> livejoin.Database:
    found = livejoin.Database()
    found.execute(
        """
        CREATE TABLE t (id BIGINT PRIMARY KEY, a INT, s STRING); -- a comment; with a semicolon
        CREATE TABLE s (id BIGINT, a INT, s STRING);
        CREATE VIEW v AS SELECT s, COUNT(*) AS n, SUM(a) AS a FROM t GROUP BY s;
        INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y;'), (3, NULL, NULL);
        """
    )
    return found


VALUES: list[tuple[str, Any]] = [
    ("BOOLEAN", True),
    ("TINYINT", -128),
    ("BIGINT", (1 << 63) - 1),
    ("DOUBLE", 0.1),
    ("DOUBLE", float("inf")),
    ("DECIMAL(38, 3)", Decimal("-12345678901234567890.125")),
    ("STRING", 'it\'s \\ a "ü"\n\t?'),
    ("STRING", ""),
    ("BINARY", b"\x00\xff'"),
    ("DATE", dt.date(1, 1, 1)),
    ("TIMESTAMP", dt.datetime(2026, 2, 3, 4, 5, 6, 7)),
    ("INTERVAL DAY TO SECOND", -dt.timedelta(days=3, microseconds=5)),
    ("UUID", UUID(int=12345)),
    ("INT", None),
    ("BIGINT", np.int64(7)),
    ("DOUBLE", np.float32(0.5)),
]


@pytest.mark.parametrize(("kind", "value"), VALUES)
@pytest.mark.parametrize("named", [False, True])
def test_values_of_parameters(kind: str, value: Any, named: bool) -> None:
    db = livejoin.Database()
    db.execute(f"CREATE TABLE p (k INT, v {kind})")
    view = db.create_view("v", "SELECT v FROM p")
    db.execute(
        "INSERT INTO p VALUES (1, :v)" if named else "INSERT INTO p VALUES (1, ?)", {"v": value} if named else [value]
    )
    assert view.to_arrow()["v"].to_pylist() == [str(value) if isinstance(value, UUID) else value]
    if value is not None:
        assert db.execute("DELETE FROM p WHERE v = ?", [value]).changes == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("value", [-5, -5.5, Decimal("-5.25"), np.int16(-5)])
def test_values_stand_for_themselves_whatever_is_beside_them(value: Any) -> None:
    """Two signs would begin a comment, in which the condition would be."""
    db = livejoin.Database()
    db.execute("CREATE TABLE p (k INT, v DECIMAL(20, 5)); INSERT INTO p VALUES (1, 0), (2, 0)")
    commit = db.execute("UPDATE p SET v=v-? WHERE k=?AND v=?", [value, 2, 0])
    assert commit is not None
    assert commit.changes == 2
    assert rows(db, "p") == Counter({(1, Decimal(0)): 1, (2, -Decimal(str(value))): 1})


def test_an_aware_time_is_an_instant() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE p (v TIMESTAMP)")
    zone = dt.timezone(dt.timedelta(hours=-5))
    db.execute("INSERT INTO p VALUES (?)", [dt.datetime(2026, 1, 1, 20, tzinfo=zone)])
    assert db.create_view("v", "SELECT v FROM p").to_arrow()["v"].to_pylist() == [dt.datetime(2026, 1, 2, 1)]


def test_transactions_are_one_commit(db: livejoin.Database) -> None:
    version = db.version
    commit = db.execute(
        "BEGIN; DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (1, 99, 'x'); "
        "INSERT INTO s VALUES (1, 1, 's'); COMMIT;"
    )
    assert commit is not None
    assert (commit.version, commit.changes) == (version + 1, 3)
    assert db.execute("BEGIN; DELETE FROM t; ROLLBACK") is None
    assert db.version == version + 1
    assert db.views["v"].count() == 3


@pytest.mark.parametrize(
    ("sql", "parameters", "error", "match"),
    [
        ("BEGIN; UPDATE t SET a = 0; DELETE FROM t WHERE a = 0; COMMIT", None, UnsupportedQueryError, "changes"),
        ("BEGIN; DELETE FROM t; INSERT INTO s SELECT n, n, s FROM v; COMMIT", None, UnsupportedQueryError, "changes"),
        ("BEGIN; DELETE FROM t", None, UnsupportedQueryError, "without COMMIT"),
        ("BEGIN; BEGIN; COMMIT", None, UnsupportedQueryError, "within"),
        ("COMMIT", None, UnsupportedQueryError, "behind a BEGIN"),
        ("BEGIN; DROP TABLE s; COMMIT", None, UnsupportedQueryError, "between BEGIN and COMMIT"),
        ("DELETE FROM t WHERE id = ?", [], SqlSyntaxError, "0 values are given"),
        ("DELETE FROM t WHERE id = 1", [1], SqlSyntaxError, "0 places"),
        ("DELETE FROM t WHERE id = :x", {"y": 1}, SqlSyntaxError, "no value is given for :x"),
        ("DELETE FROM t WHERE id = :x", {"x": 1, "y": 1}, SqlSyntaxError, "given for 'y', which have no place"),
        ("DELETE FROM t WHERE id = :x", [1], SqlSyntaxError, "give a dict"),
        ("DELETE FROM t WHERE id = ?", {"x": 1}, SqlSyntaxError, "by name"),
        ("DELETE FROM t WHERE id = ?", "1", SqlSyntaxError, "allowed are a list"),
        ("DELETE FROM t WHERE id = ?", [object()], SqlSyntaxError, "no literal"),
        ("DELETE FROM v", None, SchemaError, "is a view"),
        ("DELETE FROM nope", None, SchemaError, "no table 'nope'"),
        ("UPDATE t SET b = 1", None, SchemaError, "no column 'b'"),
        ("UPDATE t SET a = 1, A = 2", None, SqlSyntaxError, "twice"),
        ("UPDATE t SET a = s.a FROM s WHERE t.id = s.id", None, SqlSyntaxError, "MERGE INTO changes rows"),
        ("UPDATE t SET s.a = 1", None, SqlSyntaxError, "only columns of t"),
        ("UPDATE t SET a = 1 WHERE", None, SqlSyntaxError, "an expression is expected"),
        ("UPDATE t SET a = 99999999999 WHERE id = 1", None, ChangeError, "overflows INT"),
        ("UPDATE t SET a = 1 / 0 WHERE id = 1", None, ExpressionError, "division by zero"),
        ("INSERT INTO t VALUES (1, 2)", None, SchemaError, "2 values are given for 3 columns"),
        ("INSERT INTO t (id, ID) VALUES (1, 2)", None, SchemaError, "twice"),
        ("INSERT INTO t (a) VALUES (1)", None, ChangeError, "missing column 'id'"),
        ("INSERT OVERWRITE t VALUES (1, 2, 's')", None, SqlSyntaxError, "OVERWRITE"),
        ("INSERT INTO t VALUES (1, 2, 's') ON CONFLICT DO NOTHING", None, SqlSyntaxError, "ON CONFLICT"),
        ("INSERT INTO x.t VALUES (1, 2, 's')", None, SqlSyntaxError, "a plain name"),
        ("DELETE t WHERE id = 1", None, SqlSyntaxError, "expected FROM"),
        ("DELETE FROM t WHERE id = 1 OR", None, SqlSyntaxError, "OR"),
        ("DELETE FROM t WHERE id = 1) OR (1 = 1", None, SqlSyntaxError, "not expected"),
        ("MERGE INTO t USING s ON t.id = s.id", None, SqlSyntaxError, "WHEN"),
        ("MERGE INTO t USING VALUES (1) s(b) ON t.id = b WHEN MATCHED THEN DELETE", None, SqlSyntaxError, r"\(VALUES"),
        ("MERGE INTO t USING (VALUES (1)) s(b, c) ON t.id = b WHEN MATCHED THEN DELETE", None, LivejoinError, "column"),
        ("MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN INSERT *", None, SqlSyntaxError, "expected UPDATE SET"),
        ("SELECT 1", None, UnsupportedQueryError, "changes nothing"),
    ],
)  # fmt: skip
def test_what_is_refused(
    db: livejoin.Database, sql: str, parameters: Any, error: type[LivejoinError], match: str
) -> None:
    before = db.version, rows(db, "t"), rows(db, "s")
    with pytest.raises(error, match=match):
        db.execute(sql, parameters)
    assert (db.version, rows(db, "t"), rows(db, "s")) == before
    db._check()


def test_all_columns_of_a_source(db: livejoin.Database) -> None:
    db.execute("INSERT INTO s VALUES (1, 7, 'one'), (8, NULL, 'eight')")
    db.execute("MERGE INTO t USING s x ON t.id = x.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
    db.execute("MERGE INTO t USING (SELECT id, 5 AS a FROM s) x ON t.id = x.id WHEN MATCHED THEN UPDATE SET *")
    db.execute("INSERT INTO t BY NAME SELECT 'nine' AS s, 9 AS id")
    found = sorted(row for row in rows(db, "t") if row[0] in (1, 8, 9))
    assert found == [(1, 5, "one"), (8, 5, "eight"), (9, None, "nine")]


@pytest.mark.parametrize(
    "source", ["(VALUES (1, 7), (8, NULL)) AS x(id, a)", "(SELECT id, a FROM s) x", "s AS x (id, a, b)"]
)
@pytest.mark.parametrize("all_columns", [True, False])
def test_columns_of_a_source_have_names(db: livejoin.Database, source: str, all_columns: bool) -> None:
    db.execute("DELETE FROM s; INSERT INTO s VALUES (1, 7, 'one'), (8, NULL, 'eight')")
    found, new = ("*", "*") if all_columns else ("a = x.a", "(id, a) VALUES (x.id, x.a)")
    clauses = f"WHEN MATCHED THEN UPDATE SET {found} WHEN NOT MATCHED THEN INSERT {new}"
    db.execute(f"MERGE INTO t USING {source} ON t.id = x.id {clauses}")
    assert sorted(row for row in rows(db, "t") if row[0] in (1, 8)) == [(1, 7, "x"), (8, None, None)]


def test_one_row_by_its_key_beside_others_of_its_table(db: livejoin.Database) -> None:
    """A sub-query over the table reads all of it, and columns that are not kept are not NULL."""
    db.execute("UPDATE t SET a = (SELECT MAX(u.a) FROM t u) WHERE id = 1")
    db.execute("DELETE FROM t WHERE id = 2 AND a < (SELECT AVG(u.a) FROM t u)")
    assert sorted(rows(db, "t")) == [(1, 20, "x"), (2, 20, "y;"), (3, None, None)]
    db.create_table("kept", "id BIGINT PRIMARY KEY, a INT, s STRING", retain="used")
    db.execute("CREATE VIEW k AS SELECT id, a FROM kept; INSERT INTO kept VALUES (1, 2, 's')")
    with pytest.raises(SchemaError, match="'s' of table 'kept'"):
        db.execute("UPDATE kept SET a = 5 WHERE id = 1")


def test_braces_in_a_merge_of_all_columns(db: livejoin.Database) -> None:
    db.execute("INSERT INTO s VALUES (1, 7, '{}'), (2, 8, '{0}')")
    db.execute("MERGE INTO t USING s x ON t.id = x.id AND x.s <> '{0}' WHEN MATCHED THEN UPDATE SET *")
    assert sorted(rows(db, "t"))[:2] == [(1, 7, "{}"), (2, 20, "y;")]


def test_one_row_by_its_key_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table is not read: a condition on the rest of the row is asked of that row alone."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (a STRING, b INT, v INT, PRIMARY KEY (a, b))")
    db.apply("t", [("x", i, i) for i in range(50)])
    monkeypatch.setattr(type(db._contents), "known", None)  # as planning over the table would
    with pytest.raises(TypeError):
        db.execute("DELETE FROM t WHERE b = 3")
    monkeypatch.undo()
    seen: list[int] = []
    real = type(db._contents.graph).show
    monkeypatch.setattr(
        type(db._contents.graph),
        "show",
        lambda self, *given: seen.append(self is db._contents.graph) or real(self, *given),
    )
    for sql, changes in {
        "UPDATE t SET v = v + 100 WHERE b = 3 AND a = 'x'": 2,
        "DELETE FROM t WHERE 4 = b AND a = 'x' AND v = 4": 1,
        "DELETE FROM t WHERE b = 5 AND a = 'x' AND v = 4": 0,
        "DELETE FROM t WHERE b = 5 AND a = 'no'": 0,
        "UPDATE t AS q SET b = 1000 WHERE q.a = concat('', 'x') AND q.b = 2 * 3": 2,
    }.items():
        commit = db.execute(sql)
        assert commit is not None
        assert commit.changes == changes, sql
    assert seen
    assert not any(seen)
    assert db.execute("DELETE FROM t WHERE b = 7.0 AND a = 'x'").changes == 1  # type: ignore[union-attr]
    assert db.execute("DELETE FROM t WHERE b = 8.5 AND a = 'x'").changes == 0  # type: ignore[union-attr]
