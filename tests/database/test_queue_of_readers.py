"""Commits go first: one waits for a single reader at most, however many wait for the lock; so it is in a child."""

from __future__ import annotations

import os
import sys
import threading
import time
from _thread import RLock

import pytest

import livejoin
from livejoin.database.transactions import guard, python_lock, readers
from livejoin.database.transactions.guard import alone, first, open_guard
from livejoin.database.transactions.python_lock import INTERVAL

READERS = 8


class Book:
    """Calls that read and one that commits, which say in which order they ran."""

    def __init__(self) -> None:
        self._guard = open_guard()
        self.order: list[str] = []
        self.may_go_on = threading.Event()
        self.has_begun = threading.Event()

    @alone
    def read_long(self) -> None:
        self.has_begun.set()
        self.may_go_on.wait()
        self.order.append("long")

    @first
    def commit_long(self) -> None:
        self.has_begun.set()
        self.may_go_on.wait()
        self.order.append("long")

    @alone
    def read(self) -> None:
        self.order.append("read")

    @first
    def commit(self) -> None:
        self.order.append("commit")
        self.read()  # a call within a call waits for nobody


def until(is_so: object) -> None:
    while not is_so():  # type: ignore[operator]
        time.sleep(0.001)


def test_a_commit_comes_before_the_readers_that_waited_longer() -> None:
    book = Book()
    threads = [threading.Thread(target=book.read_long)]
    threads[0].start()
    book.has_begun.wait()
    threads += [threading.Thread(target=book.read) for _ in range(READERS)]
    for thread in threads[1:]:
        thread.start()
    gate = book._guard.line.gate
    threads.append(threading.Thread(target=book.commit))
    threads[-1].start()
    until(lambda: book._guard.line.gate is not gate)
    book.may_go_on.set()
    for thread in threads:
        thread.join()
    place = book.order.index("commit")
    assert book.order[0] == "long"
    assert place <= 2  # behind the first of those who wait, if it was through the gate already
    assert book.order.count("read") == READERS + 1


def test_a_commit_that_waits_does_not_wait_for_readers_in_the_gate_of_the_one_before() -> None:
    book = Book()
    book.commit()
    gate, _ = book._guard.line.gate
    with gate:  # as held by a reader on its way through
        done = threading.Thread(target=book.commit)
        done.start()
        done.join()
    assert book.order.count("commit") == 2


def test_a_reader_that_one_commit_has_passed_reads_before_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_TURN", 60)
    book = Book()
    first_one = threading.Thread(target=book.commit_long)
    first_one.start()
    book.has_begun.wait()
    reader = threading.Thread(target=book.read)
    reader.start()
    until(lambda: book._guard.line.readers)
    gate = book._guard.line.gate
    later = threading.Thread(target=lambda: [book.commit() for _ in range(3)])
    later.start()
    until(lambda: book._guard.line.gate is not gate)
    book.may_go_on.set()
    for thread in (first_one, reader, later):
        thread.join()
    assert book.order[:4] == ["long", "read", "commit", "read"]  # each commit reads within itself, too


def test_commits_do_not_wait_for_a_reader_that_was_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_TURN", 60)
    book = Book()
    book.commit()
    book._guard.line.readers.append(RLock())  # it is gone and could not say so
    book.commit()
    assert not book._guard.line.readers
    assert book.order.count("commit") == 2


def test_a_commit_waits_not_long_for_a_reader_that_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_TURN", 0.001)
    book = Book()
    book.commit()
    asleep, wakes = threading.Event(), threading.Event()

    def sleeper() -> None:
        lock = RLock()
        with lock:
            book._guard.line.readers.append(lock)
            asleep.set()
            wakes.wait()

    thread = threading.Thread(target=sleeper)
    thread.start()
    asleep.wait()
    book.commit()
    wakes.set()
    thread.join()
    assert book.order.count("commit") == 2


def test_the_switch_interval_is_short_while_a_commit_runs_and_stays_what_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "active_count", lambda: 2)

    class Timed(Book):
        seen = 0.0

        @first
        def timed(self, fails: bool) -> None:
            self.seen = sys.getswitchinterval()
            if fails:
                raise ValueError

    book, interval = Timed(), sys.getswitchinterval()
    book.timed(False)
    assert book.seen < interval == sys.getswitchinterval()
    with pytest.raises(ValueError):
        book.timed(True)
    assert sys.getswitchinterval() == interval


def test_the_switch_interval_is_shorter_while_a_large_commit_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, set_to = [], sys.setswitchinterval

    def noted(interval: float) -> None:
        seen.append(interval)
        set_to(interval)

    monkeypatch.setattr(sys, "setswitchinterval", noted)
    monkeypatch.setattr(guard, "active_count", lambda: 2)
    db, interval = livejoin.Database(), sys.getswitchinterval()
    db.create_table("t", "n BIGINT")
    seen.clear()
    db.apply("t", [(1,)])
    assert seen == [INTERVAL, interval]
    seen.clear()
    db.apply("t", [(n,) for n in range(1000)])
    assert [one < INTERVAL for one in seen] == [False, True, False, False]
    assert sys.getswitchinterval() == interval


def test_a_process_with_one_thread_of_python_leaves_its_lock_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for it there. The first commit behind the start of another thread knows of that one."""

    def refused(*_: object) -> None:
        pytest.fail("the lock was touched")

    db = livejoin.Database()
    db.create_table("t", "n BIGINT")
    view = db.create_view("v", "SELECT COUNT(*) AS n FROM t")
    with monkeypatch.context() as alone_there:
        alone_there.setattr(guard, "active_count", lambda: 1)
        alone_there.setattr(sys, "setswitchinterval", refused)
        alone_there.setattr(python_lock, "keep", refused)
        for size in (1, 1000):
            db.apply("t", [(n,) for n in range(size)])
    kept = []
    monkeypatch.setattr(guard, "active_count", lambda: 2)
    monkeypatch.setattr(python_lock, "keep", lambda: kept.append(True))
    db.apply("t", [(1,)])
    assert kept and view.to_arrow()["n"].to_pylist() == [1002]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_waits_for_no_gate_of_a_thread_that_it_has_not() -> None:
    """A commit of another thread that waits for the lock has closed its gate when the process forks."""
    book = Book()
    reader = threading.Thread(target=book.read_long)
    reader.start()
    book.has_begun.wait()
    gate = book._guard.line.gate
    committer = threading.Thread(target=book.commit)
    committer.start()
    until(lambda: book._guard.line.gate is not gate)
    timer = threading.Timer(0.05, book.may_go_on.set)
    timer.start()
    child = os.fork()
    if not child:
        book._guard.line.gate[0].acquire(blocking=False) or os._exit(3)
        book._guard.line.queue.acquire(blocking=False) or os._exit(4)
        book._guard.line.readers and os._exit(5)
        book.read()
        book.commit()
        os._exit(0)
    for thread in (timer, committer, reader):
        thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_rows_are_of_one_version_beside_commits() -> None:
    """Words are copied under the lock, and become Arrow while commits go on."""
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k INT PRIMARY KEY, name STRING, v INT)")
    plain = db.create_view("plain", "SELECT k, name, v FROM t")
    ordered = db.create_view("ordered", "SELECT name, k FROM t ORDER BY v DESC, k")
    db.apply("t", [(k, "a", 0) for k in range(500)])
    wrong: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            rows, names = plain.to_arrow(), ordered.to_arrow()
            if len(set(rows["v"].to_pylist())) != 1 or len(set(names["name"].to_pylist())) != 1:
                wrong.append(rows)
            if names["k"].to_pylist() != sorted(names["k"].to_pylist()):
                wrong.append(names)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(1, 30):
        db.apply("t", [{"k": k, "name": f"n{number}", "v": number, "_change_type": "upsert"} for k in range(500)])
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
