"""Snapshots in an object store: data under a name that nobody else uses, and one object that makes them a snapshot.

``000000000003-ATTEMPT`` of ``snapshots`` has the arrays, by plain puts, as the folder of a snapshot has them.
``000000000003.snapshot`` has the attempt, the checksum of the manifest, and the manifest. It is created once,
when all else is there. The number is that of the segment in which the log goes on, and the largest one counts.

Law: segments before a number never change, so that two snapshots of one number say the same, whoever made them.

The snapshot before the newest one stays, and the segments behind it: a process may be reading them.
"""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from livejoin.database.durable.history import Run
from livejoin.database.snapshots.snapshot import (
    Image,
    Source,
    head_of,
    histories_of,
    image_of_manifest,
    manifest_text,
    read_from,
)
from livejoin.errors import StorageError
from livejoin.handlers import raised_by_handler
from livejoin.state.objects import MARK_BYTES, Objects, again, create_once

_UNDER = "snapshots/"
_SUFFIX = ".snapshot"
_DIGITS = 12
_KEPT = 2


class _Data:
    """The data of a snapshot, to be written and read; as a `livejoin.state.files.Folder`."""

    def __init__(self, objects: Objects, segment: int, attempt: str) -> None:
        self._objects = objects
        self._under = f"{_UNDER}{segment:0{_DIGITS}d}-{attempt}/"

    def write(self, name: str, data: bytes | memoryview) -> None:
        whole = bytes(data)
        again(lambda: self._objects.put(self._under + name, whole))

    def write_pieces(self, name: str, pieces: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(name, b"".join(pieces))

    def read(self, name: str, *, exactly: int | None = None) -> bytearray:
        found = bytearray(again(lambda: self._objects.read(self._under + name)))
        if exactly is not None and len(found) != exactly:
            msg = f"{name} has {len(found)} bytes and not {exactly}"
            raise ValueError(msg)
        return found

    def held(self, name: str) -> HeldObject:
        return HeldObject(self._objects, self._under + name)

    def remove(self) -> None:
        self._objects.remove([one.key for one in self._objects.listed(self._under)])


class HeldObject:
    """An object of which bytes are read when they are asked for; as a `livejoin.state.files.HeldFile`.

    Args:
        objects: The store.
        name: The key.
    """

    def __init__(self, objects: Objects, name: str) -> None:
        self.name = name
        self._objects = objects

    def read(self, at: int, size: int) -> bytearray:
        """Some bytes; in any thread.

        Raises:
            OSError: The store refuses.
            ValueError: The object ends before.
        """
        found = bytearray(again(lambda: self._objects.read(self.name, at, size))) if size else bytearray()
        if len(found) != size:
            msg = f"{self.name} has no {size} bytes at {at}"
            raise ValueError(msg)
        return found


def numbers(objects: Objects) -> list[int]:
    """The numbers of the snapshots that are there, ascending."""
    keys = [one.key[len(_UNDER) :] for one in again(lambda: objects.listed(_UNDER))]
    return sorted(int(stem) for key in keys if key.endswith(_SUFFIX) and (stem := key[: -len(_SUFFIX)]).isdigit())


def newest_two(found: Sequence[int]) -> list[int]:
    """The snapshots that stay where nobody asks for more."""
    return list(found[-_KEPT:])


def write(objects: Objects, segment: int, image: Image, to_keep: Callable[[list[int]], list[int]] = newest_two) -> None:
    """Write the snapshot of what is before a segment, unless one is there; others are removed.

    Args:
        objects: The store.
        segment: The number of the segment.
        image: The content.
        to_keep: Which of the snapshots that are there then stay, by their numbers; the newest is one of them.

    Raises:
        StorageError: The store refused.
    """
    attempt = uuid.uuid4().hex
    data = _Data(objects, segment, attempt)
    try:
        text = manifest_text(data, image)
        mark = f"{attempt} {zlib.crc32(text)}".ljust(MARK_BYTES - 1) + "\n"
        if not create_once(objects, _key(segment), mark.encode() + text):
            data.remove()
        _remove_others(objects, to_keep(numbers(objects)))
    except OSError as error:
        if raised_by_handler(error):
            raise
        msg = (
            f"the snapshot could not be written to {objects.name!r}: {error}; the one of before, if there was one, is "
            "still there"
        )
        raise StorageError(msg) from error


def _remove_others(objects: Objects, kept: Sequence[int]) -> None:
    """Remove all snapshots but some; what is newer than the newest one is being written."""
    found = [one.key for one in objects.listed(_UNDER)]
    stems = {key: stem for key in found if (stem := key[len(_UNDER) :][:_DIGITS]).isdigit()}
    old = [key for key, stem in stems.items() if int(stem) < kept[-1] and int(stem) not in kept]
    objects.remove(sorted(old, key=lambda key: not key.endswith(_SUFFIX)))  # what names them comes first


def name_of(segment: int) -> str:
    """The name of the object that makes the data of a number a snapshot."""
    return f"{segment:0{_DIGITS}d}{_SUFFIX}"


def _key(segment: int) -> str:
    return _UNDER + name_of(segment)


def read(objects: Objects) -> Image | None:
    """The newest snapshot; None if there is none.

    Raises:
        StateError, StorageError: As `livejoin.database.snapshots.snapshot.read`.
    """
    with _refusing(objects):
        found = numbers(objects)
    if not found:
        return None
    return image_of(objects, found[-1])


def image_of(objects: Objects, number: int) -> Image:
    """The snapshot with a number; raises as `read`."""
    return read_from(
        f"{objects.name}/{_key(number)}",
        lambda: _opened(objects, number),
        lambda source, of: image_of_manifest(source, of, False),
    )


def head(objects: Objects, number: int) -> tuple[int, dict[str, Any]]:
    """The version and the JSON values of the snapshot with a number, without its rows; raises as `read`."""
    return read_from(f"{objects.name}/{_key(number)}", lambda: _opened(objects, number), lambda _, of: head_of(of))


def histories(objects: Objects) -> dict[str, Run]:
    """The pieces of the histories that the newest snapshot has; raises as `read`."""
    with _refusing(objects):
        found = numbers(objects)
    return read_from(objects.name, lambda: _opened(objects, found[-1]), histories_of) if found else {}


def size(objects: Objects) -> int:
    """The bytes of the newest snapshot."""
    found = numbers(objects)
    if not found:
        return 0
    return sum(one.size for one in objects.listed(f"{_UNDER}{found[-1]:0{_DIGITS}d}"))


@contextmanager
def _opened(objects: Objects, number: int) -> Iterator[tuple[Source, bytes, int]]:
    """The data, the manifest and its checksum.

    Raises:
        OSError: The store refuses.
        ValueError: The object is none of a snapshot.
    """
    whole = again(lambda: objects.read(_key(number)))
    attempt, _, checksum = whole[:MARK_BYTES].decode().partition(" ")
    yield _Data(objects, number, attempt), whole[MARK_BYTES:], int(checksum)


@contextmanager
def _refusing(objects: Objects) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if raised_by_handler(error):
            raise
        msg = f"the snapshots in {objects.name!r} could not be read: {error}; try again when that is mended"
        raise StorageError(msg) from error
