"""Files: everything that reads or writes snapshots and logs goes through here, and stays inside of its folder.

A file is named by a folder that is open and a plain name in it, and neither a link nor anything but a file or a folder
is followed, so that no content of a snapshot or log leads elsewhere. Every call of the operating system goes through
`system`, also those for files of other kinds (`livejoin.state.scratch`), where tests let each fail in turn.
"""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

Result = TypeVar("Result")

_FOLDER = os.O_RDONLY | os.O_DIRECTORY
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe in the place of a file must not hold the reader up
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_GROW = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK
_SYNC = getattr(os, "fdatasync", os.fsync)  # the size of a file is part of its data


def system(function: Callable[..., Result], *arguments: Any, **named: Any) -> Result:
    """Call the operating system."""
    return function(*arguments, **named)


class Folder:
    """An open folder, a context that closes it.

    Every method raises OSError where the system refuses.
    """

    tears = True
    """Whether a crash may leave a part of what was written at last."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open the folder of a path, which may be a link."""
        return cls(system(os.open, path, _FOLDER))

    @classmethod
    def made(cls, path: Path) -> Self:
        """Open the folder of a path; it and the folders above it are made where they are missing."""
        system(os.makedirs, path, exist_ok=True)
        return cls.at(path)

    def inner(self, name: str) -> Folder:
        """Open a folder in it, which is no link."""
        return Folder(system(os.open, _plain(name), _FOLDER | os.O_NOFOLLOW, dir_fd=self._descriptor))

    def make(self, name: str) -> None:
        """Make a folder in it."""
        system(os.mkdir, _plain(name), dir_fd=self._descriptor)

    def names(self) -> list[str]:
        """The names in it."""
        return list(system(os.listdir, self._descriptor))

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a new file and synchronise it with the disk."""
        self.write_pieces(name, (data,))

    def write_pieces(self, name: str, pieces: Iterable[bytes | bytearray | memoryview]) -> None:
        """As `write`, of pieces one behind the other, of which one is asked for at a time."""
        file = system(os.open, _plain(name), _WRITE, 0o666, dir_fd=self._descriptor)
        try:
            for piece in pieces:
                rest = memoryview(piece).cast("B")
                while rest.nbytes:
                    rest = rest[system(os.write, file, rest) :]
            system(os.fsync, file)
        finally:
            system(os.close, file)

    def grown(self, name: str) -> GrownFile:
        """Open a file that is there, to write more of it.

        Raises:
            ValueError: The name is that of no file.
        """
        return GrownFile(system(os.open, _plain(name), _GROW, dir_fd=self._descriptor), name)

    def begun(self, name: str) -> GrownFile:
        """As `new`, in the place of a file that a failure left unfinished."""
        if name in self.names():
            self.remove(name)
        return self.new(name)

    def new(self, name: str) -> GrownFile:
        """A new file, empty and open, to be written piece by piece."""
        flags = _GROW | os.O_CREAT | os.O_EXCL
        return GrownFile(system(os.open, _plain(name), flags, 0o666, dir_fd=self._descriptor), name)

    def held(self, name: str) -> HeldFile:
        """Open a file to read of it for as long as it is asked for.

        Raises:
            ValueError: The name is that of no file.
        """
        return HeldFile(system(os.open, _plain(name), _READ, dir_fd=self._descriptor), name)

    def write_all(self, name: str, pieces: Sequence[bytes]) -> None:
        """Write a new file of pieces, one behind the other, which need not survive a loss of power."""
        file = system(os.open, _plain(name), _WRITE, 0o666, dir_fd=self._descriptor)
        try:
            for piece in pieces:
                rest = memoryview(piece).cast("B")
                while rest.nbytes:
                    rest = rest[system(os.write, file, rest) :]
        finally:
            system(os.close, file)

    def read_slice(self, name: str, begin: int, size: int) -> bytearray:
        """Some bytes of a file.

        Raises:
            ValueError: The name is that of no file, or the file ends before.
        """
        file = system(os.open, _plain(name), _READ, dir_fd=self._descriptor)
        try:
            return _slice(file, name, begin, size)
        finally:
            system(os.close, file)

    def read(self, name: str, *, exactly: int | None = None, at_most: int | None = None) -> bytearray:
        """The content of a file.

        Args:
            name: The name of the file.
            exactly: The size that it must have.
            at_most: The size that it may have.

        Raises:
            ValueError: The name is that of no file, or the file has another size, which is looked at before memory is
                taken for it.
        """
        file = system(os.open, _plain(name), _READ, dir_fd=self._descriptor)
        try:
            found = system(os.fstat, file)
            if not stat.S_ISREG(found.st_mode):
                msg = f"{name} is no file"
                raise ValueError(msg)
            if exactly is not None and found.st_size != exactly:
                msg = f"{name} has {found.st_size} bytes and not {exactly}"
                raise ValueError(msg)
            if at_most is not None and found.st_size > at_most:
                msg = f"{name} has {found.st_size} bytes; allowed are {at_most}"
                raise ValueError(msg)
            data = bytearray(found.st_size)
            rest = memoryview(data)
            while rest.nbytes:
                count = system(os.readv, file, [rest])
                if not count:
                    msg = f"{name} ends {rest.nbytes} bytes before its end"
                    raise ValueError(msg)
                rest = rest[count:]
        finally:
            system(os.close, file)
        return data

    def replace(self, source: Folder, name: str) -> None:
        """Move a file of another folder to here in one step, over one of its name."""
        system(os.replace, _plain(name), name, src_dir_fd=source._descriptor, dst_dir_fd=self._descriptor)

    def rename(self, name: str, other: str) -> None:
        """Give a file another name, which none has."""
        system(os.rename, _plain(name), _plain(other), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def publish(self, name: str, *pieces: bytes | memoryview) -> None:
        """Let a new file, of pieces one behind the other, appear complete under its name; of two who try one succeeds.

        It survives a loss of power when this returns. Where it fails, nothing is left.

        Raises:
            FileExistsError: There is a file of this name.
        """
        draft, here = f".{uuid.uuid4().hex}.draft", self._descriptor
        try:
            self.write_pieces(draft, pieces)
            system(os.link, draft, _plain(name), src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        finally:
            with suppress(OSError):
                system(os.unlink, draft, dir_fd=here)
        self.sync()

    def size(self, name: str) -> int:
        """The bytes of a file; a link is not followed."""
        return int(system(os.stat, _plain(name), dir_fd=self._descriptor, follow_symlinks=False).st_size)

    def sizes(self) -> dict[str, int]:
        """The bytes of each file in it."""
        return {name: self.size(name) for name in self.names()}

    def remove_all(self, names: Sequence[str]) -> None:
        """As `remove`, of several, one after the other."""
        for name in names:
            self.remove(name)

    def remove(self, name: str) -> None:
        """Remove a folder in it with the files in that one; a link is removed and not followed."""
        if stat.S_ISDIR(system(os.stat, _plain(name), dir_fd=self._descriptor, follow_symlinks=False).st_mode):
            with self.inner(name) as folder:
                for file in folder.names():
                    system(os.unlink, file, dir_fd=folder._descriptor)
            system(os.rmdir, name, dir_fd=self._descriptor)
        else:
            system(os.unlink, name, dir_fd=self._descriptor)

    def sync(self) -> None:
        """Make what was made, moved and removed in it survive a loss of power."""
        system(os.fsync, self._descriptor)

    def close(self) -> None:
        """Close it."""
        system(os.close, self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        system(os.close, self._descriptor)


class GrownFile:
    """A file that is written piece by piece, and stays open. Every method raises OSError where the system refuses.

    Args:
        descriptor: The open file, which this one closes.
        name: The file's name in its folder.

    Raises:
        ValueError: The name is that of no file.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self._descriptor = descriptor
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            msg = f"{name} is no file"
            raise ValueError(msg)

    def write(self, data: bytes | bytearray, at: int) -> None:
        """Write bytes at a place; where it fails, some of them may be there."""
        written = system(os.pwrite, self._descriptor, data, at)
        while written < len(data):
            written += system(os.pwrite, self._descriptor, memoryview(data)[written:], at + written)

    def is_deleted(self) -> bool:
        """Whether no folder has the file any more, so that what is written to it goes when it is closed."""
        return system(os.fstat, self._descriptor).st_nlink == 0

    def cut(self, size: int) -> None:
        """Let the file end at a place, also behind a loss of power."""
        system(os.ftruncate, self._descriptor, size)
        system(os.fsync, self._descriptor)

    def sync(self, upto: int | None = None) -> None:  # a file has no part that waits
        """Make what was written survive a loss of power, up to a place at least."""
        system(_SYNC, self._descriptor)

    def close(self) -> None:
        """Close it; what is written to it later is refused, and goes to no other file that has its number then."""
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)


class HeldFile:
    """A file that can be read for as long as somebody has this object, also when its folder has it no more.

    Args:
        descriptor: The open file, which this one closes.
        name: The file's name, for messages.

    Raises:
        ValueError: The name is that of no file.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self.name = name
        self._descriptor = descriptor
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            msg = f"{name} is no file"
            raise ValueError(msg)

    def read(self, at: int, size: int) -> bytearray:
        """Some bytes; in any thread.

        Raises:
            OSError: The system refuses.
            ValueError: The file ends before.
        """
        return _slice(self._descriptor, self.name, at, size)

    def __del__(self) -> None:
        os.close(self._descriptor)


def _slice(file: int, name: str, begin: int, size: int) -> bytearray:
    """Some bytes of an open file.

    Raises:
        ValueError: The file is none, or ends before.
    """
    found = system(os.fstat, file)
    if not stat.S_ISREG(found.st_mode) or found.st_size < begin + size:
        msg = f"{name} is no file of {begin + size} bytes"
        raise ValueError(msg)
    data = bytearray(size)
    rest = memoryview(data)
    while rest.nbytes:
        count = system(os.preadv, file, [rest], begin + size - rest.nbytes)
        if not count:
            msg = f"{name} ends {rest.nbytes} bytes before its end"
            raise ValueError(msg)
        rest = rest[count:]
    return data


def _plain(name: str) -> str:
    """A name, which is no path.

    Raises:
        ValueError: The name is a path.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        msg = f"{name!r:.80} is no name of a file in the snapshot"
        raise ValueError(msg)
    return name
