"""A process that commits and saves, and is killed at any time.

Laws: `Database.load` gives the snapshot of the last `save` that has returned, or that of the one under way; its tables
and views are those of the stream of commits up to its version, as DuckDB recomputes them; the next `save` leaves one
snapshot in the folder and nothing of those that were cut off.
"""

from __future__ import annotations

import os
import random
import select
import signal
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import livejoin
from torture.interrupts import Life

_PATIENCE = 120.0  # seconds in which a child must have done something
_LONGEST = 1.6  # from what a child has told to its end, in times that a save takes


@dataclass(frozen=True)
class Told:
    """What a child has told before its end.

    Args:
        begun: The version of the last save that it has begun.
        saved: That of the last one that has returned; both that of the beginning if there was none.
    """

    begun: int
    saved: int


def run(cases: int, seed: int, folder: Path) -> Counter[str]:
    """Kill so many processes, each going on where the one before was cut off, and assert the laws after each.

    Returns:
        How often a child was cut off between saves, inside of one and before its end, inside and behind its end, and
        how often files of an unfinished one were left behind.
    """
    rng = random.Random(seed)
    life = Life(seed)
    life.db.save(folder)
    begin = time.perf_counter()
    life.db.save(folder)
    longest = _LONGEST * (time.perf_counter() - begin)
    kinds: Counter[str] = Counter()
    for case in range(cases):
        before = life.db.version
        told = _killed(life, folder, rng, longest)
        try:
            kinds["left behind"] += len(list(folder.iterdir())) > 2
            life.db = livejoin.Database.load(folder, trusted=rng.random() < 0.5)
            found = life.db.version
            assert found in (told.begun, told.saved), f"version {found}"
            if told.begun == told.saved:
                kinds["between"] += 1
            else:
                kinds["inside, old" if found == told.saved else "inside, new"] += 1
            for _ in range(found - before):
                life.rows |= life.changes()[1]
            life.listen()
            life.check()
            if rng.random() < 0.5 or case == cases - 1:
                life.db.save(folder)
                assert len(list(folder.iterdir())) == 2, "one snapshot and its name"
        except BaseException as wrong:
            wrong.add_note(f"case {case} of seed {seed}, begun at version {before}: {told}")
            raise
    return kinds


def _killed(life: Life, folder: Path, rng: random.Random, longest: float) -> Told:
    """Let a child commit and save, and kill it after some of what it tells and some time."""
    heard, tell = os.pipe()
    begun = saved = life.db.version
    steps, rest = rng.randint(0, 6), rng.uniform(0, longest)
    child = os.fork()
    if child == 0:
        _commit_and_save(life, folder, tell)
    os.close(tell)
    text = b""
    try:
        while text.count(b"\n") < steps and (part := _read(heard)):
            text += part
        time.sleep(rest)
        os.kill(child, signal.SIGKILL)
        while part := _read(heard):
            text += part
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(heard)
    for line in text.decode().splitlines():
        what, _, version = line.partition(" ")
        assert what in ("begin", "saved"), f"the child has failed: {line}"
        begun, saved = int(version), saved if what == "begin" else int(version)
    return Told(begun, saved)


def _read(heard: int) -> bytes:
    ready, _, _ = select.select([heard], [], [], _PATIENCE)
    assert ready, f"the child has done nothing for {_PATIENCE} s"
    return os.read(heard, 1 << 12)


def _commit_and_save(life: Life, folder: Path, tell: int) -> NoReturn:
    try:
        while True:
            for _ in range(1 + life.db.version % 3):
                given, after = life.changes()
                life.db.apply(given)
                life.rows |= after
            os.write(tell, f"begin {life.db.version}\n".encode())
            life.db.save(folder)
            os.write(tell, f"saved {life.db.version}\n".encode())
    except BaseException:
        os.write(tell, f"failed {traceback.format_exc()!r}\n".encode())
    finally:
        os._exit(1)
