"""Who reads a view's rows at the same time as another thread gets the same table, and nobody gets older rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import livejoin
from livejoin.database import view as views
from livejoin.database.versions.shared_read import SharedRead

READERS = 4


def made(rows: int) -> tuple[livejoin.Database, livejoin.View]:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    view = db.create_view("v", "SELECT v % 7 AS m, COUNT(*) AS n FROM t GROUP BY v % 7 ORDER BY m")
    db.apply("t", [(n, n) for n in range(rows)])
    return db, view


def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.001)


def test_readers_at_the_same_time_share_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    db, view = made(100)
    made_by, sharing, may_go_on = [], [], threading.Event()
    table_of, is_of = views.table_of, SharedRead.is_of

    def slow(*args: Any) -> pa.Table:
        made_by.append(threading.get_ident())
        may_go_on.wait()
        return table_of(*args)

    def noted(read: SharedRead, node: Any) -> bool:
        sharing.append(threading.get_ident())
        return is_of(read, node)

    monkeypatch.setattr(views, "table_of", slow)
    monkeypatch.setattr(SharedRead, "is_of", noted)
    found: list[pa.Table] = []
    threads = [threading.Thread(target=lambda: found.append(view.to_arrow())) for _ in range(READERS)]
    threads[0].start()
    until(lambda: len(made_by) == 1)
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(sharing) == READERS - 1)
    db.apply("t", [(-1, 3)])  # no reader holds it up
    later = threading.Thread(target=lambda: found.append(view.to_arrow()))
    may_go_on.set()
    later.start()
    for thread in [*threads, later]:
        thread.join()
    assert sorted(sum(table["n"].to_pylist()) for table in found) == [100] * READERS + [101]
    assert len({id(table) for table in found}) == 2 == len(made_by)


def test_a_read_that_failed_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _, view = made(10)
    table_of = views.table_of

    def fails(*args: Any) -> pa.Table:
        monkeypatch.setattr(views, "table_of", table_of)
        raise MemoryError

    monkeypatch.setattr(views, "table_of", fails)
    with pytest.raises(MemoryError):
        view.to_arrow()
    assert view.to_arrow()["n"].to_pylist() == [2, 2, 2, 1, 1, 1, 1]


def test_nothing_is_kept_once_nobody_reads() -> None:
    _, view = made(10)
    view.to_arrow()
    assert view._last_read is not None and view._last_read() is None
