"""Protocol Buffers by hand: the few messages of Flight SQL are records of numbers and bytes.

A message is a sequence of fields, each a tag and a value; a tag is 8 times the number of the field, and the wire type:
0 a varint, 1 eight bytes, 2 a length and so many bytes, 5 four bytes. A field that comes again takes the place of the
one before, or is one more of a list. What a reader does not know it leaves out. Nothing here calls itself, and memory
is that of the input.

>>> write({1: "SELECT 1", 2: 5})
b'\\n\\x08SELECT 1\\x10\\x05'
>>> read(b"\\n\\x08SELECT 1\\x10\\x05").text(1)
'SELECT 1'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from livejoin.errors import LivejoinError

_MOST_FIELDS = 100_000
_LONGEST_VARINT = 10  # bytes of 64 bits, 7 in each
_MASK = (1 << 64) - 1
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_SIZES = {_EIGHT: 8, _FOUR: 4}

Value = int | bytes | str | list[int] | list[str] | list[bytes]
"""What a field is written of; a list is a repeated field."""


class MessageError(LivejoinError):
    """Bytes that are no message of Protocol Buffers, or that have a field of another type."""


class Message:
    """A message that was read.

    Args:
        fields: The values of each field by its number, in their order.
    """

    def __init__(self, fields: Mapping[int, list[int | bytes]]) -> None:
        self._fields = fields

    def has(self, number: int) -> bool:
        """Whether a field is there."""
        return number in self._fields

    def data(self, number: int) -> bytes:
        """The bytes of a field; none if it is not there.

        Raises:
            MessageError: The field is a number.
        """
        found = self._fields.get(number, [b""])[-1]
        if isinstance(found, int):
            msg = f"field {number} of the message is a number; it must be bytes"
            raise MessageError(msg)
        return found

    def text(self, number: int) -> str:
        """The text of a field; empty if it is not there.

        Raises:
            MessageError: The field is a number, or no UTF-8.
        """
        return _text(self.data(number), number)

    def optional_text(self, number: int) -> str | None:
        """The text of a field; None if it is not there."""
        return self.text(number) if self.has(number) else None

    def texts(self, number: int) -> list[str]:
        """The texts of a repeated field.

        Raises:
            MessageError: A text is a number, or no UTF-8.
        """
        found = []
        for value in self._fields.get(number, []):
            if isinstance(value, int):
                msg = f"field {number} of the message is a number; it must be a text"
                raise MessageError(msg)
            found.append(_text(value, number))
        return found

    def number(self, number: int) -> int:
        """The number of a field, signed; 0 if it is not there.

        Raises:
            MessageError: The field is bytes.
        """
        found = self._fields.get(number, [0])[-1]
        if not isinstance(found, int):
            msg = f"field {number} of the message is bytes; it must be a number"
            raise MessageError(msg)
        return found - (1 << 64) if found >> 63 else found

    def flag(self, number: int) -> bool:
        """The truth value of a field; false if it is not there."""
        return self.number(number) != 0

    def numbers(self, number: int) -> list[int]:
        """The numbers of a repeated field, not signed; they may be packed.

        Raises:
            MessageError: A packed field ends within a number.
        """
        found: list[int] = []
        for value in self._fields.get(number, []):
            if isinstance(value, int):
                found.append(value)
                continue
            at = 0
            while at < len(value):
                one, at = _varint(value, at)
                found.append(one)
        return found

    def message(self, number: int) -> Message:
        """The message in a field; an empty one if it is not there."""
        return read(self.data(number))


def _text(data: bytes, number: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        msg = f"field {number} of the message is no UTF-8: {error}"
        raise MessageError(msg) from error


def read(data: bytes) -> Message:
    """The message that bytes are.

    Raises:
        MessageError: The bytes are none; the error says at which byte.

    Cost: O(bytes).
    """
    fields: dict[int, list[int | bytes]] = {}
    for count, (number, value) in enumerate(_fields(data)):
        if count == _MOST_FIELDS:
            msg = f"the message has more than {_MOST_FIELDS:,} fields"
            raise MessageError(msg)
        fields.setdefault(number, []).append(value)
    return Message(fields)


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        begin = at
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not 1 <= number < 1 << 29:
            msg = f"the message has a field of number {number} at byte {begin}; allowed are 1 to 536,870,911"
            raise MessageError(msg)
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif wire in (_EIGHT, _BYTES, _FOUR):
            length, at = _varint(data, at) if wire == _BYTES else (_SIZES[wire], at)
            if length > len(data) - at:
                msg = f"field {number} of the message has {length:,} bytes, and {len(data) - at:,} follow at byte {at}"
                raise MessageError(msg)
            yield number, data[at : at + length]
            at += length
        else:
            msg = f"field {number} of the message, at byte {begin}, has wire type {wire}; allowed are 0, 1, 2 and 5"
            raise MessageError(msg)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    found = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(data):
            msg = f"the message ends within a number that begins at byte {at}"
            raise MessageError(msg)
        one = data[at + place]
        found |= (one & 0x7F) << (7 * place)
        if one < 0x80:  # the bit that says that more comes
            return found & _MASK, at + place + 1
    msg = f"the number at byte {at} of the message has more than 64 bits"
    raise MessageError(msg)


def write(fields: Mapping[int, Value | None]) -> bytes:
    """A message of fields by their numbers; None leaves a field out.

    >>> write({1: None, 4: ["TABLE", "VIEW"], 5: -1}).hex()
    '22055441424c4522045649455728ffffffffffffffffff01'
    """
    found = bytearray()
    for number, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            if one is None:
                continue
            if isinstance(one, int):
                found += _number(number << 3 | _VARINT) + _number(one & _MASK)
            else:
                data = one.encode() if isinstance(one, str) else one
                found += _number(number << 3 | _BYTES) + _number(len(data)) + data
    return bytes(found)


def _number(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:  # what fits a byte
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


_PREFIX = "type.googleapis.com/"


def pack(name: str, message: bytes) -> bytes:
    """A message in one that says its type, ``google.protobuf.Any``."""
    return write({1: _PREFIX + name, 2: message})


def unpack(data: bytes) -> tuple[str, Message]:
    """The name of the type, and the message, of one that says its type.

    Raises:
        MessageError: The message says no type.
    """
    found = read(data)
    name = found.text(1)
    if "/" not in name:
        msg = f"the message says no type, as {_PREFIX}arrow.flight.protocol.sql.CommandStatementQuery"
        raise MessageError(msg)
    return name.rpartition("/")[2], found.message(2)
