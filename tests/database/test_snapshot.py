"""Snapshots: a crash at any step leaves the old one or the new one, damage is noticed, nothing else is touched."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin.database import snapshot
from livejoin.dataflow.node import Node
from livejoin.errors import StateError
from livejoin.families.crown.plan import PhysicalPlan
from oracle import multiset

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


CALLS: list[tuple[Any, str]] = [
    (Path, "mkdir"),
    (Path, "open"),
    (Path, "replace"),
    (Path, "iterdir"),
    (os, "fsync"),
    (os, "open"),
    (os, "close"),
    (shutil, "rmtree"),
]


@contextmanager
def crashing(patch: pytest.MonkeyPatch, at: int, after: bool) -> Iterator[list[str]]:
    """Every call that reaches the disk is a step; the process ends before or after step ``at``."""
    steps: list[str] = []

    def step(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **kwargs: Any) -> Any:
            steps.append(name)
            if len(steps) - 1 != at:
                return function(*args, **kwargs)
            if after:
                function(*args, **kwargs)
            raise Crash

        return called

    with patch.context() as patched:
        for owner, name in CALLS:
            patched.setattr(owner, name, step(name, getattr(owner, name)))
        yield steps


@pytest.mark.parametrize("after", [False, True])
def test_a_crash_at_any_step_leaves_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool) -> None:
    old, new = database(), database()
    grow(new)
    new.extra = {"batch_id": 2}
    old.save(tmp_path / "old", extra={"batch_id": 1})
    with crashing(monkeypatch, -1, after) as steps:
        new.save(tmp_path / "count")
    outcomes = []
    for at in range(len(steps)):
        folder = tmp_path / f"crash {at}"
        shutil.copytree(tmp_path / "old", folder)
        with crashing(monkeypatch, at, after), pytest.raises(Crash):
            new.save(folder)
        loaded = livejoin.Database.load(folder)
        outcomes.append(loaded.version)
        assert_same(loaded, new if loaded.version == new.version else old)
        new.save(folder)
        assert_same(livejoin.Database.load(folder), new)
        assert len(list(folder.iterdir())) == 2, "what a crash left behind is removed by the next snapshot"
        shutil.rmtree(folder)
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {old.version, new.version}
    assert outcomes[steps.index("replace")] == (new.version if after else old.version)


def test_a_first_snapshot_that_crashes_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = database()
    with crashing(monkeypatch, 9, after=True), pytest.raises(Crash):
        db.save(tmp_path)
    with pytest.raises(StateError, match="no snapshot"):
        livejoin.Database.load(tmp_path)


def test_the_disk_is_synchronised_before_the_snapshot_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that was opened has been synchronised when CURRENT is replaced, and so have both folders."""
    db = database()
    with crashing(monkeypatch, -1, after=False) as steps:
        db.save(tmp_path)
    replaced = steps.index("replace")
    written = steps[:replaced].count("open")  # files and folders, by `Path.open` and `os.open`
    assert steps[:replaced].count("fsync") == written > 10
    assert steps[replaced + 1 :].count("fsync") == 1


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
    (folder / "CURRENT").write_text(f"{name} {snapshot.zlib.crc32(text)}")


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
            assert_same(livejoin.Database.load(tmp_path / "a"), first)
        else:
            with pytest.raises(StateError, match=path.name):
                livejoin.Database.load(tmp_path / "a")
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
    assert_same(livejoin.Database.load(tmp_path), db)
    assert rebuilt == []
    monkeypatch.setattr(PhysicalPlan, "digest", property(lambda plan: "another"))
    loaded = livejoin.Database.load(tmp_path)
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


def test_a_save_that_fails_keeps_the_old_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = database()
    db.save(tmp_path, extra={"batch_id": 1})
    with crashing(monkeypatch, 5, after=False), pytest.raises(Crash):
        db.save(tmp_path, extra={"batch_id": 2})
    assert db.extra == {"batch_id": 1}
    db.save(tmp_path)
    assert livejoin.Database.load(tmp_path).extra == {"batch_id": 1}


def test_an_empty_database(tmp_path: Path) -> None:
    db = livejoin.Database()
    db.save(tmp_path)
    loaded = livejoin.Database.load(tmp_path)
    assert_same(loaded, db)
    loaded.execute("CREATE TABLE G (src BIGINT)")
    assert loaded.apply("G", [(1,)]).version == 1
