"""Snapshots that are damaged or made up, and a file system that refuses: `files` and `file_faults` say what must hold.

``LIVEJOIN_TORTURE=<cases>`` runs so many cases of each kind, and every operation; without it there is a small share.
"""

from __future__ import annotations

import os
import random
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import livejoin
from kept_database import EXTRA, STORED, kept_database, more
from torture import file_faults, files

CASES = int(os.environ.get("LIVEJOIN_TORTURE", "0"))
SEED = int(os.environ.get("LIVEJOIN_SEED", "12"))

Saved: TypeAlias = tuple[file_faults.Views, list[files.Files]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """The views of a database with one of everything, and its snapshots of all formats."""
    db = kept_database()
    folder = tmp_path_factory.mktemp("saved")
    db.save(folder / "now", EXTRA)
    for file in STORED:
        with zipfile.ZipFile(file) as stored:
            stored.extractall(folder / file.stem)
    return file_faults.results(db), [files.packed(folder / name) for name in ("now", *(file.stem for file in STORED))]


@pytest.mark.timeout(0 if CASES else 600)
@pytest.mark.parametrize("change", [files.damaged, files.made_up], ids=["damaged", "made up"])
def test_damaged_snapshots(
    saved: tuple[file_faults.Views, list[files.Files]], tmp_path: Path, change: files.Change
) -> None:
    views, snapshots = saved
    outcomes: Counter[str] = Counter()
    for case in range(CASES or 8):
        rng = random.Random(SEED + case)
        damage = change(rng.choice(snapshots), rng)
        try:
            outcomes[files.check_load(damage, views, tmp_path / str(case), more)] += 1
        except BaseException as error:
            error.add_note(f"seed {SEED + case}: {damage.told}")
            raise
    print(f"{change.__name__}: {dict(outcomes)}")
    assert outcomes["refused"] and outcomes["loaded"]


def small(commits: int) -> livejoin.Database:
    db = livejoin.Database()
    db.create_table("G", "src BIGINT, dst BIGINT, tag STRING", window_rows=20)
    db.create_view("hop2", "SELECT A.src AS a, B.dst AS c, B.tag FROM G A JOIN G B ON A.dst = B.src")
    for commit in range(commits):
        db.apply("G", [(i % 5, (i + commit) % 4, f"tag {i}") for i in range(10)])
    return db


@pytest.mark.timeout(0 if CASES else 600)
def test_every_operation_of_a_save_fails_once(tmp_path: Path) -> None:
    old, new = small(1), small(2)
    with file_faults.failing(-1, file_faults.KINDS[0]):
        old.save(tmp_path / "count")
    steps = file_faults.calls(lambda: new.save(tmp_path / "count"))
    cases = [(at, kind) for at in range(steps) for kind in file_faults.KINDS]
    outcomes: Counter[str] = Counter()
    for number, (at, kind) in enumerate(cases if CASES else random.Random(SEED).sample(cases, 25)):
        try:
            outcomes[file_faults.check_save(old, new, tmp_path / str(number), at, kind)] += 1
        except BaseException as error:
            error.add_note(f"call {at} fails {kind}")
            raise
    print(f"save: {dict(outcomes)} of {steps} calls")
    assert outcomes["refused"] and outcomes["saved"]
    new.apply("G", [(1, 2, "more")])
    new._check()


@pytest.mark.timeout(0 if CASES else 600)
def test_every_operation_of_a_load_fails_once(tmp_path: Path) -> None:
    db = small(2)
    db.save(tmp_path)
    views = file_faults.results(db)
    steps = file_faults.calls(lambda: livejoin.Database.load(tmp_path, trusted=True))
    cases = [(at, kind) for at in range(steps) for kind in file_faults.KINDS]
    outcomes: Counter[str] = Counter()
    for at, kind in cases if CASES else random.Random(SEED).sample(cases, 25):
        try:
            outcomes[file_faults.check_read(views, tmp_path, at, kind)] += 1
        except BaseException as error:
            error.add_note(f"call {at} fails {kind}")
            raise
    print(f"load: {dict(outcomes)} of {steps} calls")
    assert outcomes["refused"] and outcomes["loaded"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list descriptors")
@pytest.mark.timeout(0 if CASES else 600)
@pytest.mark.parametrize("threads", [1, 2] if CASES else [2])
def test_every_operation_of_a_spill_fails_once(threads: int, tmp_path: Path) -> None:
    db = livejoin.Database(threads=threads, spill=tmp_path, spill_over=1500)
    db.create_table("G", "src BIGINT, dst BIGINT, tag STRING")
    db.create_view("tags", "SELECT A.tag AS s, B.tag AS t FROM G A JOIN G B ON A.dst = B.src")
    db.create_view("whole", "SELECT src, dst, tag FROM G")
    rows = [(i % 3, (i + 1 + i // 10) % 3, f"tag {i % 3}") for i in range(20)]
    db.apply("G", rows[:10])

    def given(signs: tuple[str, str]) -> list[dict[str, Any]]:
        kinds = [signs[i >= 10] for i in range(20)]
        return [{"src": a, "dst": b, "tag": t, "_change_type": k} for (a, b, t), k in zip(rows, kinds, strict=True)]

    def changes() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        return given(("delete", "insert")), given(("insert", "delete"))

    def work() -> None:
        commit = db.apply("G", changes()[0])
        assert "tags" in commit.spilled
        commit["tags"]

    steps = file_faults.calls(work)
    db.apply("G", changes()[1])
    cases = [(at, kind) for at in range(steps) for kind in file_faults.KINDS]
    outcomes: Counter[str] = Counter()
    rng = random.Random(SEED)
    # One that is only slower, and one in the first writes, so that the commit is refused.
    wrong = [kind for kind in file_faults.KINDS if kind[0] != "short"]
    few = [(rng.randrange(steps), ("short", 0)), (rng.randrange(steps // 3), rng.choice(wrong))]
    for at, kind in cases if CASES else few:
        try:
            outcomes[file_faults.check_spill(db, changes, tmp_path, at, kind)] += 1
        except BaseException as error:
            error.add_note(f"call {at} fails {kind}")
            raise
    print(f"spill: {dict(outcomes)} of {steps} calls")
    assert outcomes["refused"] and outcomes["stands"]
