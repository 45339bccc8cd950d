"""Histories in a folder: who follows a view goes on without a gap when the folder is opened again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin.database.durable import fold_process
from livejoin.database.durable import log as log_module
from oracle import multiset, signed_multiset
from scenario import Row

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
    fold_process.fold(db.path, log.segment)
    folding = log.on_segment.__self__  # type: ignore[attr-defined]
    folding._take_over(log.segment)
    assert [one.name for one in (db.path / "log").iterdir()] == [log_module.segment_name(log.segment)]


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
    told = [int(process.stdout.readline()) for _ in range(8)][-1]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with livejoin.open(tmp_path / "db") as db:
        assert db.version >= told
        copy.follow(db.views["v"])
        assert copy.resets == 0
        assert copy.version == db.version
