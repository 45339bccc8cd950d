"""The log in an object store: one chain of objects, of which each is created once.

``000000000042`` of ``log`` is the 42nd object of the chain. Each has a head (number, epoch, segment, place in the
segment, who made it) and behind it records, one or several, as `livejoin.database.durable.frames` makes them. To
synchronise what was written is to create one object. The objects of a segment, one behind the other, are what the file
of the segment is in a folder.

Who opens the log *claims* it: it creates the next object, without records, under an epoch that is larger than all
before. Whoever wrote before goes on with that number too, finds that it is taken, and stops (`TakenOverError`).

Laws, by which two processes that both believe to own the log acknowledge nothing that the other one does not know:

- A number is created at most once (`livejoin.state.objects.create_once`). A claim is never removed.
- A writer creates number n + 1 only when it knows that n is its own. A claim counts only if nothing stands behind it
  when it is there.
- So the number that a writer would create next is free, or is the claim of whoever came later, for good.
"""

from __future__ import annotations

import struct
import threading
import uuid
import zlib
from bisect import bisect_left
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from weakref import WeakValueDictionary

from livejoin.database.durable.log import TakenOverError, number_of, segment_name
from livejoin.handlers import raised_by_handler
from livejoin.state.objects import MARK_BYTES, Objects, again, create_once

_HEAD = struct.Struct("<4sHHIIQQQQ16s")  # magic, format, 0, checksum, 0, number, epoch, segment, at, attempt
_MAGIC, _FORMAT = b"ljo1", 1
_CHECKSUM_AT = 8
_AT_ONCE = 16  # objects that are read at the same time
_UNDER = "log/"
_DIGITS = 12

assert _HEAD.size == MARK_BYTES


@dataclass(frozen=True, slots=True)
class Head:
    """What the head of an object says.

    Args:
        number: The number in the chain.
        epoch: The opening that made it.
        segment: The segment that its records are of.
        at: Where in the segment they begin.
    """

    number: int
    epoch: int
    segment: int
    at: int


def _key(number: int) -> str:
    return f"{_UNDER}{number:0{_DIGITS}d}"


def _object(head: Head, data: Sequence[bytes | bytearray]) -> bytearray:
    packed = _HEAD.pack(
        *(_MAGIC, _FORMAT, 0, 0, 0),
        *(head.number, head.epoch, head.segment, head.at, uuid.uuid4().bytes),
    )
    whole = bytearray().join((packed, *data))
    struct.pack_into("<I", whole, _CHECKSUM_AT, zlib.crc32(whole))
    return whole


def _read_head(data: bytes, number: int) -> Head:
    """The head of an object.

    Raises:
        ValueError: The bytes are none.
    """
    if len(data) < _HEAD.size:
        msg = f"{_key(number)} is no object of a log"
        raise ValueError(msg)
    magic, form, _, _, _, found, epoch, segment, at, _ = _HEAD.unpack_from(data)
    if magic != _MAGIC or form != _FORMAT or found != number:
        msg = f"{_key(number)} is no object of a log, or of another version of livejoin"
        raise ValueError(msg)
    return Head(found, epoch, segment, at)


class ChainFolder:
    """The segments of a log in a store; mutable. Every method raises OSError where the store refuses.

    Args:
        objects: The store.
        epoch: The opening that writes; 0 to read only.
    """

    tears = False  # an object is there whole or not at all

    def __init__(self, objects: Objects, epoch: int = 0) -> None:
        self.objects = objects
        self.epoch = epoch
        self._heads: dict[int, Head] = {}
        self._sizes: dict[int, int] = {}
        self.first = self._last = 0
        self._failure: OSError | None = None
        self._turn = threading.Lock()
        self._files = WeakValueDictionary[str, ChainFile]()
        self.refresh()

    def refresh(self) -> None:
        """List the objects anew."""
        found = again(lambda: self.objects.listed(_UNDER))
        self._sizes = {
            int(name): one.size for one in found if (name := one.key[len(_UNDER) :]).isdigit() and len(name) == _DIGITS
        }
        self._last = first = max(self._sizes, default=0)
        while first - 1 in self._sizes:
            first -= 1
        self.first = first

    def _head(self, number: int) -> Head:
        if number not in self._heads:
            data = again(lambda: self.objects.read(_key(number), 0, _HEAD.size))
            self._heads[number] = _read_head(data, number)
        return self._heads[number]

    def _begin_of(self, segment: int) -> int:
        """The number of the first object of a segment, or behind the last one. Cost: O(log objects) requests."""
        numbers = range(self.first, self._last + 1)
        return self.first + bisect_left(numbers, segment, key=lambda number: self._head(number).segment)

    @property
    def is_empty(self) -> bool:
        """Whether there is no object."""
        return not self._sizes

    def claim(self) -> None:
        """Begin to write: from now on whoever wrote before is refused.

        Raises:
            TakenOverError: A later opening has begun.
        """
        while True:
            head, at = Head(0, 0, 1, 0), 0
            if self._last:
                try:
                    head = self._head(self._last)
                except FileNotFoundError:  # it was removed since: others have gone on
                    self.refresh()
                    continue
                at = head.at + self._sizes[self._last] - _HEAD.size
            if head.epoch >= self.epoch:
                raise TakenOverError(_TAKEN)
            number = head.number + 1
            is_ours = create_once(self.objects, _key(number), _object(Head(number, self.epoch, head.segment, at), ()))
            self.refresh()
            if is_ours and self._last == number:
                return
            if is_ours:
                raise TakenOverError(_TAKEN)

    def push(self, segment: int, at: int, data: Sequence[bytes | bytearray]) -> int:
        """Create the next object of the chain, and give its number.

        Raises:
            TakenOverError: Another process has opened the database since.
        """
        with self._turn:
            if self._failure is not None:  # what failed may be there: nothing can follow it
                raise self._failure
            number = self._last + 1
            head = Head(number, self.epoch, segment, at)
            whole = _object(head, data)
            try:
                if not create_once(self.objects, _key(number), whole):
                    raise TakenOverError(_TAKEN)
            except OSError as error:
                if raised_by_handler(error):
                    raise
                self._failure = error
                raise
            self._heads[number] = head
            self._sizes[number] = len(whole)
            self._last = number
            return number

    def names(self) -> list[str]:
        """The names of the segments that are there."""
        if not self._last:
            return []
        first, last = self._head(self.first).segment, self._head(self._last).segment
        return [segment_name(number) for number in range(first, last + 1)]

    def _links(self, name: str) -> list[tuple[int, int, int]]:
        """Of each object of a segment where its records begin, their bytes, and its number.

        Raises:
            ValueError: Objects are missing.
        """
        segment = number_of(name)
        assert segment is not None
        numbers = range(self._begin_of(segment), self._begin_of(segment + 1))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            heads = list(pool.map(self._head, numbers))
        found, at = list[tuple[int, int, int]](), 0
        for head in heads:
            size = self._sizes[head.number] - _HEAD.size
            if head.at != at:
                msg = f"objects of {_UNDER} before number {head.number} are missing"
                raise ValueError(msg)
            found.append((at, size, head.number))
            at += size
        return found

    def read(self, name: str) -> bytearray:
        """The records of a segment, one behind the other.

        Raises:
            ValueError: An object is missing, or not what was written.
        """
        segment = number_of(name)
        assert segment is not None
        numbers = range(self._begin_of(segment), self._begin_of(segment + 1))
        found = bytearray()
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for number, data in zip(numbers, pool.map(self._whole, numbers), strict=True):
                head = self._heads[number] = _read_head(data, number)
                if head.at != len(found) or head.segment != segment:
                    msg = f"objects of {_UNDER} before number {number} are missing"
                    raise ValueError(msg)
                found += memoryview(data)[_HEAD.size :]
        return found

    def _whole(self, number: int) -> bytes:
        data: bytes = again(lambda: self.objects.read(_key(number)))
        _read_head(data, number)
        (checksum,) = struct.unpack_from("<I", data, _CHECKSUM_AT)
        seen = zlib.crc32(data[:_CHECKSUM_AT])
        seen = zlib.crc32(bytes(4), seen)
        if zlib.crc32(memoryview(data)[_CHECKSUM_AT + 4 :], seen) != checksum:
            msg = f"{_key(number)} is not what was written"
            raise ValueError(msg)
        return data

    def begun(self, name: str) -> ChainFile:
        """A new segment."""
        segment = number_of(name)
        assert segment is not None
        return self._open(segment, [])

    def grown(self, name: str) -> ChainFile:
        """The last segment, to be gone on with."""
        segment = number_of(name)
        assert segment is not None
        return self._open(segment, self._links(name))

    def held(self, name: str) -> ChainFile:
        """A segment, to be read of for as long as somebody has it: the one that is written, if it is that."""
        return self._files.get(name) or self.grown(name)

    def _open(self, segment: int, links: list[tuple[int, int, int]]) -> ChainFile:
        file = self._files[segment_name(segment)] = ChainFile(self, segment, links)
        return file

    def remove_before(self, segment: int) -> None:
        """Remove the objects of the segments before one, but for claims."""
        end = self._begin_of(segment)
        self.objects.remove([_key(one) for one, size in sorted(self._sizes.items()) if one < end and size > _HEAD.size])

    def sync(self) -> None:
        """Nothing: what was created stays."""

    def close(self) -> None:
        """Nothing."""


class ChainFile:
    """A segment in a store, which is written and read; mutable, and in any thread.

    Args:
        folder: The chain.
        segment: The number of the segment.
        links: Of each of its objects where its records begin, their bytes, and its number.
    """

    def __init__(self, folder: ChainFolder, segment: int, links: list[tuple[int, int, int]]) -> None:
        self.name = segment_name(segment)
        self._folder = folder
        self._segment = segment
        self._links = links
        self._end = links[-1][0] + links[-1][1] if links else 0  # of what is in the store
        self._waiting: list[tuple[int, bytes | bytearray]] = []  # what is not
        self._turn = threading.Lock()

    def write(self, data: bytes | bytearray, at: int) -> None:
        """Write a record at the end, in memory."""
        with self._turn:
            self._cut(at)
            self._waiting.append((at, data))

    def cut(self, size: int) -> None:
        """Let it end at a place behind what is in the store."""
        with self._turn:
            self._cut(size)

    def _cut(self, size: int) -> None:
        assert size >= self._end, "what is in the store stays"
        while self._waiting and self._waiting[-1][0] >= size:
            self._waiting.pop()

    def sync(self, upto: int | None = None) -> None:
        """Put what was written up to a place into the store.

        Raises:
            TakenOverError: Another process has opened the database since.
            OSError: The store refuses.
        """
        with self._turn:
            pieces = [piece for at, piece in self._waiting if upto is None or at < upto]
            begin = self._end
        if not pieces:
            return
        number = self._folder.push(self._segment, begin, pieces)
        size = sum(map(len, pieces))
        with self._turn:
            self._links.append((begin, size, number))
            self._end = begin + size
            del self._waiting[: len(pieces)]

    def is_deleted(self) -> bool:
        """False: who deletes the bucket is told at the next commit."""
        return False

    def read(self, at: int, size: int) -> bytearray:
        """Some bytes.

        Raises:
            OSError: The store refuses.
            ValueError: The segment ends before.
        """
        with self._turn:
            links, waiting = list(self._links), list(self._waiting)
        found = bytearray()
        parts: list[tuple[int, int, int, bytes | bytearray]]
        parts = [(begin, length, number, b"") for begin, length, number in links]
        parts += [(begin, len(piece), 0, piece) for begin, piece in waiting]
        for begin, length, number, piece in parts:
            first, last = max(at, begin), min(at + size, begin + length)
            if first >= last:
                continue
            if number:
                of_object = _HEAD.size + first - begin
                found += again(lambda: self._folder.objects.read(_key(number), of_object, last - first))  # noqa: B023
            else:
                found += memoryview(piece)[first - begin : last - begin]
        if len(found) != size:
            msg = f"{self.name} has no {size} bytes at {at}"
            raise ValueError(msg)
        return found

    def close(self) -> None:
        """Nothing."""


_TAKEN = "another process has opened it since"
