"""Records of the log as bytes: a frame of fixed size with a checksum, and a body.

A segment of the log is a file of records, one behind the other, each at a place that is divided by 8. The first one
says which log it belongs to.

Law: `read_frames` gives the records that were written, in order. It stops at the first place where there is none, and
says whether something is lost there: a frame says how many bytes of its segment were durable when it was written, so
that a hole below what a later frame calls durable is damage, and any other one is what a crash leaves of records that
nobody was told of.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

MAGIC = b"lj1\n"
ALIGN = 8
_FORMAT = 1
_FRAME = struct.Struct("<4sIQBBHIQQ")  # magic, checksum of what follows, bytes of the body, kind, format, 0, 0, ...
_CHECKSUM = struct.Struct("<I")
_CHECKED = 8  # where what the checksum is of begins
FRAME_BYTES = _FRAME.size
_ZEROS = bytes(ALIGN)


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a segment.

    Args:
        kind: A number of `livejoin.database.durable.bodies`.
        version: The version of the database behind the record.
        durable: Bytes of the segment that were durable when it was written.
        begin: Where it stands in the segment.
        end: Where it ends.
        body: The content of the record.
    """

    kind: int
    version: int
    durable: int
    begin: int
    end: int
    body: memoryview


@dataclass(frozen=True)
class Frames:
    """What a segment holds.

    Args:
        records: The records, in order.
        end: Where the last one ends.
        lost: Whether something that was durable stood behind it and is no record any more.
    """

    records: Sequence[Record]
    end: int
    lost: bool


def framed(kind: int, version: int, durable: int, body: Sequence[bytes | memoryview]) -> bytearray:
    """The bytes of a record; the pieces of its body one behind the other. Cost: O(bytes), one copy."""
    size = sum([len(piece) for piece in body])
    head = _FRAME.pack(MAGIC, 0, size, kind, _FORMAT, 0, 0, version, durable)
    whole = bytearray().join((head, *body, _ZEROS[: -size % ALIGN]))
    _CHECKSUM.pack_into(whole, len(MAGIC), zlib.crc32(memoryview(whole)[_CHECKED:]))
    return whole


def read_frames(data: bytes | bytearray) -> Frames:
    """The records of a segment, as far as there are some. Cost: O(bytes)."""
    view, at = memoryview(data), 0
    records = []
    while (record := _record(view, at)) is not None:
        records.append(record)
        at = record.end
    return Frames(records, at, _is_lost(data, view, at))


def _record(data: memoryview, at: int) -> Record | None:
    """The record at a place; None if there is none."""
    if at + FRAME_BYTES > len(data):
        return None
    magic, checksum, size, kind, form, _, _, version, durable = _FRAME.unpack_from(data, at)
    end = at + FRAME_BYTES + size + -size % ALIGN
    if magic != MAGIC or form != _FORMAT or end > len(data) or zlib.crc32(data[at + _CHECKED : end]) != checksum:
        return None
    body = data[at + FRAME_BYTES : at + FRAME_BYTES + size]
    return Record(kind, version, durable, at, end, body)


def _is_lost(data: bytes | bytearray, view: memoryview, at: int) -> bool:
    """Whether a record behind a place says that something there was durable."""
    place = data.find(MAGIC, at)
    while place >= 0:
        found = _record(view, place)
        if found is not None and found.durable > at:
            return True
        place = data.find(MAGIC, place + 1)
    return False
