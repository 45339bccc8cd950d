"""The client against the real server, over connections that break: what it holds is what DuckDB recomputes."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import livejoin
from cutting_proxy import cutting_proxy
from livejoin.client import Client, Following, Upserts
from livejoin.errors import ChangeValueError, DuplicateKeyError, ReadError, SqlSyntaxError, UnknownNameError
from oracle import assert_same_rows, connect, multiset

pytest.importorskip("starlette")

from livejoin.server import Server

pytestmark = pytest.mark.timeout(120)
STEPS = int(os.environ.get("LIVEJOIN_FUZZ", "25"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "1"))
QUERIES = {
    "sums": "SELECT name, SUM(amount) AS total, COUNT(*) AS n FROM orders GROUP BY name",
    "pairs": "SELECT o.name, o.amount, l.qty FROM orders o JOIN lines l ON o.id = l.id",
}


class Copy:
    """A view as one who follows knows it."""

    def __init__(self, told: Following[Any]) -> None:
        self.told = told
        self.rows: Counter[Any] = Counter()
        self.version = -1
        self.resets = 0

    def catch_up(self, version: int) -> None:
        """Take messages until a version; what does not fit to the rows that are there is a gap or a double."""
        while self.version < version:
            update = next(self.told)
            assert update.version > self.version
            self.version = update.version
            self.resets += update.reset
            if update.reset:
                self.rows.clear()
            if isinstance(update, Upserts):
                self._put(update)
            else:
                self._change(update.changes)
            assert min(self.rows.values(), default=1) > 0

    def _change(self, changes: list[dict[str, Any]] | pa.Table) -> None:
        listed = changes if isinstance(changes, list) else changes.drop_columns(["_commit_version"]).to_pylist()
        for one in listed:
            sign = -1 if one.pop("_change_type") in ("delete", "update_preimage") else 1
            self.rows[tuple(one.values())] += sign
        self.rows = Counter({row: count for row, count in self.rows.items() if count})

    def _put(self, update: Upserts) -> None:
        gone = {one["name"] for one in [*update.gone, *update.puts]}
        if update.gone:
            assert {one["name"] for one in update.gone} <= {row[0] for row in self.rows}
        self.rows = Counter({row: count for row, count in self.rows.items() if row[0] not in gone})
        self.rows.update(tuple(one.values()) for one in update.puts)


@pytest.fixture(scope="module")
def database() -> livejoin.Database:
    db = livejoin.Database()
    db.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, name STRING, amount BIGINT)")
    db.execute("CREATE TABLE lines (id BIGINT, qty BIGINT)")
    for name, sql in QUERIES.items():
        db.create_view(name, sql)
    return db


def test_followers_hold_what_duckdb_recomputes(database: livejoin.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits with deletes, duplicates and NULLs; connections of writer and readers that break anywhere."""
    monkeypatch.setattr("livejoin.client.patience._FIRST", 0.01)
    draw = random.Random(SEED)
    orders: dict[int, tuple[str | None, int | None]] = {}
    lines: list[tuple[int, int]] = []
    with (
        Server(database, port=0, tick=0.0) as server,
        cutting_proxy(urlsplit(server.url).port or 0) as proxy,
        livejoin.connect(proxy.url) as client,
    ):
        copies = [
            ("sums", Copy(client.changes("sums"))),
            ("sums", Copy(client.changes("sums", shape="upsert"))),
            ("pairs", Copy(client.changes("pairs"))),
            ("pairs", Copy(client.changes("pairs", shape="arrow"))),
        ]
        expected = _recomputed(orders, lines)
        changed = dict.fromkeys(QUERIES, 0)  # the version that changed each view last; others are not told
        for step in range(STEPS):
            for _ in range(draw.randrange(3)):
                proxy.cut_behind(draw.randrange(1500))
            if draw.random() < 0.5:
                proxy.cut()
            _write(client, draw, orders, lines)
            before, expected = expected, _recomputed(orders, lines)
            for name in QUERIES:
                if multiset(before[name]) != multiset(expected[name]):
                    changed[name] = step + 1
            for name, copy in copies:
                if step % 3 == 0 or draw.random() < 0.5:  # others come later, to more than one change
                    copy.catch_up(changed[name])
                    assert_same_rows(multiset(copy.rows.elements()), expected[name], f"{name}, step {step}")
            for name in QUERIES:
                assert_same_rows(client.rows(name), expected[name], name)
        assert database.version == STEPS  # no commit was done twice, and none was lost
        for name, copy in copies:
            copy.catch_up(changed[name])
            assert_same_rows(multiset(copy.rows.elements()), expected[name], name)


def _write(
    client: Client, draw: random.Random, orders: dict[int, tuple[str | None, int | None]], lines: list[tuple[int, int]]
) -> None:
    """One commit by the client, and the same one on the lists."""
    upserts = {draw.randrange(9): (draw.choice(["a", "b", None]), draw.choice([None, 1, 2**60 + 1])) for _ in range(3)}
    gone = [one for one in orders if one not in upserts and draw.random() < 0.2]
    came = [(draw.randrange(9), draw.randrange(2)) for _ in range(draw.randrange(3))]
    went = draw.sample(lines, k=min(len(lines), draw.randrange(3)))
    changes = [{"_change_type": "upsert", "id": one, "name": n, "amount": a} for one, (n, a) in upserts.items()]
    changes += [{"_change_type": "delete", "id": one} for one in gone]
    moves = [{"_change_type": "insert", "id": one, "qty": qty} for one, qty in came]
    moves += [{"_change_type": "delete", "id": one, "qty": qty} for one, qty in went]
    orders.update(upserts)
    for one in gone:
        del orders[one]
    lines += came
    for line in went:
        lines.remove(line)
    client.apply({"orders": changes, "lines": moves})


def _recomputed(orders: dict[int, tuple[str | None, int | None]], lines: list[tuple[int, int]]) -> dict[str, pa.Table]:
    with connect() as duck:
        duck.execute("CREATE TABLE orders (id BIGINT, name VARCHAR, amount BIGINT)")
        duck.execute("CREATE TABLE lines (id BIGINT, qty BIGINT)")
        if orders:
            duck.executemany("INSERT INTO orders VALUES (?, ?, ?)", [[one, *rest] for one, rest in orders.items()])
        if lines:
            duck.executemany("INSERT INTO lines VALUES (?, ?)", [list(line) for line in lines])
        return {name: duck.sql(sql).to_arrow_table() for name, sql in QUERIES.items()}


def test_errors_come_as_they_were_raised() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, name STRING)")
    db.create_view("V", "SELECT id, name FROM T")
    with Server(db, port=0) as server, livejoin.connect(server.url) as client:
        client.apply("T", [{"id": 1, "name": "a"}])
        calls: list[tuple[type[livejoin.LivejoinError], Callable[[], object]]] = [
            (DuplicateKeyError, lambda: client.apply("T", [{"id": 1, "name": "b"}])),
            (SqlSyntaxError, lambda: client.execute("INSERT INTO T SELECT FROM FROM")),
            (UnknownNameError, lambda: client.query("SELECT nope FROM V")),
        ]
        for kind, call in calls:
            with pytest.raises(kind) as caught:
                call()
            assert str(caught.value).count("\n") in (0, 3)  # the place is shown once
        assert client.execute("INSERT INTO T VALUES (?, ?)", [2, "b"]).changes == 1
        assert client.query("SELECT id FROM T WHERE name = :n", {"n": "b"}).to_pylist() == [{"id": 2}]
        assert client.views()["V"].key == ("id",)
        assert client.table_rows("T", limit=1).to_pylist() == [{"id": 1, "name": "a"}]
        for shape in ("changes", "arrow"):
            told = client.changes("V", shape=shape)
            assert next(told).version == 2
            client.execute("DROP VIEW V")
            with pytest.raises(ReadError, match="was dropped"):
                next(told)
            client.execute("CREATE VIEW V AS SELECT id, name FROM T")


def test_bad_rows_and_previews() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, n BIGINT); CREATE TABLE U (id BIGINT)")
    db.create_view("V", "SELECT SUM(n) AS total FROM T")
    db.execute("CREATE ASSERTION small CHECK (NOT EXISTS (SELECT 1 FROM T WHERE n > 1000))")
    with Server(db, port=0) as server, livejoin.connect(server.url) as client:
        mixed: list[dict[str, Any]] = [{"id": 1, "n": 5}, {"id": 2, "n": "many"}]
        with pytest.raises(ChangeValueError, match="many"):
            client.apply("T", mixed, on_bad_rows="fail")
        assert client.apply("T", mixed, on_bad_rows="skip").bad_rows == 1
        done = client.apply({"T": [{"id": 3, "n": 7}, {"id": 4, "n": "x"}], "U": []}, on_bad_rows="dead_letter")
        assert [(one["table"], one["row"]) for one in done.dead_letters] == [("T", 1)]
        version, rows = db.version, sorted(db.tables["T"].to_arrow()["id"].to_pylist())
        assert rows == [1, 3]
        seen = client.preview("T", pa.table({"id": [1, 9], "n": [6, 2000]}), on_conflict="update")
        assert seen.changes == 2
        assert sorted((one["total"], one["_change_type"]) for one in seen.deltas["V"]) == [
            (12, "update_preimage"),
            (2013, "update_postimage"),
        ]
        assert len(seen.violations) == 1
        assert client.preview({"T": [{"id": 9, "n": 1}], "U": [{"id": 1}]}).violations == ()
        with pytest.raises(DuplicateKeyError):
            client.preview("T", [{"id": 1, "n": 6}])
        odd: list[dict[str, Any]] = [{"id": 9, "n": 2000}, {"id": 10, "n": "many"}, {"id": 11, "n": 3}]
        tried = client.preview("T", odd, on_bad_rows="dead_letter")
        assert (tried.changes, tried.bad_rows, tried.violations) == (1, 2, ())
        assert [one["row"] for one in tried.dead_letters] == [0, 1]
        assert (client.preview("T", odd, on_bad_rows="skip").dead_letters, db.preview("T", odd[2:]).bad_rows) == ((), 0)
        assert (db.version, sorted(db.tables["T"].to_arrow()["id"].to_pylist())) == (version, rows)


def test_a_server_that_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process with the same port: the loop goes on with all rows of what is there now."""
    monkeypatch.setattr("livejoin.client.patience._FIRST", 0.05)
    first, second = livejoin.Database(), livejoin.Database()
    for db, rows in ((first, [(1,)]), (second, [(2,), (3,)])):
        db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY)")
        db.create_view("V", "SELECT id FROM T")
        db.apply("T", rows)
    server = Server(first, port=0)
    server.start()
    port = urlsplit(server.url).port or 0
    with livejoin.connect(server.url) as client, client.changes("V") as told:
        assert [one["id"] for one in next(told).changes] == [1]
        server.stop()
        late = Server(second, port=port)
        starter = threading.Timer(0.3, late.start)
        starter.start()
        update = next(told)
        starter.join()
        assert update.reset
        assert sorted(one["id"] for one in update.changes) == [2, 3]
        assert client.apply("T", [{"id": 4}]).version == 2
        assert next(told).changes == [{"id": 4, "_change_type": "insert"}]
    late.stop()


def test_the_rows_of_a_table() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT); INSERT INTO t VALUES (1), (2)")
    with Server(db, port=0) as server, livejoin.connect(server.url) as client:
        assert sorted(client.table_rows("t")["k"].to_pylist()) == [1, 2]
        assert client.table_rows("t", limit=1).num_rows == 1


@pytest.mark.parametrize("shape", ["changes", "arrow"])
def test_a_server_that_ends_and_begins_again_is_gone_on_with(shape: Any) -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k BIGINT); CREATE VIEW v AS SELECT k FROM t; INSERT INTO t VALUES (1)")
    with Server(db, port=0) as server:
        client = livejoin.connect(server.url)
        told = client.changes("v", shape=shape)
        assert next(told).reset
    with Server(db, port=int(server.url.rpartition(":")[2])):
        db.execute("INSERT INTO t VALUES (2)")
        update = next(told)
        assert (update.version, update.reset, len(update.changes)) == (2, False, 1)
        client.close()


def test_integers_beyond_two_to_the_53_stay_apart(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no Node")
    source = Path(livejoin.__file__).parent / "server" / "static" / "livejoin.js"
    text = '{"a":9007199254740993,"b":0.12345678901234567,"c":"9007199254740993 \\u0000","d":"\\u0000i7","e":1e20}'
    shown = "(_, value) => (typeof value === 'bigint' ? `${value}n` : value)"
    script = f"{source.read_text()}\nconsole.log(JSON.stringify(parse({json.dumps(text)}), {shown}));"
    (tmp_path / "page.mjs").write_text(script)
    found = subprocess.run([node, str(tmp_path / "page.mjs")], capture_output=True, text=True, check=True)
    expected = {"a": "9007199254740993n", "b": 0.12345678901234567, "c": "9007199254740993 \0", "d": "\0i7", "e": 1e20}
    assert json.loads(found.stdout) == expected
