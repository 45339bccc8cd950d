"""A checkpoint with a file that is gone or is not what was written: an error that names it and says what is left."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from streams import Stream, job

from livejoin.database import Database
from livejoin.errors import StateError

JOB = job({"T": "a BIGINT, b STRING"}, {"v": "SELECT a, b FROM T", "n": "SELECT b, COUNT(*) AS n FROM T GROUP BY b"})


def grown(folder: Path) -> Stream:
    """Batches 0 to 9 of which the last is taken and not done, snapshots behind 3 and 6."""
    stream = Stream(folder)
    engine = stream.open(JOB)
    for number in range(9):
        stream.run(number, {"T": [(number, "x" * number)]})
        if number in (3, 6):
            engine.snapshot()
            engine.history.snapshots.wait()
    stream.take(9, {"T": [(9, "last")]})
    stream.stop()
    return stream


def spoil(file: Path, how: str) -> None:
    data = bytearray(file.read_bytes())
    match how:
        case "gone":
            file.unlink()
        case "cut":
            file.write_bytes(data[: len(data) // 2])
        case "empty":
            file.write_bytes(b"")
        case _:
            data[random.Random(7).randrange(len(data))] ^= 4
            file.write_bytes(data)


@pytest.mark.parametrize("how", ["cut", "empty", "flipped"])
@pytest.mark.parametrize(
    ("file", "way"),
    [
        ("log/00000007.batch", "the changes of batch 7 are nowhere else: restore the whole checkpoint"),
        ("log/00000009.batch", "remove the file, and the batch comes again"),
        ("log/00000008.done", None),
        ("snapshots/00000006/CURRENT", "from 4 on are there: move"),
    ],
)
def test_a_file_that_is_damaged(tmp_path: Path, file: str, how: str, way: str | None) -> None:
    stream = grown(tmp_path)
    spoil(tmp_path / file, how)
    with pytest.raises(StateError, match=re.escape(way or file)) as caught:
        stream.open(JOB)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("log/00000007.batch", r"has a snapshot behind batch 6 and lacks log/00000007\.batch"),
        ("log/00000007.done", r"lacks log/00000007\.done, and there are later batches"),
    ],
)
def test_a_file_that_is_gone(tmp_path: Path, file: str, says: str) -> None:
    stream = grown(tmp_path)
    spoil(tmp_path / file, "gone")
    with pytest.raises(StateError, match=says):
        stream.open(JOB)


def test_what_the_messages_say_works(tmp_path: Path) -> None:
    stream = grown(tmp_path)
    for file in sorted((tmp_path / "snapshots" / "00000006").glob("v*/*")):
        spoil(file, "flipped")
    says = r"the snapshot behind batch 3 and all batches from 4 on are there: move (\S+) away"
    with pytest.raises(StateError, match=says) as caught:
        stream.open(JOB)
    found = re.search(says, str(caught.value))
    assert found is not None
    shutil.move(found[1], tmp_path / "aside")
    stream.open(JOB)
    stream.run(9, {})
    assert stream.held("v") == stream.sum("v")
    stream.take(10, {"T": [(10, "z")]})
    stream.stop()
    spoil(tmp_path / "log" / "00000010.batch", "cut")
    with pytest.raises(StateError, match="remove the file"):
        stream.open(JOB)
    (tmp_path / "log" / "00000010.batch").unlink()
    stream.open(JOB)
    stream.run(10, {"T": [(11, "other")]})
    assert stream.held("v") == stream.sum("v")


def test_nothing_is_left(tmp_path: Path) -> None:
    stream = grown(tmp_path)
    shutil.rmtree(tmp_path / "snapshots" / "00000003")
    spoil(tmp_path / "snapshots" / "00000006" / "CURRENT", "cut")
    with pytest.raises(StateError, match="nothing else is left of what it holds: restore the whole checkpoint"):
        stream.open(JOB)
    shutil.rmtree(tmp_path / "snapshots")
    with pytest.raises(StateError, match=r"has no snapshot and lacks log/00000000\.batch"):
        stream.open(JOB)


def test_declarations_that_are_gone(tmp_path: Path) -> None:
    """Those of now need no file; those of other batches do."""
    stream = grown(tmp_path)
    for file in (tmp_path / "jobs").iterdir():
        file.unlink()
    stream.open(JOB)
    stream.stop()
    shutil.rmtree(tmp_path)
    stream = grown(tmp_path)
    (file,) = (tmp_path / "jobs").iterdir()
    file.unlink()
    with pytest.raises(StateError, match=r"jobs/[0-9a-f]{16}\.json, the declarations of batches in the log"):
        stream.open(job({"T": "a BIGINT, b STRING"}, {"v": "SELECT a, b FROM T"}))


def test_every_byte_counts(tmp_path: Path) -> None:
    """Flips anywhere in the log and the snapshot that is used: an error, or the state as it was."""
    dice = random.Random(5)
    stream = grown(tmp_path / "whole")
    stream.open(JOB)
    held = {view: stream.held(view) for view in JOB.views}
    stream.stop()
    refused = 0
    for _ in range(60):
        folder = tmp_path / "copy"
        shutil.copytree(tmp_path / "whole", folder)
        files = [file for file in folder.rglob("*") if file.is_file() and file.stat().st_size]
        file = dice.choice(files)
        data = bytearray(file.read_bytes())
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        file.write_bytes(data)
        copy = Stream(folder)
        try:
            copy.open(JOB)
        except StateError as error:
            refused += 1
            assert str(folder) in str(error)
        else:
            assert {view: copy.held(view) for view in JOB.views} == held
        copy.stop()
        shutil.rmtree(folder)
    assert refused > 15


def test_a_checkpoint_from_before_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A snapshot of everything in the folder itself becomes a snapshot of the tables; its views go on."""
    database = Database()
    database.create_table("T", "a BIGINT, b STRING")
    database.create_view("v", "SELECT a, b FROM T")
    database.apply("T", [(1, "x"), (1, "x"), (2, None)])
    extra = {"batch_id": 5, "tables": {"T": "..."}, "windows": {}, "views": {"v": "SELECT a, b FROM T"}}
    parts = {"since": 0, "views": {"v": [[0, 5]]}}
    database.save(tmp_path, {**extra, "parts": parts})
    stream = Stream(tmp_path)
    engine = stream.open(JOB)
    assert (engine.last_batch, engine.parts.plain()) == (5, parts)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobs", "log", "snapshots"]
    stream.run(6, {"T": [(3, "z")]})
    assert stream.held("v") == Counter({(1, "x"): 2, (2, None): 1, (3, "z"): 1})
    assert stream.sum("v") == Counter({(3, "z"): 1})
    assert stream.sum("n") == stream.held("n"), "a new view"
    stream.open(JOB)
    assert stream.held("n") == stream.sum("n")
    stream.stop()
    old = tmp_path / "older"
    database.save(old, extra)
    Stream(old).open(JOB).close()
    assert "did not note which parts" in caplog.text
    database.save(tmp_path / "none", {})
    with pytest.raises(StateError, match="is of no stream"):
        Stream(tmp_path / "none").open(JOB)
