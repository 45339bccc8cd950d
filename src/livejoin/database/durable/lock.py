"""The mark that the folder of a database is taken: a file that is locked by ``flock``, and says by whom."""

from __future__ import annotations

import fcntl
import io
import os
from dataclasses import dataclass
from pathlib import Path

from livejoin.errors import StorageError
from livejoin.handlers import raised_by_handler

KNOWN = "\nlog "
"""Behind it stands which log the folder has."""

_LOCKED = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(eq=False)
class Lock:
    """The mark that a folder is taken; mutable.

    Args:
        file: The file that is locked; closed when nobody has this object any more, as where Ctrl-C comes.
        before: The text that the file had.
    """

    file: io.FileIO
    before: str

    def say(self, what: str) -> None:
        """Let the file say who has it, or what is there, for whoever looks at it next.

        Raises:
            OSError: The system refuses.
        """
        os.pwrite(self.file.fileno(), what.encode(), 0)
        os.ftruncate(self.file.fileno(), len(what.encode()))
        os.fsync(self.file.fileno())

    def release(self) -> None:
        """Give it back, also where a child of this process still has the file open; once more changes nothing."""
        if not self.file.closed:
            fcntl.flock(self.file, fcntl.LOCK_UN)
            self.file.close()


def take_lock(path: Path, name: str, what: str) -> Lock:
    """Lock a folder, which is there.

    Args:
        path: The folder.
        name: The file in it that is locked.
        what: Who takes it, for the message to others.

    Raises:
        BlockingIOError: Another one has it; its argument says who.
        StorageError: The system refuses.
    """
    try:
        file = io.FileIO(path / name, "rb+", opener=lambda found, _: os.open(found, _LOCKED, 0o644))
    except OSError as error:
        if raised_by_handler(error):
            raise
        msg = (
            f"the file {str(path / name)!r} cannot be opened: {error.strerror}; repair that, and open the folder again"
        )
        raise StorageError(msg) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock = Lock(file, os.pread(file.fileno(), 1000, 0).decode(errors="replace"))
        _, known, log = lock.before.partition(KNOWN)
        lock.say(f"{what} of process {os.getpid()}{known}{log}")
    except BlockingIOError:
        holder = os.pread(file.fileno(), 1000, 0).decode(errors="replace").partition("\n")[0]
        file.close()
        raise BlockingIOError(holder or "another one") from None
    except OSError as error:
        if raised_by_handler(error):
            raise
        file.close()
        msg = f"{str(path)!r} cannot be locked ({error.strerror}); give a folder on a file system that has locks"
        raise StorageError(msg) from error
    return lock
