"""Refuse a text that is nested too deeply: parsing and rewriting recur for each level."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from livejoin.errors import UnsupportedQueryError


@contextmanager
def shallow(sql: str) -> Iterator[None]:
    """What is done with a text as long as Python's stack is deep enough for it.

    Raises:
        UnsupportedQueryError: It is not; the position is that of the deepest parenthesis.
    """
    try:
        yield
    except RecursionError:
        offset = _deepest(sql)
        lines = sql[:offset].split("\n")
        msg = (
            "the text is nested too deeply; name a part of it in WITH or in a view of its own, or leave parentheses out"
        )
        raise UnsupportedQueryError(msg, sql, len(lines), len(lines[-1]) + 1, clause="(") from None


def _deepest(sql: str) -> int:
    """The offset of the first parenthesis within the most others, quotes not looked at."""
    depth, deepest, found = 0, 0, 0
    for offset, character in enumerate(sql):
        depth += (character == "(") - (character == ")")
        if depth > deepest:
            deepest, found = depth, offset
    return found
