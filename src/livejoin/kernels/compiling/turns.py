"""One process at a time compiles a kernel into a cache: who needs the same one meanwhile waits, and finds it there.

The lock is the system's (flock), which a process that dies gives back. Where the file system has none, everybody
compiles for himself, as if he were alone.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from livejoin.aside import is_ending
from livejoin.kernels.compiling.telling import say

_LONGEST = 300.0  # seconds that are waited for another process
_A_LOOK = 0.02  # seconds between two looks whether it is done
_UNTOLD = 0.5  # seconds that are waited before it is said


def take_now(path: Path) -> int:
    """Take a lock that nobody has. Give the open file, whose closing gives the lock back.

    Raises:
        BlockingIOError: Somebody has it.
        OSError: There can be no lock.
    """
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(file)
        raise
    return file


class Turn:
    """The right to compile a kernel; mutable.

    Args:
        name: The kernel.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._file: int | None = None

    def take(self, folder: Path) -> bool:
        """Wait until nobody else compiles the kernel into a folder, and take the right to do so.

        Returns:
            Whether somebody had it, so that the kernel may be there now.
        """
        had, begin, is_told = False, time.monotonic(), False
        while not is_ending() and time.monotonic() - begin < _LONGEST:
            try:
                self._file = take_now(folder / f"{self._name}.lock")
                break
            except BlockingIOError:
                had = True
            except OSError:
                break
            if not is_told and time.monotonic() - begin > _UNTOLD:
                is_told = True
                say(f"waiting for the kernel {self._name}, which another process compiles ...")
            time.sleep(_A_LOOK)
        return had

    def give_back(self) -> None:
        """Give it back; once more changes nothing."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
