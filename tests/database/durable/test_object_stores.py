"""A database in a store by obstore: in ours (`object_server`), in moto's server, or in the one of ``LIVEJOIN_STORE``.

`tests/torture/test_store_faults.py` has faults.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin.database.durable import lease, store_home
from livejoin.database.durable.chain import ChainFolder
from livejoin.database.durable.fold_process import fold
from livejoin.database.durable.log import Sync
from livejoin.database.durable.places import StorePlace
from livejoin.errors import StateError, StorageError
from livejoin.state import objects as objects_module
from livejoin.state.objects import create_once, open_objects
from memory_objects import ForgetfulObjects, HastyObjects, MemoryObjects
from object_server import ENDED, SECRET, environment_of_google, environment_of_s3, object_server

SHOP = """
    CREATE TABLE IF NOT EXISTS orders (id BIGINT PRIMARY KEY, customer STRING, amount BIGINT);
    CREATE VIEW IF NOT EXISTS totals AS SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer
"""


def one_at_a_time(answer: Callable[..., Any]) -> Callable[..., Any]:
    """Moto's answers, one request at a time: it looks whether an object is there, and writes it then.

    Of 269 races of four threads for one object, on a busy machine, 12 had two winners.
    """
    turn = threading.Lock()

    def call(*arguments: Any) -> list[bytes]:
        with turn:
            return list(answer(*arguments))

    return call


@pytest.fixture(scope="module", params=["given"] if "LIVEJOIN_STORE" in os.environ else ["ours", "moto"])
def s3(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a bucket: in a store of ours, in moto's, or as ``LIVEJOIN_STORE`` and the environment have it."""
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with ExitStack() as stack:
        if request.param == "given":
            yield f"{os.environ['LIVEJOIN_STORE']}/{uuid.uuid4().hex}"
            return
        if request.param == "ours":
            endpoint = stack.enter_context(object_server()).url
        else:
            server = pytest.importorskip("moto.server", reason="pip install 'livejoin[s3-tests]'")
            stack.enter_context(pytest.MonkeyPatch.context()).setattr(
                server.DomainDispatcherApplication,
                "__call__",
                one_at_a_time(server.DomainDispatcherApplication.__call__),
            )
            running = server.ThreadedMotoServer(port=0, verbose=False)
            running.start()
            stack.callback(running.stop)
            endpoint = f"http://127.0.0.1:{running.get_host_and_port()[1]}"
            urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", method="PUT")).close()
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in environment_of_s3(endpoint).items():
            patch.setenv(name, value)
        yield "s3://bucket"


def totals(db: livejoin.Database) -> dict[str, int]:
    return {row["customer"]: row["total"] for row in db.views["totals"].to_arrow().to_pylist()}


def test_a_database_in_s3_is_there_again(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.05)
    url = f"{s3}/again"
    with livejoin.open(url) as db:
        assert (db.url, db.path) == (url, None)
        db.execute(SHOP)
        db.views["totals"].keep_history(rows=1000)
        for number in range(5):
            db.apply("orders", [(number, "ab"[number % 2], number)], offsets={"feed": number})
        with pytest.raises(StateError, match=rf"process {os.getpid()} on .* has it"):
            livejoin.open(url)
    with livejoin.open(url) as db:
        assert (db.version, totals(db), db.offsets) == (5, {"a": 6, "b": 4}, {"feed": 4})
        seen = [delta for _, delta in zip(range(2), db.views["totals"].changes(since=3), strict=False)]
        assert len(seen) == 2
        db._check()


def test_a_snapshot_is_made_by_a_process_beside(s3: str) -> None:
    url = f"{s3}/folded"
    with livejoin.open(url) as db:
        db.execute(SHOP)
        log = db._contents.log
        assert log is not None
        folding, place = log.on_segment.__self__, StorePlace(open_objects(url))  # type: ignore[attr-defined]
        for number in range(12):
            log.segment_records = 2
            db.apply("orders", [(number, "a", 1)])
            if number == 5:
                folding._begin()
                assert folding.look(100)
            elif number in (8, 11):
                fold(place, log.segment)
                place.remove_before(log.segment)
        expected = totals(db)
    objects = open_objects(url)
    assert len([one for one in objects.listed("snapshots/") if one.key.endswith(".snapshot")]) == 2  # and no older one
    assert "log/000000000002" not in [one.key for one in objects.listed("log/")]
    assert all(SECRET.encode() not in objects.read(one.key) for one in objects.listed(""))
    with livejoin.open(url) as db:
        assert (db.version, totals(db)) == (12, expected)


def test_a_process_that_is_killed(s3: str) -> None:
    url = f"{s3}/killed"
    code = f"""
import livejoin
db = livejoin.open({url!r})
db.execute({SHOP!r})
for number in range(1000):
    db.apply("orders", [(number, "a", 1)])
    print(number, flush=True)
"""
    path = os.pathsep.join([str(Path(livejoin.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert process.stdout is not None
    told = -1
    while told < 3:
        told = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    told = int((process.stdout.read().split() or [told])[-1])
    with livejoin.open(url) as db:  # at once: the process was of this machine, and is gone
        assert db.version in (told + 1, told + 2)
        assert totals(db) == {"a": db.version}


def test_who_was_believed_to_be_gone_is_refused(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "GONE_SECONDS", 0.1)
    monkeypatch.setattr(lease, "BEAT_SECONDS", 3600.0)
    url = f"{s3}/taken"
    slow = livejoin.open(url)
    slow.execute(SHOP)
    slow.apply("orders", [(1, "a", 1)])
    with livejoin.open(url) as db:
        db.apply("orders", [(2, "a", 1)])
        for _ in range(2):
            with pytest.raises(StateError, match="another process has opened the database"):
                slow.apply("orders", [(3, "a", 1)])
        slow.close()
        db.apply("orders", [(4, "a", 1)])
    with livejoin.open(url) as db:
        assert (db.version, totals(db)) == (3, {"a": 3})


def test_one_of_many_creates_an_object(s3: str) -> None:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    objects = open_objects(f"{s3}/race")
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda number: create_once(objects, "one", b"%64d" % number), range(16)))
    assert told.count(True) == 1
    assert objects.read("one") == b"%64d" % told.index(True)


def test_a_bucket_that_is_not_there(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects_module, "_PROBE_SECONDS", 0.1)
    with pytest.raises(StorageError, match="could not be opened") as refused:
        livejoin.open(f"{s3.partition(':')[0]}://nowhere/shop")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(("scheme", "environment"), [("s3", environment_of_s3), ("gs", environment_of_google)])
def test_both_protocols_say_the_same(
    scheme: str, environment: Callable[[str], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with object_server() as server:
        for name, value in environment(server.url).items():
            monkeypatch.setenv(name, value)
        objects = open_objects(f"{scheme}://bucket/a b")
        assert create_once(objects, "x/1", b"%64d" % 1)
        assert not create_once(objects, "x/1", b"%64d" % 2)
        with pytest.raises(FileExistsError, match="already exists"):
            objects.create("x/1", b"3")
        assert objects.read("x/1", 60, 99) == b"   1"
        assert objects.read("x/1", 64, 0) == objects.read("x/1", 0, 0) == b""
        for number in range(2, 120):
            objects.put(f"x/{number}", b"?" * number)
        assert sorted(one.size for one in objects.listed("x/") if one.key != "x/1") == list(range(2, 120))
        objects.remove(["x/1", "not there", "x/2", "nor this"])  # Google says 404
        assert [one.key for one in objects.listed("x/3")] == ["x/3", *(f"x/3{n}" for n in range(10))]
        assert len(objects.listed("")) == 117
        for size in (None, 0, 3):
            with pytest.raises(FileNotFoundError):
                objects.read("x/1", 0, size)


@pytest.mark.parametrize("wrong", ["AWS_ACCESS_KEY_ID", "AWS_ENDPOINT_URL"])
def test_an_environment_that_is_wrong(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told at once and in one line, without the secret."""
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with object_server() as server:
        for name, value in environment_of_s3(server.url).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(objects_module, "_PROBE_SECONDS", 0.1)
        monkeypatch.setenv(wrong, "nobody" if wrong == "AWS_ACCESS_KEY_ID" else "http://127.0.0.1:1")
        with pytest.raises(StorageError, match="'s3://bucket/shop' could not be opened") as refused:
            livejoin.open("s3://bucket/shop")
        if wrong == "AWS_ACCESS_KEY_ID":
            with pytest.raises(PermissionError, match="InvalidAccessKeyId"):  # asking again would not help
                open_objects("s3://bucket/shop").listed("")
    assert ("(InvalidAccessKeyId)" if wrong == "AWS_ACCESS_KEY_ID" else "error sending request") in str(refused.value)
    assert SECRET not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_session_that_is_over_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 answers 400 then, and has the token in the answer."""
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with object_server() as server:
        for name, value in (environment_of_s3(server.url) | {"AWS_SESSION_TOKEN": ENDED}).items():
            monkeypatch.setenv(name, value)
        objects = open_objects("s3://bucket/shop")
        asks = (lambda: objects.create("x", b"1"), lambda: objects.read("x"), lambda: objects.listed(""))
        for ask in (*asks, lambda: objects.remove(["x"])):
            with pytest.raises(PermissionError, match=r"\(ExpiredToken\)") as refused:  # asking again would not help
                ask()
            assert ENDED not in str(refused.value)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryObjects:
    """A store in memory."""
    found = MemoryObjects()
    monkeypatch.setattr("livejoin.database.engine.open_objects", lambda _: found)
    monkeypatch.setattr(objects_module, "PATIENCE", 0.05)
    return found


def test_a_store_that_creates_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ForgetfulObjects()
    monkeypatch.setattr("livejoin.database.engine.open_objects", lambda _: found)
    with pytest.raises(StateError, match="If-None-Match"):
        livejoin.open("s3://bucket/shop")
    assert not found.there


def test_a_store_that_creates_twice_at_once_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = HastyObjects()
    monkeypatch.setattr("livejoin.database.engine.open_objects", lambda _: found)
    with pytest.raises(StateError, match="looks whether an object is there, and writes it then"):
        livejoin.open("s3://bucket/shop")
    assert not found.there


def test_what_a_commit_asks_of_a_store(store: MemoryObjects) -> None:
    """One request a commit; nothing for a call that changes nothing."""
    with livejoin.open("s3://bucket/shop") as db:
        db.execute(SHOP)
        store.asked.clear()
        for number in range(10):
            db.apply("orders", [(number, "a", 1)])
        db.views["totals"].to_arrow()
        assert store.asked == {"create": 10}
        before = store.bytes_in
        db.apply("orders", [(number, "a", 1) for number in range(1000, 2000)])
        assert store.bytes_in - before < 1000 * 24 + 300  # three values of 8 bytes a row, heads and names
        assert store.asked == {"create": 11}


def test_what_a_commit_asks_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request, and nothing that obstore asks beside it; the lease beats besides."""
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    monkeypatch.setattr(lease, "BEAT_SECONDS", 3600.0)
    with object_server() as server:
        for name, value in environment_of_s3(server.url).items():
            monkeypatch.setenv(name, value)
        with livejoin.open("s3://bucket/shop") as db:
            opened = dict(server.asked)
            db.execute(SHOP)
            server.asked.clear()
            for number in range(10):
                db.apply("orders", [(number, "a", 1)])
            assert server.asked == {"create": 10}
    races = 3 * 4  # of the probe, of which all but one look afterwards who has won
    assert sum(opened.values()) <= 15 + 2 * races, opened


def test_with_batch_many_commits_are_one_object(store: MemoryObjects) -> None:
    import datetime as dt  # noqa: PLC0415

    with livejoin.open("s3://bucket/shop", sync="batch", sync_every=dt.timedelta(hours=1)) as db:
        db.execute(SHOP)
        for number in range(10):
            db.apply("orders", [(number, "a", 1)])
        before = len(store.listed("log/"))
    assert len(store.listed("log/")) - before == 2  # what waited, and the last record
    with livejoin.open("s3://bucket/shop") as db:
        assert db.version == 10


def test_a_log_that_is_gone(store: MemoryObjects) -> None:
    with livejoin.open("s3://bucket/shop") as db:
        db.execute(SHOP)
    store.remove([one.key for one in store.listed("log/")])
    with pytest.raises(StateError, match="is gone"):
        livejoin.open("s3://bucket/shop")


def test_a_log_that_is_damaged(store: MemoryObjects) -> None:
    with livejoin.open("s3://bucket/shop") as db:
        db.execute(SHOP)
        db.apply("orders", [(1, "a", 1)])
    key = store.listed("log/")[2].key
    store.there[key] = store.there[key][:-1] + b"?"
    with pytest.raises(StateError, match=rf"{key}.*is not what was written"):
        livejoin.open("s3://bucket/shop")
    with pytest.raises(StateError, match="for folders"):
        livejoin.open("s3://bucket/shop", damaged="cut")


def test_a_database_that_is_forgotten_gives_its_place_back(store: MemoryObjects) -> None:
    db = livejoin.open("s3://bucket/shop")
    db.execute(SHOP)
    del db
    with livejoin.open("s3://bucket/shop") as db:
        assert "totals" in db.views


@pytest.mark.parametrize("sync", ["batch", "off"])
def test_who_was_taken_over_hears_of_it_at_the_end(store: MemoryObjects, sync: Sync) -> None:
    """Also where no call waits for the store: what came last is lost, and `close` says so."""
    import datetime as dt  # noqa: PLC0415

    db = livejoin.open("s3://bucket/shop", sync=sync, sync_every=dt.timedelta(hours=1))
    db.execute(SHOP)
    log = db._contents.log
    assert log is not None
    log.sync()
    other = ChainFolder(store, 9)
    other.claim()
    db.apply("orders", [(1, "a", 1)])
    with pytest.raises(StateError, match="another process has opened"):
        db.close()
    db.close()


def test_whoever_heard_of_it_closes_in_peace(store: MemoryObjects) -> None:
    db = livejoin.open("s3://bucket/shop")
    db.execute(SHOP)
    ChainFolder(store, 9).claim()
    with pytest.raises(StateError, match="another process has opened"):
        db.apply("orders", [(1, "a", 1)])
    db.close()


def test_history_is_read_by_the_process_that_writes_it(store: MemoryObjects) -> None:
    with livejoin.open("s3://bucket/shop") as db:
        db.execute(SHOP)
        view, log = db.views["totals"], db._contents.log
        assert log is not None
        view.keep_history(rows=1000)
        known = db.apply("orders", [(0, "a", 1)]).version
        for number in range(1, 9):
            if number == 5:
                log.segment_records = 1  # the next ones are in segments of their own
            db.apply("orders", [(number, "a", 1)])
        follower = view.changes(since=known)
        assert [follower.next(timeout=5).version for _ in range(8)] == list(range(known + 1, known + 9))
    with livejoin.open("s3://bucket/shop") as db:
        follower = db.views["totals"].changes(since=known)
        assert follower.next(timeout=5).version == known + 1


def test_snapshots_come_with_the_segments_of_a_store(store: MemoryObjects) -> None:
    with livejoin.open("s3://bucket/shop") as db:
        log = db._contents.log
        assert log is not None
        folding = log.on_segment.__self__  # type: ignore[attr-defined]
        assert folding.most_records == log.segment_records == store_home.SEGMENT_RECORDS
