"""A checkpoint in an object store whose answers are lost, late, doubled or refused: each batch is told once.

`tests/checkpoint/test_restarts.py` has the same for folders, `tests/spark/test_checkpoint_in_a_store.py` Spark's half.
"""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest import mock

import pytest
from streams import Stream, job

from livejoin.checkpoint import pace, read_checkpoint
from livejoin.checkpoint.states import kept_state, rows_at
from livejoin.errors import LivejoinError, StateError, StorageError
from livejoin.state import objects as objects_module
from livejoin.state import store_folder
from livejoin.state.store_folder import StoreFolder, StorePath
from memory_objects import FaultyObjects, Killed, MemoryObjects
from strategies import EXAMPLES

TABLES = {"G": "src BIGINT, dst BIGINT"}
VIEWS = {
    "hop2": "SELECT A.src AS a, A.dst AS b, B.dst AS c FROM G A JOIN G B ON A.dst = B.src",
    "total": "SELECT COUNT(*) AS n, SUM(dst) AS s FROM G",
}


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for long, and snapshots come often."""
    monkeypatch.setattr(objects_module, "PATIENCE", 0.02)
    monkeypatch.setattr(objects_module, "_FIRST_PAUSE", 0.001)
    monkeypatch.setattr(pace, "LEAST", 1)


def place(objects: Any) -> StorePath:
    return StorePath(objects, "livejoin")


def batches(draw: random.Random) -> Iterator[dict[str, list[tuple[int, int]]]]:
    while True:
        yield {"G": [(draw.randrange(4), draw.randrange(4)) for _ in range(draw.randrange(1, 6))]}


def expected(edges: Counter[tuple[int, int]]) -> Counter[Any]:
    """The rows of ``hop2``."""
    found: Counter[Any] = Counter()
    for (a, b), times in edges.items():
        for (c, d), others in edges.items():
            if b == c:
                found[a, b, d] += times * others
    return found


def held(stream: Stream, edges: Counter[tuple[int, int]]) -> None:
    """Check that what was told, and what the engine has, is the result of all batches."""
    assert stream.sum("hop2") == stream.held("hop2") == expected(edges)
    total = Counter({(edges.total(), sum(dst * n for (_, dst), n in edges.items())): 1}) if edges else None
    assert total is None or stream.sum("total") == total


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # a process ends in any thread
@pytest.mark.parametrize("seed", range(max(3, EXAMPLES // 4)))
def test_a_storm_loses_and_doubles_no_batch(seed: int) -> None:
    draw = random.Random(seed)
    inner, declared = MemoryObjects(), job(TABLES, VIEWS)
    stream, edges, brought = Stream(place(inner)), Counter[tuple[int, int]](), batches(draw)
    number, starts, faults, sleepers = 0, 0, Counter[str](), list[tuple[Stream, FaultyObjects]]()
    objects = FaultyObjects(inner, draw)
    while number < 25:
        changes = next(brought)
        for _ in range(60):
            try:
                if stream.engine is None or objects.is_dead:
                    stream.engine = None  # a process that died closes nothing
                    objects = FaultyObjects(inner, draw)
                    stream.folder = place(objects)
                    stream.open(declared)
                    starts += 1
                    objects.chance = 0.15
                stream.run(number, changes)
                break
            except (LivejoinError, Killed):
                objects.chance = 0.0
                objects.land()  # what was under way arrives before the next start, or while it runs
                faults += objects.happened
                if not objects.is_dead and draw.random() < 0.3:
                    asleep = Stream(stream.folder)
                    asleep.engine, stream.engine = stream.engine, None  # it goes on later
                    sleepers.append((asleep, objects))
                elif not objects.is_dead:
                    objects.is_dead = True
        else:
            raise AssertionError("no start in sixty brought the batch to its end")
        objects.chance, before = 0.0, objects.chance
        edges.update(changes["G"])
        held(stream, edges)
        number += 1
        for asleep, _ in sleepers:
            with pytest.raises(StateError, match="no longer that of this query"):
                asleep.take(number, next(brought))
            assert not asleep.output
        sleepers.clear()
        objects.chance = before
    assert starts > 2
    assert faults.total() > 5
    assert stream.engine is not None
    stream.engine.history.snapshots.wait()
    stream.engine, stream.folder = None, place(inner)
    stream.open(declared)
    held(stream, edges)


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
