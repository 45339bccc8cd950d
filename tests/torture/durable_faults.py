"""A database in a folder whose disk refuses, and processes that are killed while they commit to one.

Laws: a commit that was told to stand is there when the folder is opened again, whatever came then; one that was refused
is not, unless the database says that its log has failed; nothing is there twice, and nothing in half.
"""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import livejoin
from livejoin.database.durable.fold_process import fold
from livejoin.database.durable.places import FolderPlace
from livejoin.errors import StorageError
from oracle import assert_same_rows
from torture.file_faults import Faults, Views, failing, results
from torture.interrupts import FOLLOWED, Life, come_back

_PATIENCE = 120.0
_CASES_A_FOLDER = 50
_FOLDED = 0.2  # of the processes that are killed make snapshots beside as often as they can; so many are made between


def opened(folder: Path, to: Path) -> tuple[int, Views]:
    """The version and the views of what a process leaves that is killed now."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to)
    with livejoin.open(to) as db:
        found = results(db)
        for name in FOLLOWED:
            assert_same_rows(come_back(db, name), found[name], f"what one who comes back to {name} is told")
        return db.version, found


def check_commit(life: Life, folder: Path, at: int, kind: tuple[str, int]) -> tuple[str, Faults]:
    """Commit while a call of the system fails, and assert the laws.

    Returns:
        Whether the commit ``stands``, was ``refused`` and could be made again, or the log has ``failed`` for good, so
        that the folder was opened again; and what was called.
    """
    given, after = life.changes()
    version, before = life.db.version, results(life.db)
    outcome = "stands"
    with failing(at, kind) as faults:
        try:
            life.db.apply(given)
        except StorageError as error:
            outcome = "refused"
            assert isinstance(error.__cause__, OSError)
        except KeyboardInterrupt:
            outcome = "stands" if life.db.version > version else "refused"
    log = life.db._contents.log
    assert log is not None
    if log.has_failed:
        try:
            life.db.stats()
        except StorageError:
            outcome = "failed"
        assert outcome == "failed", "every further call is refused"
        life.db.close()
        life.db = livejoin.open(folder)
        life.listen()
        assert life.db.version in (version, version + 1)
        if life.db.version > version:
            life.rows |= after
    elif outcome == "stands":
        life.rows |= after
    else:
        assert (life.db.version, results(life.db)) == (version, before)
    life.check()
    assert opened(folder, folder.parent / "copy") == (life.db.version, results(life.db))
    return outcome, faults


def killed(cases: int, seed: int, folder: Path, sync: str) -> Counter[str]:
    """Kill so many processes that commit to a folder, each going on where the one before was cut off.

    Returns:
        How often the last commit that was begun was there, and was not; and how many folders had a snapshot at the end.
    """
    rng = random.Random(seed)
    kinds: Counter[str] = Counter()
    for case in range(cases):
        if case % _CASES_A_FOLDER == 0:  # as `check` reads all that ever happened in one
            here = folder / f"{case} and on"
            life = Life(seed + case, folder=here)
            life.db.close()
        life.db = livejoin.open(here, sync=sync)  # type: ignore[arg-type]
        before = life.db.version
        life.db.close()
        begun, stands = _killed(life, here, sync, rng)
        life.db = livejoin.open(here)
        found = life.db.version
        try:
            assert stands <= found <= begun, f"version {found}"
            kinds["all" if found == begun else "all but the last"] += 1
            for _ in range(found - before):
                life.rows |= life.changes()[1]
            life.listen()
            life.check()
        except BaseException as wrong:
            wrong.add_note(f"case {case} of seed {seed}, from version {before}: begun {begun}, told {stands}")
            raise
        if rng.random() < _FOLDED:
            log = life.db._contents.log
            assert log is not None
            with life.db._contents.guard.lock:
                log._begin_segment()
            with suppress(BlockingIOError):  # what the process that was killed began still runs
                fold(FolderPlace(here), log.segment)
        life.db.close()
        if case + 1 == cases or (case + 1) % _CASES_A_FOLDER == 0:
            kinds["folders with a snapshot"] += (here / "snapshots" / "CURRENT").exists()
    return kinds


def _killed(life: Life, folder: Path, sync: str, rng: random.Random) -> tuple[int, int]:
    """Let a child open the folder and commit, and kill it; the versions that it began last, and told last."""
    heard, tell = os.pipe()
    steps, rest = rng.randint(1, 12), rng.uniform(0, 0.02)
    child = os.fork()
    if child == 0:
        _commit(life, folder, sync, tell)
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
    begun = stands = 0
    for line in text.decode().splitlines():
        what, _, version = line.partition(" ")
        assert what in ("begin", "stands"), f"the child has failed: {line}"
        begun, stands = (int(version), stands) if what == "begin" else (begun, int(version))
    return begun, stands or begun - 1


def _read(heard: int) -> bytes:
    ready, _, _ = select.select([heard], [], [], _PATIENCE)
    assert ready, f"the child has done nothing for {_PATIENCE} s"
    return os.read(heard, 1 << 12)


def _commit(life: Life, folder: Path, sync: str, tell: int) -> NoReturn:
    own = random.Random(os.getpid())  # life's own choices are made again by whoever kills
    try:
        life.db = livejoin.open(folder, sync=sync)  # type: ignore[arg-type]
        log = life.db._contents.log
        assert log is not None
        if own.random() < _FOLDED:
            log.on_segment.__self__.least_bytes = 1  # type: ignore[attr-defined]
        while True:
            given, after = life.changes()
            os.write(tell, f"begin {life.db.version + 1}\n".encode())
            if own.random() < 0.05:
                log.segment_bytes = 1  # so that it is killed between segments too
            life.db.apply(given)
            log.segment_bytes = 1 << 20
            os.write(tell, f"stands {life.db.version}\n".encode())
            life.rows |= after
    except BaseException:
        os.write(tell, f"failed {traceback.format_exc()!r}\n".encode())
    finally:
        os._exit(1)
