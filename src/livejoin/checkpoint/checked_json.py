"""JSON values in a file, behind a checksum."""

from __future__ import annotations

import json
import zlib
from typing import Any


def with_checksum(values: object) -> bytes:
    """The bytes of JSON values, behind their checksum."""
    text = json.dumps(values).encode()
    return b"%d %s" % (zlib.crc32(text), text)


def checked(data: bytes | bytearray) -> Any:
    """The JSON values that `with_checksum` wrote.

    Raises:
        ValueError: They are not the same.

    >>> checked(with_checksum({"a": [1]}))
    {'a': [1]}
    """
    checksum, _, text = bytes(data).partition(b" ")
    if not checksum.isdigit() or zlib.crc32(text) != int(checksum):
        msg = "its checksum is not the one that was written"
        raise ValueError(msg)
    return json.loads(text)
