"""A snapshot in one piece, for a place where a file is written by one call: an index, and the files that it names.

The index says the names and the sizes of the files, which are those of the folder of a snapshot, and the checksum of
the manifest, which is the last of them. The manifest has the checksums of the others.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from livejoin.database.snapshots.declaration import number, value
from livejoin.database.snapshots.snapshot import Image, Source, image_of_manifest, manifest_text, read_from

_HEAD = struct.Struct("<QI")  # the bytes of the index, and its checksum
_MANIFEST = "manifest.json"


class _Written:
    """The files of a snapshot that is written; as `livejoin.database.snapshots.snapshot.Target`."""

    def __init__(self) -> None:
        self.files: list[tuple[str, int]] = []
        self.pieces: list[bytes | memoryview] = []

    def write(self, name: str, data: bytes | memoryview) -> None:
        view = memoryview(data).cast("B")
        self.files.append((name, view.nbytes))
        self.pieces.append(view)

    def write_pieces(self, name: str, pieces: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(name, b"".join(pieces))


@dataclass(frozen=True)
class _Slice:
    """A file within the piece; as `livejoin.database.durable.history.Held`."""

    name: str
    data: memoryview

    def read(self, at: int, size: int) -> bytearray:
        found = bytearray(self.data[at : at + size])
        if len(found) != size:
            msg = f"{self.name} has no {size} bytes at {at}"
            raise ValueError(msg)
        return found


class _Read:
    """The files of a snapshot that is read; as `livejoin.database.snapshots.snapshot.Source`.

    Args:
        data: All of it.

    Raises:
        ValueError, KeyError, TypeError: The data are none of a snapshot.
    """

    def __init__(self, data: bytes | bytearray) -> None:
        view = memoryview(data)
        if len(view) < _HEAD.size:
            msg = f"its {len(view):,} bytes do not begin as a snapshot does"
            raise ValueError(msg)
        size, checksum = _HEAD.unpack(view[: _HEAD.size])
        text = bytes(view[_HEAD.size : _HEAD.size + size])
        if zlib.crc32(text) != checksum:
            msg = "its index is not what was written"
            raise ValueError(msg)
        index = json.loads(text)
        self.checksum = number(index, "checksum")
        self._files: dict[str, memoryview] = {}
        begin = _HEAD.size + size
        for name, length in value(index, "files", list):
            self._files[name] = view[begin : begin + length]
            begin += length

    def read(self, name: str, *, exactly: int | None = None) -> bytearray:
        found = self._files[name]
        if exactly is not None and len(found) != exactly:
            msg = f"{name} has {len(found)} bytes and not {exactly}"
            raise ValueError(msg)
        return bytearray(found)

    def held(self, name: str) -> _Slice:
        return _Slice(name, self._files[name])


def pieces_of(image: Image) -> list[bytes | memoryview]:
    """A snapshot as the pieces of one file.

    Cost: O(rows), and no copy of the image's arrays.
    """
    target = _Written()
    text = manifest_text(target, image)
    target.write(_MANIFEST, text)
    index = json.dumps({"files": target.files, "checksum": zlib.crc32(text)}).encode()
    return [_HEAD.pack(len(index), zlib.crc32(index)) + index, *target.pieces]


def image_of(place: str, data: bytes | bytearray) -> Image:
    """The snapshot that the pieces are, without the states of blocks.

    Args:
        place: Where it is, for messages.
        data: The pieces, one behind the other.

    Raises:
        StateError: The snapshot is damaged, or another version of livejoin wrote it.
    """

    @contextmanager
    def opened() -> Iterator[tuple[Source, bytearray, int]]:
        source = _Read(data)
        yield source, source.read(_MANIFEST), source.checksum

    return read_from(place, opened, lambda source, manifest: image_of_manifest(source, manifest, False))
