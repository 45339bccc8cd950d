"""Any call from any thread: one runs at a time, and each sees a version that is whole."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pyarrow.compute as pc
import pytest

import livejoin
from livejoin.errors import ReadError, StateError

PAIRS = "SELECT A.k AS k, A.v AS x, B.v AS y FROM T A JOIN T B ON A.k = B.k"
SUMS = "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM T GROUP BY k"


def database() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("T", "k BIGINT, v BIGINT")
    db.create_view("pairs", PAIRS)
    db.create_view("sums", SUMS, deltas=False)
    db.apply("T", [(k, sign * 5) for k in range(20) for sign in (1, -1)])
    return db


def write(db: livejoin.Database, first: int, commits: int) -> None:
    """Commits of two rows each that add up to nothing; some leave again."""
    for i in range(first, first + commits):
        kind = "insert" if i % 3 else "delete"
        value = i - (not i % 3)
        rows = [{"k": value % 20, "v": sign * (100 + value), "_change_type": kind} for sign in (1, -1)]
        db.apply("T", rows, on_conflict="ignore")


def read_sums(db: livejoin.Database) -> None:
    rows = db.views["sums"].to_arrow()
    assert not pc.any(pc.not_equal(rows["s"], 0)).as_py(), "half of a commit was seen"


def read_pairs(db: livejoin.Database) -> None:
    assert db.views["pairs"].to_arrow().num_rows % 4 == 0, "each key stands an even number of times"


def read_count(db: livejoin.Database) -> None:
    assert db.views["pairs"].count() % 4 == 0


def read_rows(db: livejoin.Database) -> None:
    view = db.views["pairs"]
    assert view.at(-1) in view or view.at(0) in view or view.count()
    assert view.sample(5, seed=1).num_rows == 5


def read_batches(db: livejoin.Database) -> None:
    try:
        rows = sum(batch.num_rows for batch in db.views["pairs"].batches(16))
    except ReadError as error:
        assert "changed while it was read" in str(error)
    else:
        assert rows % 4 == 0


def change_views(db: livejoin.Database) -> None:
    name = f"own {threading.get_ident()}"
    assert db.create_view(name, PAIRS).count() % 4 == 0
    db.drop_view(name)


READERS = (read_sums, read_pairs, read_count, read_rows, read_batches, change_views)


def test_readers_beside_writers_see_whole_versions() -> None:
    db = database()
    failures: list[BaseException] = []
    writing = threading.Event()
    writing.set()

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as failure:
            failures.append(failure)

    def read(reader: Callable[[livejoin.Database], None]) -> None:
        while writing.is_set() and not failures:
            reader(db)

    writers = [threading.Thread(target=run, args=(lambda at=at: write(db, at, 120),)) for at in (0, 500)]
    readers = [threading.Thread(target=run, args=(lambda reader=reader: read(reader),)) for reader in READERS]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join()
    writing.clear()
    for thread in readers:
        thread.join()
    assert not failures, failures[0]
    assert db.version == 241
    db._check()
    expected = db.create_view("anew", PAIRS)
    assert expected.count() == db.views["pairs"].count()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
def test_a_forked_child_has_a_working_copy() -> None:
    """Also where another thread is in the middle of commits: the fork waits for the end of one."""
    db = database()
    db.create_view("text", "SELECT upper(CAST(k AS STRING)) AS t FROM T WHERE v > 0")
    writer = threading.Thread(target=write, args=(db, 0, 150))
    writer.start()
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                version = db.version
                db.apply("T", [(3, 1), (3, -1)])
                read_sums(db)
                read_pairs(db)
                db._check()
                status = 0 if db.version == version + 1 else 2
            finally:
                os._exit(status)
        children.append(child)
    writer.join()
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    db._check()
    assert db.version == 151


def test_a_call_out_of_the_middle_of_a_commit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a signal handler makes it; the commit goes on."""
    db = database()
    graph, pairs, seen = db._contents.graph, db.views["pairs"], []
    apply = graph.apply

    def handler(*arguments: object) -> object:
        for call in (pairs.count, lambda: db.apply("T", [(1, 1)])):
            with pytest.raises(StateError, match="signal handler"):
                call()
            seen.append(call)
        return apply(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(graph, "apply", handler)
    db.apply("T", [(1, 7), (1, -7)])
    assert len(seen) == 2
    monkeypatch.undo()
    read_pairs(db)
    db._check()
