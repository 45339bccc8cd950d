"""Watermarks: which changes are late, and how far a watermark moves, against a model in lists, after every commit."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from database.durable.test_opened_folders import fold
from livejoin import Database, LivejoinError
from livejoin.errors import (
    ChangeError,
    ChangeFormatError,
    ChangeValueError,
    ExpressionError,
    SchemaError,
    SqlError,
    UnsupportedQueryError,
)
from oracle import multiset, signed_multiset, without_zeros
from strategies import seeds
from torture.interrupts import NEVER, cut_off

BEGIN = dt.datetime(2026, 1, 31, 12)
MINUTE = dt.timedelta(minutes=1)
DELAY = 5 * MINUTE
NAMES = ("id", "ts", "v")
Row = tuple[Any, ...]


class Watched:
    """A table with a watermark, and what its rows and its watermark are by the definition.

    Args:
        seed: Draws the changes.
        key: Whether ``id`` is the key.
        path: The folder of the database; None for none.
        options: Further ones of the table.
    """

    def __init__(self, seed: int, key: bool, path: Path | None = None, **options: Any) -> None:
        self.draw, self.key, self.path = random.Random(seed), key, path
        self.database = Database() if path is None else Database(path)
        columns = f"id INT{' PRIMARY KEY' if key else ''}, ts TIMESTAMP, v INT"
        self.database.create_table("E", columns, watermark=("ts", DELAY), **options)
        self.database.create_view("all", "SELECT * FROM E")
        self.database.create_view("mark", "SELECT MAX(at) AS at FROM livejoin_watermark_E")
        self.rows: Counter[Row] = Counter()
        self.newest: dt.datetime | None = None
        self.late = 0
        self.top = BEGIN

    @property
    def mark(self) -> dt.datetime | None:
        return None if self.newest is None else self.newest - DELAY

    def time(self) -> dt.datetime | None:
        """A time around the watermark, often just it."""
        if self.draw.random() < 0.1:
            return None
        return self.top - DELAY + self.draw.choice((-2, -1, 0, 0, 1, 3, 5, 6, 8)) * MINUTE

    def changes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        there = list(self.rows.elements())
        self.draw.shuffle(there)
        for _ in range(self.draw.choice((0, 1, 2, 3, 6))):
            row = (self.draw.randrange(12), self.time(), self.draw.randrange(3))
            kind = "upsert" if self.key else "insert"
            if there and self.draw.random() < 0.4:
                row, kind = there.pop(), "delete"
                if self.key:
                    found.append({"id": row[0], "_change_type": kind})
                    continue
            found.append({**dict(zip(NAMES, row, strict=True)), "_change_type": kind})
        return found

    def is_before(self, time: dt.datetime | None) -> bool:
        return time is not None and self.mark is not None and time < self.mark

    def is_late(self, change: dict[str, Any], before: dict[Any, Row]) -> bool:
        if self.key and change["id"] in before and self.is_before(before[change["id"]][1]):
            return True
        return (not self.key or change["_change_type"] == "upsert") and self.is_before(change.get("ts"))

    def apply(self, changes: list[dict[str, Any]]) -> None:
        """A commit, in the database and by the definition."""
        before = Counter(self.rows)
        by_key = {row[0]: row for row in before} if self.key else {}
        late = [self.is_late(one, by_key) for one in changes]
        for change, is_late in zip(changes, late, strict=True):
            if is_late:
                continue
            if self.key:
                by_key.pop(change["id"], None)
                if change["_change_type"] == "upsert":
                    by_key[change["id"]] = tuple(change[name] for name in NAMES)
            else:
                self.rows[tuple(change[name] for name in NAMES)] += 1 if change["_change_type"] == "insert" else -1
        if self.key:
            self.rows = Counter(by_key.values())
        self.rows = without_zeros(self.rows)
        come = self.rows - before
        times = [row[1] for row in come if row[1] is not None]
        old = self.mark
        if times:
            self.newest = max(times if self.newest is None else [*times, self.newest])
            self.top = max(self.top, self.newest)
        self.late += sum(late)
        commit = self.database.apply("E", changes, on_conflict="update" if self.key else "error")
        assert commit.late == sum(late)
        assert commit.changes == len(changes) - sum(late) - commit.ignored
        delta = Counter(self.rows)
        delta.subtract(before)
        assert without_zeros(signed_multiset(commit["all"])) == without_zeros(delta)
        assert commit["mark"].num_rows == (0 if old == self.mark else 2)
        self.compare()

    def compare(self) -> None:
        self.database._check()
        assert multiset(self.database.views["all"].to_arrow()) == self.rows
        found = [row["at"] for row in self.database.sql("SELECT at FROM livejoin_watermark_e").to_pylist()]
        assert found == ([] if self.mark is None else [self.mark])
        assert self.database.stats()["tables"]["E"]["late"] == self.late


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize("seed", seeds(2, 60))
def test_late_changes_are_those_of_the_definition(seed: int, key: bool, tmp_path: Path) -> None:
    life = Watched(seed, key)
    for step in range(14):
        life.apply(life.changes())
        if step == 7:
            life.database.save(tmp_path / "kept")
            life.database = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
            life.compare()
    assert life.late


@pytest.mark.parametrize("key", [False, True])
def test_watermarks_are_kept_in_a_folder(key: bool, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    life = Watched(3, key, path)
    for step in range(15):
        life.apply(life.changes())
        if step % 4 == 3:
            if step == 7:
                fold(life.database)
            life.database.close()
            life.database = Database(path)
            life.compare()
    assert life.late
    life.database.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_commit_that_is_cut_off_leaves_rows_and_watermark_of_one_version(error: type[BaseException]) -> None:
    for seed in range(12):
        life = Watched(seed, bool(seed % 2))
        for _ in range(4):
            life.apply(life.changes())
        changes = [{"id": 20, "ts": life.top + MINUTE, "v": 0, "_change_type": "insert"}, *life.changes()]
        if life.key:
            changes[0]["_change_type"] = "upsert"
        version, late = life.database.version, life.late

        def call(life: Watched = life, changes: list[dict[str, Any]] = changes) -> None:
            life.database.apply("E", changes, on_conflict="update" if life.key else "error")

        cut_off(call, error, 1 + 37 * seed % 400)
        life.database._check()
        mark = life.database.views["mark"].to_pylist()[0]["at"]
        if life.database.version == version:
            assert (mark, life.database.stats()["tables"]["E"]["late"]) == (life.mark, late)
            life.apply(changes)
        else:
            assert mark == life.top + MINUTE - DELAY
    cut_off(lambda: None, error, NEVER)


def test_a_commit_that_fails_leaves_the_watermark_where_it_was() -> None:
    life = Watched(1, False)
    life.database.create_view("checked", "SELECT 10 / v AS q FROM E")
    life.database.apply("E", [(1, BEGIN, 1)])
    with pytest.raises(ExpressionError):
        life.database.apply("E", [(2, BEGIN + 60 * MINUTE, 0)])
    assert life.database.views["mark"].to_pylist() == [{"at": BEGIN - DELAY}]
    late = (3, BEGIN - 60 * MINUTE, 0)  # no view is asked for a value of a late row
    assert life.database.apply("E", [late, (4, BEGIN + MINUTE, 1)]).late == 1
    seen = life.database.preview("E", [late, (5, BEGIN + 2 * MINUTE, 1)])
    assert (seen.late, seen.changes, sorted(seen.deltas)) == (1, 1, ["all", "checked", "mark"])
    assert life.database.views["mark"].to_pylist() == [{"at": BEGIN + MINUTE - DELAY}]


@pytest.mark.parametrize(
    "clause",
    [
        "ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '10' MINUTE",
        "ts TIMESTAMP, WATERMARK FOR TS AS ts - INTERVAL 10 MINUTES",
        "WATERMARK FOR ts AS ts - INTERVAL '10 minutes', ts TIMESTAMP",
    ],
)
def test_a_watermark_is_declared_in_the_words_of_flink(clause: str) -> None:
    database = Database()
    database.execute(f"CREATE TABLE E (id INT, {clause})")
    database.execute("CREATE TABLE P (id INT, ts TIMESTAMP) TBLPROPERTIES ('livejoin.watermark' = 'ts 10 MINUTES')")
    database.create_table("L", f"id INT, {clause}", late="refuse")
    one, other, third = (database.tables[name] for name in "EPL")
    assert one.watermark == other.watermark == third.watermark and one.watermark is not None
    assert (one.watermark.delay, one.late, third.late) == (600_000_000, "skip", "refuse")
    database.execute("CREATE TABLE N (ts TIMESTAMP, WATERMARK FOR ts AS ts)")
    none = database.tables["N"].watermark
    assert none is not None and none.delay == 0
    database.execute("ALTER TABLE E RENAME COLUMN ts TO at")
    database.apply("E", [(1, BEGIN)])
    assert database.apply("E", [(1, BEGIN - 11 * MINUTE), (1, BEGIN - 10 * MINUTE)]).late == 1


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("ts TIMESTAMP, WATERMARK FOR ts AS ts + INTERVAL '1' HOUR", "the watermark is not understood"),
        ("ts TIMESTAMP, at TIMESTAMP, WATERMARK FOR ts AS at", "the watermark is not understood"),
        ("ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' MONTH", "the delay of the watermark is '1 MONTH'"),
        ("ts TIMESTAMP, WATERMARK FOR ts AS ts, WATERMARK FOR ts AS ts", "has one watermark"),
        ("n INT, WATERMARK FOR n AS n", "allowed is TIMESTAMP"),
        ("n INT, WATERMARK FOR ts AS ts", "names the column 'ts'"),
    ],
)
def test_other_watermarks_are_refused(sql: str, says: str) -> None:
    with pytest.raises((SqlError, SchemaError), match=says):
        Database().execute(f"CREATE TABLE E ({sql})")


def test_what_contradicts_a_watermark_is_refused() -> None:
    mark = ("ts", DELAY)
    for options, says in (
        ({"watermark": mark, "window_rows": 3}, "has a watermark and has a window"),
        ({"watermark": mark, "window_range": mark}, "has a watermark and has a window"),
        ({"watermark": mark, "static": True}, "has a watermark and is static"),
        ({"watermark": ("ts", -DELAY)}, "not negative"),
        ({"watermark": "ts"}, "a column and a delay"),
        ({"late": "refuse"}, "no watermark"),
        ({"watermark": mark, "late": "drop"}, "'skip' and 'refuse'"),
    ):
        with pytest.raises(SchemaError, match=says):
            Database().create_table("E", "id INT, ts TIMESTAMP", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", [False, True])
def test_late_changes_are_bad_rows_where_the_table_refuses_them(key: bool) -> None:
    database = Database()
    columns = f"id INT{' PRIMARY KEY' if key else ''}, ts TIMESTAMP"
    database.create_table("E", columns, watermark=("ts", DELAY), late="refuse")
    view = database.create_view("n", "SELECT COUNT(*) AS n FROM E")
    database.apply("E", [(1, BEGIN), (2, BEGIN - 60 * MINUTE), (3, BEGIN - DELAY)])
    changes = [(4, BEGIN), (5, BEGIN - 60 * MINUTE), (6, None), (7, BEGIN - DELAY - MINUTE)]
    with pytest.raises(ChangeValueError, match="before the watermark 2026-01-31 11:55:00") as refused:
        database.apply("E", changes)
    assert (refused.value.row, view.to_pylist()) == (1, [{"n": 3}])
    commit = database.apply("E", changes, on_bad_rows="dead_letter")
    assert [letter.row for letter in commit.dead_letters] == [1, 3]
    assert (commit.bad_rows, commit.late, view.to_pylist()) == (2, 0, [{"n": 5}])
    skipped = database.apply("E", changes[1:2], on_bad_rows="skip")
    assert (skipped.bad_rows, skipped.changes) == (1, 0)
    if key:  # its row is of a time before the watermark, whatever the change says
        with pytest.raises(ChangeValueError, match="that of the row with its key"):
            database.apply("E", [(2, BEGIN)], on_conflict="update")
        with pytest.raises(ChangeValueError, match="is late"):
            database.execute("DELETE FROM E WHERE id = 2")
        with pytest.raises(ChangeValueError, match="is late"):
            database.execute("UPDATE E SET ts = TIMESTAMP '2026-02-01 00:00:00' WHERE id = 2")


def test_the_table_of_a_watermark_belongs_to_it() -> None:
    database = Database()
    database.create_table("E", "id INT, ts TIMESTAMP", watermark=("ts", DELAY))
    with pytest.raises(ChangeFormatError, match="has the watermark of 'E'"):
        database.apply("livejoin_watermark_e", [(BEGIN,)])
    with pytest.raises(ChangeFormatError, match="has the watermark of 'E'"):
        database.apply({"E": [(1, BEGIN)], "livejoin_watermark_E": [(BEGIN,)]})
    with pytest.raises(ChangeError, match="has the watermark of 'E'"):
        database.execute("INSERT INTO livejoin_watermark_e VALUES (TIMESTAMP '2026-01-01 00:00:00')")
    for statement in ("ADD COLUMN x INT", "RENAME TO W"):
        with pytest.raises(SchemaError, match="is not altered"):
            database.execute(f"ALTER TABLE livejoin_watermark_e {statement}")
    with pytest.raises(SchemaError, match="it is not renamed"):
        database.execute("ALTER TABLE E RENAME TO F")
    with pytest.raises(SchemaError, match="because the watermark needs the column 'ts'"):
        database.execute("ALTER TABLE E DROP COLUMN ts")
    for name in ("late", "watermark", "window_range"):
        with pytest.raises(UnsupportedQueryError, match="is said in CREATE TABLE and stays as it is"):
            database.execute(f"ALTER TABLE E SET TBLPROPERTIES ('livejoin.{name}' = 'skip')")
    with pytest.raises(SchemaError, match="with which it comes and goes"):
        database.drop_table("livejoin_watermark_e")
    with pytest.raises(ChangeFormatError, match="a replay makes a version of each change"):
        database.replay({"E": [{"id": 1, "ts": BEGIN, "_seq": 1}]})
    view = database.create_view("mark", "SELECT at FROM livejoin_watermark_e")
    with pytest.raises(SchemaError, match="is used by 'mark'"):
        database.drop_table("E")
    assert view.to_pylist() == []
    database.drop_view("mark")
    database.drop_table("E")
    assert not database.tables
    database.create_table("livejoin_watermark_e", "at TIMESTAMP")
    with pytest.raises(SchemaError, match="'livejoin_watermark_e' is taken"):
        database.create_table("E", "id INT, ts TIMESTAMP", watermark=("ts", DELAY))
    database.apply("livejoin_watermark_e", [(BEGIN,)])  # it is no watermark's
    database.create_table("E", "id INT")
    database.apply({"E": [(1,)], "livejoin_watermark_e": [(BEGIN,)]})


def test_a_watermark_beside_an_order_of_changes_and_a_partial_upsert() -> None:
    database = Database()
    database.create_table(
        "E", "id INT PRIMARY KEY, ts TIMESTAMP, v INT, n INT", watermark=("ts", DELAY), sequence_by="n"
    )
    database.apply("E", [(1, BEGIN, 1, 1), (2, BEGIN - 10 * MINUTE, 1, 1)])
    partial = [{"id": one, "v": 7, "n": 2, "_change_type": "upsert"} for one in (1, 2)]
    commit = database.apply("E", [*partial, {"id": 1, "v": 8, "n": 0, "_change_type": "upsert"}])
    assert (commit.late, commit.changes) == (2, 1)
    found = sorted((row["id"], row["v"]) for row in database.sql("SELECT id, v FROM E").to_pylist())
    assert found == [(1, 7), (2, 1)]
    assert database.stats()["tables"]["E"]["late"] == 2
    with pytest.raises(LivejoinError):
        database.apply("E", [(3, BEGIN, 1, None)])
    assert database.stats()["tables"]["E"]["late"] == 2


def keyed(folder: Path | None = None, **options: Any) -> Database:
    """A table with a key and a row at half past twelve, whose watermark is at twenty past."""
    db = Database() if folder is None else livejoin.open(folder)
    delay = ("ts", dt.timedelta(minutes=10))
    db.create_table("p", "id BIGINT PRIMARY KEY, ts TIMESTAMP, w INT", watermark=delay, **options)
    db.apply("p", [(2, dt.datetime(2026, 1, 1, 12, 30), 0)])
    return db


LATE, IN_TIME = dt.datetime(2026, 1, 1, 12, 1), dt.datetime(2026, 1, 1, 12, 40)


def rows(db: Database) -> list[dict[str, Any]]:
    return db.sql("SELECT id, w FROM p ORDER BY id").to_pylist()


def test_a_change_that_leaves_columns_out_has_nothing_of_one_that_is_late(tmp_path: Path) -> None:
    changes = [
        {"id": 2, "ts": LATE, "w": 5, "_change_type": "upsert"},
        {"id": 2, "w": 9, "_change_type": "upsert"},
        {"id": 7, "ts": LATE, "_change_type": "upsert"},
        {"id": 7, "ts": IN_TIME, "_change_type": "upsert"},
        {"id": 7, "w": 3, "_change_type": "upsert"},
    ]
    db = keyed(tmp_path / "db")
    assert db.apply("p", changes).late == 2
    assert rows(db) == [{"id": 2, "w": 9}, {"id": 7, "w": 3}]
    db.close()
    with livejoin.open(tmp_path / "db") as again:  # from the log, which has whole rows
        assert rows(again) == [{"id": 2, "w": 9}, {"id": 7, "w": 3}]
    refusing = keyed(late="refuse")
    assert refusing.apply("p", changes, on_bad_rows="skip").bad_rows == 2
    assert rows(refusing) == [{"id": 2, "w": 9}, {"id": 7, "w": 3}]


def test_a_default_is_late_too() -> None:
    db = Database()
    db.execute(
        "CREATE TABLE p (id BIGINT PRIMARY KEY, ts TIMESTAMP DEFAULT TIMESTAMP '2026-01-01 00:00:00', w INT, "
        "WATERMARK FOR ts AS ts - INTERVAL '10 minutes')"
    )
    db.apply("p", [(2, IN_TIME, 0)])
    assert db.apply("p", [{"id": key, "w": 1, "_change_type": "upsert"} for key in (3, 2)]).late == 1
    assert rows(db) == [{"id": 2, "w": 1}]


@pytest.mark.parametrize("there", [True, False])
def test_an_update_to_a_late_time_leaves_the_row(there: bool) -> None:
    """Its deletion is part of it, however the update is said; what follows on it counts."""
    old = {"id": 2, "ts": IN_TIME if there else None, "w": 0}
    new = {**old, "ts": LATE, "w": 1}
    pair = [{**old, "_change_type": "update_preimage"}, {**new, "_change_type": "update_postimage"}]
    by_key = [{**old, "_change_type": "delete"}, {**new, "_change_type": "upsert"}]
    for change in (
        lambda db: db.execute("UPDATE p SET ts = TIMESTAMP '2026-01-01 12:01:00', w = 1 WHERE id = 2"),
        lambda db: db.execute(
            "MERGE INTO p USING (VALUES (2)) AS s(id) ON p.id = s.id "
            "WHEN MATCHED THEN UPDATE SET ts = TIMESTAMP '2026-01-01 12:01:00', w = 1"
        ),
        lambda db: db.apply("p", pair),
        lambda db: db.apply("p", by_key),
    ):
        db = keyed()
        db.apply("p", [{**old, "_change_type": "upsert"}])
        assert change(db).late == 2
        assert rows(db) == [{"id": 2, "w": 0}]
    db = keyed()
    db.apply("p", [{**old, "_change_type": "upsert"}])
    late_first = [{**new, "_change_type": "upsert"}, {"id": 2, "_change_type": "delete"}]
    assert db.apply("p", late_first).late == 1
    assert rows(db) == []


def test_a_watermark_of_any_year_is_told() -> None:
    db = Database()
    db.create_table(
        "p", "id BIGINT PRIMARY KEY, ts TIMESTAMP, w INT", watermark=("ts", dt.timedelta(minutes=10)), late="refuse"
    )
    long_ago = -62_135_596_800_000_000  # the year 1
    for number, at in enumerate((long_ago, long_ago - 10**15)):
        values = pa.array([at], pa.timestamp("us"))
        change = pa.table({"id": [number], "ts": values, "w": pa.array([1], pa.int32())})
        if number == 0:
            db.apply("p", change)
        else:
            with pytest.raises(ChangeValueError, match="before the watermark"):
                db.apply("p", change)
