"""Databases that stay: what is committed to a folder is there when it is opened again, whatever happened between."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import livejoin
from harness import Harness
from kept_database import kept_database
from livejoin.database.durable import fold_process
from livejoin.database.durable import log as log_module
from livejoin.database.durable.places import FolderPlace, remove_before
from livejoin.database.transactions import compaction
from livejoin.errors import SchemaError, StateError, StorageError
from livejoin.state.files import Folder
from oracle import multiset, signed_multiset
from random_relational import relational_queries
from scenario import Row, Scenario
from strategies import EXAMPLES, FUZZ, IS_FUZZ, scenarios

SYNCS = ("commit", "batch", "off")
SOME = settings(FUZZ, max_examples=max(2, EXAMPLES // 3))


def seen(db: livejoin.Database) -> dict[str, Any]:
    """All that stays of a database."""
    found: dict[str, Any] = {"version": db.version, "offsets": db.offsets, "extra": db.extra, "tables": dict(db.tables)}
    found |= {
        name: (view.sql, view.deltas, view.algorithm, multiset(view.to_arrow())) for name, view in db.views.items()
    }
    for name, base in db._contents.tables.items():
        rows, weights = base.live_rows()
        values = multiset(db._contents.rows_of(base, rows))
        assert len(values) == weights.shape[0]
        found[f"rows of {name}"] = sum(weights.tolist()), values, base.late, base.watermark if base.tombstones else None
    return found


def copied(db: livejoin.Database, to: Path) -> livejoin.Database:
    """What is left of a database when its process is killed now."""
    assert db.path is not None
    shutil.copytree(db.path, to)
    return livejoin.open(to)


@SOME
@given(
    scenarios(errors=True, max_queries=2, queries=relational_queries), st.sampled_from(SYNCS), st.sampled_from([1, 2])
)
def test_lives_in_folders(scenario: Scenario, sync: str, threads: int) -> None:
    """Commits and replays of random queries, the folder opened again between them, closed or not."""
    note(scenario.script())
    harness = Harness(scenario.tables, threads, sync)
    for number, query in enumerate(scenario.queries):
        harness.create_view(f"v{number}", query, deltas=number % 2 == 0)
    for commit, form in zip(scenario.commits, scenario.forms, strict=True):
        if form == "log" and commit.error is None and not harness.grows_large(commit.changes):
            harness.replay(commit.changes)
        else:
            harness.run(commit, form)
    harness.reopen()
    harness.database.close()


@pytest.mark.parametrize("folds", [False, True])
def test_one_of_everything(tmp_path: Path, folds: bool) -> None:
    """Windows, keys, a static table that is refreshed, NULLs, wide decimals, views of views, all options."""
    kept = kept_database()
    with livejoin.open(tmp_path / "a folder") as db:
        for table in kept.tables.values():
            db._contents.add_table(table)
        for name, base in kept._contents.tables.items():
            rows, weights = base.live_rows()
            arrow = kept._contents.rows_of(base, rows)
            times = pa.array([i for i, n in enumerate(weights.tolist()) for _ in range(n)])
            if arrow.num_rows:
                db.apply(name, arrow.take(times), offsets={name: arrow.num_rows, "all": ["x", None, 1.5]})
        for view in kept.views.values():
            options = {"statistics": view._options.statistics, "adaptive": view.adaptive}
            db.create_view(view.name, view.sql, deltas=view.deltas, algorithm=view.algorithm, **options)
        db.refresh("City", [(1, "Paris"), (4, "Łódź")])
        db.keep_extra({"note": "Ünïcode"})
        db.drop_view("rings")
        db.drop_view("totals", cascade=True)
        db.execute("CREATE TABLE gone (a INT)")
        db.apply("gone", [(1,)])
        db.drop_table("gone")
        db.execute("CREATE TABLE gone (b STRING)")
        db.execute("CREATE TABLE later (c INT) TBLPROPERTIES ('livejoin.append_only' = 'true')")
        db.apply({"gone": [("ß",)], "later": [(7,), (7,)]})
        db.alter_table("later", append_only=False)
        if folds:
            fold(db)
        db.apply("later", [{"c": 7, "_change_type": "delete"}])
        expected = seen(db)
        with copied(db, tmp_path / "copy") as other:
            assert seen(other) == expected
    with livejoin.open(tmp_path / "a folder") as db:
        assert seen(db) == expected
        db._check()
        again = db.apply("G", [(1, 2, "x")])
        assert again.version == expected["version"] + 1


def fold(db: livejoin.Database) -> None:
    """Begin another segment, and make a snapshot of those before, as the process does."""
    log = db._contents.log
    assert log is not None
    assert db.path is not None
    log.segment_records = 0
    db.keep_extra(db.extra)
    log.segment_records = log_module.SEGMENT_RECORDS
    fold_process.fold(FolderPlace(db.path), log.segment)
    with Folder.at(db.path / "log") as folder:
        remove_before(folder, log.segment)
        assert folder.names() == [f"{log.segment:012d}.log"]


@pytest.mark.parametrize("options", ["window_rows", "window_range", "sequence_by", "retain"])
def test_tables_that_know_more_than_their_rows(tmp_path: Path, options: str) -> None:
    """Behind an opening a window moves, and late changes are late, as if there had been none."""
    given: dict[str, Any] = {
        "window_rows": {"window_rows": 5},
        "window_range": {"window_range": ("t", 4)},
        "sequence_by": {"sequence_by": "t", "tombstones": 2},
        "retain": {"retain": "used"},
    }[options]
    columns = (
        "k BIGINT PRIMARY KEY, t BIGINT NOT NULL, s STRING"
        if options == "sequence_by"
        else "k BIGINT, t BIGINT NOT NULL, s STRING"
    )
    here, there = livejoin.Database(), livejoin.open(tmp_path / "db")
    for number in range(7):
        for db in (here, there):
            if number == 0:
                db.create_table("T", columns, **given)
                db.create_view("v", "SELECT k, SUM(t) AS t FROM T GROUP BY k")
            rows: list[dict[str, Any]] = [
                {
                    "k": (number * i) % 4,
                    "t": number + i - 3 * (number % 5 == 4),
                    "s": f"s{number}",
                    "_change_type": "upsert" if options == "sequence_by" else "insert",
                }
                for i in range(3)
            ]
            if options == "sequence_by" and number % 4 == 3:
                rows.append({"k": number % 4, "t": number + 1, "s": None, "_change_type": "delete"})
            if number % 3 == 2 and options != "sequence_by":
                for row in rows:
                    row["_seq"] = 10 - row["k"]
                rows = list({row["_seq"]: row for row in rows}.values())
                db.replay({"T": rows}, granularity="change")
            else:
                db.apply("T", rows)
        if number % 5 == 1:
            fold(there)
        if number % 2:
            there.close()
            there = livejoin.open(tmp_path / "db")
        assert seen(here) == seen(there), number
        there._check()
    there.close()


def test_random_commits_with_all_ways_to_treat_conflicts(tmp_path: Path) -> None:
    """Conflicts are skipped, and rows replaced, as they were when the log was written."""
    random = Random(5)
    here, there = livejoin.Database(), livejoin.open(tmp_path / "db", sync="off")
    for db in (here, there):
        db.execute("CREATE TABLE T (k BIGINT PRIMARY KEY, u STRING UNIQUE, d DECIMAL(30, 1))")
        db.create_view("v", "SELECT u, SUM(d) AS d FROM T GROUP BY u")
    for number in range(60):
        kinds = random.choice([["insert"], ["insert", "delete"], ["upsert", "delete", "insert"]])
        rows = [
            {
                "k": random.randrange(8),
                "u": random.choice(["a", "b", "ü", None]),
                "d": random.choice([None, 10**25 + number, number]),
                "_change_type": random.choice(kinds),
            }
            for _ in range(random.randrange(5))
        ]
        conflict: Any = random.choice(["error", "ignore", "update"])
        outcomes = []
        for db in (here, there):
            try:
                commit = db.apply("T", rows, on_conflict=conflict, offsets={"n": number})
                outcomes.append((commit.version, commit.ignored, signed_multiset(commit["v"])))
            except livejoin.ChangeError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        if number % 7 == 0:
            with copied(there, tmp_path / f"copy {number}") as other:
                assert seen(other) == seen(here)
    there.close()


@pytest.mark.parametrize("folds", [False, True])
def test_texts_that_come_and_go(tmp_path: Path, folds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no row uses is forgotten by the dictionaries, also while a log is applied to the tables."""
    for name in ("_MIN_GARBAGE", "_LITTLE_BYTES", "_PAUSE"):
        monkeypatch.setattr(compaction, name, 0)
    monkeypatch.setattr(compaction, "_COMMIT", 1 << 20)
    here, there = livejoin.Database(), livejoin.open(tmp_path / "db", sync="off")
    for db in (here, there):
        db.execute("CREATE TABLE T (k BIGINT PRIMARY KEY, s STRING, d DECIMAL(30, 1))")
        db.create_view("v", "SELECT s, COUNT(*) AS n, MAX(d) AS d FROM T GROUP BY s")
    for number in range(40):
        rows = [(k, f"text {number} {k}", 10**25 + number + k) for k in range(number % 7)]
        for db in (here, there):
            db.apply("T", rows, on_conflict="update")
        if number == 25 and folds:
            fold(there)
    expected = seen(here)
    there.close()
    with livejoin.open(tmp_path / "db") as db:
        assert seen(db) == expected
        db.execute("CREATE TABLE U (s STRING)")
        db.apply("U", [(f"other {i}",) for i in range(100)])
        assert multiset(db.views["v"].to_arrow()) == expected["v"][3]
        db._check()


@pytest.mark.parametrize("kind", ["STRING", "BINARY", "DECIMAL(38, 2)"])
def test_many_values_in_large_commits(tmp_path: Path, kind: str) -> None:
    """The log has the words of rows, and says nothing of how many entries of dictionaries were new."""
    with livejoin.open(tmp_path, coerce="json") as db:
        db.execute(f"CREATE TABLE t (id BIGINT, s {kind}); CREATE VIEW v AS SELECT s, COUNT(*) AS n FROM t GROUP BY s")
        for n in range(5):
            rows: list[Any] = [
                (k, str(k).encode() if kind == "BINARY" else str(k)) for k in range(1000 * n, 1000 * n + 1000)
            ]
            db.apply("t", rows)
            if n == 3:
                fold(db)
        db.apply("t", [{"id": k, "s": rows[k - 4000][1], "_change_type": "delete"} for k in range(4000, 4400)])
        there, version = {name: multiset(view.to_arrow()) for name, view in db.views.items()}, db.version
    with livejoin.open(tmp_path) as db:
        assert db.version == version
        assert {name: multiset(view.to_arrow()) for name, view in db.views.items()} == there
        assert db.views["v"].count() == 4600


def test_a_commit_that_stands_says_so_though_the_database_is_closed_meanwhile(tmp_path: Path) -> None:
    for number in range(4):
        db = livejoin.open(tmp_path / "db")
        if not number:
            db.execute("CREATE TABLE T (a BIGINT)")
            db.execute("CREATE VIEW v AS SELECT a FROM T")
        before, told = db.version, list[int]()
        db.views["v"].subscribe(lambda delta, told=told: told.extend(delta["_commit_version"].to_pylist()))
        stood: list[int] = []

        def work(db: livejoin.Database = db, stood: list[int] = stood) -> None:
            with pytest.raises(StateError, match="is closed"):
                while True:
                    stood.append(db.apply("T", [(1,)]).version)

        thread = threading.Thread(target=work)
        thread.start()
        while len(stood) < 3:
            threading.Event().wait(0.001)
        db.close()
        thread.join()
        with livejoin.open(tmp_path / "db") as again:
            assert list(range(before + 1, again.version + 1)) == stood == told


def test_one_database_at_a_time(tmp_path: Path) -> None:
    db = livejoin.open(tmp_path / "db")
    with pytest.raises(StateError, match=f"process {os.getpid()}"):
        livejoin.open(tmp_path / "db")
    script = f"import livejoin; livejoin.open({str(tmp_path / 'db')!r})"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "StateError" in said.stderr
    assert f"process {os.getpid()}" in said.stderr
    db.close()
    db.close()
    livejoin.open(tmp_path / "db").close()
    del db
    left = livejoin.open(tmp_path / "db")
    del left  # whoever forgets a database gives it back
    with livejoin.open(tmp_path / "db") as db:
        db.execute("CREATE TABLE T (a INT); CREATE VIEW v AS SELECT a FROM T")
    view = livejoin.open(tmp_path / "db").views["v"]  # the view keeps its database
    assert view.count() == 0
    with pytest.raises(StateError, match="is open"):
        livejoin.open(tmp_path / "db")
    del view
    livejoin.open(tmp_path / "db").close()


def test_a_closed_database_says_so(tmp_path: Path) -> None:
    db = livejoin.open(tmp_path / "db")
    db.execute("CREATE TABLE T (a INT)")
    view = db.create_view("v", "SELECT a FROM T")
    db.close()
    for call in (lambda: db.apply("T", [(1,)]), view.to_arrow, lambda: db.tables, lambda: db.execute("DROP TABLE T")):
        with pytest.raises(StateError, match=r"is closed; livejoin.open opens it again"):
            call()
    memory = livejoin.Database()
    memory.close()
    with pytest.raises(StateError, match="is closed"):
        memory.execute("CREATE TABLE T (a INT)")


def test_folders_that_are_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    (tmp_path / "log").mkdir()
    with pytest.raises(StateError, match=r"other files \(thesis.tex\)"):
        livejoin.open(tmp_path)
    livejoin.Database().save(tmp_path / "saved")
    with pytest.raises(StateError, match=r"Database\.load"):
        livejoin.open(tmp_path / "saved")
    for path in (tmp_path / "thesis.tex", tmp_path / "thesis.tex" / "db"):
        with pytest.raises(StateError, match=r"thesis\.tex' is a file; a database stays in a folder"):
            livejoin.open(path)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    with pytest.raises(StateError, match="a link that leads nowhere"):
        livejoin.open(tmp_path / "gone")
    with pytest.raises(StateError, match=r"is SQL, and .* livejoin\.Database\(\)"):
        livejoin.Database("CREATE TABLE t (a INT)")
    with pytest.raises(StateError, match="there is no folder"):
        livejoin.Database.load(tmp_path / "nowhere")
    livejoin.open(tmp_path / "stays").close()
    with pytest.raises(StateError, match=r"livejoin\.open\('.*stays'\) opens"):
        livejoin.Database.load(tmp_path / "stays")
    with livejoin.open(tmp_path / "db") as db:
        (tmp_path / "link").symlink_to(tmp_path / "db")
        for target in ("db", "link", "db/snapshots", "db/log"):
            with pytest.raises(StateError, match="belongs to the folder of a database"):
                db.save(tmp_path / target)
    with pytest.raises(StateError, match="belongs to the folder of a database"):
        livejoin.Database().save(tmp_path / "db")
    for options in ({"sync": "sometimes"}, {"sync_every": 3}, {"damaged": None}):
        with pytest.raises(SchemaError, match=next(iter(options))):
            livejoin.open(tmp_path / "db", **options)
    with pytest.raises(StateError, match="JSON"), livejoin.open(tmp_path / "db") as db:
        db.apply({}, offsets={"a": {1, 2}})


def test_threads_share_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of many threads returns when its commit is durable, and they need fewer syncs than commits."""
    db = livejoin.open(tmp_path / "db")
    db.execute("CREATE TABLE T (a BIGINT)")
    told: list[int] = []
    db.create_view("v", "SELECT a FROM T").subscribe(lambda delta: told.extend(delta["_commit_version"].to_pylist()))
    log = db._contents.log
    assert log is not None
    syncs = 0
    file = log._segment.file
    real = file.sync

    def sync(upto: int | None = None) -> None:
        nonlocal syncs
        syncs += 1
        threading.Event().wait(0.02)
        real(upto)

    monkeypatch.setattr(file, "sync", sync)

    def work(number: int) -> None:
        for i in range(5):
            commit = db.apply("T", [(100 * number + i,)])
            assert log._synced >= 1
            assert commit.version in told, "subscribers have heard of it when the call returns"

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert told == list(range(1, 41))
    assert syncs < 30
    expected = multiset(db.views["v"].to_arrow())
    db.close()
    with livejoin.open(tmp_path / "db") as db:
        assert multiset(db.views["v"].to_arrow()) == expected


def test_nobody_hears_of_what_is_not_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = livejoin.open(tmp_path / "db")
    db.execute("CREATE TABLE T (a BIGINT)")
    told: list[int] = []
    db.create_view("v", "SELECT a FROM T").subscribe(lambda delta: told.append(delta.num_rows))
    log = db._contents.log
    assert log is not None
    durable = False

    def sync(upto: int | None = None) -> None:
        assert told == []
        nonlocal durable
        durable = True

    monkeypatch.setattr(log._segment.file, "sync", sync)
    db.apply("T", [(1,)])
    assert durable
    assert told == [1]


def test_a_child_of_a_fork_does_not_keep_the_folder(tmp_path: Path) -> None:
    """It has the file of the lock open too, as long as it lives."""
    db = livejoin.open(tmp_path / "db")
    heard, tell = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(tell)
        os.read(heard, 1)
        os._exit(0)
    try:
        db.close()
        livejoin.open(tmp_path / "db").close()
    finally:
        os.close(tell)
        os.waitpid(child, 0)
        os.close(heard)


def test_closing_in_the_middle_of_a_commit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As from the handler of a signal: the commit goes on, and what comes later too."""
    db = livejoin.open(tmp_path / "db")
    db.execute("CREATE TABLE T (a BIGINT)")
    log, refused = db._contents.log, list[str]()
    assert log is not None
    real = log.commit

    def commit(*given: Any) -> None:
        try:
            db.close()
        except StateError as error:
            refused.append(str(error))
        real(*given)

    monkeypatch.setattr(log, "commit", commit)
    assert db.apply("T", [(1,)]).version == 1
    assert "in the middle of another one" in refused[0]
    monkeypatch.undo()
    db.apply("T", [(2,)])
    db.close()
    with livejoin.open(tmp_path / "db") as again:
        assert again.version == 2


def test_a_child_of_a_fork_does_not_write(tmp_path: Path) -> None:
    db = livejoin.open(tmp_path / "db")
    db.execute("CREATE TABLE T (a BIGINT)")
    child = os.fork()
    if child == 0:
        try:
            db.apply("T", [(1,)])
            os._exit(1)
        except StateError as error:
            os._exit(0 if "forked" in str(error) else 2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    db.apply("T", [(2,)])
    db.close()
    with livejoin.open(tmp_path / "db") as again:
        assert again.version == 1


def histories(db: livejoin.Database, commits: int) -> Iterator[Counter[Row]]:
    """Commits, and the rows of a view behind each."""
    for number in range(commits):
        db.apply("T", [(number % 7, f"text {number % 3}"), (number, None)])
        yield multiset(db.views["v"].to_arrow())


def test_a_log_that_ends_anywhere_gives_what_was_whole(tmp_path: Path) -> None:
    """Cut at any byte, as a crash may, the log gives the commits whose records are whole."""
    with livejoin.open(tmp_path / "db", sync="off") as db:
        db.execute("CREATE TABLE T (a BIGINT, s STRING)")
        db.create_view("v", "SELECT s, COUNT(*) AS n, SUM(a) AS a FROM T GROUP BY s")
        empty = multiset(db.views["v"].to_arrow())
        log = db._contents.log
        assert log is not None
        states, ends = [empty], [log._segment.end]
        for state in histories(db, 5):
            states.append(state)
            ends.append(log._segment.end)
        shutil.copytree(tmp_path / "db", tmp_path / "copy")
    file = tmp_path / "copy" / "log" / "000000000001.log"
    data = file.read_bytes()
    versions = []
    anywhere = {*range(0, len(data), 37), *range(len(data) - 20, len(data) + 1)} if IS_FUZZ else {0, 20, 60}
    for end in sorted(anywhere | {end + by for end in ends for by in (-1, 0, 13)} & {*range(len(data) + 1)}):
        file.write_bytes(data[:end])
        with livejoin.open(tmp_path / "copy", sync="off") as db:
            versions.append(db.version)
            if "v" in db.views:
                assert multiset(db.views["v"].to_arrow()) == states[db.version]
                db.apply("T", [(1, "x")])
    assert versions == sorted(versions)
    assert set(versions) == set(range(6))


def test_what_a_loss_of_power_leaves_of_records_is_cut(tmp_path: Path) -> None:
    """Pages of what was not synchronised may be lost in any order: what is behind a hole goes too."""
    db = livejoin.open(tmp_path / "db", sync="off")
    db.execute("CREATE TABLE T (a BIGINT, s STRING)")
    db.create_view("v", "SELECT s, COUNT(*) AS n FROM T GROUP BY s")
    log = db._contents.log
    assert log is not None
    log.sync()
    states, ends = [multiset(db.views["v"].to_arrow())], [log._segment.end]
    for state in histories(db, 4):
        states.append(state)
        ends.append(log._segment.end)
    shutil.copytree(tmp_path / "db", tmp_path / "copy")
    db.close()
    file = tmp_path / "copy" / "log" / "000000000001.log"
    data = bytearray(file.read_bytes())
    data[ends[1] : ends[2]] = bytes(ends[2] - ends[1])
    file.write_bytes(data)
    with livejoin.open(tmp_path / "copy") as db:
        assert db.version == 1
        assert multiset(db.views["v"].to_arrow()) == states[1]


@pytest.mark.parametrize("where", ["first", "middle", "body", "cut out", "missing", "another log"])
def test_damage_is_refused_and_says_what_is_left(tmp_path: Path, where: str) -> None:
    folder = tmp_path / "db"
    with livejoin.open(folder) as db:
        db.execute("CREATE TABLE T (a BIGINT, s STRING)")
        db.create_view("v", "SELECT s, COUNT(*) AS n FROM T GROUP BY s")
        log = db._contents.log
        assert log is not None
        states, ends = [multiset(db.views["v"].to_arrow())], [log._segment.end]
        for number, state in enumerate(histories(db, 6)):
            states.append(state)
            ends.append(log._segment.end)
            if number == 3 and where in ("missing", "another log"):
                log.segment_records = 0
        log.segment_records = 10
    files = sorted((folder / "log").iterdir())
    file = files[0]
    if where == "missing":
        left = 0
        file.rename(tmp_path / "away")
    elif where == "another log":
        left = 4
        with livejoin.open(tmp_path / "other") as db:
            db._contents.log.segment_records = 0  # type: ignore[union-attr]
            db.execute("CREATE TABLE T (a BIGINT, s STRING)")
            db.apply("T", [(1, "x")])
        file = files[1]
        file.write_bytes((tmp_path / "other" / "log" / file.name).read_bytes())
    else:
        data = bytearray(file.read_bytes())
        place = {"first": 41, "middle": ends[2] + 5, "body": ends[3] + 60, "cut out": ends[2] + 7}[where]
        left = {"first": 0, "middle": 2, "body": 3, "cut out": 2}[where]
        data[place] ^= 0x10
        if where == "cut out":
            del data[place : place + 13]
        file.write_bytes(data)
    with pytest.raises(StateError, match=rf"{file.name}.*up to version {left}\b.*damaged='cut'"):
        livejoin.open(folder)
    if where == "missing":
        return
    with livejoin.open(folder, damaged="cut") as db:
        assert db.version == left
        if where != "first":
            assert multiset(db.views["v"].to_arrow()) == states[left]
            db.apply("T", [(1, "x")])
    assert [one.name for one in (folder / "log").iterdir() if one.suffix == ".damaged"]
    with livejoin.open(folder) as db:
        assert db.version == left + (where != "first")


def test_a_log_that_is_gone_is_no_new_database(tmp_path: Path) -> None:
    for gone in ("log", "log/000000000001.log"):
        folder = tmp_path / gone.replace("/", " ")
        with livejoin.open(folder) as db:
            db.execute("CREATE TABLE T (a BIGINT)")
        shutil.move(folder / gone, tmp_path / "away")
        with pytest.raises(StateError, match=r"is gone.*damaged='cut'"):
            livejoin.open(folder)
        shutil.move(tmp_path / "away", folder / gone)
        with livejoin.open(folder) as db:
            assert "T" in db.tables
        (folder / "log" / "000000000001.log").unlink()
        with livejoin.open(folder, damaged="cut") as db:
            assert not db.tables
            fold(db)
        livejoin.open(folder).close()


def test_a_snapshot_is_made_beside_while_the_database_goes_on(tmp_path: Path) -> None:
    """By the size of the log, again and again; segments that a snapshot has are removed."""
    db = livejoin.open(tmp_path / "db", sync="off")
    db.execute("CREATE TABLE T (a BIGINT, s STRING)")
    db.create_view("v", "SELECT s, COUNT(*) AS n FROM T GROUP BY s")
    log = db._contents.log
    assert log is not None
    folding = log.on_segment.__self__  # type: ignore[attr-defined]
    folding.least_bytes, log.segment_bytes = 4000, 1000
    states = []
    for state in histories(db, 40):
        states.append(state)
        if len(states) == 30:
            while not (tmp_path / "db" / "snapshots" / "CURRENT").exists():  # it is begun in another thread
                threading.Event().wait(0.05)
            assert folding.look(wait=120)
    assert (tmp_path / "db" / "snapshots" / "CURRENT").exists()
    assert min(one.name for one in (tmp_path / "db" / "log").iterdir()) > "000000000005"
    db.close()
    with livejoin.open(tmp_path / "db") as db:
        assert multiset(db.views["v"].to_arrow()) == states[-1]
        assert db.version == 40


def test_there_is_another_snapshot_when_the_one_before_is_made(tmp_path: Path) -> None:
    """Nobody waits for its end: the next segment that is complete notices it, and begins another one."""
    with livejoin.open(tmp_path / "db", sync="off") as db:
        db.execute("CREATE TABLE T (a BIGINT)")
        log = db._contents.log
        assert log is not None
        folding = log.on_segment.__self__  # type: ignore[attr-defined]
        folding.least_bytes, log.segment_bytes = 1, 1000
        current = tmp_path / "db" / "snapshots" / "CURRENT"
        seen = set()
        while len(seen) < (3 if IS_FUZZ else 2):  # one is as large as the segments that it was made of, or larger
            db.apply("T", [(db.version,)] * 200)
            threading.Event().wait(0.1)  # the process has most of the time
            if current.exists():
                seen.add(current.read_text())
        folding.least_bytes = 1 << 40  # none is begun that would be waited for


@pytest.mark.parametrize("is_overdue", [pytest.param(False, marks=pytest.mark.torture), True])
def test_a_snapshot_that_was_left_undone_is_made_by_the_next_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_overdue: bool
) -> None:
    """A process that never lives until its log has a snapshot must not let the log grow without end."""
    with livejoin.open(tmp_path / "db", sync="off") as db:
        db.execute("CREATE TABLE T (a BIGINT)")
        log = db._contents.log
        assert log is not None
        log.segment_bytes = 1000
        for number in range(4):
            db.apply("T", [(number,)] * 200)
    assert not (tmp_path / "db" / "snapshots" / "CURRENT").exists()
    monkeypatch.setattr("livejoin.database.durable.folding.LEAST_BYTES", 1_000 if is_overdue else 3_000)
    with livejoin.open(tmp_path / "db", sync="off") as db:
        log = db._contents.log
        assert log is not None
        if not is_overdue:
            assert log.on_segment.__self__.look(wait=120)  # type: ignore[attr-defined]
    assert (tmp_path / "db" / "snapshots" / "CURRENT").exists()  # else the process ended with the database
    with livejoin.open(tmp_path / "db") as db:
        assert db.tables["T"].count() == 800


def test_what_is_never_synchronised_by_commits_is_so_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``off`` too, so that a commit which begins a segment does not wait for the whole segment before it."""
    monkeypatch.setattr("livejoin.database.durable.log._OFF_BYTES", 1000)
    with livejoin.open(tmp_path / "db", sync="off") as db:
        db.execute("CREATE TABLE T (a BIGINT)")
        log = db._contents.log
        assert log is not None
        db.apply("T", [(1,)])
        assert log._synced < log.written
        db.apply("T", [(1,)] * 1000)
        while log._synced < log.written:
            threading.Event().wait(0.01)


@pytest.mark.parametrize("sync", SYNCS)
def test_a_folder_that_is_deleted_takes_no_commit(sync: Any, tmp_path: Path) -> None:
    db = livejoin.open(tmp_path / "db", sync=sync)
    db.execute("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t; INSERT INTO t VALUES (1)")
    (tmp_path / "db").rename(tmp_path / "moved")
    db.execute("INSERT INTO t VALUES (2)")  # it goes on where it is
    shutil.rmtree(tmp_path / "moved")
    calls: list[Any] = [
        lambda: db.apply("t", [(3,)]),
        lambda: db.replay({"t": [{"a": 3, "_seq": 1}]}),
        lambda: db.execute("CREATE TABLE u (a INT)"),
        lambda: db.create_view("w", "SELECT a FROM t"),
        lambda: db.execute("ALTER TABLE t ADD COLUMN b INT"),
        lambda: db.drop_view("v"),
    ]
    for call in calls:
        with pytest.raises(StorageError, match=r"was deleted while it was open, .* nothing was changed"):
            call()
        assert (db.version, list(db.tables), list(db.views), len(db.tables["t"].columns)) == (2, ["t"], ["v"], 1)
        db._check()
    db.save(tmp_path / "saved")
    with pytest.raises(StorageError, match="what it had is in no file"):
        db.close()
    db.close()
    assert multiset(livejoin.Database.load(tmp_path / "saved").views["v"].to_arrow()) == Counter([(1,), (2,)])


@pytest.mark.parametrize("seed", range(max(3, EXAMPLES // 40)))
def test_large_commits_of_many_texts(tmp_path: Path, seed: int) -> None:
    """What a folder has is what was written, where dictionaries have thousands of entries."""
    chance = Random(seed)
    keyed: dict[int, str] = {}
    loose: Counter[Row] = Counter()
    size = (400, 150, 60, 20)[seed % 4]
    with livejoin.open(tmp_path, sync="off") as db:
        db.execute("CREATE TABLE a (id BIGINT PRIMARY KEY, s STRING); CREATE TABLE b (id BIGINT, s STRING)")
        db.create_view("v", "SELECT a.s, COUNT(*) AS n FROM a JOIN b ON a.id = b.id GROUP BY a.s")
        for number in range(chance.randint(8, 24)):
            changes: list[dict[str, Any]] = []
            for key in chance.sample(range(3000), chance.randint(1, size)):
                if key in keyed and chance.random() < 0.4:
                    del keyed[key]
                    changes.append({"id": key, "_change_type": "delete"})
                else:
                    keyed[key] = f"{number} {chance.randrange(10 ** chance.randint(1, 6))}"
                    changes.append({"id": key, "s": keyed[key], "_change_type": "upsert"})
            rows = [(chance.randrange(3000), f"b{chance.randrange(10**5)}") for _ in range(chance.randint(1, size))]
            loose.update(rows)
            db.apply({"a": changes, "b": rows})
    with livejoin.open(tmp_path) as db, db.snapshot() as at:
        assert {row["id"]: row["s"] for row in at["a"].to_pylist()} == keyed
        assert multiset(at["b"].to_arrow()) == loose
        counts: Counter[str] = Counter()
        for (key, _), times in loose.items():
            if key in keyed:
                counts[keyed[key]] += times
        assert {row["s"]: row["n"] for row in at["v"].to_pylist()} == counts


def test_a_database_that_nobody_closed_and_whose_folder_is_gone_ends_with_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    db = livejoin.open(tmp_path / "db")
    db.execute("CREATE TABLE t (k BIGINT)")
    shutil.rmtree(tmp_path / "db")
    del db
    gc.collect()
    assert "a database that was not closed ended: the log of the database in" in caplog.text
