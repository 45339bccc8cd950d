"""Histories in a folder: who follows a view goes on without a gap when the folder is opened again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.database.durable import fold_process
from livejoin.database.durable import log as log_module
from livejoin.database.durable.places import FolderPlace
from livejoin.errors import ReadError, StorageError
from livejoin.words import NULL_CODE
from oracle import multiset, signed_multiset
from scenario import Row
from strategies import IS_FUZZ, seeds

TABLES = "CREATE TABLE t (k INT, v BIGINT, s STRING); CREATE TABLE other (a INT)"
VIEW = "SELECT k, COUNT(*) AS n, SUM(v) AS v, MAX(s) AS s FROM t GROUP BY k"


@dataclass
class Copy:
    """A copy of a view, kept by one who follows it; mutable."""

    rows: Counter[Row] = field(default_factory=Counter)
    version: int | None = None
    resets: int = 0

    def take(self, update: livejoin.Update) -> None:
        if update.reset:
            self.rows.clear()
            self.resets += 1
        else:
            assert set(update.delta["_commit_version"].to_pylist()) <= {update.version}
        for row, count in signed_multiset(update.delta).items():
            self.rows[row] += count
            if not self.rows[row]:
                del self.rows[row]
        assert self.version is None or update.version > self.version or update.reset
        self.version = update.version

    def follow(self, view: livejoin.View, waiting: Any = "each") -> None:
        """Go on from where the copy is, up to now."""
        with view.changes(since=self.version, waiting=waiting) as changes:
            while True:
                try:
                    update = changes.next(timeout=0)
                except TimeoutError:
                    break
                assert update is not None
                self.take(update)
        assert self.rows == multiset(view.to_arrow())


def opened(path: Path, **options: Any) -> livejoin.Database:
    """A new database with a view `v`, and a history of it."""
    db = livejoin.open(path, **options)
    db.execute(TABLES)
    db.create_view("v", VIEW).keep_history(1000)
    return db


def fold(db: livejoin.Database) -> None:
    """Begin another segment, and make a snapshot of those before, as the process does."""
    log = db._contents.log
    assert log is not None and db.path is not None
    log.segment_records = 0
    db.keep_extra(db.extra)
    log.segment_records = log_module.SEGMENT_RECORDS
    fold_process.fold(FolderPlace(db.path), log.segment)
    folding = log.on_segment.__self__  # type: ignore[attr-defined]
    folding._take_over(log.segment)
    assert [one.name for one in (db.path / "log").glob("*.log")] == [log_module.segment_name(log.segment)]


@pytest.mark.parametrize("folds", [0, 1, 3])
def test_who_comes_back_goes_on(tmp_path: Path, folds: int) -> None:
    db = opened(tmp_path / "db")
    copy = Copy()
    copy.follow(db.views["v"])
    for number in range(12):
        db.apply("t", [(number % 3, number, f"text {number}"), (7, None, None)])
        db.apply("other", [(number,)])
        if number < folds * 3 and number % 3 == 1:
            fold(db)
        if number == 5:
            copy.follow(db.views["v"])
    stood = copy.version
    db.close()
    with livejoin.open(tmp_path / "db") as db:
        assert db.views["v"].history == 1000
        copy.follow(db.views["v"])
        assert (copy.resets, copy.version, stood) == (1, 23, 11)
        late = Copy(Counter(), 0)
        late.follow(db.views["v"])
        assert late.resets == 0
        db.apply("t", [(7, 1, None)])
        late.follow(db.views["v"])
        copy.follow(db.views["v"], "merge")
        assert (late.resets, copy.resets) == (0, 1)


def test_who_is_killed_goes_on(tmp_path: Path) -> None:
    """The process of the database is killed in the middle of its commits."""
    opened(tmp_path / "db").close()
    script = (
        f"import livejoin\ndb = livejoin.open({str(tmp_path / 'db')!r})\nn = 0\nwhile True:\n"
        "    db.apply('t', [(n % 5, n, str(n))])\n    n += 1\n    print(n, flush=True)\n"
    )
    copy = Copy(Counter(), 0)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(4)][-1]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with livejoin.open(tmp_path / "db") as db:
        assert db.version >= told
        copy.follow(db.views["v"])
        assert copy.resets == 0
        assert copy.version == db.version


def update_of(view: livejoin.View, since: int) -> livejoin.Update:
    """The first update of one who comes back."""
    with view.changes(since=since) as changes:
        update = changes.next(timeout=0)
    assert update is not None
    return update


def test_how_far_it_reaches(tmp_path: Path) -> None:
    """As many rows as it may have; a delta of more rows than that, and what was before, is gone. 0 ends it."""
    db = livejoin.open(tmp_path / "db")
    db.execute(TABLES)
    view = db.create_view("v", VIEW)
    for number in range(3):
        db.apply("t", [(number, 1, None)])
    view.keep_history(5)
    for number in range(3, 10):
        db.apply("t", [(number, 1, None)])
        if number == 6:
            fold(db)
    for again in range(3):
        view = db.views["v"]
        assert [update_of(view, since).reset for since in (3, 4, 5, 6, 9)] == [True, True, False, False, False]
        assert update_of(view, 9).version == 10
        with view.changes(since=10) as changes, pytest.raises(TimeoutError):
            changes.next(timeout=0)
        with pytest.raises(ReadError, match="since is 11, and the database is at version 10"):
            view.changes(since=11)
        if again == 1:
            fold(db)
        db.close()
        db = livejoin.open(tmp_path / "db")
    view = db.views["v"]
    view.keep_history(2)
    assert [update_of(view, since).reset for since in (7, 8)] == [True, False]
    db.close()
    db = livejoin.open(tmp_path / "db")
    view = db.views["v"]
    assert (view.history, [update_of(view, since).reset for since in (7, 8)]) == (2, [True, False])
    db.apply("t", [(k, 1, None) for k in range(20, 23)])
    assert update_of(view, 10).reset
    db.apply("t", [(30, 1, None)])
    db.close()
    db = livejoin.open(tmp_path / "db")
    view = db.views["v"]
    assert [update_of(view, since).reset for since in (10, 11)] == [True, False]
    view.keep_history(0)
    assert view.history == 0
    for path in ("db", "db"):
        assert update_of(db.views["v"], 11).reset
        db.close()
        db = livejoin.open(tmp_path / path)
        assert db.views["v"].history == 0
    db.close()


def test_other_views_come_and_go(tmp_path: Path) -> None:
    """The history of a view goes on beside declarations, and one of the same name begins anew."""
    db = opened(tmp_path / "db")
    copy = Copy(Counter(), 0)
    db.apply("t", [(1, 1, "a")])
    db.execute("CREATE VIEW w AS SELECT COUNT(*) AS n FROM v; CREATE TABLE u (a INT); ALTER TABLE t ADD COLUMN z INT")
    db.views["w"].keep_history(10)
    db.execute("INSERT INTO t VALUES (2, 5, 'b', 1)")
    db.execute("DROP VIEW w; DROP TABLE u; CREATE VIEW w AS SELECT COUNT(*) AS n FROM other")
    db.execute("ALTER TABLE t RENAME COLUMN v TO x; INSERT INTO t VALUES (1, 5, 'z', 1)")
    db.close()
    with livejoin.open(tmp_path / "db") as db:
        assert db.views["w"].history == 0
        copy.follow(db.views["v"])
        assert copy.resets == 0
        fold(db)
        db.execute("DROP VIEW v; CREATE VIEW v AS SELECT k FROM t")
        assert db.views["v"].history == 0
        assert update_of(db.views["v"], 1).reset
        db.views["v"].keep_history(10)
        db.execute("INSERT INTO t VALUES (3, 5, 'z', 1)")
    with livejoin.open(tmp_path / "db") as db:
        assert update_of(db.views["v"], 2).reset
        assert not update_of(db.views["v"], 3).reset


@pytest.mark.parametrize("folds", [False, True])
def test_a_view_gets_another_query(tmp_path: Path, folds: bool) -> None:
    """With the same columns it goes on, and so does one that reads it; with other columns or keys it begins anew."""
    db = opened(tmp_path / "db")
    db.execute("CREATE VIEW w AS SELECT k, 2 * n AS n FROM v; CREATE VIEW x AS SELECT k, v FROM t")
    db.execute("CREATE VIEW y AS SELECT k, MAX(v) AS v FROM t GROUP BY k")
    for name in ("w", "x", "y"):
        db.views[name].keep_history(100)
    copies = {name: Copy(Counter(), 0) for name in ("v", "w", "x", "y")}
    db.apply("t", [(1, 1, "a"), (2, 2, "b")])
    db.execute(f"CREATE OR REPLACE VIEW v AS {VIEW.replace('COUNT(*)', 'COUNT(*) + 1')}")
    db.execute("CREATE OR REPLACE VIEW x AS SELECT k AS other, v FROM t")
    db.execute("CREATE OR REPLACE VIEW y AS SELECT k, v FROM t")
    assert [db.views[name].history for name in copies] == [1000, 100, 0, 100]
    db.apply("t", [(1, 5, "c")])
    if folds:
        fold(db)
    db.close()
    with livejoin.open(tmp_path / "db") as db:
        assert [db.views[name].history for name in copies] == [1000, 100, 0, 100]
        for name, copy in copies.items():
            copy.follow(db.views[name])
            assert copy.resets == (name in "xy"), name
        assert not update_of(db.views["y"], 4).reset


def test_a_log_that_ends_anywhere(tmp_path: Path) -> None:
    """Cut at any byte, as a crash may, it has the deltas of the commits that it has, and of no others."""
    with opened(tmp_path / "db", sync="off") as db:
        for number in range(4):
            db.apply("t", [(number % 2, number, f"text {number}")])
        shutil.copytree(tmp_path / "db", tmp_path / "copy")
    file = tmp_path / "copy" / "log" / "000000000001.log"
    data = file.read_bytes()
    versions = set()
    for end in sorted({*range(len(data) - 1, len(data) // 3, -97 if IS_FUZZ else -190), len(data)}):
        file.write_bytes(data[:end])
        with livejoin.open(tmp_path / "copy", sync="off") as db:
            if "v" not in db.views or not db.views["v"].history:
                continue
            versions.add(db.version)
            copy = Copy(Counter(), 0)
            copy.follow(db.views["v"])
            assert copy.resets == 0
            db.apply("t", [(0, 7, "x")])
            copy.follow(db.views["v"])
            assert copy.resets == 0
    assert versions >= {1, 2, 3, 4}


def test_deltas_that_cannot_be_read_are_said_to_be_so(tmp_path: Path) -> None:
    with opened(tmp_path / "db") as db:
        db.apply("t", [(1, 1, "some text")])
        fold(db)
    (file,) = (tmp_path / "db" / "snapshots").rglob("history0.deltas.bin")
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)
    with livejoin.open(tmp_path / "db") as db:
        with pytest.raises(StorageError, match=r"version 1 cannot be read from history0.*without since="):
            update_of(db.views["v"], 0)
        with db.views["v"].changes() as changes:
            assert changes.next(timeout=0) is not None
        file.write_bytes(b"")
        with pytest.raises(StorageError, match="no file of"):
            update_of(db.views["v"], 0)


def test_every_kind_of_value(tmp_path: Path) -> None:
    """Lists of aggregates, payload, NULL, wide decimals, and the BIGINT whose word is that of NULL."""
    with livejoin.open(tmp_path / "db") as db:
        db.execute(
            "CREATE TABLE t (k INT, v BIGINT, s STRING, d DECIMAL(38, 2), a ARRAY<INT>, f FLOAT, b BINARY, day DATE, "
            "ts TIMESTAMP, bo BOOLEAN, ti TINYINT, st STRUCT<x: INT, y: STRING>, g DOUBLE)"
        )
        db.create_view("lists", "SELECT k, ARRAY_AGG(s) AS l, COLLECT_LIST(d) AS m FROM t GROUP BY k")
        db.create_view("plain", "SELECT k, v, s, d, a, f, b, day, bo, ti, st, g FROM t")
        db.create_view("times", "SELECT ts, ts - ts AS nothing, INTERVAL 1 DAY AS day FROM t")
        db.create_view("sums", "SELECT k, SUM(v) AS v FROM t GROUP BY k")
        db.create_view("nothing", "SELECT COUNT(*) AS n FROM t WHERE k > 5")
        for view in db.views.values():
            view.keep_history(1000)
        day = pa.scalar(12_345, pa.date32()).as_py()
        instant = pa.scalar(1_234_567_890_123_456, pa.timestamp("us")).as_py()
        many = [
            1,
            NULL_CODE - 1,
            "ä",
            10**30,
            [1, None],
            1.5,
            b"\0z",
            day,
            instant,
            True,
            -3,
            {"x": 1, "y": None},
            float("nan"),
        ]
        none: list[Any] = [3, *[None] * 12]
        mixed = [1, 1, "", -3, [], -0.5, b"", None, None, False, 3, {"x": None, "y": "ß"}, 0.25]
        commits = [db.apply("t", [tuple(row) for row in rows]) for rows in ([many], [none, mixed], [mixed])]
        gone = dict(zip(db.tables["t"].names, mixed, strict=True)) | {"_change_type": "delete"}
        commits.append(db.apply("t", [gone]))
        expected = {name: [commit[name] for commit in commits] for name in db.views}
        assert {NULL_CODE, None} <= set(expected["sums"][1]["v"].to_pylist())
    with livejoin.open(tmp_path / "db") as db:
        for name, deltas in expected.items():
            with db.views[name].changes(since=0) as changes:
                for delta in deltas:
                    if delta.num_rows:
                        update = changes.next(timeout=0)
                        assert update is not None and update.delta.schema.equals(delta.schema, check_metadata=True)
                        update.delta.validate(full=True)
                        assert str(update.delta.to_pylist()) == str(delta.to_pylist())  # NaN is not NaN


def test_followers_of_now_and_of_before_share_a_chain(tmp_path: Path) -> None:
    """One who comes back from an old version goes on in the chain of those who follow already, or hold a snapshot."""
    with opened(tmp_path / "db") as db:
        for number in range(4):
            db.apply("t", [(number, number, None)])
    with livejoin.open(tmp_path / "db") as db:
        view = db.views["v"]
        with db.snapshot() as at, view.changes(since=2) as follower:
            db.apply("t", [(1, 1, None)])
            old = Copy(Counter(), 0)
            old.follow(view)
            middle = Copy(multiset(at["v"].to_arrow()), 4)
            middle.follow(view)
            assert (old.resets, middle.resets) == (0, 0)
            assert [follower.next(timeout=0).version for _ in range(3)] == [3, 4, 5]  # type: ignore[union-attr]
            fold(db)
            db.apply("t", [(1, 1, None)])
            assert follower.next(timeout=0).version == 6  # type: ignore[union-attr]
            old.follow(view, "merge")
        with view.changes(since=0, max_waiting=3) as slow:
            db.apply("t", [(1, 1, None)])
            update = slow.next(timeout=0)
            assert update is not None and update.reset


def test_versions_of_a_replay_are_told_together(tmp_path: Path) -> None:
    """Each change of a replay has a version; who says that it knows some of these is told the others."""
    with opened(tmp_path / "db") as db:
        rows = [{"k": i % 2, "v": i, "s": None, "_change_type": "insert", "_seq": i} for i in range(5)]
        db.replay({"t": rows}, granularity="change")
        expected = db.views["v"].to_arrow()
        assert db.version == 5
    with livejoin.open(tmp_path / "db") as db:
        update = update_of(db.views["v"], 0)
        assert (update.version, update.reset) == (5, False)
        assert set(update.delta["_commit_version"].to_pylist()) == {1, 2, 3, 4, 5}
        assert signed_multiset(update.delta) == multiset(expected)
        update = update_of(db.views["v"], 3)
        assert (update.version, update.reset) == (5, False)
        assert set(update.delta["_commit_version"].to_pylist()) == {4, 5}


@pytest.mark.parametrize("seed", seeds(1, 2))
def test_followers_that_come_and_go_end_at_the_view(tmp_path: Path, seed: int) -> None:
    """Random commits, foldings and openings; followers come back at random, and end at the view each time."""
    random = Random(seed)
    db = opened(tmp_path / "db", sync="off")
    db.execute(
        "CREATE VIEW first AS SELECT k, v FROM t ORDER BY v, k, s LIMIT 3; CREATE VIEW rows AS SELECT s, v FROM t"
    )
    limits = {"v": 1000, "first": 40, "rows": 15}
    for name, limit in limits.items():
        db.views[name].keep_history(limit)
    copies = {name: [Copy(Counter(), 0), Copy()] for name in limits}
    there = list[Row]()
    for number in range(40):
        rows = [
            (random.randrange(5), random.choice([None, number]), random.choice("abc"))
            for _ in range(random.randrange(4))
        ]
        gone = random.sample(there, min(len(there), random.randrange(4)))
        changes = [dict(zip("kvs", row, strict=True)) | {"_change_type": "insert"} for row in rows]
        db.apply("t", [*changes, *(dict(zip("kvs", row, strict=True)) | {"_change_type": "delete"} for row in gone)])
        for row in gone:
            there.remove(row)
        there += rows
        if random.random() < 0.2:
            db.apply("other", [(1,)])
        for name, followers in copies.items():
            for copy in followers:
                if random.random() < 0.2:
                    copy.follow(db.views[name], random.choice(["each", "merge"]))
        event = random.random()
        if event < 0.1:
            fold(db)
        elif event < 0.3:
            db.close()
            db = livejoin.open(tmp_path / "db", sync="off")
        elif event < 0.35:
            db.execute(f"CREATE OR REPLACE VIEW v AS {VIEW.replace('COUNT(*)', f'COUNT(*) + {number}')}")
    for name, followers in copies.items():
        for copy in followers:
            copy.follow(db.views[name])
    assert copies["v"][0].resets == 0
    db.close()


def test_who_knows_what_was_cut_off_can_tell(tmp_path: Path) -> None:
    """Versions behind a damage are cut off, and their numbers used again: the identity is another one from then on."""
    with opened(tmp_path / "db") as db:
        identity = db.identity
        for number in range(4):
            db.apply("t", [(number, 1, None)])
    with livejoin.open(tmp_path / "db") as db:
        assert db.identity == identity
    file = tmp_path / "db" / "log" / "000000000001.log"
    data = bytearray(file.read_bytes())
    data[2 * len(data) // 3] ^= 1
    file.write_bytes(data)
    with livejoin.open(tmp_path / "db", damaged="cut") as db:
        assert 0 < db.version < 4
        other = db.identity
        assert other != identity
        copy = Copy(Counter(), 0)
        copy.follow(db.views["v"])
        assert copy.resets == 0
        fold(db)
    with livejoin.open(tmp_path / "db") as db:
        assert db.identity == other
        copy.follow(db.views["v"])


def test_places_move_to_the_snapshot_and_segments_are_closed(tmp_path: Path) -> None:
    """A process makes snapshots while the database goes on, and one who follows slowly loses nothing."""
    db = opened(tmp_path / "db", sync="off")
    log = db._contents.log
    assert log is not None
    folding = log.on_segment.__self__  # type: ignore[attr-defined]
    slow = db.views["v"].changes(since=0)
    folding.least_bytes, log.segment_bytes = 4000, 2000
    for number in range(40):
        db.apply("t", [(number % 7, number, f"text {number}")])
    held = db.views["v"].changes(since=0)  # places in segments that will be gone
    while not (tmp_path / "db" / "snapshots" / "CURRENT").exists():  # it is begun in another thread
        threading.Event().wait(0.05)
    assert folding.look(wait=120)
    db.apply("t", [(1, 1, None)])
    assert log.folded is None
    named = {one.file.name for one in db._contents.histories["v"]}
    assert "history0.deltas.bin" in named
    assert named <= {one.name for one in log.path.rglob("*") if one.is_file()}
    for changes in (slow, held, db.views["v"].changes(since=0)):
        copy = Copy(Counter(), 0)
        for _ in range(41):
            copy.take(next(changes))
        assert (copy.version, copy.resets, copy.rows) == (41, 0, multiset(db.views["v"].to_arrow()))
    db.close()


def test_a_folder_without_a_history_is_written_as_before(tmp_path: Path) -> None:
    """So that versions of livejoin that know of none can open it; they refuse one that has some."""
    db = opened(tmp_path / "db")
    formats = []
    for rows in (1000, 0):
        db.views["v"].keep_history(rows)
        db.apply("t", [(1, 1, None)])
        fold(db)
        (manifest,) = (tmp_path / "db" / "snapshots").rglob("manifest.json")
        names = sorted(one.name for one in manifest.parent.glob("history*"))
        formats.append((json.loads(manifest.read_text())["format"], names))
    assert formats == [(7, ["history0.deltas.bin", "history0.index.bin"]), (6, [])]
    db.close()
