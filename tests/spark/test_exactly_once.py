"""A pipeline that is killed again and again loses nothing and repeats nothing in its Parquet output."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from deltas import sum_of, versions_of

from oracle import connect

FILES, ROWS, WINDOW, NODES = 14, 50, 160, 12
VIEWS = {
    "hop2": "SELECT G1.src AS a, G1.dst AS b, G2.dst AS c FROM G G1 JOIN G G2 ON G1.dst = G2.src",
    "loops": "SELECT src FROM G WHERE src = dst",
}
PIPELINE = f"""
[tables.G]
schema = "_seq BIGINT, src BIGINT, dst BIGINT"
format = "csv"
path = "in"
options = {{ maxFilesPerTrigger = 1 }}
arrival = "by-name"
window_rows = {WINDOW}

[views.hop2]
sql = "{VIEWS["hop2"]}"

[views.loops]
sql = "{VIEWS["loops"]}"

[sink]
kind = "parquet"
path = "out"

[run]
checkpoint = "checkpoint"

[run.spark]
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1"
"""


@pytest.mark.spark
@pytest.mark.torture  # `tests/checkpoint` stops at every step
def test_a_killed_pipeline_continues_without_loss_or_repetition(tmp_path: Path) -> None:
    edges = write_input(tmp_path)
    (tmp_path / "pipeline.toml").write_text(PIPELINE)

    assert run(tmp_path, "before-done", 0) == -signal.SIGKILL
    assert run(tmp_path, "between-views", 3) == -signal.SIGKILL
    assert run(tmp_path, "taken", 4) == -signal.SIGKILL
    assert run(tmp_path, "after-done", 6) == -signal.SIGKILL
    killed_at_random(tmp_path)
    assert run(tmp_path, "never", 0) == 0

    for view, sql in VIEWS.items():
        versions = versions_of(tmp_path / "out" / view)
        assert all(len(of_file) == 1 for of_file in versions), "a file holds one commit"
        flat = [version for of_file in versions for version in of_file]
        assert flat == sorted(set(flat)), "no commit twice"
        assert sum_of(tmp_path / "out" / view) == recomputed(edges[-WINDOW:], sql)
    # Every batch changes hop2 (its window always moves), so that each one has left a file. Spark gives a batch two
    # input files if the kill at random falls between its log of the source's files and that of the batch's offsets.
    offsets = offsets_of(tmp_path / "checkpoint" / "spark")
    assert offsets == sorted(set(offsets))
    assert offsets[-1] == FILES - 1
    assert len(offsets) >= FILES - 1
    assert versions_of(tmp_path / "out" / "hop2") == [[version] for version in range(1, len(offsets) + 1)]
    assert not list((tmp_path / "out").rglob(".*"))


def write_input(folder: Path) -> list[tuple[int, int]]:
    dice = random.Random(7)
    edges = [(dice.randrange(NODES), dice.randrange(NODES)) for _ in range(FILES * ROWS)]
    (folder / "in").mkdir()
    for file in range(FILES):
        rows = enumerate(edges[file * ROWS : (file + 1) * ROWS], start=file * ROWS)
        text = "".join(f"{seq},{src},{dst}\n" for seq, (src, dst) in rows)
        (folder / "in" / f"edges-{file:02d}.csv").write_text(text)
    return edges


def start(folder: Path, point: str, batch: int) -> subprocess.Popen[bytes]:
    script = Path(__file__).with_name("killed_pipeline.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, script, folder / "pipeline.toml", point, str(batch)]
    return subprocess.Popen(command, env=environment)


def run(folder: Path, point: str, batch: int) -> int:
    with start(folder, point, batch) as process:
        return process.wait(timeout=120)


def killed_at_random(folder: Path) -> None:
    """Kill a run at some moment after its first batch, from outside."""
    before = len(list((folder / "out" / "hop2").glob("*.parquet")))
    with start(folder, "never", 0) as process:
        while len(list((folder / "out" / "hop2").glob("*.parquet"))) <= before:
            assert process.poll() is None, "the run ended before it was killed"
            time.sleep(0.02)
        time.sleep(random.random())
        process.kill()
        assert process.wait(timeout=60) in (-signal.SIGKILL, 0)


def offsets_of(checkpoint: Path) -> list[int]:
    """The last input file of each batch, by Spark's log."""
    logs = sorted((int(log.name), log) for log in (checkpoint / "offsets").iterdir() if log.name.isdecimal())
    return [json.loads(log.read_text().splitlines()[-1])["logOffset"] for _, log in logs]


def recomputed(window: list[tuple[int, int]], sql: str) -> Counter[tuple[int, ...]]:
    connection = connect()
    connection.execute("CREATE TABLE G (src BIGINT, dst BIGINT)")
    connection.executemany("INSERT INTO G VALUES (?, ?)", window)
    return Counter(connection.execute(sql).fetchall())
