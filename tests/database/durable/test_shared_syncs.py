"""Calls that share a sync: who is covered by one returns when it ends, and one that is cut off keeps nobody."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import livejoin

WAIT = 60  # seconds after which something is wrong


class Held:
    """Syncs of a database that begin when they are called, and end when they may; mutable."""

    def __init__(self, db: livejoin.Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.db = db
        self.fails_with: BaseException | None = None
        self.pool = ThreadPoolExecutor(8)
        self._begun: queue.Queue[threading.Event] = queue.Queue()
        assert db._contents.log is not None
        file = db._contents.log._segment.file
        real = file.sync

        def sync(upto: int | None = None) -> None:
            may_end, error = threading.Event(), self.fails_with
            self._begun.put(may_end)
            assert may_end.wait(WAIT)
            if error is not None:
                raise error
            real(upto)

        monkeypatch.setattr(file, "sync", sync)

    def commits(self, *rows: int) -> list[Future[livejoin.Commit]]:
        """Commits in threads of their own, of which each has applied its row and waits to be durable."""
        found = []
        for row in rows:
            before = self.db._contents.version
            found.append(self.pool.submit(self.db.apply, "t", [(row,)]))
            while self.db._contents.version == before:
                threading.Event().wait(0.001)
        return found

    def next(self) -> threading.Event:
        """Lets the next sync end, which has begun."""
        return self._begun.get(timeout=WAIT)


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    db = livejoin.open(tmp_path / "db")
    db.execute("CREATE TABLE t (a BIGINT)")
    found = Held(db, monkeypatch)
    with found.pool:
        yield found
    monkeypatch.undo()
    db.close()
    with livejoin.open(tmp_path / "db") as again:
        again._check()


def test_a_call_returns_with_its_sync_while_the_next_one_runs(held: Held) -> None:
    [first] = held.commits(0)
    first_may_end = held.next()
    covered = held.commits(1, 2, 3, 4)
    first_may_end.set()
    assert first.result(WAIT).version == 1
    second_may_end = held.next()
    [late] = held.commits(5)
    second_may_end.set()
    third_may_end = held.next()
    assert sorted(one.result(WAIT).version for one in covered) == [2, 3, 4, 5]
    assert not late.done()
    third_may_end.set()
    assert late.result(WAIT).version == 6


def test_a_sync_that_is_cut_off_leaves_nobody_waiting(held: Held) -> None:
    held.fails_with = KeyboardInterrupt()
    [first] = held.commits(0)
    may_end = held.next()
    held.fails_with = None
    waiting = held.commits(1, 2)
    may_end.set()
    with pytest.raises(KeyboardInterrupt):
        first.result(WAIT)
    held.next().set()
    assert [one.result(WAIT).version for one in waiting] == [2, 3]


def test_all_who_wait_hear_of_a_sync_that_failed(held: Held) -> None:
    held.fails_with = OSError("the disk is gone")
    [first] = held.commits(0)
    may_end = held.next()
    waiting = held.commits(1, 2)
    may_end.set()
    for one in (first, *waiting):
        with pytest.raises(livejoin.StorageError, match="the disk is gone"):
            one.result(WAIT)
