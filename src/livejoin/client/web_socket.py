"""The client's side of a WebSocket (RFC 6455): messages come, and what keeps the connection goes."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import struct
from contextlib import suppress
from typing import IO, Final

_GUID: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CLOSE, _PONG = 8, 10
_LARGEST_CONTROL: Final = 125


class ClosedError(Exception):
    """The other side ended the WebSocket.

    Args:
        code: Why; 1005 if nothing is said.
        reason: Why, in words.
    """

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(f"{code} {reason}".rstrip())


class BrokenError(OSError):
    """What comes is no WebSocket, or not any more."""


def handshake() -> tuple[dict[str, str], str]:
    """The headers that ask for a WebSocket, and the accepting header's value (section 4.1)."""
    key = base64.b64encode(os.urandom(16)).decode()
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key}
    return headers, accepting(key)


def accepting(key: str) -> str:
    """What the other side answers to a key.

    >>> accepting("dGhlIHNhbXBsZSBub25jZQ==")
    's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
    """
    return base64.b64encode(hashlib.sha1((key + _GUID).encode(), usedforsecurity=False).digest()).decode()


class WebSocket:
    """A WebSocket behind the handshake; mutable, read by one thread.

    Args:
        connection: The connection, for what goes.
        source: The bytes that come over it.
    """

    def __init__(self, connection: socket.socket, source: IO[bytes]) -> None:
        self._connection = connection
        self._source = source

    def receive(self) -> bytes | str:
        """The next message, a text or bytes; pings on the way are answered.

        Raises:
            ClosedError: The other side ended it.
            OSError: The connection broke, or is silent for too long.
        """
        pieces: list[bytes] = []
        is_text = False
        while True:
            is_last, kind, data = self._frame()
            match kind:
                case 0 if not pieces:
                    msg = "a message begins in its middle"
                    raise BrokenError(msg)
                case 1 | 2 if pieces:
                    msg = "a message begins within another one"
                    raise BrokenError(msg)
                case 0 | 1 | 2:
                    is_text = kind == 1 or (kind == 0 and is_text)
                    pieces.append(data)
                    if is_last:
                        whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
                        return whole.decode(errors="replace") if is_text else whole
                case 8:
                    code = struct.unpack("!H", data[:2])[0] if len(data) >= 2 else 1005
                    with suppress(OSError):  # the other side may be gone already
                        self._send(_CLOSE, data[:2])
                    raise ClosedError(code, data[2:].decode(errors="replace"))
                case 9:
                    self._send(_PONG, data)
                case 10:
                    pass
                case _:
                    msg = f"a frame of the unknown kind {kind}"
                    raise BrokenError(msg)

    def _frame(self) -> tuple[bool, int, bytes]:
        """A frame: whether it is the last one of its message, its kind, its data (section 5.2)."""
        first, second = self._exactly(2)
        if first & 0x70 or second & 0x80:
            msg = "a frame has an extension that nobody asked for, or a mask"
            raise BrokenError(msg)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack("!H", self._exactly(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._exactly(8))
        return bool(first & 0x80), first & 0x0F, self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        found = self._source.read(size)
        if len(found) < size:
            msg = "the connection ended"
            raise BrokenError(msg)
        return found

    def _send(self, kind: int, data: bytes) -> None:
        """Send a frame of control, masked as the client's frames are (section 5.3)."""
        mask = os.urandom(4)
        masked = bytes(one ^ mask[place % 4] for place, one in enumerate(data[:_LARGEST_CONTROL]))
        self._connection.sendall(bytes((0x80 | kind, 0x80 | len(masked))) + mask + masked)
