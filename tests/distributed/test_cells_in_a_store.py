"""Cells with a checkpoint in an object store whose answers are lost, late, doubled or refused: each batch is told once.

`tests/distributed/test_cells_on_disk.py` has the same for folders, `tests/spark/test_cells_in_a_store_on_spark.py`
Spark's half.
"""

from __future__ import annotations

import os
import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from stored_cells import (
    Driver,
    Hosts,
    WrittenOnce,
    changes_of,
    check_state,
    expected,
    hurried_cells,
    hurry,
    place,
    storm,
)

from faulty_proxy import FAULTS
from livejoin.checkpoint import read_checkpoint
from livejoin.distributed import Manifest, Task, cells, parts
from livejoin.distributed.manifest import Manifests, batches_in
from livejoin.distributed.states import parts_of
from livejoin.errors import StateError, StorageError
from livejoin.state import store_folder
from livejoin.state.store_folder import store_path
from memory_objects import FaultyObjects, MemoryObjects, Sight
from object_server import BUCKET, SECRET, USER, environment_of_s3
from oracle import without_zeros
from proxied_objects import behind_proxies
from scenario import Row
from strategies import EXAMPLES

_ENDS = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # in any thread


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def once() -> Sight:
    """A new store in memory, as processes see it, in which nothing is written over."""
    inner = WrittenOnce()
    return lambda draw, chance: FaultyObjects(inner, draw, chance)


@_ENDS
@pytest.mark.parametrize("seed", range(max(1, EXAMPLES // 12)))
def test_a_storm_in_cells_loses_and_doubles_no_batch(seed: int) -> None:
    happened = storm(seed, (6, 40), once())
    assert happened["starts"] > 1
    assert happened["host that dies"]


@_ENDS
@pytest.mark.torture
def test_a_storm_in_cells_on_the_way_to_a_store() -> None:
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with behind_proxies("s3") as sight, hurried_cells():
        happened = storm(2, (3, 12), sight)
    assert happened["starts"] > 1


@_ENDS
@pytest.mark.torture
def test_a_long_storm_in_cells_on_the_way_to_a_store() -> None:
    """``LIVEJOIN_TORTURE`` faults; ``LIVEJOIN_S3`` may have the address of a server."""
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    faults = int(os.environ["LIVEJOIN_TORTURE"])
    with behind_proxies() as sight, hurried_cells():
        happened = storm(int(os.environ.get("LIVEJOIN_SEED", "0")) + 100, (10, faults), sight)
    print(dict(happened))
    for kind in (*FAULTS, "starts", "moves", "drivers that sleep"):
        assert happened[kind] or faults < 300, f"{kind} did not happen: {happened}"


def _driver(inner: MemoryObjects, of: int = 2, output: dict[tuple[str, int], Counter[Row]] | None = None) -> Driver:
    return Driver(
        inner, Hosts(lambda draw, _: FaultyObjects(inner, draw), random.Random(1)), of, {} if output is None else output
    )


def test_a_manifest_that_comes_late_finds_its_files() -> None:
    """The second driver has opened the checkpoint, and removed what it may, when the manifest of the first arrives."""
    inner, edges, draw = WrittenOnce(), Counter[Row](), random.Random(4)
    output = dict[tuple[str, int], Counter[Row]]()
    first = _driver(inner, output=output)
    first.take(0, changes_of(draw, edges))
    create, second = inner.create, list[Driver]()

    def late(key: str, data: Any) -> None:
        if key.endswith("1.manifest") and not second:
            second.append(_driver(inner, 3, output))
        create(key, data)

    inner.create = late  # type: ignore[method-assign]
    with pytest.raises(StateError, match=r"another driver has opened it since \(epoch 2, ours is 1\)"):
        first.take(1, changes_of(draw, edges))
    assert ("total", 1) not in output
    check_state(inner, edges)
    with pytest.raises(StateError, match=r"it brought 00000001\.manifest in between"):
        second[0].take(1, changes_of(draw, Counter()))
    third = _driver(inner, output=output)
    third.take(1, changes_of(draw, Counter()))  # which Spark runs again, and which is there
    third.take(2, changes_of(draw, edges))
    check_state(inner, edges)
    total = sum((rows for (view, _), rows in output.items() if view == "hop2"), Counter[Row]())
    assert without_zeros(total) == expected(edges)["hop2"]


def test_a_manifest_that_comes_when_its_batch_is_long_done_counts_for_nothing() -> None:
    inner, edges, draw = WrittenOnce(), Counter[Row](), random.Random(5)
    first = _driver(inner)
    first.take(0, changes_of(draw, edges))
    create, others = inner.create, list[Driver]()

    def late(key: str, data: Any) -> None:
        if key.endswith("1.manifest") and not others:
            others.append(_driver(inner))
            for number in range(1, 5):
                others[0].take(number, changes_of(draw, edges))
            assert 1 not in batches_in(place(inner))
        create(key, data)

    inner.create = late  # type: ignore[method-assign]
    with pytest.raises(StateError, match="another driver has opened it since"):
        first.take(1, changes_of(draw, Counter()))
    assert 1 in batches_in(place(inner))
    others[0].take(5, changes_of(draw, edges))
    assert batches_in(place(inner)) == [4, 5]
    check_state(inner, edges)


def test_removals_of_before_that_come_late_take_nothing_that_counts() -> None:
    """Another number of cells, and back: the plan of before is that of now, and what removes it may be under way."""
    inner, edges, draw = WrittenOnce(), Counter[Row](), random.Random(6)
    removals = list[list[str]]()
    remove = inner.remove

    def later(keys: Any) -> None:
        removals.append([key for key in keys if not key.endswith(".epoch")])
        remove(keys)

    inner.remove = later  # type: ignore[method-assign]
    changes, plans = changes_of(draw, edges), list[str]()
    for number, of in enumerate((2, 3, 3, 3, 2, 2, 3, 3, 2)):
        driver = _driver(inner, of)
        driver.take(number, changes)
        assert driver.manifests.last is not None
        plans.append(driver.manifests.last.plan)
        for keys in removals:
            remove(keys)
        check_state(inner, edges)
        changes = changes.slice(0, 0)  # so that rows go where they went
    assert len(set(plans)) < 4, "plans come again"
    assert any(key.endswith(".tables") for keys in removals for key in keys)


def test_what_attempts_left_goes_when_their_batch_is_decided() -> None:
    inner, edges, draw = WrittenOnce(), Counter[Row](), random.Random(7)
    driver = _driver(inner)
    driver.take(0, changes_of(draw, edges))
    lost = [f"livejoin/{batch:08d}-0-0-{'0' * 32}.batch" for batch in (0, 1, 2)]
    for key in lost:
        inner.put(key, b"something")
    driver = _driver(inner)
    assert [key in inner.there for key in lost] == [False, True, True]
    driver.take(1, changes_of(draw, edges))
    assert [key in inner.there for key in lost] == [False, False, True]


def test_what_a_batch_of_cells_asks_of_a_store() -> None:
    """Of a driver two objects, two looks and two removals a batch; of each cell an object, and one for each delta."""
    inner, edges, draw = MemoryObjects(), Counter[Row](), random.Random(8)
    of = 4
    hosts = Hosts(lambda draw, _: FaultyObjects(inner, draw), random.Random(1))
    hosts.draw = random.Random(3)
    driver = Driver(inner, hosts, of, {}, versions=0)
    hosts.attempt = hosts._hosts[0].run  # type: ignore[method-assign]
    asked, sent = [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "LEAST_LOG", 1 << 20)
        patch.setattr(cells, "MOST_FILES", 64)
        patch.setattr(parts, "SMALL", 1 << 16)
        for number in range(6):
            inner.asked.clear()
            before = inner.bytes_in
            driver.take(number, changes_of(draw, edges))
            asked.append(Counter(inner.asked))
            sent.append(inner.bytes_in - before)
    stages = len(driver.declared.plan.staged.stages)
    for one in asked[1:]:  # the first one writes its plan too
        assert (one["create"], one["list"]) == (2, 2), one
        assert one["remove"] <= 2
        assert one["put"] <= of * stages + one["read"]  # what is read is the deltas, each once
        assert one["read"] <= of * 3
    assert max(sent[1:]) < 100_000
    last = driver.manifests.last
    assert last is not None
    inner.asked.clear()
    _driver(inner, of)
    assert inner.asked["create"] == 1
    assert inner.asked["list"] <= 2
    assert inner.asked["read"] <= 4


def test_a_store_that_does_not_answer_says_that_the_batch_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    inner, edges, draw = WrittenOnce(), Counter[Row](), random.Random(9)
    driver = _driver(inner)
    driver.take(0, changes_of(draw, edges))
    create = inner.create

    def refused(key: str, data: Any) -> None:
        raise OSError("HTTP 503")

    monkeypatch.setattr(inner, "create", refused)
    with pytest.raises(StorageError, match=r"the store refuses s3://bucket/shop/livejoin: HTTP 503"):
        driver.take(1, changes_of(draw, edges))
    monkeypatch.setattr(inner, "create", create)


def test_what_is_missing_or_damaged_in_a_store_is_told_by_its_name() -> None:
    inner, edges, draw = WrittenOnce(), Counter[Row](), random.Random(10)
    driver = _driver(inner)
    for number in range(4):
        driver.take(number, changes_of(draw, edges))
    last = driver.manifests.last
    assert last is not None
    whole = dict(inner.there)
    assert any(name.endswith(".tables") for name in last.state_files)
    for name in sorted(last.state_files):
        data = whole[f"livejoin/{name}"]
        for wrong in (None, data[:70], data[:-1], data[:64] + bytes([data[64] ^ 1]) + data[65:]):
            inner.there = dict(whole)
            if wrong is None:
                del inner.there[f"livejoin/{name}"]
            else:
                inner.there[f"livejoin/{name}"] = wrong
            with pytest.raises(StateError, match=name):
                check_state(inner, edges)
    inner.there = dict(whole)
    check_state(inner, edges)
    with pytest.raises(StateError, match="version 1 is not kept"):
        parts_of(place(inner), "total", 1)


def test_a_task_has_the_url_of_a_store_and_no_credentials() -> None:
    pytest.importorskip("obstore", reason="pip install 'livejoin[cloud]'")
    with mock.patch.dict(os.environ, environment_of_s3("http://127.0.0.1:9")):
        store_folder._opened.cache_clear()
        task = Task(store_path(f"s3://{BUCKET}/shop") / "livejoin", "", 0, 1, {})
        data = pickle.dumps(task)
        assert f"s3://{BUCKET}/shop".encode() in data
        assert USER.encode() not in data
        assert SECRET.encode() not in data
        assert pickle.loads(data).folder == task.folder
    store_folder._opened.cache_clear()


def test_of_two_that_open_at_once_the_later_one_commits() -> None:
    inner = WrittenOnce()
    earlier = Manifests(place(inner))
    later = Manifests(place(inner))
    with pytest.raises(StateError, match="belongs to another driver"):
        earlier.commit(Manifest(0, earlier.epoch, "", None))
    later.commit(Manifest(0, later.epoch, "", None))


def test_a_checkpoint_of_cells_is_not_read_into_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = WrittenOnce()
    monkeypatch.setattr(store_folder, "open_objects", lambda _: inner)
    store_folder._opened.cache_clear()
    for folder, given in ((place(inner), inner.name), (tmp_path / "livejoin", tmp_path)):
        manifests = Manifests(folder)
        manifests.commit(Manifest(0, manifests.epoch, "", None))
        with pytest.raises(StateError, match=r"mode='distributed'.*read_view reads a view of it"):
            read_checkpoint(given)
    store_folder._opened.cache_clear()
