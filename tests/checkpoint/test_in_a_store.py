"""A checkpoint in an object store whose answers are lost, late, doubled or refused: each batch is told once.

`tests/checkpoint/test_restarts.py` has the same for folders, `tests/spark/test_checkpoint_in_a_store.py` Spark's half.
"""

from __future__ import annotations

import os
import pickle
import random
from collections import Counter
from contextlib import suppress
from typing import Any
from unittest import mock

import pytest
from stored_streams import TABLES, VIEWS, batches, expected, hurry, place, storm
from streams import Stream, job

from faulty_proxy import FAULTS
from livejoin.checkpoint import pace, read_checkpoint
from livejoin.checkpoint.states import kept_state, rows_at
from livejoin.errors import LivejoinError, StateError, StorageError
from livejoin.state import store_folder
from livejoin.state.store_folder import StoreFolder
from memory_objects import FaultyObjects, MemoryObjects, in_memory
from proxied_objects import behind_proxies
from strategies import EXAMPLES


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


_ENDS = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # in any thread


@_ENDS
@pytest.mark.parametrize("seed", range(max(3, EXAMPLES // 4)))
def test_a_storm_loses_and_doubles_no_batch(seed: int) -> None:
    happened = storm(seed, (25, 6), in_memory())
    assert happened["starts"] > 2


@_ENDS
@pytest.mark.parametrize("scheme", [pytest.param("s3", marks=pytest.mark.torture), "gs"])  # CI: test_store_faults
def test_a_storm_on_the_way_to_a_store(scheme: str) -> None:
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with behind_proxies(scheme) as sight:
        happened = storm(1, (8, 12), sight)
    assert happened["starts"] > 1


@_ENDS
@pytest.mark.torture
def test_a_long_storm_on_the_way_to_a_store() -> None:
    """``LIVEJOIN_TORTURE`` faults; ``LIVEJOIN_S3`` may have the address of a server."""
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    faults = int(os.environ["LIVEJOIN_TORTURE"])
    with behind_proxies() as sight:
        happened = storm(int(os.environ.get("LIVEJOIN_SEED", "0")) + 100, (25, faults), sight)
    print(dict(happened))
    for kind in (*FAULTS, "starts", "sleepers"):
        assert happened[kind] or faults < 300, f"{kind} did not happen: {happened}"


def test_what_a_batch_asks_of_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two objects and two looks a batch; a snapshot is some requests, however many batches it takes over."""
    inner = MemoryObjects()
    stream, edges = Stream(place(inner)), [(number, number % 7) for number in range(100)]
    engine = stream.open(job(TABLES, VIEWS))
    monkeypatch.setattr(pace, "LEAST", 1 << 30)
    monkeypatch.setattr(pace, "MOST_BATCHES", 20)
    each, sent = [], []
    for number in range(50):
        inner.asked.clear()
        before = inner.bytes_in
        stream.run(number, {"G": edges})
        engine.history.snapshots.wait()
        each.append(dict(inner.asked))
        sent.append(inner.bytes_in - before)
    assert each[0] == {"create": 2, "list": 2}
    of_snapshots = [one for one in each if one != each[0]]
    assert len(of_snapshots) == 2
    for one in of_snapshots:
        assert one.pop("create") == 3
        assert sum(one.values()) <= 12, one
    plain = sorted(size for size, asked in zip(sent, each, strict=True) if asked == each[0])
    assert plain[-1] < 1400  # 100 rows of two numbers, a note, and two marks
    inner.asked.clear()
    stream.open(job(TABLES, VIEWS))
    assert inner.asked["create"] == 1  # the epoch
    assert inner.asked["read"] <= 24  # two a batch behind the snapshot, and the snapshot
    assert inner.asked["list"] <= 8


def test_a_request_that_comes_when_its_batch_is_long_done_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second query took over, and has done batch 1 and removed it, when the request of the first one arrives."""
    inner, declared = MemoryObjects(), job(TABLES, VIEWS)
    first, second = Stream(place(inner)), Stream(place(inner))
    first.open(declared)
    first.run(0, {"G": [(1, 1)]})
    create = inner.create

    def late(key: str, data: Any) -> None:
        if key.endswith("1.batch"):
            monkeypatch.setattr(inner, "create", create)
            engine = second.open(declared)
            for number in range(1, 5):
                second.run(number, {"G": [(number, number)]})
                engine.history.snapshots.wait()
            assert 1 not in engine.history.log.batches()
        create(key, data)

    monkeypatch.setattr(inner, "create", late)
    with pytest.raises(StateError, match=r"another query has opened it since \(epoch 2, ours is 1\)"):
        first.run(1, {"G": [(7, 7)]})
    assert 1 not in first.output["hop2"]
    second.open(declared)
    assert second.held("total") == Counter({(5, 11): 1})


def test_states_are_read_beside_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = MemoryObjects()
    monkeypatch.setattr(store_folder, "open_objects", lambda _: inner)
    store_folder._opened.cache_clear()
    stream, edges = Stream(place(inner)), Counter[tuple[int, int]]()
    engine = stream.open(job(TABLES, VIEWS), keep_versions=5)
    seen = []
    for number, changes in zip(range(12), batches(random.Random(1)), strict=False):
        stream.run(number, changes)
        engine.history.snapshots.wait()
        edges.update(changes["G"])
        seen.append(expected(edges))
    for back in range(5):
        state = pickle.loads(pickle.dumps(kept_state(place(inner), engine.database.version - back)))
        rows = Counter(tuple(row.values()) for batch in rows_at(state, "hop2") for row in batch.to_pylist())
        assert rows == seen[11 - back]
    db = read_checkpoint(MemoryObjects.name)
    assert Counter(map(tuple, (row.values() for row in db.views["hop2"].to_arrow().to_pylist()))) == seen[-1]
    with pytest.raises(StateError, match=r"there is no checkpoint in 's3://bucket/shop/other'"):
        monkeypatch.setattr(store_folder, "open_objects", lambda _: MemoryObjects())
        store_folder._opened.cache_clear()
        read_checkpoint("s3://bucket/shop/other")
    store_folder._opened.cache_clear()


def test_objects_that_are_gone_or_damaged_are_told_by_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = MemoryObjects()
    stream, declared = Stream(place(inner)), job(TABLES, VIEWS)
    engine = stream.open(declared)
    for number, changes in zip(range(3), batches(random.Random(2)), strict=False):
        stream.run(number, changes)
    engine.history.snapshots.wait()
    monkeypatch.setattr(pace, "LEAST", 1 << 30)
    stream.run(3, next(batches(random.Random(3))))
    whole = dict(inner.there)
    newest = max(key for key in whole if key.endswith(".snapshot"))
    inner.there[newest] = inner.there[newest][:-1]
    with pytest.raises(StateError, match=r"the newest snapshot .*0+\d\.snapshot' is damaged"):
        stream.open(declared)
    inner.there = dict(whole)
    last = max(key for key in whole if key.endswith(".batch"))
    inner.there[last] = b"x" + inner.there[last][1:]
    with pytest.raises(StateError, match=rf"s3://bucket/shop/{last} is damaged: \d+\.batch does not begin as objects"):
        stream.open(declared)
    with pytest.raises(ValueError, match="does not begin"), mock.patch.dict(inner.there, {"livejoin/x": b"livejoin"}):
        StoreFolder(place(inner).files).read("x")


def test_a_store_that_does_not_answer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = MemoryObjects()
    objects = FaultyObjects(inner, random.Random(3))
    stream = Stream(place(objects))
    stream.open(job(TABLES, VIEWS))
    stream.run(0, {"G": [(1, 1)]})
    monkeypatch.setattr(objects, "_ask", mock.Mock(side_effect=OSError("HTTP 503")))
    with pytest.raises(StorageError, match=r"the log .*s3://bucket/shop/livejoin/log could not be written: HTTP 503"):
        stream.run(1, {"G": [(2, 2)]})
    with suppress(LivejoinError):
        stream.stop()
