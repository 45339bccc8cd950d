"""A folder in an object store, as far as a checkpoint needs one: files that appear whole, and each once.

A *place* is a folder of the file system or one of a store. `at` and `made` open it; both kinds answer alike.

Law: of all who publish a file with a name at most one succeeds, as in a folder. So each object begins with a mark that
no other attempt has (`livejoin.state.objects.create_once`). What is written, and not published, has a name that nobody
else uses, so that a request which comes late or twice makes the same object.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

from livejoin.state.files import Folder
from livejoin.state.objects import (
    MARK_BYTES,
    Data,
    Listed,
    Objects,
    again,
    create_once,
    open_objects,
    path_or_url,
)

_MARK = b"livejoin object "


class Files(Protocol):
    """An open folder, a context that closes it; as `livejoin.state.files.Folder`.

    Every method raises OSError where the system or the store refuses.
    """

    def names(self) -> list[str]:
        """The names in it."""

    def sizes(self) -> dict[str, int]:
        """The bytes of each file in it."""

    def read(self, name: str, *, exactly: int | None = None) -> bytearray:
        """The content of a file.

        Args:
            name: The name of the file.
            exactly: The size that it must have.

        Raises:
            FileNotFoundError: There is none.
            ValueError: The file is none of ours, or has another size.
        """

    def read_slice(self, name: str, begin: int, size: int) -> bytearray:
        """Some bytes of a file.

        Raises:
            FileNotFoundError: There is none.
            ValueError: The file ends before.
        """

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a new file, whose name nobody else uses; it survives a loss of power."""

    def write_pieces(self, name: str, pieces: Sequence[bytes | memoryview]) -> None:
        """As `write`, of pieces one behind the other."""

    def write_all(self, name: str, pieces: Sequence[bytes]) -> None:
        """As `write_pieces`, of a file that need not survive a loss of power."""

    def publish(self, name: str, *pieces: bytes | memoryview) -> None:
        """Let a new file, of pieces one behind the other, appear complete under its name; of two who try one succeeds.

        Raises:
            FileExistsError: There is a file of this name.
        """

    def remove(self, name: str) -> None:
        """Remove a file."""

    def remove_all(self, names: Sequence[str]) -> None:
        """Remove files, one after the other; in a store as many by one request as it takes."""

    def sync(self) -> None:
        """Make what was removed survive a loss of power."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True, eq=False)
class Below:
    """The objects of a store below a further prefix; as `livejoin.state.objects.Objects`.

    Args:
        objects: The store.
        prefix: The prefix, with a slash at its end; or nothing.
    """

    objects: Objects
    prefix: str

    @property
    def name(self) -> str:
        """The URL, for messages."""
        return f"{self.objects.name}/{self.prefix}".rstrip("/")

    def create(self, key: str, data: Data) -> None:
        self.objects.create(self.prefix + key, data)

    def put(self, key: str, data: Data) -> None:
        self.objects.put(self.prefix + key, data)

    def read(self, key: str, begin: int = 0, size: int | None = None) -> bytes:
        return self.objects.read(self.prefix + key, begin, size)

    def listed(self, under: str) -> list[Listed]:
        cut = len(self.prefix)
        return [Listed(one.key[cut:], one.size) for one in self.objects.listed(self.prefix + under)]

    def remove(self, keys: Sequence[str]) -> None:
        self.objects.remove([self.prefix + key for key in keys])


@dataclass(frozen=True, eq=False)
class StorePath:
    """A place in a store, for which ``/``, ``name`` and ``parent`` are those of a path.

    Args:
        objects: The objects below the URL that somebody gave.
        below: The place below that URL, without slashes at its ends; empty for the URL itself.
    """

    objects: Objects
    below: str = ""

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(self.objects, f"{self.below}/{name}".lstrip("/"))

    def __str__(self) -> str:
        return self.files.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Credentials are those of the environment, wherever it is unpickled."""
        return store_path, (self.objects.name, self.below)

    @property
    def name(self) -> str:
        """The last part."""
        return str(self).rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        """The place above, which is not above the URL that somebody gave."""
        return StorePath(self.objects, self.below.rpartition("/")[0])

    @property
    def files(self) -> Below:
        """The objects that are there."""
        return Below(self.objects, f"{self.below}/" if self.below else "")

    def is_dir(self) -> bool:
        """Whether something is there; raises OSError if the store refuses, as do those below."""
        return bool(self.inside())

    def inside(self) -> list[str]:
        """The keys of all objects below it, from it on, in order, but for empty ones, which stand for folders."""
        return [one.key for one in again(lambda: self.files.listed("")) if one.size]

    def read_bytes(self) -> bytes:
        """The content of the object that it is; raises FileNotFoundError if it is none."""
        return bytes(again(lambda: self.objects.read(self.below)))

    def read_text(self) -> str:
        """The text of the object that it is; raises FileNotFoundError if it is none."""
        return self.read_bytes().decode()

    def write_bytes(self, data: Data) -> None:
        """Make it an object with a content, in the place of one that may be there."""
        again(lambda: self.objects.put(self.below, data))

    def write_text(self, text: str) -> None:
        """As `write_bytes`, with a text."""
        self.write_bytes(text.encode())

    def remove(self) -> None:
        """Remove the object that it is, which may not be there."""
        again(lambda: self.objects.remove([self.below]))

    def remove_all(self, keys: Sequence[str]) -> None:
        """Remove objects below it, by the keys that `inside` gives."""
        again(lambda: self.files.remove(keys))

    def clear(self) -> None:
        """Remove all below it."""
        again(lambda: self.files.remove([one.key for one in self.files.listed("")]))


Place: TypeAlias = Path | StorePath
"""A folder of the file system, or of a store."""


@cache
def _opened(url: str) -> Objects:
    return open_objects(url)


def store_path(url: str, below: str = "") -> StorePath:
    """The place of a URL.

    Raises:
        StateError: The URL is none of a store.
        StorageError: The environment does not say what the store needs.
        ImportError: obstore is not installed.
    """
    return StorePath(_opened(url), below)


def place_of(given: str | Path) -> Place:
    """The place that a path or a URL names; raises as `store_path`."""
    found = path_or_url(given) if isinstance(given, str) else given
    return found if isinstance(found, Path) else store_path(found)


def named(place: Place) -> Path | str:
    """A place as somebody gives it: a path, or a URL."""
    return place if isinstance(place, Path) else str(place)


def at(place: Place) -> Files:
    """Open a place to read; raises FileNotFoundError if it is a folder that is not there."""
    return Folder.at(place) if isinstance(place, Path) else StoreFolder(place.files)


def made(place: Place) -> Files:
    """Open a place; a folder is made if it is missing."""
    return Folder.made(place) if isinstance(place, Path) else StoreFolder(place.files)


class StoreFolder:
    """The objects right below a place; as `Files`.

    Args:
        objects: The objects of the place.
    """

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def sizes(self) -> dict[str, int]:
        found = again(lambda: self._objects.listed(""))
        return {one.key: max(one.size - MARK_BYTES, 0) for one in found if "/" not in one.key}

    def names(self) -> list[str]:
        return list(self.sizes())

    def read(self, name: str, *, exactly: int | None = None) -> bytearray:
        found = again(lambda: self._objects.read(name))
        if not found.startswith(_MARK) or len(found) < MARK_BYTES:
            msg = f"{name} does not begin as objects of livejoin do"
            raise ValueError(msg)
        if exactly is not None and len(found) - MARK_BYTES != exactly:
            msg = f"{name} has {len(found) - MARK_BYTES} bytes and not {exactly}"
            raise ValueError(msg)
        return bytearray(memoryview(found)[MARK_BYTES:])

    def read_slice(self, name: str, begin: int, size: int) -> bytearray:
        found = bytearray(again(lambda: self._objects.read(name, MARK_BYTES + begin, size)))
        if len(found) != size:
            msg = f"{name} is no file of {begin + size} bytes"
            raise ValueError(msg)
        return found

    def write(self, name: str, data: bytes | memoryview) -> None:
        self.write_pieces(name, (data,))

    def write_pieces(self, name: str, pieces: Sequence[bytes | memoryview]) -> None:
        whole = _marked(pieces)
        again(lambda: self._objects.put(name, whole))

    def write_all(self, name: str, pieces: Sequence[bytes]) -> None:
        self.write_pieces(name, pieces)

    def publish(self, name: str, *pieces: bytes | memoryview) -> None:
        if not create_once(self._objects, name, _marked(pieces)):
            raise FileExistsError(name)

    def remove(self, name: str) -> None:
        self.remove_all([name])

    def remove_all(self, names: Sequence[str]) -> None:
        if names:
            again(lambda: self._objects.remove(names))

    def sync(self) -> None:
        """Nothing: what a store has answered stays."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _marked(pieces: Sequence[bytes | memoryview]) -> bytes:
    """The content of an object, behind a mark that no other one has."""
    mark = (_MARK + uuid.uuid4().hex.encode()).ljust(MARK_BYTES - 1) + b"\n"
    return b"".join((mark, *pieces))
