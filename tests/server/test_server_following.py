"""All who follow have the view in the end: each change once, in order, whatever they and the writer do."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pyarrow as pa
import pytest
import websockets

import livejoin
from followed import Followed, frozen, together
from livejoin.server import Limits, Server, feeds
from livejoin.server.feeds import Hub


def rows_of(db: livejoin.Database, view: str) -> Counter[tuple[tuple[str, str], ...]]:
    return Counter(map(frozen, db.views[view].to_pylist()))


def test_first_the_rows_and_then_each_change(server: Server, db: livejoin.Database) -> None:
    db.apply("t", [(k, k, None, None, None, None, None) for k in range(3)])
    one, other = Followed(server.url, "totals"), Followed(server.url, "totals", "upsert")
    together(lambda: one.follow(messages=1), lambda: other.follow(messages=1))
    assert (one.version, one.resets) == (1, 1)
    assert one.rows == rows_of(db, "totals")
    db.execute("UPDATE t SET v = 7 WHERE k = 1; DELETE FROM t WHERE k = 2")
    together(lambda: one.follow(until=3), lambda: other.follow(until=3))
    assert (one.resets, other.resets) == (1, 1)
    assert +one.rows == rows_of(db, "totals")
    assert Counter(other.by_key.values()) == rows_of(db, "totals")


def test_one_who_comes_back_misses_nothing(server: Server, db: livejoin.Database) -> None:
    one = Followed(server.url, "pairs")
    db.apply({"t": [(1, 1, None, None, None, None, None)], "u": [(1, 1)]})
    one.follow(messages=1)
    for version in range(2, 8):
        db.apply("u", [(1, version), (2, version)])
        if version % 2:
            one.follow(until=version)
    one.follow(until=7)
    assert one.resets == 1
    assert +one.rows == rows_of(db, "pairs")
    one.id = "another-5"
    one.follow(messages=1)
    assert one.resets == 2


def test_random_followers_beside_a_writer(server: Server, db: livejoin.Database) -> None:
    draws = random.Random(11)
    views = ("totals", "pairs")
    followers = [Followed(server.url, draws.choice(views)) for _ in range(6)]
    followers += [Followed(server.url, "totals", "upsert") for _ in range(2)]
    seeds = [draws.random() for _ in followers]
    done = threading.Event()

    def write() -> None:
        there: set[int] = set()
        try:
            for _ in range(150):
                key = draws.randrange(20)
                if key in there:
                    db.execute("DELETE FROM t WHERE k = ?", [key])
                    there.discard(key)
                else:
                    db.apply({"t": [(key, key, None, None, None, None, None)], "u": [(draws.randrange(20), 1)]})
                    there.add(key)
                time.sleep(draws.choice((0, 0, 0.004)))
            # a last change that every view sees
            db.apply({"t": [(100, 1, None, None, None, None, None)], "u": [(100, 1)]})
        finally:
            done.set()

    def follow(one: Followed, seed: float) -> Callable[[], None]:
        mine = random.Random(seed)

        def run() -> None:
            while not done.is_set():
                one.follow(messages=mine.randrange(1, 20), pause=mine.choice((0, 0, 0.01)), patience=0.5)
            one.follow(until=db.version)

        return run

    together(write, *(follow(one, seed) for one, seed in zip(followers, seeds, strict=True)))
    for one in followers:
        assert one.resets == 1
        if one.by_key:
            assert Counter(one.by_key.values()) == rows_of(db, "totals")
        else:
            assert +one.rows in (rows_of(db, "totals"), rows_of(db, "pairs"))


def test_a_slow_one_begins_anew_and_harms_nobody(db: livejoin.Database) -> None:
    async def follow() -> None:
        with ThreadPoolExecutor(4) as threads:
            hub = Hub(db, Limits(waiting=10_000), 0.0, 0, threads)
            feed = await hub.feed("totals", "changes")
            one, other = feed.join(), feed.join()
            slow, fast = feed.messages(one, None), feed.messages(other, None)
            copies = Followed("", "totals"), Followed("", "totals")
            for copy, messages in zip(copies, (slow, fast), strict=True):
                copy._take(json.loads((await anext(messages)).data))
            for version in range(1, 40):
                rows = [(k, k, None, None, None, None, None) for k in range(100 * version, 100 * version + 20)]
                await asyncio.to_thread(db.apply, "t", rows)
                while copies[1].version < version:
                    copies[1]._take(json.loads((await anext(fast)).data))
            assert hub.counts.lost == 1
            assert hub.waiting == 0
            while copies[0].version < db.version:
                copies[0]._take(json.loads((await anext(slow)).data))
            hub.stop()
        assert [copy.resets for copy in copies] == [2, 1]
        assert all(+copy.rows == rows_of(db, "totals") for copy in copies)

    asyncio.run(follow())


@pytest.mark.parametrize("history", [10_000, 0])
def test_one_that_is_late_gets_one_net_change(
    db: livejoin.Database, monkeypatch: pytest.MonkeyPatch, history: int
) -> None:
    monkeypatch.setattr(feeds, "_LATE", 0.0)

    async def follow() -> None:
        with ThreadPoolExecutor(4) as threads:
            hub = Hub(db, Limits(), 0.0, history, threads)
            feed = await hub.feed("totals", "changes")
            one, other = feed.join(), feed.join()
            slow, fast = feed.messages(one, None), feed.messages(other, None)
            copies = Followed("", "totals"), Followed("", "totals")
            for copy, messages in zip(copies, (slow, fast), strict=True):
                copy._take(json.loads((await anext(messages)).data))
            for version in range(1, 12):
                rows = [(k, k, None, None, None, None, None) for k in range(100 * version, 100 * version + 20)]
                await asyncio.to_thread(db.apply, "t", rows)
                while copies[1].version < version:
                    copies[1]._take(json.loads((await anext(fast)).data))
            told = 0
            while copies[0].version < db.version:
                copies[0]._take(json.loads((await anext(slow)).data))
                told += 1
            hub.stop()
        assert told == (1 if history else 11)
        assert [copy.resets for copy in copies] == [1, 1], "all rows would be more than what waits"
        assert all(+copy.rows == rows_of(db, "totals") for copy in copies)

    asyncio.run(follow())


def test_who_come_at_once_share_the_rows(
    server: Server, db: livejoin.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.apply("t", [(k, k, None, None, None, None, None) for k in range(1000)])
    made = []
    was = feeds.objects
    monkeypatch.setattr(feeds, "objects", lambda *given: made.append(1) or was(*given))
    followers = [Followed(server.url, "totals") for _ in range(20)]
    together(*(lambda one=one: one.follow(messages=1) for one in followers))
    assert all(one.rows == rows_of(db, "totals") for one in followers)
    assert len(made) == 1


def test_a_view_that_goes_ends_it(server: Server, db: livejoin.Database) -> None:
    one = Followed(server.url, "quiet")
    done = threading.Thread(target=one.follow)
    done.start()
    while not one.messages:
        time.sleep(0.01)
    db.execute("DROP VIEW quiet")
    done.join(30)
    assert one.ended is not None
    assert "was dropped" in one.ended
    with pytest.raises(AssertionError, match="there is no view"):
        one.follow()


def test_a_view_of_another_query_is_not_gone_on_with(server: Server, db: livejoin.Database) -> None:
    db.apply("t", [(1, 10, None, None, None, None, None)])
    one = Followed(server.url, "totals")
    one.follow(messages=1)
    db.execute("DROP VIEW totals; CREATE VIEW totals AS SELECT k, MAX(v) + 1 AS s FROM t GROUP BY k")
    while one.resets == 1:  # at first it may hear that the view has ended
        one.follow(messages=1)
    assert +one.rows == rows_of(db, "totals")


def test_the_server_ends_those_who_follow(db: livejoin.Database) -> None:
    one = Followed("", "totals")
    with Server(db, port=0) as server:
        one = Followed(server.url, "totals")
        thread = threading.Thread(target=one.follow)
        thread.start()
        while not one.messages:
            time.sleep(0.01)
    thread.join(30)
    assert one.ended == "the server ends"


def test_websockets(server: Server, db: livejoin.Database) -> None:
    db.apply("t", [(1, 1, None, None, None, None, None)])
    url = server.url.replace("http", "ws")

    async def follow() -> None:
        async with (
            websockets.connect(f"{url}/v1/views/totals/changes?shape=upsert") as text,
            websockets.connect(f"{url}/v1/views/totals/changes?format=arrow", subprotocols=["livejoin"]) as arrow,  # type: ignore[list-item]
        ):
            first = json.loads(await text.recv())
            assert (first["reset"], first["puts"]) == (True, [{"k": 1, "s": 1}])
            rows = pa.ipc.open_stream(await arrow.recv()).read_all()  # type: ignore[arg-type]
            assert rows.schema.metadata[b"reset"] == b"true"
            assert arrow.subprotocol == "livejoin"
            await asyncio.to_thread(db.execute, "UPDATE t SET v = 3; INSERT INTO t (k, v) VALUES (2, 2)")
            seen: dict[int, int] = {}
            while len(seen) < 2:
                message = json.loads(await text.recv())
                seen |= {row["k"]: row["s"] for row in message["puts"]}
            assert seen == {1: 3, 2: 2}
            delta = pa.ipc.open_stream(await arrow.recv()).read_all()  # type: ignore[arg-type]
            assert delta.schema.metadata[b"reset"] == b"false"
            assert "_change_type" in delta.column_names
        since = message["id"]
        async with websockets.connect(f"{url}/v1/views/totals/changes?since={since}") as again:
            await asyncio.to_thread(db.execute, "DELETE FROM t WHERE k = 1")
            message = json.loads(await again.recv())
            assert (message["reset"], len(message["changes"])) == (False, 1)
        async with websockets.connect(f"{url}/v1/views/totals/changes?since=garbage") as refused:
            error = json.loads(await refused.recv())["error"]
            assert (error["kind"], error["status"]) == ("RequestError", 400)
        async with websockets.connect(f"{url}/v1/views/nope/changes") as refused:
            error = json.loads(await refused.recv())["error"]
            assert (error["kind"], error["status"]) == ("AbsentNameError", 404)
            with pytest.raises(websockets.ConnectionClosed, match="there is no view"):
                await refused.recv()

    asyncio.run(follow())


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/v1/views/quiet/changes?shape=upsert", 409, "no key of view 'quiet' is known"),
        ("/v1/views/totals/changes?shape=zigzag", 400, "known here are"),
        ("/v1/views/totals/changes?when_full=block", 400, "nobody who follows over HTTP makes commits wait"),
        ("/v1/views/totals/changes?format=arrow", 400, "by a WebSocket"),
        ("/v1/views/nope/changes", 404, "there is no view"),
        ("/v1/views/totals/changes?since=garbage", 400, "since is 'garbage'; allowed is the id of a message"),
        ("/v1/views/totals/changes?since=17", 400, "since is '17'; allowed is the id of a message"),
    ],
)
def test_what_cannot_be_followed(client: httpx.Client, path: str, status: int, says: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, says in answer.text) == (status, True)


def test_as_many_follow_as_may(db: livejoin.Database) -> None:
    with (
        Server(db, port=0, limits=Limits(followers=1)) as server,
        httpx.Client(base_url=server.url) as client,
        client.stream("GET", "/v1/views/totals/changes") as first,
    ):
        lines = first.iter_lines()
        assert next(lines).startswith("id: ")
        second = client.get("/v1/views/totals/changes")
        assert (second.status_code, second.headers["retry-after"]) == (503, "1")
