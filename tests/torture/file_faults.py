"""A file system that refuses.

Law: whatever operation on files fails in a save or a load, and how, the folder has a whole snapshot, the unfinished one
is gone, and the database goes on.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import livejoin
from livejoin.errors import StorageError
from livejoin.state import files
from oracle import multiset
from scenario import Row

Views = dict[str, Counter[Row]]


def results(db: livejoin.Database) -> Views:
    return {name: multiset(view.to_arrow()) for name, view in db.views.items()}


@dataclass
class Faults:
    """What was called, and what fails; mutable.

    Args:
        at: The call that fails.
        kind: How: an error number ``before`` the call is made, or ``after`` it was, a ``short`` transfer, or an
            ``interrupt`` before it.
        called: The functions that were called so far.
    """

    at: int
    kind: tuple[str, int]
    called: list[str]

    def system(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """In the place of `livejoin.state.files.system`."""
        self.called.append(function.__name__)
        how, number = self.kind if len(self.called) - 1 == self.at else ("sound", 0)
        if how == "before":
            raise OSError(number, os.strerror(number))
        if how == "interrupt":
            raise KeyboardInterrupt
        if how == "short" and function in (os.write, os.readv):
            file, data = arguments
            return _short(function, file, data)
        result = None if function is os.fsync else function(*arguments, **named)  # a real one takes its time
        if how == "after" and function is not os.open:  # of which nobody would close the file
            raise OSError(number, os.strerror(number))
        return result


def _short(function: Callable[..., Any], file: int, data: Any) -> Any:
    """Move about half of the bytes."""
    if function is os.write:
        return os.write(file, data[: max(1, len(data) // 2)])
    (view,) = data
    return os.readv(file, [view[: max(1, view.nbytes // 2)]])


KINDS = (("before", errno.ENOSPC), ("before", errno.EIO), ("after", errno.EIO), ("short", 0), ("interrupt", 0))


@contextmanager
def failing(at: int, kind: tuple[str, int]) -> Iterator[Faults]:
    """One call of the system fails; at -1 none does."""
    faults = Faults(at, kind, [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "system", faults.system)
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


def calls(work: Callable[[], object]) -> int:
    """How many calls of the system something makes."""
    with failing(-1, KINDS[0]) as faults:
        work()
    return len(faults.called)
