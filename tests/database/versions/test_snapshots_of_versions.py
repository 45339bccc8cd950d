"""`Database.snapshot`: all views and tables at one version, however many commits come meanwhile."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import livejoin
from livejoin.errors import LivejoinError, MemoryLimitError, ReadError, StateError, UnknownNameError
from oracle import multiset, signed_multiset


def shop(path: Path | None = None) -> livejoin.Database:
    db = livejoin.Database(path)
    db.execute(
        "CREATE TABLE sales (id INT PRIMARY KEY, item STRING, price DECIMAL(9, 2), tags ARRAY<STRING>);"
        "CREATE VIEW by_item AS SELECT item, COUNT(*) AS n, SUM(price) AS s FROM sales GROUP BY item;"
        "CREATE VIEW dearest AS SELECT item FROM sales ORDER BY price DESC LIMIT 3;"
        "CREATE VIEW ordered AS SELECT item FROM sales ORDER BY price;"
        "CREATE VIEW listed AS SELECT item, COLLECT_LIST(id) AS ids FROM sales GROUP BY item;"
        "CREATE VIEW rest AS SELECT id, tags FROM sales WHERE price > 2"
    )
    db.execute(
        "INSERT INTO sales VALUES (1, 'nut', 1.50, array('a')), (2, 'nut', 2.50, NULL), (3, NULL, 7.00, array())"
    )
    return db


NAMES = ("sales", "by_item", "dearest", "ordered", "listed", "rest")


def test_every_name_stays_what_it_was_in_its_order() -> None:
    """Rows, their types and their order, also where the order goes by a column that is not shown."""
    db = shop()
    views = {name: db.views[name].to_arrow() for name in NAMES[1:]}
    rows = db.sql("SELECT * FROM sales")
    first, second = db.snapshot(), db.snapshot()
    db.execute("DELETE FROM sales WHERE id = 2; INSERT INTO sales VALUES (9, 'bolt', 99.00, array('b', NULL))")
    later = db.snapshot()
    db.execute("UPDATE sales SET price = price + 1")
    for at in (second, first):  # the second one finds what the first one made
        for name, before in views.items():
            found = at[name].to_arrow()
            assert found.schema == before.schema
            if name in ("dearest", "ordered"):
                assert found.equals(before), name
            assert multiset(found) == multiset(before), name
        assert multiset(at["sales"].to_arrow()) == multiset(rows)
    assert later["dearest"].to_pylist() == [{"item": "bolt"}, {"item": None}, {"item": "nut"}]
    assert later.version == 3
    assert len(later["SALES"]) == 3
    assert sorted(later.tables) == ["sales"]
    assert sorted(first["rest"], key=repr) == [(2, None), (3, [])]
    assert pa.table(first["by_item"]).num_rows == 2
    assert (later["dearest"].at(0), later["dearest"].at(-1), later["dearest"].count()) == (("bolt",), ("nut",), 3)
    assert later["dearest"].sample(50, seed=1).num_rows == 50
    with pytest.raises(ReadError, match="there is no row at position 3: the result has 3 rows"):
        later["dearest"].at(3)


def test_readers_of_one_version_share_one_table() -> None:
    db = shop()
    with db.snapshot() as at, db.snapshot() as other:
        db.execute("DELETE FROM sales WHERE id = 1")
        first = at["rest"].to_arrow()
        assert other["rest"].to_arrow()["id"].chunk(0).buffers()[1].address == first["id"].chunk(0).buffers()[1].address


def test_an_image_stays_for_a_moment_and_then_nothing_is_kept_while_nobody_reads() -> None:
    db = shop()
    links = db._contents.links
    links.linger = 3600
    with db.snapshot() as at:
        first = at["rest"].to_arrow()
    db.execute("INSERT INTO sales VALUES (4, 'x', 1, NULL)")
    with db.snapshot() as at:  # rolled on, and not read again
        assert at["rest"].to_arrow()["id"].chunk(0).buffers()[1].address == first["id"].chunk(0).buffers()[1].address
    links.linger = 0
    db.execute("DELETE FROM sales WHERE id = 1")
    assert not links.tips
    with db.snapshot():
        db.execute("DELETE FROM sales WHERE id = 2")
        assert links.tips
    db.execute("DELETE FROM sales WHERE id = 3")
    assert not links.tips
    assert not links.images


def test_what_is_published_stays_and_is_rolled_forward() -> None:
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k INT, v INT)")
    view = db.create_view("v", "SELECT k, v FROM t")
    db._contents.links.linger = 0.0
    db.apply("t", [(i, i) for i in range(10_000)])
    assert db.publish("V") == 1
    links = db._contents.links
    db.apply("t", [(-1, -1)])
    gc.collect()
    with pytest.MonkeyPatch.context() as patch:  # nobody reads the view itself
        patch.setattr(db._contents.images, "_present", None)
        with db.snapshot() as at:
            assert multiset(at["v"].to_arrow()) == multiset(view.to_arrow())
        assert links.published["v"].version == 2
    db.apply("t", [(i, 0) for i in range(8_000)])  # too many to be rolled
    gc.collect()
    assert not links.published and not links.held()
    assert db.publish(view) == 3
    db.drop_view("v")
    assert not links.published
    with pytest.raises(LivejoinError):
        db.publish("v")
    with pytest.raises(ReadError, match="was dropped"):
        db.publish(view)


def test_a_query_over_a_snapshot_is_of_its_version() -> None:
    db = shop()
    with db.snapshot() as at:
        db.execute("DELETE FROM sales")
        asked = "SELECT s.item, b.n FROM sales s JOIN by_item b ON s.item = b.item WHERE s.price > :least"
        assert at.sql(asked, {"least": 2}).to_pylist() == [{"item": "nut", "n": 2}]
        with pytest.raises(ReadError, match="'listed' has the column 'ids', a list"):
            at.sql("SELECT * FROM listed")
        with pytest.raises(UnknownNameError):
            at.sql("SELECT * FROM nothing")


def test_what_cannot_be_told_any_more_is_refused() -> None:
    """A view without deltas that has changed; one that is dropped or has other columns; a closed snapshot."""
    db = shop()
    db.create_view("quiet", "SELECT item FROM sales", deltas=False)
    with db.snapshot() as at:
        assert len(at["quiet"]) == 3
        db.execute("INSERT INTO sales VALUES (4, 'x', 1, NULL)")
        assert len(at["quiet"]) == 3  # it was read before
    with db.snapshot() as at:
        db.execute("INSERT INTO sales VALUES (5, 'x', 1, NULL)")
        with pytest.raises(ReadError, match=r"'quiet' has changed .* deltas=False"):
            at["quiet"].to_arrow()
        _ = at["rest"].to_arrow()
        db.execute("DROP VIEW rest; DROP VIEW dearest")
        assert len(at["rest"]) == 2
        with pytest.raises(ReadError, match="view 'dearest' was dropped"):
            at["dearest"].to_arrow()
        db.execute("CREATE VIEW dearest AS SELECT id FROM sales")
        with pytest.raises(ReadError, match="view 'dearest' was dropped"):
            at["dearest"].to_arrow()
        db.execute("CREATE OR REPLACE VIEW ordered AS SELECT id FROM sales")
        with pytest.raises(ReadError, match="view 'ordered' was replaced"):
            at["ordered"].to_arrow()
        db.execute("CREATE OR REPLACE VIEW by_item AS SELECT item, 1L AS n, SUM(price) AS s FROM sales GROUP BY item")
        with pytest.raises(ReadError, match="no view or table 'other' at version 2; known are by_item, "):
            at["other"]
        kept = at["sales"]
    with pytest.raises(ReadError, match="the snapshot of version 2 is closed"):
        kept.to_arrow()


def test_versions_that_take_too_much_memory_are_let_go() -> None:
    """A snapshot that nobody closes does not fill the memory, nor does it keep commits from going on."""
    db = livejoin.Database(memory_limit=8_000_000)
    db.execute("CREATE TABLE t (a INT); CREATE VIEW v AS SELECT a FROM t")
    at, changes = db.snapshot(), db.views["v"].changes(since=0)
    for _ in range(20):
        db.apply("t", [(number,) for number in range(2000)])
        db.execute("DELETE FROM t")
    with pytest.raises(ReadError, match=r"the rows of 'v' at this version were let go: .* an 8th of memory_limit"):
        at["v"].to_arrow()
    update = changes.next(timeout=0)
    assert update is not None
    assert update.reset
    assert update.delta.num_rows == 0
    with db.snapshot() as now:
        assert len(now["v"]) == len(now["t"]) == 0


def test_images_count_as_memory_and_go_first_where_it_ends() -> None:
    db = livejoin.Database(memory_limit=16_000_000)
    db.execute("CREATE TABLE t (a BIGINT); CREATE VIEW v AS SELECT a, a + 1 AS b, a + 2 AS c FROM t")
    db.apply("t", [(number,) for number in range(20_000)])
    stats = db.stats()
    assert stats["image_bytes"] == 0
    db.publish("v")
    after = db.stats()
    assert 3 * 8 * 20_000 <= after["image_bytes"] <= 2 * 3 * 8 * 20_000
    assert after["memory_bytes"] - stats["memory_bytes"] == after["image_bytes"]
    first = db.snapshot()
    _ = first["v"].to_arrow()
    db.apply("t", [(-1,)])
    with db.snapshot() as second:  # an image that shares all but some chunks with the other one
        _ = second["v"].to_arrow()
        assert db.stats()["image_bytes"] < 2.5 * after["image_bytes"]
    first.close()
    db.publish("v")
    budget = db._contents.budget
    budget.limit = budget.total - after["image_bytes"] // 2  # what is published goes, and nothing is refused
    db.apply("t", [(number,) for number in range(20_000, 20_100)])
    assert db._contents.budget.has_room(0)
    gc.collect()
    assert db.stats()["image_bytes"] == 0 and not db._contents.links.published
    budget.limit = budget.total + 100_000
    with db.snapshot() as at, pytest.raises(MemoryLimitError, match="for the rows of 'v' at a version"):
        at["v"].to_arrow()
    assert db.views["v"].count() == 20_101
    with db.snapshot() as at:
        budget.limit = 16_000_000
        assert len(at["v"]) == 20_101
    db._check()


def test_a_replaced_view_is_rolled_over_its_replacement() -> None:
    db = shop()
    with db.snapshot() as at:
        before = multiset(db.views["by_item"].to_arrow())
        db.execute("INSERT INTO sales VALUES (5, 'x', 1, NULL)")
        db.execute(
            "CREATE OR REPLACE VIEW by_item AS SELECT item, COUNT(*) AS n, SUM(price) AS s FROM sales WHERE price > 2 "
            "GROUP BY item"
        )
        db.execute("DELETE FROM sales WHERE id = 1")
        assert multiset(at["by_item"].to_arrow()) == before


def test_a_closed_database_gives_what_was_read(tmp_path: Path) -> None:
    db = shop(tmp_path / "a folder")
    at = db.snapshot()
    _ = at["rest"].to_arrow()
    db.close()
    assert len(at["rest"]) == 2
    with pytest.raises(StateError, match="closed"):
        at["by_item"].to_arrow()
    with pytest.raises(StateError, match="closed"):
        db.snapshot()


def test_a_subscriber_reads_beside_readers_that_wait_for_it() -> None:
    """Whoever has the lock makes an image without waiting for one who makes it and waits for the lock."""
    db = shop()
    at = db.snapshot()
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(at["rest"].to_arrow().num_rows))

    def told(_: pa.Table) -> None:
        reader.start()
        while not at["rest"]._link.making.locked():  # type: ignore[union-attr]
            pass
        found.append(at["rest"].to_arrow().num_rows)

    db.views["by_item"].subscribe(told)
    db.execute("DELETE FROM sales WHERE id = 3")
    reader.join(30)
    assert found == [2, 2]


def test_readers_beside_a_writer_see_versions_that_were() -> None:
    """Threads take snapshots while commits come; each of them is one version's truth, of all names."""
    db = livejoin.Database()
    db.execute(
        "CREATE TABLE t (k INT, v INT); CREATE VIEW s AS SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k;"
        "CREATE VIEW top AS SELECT v FROM t ORDER BY v DESC, k LIMIT 5"
    )
    truth: dict[int, list[tuple[int, int]]] = {0: []}
    done, failures = threading.Event(), list[BaseException]()

    def read() -> None:
        try:
            while not done.is_set():
                with db.snapshot() as at:
                    rows = list(at["t"])
                    sums = Counter[int]()
                    for k, v in rows:
                        sums[k] += v
                    assert {k: s for k, s, _ in at["s"]} == dict(sums)
                    assert [v for (v,) in at["top"]] == sorted((v for _, v in rows), reverse=True)[:5]
                    version = at.version
                for _ in range(1000):  # the writer writes its truth down when the commit has returned
                    if version in truth:
                        break
                assert version not in truth or Counter(rows) == Counter(truth[version])
        except BaseException as failure:
            failures.append(failure)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    now: list[tuple[int, int]] = []
    for number in range(60):
        gone = now[: number % 3] if number > 5 else []
        came = [(number % 4, number), (number % 3, number), (1, 1)]
        now = [*now[len(gone) :], *came]
        kinds = [{"k": k, "v": v, "_change_type": "delete"} for k, v in gone]
        db.apply("t", [*kinds, *({"k": k, "v": v, "_change_type": "insert"} for k, v in came)])
        truth[db.version] = list(now)
    done.set()
    for reader in readers:
        reader.join(60)
    assert not failures
    assert db.version == 60


def test_a_table_that_gets_other_columns_is_another_one_and_its_views_go_on() -> None:
    db = shop()
    db.execute("CREATE VIEW hidden AS SELECT id FROM sales ORDER BY price DESC")
    followed, hidden = db.views["by_item"].changes(since=1), db.views["hidden"].changes(since=1)
    with db.snapshot() as at:
        before = multiset(db.views["by_item"].to_arrow())
        db.execute("ALTER TABLE sales ADD COLUMN note STRING DEFAULT 'none'")
        db.execute("INSERT INTO sales VALUES (7, 'nut', 2, NULL, 'new')")
        with pytest.raises(ReadError, match="table 'sales' got other columns"):
            at["sales"].to_arrow()
        assert multiset(at["by_item"].to_arrow()) == before
        assert at["hidden"].to_pylist() == [{"id": 3}, {"id": 2}, {"id": 1}]
    db.execute("ALTER TABLE sales RENAME COLUMN price TO cost")
    db.execute("INSERT INTO sales VALUES (8, 'nut', 3, NULL, NULL)")
    with db.snapshot() as at:
        db.execute("DELETE FROM sales WHERE id = 8")
        assert len(at["sales"]) == 5
        assert at["hidden"].to_pylist() == [{"id": 3}, {"id": 8}, {"id": 2}, {"id": 7}, {"id": 1}]
    for changes, name in ((followed, "by_item"), (hidden, "hidden")):
        total = Counter(before) if name == "by_item" else Counter({(1,): 1, (2,): 1, (3,): 1})
        while True:
            try:
                update = changes.next(timeout=0)
            except TimeoutError:
                break
            assert update is not None
            for row, count in signed_multiset(update.delta).items():
                total[row] += count
        assert +total == multiset(db.views[name].to_arrow())
