"""UUIDs as text: 36 characters in lower case with hyphens."""

from __future__ import annotations

import re

PATTERN = "^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$"
_TEXT = re.compile(PATTERN.replace("$", r"\Z"))


def uuid_text(text: str) -> str | None:
    """The text as a column has it of a UUID in either case, with hyphens or without; None if it is no UUID.

    >>> uuid_text("F81D4FAE7DEC11D0A76500A0C91E6BF6")
    'f81d4fae-7dec-11d0-a765-00a0c91e6bf6'
    """
    found = _TEXT.match(text.lower())
    return None if found is None else "-".join(found.groups())
