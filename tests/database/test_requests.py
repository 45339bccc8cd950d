"""Requests of clients are done once, also where they are sent again, and where the database was opened again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin.database.durable import fold_process
from livejoin.database.durable.places import FolderPlace, remove_before
from livejoin.database.transactions.requests import MOST_CLIENTS, MOST_NUMBERS, Answer, Numbered, Requests
from livejoin.errors import ChangeError, ChangeFormatError, DuplicateKeyError, ReadError, SqlError
from livejoin.state.files import Folder

_SQL = """
    CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT);
    CREATE VIEW total AS SELECT SUM(v) AS s FROM t
"""


def test_a_request_that_is_sent_again_changes_nothing() -> None:
    db = livejoin.Database()
    db.execute(_SQL)
    first = db.apply("t", [(1, 10), (2, 20)], request=("till", 1))
    again = db.apply("t", [(1, 10), (2, 20)], request=("till", 1))
    assert (first.version, first.changes, first.repeated) == (1, 2, False)
    assert (again.version, again.changes, again.repeated, again.views) == (1, 2, True, ())
    assert db.version == 1
    assert db.views["total"].to_pylist() == [{"s": 30}]
    other = db.apply("t", [(3, 5)], request=("another till", 1))
    assert not other.repeated


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES (1, 10), (2, 20)",
        "BEGIN; INSERT INTO t VALUES (1, 10); INSERT INTO t VALUES (2, 20); COMMIT",
        "UPDATE t SET v = 0 WHERE k = 5",
    ],
)
def test_sql_that_is_one_commit_is_done_once(tmp_path: Path, sql: str) -> None:
    with livejoin.open(tmp_path) as db:
        db.execute(_SQL)
        first = db.execute(sql, request=("till", 1, 9))
        assert first is not None
        assert not first.repeated
        rows = db.sql("SELECT * FROM t ORDER BY k").to_pylist()
    with livejoin.open(tmp_path) as db:
        again = db.execute(sql, request=("till", 1, 9))
        assert again is not None
        assert (again.repeated, again.version, again.changes) == (True, first.version, first.changes)
        assert db.sql("SELECT * FROM t ORDER BY k").to_pylist() == rows
        assert db.version == first.version


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES (1, 10); INSERT INTO t VALUES (2, 20)",
        "CREATE TABLE u (k BIGINT)",
        "BEGIN; INSERT INTO t VALUES (1, 10); COMMIT; INSERT INTO t VALUES (2, 20)",
        "BEGIN; INSERT INTO t VALUES (1, 10); COMMIT; BEGIN; INSERT INTO t VALUES (2, 20); COMMIT",
        "BEGIN; INSERT INTO t VALUES (1, 10); ROLLBACK",
        "BEGIN; COMMIT",
        "COMMIT",
        "REFRESH TABLE t",
    ],
)
def test_sql_that_is_not_one_commit_has_no_number(sql: str) -> None:
    db = livejoin.Database()
    db.execute(_SQL)
    with pytest.raises(SqlError, match="a request with a number is one commit"):
        db.execute(sql, request=("till", 1))
    assert (db.version, list(db.tables)) == (0, ["t"])


def test_a_number_that_is_used_for_something_else_is_refused(tmp_path: Path) -> None:
    with livejoin.open(tmp_path) as db:
        db.execute(_SQL)
        db.apply("t", [(1, 10)], request=("till", 1, 77))
        db.apply("t", [(2, 10)], request=("till", 2))
    with livejoin.open(tmp_path) as db:
        assert db.apply("t", [(1, 10)], request=("till", 1, 77)).repeated
        assert db.apply("t", [(1, 10)], request=("till", 1)).repeated, "nobody says what is asked"
        assert db.apply("t", [(2, 10)], request=("till", 2, 5)).repeated, "nobody said what was asked"
        with pytest.raises(ChangeError, match="request 1 of client 'till' was another one, in version 1"):
            db.apply("t", [(3, 10)], request=("till", 1, 78))
        assert db.version == 2


def test_a_request_that_failed_is_new() -> None:
    db = livejoin.Database()
    db.execute(_SQL)
    db.apply("t", [(1, 10)])
    with pytest.raises(DuplicateKeyError):
        db.apply("t", [(1, 11)], request=("till", 1))
    assert not db.apply("t", [(2, 11)], request=("till", 1)).repeated


def test_bad_rows_are_in_the_answer() -> None:
    db = livejoin.Database(on_bad_rows="skip")
    db.execute(_SQL)
    rows: list[Any] = [(1, 10), (2, "x")]
    assert db.apply("t", rows, request=("till", 1)).bad_rows == 1
    assert db.apply("t", rows, request=("till", 1)).bad_rows == 1
    assert db.version == 1


@pytest.mark.parametrize("folds", [False, True])
def test_requests_stay_in_the_folder(tmp_path: Path, folds: bool) -> None:
    with livejoin.open(tmp_path / "db") as db:
        db.execute(_SQL)
        db.apply("t", [(1, 10), (2, 10)], request=("till", 7))
        log = db._contents.log
        assert log is not None
        if folds:
            log._begin_segment()
            fold_process.fold(FolderPlace(tmp_path / "db"), log.segment)  # what the process beside does, and then:
            with Folder.at(tmp_path / "db" / "log") as folder:
                remove_before(folder, log.segment)
            assert (tmp_path / "db" / "snapshots" / "CURRENT").exists()
    with livejoin.open(tmp_path / "db") as db:
        again = db.apply("t", [(1, 10), (2, 10)], request=("till", 7))
        assert (again.repeated, again.version, again.changes) == (True, 1, 2)
        assert not db.apply("t", [(3, 10)], request=("till", 8)).repeated


def test_old_numbers_and_old_clients_are_forgotten() -> None:
    found = Requests()
    answer = Answer(1, 1, 0, 0, 0)
    for number in range(MOST_NUMBERS + 2):
        found.note(Numbered("a", number), answer)
    with pytest.raises(ChangeError, match="older than the last 1000"):
        found.answer(Numbered("a", 1))
    assert found.answer(Numbered("a", 2)) == answer
    same = Requests.of(found.plain())
    assert same.plain() == found.plain()
    for number in range(MOST_CLIENTS):
        found.note(Numbered(f"client {number}", 0), answer)
    assert found.answer(Numbered("a", 5)) is None
    assert found.answer(Numbered("client 0", 0)) == answer


@pytest.mark.parametrize("request_", ["till", ("till",), ("", 1), ("till", -1), ("till", True), (1, 1), ("t" * 201, 1)])
def test_what_is_no_request_is_refused(request_: Any) -> None:
    db = livejoin.Database()
    db.execute(_SQL)
    with pytest.raises(ChangeFormatError, match="as \\('till-3', 17\\)"):
        db.apply("t", [(1, 1)], request=request_)
    assert db.version == 0


def test_a_preview_is_the_commit_that_would_follow(tmp_path: Path) -> None:
    with livejoin.open(tmp_path) as db:
        db.execute(_SQL)
        db.apply("t", [(1, 10)])
        heard: list[int] = []
        db.views["total"].subscribe(lambda delta: heard.append(delta.num_rows))
        with db.views["total"].changes() as changes:
            changes.next()
            before = db.stats()
            seen = db.preview("t", [(2, 5), (3, 6)])
            assert (db.version, heard, db.stats()["tables"]) == (1, [], before["tables"])
            with pytest.raises(TimeoutError):
                changes.next(timeout=0)
            commit = db.apply("t", [(2, 5), (3, 6)])
            assert seen.deltas["total"].equals(commit["total"]) and seen["total"] is seen.deltas["total"]
            assert (seen.version, seen.changes, seen.ignored, seen.late) == (commit.version, commit.changes, 0, 0)
        with pytest.raises(DuplicateKeyError):
            db.preview("t", [(2, 5)])
        nothing = db.preview("t", [(2, 5)], on_conflict="ignore")
        assert nothing.ignored == 1 and not nothing.deltas
        assert nothing["total"].equals(seen["total"].slice(0, 0))
        with pytest.raises(ReadError, match="no delta of a view 'totals'; it has total"):
            nothing["totals"]
    with livejoin.open(tmp_path) as db:
        assert db.version == 2
