"""How much memory an Arrow IPC message asks for, before anything of it is read.

A compressed buffer begins with the length that it will have, for which memory is taken before it is decompressed; some
bytes can ask for any amount. The lengths stand where the message's metadata says, which is a FlatBuffer: Arrow's
format, Message.fbs and Schema.fbs. What has no such form is refused; Arrow itself checks the rest.
"""

from __future__ import annotations

import struct

import pyarrow as pa

from livejoin.errors import ChangeFormatError

_HEADER_TYPE, _HEADER = 1, 2  # fields of Message
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # values of MessageHeader
_BUFFERS, _COMPRESSION = 2, 3  # fields of RecordBatch
_DATA = 1  # field of DictionaryBatch
_INT64 = struct.Struct("<q")
_PAIR = struct.Struct("<qq")


def read_stream(data: bytes, most: int) -> pa.Table:
    """The rows of a stream of Arrow's IPC format from somebody who is not trusted.

    Args:
        data: The stream.
        most: The most bytes that its rows may take.

    Raises:
        ChangeFormatError: The data are no such stream, are damaged, or take more.
    """
    try:
        claimed, source = 0, pa.BufferReader(data)
        while (message := _next(source)) is not None:
            claimed += _claimed(message)
            if claimed > most:
                msg = f"the Arrow data takes more than the {most:,} bytes that a request may have; send it in parts"
                raise ChangeFormatError(msg)
        with pa.ipc.open_stream(pa.BufferReader(data)) as reader:
            rows = reader.read_all()
        rows.validate(full=True)
    except (pa.ArrowException, struct.error, ValueError, EOFError, OSError, MemoryError, IndexError) as error:
        msg = f"the body is no Arrow IPC stream, or is damaged: {str(error).splitlines()[0] if str(error) else error!r}"
        raise ChangeFormatError(msg) from error
    return rows


def _next(source: pa.BufferReader) -> pa.Message | None:
    try:
        return pa.ipc.read_message(source)
    except EOFError:
        return None


def _claimed(message: pa.Message) -> int:
    """The bytes that the buffers of a message take when they are decompressed."""
    if message.type not in ("record batch", "dictionary"):
        return 0
    body = message.body
    plain = 0 if body is None else body.size
    meta = memoryview(message.metadata)
    root = _Table(meta, _offset(meta, 0))
    header = root.table(_HEADER)
    kind = root.byte(_HEADER_TYPE)
    if header is not None and kind == _DICTIONARY_BATCH:
        header = header.table(_DATA)
    elif kind != _RECORD_BATCH:
        header = None
    if header is None:
        msg = "a message has no rows where it should have some"
        raise ValueError(msg)
    if header.place(_COMPRESSION) is None:
        return plain
    found, data = 0, memoryview(b"" if body is None else body)
    for begin, length in header.pairs(_BUFFERS):
        if length >= _INT64.size:
            if not 0 <= begin <= len(data) - length:
                msg = "a buffer lies outside of its message"
                raise ValueError(msg)
            (size,) = _INT64.unpack_from(data, begin)
            found += max(size, length)
    return found


def _offset(data: memoryview, at: int) -> int:
    (found,) = struct.unpack_from("<I", data, at)
    return at + int(found)


class _Table:
    """A table of a FlatBuffer: its fields are found by a table of offsets."""

    def __init__(self, data: memoryview, at: int) -> None:
        self._data = data
        self._at = at
        (back,) = struct.unpack_from("<i", data, at)
        self._fields = at - back
        if self._fields < 0:
            msg = "a table has its fields before the beginning"
            raise ValueError(msg)
        (self._size,) = struct.unpack_from("<H", data, self._fields)

    def place(self, field: int) -> int | None:
        """Where a field is; None if it is not there."""
        at = 4 + 2 * field
        if at + 2 > self._size:
            return None
        (found,) = struct.unpack_from("<H", self._data, self._fields + at)
        return self._at + found if found else None

    def byte(self, field: int) -> int:
        place = self.place(field)
        return 0 if place is None else self._data[place]

    def table(self, field: int) -> _Table | None:
        place = self.place(field)
        return None if place is None else _Table(self._data, _offset(self._data, place))

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A vector of pairs of 64-bit numbers."""
        place = self.place(field)
        if place is None:
            return []
        begin = _offset(self._data, place)
        (count,) = struct.unpack_from("<I", self._data, begin)
        if count * _PAIR.size > len(self._data) - begin:
            msg = "a vector is longer than its message"
            raise ValueError(msg)
        return [_PAIR.unpack_from(self._data, begin + 4 + _PAIR.size * one) for one in range(count)]
