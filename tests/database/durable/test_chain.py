"""The log in an object store: one chain of objects, and who may add to it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from livejoin.database.durable.chain import ChainFolder
from livejoin.database.durable.log import TakenOverError, segment_name
from livejoin.errors import StateError
from livejoin.state import objects as objects_module
from livejoin.state.objects import MARK_BYTES, check_url, create_once, open_objects
from memory_objects import FaultyObjects, MemoryObjects

ONE, TWO = segment_name(1), segment_name(2)


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects_module, "PATIENCE", 0.05)
    monkeypatch.setattr(objects_module, "_FIRST_PAUSE", 0.001)


def claimed(objects: MemoryObjects, epoch: int) -> ChainFolder:
    chain = ChainFolder(objects, epoch)
    chain.claim()
    return chain


def test_what_was_pushed_is_read_in_order() -> None:
    objects = MemoryObjects()
    chain = claimed(objects, 1)
    file = chain.begun(ONE)
    file.write(b"first", 0)
    file.write(b"second", 5)
    file.sync(5)
    assert file.read(2, 6) == b"rstsec"  # of what is in the store, and of what is not
    assert ChainFolder(objects).read(ONE) == b"first"
    file.cut(5)
    file.write(b"third", 5)
    file.sync()
    other = chain.begun(TWO)
    other.write(b"fourth", 0)
    other.sync()
    read = ChainFolder(objects)
    assert read.names() == [ONE, TWO]
    assert (read.read(ONE), read.read(TWO)) == (b"firstthird", b"fourth")
    with pytest.raises(ValueError, match="has no"):
        file.read(8, 5)


def test_who_claims_keeps_out_who_wrote_before() -> None:
    objects = MemoryObjects()
    before = claimed(objects, 1)
    file = before.begun(ONE)
    file.write(b"a", 0)
    file.sync()
    after = claimed(objects, 2)
    file.write(b"lost", 1)
    for _ in range(2):  # once more too
        with pytest.raises(TakenOverError):
            file.sync()
    grown = after.grown(ONE)
    grown.write(b"b", 1)
    grown.sync()
    assert ChainFolder(objects).read(ONE) == b"ab"
    with pytest.raises(TakenOverError):
        ChainFolder(objects, 1).claim()


def test_what_was_removed_is_no_room_for_who_wrote_before() -> None:
    """The number that a writer would create next is a claim, and claims stay when all around them is removed."""
    objects = MemoryObjects()
    stale = claimed(objects, 1)
    file = stale.begun(ONE)
    file.write(b"a", 0)
    file.sync()
    slow = ChainFolder(objects, 2)  # has listed the chain, and claims it much later
    third = claimed(objects, 3)
    grown = third.grown(ONE)
    for number in range(5):
        grown.write(b"b", 1 + number)
        grown.sync()
    begun = third.begun(TWO)
    begun.write(b"c", 0)
    begun.sync()
    ChainFolder(objects).remove_before(2)
    left = [int(key[4:]) for key in sorted(objects.there)]
    assert left == [1, 3, 9]  # two claims, and the second segment
    file.write(b"x", 1)
    with pytest.raises(TakenOverError):
        file.sync()
    with pytest.raises(TakenOverError):
        slow.claim()
    assert ChainFolder(objects).names()[-1] == TWO
    assert ChainFolder(objects).read(TWO) == b"c"


def test_a_claim_in_the_place_of_what_was_removed_does_not_count() -> None:
    objects = MemoryObjects()
    first = claimed(objects, 1)
    file = first.begun(ONE)
    slow = ChainFolder(objects, 2)
    for number in range(3):  # behind what the slow one has seen, and removed before it goes on
        file.write(b"a", number)
        file.sync()
    third = claimed(objects, 3)
    begun = third.begun(TWO)
    begun.write(b"c", 0)
    begun.sync()
    ChainFolder(objects).remove_before(2)
    assert "log/000000000002" not in objects.there
    with pytest.raises(TakenOverError):
        slow.claim()
    assert "log/000000000002" in objects.there  # it was created, and does no harm
    assert ChainFolder(objects).names()[-1] == TWO


@pytest.mark.parametrize("what", ["removed", "changed", "shortened"])
def test_damage_is_noticed(what: str) -> None:
    objects = MemoryObjects()
    chain = claimed(objects, 1)
    file = chain.begun(ONE)
    for number in range(3):
        file.write(b"record", 6 * number)
        file.sync()
    key = "log/000000000003"
    if what == "removed":
        del objects.there[key]
    else:
        data = objects.there[key]
        objects.there[key] = data[:-1] + b"x" if what == "changed" else data[:-1]
    with pytest.raises(ValueError, match=r"missing|not what was written"):
        ChainFolder(objects).read(ONE)


@pytest.mark.parametrize("seed", range(30))
def test_of_all_who_create_one_is_told_so(seed: int) -> None:
    draw = random.Random(seed)
    inner = MemoryObjects()
    told = []
    for writer in range(4):
        faulty = FaultyObjects(inner, draw, 0.6)
        data = bytes([writer]) * MARK_BYTES
        try:
            if create_once(faulty, "x", data):
                told.append(data)
        except OSError:  # it is not known
            pass
        except BaseException as end:
            assert type(end).__name__ == "Killed"
        if draw.random() < 0.5:
            faulty.land()
        assert set(told) <= {inner.there.get("x")}
    assert len(told) <= 1


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://host/x", "no store that livejoin knows"),
        ("s3n://bucket/x", "no store that livejoin knows"),
        ("s3://key:secret@bucket/x", "come from the environment"),
        ("s3://bucket/x?sig=secret", "come from the environment"),
        ("s3://bucket", "give a prefix"),
        ("s3://bucket/", "give a prefix"),
        ("s3:///x", "names no bucket; write s3://bucket/prefix"),
        ("s3://shop//x", "write s3://shop/x"),
        ("s3://bucket:99/x", "'s3://bucket:99/x' has a port, and a bucket has none"),
    ],
)
def test_urls_that_are_refused(url: str, says: str) -> None:
    with pytest.raises(StateError, match=says) as refused:
        check_url(url)
    assert "secret" not in str(refused.value)


def test_urls_of_stores() -> None:
    assert check_url("s3://bucket/a/b/") == "s3://bucket/a/b"
    url = "abfss://container@account.dfs.core.windows.net/x"
    assert check_url(url) == url


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(ImportError, match=r"livejoin\[cloud\]"):
        open_objects("s3://bucket/x")


def test_paths_that_are_made_of_a_url(tmp_path: Path) -> None:
    import livejoin  # noqa: PLC0415

    with pytest.raises(StateError, match="as a text"):
        livejoin.open(tmp_path / "s3://bucket/x")
    for typed in ("s3:bucket/x", " s3://bucket/x", "gs:/bucket/x"):
        with pytest.raises(StateError, match="as a text"):
            livejoin.open(typed)
    livejoin.open(tmp_path / "s3:x").close()  # whoever has such a folder
    db = livejoin.Database()
    with pytest.raises(StateError, match="as a text"):
        db.save("s3://bucket/x")
