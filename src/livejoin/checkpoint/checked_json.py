"""JSON values in a file, after their checksum."""

from __future__ import annotations

import json
import zlib
from typing import Any


def with_checksum(values: object) -> bytes:
    """The bytes of a checksum and of the JSON values."""
    text = json.dumps(values).encode()
    return b"%d %s" % (zlib.crc32(text), text)


def checked(data: bytes | bytearray) -> Any:
    """Read the JSON values that `with_checksum` wrote.

    Raises:
        ValueError: The checksum does not match.

    >>> checked(with_checksum({"a": [1]}))
    {'a': [1]}
    """
    checksum, _, text = bytes(data).partition(b" ")
    if not checksum.isdigit() or zlib.crc32(text) != int(checksum):
        msg = "its checksum is not the one that was written"
        raise ValueError(msg)
    return json.loads(text)
