"""`View.changes`: the rows of a version, then every delta, in order and without a gap."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import livejoin
from harness import add
from livejoin.errors import ChangeError, ReadError, SchemaError
from oracle import assert_same_rows, multiset, signed_multiset
from scenario import Row, canonical_row


def counted(path: Path | None = None, **options: Any) -> tuple[livejoin.Database, livejoin.View]:
    db = livejoin.Database(path, **options)
    db.execute("CREATE TABLE t (k INT, v INT); CREATE TABLE other (a INT)")
    return db, db.create_view("n", "SELECT k, COUNT(*) AS n FROM t GROUP BY k")


def follow(changes: livejoin.Changes, until: int, found: Counter[Row], seen: list[int]) -> None:
    """Read up to a version."""
    for update in changes:
        if update.reset:
            found.clear()
        for row, count in signed_multiset(update.delta).items():
            found[row] += count
            if not found[row]:
                del found[row]
        seen.append(update.version)
        if update.version >= until:
            return


def test_the_rows_come_first_and_then_each_delta() -> None:
    db, view = counted()
    db.apply("t", [(1, 1), (1, 2)])
    changes = view.changes()
    db.apply("t", [(2, 1)])
    db.apply("other", [(1,)])
    db.apply("t", [(1, 3)])
    first, second, third = (changes.next(timeout=0) for _ in range(3))
    assert first is not None and second is not None and third is not None
    assert (first.version, first.reset) == (1, True)
    assert first.delta.schema.equals(view.delta_schema)
    assert first.delta.to_pylist() == [{"k": 1, "n": 2, "_change_type": "insert", "_commit_version": 1}]
    assert (second.version, second.reset, second.delta["k"].to_pylist()) == (2, False, [2])
    assert (third.version, third.delta["_change_type"].to_pylist()) == (4, ["update_preimage", "update_postimage"])
    with pytest.raises(TimeoutError, match="no commit changed view 'n' within"):
        changes.next(timeout=0.01)
    assert repr(changes) == "Changes('n', version=4)"
    assert repr(third) == "Update(version=4, 2 rows)"


def test_what_waits_is_one_net_delta_with_merge() -> None:
    db, view = counted()
    changes = view.changes(since=0, waiting="merge")
    for v in range(5):
        db.apply("t", [(1, v), (v, 0)])
    update = changes.next(timeout=0)
    assert update is not None
    assert (update.version, update.reset) == (5, False)
    assert signed_multiset(update.delta) == multiset(view.to_arrow())
    assert set(update.delta["_change_type"].to_pylist()) == {"insert"}
    assert set(update.delta["_commit_version"].to_pylist()) == {5}


def test_who_waits_for_too_much_begins_anew() -> None:
    """What waits is forgotten beyond the limit of a follower, and of this one alone."""
    db, view = counted()
    slow, patient = view.changes(since=0, max_waiting=3), view.changes(since=0)
    for v in range(4):
        db.apply("t", [(v, v)])
    assert slow.link is None
    db.apply("t", [(9, 9)])
    update = slow.next(timeout=0)
    assert update is not None
    assert (update.version, update.reset, update.delta.num_rows) == (5, True, 5)
    db.apply("t", [(7, 7)])
    update = slow.next(timeout=0)
    assert update is not None
    assert (update.version, update.reset, update.delta.num_rows) == (6, False, 1)
    found, seen = Counter[Row](), list[int]()
    follow(patient, 6, found, seen)
    assert seen == [1, 2, 3, 4, 5, 6]


def test_commits_wait_for_one_who_asks_for_it() -> None:
    """Nothing is forgotten, and no more waits than may and one delta; whoever closes or dies stops nobody for long."""
    db, view = counted()
    changes = view.changes(max_waiting=4, when_full="block", patience=60)
    waiting, found, seen = list[int](), Counter[Row](), list[int]()
    thread = threading.Thread(target=follow, args=(changes, 60, found, seen))
    thread.start()
    for v in range(60):
        db.apply("t", [(v % 5, v), (v % 7, v)])
        waiting.append(changes.waiting or 0)
    thread.join()
    assert max(waiting) <= 4 + 4
    assert seen[-1] == 60 and (seen == list(range(1, 61)) or seen[0] == 0 or len(seen) == 61 - seen[0])
    assert_same_rows(view.to_arrow(), found, "what one who is waited for has")

    closing = threading.Timer(0.1, changes.close)
    closing.start()
    for v in range(4):
        db.apply("t", [(v, v), (9 + v, v)])  # the last ones wait until it is closed
    closing.join()

    dead = view.changes(max_waiting=0, when_full="block", patience=0.2)
    begun = time.monotonic()
    for v in range(5):
        db.apply("t", [(v, v)])
    assert 0.2 <= time.monotonic() - begun < 5
    update = dead.next(timeout=0)
    assert update is not None and update.reset and update.version == db.version


def test_one_who_is_waited_for_does_not_wait_for_itself() -> None:
    db, view = counted()

    async def awaited() -> None:
        async for update in view.changes(max_waiting=1, when_full="block", patience=60):
            if update.version == 0:
                db.apply("t", [(1, 1), (2, 2)])
                with pytest.raises(ChangeError, match="would wait for itself"):
                    db.execute("INSERT INTO t VALUES (5, 5)")
            else:
                db.apply("t", [(3, 3)])
                return

    asyncio.run(awaited())
    gc.collect()
    assert db.version == 2
    db.apply("t", [(v, v) for v in range(9)])


def test_an_async_function_is_awaited_with_each_delta_in_order() -> None:
    db, view = counted()
    db.apply("t", [(1, 1)])
    seen, errors = list[int](), list[Exception]()

    async def note(delta: pa.Table) -> None:
        await asyncio.sleep(0.001 * (len(seen) % 2))
        seen.extend(delta["_commit_version"].to_pylist()[:1])
        if len(seen) == 2:
            db.apply("t", [(100, 100)])  # it is called when the commit stands
            raise ValueError

    async def main() -> None:
        end = view.subscribe(note, errors.append, snapshot=True)
        await asyncio.to_thread(lambda: [db.apply("t", [(v, v)]) for v in range(10)])
        while len(seen) < 12:
            await asyncio.sleep(0.01)
        end()
        db.apply("t", [(1, 1)])
        await asyncio.sleep(0.01)
        view.subscribe(note)

    asyncio.run(main())
    assert seen == list(range(1, 13))
    assert [type(error) for error in errors] == [ValueError]
    db.apply("t", [(1, 1)])  # the second subscription has ended with its loop
    assert not db._contents.tally.listened


def test_one_who_comes_back_goes_on_where_the_history_reaches() -> None:
    db, view = counted()
    view.keep_history(4)
    for v in range(8):
        db.apply("t", [(v, v)])
    for since, resets in ((8, False), (6, False), (4, False), (3, True), (0, True)):
        with view.changes(since=since) as changes:
            if since == 8:
                db.apply("other", [(1,)])
                with pytest.raises(TimeoutError):
                    changes.next(timeout=0)
                continue
            update = changes.next(timeout=0)
            assert update is not None
            assert update.reset is resets
            assert update.version == (since + 1 if not resets else 9)
    view.keep_history(0)
    gc.collect()
    update = view.changes(since=6).next(timeout=0)
    assert update is not None
    assert update.reset
    with pytest.raises(ReadError, match="since is 99, and the database is at version 9"):
        view.changes(since=99)


@pytest.mark.parametrize("waiting", ["each", "merge"])
@pytest.mark.parametrize("kept", ["memory", "folder", "follower"])
def test_one_who_comes_back_in_the_middle_of_a_replay(waiting: Any, kept: str, tmp_path: Path) -> None:
    """A replay is one commit with many versions; whoever knows some of them is told of the others, or of all rows."""
    db, view = counted(tmp_path / "db" if kept == "folder" else None)
    held = view.changes() if kept == "follower" else None
    if held is None:
        view.keep_history(1000)
    db.apply("t", [(1, 0)])
    log = [{"k": v % 3, "v": v, "_seq": v} for v in range(8)]
    commit = db.replay({"t": pa.Table.from_pylist(log)}, granularity="change")
    rows = {0: Counter[Row](), 1: multiset(pa.table({"k": [1], "n": [1]}))}
    delta = commit["n"]
    for version in range(2, db.version + 1):
        one = delta.filter(pc.equal(delta["_commit_version"], version))
        rows[version] = add(rows[version - 1], signed_multiset(one))
    if kept == "folder":
        db.close()
        db = livejoin.open(tmp_path / "db")
        view = db.views["n"]
    for since in range(1, db.version):
        with view.changes(since=since, waiting=waiting) as changes:
            db.apply("t", [(since, 0)])
            found, seen = Counter(rows[since]), list[int]()
            follow(changes, db.version, found, seen)
            assert_same_rows(view.to_arrow(), found, f"since {since}")
        rows[db.version] = multiset(view.to_arrow())
    db.close()


def test_many_who_come_at_once_share_deltas_and_rows() -> None:
    db, view = counted()
    db.apply("t", [(v, v) for v in range(100)])
    all_of_them = [view.changes() for _ in range(50)]
    db.apply("t", [(1, 1)])
    firsts = [one.next(timeout=0) for one in all_of_them]
    addresses = {one.delta["k"].chunk(0).buffers()[1].address for one in firsts if one is not None}
    assert len(addresses) == 1
    seconds = [one.next(timeout=0) for one in all_of_them]
    assert len({id(one.delta) for one in seconds if one is not None}) == 1
    assert len({id(one.puts) for one in seconds if one is not None}) == 1


@pytest.mark.parametrize("sync", [None, "commit", "batch"])
def test_whoever_follows_while_threads_commit_ends_at_the_view(sync: Any, tmp_path: Path) -> None:
    """Followers in threads and tasks, from the first version and from later ones, see all versions in order."""
    db, view = counted() if sync is None else counted(tmp_path / "kept", sync=sync)
    commits, writers = 30, 3
    last = commits * writers
    results: list[tuple[Counter[Row], list[int]]] = []
    threads = []

    def start() -> None:
        found, seen = Counter[Row](), list[int]()
        results.append((found, seen))
        threads.append(threading.Thread(target=follow, args=(view.changes(), last, found, seen)))
        threads[-1].start()

    async def awaited(found: Counter[Row], seen: list[int]) -> None:
        async for update in view.changes():
            found.update(signed_multiset(update.delta))
            seen.append(update.version)
            if update.version == last:
                return

    def loop() -> None:
        tasks = [(Counter[Row](), list[int]()) for _ in range(5)]

        async def all_of_them() -> None:
            await asyncio.gather(*(awaited(*one) for one in tasks))

        asyncio.run(all_of_them())
        results.extend((Counter({row: n for row, n in found.items() if n}), seen) for found, seen in tasks)

    def write(number: int) -> None:
        for turn in range(commits):
            db.apply("t", [(turn % 7, number)])

    threads.append(threading.Thread(target=loop))
    threads[-1].start()
    start()
    writing = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
    for one in writing:
        one.start()
    for _ in range(3):
        time.sleep(0.01)
        start()
    for one in (*writing, *threads):
        one.join(60)
        assert not one.is_alive()
    assert len(results) == 9
    for found, seen in results:
        assert_same_rows(found, multiset(view.to_arrow()), "what one who follows has")
        assert seen == list(range(seen[0], last + 1))
    db.close()


def test_it_ends_when_it_is_closed_the_database_is_or_the_view_goes() -> None:
    db, view = counted()
    other = db.create_view("m", "SELECT MAX(v) AS m FROM t")
    changes, closed, gone = view.changes(since=0), view.changes(since=0), other.changes(since=0)
    ends: list[Any] = []
    threads = [threading.Thread(target=lambda one=one: ends.append(next(one, None))) for one in (changes, closed)]
    for one in threads:
        one.start()
    closed.close()
    db.apply("t", [(1, 1)])
    db.execute("DROP VIEW m")
    update = gone.next(timeout=0)
    assert update is not None
    assert update.delta["m"].to_pylist() == [None, 1]
    with pytest.raises(ReadError, match="view 'm' was dropped"):
        gone.next(timeout=0)
    with pytest.raises(ReadError, match="'m' was dropped"):
        other.changes()
    for one in threads:
        one.join(60)
    assert sorted(one is None for one in ends) == [False, True]
    waiting = threading.Thread(target=lambda: ends.append(list(changes)))
    waiting.start()
    db.close()
    waiting.join(60)
    assert ends[-1] == []


def test_a_replaced_view_is_followed_on_or_ends() -> None:
    db, view = counted()
    db.apply("t", [(1, 1)])
    changes = view.changes(since=1)
    db.execute("CREATE OR REPLACE VIEW n AS SELECT k, COUNT(*) + 1 AS n FROM t GROUP BY k")
    update = changes.next(timeout=0)
    assert update is not None
    assert sorted(update.delta["n"].to_pylist()) == [1, 2]
    db.execute("CREATE OR REPLACE VIEW n AS SELECT k FROM t")
    with pytest.raises(ReadError, match="was replaced by one with other columns"):
        changes.next(timeout=0)


def test_a_subscriber_gets_the_rows_first_if_it_asks() -> None:
    db, view = counted()
    db.apply("t", [(1, 1)])
    told: list[pa.Table] = []
    view.subscribe(told.append, snapshot=True)
    assert told[0].to_pylist() == [{"k": 1, "n": 1, "_change_type": "insert", "_commit_version": 1}]
    db.apply("t", [(2, 1)])
    assert_same_rows(signed_multiset(pa.concat_tables(told)), multiset(view.to_arrow()), "what it was told")


def test_wrong_arguments_are_refused() -> None:
    db, view = counted()
    quiet = db.create_view("quiet", "SELECT k FROM t", deltas=False)
    with pytest.raises(ReadError, match="deltas=False and has no changes to follow"):
        quiet.changes()
    with pytest.raises(ReadError, match="deltas=False and has no deltas to keep"):
        quiet.keep_history(1)
    for wrong in ({"since": -1}, {"since": "1"}, {"max_waiting": -1}):
        with pytest.raises(ReadError):
            view.changes(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="waiting is 'all'"):
        view.changes(waiting="all")  # type: ignore[arg-type]
    for wrong in ("x", True, float("nan"), -1, 10**400, [1]):
        with pytest.raises(ReadError, match=r"timeout is .*; allowed are seconds from 0 to"):
            view.changes().next(timeout=wrong)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="snapshot"):
        view.subscribe(print, snapshot="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("waiting", ["each", "merge"])
def test_a_store_by_key_is_told_what_to_put_and_what_is_gone(waiting: Any) -> None:
    db, view = counted()
    changes = view.changes(since=0, waiting=waiting)
    db.execute("INSERT INTO t VALUES (1, 1), (2, 1), (NULL, 1)")
    if waiting == "each":
        first = changes.next(timeout=0)
        assert first is not None
        assert (first.puts.num_rows, first.gone.num_rows) == (3, 0)
    db.execute("DELETE FROM t WHERE k = 1 OR k IS NULL; INSERT INTO t VALUES (1, 5)")
    db.execute("INSERT INTO t VALUES (2, 5)")
    found = []
    while True:
        try:
            update = changes.next(timeout=0)
        except TimeoutError:
            break
        assert update is not None
        found.append((update.puts.to_pylist(), update.gone.to_pylist()))
    if waiting == "each":
        assert [(len(puts), gone) for puts, gone in found[:1]] == [(0, [{"k": 1}, {"k": None}])]
        assert found[-1] == ([{"k": 2, "n": 2}], [])
    else:
        assert [(sorted(row["n"] for row in puts), gone) for puts, gone in found] == [([1, 2], [])]
    keyless = db.create_view("keyless", "SELECT v FROM t").changes(since=db.version)
    db.execute("DELETE FROM t WHERE k = 2")
    update = keyless.next(timeout=0)
    assert update is not None
    with pytest.raises(ReadError, match="no key of view 'keyless' is known"):
        _ = update.gone
    one = db.create_view("alone", "SELECT COUNT(*) AS n FROM t").changes()
    update = one.next(timeout=0)
    assert update is not None
    assert (update.puts.to_pylist(), update.gone.num_rows) == ([{"n": 1}], 0)
    one = db.create_view("one", "SELECT COUNT(*) AS n FROM t").changes(since=db.version)
    db.replay({"t": [{"k": 1, "v": number, "_seq": number} for number in range(5)]})
    update = one.next(timeout=0)
    assert update is not None
    assert update.delta.num_rows == 10
    count = db.views["one"].to_pylist()[0]["n"]
    assert (update.puts.to_pylist(), update.gone.to_pylist()) == ([{"n": count}], [{"n": count - 5}])


def test_rows_that_change_under_a_key_are_updates_where_asked() -> None:
    db = livejoin.Database()
    db.execute(
        """
        CREATE TABLE a (id BIGINT PRIMARY KEY, x DOUBLE); CREATE TABLE b (id BIGINT PRIMARY KEY, y STRING);
        CREATE VIEW v AS SELECT a.id, x, y FROM a JOIN b ON a.id = b.id; CREATE VIEW w AS SELECT x, y FROM a, b
        WHERE a.id = b.id; CREATE VIEW n AS SELECT COUNT(*) AS n FROM a;
        INSERT INTO a VALUES (1, 1.0), (2, 2.0), (3, 3.0); INSERT INTO b VALUES (1, 'x'), (2, NULL), (3, 'z')
        """
    )
    view = db.views["v"]
    with view.changes(since=db.version, paired=True) as changes, view.changes(since=db.version) as plain:
        commit = db.execute("UPDATE b SET y = 'new' WHERE id = 2")
        assert commit is not None
        assert sorted(commit["v"]["_change_type"].to_pylist()) == ["delete", "insert"]
        update, other = changes.next(timeout=0), plain.next(timeout=0)
        assert update is not None and other is not None
        assert sorted(other.delta["_change_type"].to_pylist()) == ["delete", "insert"]
        assert sorted(update.delta["_change_type"].to_pylist()) == ["update_postimage", "update_preimage"]
        assert update.delta.equals(view.paired(commit["v"])) and update.delta.schema.equals(view.delta_schema)
        assert signed_multiset(update.delta) == signed_multiset(other.delta)
        assert update.puts.equals(other.puts)
        commit = db.execute("BEGIN; DELETE FROM b WHERE id = 1; UPDATE a SET x = 5 WHERE id = 3; COMMIT")
        update = changes.next(timeout=0)
        assert commit is not None and update is not None
        found = sorted(zip(update.delta["_change_type"].to_pylist(), update.delta["id"].to_pylist(), strict=True))
        assert found == [("delete", 1), ("update_postimage", 3), ("update_preimage", 3)]
        assert db.views["n"].paired(commit["n"]).num_rows == 0
    with pytest.raises(ReadError, match="no key of view 'w' is known"):
        db.views["w"].changes(paired=True)
    with pytest.raises(ReadError, match="a delta of view 'v' has the columns"):
        view.paired(commit["n"])


@pytest.mark.parametrize("waiting", ["each", "merge"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k, f FROM t ORDER BY f DESC, k LIMIT 5",
        "SELECT k FROM t ORDER BY f LIMIT 4 OFFSET 1",
        "SELECT k FROM t WHERE k IS NOT NULL ORDER BY s NULLS LAST, f LIMIT 6",
    ],
)
def test_positions_lead_from_list_to_list(sql: str, waiting: Any) -> None:
    random = Random(len(sql))
    db = livejoin.Database()
    db.execute("CREATE TABLE t (k INT, f DOUBLE, s STRING)")
    view = db.create_view("v", sql)
    changes, shown, left = view.changes(positions=True, waiting=waiting), list[Any](), list[Any]()
    for step in range(40):
        rows = []
        for _ in range(random.randrange(1, 4)):
            if left and random.random() < 0.5:
                row = left.pop(random.randrange(len(left)))
                rows.append((*row, "delete"))
            else:
                row = (random.choice([1, 2, None]), random.choice([0.0, 1.5, float("nan"), None]), random.choice("ab"))
                left.append(row)
                rows.append((*row, "insert"))
        db.apply("t", [dict(zip(("k", "f", "s", "_change_type"), row, strict=True)) for row in rows])
        if waiting == "merge" and step % 3:
            continue
        while True:
            try:
                update = changes.next(timeout=0)
            except TimeoutError:
                break
            assert update is not None and update.positions is not None
            if update.reset:
                shown.clear()
            kinds, places = update.delta["_change_type"].to_pylist(), update.positions.to_pylist()
            found = [
                canonical_row(row)
                for row in zip(*update.delta.select(view.schema.names).to_pydict().values(), strict=True)
            ]
            whole = sorted(zip(places, kinds, found, strict=True), key=lambda one: one[:2])
            for place, kind, row in reversed(whole):
                if kind == "delete":
                    assert shown.pop(place) == row
            for place, kind, row in whole:
                if kind == "insert":
                    shown.insert(place, row)
        assert shown == [canonical_row(row.values()) for row in view.top(100).to_pylist()]
    changes.close()


def test_positions_are_of_ordered_views() -> None:
    db, view = counted()
    with pytest.raises(ReadError, match="keeps no positions of its rows"):
        view.changes(positions=True)
    with pytest.raises(ReadError, match="keeps no positions of its rows"):
        db.create_view("w", "SELECT k FROM t ORDER BY k").changes(positions=True)


def test_who_lost_the_place_is_not_led_to_another_view_of_the_name() -> None:
    db, view = counted()
    lost, ended = view.changes(since=0, max_waiting=0), view.changes(since=0)
    db.apply("t", [(1, 1)])
    assert lost.link is None
    db.execute("DROP VIEW n")
    with pytest.raises(ReadError, match="'n' was dropped"):
        lost.next(timeout=0)
    db.execute("CREATE VIEW n AS SELECT v FROM t")
    for number in range(5):
        db.apply("t", [(number, number)])
    with pytest.raises(ReadError, match="'n' was dropped, or replaced by one with other columns"):
        lost.next(timeout=0)
    assert ended.next(timeout=0) is not None
    with pytest.raises(ReadError, match="'n' was dropped"):
        ended.next(timeout=0)
