"""ALTER TABLE of columns: rows, views and deltas beside DuckDB, in folders opened again, and cut off anywhere."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest

import livejoin
from livejoin.errors import ChangeValueError, ReadError, SchemaError, SqlError
from oracle import multiset, signed_multiset
from torture.interrupts import NEVER, cut_off

ROUNDS = int(os.environ.get("LIVEJOIN_FUZZ", "4"))
POINTS = 20 * max(1, ROUNDS // 8)
"""The most points at which a call is cut off."""
TYPES = {
    "INT": ("1", "3", "7", "NULL"),
    "BIGINT": ("1", "3", "10000000000", "NULL"),
    "STRING": ("'x'", "'y'", "'é'", "NULL"),
    "DECIMAL(6, 2)": ("1.25", "-3", "NULL"),
    "DATE": ("DATE '2026-01-31'", "DATE '1969-07-20'", "NULL"),
    "FLOAT": ("1.5", "-0.25", "NULL"),
}
WIDER = {
    "INT": "BIGINT",
    "DECIMAL(6, 2)": "DECIMAL(25, 4)",
    "DECIMAL(25, 4)": "DECIMAL(30, 4)",
    "DATE": "TIMESTAMP_NTZ",
    "FLOAT": "DOUBLE",
}
VIEWS = (
    "SELECT * FROM {t}",
    "SELECT {a}, COUNT(*) AS number FROM {t} GROUP BY {a}",
    "SELECT t.{a}, m.y FROM {t} JOIN m ON t.{n} = m.x",
    "SELECT {a}, {n} FROM {t} WHERE {n} > 2",
    "SELECT x, y FROM m WHERE EXISTS (SELECT 1 FROM {t} WHERE t.{n} = m.x)",
    "SELECT m.*, t.{a} AS other FROM m LEFT JOIN {t} ON m.x = t.{n}",
    "SELECT DISTINCT {a} FROM {t} UNION ALL SELECT {a} FROM {t} WHERE {n} IS NULL",
)


def of_duckdb(sql: str) -> str:
    return sql.replace("STRING", "VARCHAR").replace("TIMESTAMP_NTZ", "TIMESTAMP")


class Sides:
    """A database, and DuckDB, whose columns of the table t have the same names and other views."""

    def __init__(self, seed: int, path: Path, key: bool, options: str = "") -> None:
        self.random, self.path = Random(seed), path
        self.db, self.duck = livejoin.open(path), duckdb.connect()
        self.columns = {"k": ("k", "INT"), "a": ("a", "INT"), "s": ("s", "STRING")}  # by name: what it is, its type
        self.made, self.views = 0, dict[str, tuple[str, dict[str, str]]]()
        self.key = 0 if key else None
        self.db.execute(f"CREATE TABLE t (k INT{' PRIMARY KEY' * key}, a INT, s STRING) {options}")
        self.db.execute("CREATE TABLE m (x INT, y INT); INSERT INTO m VALUES (1, 10), (3, 30), (3, 31), (NULL, 0)")
        self.duck.execute("CREATE TABLE t (k INT, a INT, s VARCHAR); CREATE TABLE m (x INT, y INT)")
        self.duck.execute("INSERT INTO m VALUES (1, 10), (3, 30), (3, 31), (NULL, 0)")

    def name(self) -> str:
        self.made += 1
        return self.random.choice([f"c{self.made}", f"Column {self.made}"])

    def both(self, sql: str) -> None:
        self.db.execute(sql)
        self.duck.execute(of_duckdb(sql).replace("`", '"'))

    def insert(self) -> None:
        values = list[str]()
        for _ in range(self.random.randrange(1, 4)):
            row = [self.random.choice(TYPES.get(kind, ("NULL",))) for _, kind in self.columns.values()]
            if self.key is not None:
                row[[*self.columns].index(self.named("k"))] = str(self.key)
                self.key += 1
            values.append(f"({', '.join(row)})")
        self.both(f"INSERT INTO t VALUES {', '.join(values)}")

    def named(self, what: str) -> str:
        return next(name for name, (one, _) in self.columns.items() if one == what)

    def delete(self) -> None:
        number = [name for name, (_, kind) in self.columns.items() if kind in ("INT", "BIGINT")]
        if number:
            self.both(f"DELETE FROM t WHERE `{self.random.choice(number)}` % 3 = {self.random.randrange(3)}")

    def add(self) -> None:
        name, kind = self.name(), self.random.choice([*TYPES])
        default = self.random.choice(["", f" DEFAULT {self.random.choice(TYPES[kind])}"])
        self.both(f"ALTER TABLE t ADD COLUMN `{name}` {kind}{default}")
        self.columns[name] = (f"c{self.made}", kind)

    def rename(self) -> None:
        old, new = self.random.choice([*self.columns]), self.name()
        new = self.random.choice([new, *(one for one in ("a", "s", "x", "y", "m") if one not in self.columns)])
        self.both(f"ALTER TABLE t RENAME COLUMN `{old}` TO `{new}`")
        self.columns = {(new if name == old else name): what for name, what in self.columns.items()}

    def read(self) -> set[str]:
        """What the views read, by what the columns are."""
        found = set[str]()
        for view in self.db.views.values():
            places = view._query.used_columns().get("t", set())
            found |= {what for place, (what, _) in enumerate(self.columns.values()) if place in places}
        return found

    def drop(self) -> None:
        name = self.random.choice([*self.columns])
        what, _ = self.columns[name]
        if what in self.read() or what == "k" or len(self.columns) == 1:
            with pytest.raises(SchemaError):
                self.db.execute(f"ALTER TABLE t DROP COLUMN `{name}`")
        else:
            self.both(f"ALTER TABLE t DROP COLUMN `{name}`")
            del self.columns[name]

    def widen(self) -> None:
        name = self.random.choice([*self.columns])
        what, kind = self.columns[name]
        if what in self.read() or kind not in WIDER:
            with pytest.raises(SchemaError):
                self.db.execute(f"ALTER TABLE t ALTER COLUMN `{name}` TYPE {WIDER.get(kind, 'TINYINT')}")
        else:
            self.both(f"ALTER TABLE t ALTER COLUMN `{name}` TYPE {WIDER[kind]}")
            self.columns[name] = (what, WIDER[kind])

    def view(self) -> None:
        numbers = [name for name, (_, kind) in self.columns.items() if kind in ("INT", "BIGINT")]
        parts = {"a": f"`{self.random.choice([*self.columns])}`", "n": f"`{self.random.choice(numbers or ['k'])}`"}
        template, name = self.random.choice(VIEWS), f"v{len(self.views)}"
        try:
            self.db.execute(f"CREATE VIEW {name} AS {template.format(t='t', **parts)}")
        except SqlError:  # a name that is in both tables, or is there no more
            return
        text = template.format(t="{t}", **parts).replace("`", '"')
        self.views[name] = (text, {one: what for one, (what, _) in self.columns.items()})

    def reopen(self) -> None:
        self.db.close()
        self.db = livejoin.open(self.path)

    def expected(self, name: str) -> Counter[Any]:
        """The view over the table as it was: columns by the names that they had when the view was made."""
        text, names = self.views[name]
        items = ", ".join(f'"{self.named(w)}" AS "{n}"' for n, w in names.items() if w in self.present())
        return multiset(self.duck.sql(text.format(t=f"(SELECT {items} FROM t) t")).to_arrow_table())

    def present(self) -> set[str]:
        return {what for what, _ in self.columns.values()}

    def check(self) -> None:
        assert multiset(self.db.sql("SELECT * FROM t")) == multiset(self.duck.sql("SELECT * FROM t").to_arrow_table())
        for name in self.views:
            assert multiset(self.db.views[name].to_arrow()) == self.expected(name), name
        self.db._check()


def told(changes: livejoin.Changes) -> Counter[Any]:
    """The rows that one who follows a view has."""
    found = Counter[Any]()
    while True:
        try:
            update = changes.next(timeout=0)
        except TimeoutError:
            return +found
        assert update is not None
        found = Counter() if update.reset else found
        for row, count in signed_multiset(update.delta).items():
            found[row] += count


@pytest.mark.parametrize(("seed", "key", "options"), [(1, True, ""), (2, False, ""), (3, False, "rows")])
def test_rows_and_views_go_on_beside_duckdb(tmp_path: Path, seed: int, key: bool, options: str) -> None:
    window = "TBLPROPERTIES ('livejoin.window_rows' = '100000')" if options else ""
    sides = Sides(seed, tmp_path, key, window)
    steps = [sides.insert, sides.insert, sides.delete, sides.add, sides.rename, sides.drop, sides.widen, sides.reopen]
    for number in range(2 * ROUNDS):
        if number % 6 == 1 and len(sides.views) < 5:
            sides.view()
        sides.random.choice(steps)()
        sides.check()
        before = {name: multiset(view.to_arrow()) for name, view in sides.db.views.items()}
        heard = {name: list[Any]() for name in before}
        ends = [view.subscribe(heard[name].append) for name, view in sides.db.views.items()]
        followed = {name: view.changes() for name, view in sides.db.views.items()}
        at, truth = sides.db.snapshot(), {name: Counter(rows) for name, rows in before.items()}
        rows = multiset(sides.db.sql("SELECT * FROM t"))
        sides.random.choice([sides.insert, sides.delete, sides.rename])()
        sides.insert()
        sides.check()
        for name, view in sides.db.views.items():
            for delta in heard[name]:
                before[name].update(signed_multiset(delta))
            assert +before[name] == multiset(view.to_arrow()), name
            assert multiset(at[name].to_arrow()) == truth[name], name
            assert told(followed[name]) == multiset(view.to_arrow()), name
        try:
            assert multiset(at["t"].to_arrow()) == rows
        except ReadError as error:
            assert "got other columns" in str(error)  # or it has not
        at.close()
        for end in ends:
            end()
    sides.db.close()


def test_a_table_gets_another_name(tmp_path: Path) -> None:
    db = livejoin.open(tmp_path / "db")
    db.execute(
        "CREATE TABLE p (id INT PRIMARY KEY, a INT, p INT REFERENCES p (id)); "
        "CREATE TABLE f (x INT, p INT REFERENCES p (id)); CREATE VIEW w AS SELECT * FROM p; "
        "CREATE VIEW v AS SELECT p.id, f.x FROM p JOIN f ON p.id = f.p; CREATE VIEW ww AS SELECT id FROM w;"
        "INSERT INTO p VALUES (1, 2, 1), (2, 3, NULL); INSERT INTO f VALUES (5, 1), (6, 2)"
    )
    heard = list[Any]()
    db.views["v"].subscribe(heard.append)
    db.execute("ALTER TABLE p ADD COLUMN z INT DEFAULT 4; ALTER TABLE p RENAME TO q; ALTER TABLE q RENAME TO Q")
    db.execute("CREATE TABLE p (s STRING); INSERT INTO p VALUES ('new')")
    db.execute("INSERT INTO q VALUES (3, 3, 3, 3); INSERT INTO f VALUES (7, 3)")
    assert signed_multiset(heard[-1]) == Counter({(3, 7): 1})
    assert db.views["v"].sql == "SELECT p.id, f.x FROM `Q` p JOIN f ON p.id = f.p"
    assert [*db.tables] == ["Q", "f", "p"]  # in the order in which they can be declared
    assert {key.table for table in db.tables.values() for key in table.foreign_keys} == {"Q"}
    seen = {name: multiset(db.sql(f"SELECT * FROM {name}")) for name in (*db.tables, *db.views)}
    for name in ("f", "v", "P"):
        with pytest.raises(SchemaError, match="is taken by"):
            db.execute(f"ALTER TABLE q RENAME TO {name}")
    for _ in range(2):
        db._check()
        db.close()
        db = livejoin.open(tmp_path / "db")
        assert {name: multiset(db.sql(f"SELECT * FROM {name}")) for name in seen} == seen
    db.save(tmp_path / "saved")
    loaded = livejoin.Database.load(tmp_path / "saved")
    assert {name: multiset(loaded.sql(f"SELECT * FROM {name}")) for name in seen} == seen
    db.close()


def test_deltas_and_subscriptions_go_on() -> None:
    db = livejoin.Database()
    db.execute(
        "CREATE TABLE t (k INT, a INT, s STRING); CREATE VIEW v AS SELECT * FROM t; INSERT INTO t VALUES (1, 2, 'x')"
    )
    heard = list[Any]()
    view = db.views["v"]
    view.subscribe(heard.append)
    db.execute(
        "ALTER TABLE t ADD COLUMN b INT DEFAULT 7; ALTER TABLE t RENAME COLUMN a TO c; "
        "INSERT INTO t VALUES (3, 4, 'y', 5)"
    )
    assert view is db.views["v"]
    assert view.schema.names == ["k", "a", "s"]
    assert view.sql == "SELECT * FROM (SELECT `k`, `c` AS `a`, `s` FROM `t`) t"
    commit = db.execute("DELETE FROM t WHERE c = 2")
    assert commit is not None
    assert signed_multiset(commit["v"]) == Counter({(1, 2, "x"): -1})
    assert len(heard) == 2


def test_what_stands_in_the_way_is_named() -> None:
    db = livejoin.Database()
    db.execute(
        "CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, c INT CHECK (c > 0), free INT); "
        "CREATE TABLE f (id INT, p INT REFERENCES p (id)); INSERT INTO p VALUES (1, 1, 1, 1), (2, 2, 2, NULL); "
        "CREATE VIEW v AS SELECT id, free FROM p; CREATE VIEW w AS SELECT free FROM v"
    )
    for sql, why in {
        "ALTER TABLE p DROP COLUMN id": "because the PRIMARY KEY needs the column 'id'",
        "ALTER TABLE p DROP COLUMN u": "UNIQUE",
        "ALTER TABLE p DROP COLUMN c": r"CONSTRAINT c_check CHECK \(c > 0\)",
        "ALTER TABLE f DROP COLUMN p": "FOREIGN KEY",
        "ALTER TABLE p DROP COLUMN free": "is read by 'v', 'w'",
        "ALTER TABLE p ALTER COLUMN free TYPE BIGINT": "is read by 'v', 'w'",
        "ALTER TABLE p ALTER COLUMN u TYPE SMALLINT": "does not take all of its values; allowed are larger integers",
        "ALTER TABLE p RENAME COLUMN u TO FREE": "there is a column of that name",
        "ALTER TABLE p RENAME COLUMN nope TO x": "no column 'nope'",
        "ALTER TABLE p ADD COLUMN u INT": "declared twice",
        "ALTER TABLE p ADD COLUMN new INT NOT NULL": "give it a DEFAULT",
        "ALTER TABLE p ADD COLUMN new INT DEFAULT 'x'": "does not fit INT",
        "ALTER TABLE p ADD CONSTRAINT small CHECK (free < 1)": r"row \(id = 1, free = 1\) breaks CHECK small",
        "ALTER TABLE p ADD CONSTRAINT small CHECK (nope < 1)": "no column 'nope'",
        "ALTER TABLE p ADD CONSTRAINT c_check CHECK (free < 9)": "declared twice",
        "ALTER TABLE p DROP CONSTRAINT nope": "no CHECK 'nope'; it has c_check",
        "ALTER TABLE p ALTER COLUMN u SET DEFAULT 'x'": "does not fit INT",
        "ALTER TABLE p ADD COLUMN new INT UNIQUE": "a key with the table",
        "ALTER TABLE f ALTER COLUMN p TYPE DECIMAL(10, 0)": "does not take all",
        "ALTER TABLE v ADD COLUMN x INT": "is a view",
        "ALTER TABLE p FROBNICATE": "ADD COLUMN c type",
    }.items():
        declared = dict(db.tables)
        with pytest.raises((SchemaError, SqlError, ChangeValueError), match=why):
            db.execute(sql)
        assert dict(db.tables) == declared
        db._check()
    db.execute("ALTER TABLE p RENAME COLUMN id TO number; ALTER TABLE p RENAME COLUMN c TO `x y`")
    assert db.tables["f"].foreign_keys[0].references == ("number",)
    with pytest.raises(ChangeValueError, match=r"CHECK c_check \(`x y` > 0\)"):
        db.execute("INSERT INTO p VALUES (3, 3, 0, 0)")
    db.execute("ALTER TABLE p DROP CONSTRAINT IF EXISTS nope; ALTER TABLE p DROP CONSTRAINT c_check")
    db.execute("ALTER TABLE p DROP COLUMNS (`x y`); ALTER TABLE p DROP COLUMN IF EXISTS `x y`")
    db.execute("ALTER TABLE p ADD COLUMN IF NOT EXISTS free INT; INSERT INTO p VALUES (3, 3, 0)")
    assert db.sql("SELECT * FROM w").num_rows == 3


def test_a_view_whose_text_has_the_new_name_keeps_its_meaning() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE o (id INT, c INT); CREATE TABLE t (o INT); INSERT INTO o VALUES (1, 5), (2, 6)")
    db.execute(
        "INSERT INTO t VALUES (1), (2); "
        "CREATE VIEW v AS SELECT id FROM o WHERE EXISTS (SELECT 1 FROM t WHERE o = id AND c = 5)"
    )
    assert db.views["v"].to_pylist() == [{"id": 1}]
    db.execute("ALTER TABLE t ADD COLUMN c INT DEFAULT 5")  # within the sub-query it would be this one
    assert db.views["v"].to_pylist() == [{"id": 1}]
    db.execute("INSERT INTO o VALUES (1, 7), (1, 5)")
    assert db.views["v"].to_pylist() == [{"id": 1}, {"id": 1}]


def test_tables_that_forget_and_tables_that_keep_some_columns(tmp_path: Path) -> None:
    db = livejoin.open(tmp_path)
    db.execute(
        "CREATE TABLE s (id INT PRIMARY KEY, at INT, a INT, b INT) TBLPROPERTIES ('livejoin.sequence_by' = 'at'); "
        "CREATE TABLE w (at INT, a INT, b INT) TBLPROPERTIES ('livejoin.window_range' = 'at 10'); "
        "CREATE TABLE r (a INT, b INT, c INT) TBLPROPERTIES ('livejoin.retain' = 'used'); "
        "CREATE TABLE last (a INT, b INT) TBLPROPERTIES ('livejoin.window_rows' = '3'); "
        "CREATE VIEW v AS SELECT b FROM r"
    )
    db.apply("s", [{"id": i, "at": 5, "a": i, "b": i, "_change_type": "upsert"} for i in range(4)])
    db.apply("s", [{"id": 1, "at": 9, "_change_type": "delete"}])
    db.apply("w", [(at, at, 0) for at in (1, 5, 12)])
    db.apply("r", [(1, 2, 3), (1, 2, 4)])
    db.apply("last", [(1, 1), (2, 1), (3, 1), (2, 1)])
    db.execute(
        "ALTER TABLE s DROP COLUMN a; ALTER TABLE s RENAME COLUMN at TO seq; ALTER TABLE s ADD COLUMN z INT DEFAULT 1"
    )
    db.execute("ALTER TABLE w DROP COLUMN a; ALTER TABLE w RENAME COLUMN at TO time")
    db.execute("ALTER TABLE r ADD COLUMN d INT DEFAULT 4; ALTER TABLE r DROP COLUMN a; ALTER TABLE last DROP COLUMN a")
    with pytest.raises(SchemaError, match="whose type stays"):
        db.execute("ALTER TABLE s ALTER COLUMN seq TYPE BIGINT")
    for _ in range(2):
        assert multiset(db.sql("SELECT * FROM w")) == Counter({(5, 0): 1, (12, 0): 1})
        assert multiset(db.sql("SELECT * FROM last")) == Counter({(1,): 3})
        assert multiset(db.sql("SELECT b, d FROM r")) == Counter({(2, 4): 2})
        db._check()
        db.close()
        db = livejoin.open(tmp_path)
    late = db.apply("s", [{"id": 1, "seq": 7, "b": 0, "z": 0, "_change_type": "upsert"}])
    assert late.late == 1
    db.apply("last", [(5,)])
    assert multiset(db.sql("SELECT * FROM last")) == Counter({(1,): 2, (5,): 1})
    db.apply("w", [(16, 1)])
    assert multiset(db.sql("SELECT time FROM w")) == Counter({(12,): 1, (16,): 1})
    db.close()


def test_the_time_that_a_new_column_has_is_in_the_log(tmp_path: Path) -> None:
    db = livejoin.open(tmp_path)
    db.execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN at TIMESTAMP DEFAULT now()")
    found = db.sql("SELECT * FROM t")
    db.close()
    db = livejoin.open(tmp_path)
    assert db.sql("SELECT * FROM t").equals(found)
    db.close()


ALTERS = (
    "ALTER TABLE t ADD COLUMN c STRING DEFAULT 'new'",
    "ALTER TABLE t RENAME COLUMN a TO b",
    "ALTER TABLE t DROP COLUMN d",
    "ALTER TABLE t ALTER COLUMN d TYPE TIMESTAMP",
    "ALTER TABLE t RENAME TO other",
)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        pytest.param(sql, error, marks=[pytest.mark.torture] if (place + other) % 2 else [])
        for place, sql in enumerate(ALTERS)
        for other, error in enumerate((KeyboardInterrupt, MemoryError))
    ],
)
def test_a_change_of_columns_that_is_cut_off_stands_whole_or_not_at_all(
    tmp_path: Path, error: type[BaseException], sql: str
) -> None:
    def made(path: Path | None) -> livejoin.Database:
        db = livejoin.Database(path)
        db.execute(
            "CREATE TABLE t (k INT, a INT, d DATE); INSERT INTO t VALUES (1, 2, DATE '2026-01-01'), (1, 2, NULL)"
        )
        db.execute("CREATE VIEW v AS SELECT k, SUM(a) AS n FROM t GROUP BY k; CREATE VIEW w AS SELECT k, a FROM t")
        return db

    before, whole = made(None), made(None)
    old = whole.tables["t"]
    total = cut_off(lambda: whole.execute(sql), error, NEVER).points
    random = Random(5)
    for number, at in enumerate(sorted(random.sample(range(1, total + 1), min(total, POINTS // 4)))):
        folder = tmp_path / str(number) if number % 3 == 0 else None
        db = made(folder)
        cut = cut_off(lambda db=db: db.execute(sql), error, at)
        for again in range(2 if folder is not None else 1):
            if again:
                db.close()
                db = livejoin.open(folder)
            (table,) = db.tables
            stands = table != "t" or db.tables[table] != old
            model = whole if stands else before
            assert dict(db.tables) == dict(model.tables), cut.where
            assert multiset(db.sql(f"SELECT * FROM {table}")) == multiset(model.sql(f"SELECT * FROM {table}")), (
                cut.where
            )
            assert multiset(db.views["v"].to_arrow()) == Counter({(1, 4): 1}), cut.where
            assert multiset(db.views["w"].to_arrow()) == Counter({(1, 2): 2}), cut.where
            db._check()
        commit = db.apply(table, [{"k": 1}], coerce="json")
        assert signed_multiset(commit["w"]) == Counter({(1, None): 1}), cut.where
        db.close()


def test_a_view_with_emit_final_says_why_a_name_stays() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE e (k INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '10 minutes')")
    db.create_view("v", "SELECT window.start AS w, COUNT(*) AS n FROM e GROUP BY window(ts, '1 hour') EMIT FINAL")
    with pytest.raises(SchemaError, match=r"sub-query that has the names of before, and EMIT FINAL closes .* alone"):
        db.execute("ALTER TABLE e RENAME COLUMN ts TO at")
    db.drop_view("v")
    db.execute("ALTER TABLE e RENAME COLUMN k TO key")
