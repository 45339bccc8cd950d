"""Tables with ``keep = "open"`` free rows, and their views show what those over a table that keeps all rows do."""

from __future__ import annotations

import datetime as dt
import os
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_emit_final import BEGIN, DELAY, MINUTE, NAMES, VIEWS, Row

import livejoin
from database.durable.test_opened_folders import fold
from livejoin import Database
from livejoin.database.durable.log import Log
from livejoin.database.transactions import sealing
from livejoin.errors import ChangeFormatError, ChangeValueError, ExpressionError, SchemaError, UnsupportedQueryError
from livejoin.schema.watermarks import sealed_name
from oracle import connect, multiset, signed_multiset, without_zeros
from strategies import IS_FUZZ, seeds
from torture.interrupts import cut_off

VIEWS_OF = {name: sql for name, (sql, _) in VIEWS.items() if name != "sessions"}
FREED = "livejoin_freed_e"


@pytest.fixture(autouse=True)
def _every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "LEAST_ROWS", 1)


def sealed(database: Database) -> int:
    """How many closed windows there are whose rows were freed."""
    tables = database.stats()["tables"]
    return sum(table["rows"] for name, table in tables.items() if name.startswith("livejoin_sealed_"))


def opened(path: Path | None = None, *, key: bool = False, threads: int = 1, **options: Any) -> Database:
    database = Database(threads=threads) if path is None else Database(path)
    columns = "id INT, k STRING, ts TIMESTAMP, v INT" + (", PRIMARY KEY (id, ts)" if key else "")
    database.create_table("E", columns, watermark=("ts", DELAY), **{"keep": "open", **options})
    return database


class Pair:
    """Two databases with the same changes: one frees rows, and one keeps all."""

    def __init__(self, seed: int, key: bool, path: Path | None = None, threads: int = 1) -> None:
        self.draw, self.key = random.Random(seed), key
        self.freeing, self.whole = opened(path, key=key, threads=threads), opened(key=key, keep="all")
        self.top, self.next, self.freed = BEGIN, 0, 0

    def create(self, *names: str) -> None:
        for name in names:
            for database in (self.freeing, self.whole):
                database.create_view(name, VIEWS_OF[name])

    def changes(self) -> list[dict[str, Any]]:
        there, found = [tuple(row.values()) for row in self.whole.sql("SELECT * FROM E").to_pylist()], []
        self.draw.shuffle(there)
        for _ in range(self.draw.choice((0, 1, 2, 4, 8))):
            if there and self.draw.random() < 0.25:  # often of a row that was freed, which is late
                found.append({**dict(zip(NAMES, there.pop(), strict=True)), "_change_type": "delete"})
                continue
            time = self.top + self.draw.choice((-9, -6, -5, -3, -1, 0, 1, 2)) * MINUTE
            given = None if not self.key and self.draw.random() < 0.05 else time
            self.next += 1
            of = self.draw.randrange(5) if self.key else self.next
            row: Row = (of, self.draw.choice(("a", "b", None)), given, self.draw.randrange(3))
            found.append({**dict(zip(NAMES, row, strict=True)), "_change_type": "upsert" if self.key else "insert"})
        self.top += self.draw.choice((0, 1, 3, 6)) * MINUTE
        return found

    def commit(self) -> None:
        changes, manner = self.changes(), "update" if self.key else "error"
        was = self.freeing.version
        kept = self.whole.apply("E", changes, on_conflict=manner)  # type: ignore[arg-type]
        done = self.freeing.apply("E", changes, on_conflict=manner)  # type: ignore[arg-type]
        assert (done.late, done.changes, done.ignored) == (kept.late, kept.changes, kept.ignored)
        assert done.version - was in (1, 2)
        self.freed += done.version - was - 1
        for name in kept.views:
            assert signed_multiset(done[name]) == signed_multiset(kept[name]), name
        self.compare()

    def compare(self) -> None:
        self.freeing._check()
        for name, view in self.whole.views.items():
            assert multiset(self.freeing.views[name].to_arrow()) == multiset(view.to_arrow()), name
            assert multiset(self.freeing.sql(view.sql)) == multiset(view.to_arrow()), name


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize("seed", seeds(1, 40))
def test_views_are_those_over_all_rows(seed: int, key: bool, tmp_path: Path) -> None:
    pair = Pair(seed, key)
    pair.create("tumbling", "hopping", "numbers")
    for database in (pair.freeing, pair.whole):
        database.create_view("above", "SELECT k, SUM(t) AS t, MAX(n) AS n FROM tumbling GROUP BY k")
    for _ in range(12):
        pair.commit()
    pair.freeing.save(tmp_path / "kept")
    pair.freeing = Database.load(tmp_path / "kept", trusted=bool(seed % 2))
    pair.compare()
    for _ in range(12):
        pair.commit()
    assert pair.freed > 3
    assert sealed(pair.freeing) > 5
    rows = {
        name: database.stats()["tables"]["E"]["rows"]
        for name, database in vars(pair).items()
        if name in ("freeing", "whole")
    }
    assert rows["freeing"] < rows["whole"]


def test_views_of_a_folder_stay_when_rows_are_freed(tmp_path: Path) -> None:
    """The log has which windows were closed, and not which rows were freed; the snapshot has what is left."""
    pair = Pair(5, False, tmp_path / "kept")
    pair.create("tumbling", "hopping")
    for turn in range(4):
        for _ in range(6):
            pair.commit()
        if turn == 1:
            fold(pair.freeing)
        before = (pair.freeing.version, pair.freeing.stats()["tables"]["E"]["rows"])
        pair.freeing.close()
        pair.freeing = Database(tmp_path / "kept")
        assert before == (pair.freeing.version, pair.freeing.stats()["tables"]["E"]["rows"])
        pair.compare()
    assert pair.freed > 3
    pair.freeing.close()


def test_rows_are_freed_with_two_threads() -> None:
    pair = Pair(6, False, threads=2)
    pair.create("tumbling", "hopping")
    for _ in range(12):
        pair.commit()
    assert pair.freed > 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_call_that_is_cut_off_frees_all_or_nothing(error: type[BaseException]) -> None:
    stood = Counter[int]()
    for seed in range(0, 8, 1 if IS_FUZZ else 2):
        pair = Pair(seed, False)
        pair.create("tumbling", "hopping")
        for _ in range(5):
            pair.commit()
        changes = [{"id": 99, "k": "a", "ts": pair.top + 40 * MINUTE, "v": 1}]
        version = pair.freeing.version
        for database in (pair.freeing, pair.whole):
            database.apply("E", changes)
        cut_off(lambda pair=pair, changes=changes: pair.freeing.apply("E", changes), error, 50 + 397 * seed)  # type: ignore[misc]
        there = pair.freeing.sql("SELECT id FROM E WHERE id = 99").num_rows
        if there > 1:
            pair.whole.apply("E", changes)
        stood[pair.freeing.version - version] += 1
        pair.compare()
        pair.commit()
    assert len(stood) > 1, stood


def test_what_is_only_tried_frees_nothing() -> None:
    pair = Pair(3, False)
    pair.create("tumbling")
    for _ in range(8):
        pair.commit()
    before = (pair.freeing.version, pair.freeing.stats()["tables"]["E"]["rows"], sealed(pair.freeing))
    preview = pair.freeing.preview("E", [{"id": 1, "k": "a", "ts": pair.top + 60 * MINUTE, "v": 1}])
    assert preview.deltas["tumbling"].num_rows
    assert before == (pair.freeing.version, pair.freeing.stats()["tables"]["E"]["rows"], sealed(pair.freeing))
    pair.freed = 0
    while not pair.freed:
        pair.commit()
    pair.compare()


def test_a_commit_that_fails_leaves_what_was_sealed_before_it() -> None:
    database = opened()
    database.create_view(
        "v", "SELECT 10 / v AS q, COUNT(*) AS n FROM E GROUP BY 10 / v, window(ts, '10 minutes') EMIT FINAL"
    )
    database.apply("E", [(1, "a", BEGIN, 1), (2, "a", BEGIN + 60 * MINUTE, 1)])
    shown = database.views["v"].to_pylist()
    with pytest.raises(ExpressionError):
        database.apply("E", [(3, "a", BEGIN + 60 * MINUTE, 0)])
    assert (database.version, sealed(database), database.views["v"].to_pylist()) == (2, 1, shown)
    assert [row["id"] for row in database.sql("SELECT id FROM E").to_pylist()] == [2]


def test_memory_is_that_of_open_windows_and_results() -> None:
    database = opened()
    database.create_view(
        "v", "SELECT COUNT(*) AS n, MEDIAN(v) AS m FROM E GROUP BY window(ts, '10 minutes') EMIT FINAL"
    )
    most = {"E": 0, "groups": 0}
    for step in range(200):
        database.apply(
            "E",
            [(step * 50 + row, "a", BEGIN + step * MINUTE + row * dt.timedelta(seconds=1), row) for row in range(50)],
        )
        stats = database.stats()
        most["E"] = max(most["E"], stats["tables"]["E"]["rows"])
        most["groups"] = max(
            most["groups"], *(block["rows"] or 0 for block in stats["blocks"] if block["kind"] == "groups")
        )
    assert most["E"] < 50 * 40
    assert most["groups"] <= 6
    with connect() as connection:
        times = [BEGIN + step * MINUTE + row * dt.timedelta(seconds=1) for step in range(200) for row in range(50)]
        mark = max(times) - DELAY
        connection.execute("CREATE TABLE E AS SELECT unnest($1) AS ts, unnest($2) AS v", [times, [*range(50)] * 200])
        sql = (
            "SELECT COUNT(*)::BIGINT, MEDIAN(v) FROM E GROUP BY time_bucket(INTERVAL '10 minutes', ts) "
            f"HAVING time_bucket(INTERVAL '10 minutes', any_value(ts)) + INTERVAL '10 minutes' <= TIMESTAMP '{mark}'"
        )
        assert multiset(database.views["v"].to_arrow()) == multiset(connection.sql(sql).fetchall())


def test_old_windows_leave_the_views_after_keep_final() -> None:
    """No sooner than it says; the delta of the commit says so, and all deltas are the view."""
    database = opened(keep_final=30 * MINUTE)
    whole = opened(keep="all")
    for one in (database, whole):
        one.create_view("v", VIEWS_OF["tumbling"])
    told, went = Counter[Row](), 0
    seen = list[Any]()
    database.views["v"].subscribe(seen.append)
    for step in range(60):
        rows = [(step, "a", BEGIN + step * 3 * MINUTE, 1)]
        database.apply("E", rows)
        whole.apply("E", rows)
        shown = multiset(database.views["v"].to_arrow())
        mark = BEGIN + step * 3 * MINUTE - DELAY
        kept = Counter(tuple(row.values()) for row in whole.views["v"].to_pylist() if row["e"] > mark - 30 * MINUTE)
        assert kept <= shown <= multiset(whole.views["v"].to_arrow())
        assert shown.total() <= 9
        database._check()
    for delta in seen:
        signed = signed_multiset(delta)
        went += sum(number < 0 for number in signed.values())
        told.update(signed)
    assert went > 5
    assert without_zeros(told) == multiset(database.views["v"].to_arrow())


def test_a_view_that_is_created_later_begins_with_the_rows_that_are_there(caplog: pytest.LogCaptureFixture) -> None:
    database = opened()
    caplog.set_level("INFO", "livejoin")
    first = database.create_view("first", VIEWS_OF["tumbling"])
    assert not caplog.messages
    for step in range(10):
        database.apply("E", [(step, "a", BEGIN + step * 10 * MINUTE, 1)])
    (freed,) = database.sql(f"SELECT at FROM {FREED}").to_pylist()
    assert freed["at"] == BEGIN + 70 * MINUTE
    later = database.create_view("later", VIEWS_OF["tumbling"].replace("COUNT(*) AS n, ", ""))
    assert (first.count(), later.count()) == (8, 1)
    told = f"The view begins with the windows from {freed['at']} on: rows before were freed when it was made."
    assert caplog.messages == [f"view 'later': {told}"]
    assert (first.begins, later.begins) == (None, freed["at"])
    assert later.explain().verdict.endswith(told)
    assert "begins with" not in first.explain().verdict
    assert [row["s"] for row in later.to_pylist()] == [freed["at"]]
    hourly = database.create_view(
        "hourly", "SELECT window.start AS s, COUNT(*) AS n FROM E GROUP BY window(ts, '1 hour') EMIT FINAL"
    )
    assert hourly.begins == BEGIN + 120 * MINUTE  # the hour from 60 on has lost rows
    for step in range(10, 40):
        database.apply("E", [(step, "a", BEGIN + step * 10 * MINUTE, 1)])
    assert {row["n"] for row in hourly.to_pylist()} == {6}
    assert min(row["s"] for row in hourly.to_pylist()) == BEGIN + 120 * MINUTE
    assert first.count() == 38
    text = " ".join(str(first.explain()).split())
    assert "Rows of e before it are freed" in text
    assert "memory grows with the result" not in text
    again = database.create_view("later", later.sql, replace=True)
    like = database.create_view("like_it", later.sql)
    assert again.begins == like.begins == freed["at"]  # its windows are those of the view that was there


def test_where_a_view_begins_is_kept_with_it(tmp_path: Path) -> None:
    with opened(tmp_path / "db") as database:
        database.create_view("first", VIEWS_OF["tumbling"])
        for step in range(10):
            database.apply("E", [(step, "a", BEGIN + step * 10 * MINUTE, 1)])
        later = VIEWS_OF["tumbling"].replace("COUNT(*) AS n, ", "")
        begins = database.create_view("later", later).begins
        assert begins is not None
        database.apply("E", [(10, "a", BEGIN + 1000 * MINUTE, 1)])
        database.save(tmp_path / "copy")
    with livejoin.open(tmp_path / "db") as database:
        assert (database.views["first"].begins, database.views["later"].begins) == (None, begins)
    for trusted in (False, True):
        copy = livejoin.Database.load(tmp_path / "copy", trusted=trusted)
        assert (copy.views["first"].begins, copy.views["later"].begins) == (None, begins)


def test_dropped_and_created_again_it_begins_anew() -> None:
    database = opened()
    text = VIEWS_OF["tumbling"]
    database.create_view("v", text)
    database.create_view("same", text)
    for step in range(10):
        database.apply("E", [(step, "a", BEGIN + step * 10 * MINUTE, 1)])
    assert sealed(database) == 7
    database.drop_view("v")
    assert (sealed(database), database.views["same"].count()) == (7, 8)
    database.drop_view("same")
    assert sealed_name(text) not in database.tables
    assert database.create_view("v", text).count() == 1
    with pytest.raises(livejoin.SqlError):
        database.create_view("v", text.replace("COUNT(*)", "COUNT(nothing)"), replace=True)
    database.create_view("v", text.replace("SUM(v)", "MAX(v)"), replace=True)
    database.execute("ALTER TABLE E ADD COLUMN x INT")
    for step in range(10, 20):
        database.apply("E", [(step, "a", BEGIN + step * 10 * MINUTE, 1, 2)])
    database._check()
    shown = database.views["v"].to_pylist()
    with pytest.raises(SchemaError, match="another query has no rows for them"):
        database.execute(f"CREATE OR REPLACE VIEW v AS {text}")
    assert database.views["v"].to_pylist() == shown
    assert len([name for name in database.tables if name.startswith("livejoin_sealed_")]) == 1
    database.drop_view("v")
    database.drop_table("E")
    assert not database.tables


def test_nothing_is_freed_without_a_view() -> None:
    database = opened()
    for step in range(10):
        database.apply("E", [(step, "a", BEGIN + step * 10 * MINUTE, 1)])
    assert database.stats()["tables"]["E"]["rows"] == 10
    assert database.create_view("v", VIEWS_OF["tumbling"]).count() == 8


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"watermark": None}, "no watermark"),
        ({"append_only": True}, "append_only: rows leave when"),
        ({"retain": "used"}, "retain = 'used'"),
        ({"keep": "some"}, "allowed are 'all' and 'open'"),
        ({"keep": "all", "keep_final": MINUTE}, "keep_final and not keep = 'open'"),
        ({"keep_final": 0 * MINUTE}, "a timedelta above 0"),
        ({"key": ["id"]}, "put ts into the key"),
        ({"columns": "id INT UNIQUE, ts TIMESTAMP"}, "put ts into it"),
        ({"key": ["id"], "columns": "id INT, ts TIMESTAMP, n INT", "sequence_by": "n"}, "sequence_by: it compares"),
    ],
)
def test_tables_that_cannot_free_rows_are_refused(options: dict[str, Any], says: str) -> None:
    given = {"columns": "id INT, ts TIMESTAMP", "watermark": ("ts", DELAY), "keep": "open", **options}
    with pytest.raises(SchemaError, match=says):
        Database().create_table("E", **given)


def test_what_reads_rows_that_go_is_refused() -> None:
    database = opened()
    with pytest.raises(SchemaError, match="table 'E' has keep = 'open': rows leave it"):
        database.create_view("v", "SELECT COUNT(*) FROM e")
    with pytest.raises(SchemaError, match="table 'E' has keep = 'open'"):
        database.create_assertion("a", "SELECT * FROM E WHERE v < 0")
    with pytest.raises(UnsupportedQueryError, match="a session may begin any time"):
        database.create_view("v", VIEWS["sessions"][0])
    with pytest.raises(SchemaError, match="leave deltas=False out"):
        database.create_view("v", VIEWS_OF["tumbling"], deltas=False)
    with pytest.raises(livejoin.SqlError, match="longer than nothing"):
        database.create_view("v", "SELECT COUNT(*) FROM E GROUP BY window(ts, '0 minutes') EMIT FINAL")
    assert sorted(database.tables) == ["E", FREED, "livejoin_watermark_e"]
    database.create_view("v", VIEWS_OF["tumbling"])
    name = sealed_name(VIEWS_OF["tumbling"])
    for table in (name, FREED):
        with pytest.raises(ChangeFormatError, match="nobody else changes it"):
            database.execute(f"DELETE FROM {table}")
        with pytest.raises(SchemaError, match="it is not altered"):
            database.execute(f"ALTER TABLE {table} ADD COLUMN x INT")
        with pytest.raises(SchemaError, match="comes and goes"):
            database.drop_table(table)


def test_rows_that_are_late_are_refused_where_the_table_says_so() -> None:
    database = opened(late="refuse", key=True)
    database.create_view("v", VIEWS_OF["tumbling"])
    database.apply("E", [(1, "a", BEGIN, 1), (2, "a", BEGIN + 60 * MINUTE, 1)])
    database.apply("E", [(3, "a", BEGIN + 60 * MINUTE, 1)])
    assert database.sql("SELECT COUNT(*) AS n FROM E").to_pylist() == [{"n": 2}]
    with pytest.raises(ChangeValueError, match="the change is late"):
        database.apply("E", [{"id": 1, "k": "a", "ts": BEGIN, "v": 1, "_change_type": "delete"}], on_conflict="update")
    assert sealed(database) == 1


STEPS = [(step, "a", BEGIN + step * 7 * MINUTE, step) for step in range(30)]


def _child(folder: Path, at: int, before: bool) -> None:
    """Commit to a folder, and be killed at a record of the log, before or behind it."""
    count, written = 0, Log.commit

    def commit(self: Log, *given: Any) -> Any:
        nonlocal count
        count += 1
        if count == at and before:
            os.kill(os.getpid(), signal.SIGKILL)
        found = written(self, *given)
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    Log.commit = commit  # type: ignore[method-assign]
    database = Database(folder)
    begin = database.offsets.get("done", 0)
    for number in range(begin, len(STEPS)):
        database.apply("E", STEPS[number : number + 1], offsets={"done": number + 1})


def test_a_process_that_is_killed_as_it_seals_loses_no_window(tmp_path: Path) -> None:
    whole = opened(keep="all")
    database = opened(tmp_path / "kept")
    for one in (database, whole):
        one.create_view("tumbling", VIEWS_OF["tumbling"])
        one.create_view("hopping", VIEWS_OF["hopping"].replace("HAVING COUNT(*) > 1", ""))
    database.close()
    done, sealing_was_last = 0, set[bool]()
    for turn in range(14):
        child = os.fork()
        if not child:
            try:
                _child(tmp_path / "kept", 3 + turn % 3, before=turn % 2 == 0)
            finally:
                os._exit(1)
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL or done > 20
        database = Database(tmp_path / "kept")
        stands = database.offsets.get("done", 0)
        for number in range(done, stands):
            whole.apply("E", STEPS[number : number + 1])
        done = stands
        sealing_was_last.add(database.sql(f"SELECT at FROM {FREED}").num_rows > 0 and _is_just_sealed(database))
        for name, view in whole.views.items():
            assert multiset(database.views[name].to_arrow()) == multiset(view.to_arrow()), (turn, name)
        database._check()
        database.close()
        if done > 20:
            break
    assert sealing_was_last == {False, True}


def _is_just_sealed(database: Database) -> bool:
    """Whether rows are freed up to the watermark, but for less than a hopping window."""
    (found,) = database.sql(
        f"SELECT MAX(m.at) AS mark, MAX(f.at) AS at FROM livejoin_watermark_e m CROSS JOIN {FREED} f"
    ).to_pylist()
    return bool(found["at"] + 14 * MINUTE > found["mark"])
