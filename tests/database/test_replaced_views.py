"""CREATE OR REPLACE VIEW: one commit, whose deltas are the differences of the results."""

from __future__ import annotations

import json
import os
from collections import Counter
from itertools import cycle
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import livejoin
from livejoin.database.snapshots.declaration import plain_view, read_view
from livejoin.errors import ExpressionError, MemoryLimitError, ReadError, SchemaError, UnsupportedQueryError
from oracle import connect, multiset, signed_multiset, without_zeros
from scenario import Row
from strategies import EXAMPLES
from torture.interrupts import cut_off

QUERIES = (
    "SELECT k, n FROM t",
    "SELECT k, n FROM t WHERE n > 3",
    "SELECT DISTINCT k, n FROM t",
    "SELECT n AS k, k AS n FROM t",
    "SELECT a.k, b.n FROM t a JOIN t b ON a.n = b.k",
    "SELECT k, MAX(n) AS n FROM t GROUP BY k",
    "SELECT k, n FROM t ORDER BY n NULLS FIRST, k NULLS FIRST",
    "SELECT k, n FROM t ORDER BY n NULLS FIRST, k NULLS FIRST LIMIT 3",
    "SELECT k, n FROM t UNION ALL SELECT x AS k, x AS n FROM u",
    "SELECT a.k, a.n FROM t a JOIN u ON a.k = u.x JOIN t b ON b.k = u.x",
)
OTHER = "SELECT k FROM t"
ABOVE = "SELECT k, COUNT(*) AS c, MAX(n) AS m FROM v GROUP BY k"
STEP = 25 if "LIVEJOIN_FUZZ" in os.environ else 20_000
"""The most points between two at which a call is cut off."""


class Tables:
    """Two tables in a database, in DuckDB and as lists, which change at random."""

    def __init__(self, db: livejoin.Database, pick: Random) -> None:
        self.db, self.pick = db, pick
        self.rows: dict[str, list[tuple[int | None, ...]]] = {"t": [], "u": []}
        self.recomputed = connect()
        for run in (db.execute, self.recomputed.execute):
            run("CREATE TABLE t (k BIGINT, n BIGINT)")
            run("CREATE TABLE u (x BIGINT)")

    def change(self) -> None:
        """Delete some rows, and insert others, of which some are equal and some have NULL."""
        changes = {}
        for name, rows in self.rows.items():
            gone = self.pick.sample(rows, min(len(rows), self.pick.randrange(3)))
            come = [
                tuple(self.pick.choice([None, *range(6)]) for _ in self.db.tables[name].columns)
                for _ in range(self.pick.randrange(4))
            ]
            for row in gone:
                rows.remove(row)
            rows.extend(come)
            marked = [(*row, "delete") for row in gone] + [(*row, "insert") for row in come]
            names = [*(column.name for column in self.db.tables[name].columns), "_change_type"]
            changes[name] = [dict(zip(names, row, strict=True)) for row in marked]
        self.db.apply({name: rows for name, rows in changes.items() if rows} or {"t": []})
        for name, rows in self.rows.items():
            self.recomputed.execute(f"DELETE FROM {name}")
            for row in rows:
                self.recomputed.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)

    def check(self) -> None:
        """Compare all views with DuckDB."""
        self.db._check()
        self.recomputed.execute(f"CREATE OR REPLACE VIEW v AS {self.db.views['v'].sql}")
        for name, view in self.db.views.items():
            expected = self.recomputed.sql(ABOVE if name == "above" else "FROM v").to_arrow_table()
            assert multiset(view.to_arrow()) == multiset(expected), view.sql


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("deltas", [True, False])
def test_a_view_is_its_new_query_and_the_delta_is_the_difference(tmp_path: Path, deltas: bool, threads: int) -> None:
    for seed in range(1 if EXAMPLES <= 4 else EXAMPLES // 10):
        pick = Random(f"{seed} {deltas} {threads}")
        db = livejoin.open(tmp_path / str(seed), threads=threads, sync="off")
        tables = Tables(db, pick)
        db.create_view("v", QUERIES[0], deltas=deltas)
        db.create_view("above", ABOVE)
        told = Counter[Row]()
        db.views["above"].subscribe(lambda delta, told=told: told.update(signed_multiset(delta)))
        for step in range(8):
            tables.change()
            before = {name: multiset(view.to_arrow()) for name, view in db.views.items()}
            version = db.version
            commit = db.execute(f"CREATE OR REPLACE VIEW v AS {pick.choice(QUERIES)}")
            assert commit is not None
            assert commit.version == db.version == version + 1
            tables.check()
            for name in commit.views:
                now = before[name].copy()
                now.update(signed_multiset(commit[name]))
                assert without_zeros(now) == multiset(db.views[name].to_arrow())
            assert ("v" in commit.views) == deltas
            assert without_zeros(told) == multiset(db.views["above"].to_arrow())
            if step % 3 == 2:
                db.close()
                tables.db = db = livejoin.open(tmp_path / str(seed), threads=threads, sync="off")
                assert db.version == version + 1
                tables.check()
                told = multiset(db.views["above"].to_arrow())
                db.views["above"].subscribe(lambda delta, told=told: told.update(signed_multiset(delta)))
        db.close()


def test_a_view_that_does_not_fit_is_refused_and_one_with_other_columns_is_another() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT, n BIGINT)")
    db.create_view("v", QUERIES[0])
    db.create_view("above", ABOVE)
    with pytest.raises(SchemaError, match="read by 'above'"):
        db.execute("CREATE OR REPLACE VIEW v AS SELECT n FROM t")
    with pytest.raises(SchemaError, match="would read itself"):
        db.execute("CREATE OR REPLACE VIEW v AS SELECT k, c AS n FROM above")
    db.drop_view("above")
    old, heard = db.views["v"], list[object]()
    old.subscribe(heard.append)
    new = db.create_view("v", OTHER, replace=True)
    db.apply("t", [(1, 1)])
    assert new is db.views["v"]
    assert new is not old
    assert not heard
    assert new.schema.names == ["k"]


def test_a_replacement_that_is_cut_off_stands_whole_or_not_at_all(tmp_path: Path) -> None:
    pick, errors = Random(2), cycle((KeyboardInterrupt, MemoryError))
    for number, query in enumerate((QUERIES[4], QUERIES[1], OTHER)):
        at, ended = 1, False
        while not ended:
            folder = tmp_path / f"{number} {at}"
            db = livejoin.open(folder, sync="off")
            db.execute("CREATE TABLE t (k BIGINT, n BIGINT)")
            view = db.create_view("v", QUERIES[0])
            if query != OTHER:
                db.create_view("above", "SELECT k, COUNT(*) AS c FROM v GROUP BY k")
            db.apply("t", [(1, 2), (2, 3), (2, 5), (5, None)])
            old, heard = multiset(view.to_arrow()), list[pa.Table]()
            view.subscribe(heard.append)
            cut = cut_off(lambda db=db, query=query: db.create_view("v", query, replace=True), next(errors), at)
            ended = cut.points < at
            db._check()
            stands = db.version == 2
            assert stands or db.version == 1
            expected = multiset(db.sql(query if stands else QUERIES[0]))
            assert multiset(db.views["v"].to_arrow()) == expected
            assert db.views["v"].sql == (query if stands else QUERIES[0])
            assert len(heard) == (stands and query != OTHER), cut.where
            assert (view is db.views["v"]) == (query != OTHER or not stands)
            now = Counter(old)
            for delta in heard:
                now.update(signed_multiset(delta))
            assert +now == (expected if view is db.views["v"] else old), cut.where
            db.apply("t", [(2, 4), (4, 1)])
            db._check()
            seen = {name: (one.sql, multiset(one.to_arrow())) for name, one in db.views.items()}
            db.close()
            with livejoin.open(folder) as again:
                assert {name: (one.sql, multiset(one.to_arrow())) for name, one in again.views.items()} == seen
            at += 1 + pick.randrange(STEP)


def test_lists_that_aggregates_make() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT, n BIGINT)")
    db.create_view("v", "SELECT k, COLLECT_LIST(n) AS l FROM t GROUP BY k")
    db.apply("t", [(1, 2), (2, 3), (3, None), (4, 9)])
    db.create_view("v", "SELECT k, COLLECT_LIST(n) AS l FROM t WHERE k < 4 GROUP BY k", replace=True)
    commit = db.execute("CREATE OR REPLACE VIEW v AS SELECT k, COLLECT_LIST(n + 1) AS l FROM t WHERE n > 2 GROUP BY k")
    assert commit is not None
    rows = [(one["k"], one["l"], one["_change_type"]) for one in commit["v"].to_pylist()]
    assert sorted(rows, key=repr) == [
        (1, [2], "delete"),
        (2, [3], "delete"),
        (2, [4], "insert"),
        (3, [], "delete"),
        (4, [10], "insert"),
    ]


def test_a_result_that_memory_does_not_hold_is_refused_before_it_is_read() -> None:
    db = livejoin.Database(memory_limit=20_000_000)
    db.execute("CREATE TABLE o (id INT, a INT)")
    db.apply("o", [(number, number) for number in range(3_000)])
    view = db.create_view("v", "SELECT id, a FROM o WHERE id < 10")
    with pytest.raises(MemoryLimitError, match=r"'v' has 900,010 rows before and behind the replacement"):
        db.execute("CREATE OR REPLACE VIEW v AS SELECT x.id, y.a FROM o x JOIN o y ON x.id % 10 = y.id % 10")
    assert view.count() == 10
    db.execute("CREATE OR REPLACE VIEW v AS SELECT id, a FROM o WHERE id < 20")
    assert view.count() == 20


def test_a_delta_names_the_keys_that_both_queries_have_and_followers_begin_anew() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE o (id INT PRIMARY KEY, cust STRING, amount BIGINT)")
    db.execute("INSERT INTO o VALUES (1, 'a', 5), (2, 'a', 7), (3, 'b', 1)")
    view = db.create_view("v", "SELECT cust, amount AS t FROM o")
    changes = view.changes(since=1)
    commit = db.execute("CREATE OR REPLACE VIEW v AS SELECT cust, SUM(amount) AS t FROM o GROUP BY cust")
    assert commit is not None
    assert json.loads(commit["v"].schema.metadata[b"livejoin.keys"]) == []
    assert view.keys == (("cust",),)
    update = changes.next(timeout=0)
    assert update is not None
    assert update.reset
    assert json.loads(update.delta.schema.metadata[b"livejoin.keys"]) == [["cust"]]
    commit = db.execute("CREATE OR REPLACE VIEW v AS SELECT MAX(cust) AS cust, SUM(amount) AS t FROM o")
    assert commit is not None
    assert json.loads(commit["v"].schema.metadata[b"livejoin.keys"]) == [["cust"]]


def test_what_holds_a_view_that_is_gone_is_told_so() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE o (id INT)")
    db.apply("o", [(1,), (2,)])
    view = db.create_view("v", "SELECT id FROM o")
    batches = view.batches(1)
    next(batches)
    db.execute("CREATE OR REPLACE VIEW v AS SELECT id + 1 AS id FROM o")
    with pytest.raises(ReadError, match="changed while it was read in batches"):
        list(batches)
    batches = view.batches(1)
    next(batches)
    db.execute("DROP VIEW v")
    with pytest.raises(ReadError, match="'v' was dropped, or replaced by one with other columns"):
        list(batches)
    with pytest.raises(ReadError, match="'v' was dropped"):
        view.subscribe(print)


def test_a_product_stays_allowed_where_the_view_is_kept(tmp_path: Path) -> None:
    text = "CREATE OR REPLACE VIEW v AS SELECT t.k, u.x FROM t, u WHERE t.k {} u.x"
    with livejoin.open(tmp_path / "shop") as db:
        db.execute("CREATE TABLE t (k BIGINT); CREATE TABLE u (x BIGINT); INSERT INTO t VALUES (1), (2)")
        db.execute("INSERT INTO u VALUES (2), (3)")
        with pytest.raises(UnsupportedQueryError, match="allow_product=True"):
            db.execute(text.format("<"))
        db.execute(text.format("<"), allow_product=True)
        commit = db.execute(text.format("<="))
        assert commit is not None and commit["v"].to_pylist() == [
            {"k": 2, "x": 2, "_change_type": "insert", "_commit_version": db.version}
        ]
    with livejoin.open(tmp_path / "shop") as db:
        db.execute(text.format(">="))
        db.save(tmp_path / "saved")
        kept = json.loads(json.dumps(plain_view(db.views["v"].image)))
        db.create_view("v", "SELECT k FROM t", replace=True)
        with pytest.raises(UnsupportedQueryError, match="allow_product=True"):
            db.execute(text.format("<"))
    found = livejoin.Database.load(tmp_path / "saved")
    found.execute(text.format(">"))
    assert found.views["v"].to_pylist() == []
    assert read_view(kept, {}).allow_product
    del kept["allow_product"]  # as older versions wrote it
    assert not read_view(kept, {}).allow_product


WORN = """
CREATE TABLE o (id BIGINT PRIMARY KEY, name STRING, n DOUBLE, d BIGINT); INSERT INTO o VALUES (1, 'a', 2, 0);
CREATE VIEW v AS SELECT id, name, n, d FROM o;
CREATE VIEW w AS SELECT * FROM v; CREATE VIEW sums AS SELECT name, SUM(n) AS s FROM v GROUP BY name;
CREATE VIEW on_w AS SELECT id FROM w; CREATE VIEW on_sums AS SELECT s FROM sums
"""


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        ("id, name, n", "'w' (it would lose column 'd'), 'on_w' (it reads 'w')"),
        ("id, name, n, d, 1 AS e", "'w' (it would get a column 'e', INT), 'on_w' (it reads 'w')"),
        ("name, id, n, d", "'w' (its columns would stand in the order 'name', 'id', 'n', 'd'), 'on_w' (it reads 'w')"),
        (
            "id, name, CAST(n AS BIGINT) AS n, d",
            "'w' (its column 'n' would be BIGINT, and is DOUBLE), 'sums' (its column 's' would be BIGINT, and is "
            "DOUBLE), 'on_w' (it reads 'w'), 'on_sums' (it reads 'sums')",
        ),
        (
            "id, name AS x, n, d",
            "'w' (it would lose column 'name'; it would get a column 'x', STRING), 'sums' (no column ",
        ),
    ],
)
def test_readers_that_do_not_fit_say_why_each(query: str, reasons: str) -> None:
    db = livejoin.Database()
    db.execute(WORN)
    with pytest.raises(SchemaError) as caught:
        db.execute(f"CREATE OR REPLACE VIEW v AS SELECT {query} FROM o")
    assert str(caught.value).startswith(f"view 'v' is read by {reasons}")


@pytest.mark.parametrize("deltas", [True, False])
def test_what_a_new_query_has_no_value_for_is_said_of_it_and_not_of_a_reader(deltas: bool) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE o (id BIGINT PRIMARY KEY, d BIGINT); INSERT INTO o VALUES (1, 0)")
    db.create_view("v", "SELECT id, d FROM o", deltas=deltas)
    db.execute("CREATE VIEW w AS SELECT id, SUM(d) AS s FROM v GROUP BY id")
    db.execute("CREATE VIEW x AS SELECT id, MAX(2 DIV (d + 1)) AS s FROM v GROUP BY id")
    with pytest.raises(ExpressionError, match=r"^view 'v': cannot evaluate 'id DIV d'"):
        db.execute("CREATE OR REPLACE VIEW v AS SELECT id, id DIV d AS d FROM o")
    with pytest.raises(ExpressionError, match=r"^view 'x': cannot evaluate '2 DIV "):
        db.execute("CREATE OR REPLACE VIEW v AS SELECT id, d - 1 AS d FROM o")


def test_what_a_replacement_gives_and_which_options_it_keeps() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT, n BIGINT); INSERT INTO t VALUES (1, 2), (1, 5), (2, 3)")
    text = "CREATE OR REPLACE VIEW v AS SELECT k, {}(n) AS m FROM t GROUP BY k"
    assert db.execute(text.format("MAX")) is None
    heard = list[pa.Table]()
    db.views["v"].subscribe(heard.append)
    commit = db.execute(text.format("MIN"))
    assert commit is not None
    assert sorted((row["_change_type"], row["k"], row["m"]) for row in commit["v"].to_pylist()) == [
        ("delete", 1, 5),
        ("insert", 1, 2),
    ]
    without = db.create_view("v", db.views["v"].sql, deltas=False, replace=True)
    db.execute("INSERT INTO t VALUES (1, 0)")
    assert (len(heard), without.deltas) == (1, False)
    db.execute(text.format("MAX"))
    assert not db.views["v"].deltas
    assert db.create_view("v", text.format("MIN").partition(" AS ")[2], replace=True).deltas
