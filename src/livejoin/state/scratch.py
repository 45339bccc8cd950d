"""Files for deltas that are too large for memory; they live no longer than the process.

A file loses its name as soon as it is made, and the system gives its room back when it is closed. So whatever ends the
process, a kill too, leaves nothing in the folder; at most, in the moment of making one, an empty file, which the next
`Scratch` over the folder removes. A file is closed when nobody has it any more, and when the commit that made it is
undone, whoever still has it.

Everything that the system refuses is a `StorageError`.
"""

from __future__ import annotations

import io
import os
import re
import threading
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from livejoin.errors import StorageError
from livejoin.handlers import raised_by_handler
from livejoin.state.files import Folder, system

_NAME = re.compile(r"livejoin-[0-9a-f]{32}\.spill")
_LARGEST_PIECE = 4 << 20
_PIECES = 8


class Scratch:
    """A folder for such files, and those that the commit under way has made; mutable.

    Args:
        folder: The folder; it is made if it is missing.
        over: How many bytes a delta may take in memory; one that takes more goes to a file.

    Raises:
        StorageError: No file can be made there.
    """

    def __init__(self, folder: Path, over: int) -> None:
        self.folder = folder.absolute()
        self.over = over
        self._made: list[ScratchFile] = []
        try:
            with Folder.made(self.folder) as found:
                for name in filter(_NAME.fullmatch, found.names()):
                    with suppress(FileNotFoundError):  # another process was about to take the name away itself
                        found.remove(name)
            ScratchFile(self.folder).write(b"is it writable")
        except OSError as error:
            if raised_by_handler(error):
                raise
            msg = f"the folder {str(folder)!r} for what is spilled cannot be used: {error}; give another one"
            raise StorageError(msg) from error

    @property
    def piece(self) -> int:
        """Bytes that are written, and read again, at a time, about."""
        return max(1, min(_LARGEST_PIECE, self.over // _PIECES))

    def file(self) -> ScratchFile:
        """A new file of the commit under way."""
        file = ScratchFile(self.folder)
        self._made.append(file)
        return file

    def keep(self) -> None:
        """The commit stands, and its files belong to who has them; may be called again."""
        self._made = []

    def drop(self) -> None:
        """The commit is undone: close its files; may be called again."""
        for file in self._made:
            file.close()
        self._made = []


class ScratchFile:
    """A file that is written at its end, by any number of threads at a time, and read anywhere; mutable.

    Args:
        folder: Where it is made when something is written first.
    """

    _file: io.FileIO | None = None
    _has_name = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / f"livejoin-{uuid.uuid4().hex}.spill"
        self._end = 0
        self._lock = threading.Lock()

    def append(self, data: bytes | pa.Buffer) -> int:
        """Write at the end; where it stands.

        Raises:
            StorageError: The system refuses, as where the disk is full.
        """
        try:
            return self.write(data)
        except OSError as error:
            if raised_by_handler(error):
                raise
            msg = (
                f"the delta could not be written to {str(self.folder)!r}: {error}; nothing was changed. Make room "
                "there, or commit fewer changes at a time"
            )
            raise StorageError(msg) from error

    def write(self, data: bytes | pa.Buffer) -> int:
        """As `append`; OSError where the system refuses."""
        rest = memoryview(data).cast("B")
        with self._lock:
            file = self._file or self._make()
            begin = at = self._end
            self._end += rest.nbytes
        while rest.nbytes:
            written = system(os.pwrite, file.fileno(), rest, at)
            rest, at = rest[written:], at + written
        return begin

    def read(self, at: int, size: int) -> pa.Buffer:
        """What was written somewhere.

        Raises:
            StorageError: The system refuses.
        """
        data = np.empty(size, np.uint8)
        rest = data.data
        try:
            assert self._file is not None, "only what was written is read, and not of a commit that was undone"
            while rest.nbytes:
                count = system(os.preadv, self._file.fileno(), [rest], at)
                if not count:
                    msg = f"it ends {rest.nbytes} bytes before its end"
                    raise OSError(msg)
                rest, at = rest[count:], at + count
        except OSError as error:
            if raised_by_handler(error):
                raise
            msg = f"the delta that was written to {str(self.folder)!r} could not be read again: {error}"
            raise StorageError(msg) from error
        return pa.py_buffer(data)

    def close(self) -> None:
        """Give the room back; may be called again."""
        with suppress(OSError):  # what was to be kept in it is not needed
            if self._file is not None:
                system(self._file.close)
                self._file = None
            if self._has_name:
                system(os.unlink, self._path)
                self._has_name = False

    def _make(self) -> io.FileIO:
        self._has_name = True  # what is cut off from here on, `close` takes away
        opener = partial(os.open, mode=0o600)
        self._file = file = system(io.FileIO, self._path, "xb+", opener=opener)  # an object, which closes itself
        with suppress(FileNotFoundError):  # another process has found the name
            system(os.unlink, self._path)
        self._has_name = False
        return file

    def __del__(self) -> None:
        self.close()
