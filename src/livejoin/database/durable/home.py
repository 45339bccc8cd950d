"""The folder of a database that stays, which one database at a time has.

``lock`` is locked by ``flock`` as long as it is open, and says by whom, and which log there is, so that a folder whose
log is gone is not taken for a new one; ``snapshots`` has the snapshot, and ``log`` the segments behind it.
"""

from __future__ import annotations

import gc
import logging
import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from livejoin.database.contents import Contents
from livejoin.database.durable.bodies import EPOCH, plain
from livejoin.database.durable.folding import Folding
from livejoin.database.durable.lock import KNOWN, Lock, take_lock
from livejoin.database.durable.log import Log, Pace, Segment, number_of
from livejoin.database.durable.places import LOG, SNAPSHOTS, FolderPlace, Place, remove_before
from livejoin.database.durable.recovery import Damage, Recovered, cut_off, read_snapshot, replay
from livejoin.database.snapshots.snapshot import is_there
from livejoin.errors import StateError, StorageError
from livejoin.handlers import raised_by_handler
from livejoin.state.files import Folder

logger = logging.getLogger("livejoin")

Damaged = Literal["refuse", "cut"]
"""What becomes of a log that is damaged."""

LOCK = "lock"
_OURS = frozenset((LOCK, SNAPSHOTS, LOG, "folding"))


def open_home(path: Path, empty: Contents, pace: Pace, damaged: Damaged) -> Contents:
    """The contents of the database in a folder, which is made if it is missing; its log is open.

    Args:
        path: The folder.
        empty: Contents with the threads and limits of the database.
        pace: How soon what is written is durable.
        damaged: What happens to a log that is damaged.

    Raises:
        StateError: The folder is open already, is no such folder, or is damaged.
        StorageError: The disk or the system refuses.
        MemoryLimitError: The database would take more than it may.
    """
    path = path.absolute()
    _refuse_files(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
        names = {one.name for one in path.iterdir()}
    except OSError as error:
        if raised_by_handler(error):
            raise
        msg = f"the folder {str(path)!r} cannot be used: {error}; give another one, or repair that"
        raise StorageError(msg) from error
    _refuse_others(path, names)
    try:
        try:
            lock = take_lock(path, LOCK, "the database")
        except BlockingIOError:
            gc.collect()  # a database that was forgotten gives its folder back
            lock = take_lock(path, LOCK, "the database")
    except BlockingIOError as error:
        msg = (
            f"{str(path)!r} is open: {error.args[0]} has it. One database at a time opens a folder; close that one, or "
            "read through it"
        )
        raise StateError(msg) from None
    try:
        _wait_for_folding(path)
        if damaged == "refuse":
            _refuse_without_log(path, lock)
        found, segment, epoch = _recovered(path, empty, damaged)
        try:
            found.add_views()
        except BaseException:
            segment.file.close()
            raise
        lock.say(f"the database of process {os.getpid()}{KNOWN}{found.account.identity}")
        log = Log(path, Folder.at(path / LOG), segment, found.account, pace)
        return open_log(FolderPlace(path), found, log, lock.release, epoch)
    except BaseException as error:
        lock.release()
        if isinstance(error, OSError) and not raised_by_handler(error):
            msg = f"{str(path)!r} could not be opened: {error}; it may be sound, try again when that is mended"
            raise StorageError(msg) from error
        raise


def refuse_home(path: Path) -> None:
    """Refuse to write a snapshot into the folder of a database, open or not.

    Raises:
        StateError: The path is such a folder, or lies in one.
    """
    found = path.resolve()
    for one in (found, found.parent):
        if is_home(one):
            msg = f"{str(path)!r} belongs to the folder of a database, {str(one)!r}; save to a folder of its own"
            raise StateError(msg)


def refuse_to_load(path: Path) -> None:
    """Refuse to read the folder of a database as a snapshot.

    Raises:
        StateError: The path is such a folder.
    """
    if is_home(path):
        msg = f"{str(path)!r} is the folder of a database, which livejoin.open({str(path)!r}) opens"
        raise StateError(f"{msg}; Database.load reads what Database.save wrote")


def is_home(path: Path) -> bool:
    """Whether a folder looks like that of a database."""
    return (path / LOCK).is_file() and (path / LOG).is_dir()


def _refuse_files(path: Path) -> None:
    """Refuse a path at which, or above which, there is a file.

    Raises:
        StateError: There is one.
    """
    there = next((one for one in (path, *path.parents) if os.path.lexists(one)), path)
    if os.path.lexists(there) and not there.is_dir():
        what = "a link that leads nowhere" if there.is_symlink() and not there.exists() else "a file"
        msg = f"{str(there)!r} is {what}; a database stays in a folder: give one that is empty, or a new one"
        raise StateError(msg)


def _refuse_others(path: Path, names: set[str]) -> None:
    """Refuse a folder that is somebody else's.

    Raises:
        StateError: The folder is.
    """
    if "CURRENT" in names:
        msg = (
            f"{str(path)!r} is a snapshot that Database.save wrote; Database.load(folder) reads it. A database that "
            "stays has a folder of its own"
        )
        raise StateError(msg)
    is_home = {LOCK, LOG} <= names
    if not is_home and not names <= _OURS:
        some = ", ".join(sorted(names - _OURS)[:3])
        msg = f"{str(path)!r} has other files ({some}) and no database; give a folder that is empty, or a new one"
        raise StateError(msg)


def _refuse_without_log(path: Path, lock: Lock) -> None:
    """Refuse a folder that had a database, of which nothing is there any more.

    Raises:
        StateError: The folder is such a one.
    """
    segments = [one.name for one in (path / LOG).iterdir()] if (path / LOG).is_dir() else []
    if KNOWN in lock.before and not any(map(number_of, segments)) and not is_there(path / SNAPSHOTS):
        msg = (
            f"the log of the database in {str(path)!r} is gone: {str(path / LOG)!r} has no segment, and there is no "
            "snapshot. Put them back from a copy; or begin anew, in another folder or with damaged='cut'"
        )
        raise StateError(msg)


def _wait_for_folding(path: Path) -> None:
    """Wait for a snapshot that a process of before still makes."""
    told = time.monotonic() + 1
    while True:
        try:
            take_lock(path, "folding", "the folding").release()
        except BlockingIOError as error:
            if told and time.monotonic() > told:
                told = 0
                logger.info("%s: a snapshot of before is still being made by %s", path, error.args[0])
            time.sleep(0.05)
        else:
            return


def _recovered(path: Path, empty: Contents, damaged: Damaged) -> tuple[Recovered, Segment, str | None]:
    """What the folder holds, the segment that goes on, and a new epoch if what is behind a damage was cut off."""
    with Folder.made(path / LOG) as folder:
        folder.sync()
        with Folder.at(path) as above:
            above.sync()
        found, first = read_snapshot(FolderPlace(path), empty)
        epoch = None
        try:
            segment = replay(folder, found, first)
        except Damage as damage:
            if damaged == "refuse":
                raise damage.error(str(path / LOG)) from damage.__cause__
            cut_off(folder, damage)
            epoch = uuid.uuid4().hex[:8]
            logger.warning("%s", damage.error(str(path / LOG)))
            fresh = Contents(empty.workers, empty.memory_limit, scratch=empty.scratch)
            found, first = read_snapshot(FolderPlace(path), fresh)
            try:
                segment = replay(folder, found, first)
            except Damage as again:
                raise again.error(str(path / LOG)) from again.__cause__
        assert segment is not None
        with suppress(OSError):
            remove_before(folder, first)
        return found, segment, epoch


def open_log(
    place: Place, found: Recovered, log: Log, release: Callable[[], object], epoch: str | None = None
) -> Contents:
    """The contents of a database that was recovered, with its log.

    Args:
        place: The place of the database.
        found: The content that was recovered.
        log: The log.
        release: Gives the place back when the log is closed.
        epoch: A new epoch if versions were cut off.

    Raises:
        StorageError: The system refuses.
    """
    contents = found.contents
    folding = Folding(place, log)
    log.on_segment = folding.begin_if_due

    def close() -> None:
        folding.stop()
        release()

    log.on_close = close
    contents.histories = found.histories
    if epoch is not None:
        log.append(EPOCH, contents.version, plain({"epoch": epoch}), lambda: True)
        log.settle()
        log.sync()
        log.account.epoch = epoch
    contents.attach(log)
    folding.begin_if_due()  # a close or a kill may have left a snapshot undone
    return contents
