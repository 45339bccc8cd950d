"""A file system that refuses.

Laws: whatever operation on files fails in a save or a load, and how, the folder has a whole snapshot, the unfinished
one is gone, and the database goes on. Whatever fails in a commit that spills, the commit stands or nothing has changed,
no file is left, and no descriptor is open but those of commits that are kept.
"""

from __future__ import annotations

import errno
import gc
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin.errors import StorageError
from livejoin.state import files, scratch
from oracle import difference, multiset, signed_multiset
from scenario import Row

Views = dict[str, Counter[Row]]
Changes = Callable[[], tuple[list[dict[str, Any]], list[dict[str, Any]]]]


def results(db: livejoin.Database) -> Views:
    return {name: multiset(view.to_arrow()) for name, view in db.views.items()}


@dataclass
class Faults:
    """What was called, and what fails; mutable.

    Args:
        at: The call that fails.
        kind: How: an error number ``before`` the call is made, or ``after`` it was, a ``short`` transfer, or an
            ``interrupt`` before it; or ``gone``: it and all behind it fail.
        called: The functions that were called so far.
    """

    at: int
    kind: tuple[str, int]
    called: list[str]

    def system(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """In the place of `livejoin.state.files.system`."""
        self.called.append(function.__name__)
        how, number = self.kind if len(self.called) - 1 == self.at else ("sound", 0)
        if self.kind[0] == "gone" and 0 <= self.at < len(self.called):
            how, number = self.kind
        if how in ("before", "gone"):
            raise OSError(number, os.strerror(number))
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "short" and function in (os.write, os.readv, os.pwrite, os.preadv):
            return _short(function, *arguments)
        result = None if function is os.fsync else function(*arguments, **named)  # a real one takes its time
        if how == "after" and function is not os.open:  # of which nobody would close the file
            raise OSError(number, os.strerror(number))
        return result


def _short(function: Callable[..., Any], file: int, data: Any, *place: int) -> Any:
    """Move about half of the bytes."""
    if function in (os.write, os.pwrite):
        return function(file, data[: max(1, len(data) // 2)], *place)
    (view,) = data
    return function(file, [view[: max(1, view.nbytes // 2)]], *place)


KINDS = (("before", errno.ENOSPC), ("before", errno.EIO), ("after", errno.EIO), ("short", 0), ("interrupt", 0))


@contextmanager
def failing(at: int, kind: tuple[str, int]) -> Iterator[Faults]:
    """One call of the system fails; at -1 none does."""
    faults = Faults(at, kind, [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "system", faults.system)
        patch.setattr(scratch, "system", faults.system)
        yield faults


def check_save(old: livejoin.Database, new: livejoin.Database, folder: Path, at: int, kind: tuple[str, int]) -> str:
    """Save ``new`` where ``old`` was saved while a call fails, and assert the law; ``saved`` or ``refused``."""
    with failing(-1, kind):
        old.save(folder)
    outcome = "saved"
    with failing(at, kind) as faults:
        try:
            new.save(folder)
        except StorageError as error:
            outcome = "refused"
            assert isinstance(error.__cause__, OSError)
        except KeyboardInterrupt:
            outcome = "refused"
    loaded = livejoin.Database.load(folder, trusted=True)
    told = f"{outcome}, {faults.called[at]} {kind}"
    assert loaded.version in (old.version, new.version) if outcome == "refused" else loaded.version == new.version, told
    assert results(loaded) == results(new if loaded.version == new.version else old), told
    with failing(-1, kind):
        new.save(folder)
    assert len(list(folder.iterdir())) == 2, told
    assert livejoin.Database.load(folder, trusted=True).version == new.version, told
    return outcome


def check_read(saved: Views, folder: Path, at: int, kind: tuple[str, int]) -> str:
    """Load while a call fails: the error is livejoin's, and the next load gives what was saved."""
    outcome = "loaded"
    with failing(at, kind):
        try:
            assert results(livejoin.Database.load(folder, trusted=True)) == saved
        except (StorageError, KeyboardInterrupt):
            outcome = "refused"
    return outcome


def check_spill(db: livejoin.Database, changes: Changes, folder: Path, at: int, kind: tuple[str, int]) -> str:
    """Commit what spills while a call fails, take it back, and assert the law; ``stands`` or ``refused``.

    Args:
        db: A database that spills to the folder; it is left as it was.
        changes: Gives the changes of a table, and those that take them back.
        folder: The folder.
        at: The call.
        kind: How it fails.
    """
    before, version, table = results(db), db.version, next(iter(db.tables))
    open_before = open_files(folder)
    there, back = changes()
    outcome = "stands"
    with failing(at, kind) as faults:
        try:
            commit = db.apply(table, there)
            read = {name: signed_multiset(commit[name]) for name in db.views}
        except StorageError as error:
            outcome = "refused"
            assert isinstance(error.__cause__, OSError)
        except KeyboardInterrupt:
            outcome = "refused"
    told = f"{outcome}, {faults.called[at : at + 1]} {kind}"  # rows in another order may take a call less
    db._check()
    assert not list(folder.iterdir()), told
    if db.version == version:
        assert outcome == "refused" and results(db) == before, told
        assert open_files(folder) == open_before, told
        commit = db.apply(table, there)
        read = {name: signed_multiset(commit[name]) for name in db.views}
        outcome = "refused"
    elif outcome == "refused":  # it could not be read
        outcome = "unread"
        read = {name: signed_multiset(commit[name]) for name in db.views}
    assert commit.spilled, told
    after = results(db)
    assert read == {name: difference(after[name], before[name]) for name in after}, told
    del commit
    db.apply(table, back)
    assert results(db) == before and open_files(folder) == open_before, told
    return outcome


def open_files(folder: Path) -> list[str]:
    """The files in a folder that the process has open, also those that have no name any more.

    What else the process has open, such as the sockets of an earlier test, comes and goes as it likes.
    """
    gc.collect()
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the one that lists them
            found.append(descriptor.readlink())
    return sorted(str(file) for file in found if file.is_relative_to(folder))


def calls(work: Callable[[], object]) -> int:
    """How many calls of the system something makes."""
    with failing(-1, KINDS[0]) as faults:
        work()
    return len(faults.called)
