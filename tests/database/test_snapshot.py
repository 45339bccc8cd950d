"""Snapshots: a crash at any step leaves the old one or the new one, damage is noticed, nothing else is touched."""

from __future__ import annotations

import errno
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import livejoin
from kept_database import EXTRA, STORED, kept_database, more
from livejoin.dataflow.node import Node
from livejoin.errors import StateError, StorageError
from livejoin.families.crown.plan import CrownPlan
from livejoin.state import files
from oracle import multiset
from strategies import IS_FUZZ

HOP2 = "SELECT A.src AS a, B.src AS b, B.dst AS c, B.name FROM G A JOIN G B ON A.dst = B.src"


def database() -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT, name STRING", window_rows=40)
    db.create_view("hop2", HOP2)
    db.create_view("quiet", HOP2, deltas=False)
    grow(db)
    return db


def grow(db: livejoin.Database) -> None:
    start = db.version * 10
    db.apply("G", [((start + i) % 7, (start + i * 3) % 7, f"edge {start + i}") for i in range(10)])


def assert_same(found: livejoin.Database, expected: livejoin.Database) -> None:
    found._check()
    assert found.version == expected.version
    assert found.extra == expected.extra
    assert dict(found.tables) == dict(expected.tables)
    assert list(found.views) == list(expected.views)
    for name, view in expected.views.items():
        assert multiset(found.views[name].to_arrow()) == multiset(view.to_arrow())
        assert found.views[name].count() == view.count()


class Crash(BaseException):
    """Stands for the end of the process."""


@contextmanager
def crashing(patch: pytest.MonkeyPatch, at: int, after: bool) -> Iterator[list[str]]:
    """Every call of the system is a step; the process ends before or after step ``at``, and does nothing from then."""
    steps: list[str] = []

    def system(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        steps.append(function.__name__)
        sooner = len(steps) - 1 < at or at < 0
        if (sooner or (len(steps) - 1 == at and after)) and function is not os.fsync:  # it takes its time
            result = function(*args, **named)
        if not sooner:
            raise Crash
        return None if function is os.fsync else result

    with patch.context() as patched:
        patched.setattr(files, "system", system)
        yield steps


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_step_leaves_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    old, new = database(), database()
    grow(new)
    new.extra = {"batch_id": 2}
    old.save(tmp_path / "old", extra={"batch_id": 1})
    with crashing(monkeypatch, -1, after) as steps:
        shutil.copytree(tmp_path / "old", tmp_path / "count")
        new.save(tmp_path / "count")
    every = range(len(steps))
    kinds = {*steps}
    # The first and the last step of each kind, and all of them in long runs.
    ends = {place for kind in kinds for place in (steps.index(kind), max(at for at in every if steps[at] == kind))}
    outcomes = dict[int, int]()
    for at in every if IS_FUZZ else sorted(ends):
        folder = tmp_path / f"crash {at}"
        shutil.copytree(tmp_path / "old", folder)
        with crashing(monkeypatch, at, after), pytest.raises(Crash):
            new.save(folder)
        loaded = livejoin.Database.load(folder)
        outcomes[at] = loaded.version
        assert_same(loaded, new if loaded.version == new.version else old)
        new.save(folder)
        assert_same(livejoin.Database.load(folder), new)
        assert len(list(folder.iterdir())) == 2, "what a crash left behind is removed by the next snapshot"
        shutil.rmtree(folder)
    assert [*outcomes.values()] == sorted(outcomes.values())
    assert {*outcomes.values()} == {old.version, new.version}
    assert outcomes[steps.index("replace")] == (new.version if after else old.version)


def test_a_first_snapshot_that_crashes_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = database()
    with crashing(monkeypatch, 9, after=True), pytest.raises(Crash):
        db.save(tmp_path)
    with pytest.raises(StateError, match="no snapshot"):
        livejoin.Database.load(tmp_path)
    db.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_the_disk_is_synchronised_before_the_snapshot_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that was written has been synchronised when CURRENT is replaced, and so have both folders."""
    db = database()
    with crashing(monkeypatch, -1, after=False) as steps:
        db.save(tmp_path)
    replaced = steps.index("replace")
    opened = steps[:replaced].count("open")  # every file, and both folders
    assert steps[:replaced].count("fsync") == opened > 10
    assert steps[replaced:].index("fsync") < steps[replaced:].index("listdir"), "and then CURRENT, before any goes"


def test_repeated_snapshots_leave_one_folder(tmp_path: Path) -> None:
    db = database()
    for _ in range(4):
        grow(db)
        db.save(tmp_path)
        db.save(tmp_path)
    assert len([p for p in tmp_path.iterdir() if p.is_dir()]) == 1
    assert sorted(p.name for p in tmp_path.iterdir())[0] == "CURRENT"
    assert_same(livejoin.Database.load(tmp_path), db)


def test_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    """A user may name a folder that has more in it than snapshots."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "precious.txt").write_text("kept")
    (tmp_path / "v1").mkdir()
    (tmp_path / "notes.txt").write_text("kept")
    db = database()
    db.save(tmp_path)
    db.save(tmp_path)
    assert (tmp_path / "src" / "precious.txt").read_text() == "kept"
    assert (tmp_path / "notes.txt").read_text() == "kept"
    assert (tmp_path / "v1").is_dir()


def test_a_snapshot_elsewhere_is_a_copy(tmp_path: Path) -> None:
    """A folder that is moved or copied loads as well."""
    db = database()
    db.save(tmp_path / "here")
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    shutil.rmtree(tmp_path / "here")
    assert_same(livejoin.Database.load(tmp_path / "there"), db)


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest as another version of livejoin would write it, with its checksum."""
    name = (folder / "CURRENT").read_text().split()[0]
    manifest = json.loads((folder / name / "manifest.json").read_text())
    change(manifest)
    text = json.dumps(manifest).encode()
    (folder / name / "manifest.json").write_bytes(text)
    (folder / "CURRENT").write_text(f"{name} {zlib.crc32(text)}")


def test_another_format_is_refused_by_its_number(tmp_path: Path) -> None:
    db = database()
    db.save(tmp_path)
    edit(tmp_path, lambda manifest: manifest.update(format=99))
    with pytest.raises(StateError, match=r"has format 99; this version of livejoin reads"):
        livejoin.Database.load(tmp_path)


@pytest.mark.parametrize("missing", ["tables", "codec", "views", "version"])
def test_an_incomplete_manifest_is_damage(tmp_path: Path, missing: str) -> None:
    database().save(tmp_path)
    edit(tmp_path, lambda manifest: manifest.pop(missing))
    with pytest.raises(StateError, match=missing):
        livejoin.Database.load(tmp_path)


@pytest.mark.parametrize("text", ["", "nowhere 1", "three words here", "v000000000001-00000000", "\udcff"])
def test_a_pointer_that_is_not_one_is_damage(tmp_path: Path, text: str) -> None:
    database().save(tmp_path)
    (tmp_path / "CURRENT").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(StateError, match="damaged"):
        livejoin.Database.load(tmp_path)


def test_files_of_another_snapshot_are_noticed(tmp_path: Path) -> None:
    """Of the same length and readable, but not those that were written together."""
    first, second = database(), database()
    second.apply("G", [{"src": 0, "dst": 0, "name": "edge 0", "_change_type": "delete"}])
    for db, name in ((first, "a"), (second, "b")):
        db.save(tmp_path / name)
    for path in sorted((tmp_path / "a").rglob("*.bin")):
        good = path.read_bytes()
        other = next((tmp_path / "b").rglob(path.name)).read_bytes()
        path.write_bytes(other)
        if good == other:
            assert_same(livejoin.Database.load(tmp_path / "a", trusted=True), first)
        else:
            with pytest.raises(StateError, match=path.name):
                livejoin.Database.load(tmp_path / "a", trusted=True)
        path.write_bytes(good)
    assert_same(livejoin.Database.load(tmp_path / "a"), first)


def test_a_state_of_another_plan_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where livejoin plans a view in another way than when it was saved, its rows decide."""
    db = database()
    db.save(tmp_path)
    rebuilt: list[str] = []
    load = Node.load

    def counted(node: Node) -> Any:
        rebuilt.append(node.digest)
        return load(node)

    monkeypatch.setattr(Node, "load", counted)
    assert_same(livejoin.Database.load(tmp_path, trusted=True), db)
    assert rebuilt == []
    monkeypatch.setattr(CrownPlan, "digest", property(lambda plan: "another"))
    loaded = livejoin.Database.load(tmp_path, trusted=True)
    assert sorted(rebuilt) == sorted(node.digest for node in loaded._contents.graph.nodes)
    assert_same(loaded, db)
    grow(db)
    grow(loaded)
    assert_same(loaded, db)


@pytest.mark.parametrize("extra", [{"a": {1, 2}}, {"a": b"bytes"}, {"a": object()}])
def test_extra_values_that_are_not_json_are_refused_before_anything_is_written(
    tmp_path: Path, extra: dict[str, Any]
) -> None:
    db = database()
    db.save(tmp_path, extra={"batch_id": 1})
    before = sorted(p.name for p in tmp_path.rglob("*"))
    with pytest.raises(StateError, match="JSON"):
        db.save(tmp_path, extra=extra)
    assert db.extra == {"batch_id": 1}
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
    assert_same(livejoin.Database.load(tmp_path), db)


def test_a_save_that_fails_keeps_the_old_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the next one fails too: nothing unfinished is left, and the error is livejoin's, with its cause."""
    db = database()
    db.save(tmp_path, extra={"batch_id": 1})
    before = sorted(p.name for p in tmp_path.rglob("*"))

    def full(file: int, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        for _ in range(2):
            with pytest.raises(StorageError, match=r"No space left on device.*the snapshot of before") as caught:
                db.save(tmp_path, extra={"batch_id": 2})
            assert isinstance(caught.value.__cause__, OSError)
            assert sorted(p.name for p in tmp_path.rglob("*")) == before
    assert db.extra == {"batch_id": 1}
    db.save(tmp_path)
    assert livejoin.Database.load(tmp_path).extra == {"batch_id": 1}


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="File exists"):
        database().save(tmp_path / "file")
    with pytest.raises(StateError, match="no snapshot"):
        livejoin.Database.load(tmp_path / "file")


def test_what_a_killed_process_left_makes_room_for_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is removed before anything is written: a full disk would not let the next snapshot be."""
    db = database()
    db.save(tmp_path)
    with crashing(monkeypatch, 30, after=False), pytest.raises(Crash):
        db.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    with crashing(monkeypatch, -1, after=False) as steps:
        db.save(tmp_path)
    assert steps.index("rmdir") < steps.index("write")


@pytest.mark.parametrize("way", ["absolute", "above", "link", "linked file", "linked pointer", "pipe"])
def test_a_load_stays_inside_of_its_folder(tmp_path: Path, way: str) -> None:
    """A sound snapshot lies outside, and whoever wrote the folder wants it to be read from there."""
    outside, folder = tmp_path / "outside", tmp_path / "inside"
    database().save(outside)
    database().save(folder)
    name, checksum = (outside / "CURRENT").read_text().split()
    inner = next(path for path in folder.iterdir() if path.is_dir())
    match way:
        case "absolute":
            (folder / "CURRENT").write_text(f"{outside / name} {checksum}")
        case "above":
            (folder / "CURRENT").write_text(f"../outside/{name} {checksum}")
        case "link":
            (folder / name).symlink_to(outside / name)
            (folder / "CURRENT").write_text(f"{name} {checksum}")
        case "linked file":
            moved = (inner / "codec.strings.heap.bin").rename(tmp_path / "heap")
            (inner / "codec.strings.heap.bin").symlink_to(moved)
        case "linked pointer":
            (folder / "CURRENT").unlink()
            (folder / "CURRENT").symlink_to(outside / "CURRENT")
        case "pipe":
            (inner / "manifest.json").unlink()
            os.mkfifo(inner / "manifest.json")
    for trusted in (False, True):
        with pytest.raises(StateError):
            livejoin.Database.load(folder, trusted=trusted)


def test_names_of_arrays_are_no_paths(tmp_path: Path) -> None:
    """A file outside has just the bytes that the manifest promises."""
    db = database()
    db.save(tmp_path / "inside")
    inner = next(path for path in (tmp_path / "inside").iterdir() if path.is_dir())
    (inner / "block0.x").mkdir()

    def lead_out(manifest: dict[str, Any]) -> None:
        arrays = manifest["blocks"][0]["arrays"]
        key = next(key for key, entry in arrays.items() if entry["shape"] != [0])
        (tmp_path / "secret.bin").write_bytes((inner / f"block0.{key}.bin").read_bytes())
        arrays["x/../../../secret"] = arrays.pop(key)

    edit(tmp_path / "inside", lead_out)
    with pytest.raises(StateError, match="no name of a file"):
        livejoin.Database.load(tmp_path / "inside", trusted=True)


@pytest.mark.parametrize("file", STORED, ids=lambda file: file.stem)
def test_a_snapshot_of_an_older_format_loads_for_ever(tmp_path: Path, file: Path) -> None:
    """Its views are loaded from its tables, and it goes on as the database that it was made of."""
    with zipfile.ZipFile(file) as stored:
        stored.extractall(tmp_path)
    for trusted in (False, True):
        expected, found = kept_database(), livejoin.Database.load(tmp_path, trusted=trusted)
        expected.extra = EXTRA
        assert_same(found, expected)
        for name, view in expected.views.items():
            kept = found.views[name]
            assert (kept.sql, kept.deltas, kept.algorithm, kept.adaptive) == (
                view.sql,
                view.deltas,
                view.algorithm,
                view.adaptive,
            )
            assert kept._options == view._options
        for db in (expected, found):
            more(db)
        assert_same(found, expected)


@pytest.mark.parametrize("trusted", [False, True])
def test_everything_comes_back(tmp_path: Path, trusted: bool) -> None:
    """Windows, keys, dictionaries, options, views of views: as they were, and they go on together."""
    expected = kept_database()
    expected.save(tmp_path, EXTRA)
    found = livejoin.Database.load(tmp_path, trusted=trusted)
    assert_same(found, expected)
    for db in (expected, found):
        more(db)
    assert_same(found, expected)
    assert [found.views[name]._options for name in found.views] == [view._options for view in expected.views.values()]


def test_states_of_another_version_are_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its kernels may lay their arrays out in another way, and no digest of a plan would tell."""
    db = database()
    db.save(tmp_path)
    edit(tmp_path, lambda manifest: manifest.update(build="another"))
    with monkeypatch.context() as patched, caplog.at_level("INFO", "livejoin"):
        patched.setattr(Node, "restore", None)
        assert_same(livejoin.Database.load(tmp_path, trusted=True), db)
    assert "another version of livejoin saved" in caplog.text


def test_an_untrusted_load_reads_no_state_of_a_block(tmp_path: Path) -> None:
    db = database()
    db.save(tmp_path)
    for path in tmp_path.rglob("block*"):
        path.unlink()
    assert_same(livejoin.Database.load(tmp_path), db)
    with pytest.raises(StateError, match="block0"):
        livejoin.Database.load(tmp_path, trusted=True)


def test_an_empty_database(tmp_path: Path) -> None:
    db = livejoin.Database()
    db.save(tmp_path)
    loaded = livejoin.Database.load(tmp_path)
    assert_same(loaded, db)
    loaded.execute("CREATE TABLE G (src BIGINT)")
    assert loaded.apply("G", [(1,)]).version == 1
